"""The end of a daemon, which comes within a time limit: what hangs then is left behind.

Whatever the daemon has confirmed to anybody is on the disk by then, for it survives ``kill -9`` at any moment.
"""

from __future__ import annotations

import logging
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import trio

END_SECONDS: Final = 9.0
"""How long a daemon may take to end, once somebody wants it to."""
FORCED: Final = 70
"""The exit code of a daemon that was ended by force."""
_LOGGING_SECONDS: Final = 0.3
_BEGIN: Final = b"b"
_OVER: Final = b"o"

_log = logging.getLogger(__name__)


class Ending:
    """The time limit of the end of a daemon. Another thread waits for it to begin, and is told by a pipe: a handler of
    signals, which may come at any moment, can take no lock and start no thread."""

    def __init__(self) -> None:
        self._told, self._tell = os.pipe()
        self._thread = threading.Thread(target=self._watch, name="ending", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        """Somebody wants the daemon to end; to say so again changes nothing."""
        os.write(self._tell, _BEGIN)

    def over(self) -> None:
        """It has ended by itself."""
        os.write(self._tell, _OVER)
        self._thread.join()
        os.close(self._told)
        os.close(self._tell)

    def _watch(self) -> None:
        if os.read(self._told, 1) == _OVER:
            return
        deadline = time.monotonic() + END_SECONDS
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([self._told], [], [], left)
            if ready and os.read(self._told, 1) == _OVER:
                return
        _log.error("it has not ended within %g seconds, and is ended by force", END_SECONDS)
        time.sleep(_LOGGING_SECONDS)  # the log has a thread of its own, which nobody may wait for longer
        os._exit(FORCED)


@contextmanager
def ended_by_signals(ending: Ending, stop: Callable[[], None]) -> Iterator[None]:
    """Call ``stop`` on SIGINT and SIGTERM, in trio's thread, and begin the time limit, while the context is open.

    A signal is taken even while the event loop stands still, unless the main thread does not come out of a library.
    """
    token = trio.lowlevel.current_trio_token()

    def take(_number: int, _frame: FrameType | None) -> None:
        ending.begin()
        with suppress(trio.RunFinishedError):
            token.run_sync_soon(stop, idempotent=True)

    before = {number: signal.signal(number, take) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
