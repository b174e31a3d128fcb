"""Start the daemon of a peer as a process that outlives the command, for those who have no service manager."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from heptox.errors import Fault, PeerError
from heptox.peer.control.client import Client
from heptox.peer.folder.folder import PeerFolder

DAEMON_LOG: Final = "daemon.log"
"""The file in a peer's folder to which a daemon in the background logs."""
TOLD_BYTES: Final = 4000
"""How much is told of what a daemon logged that did not start."""
_LOOK: Final = 0.05


def start_in_background(path: Path, listen: str | None = None) -> list[str]:
    """Start the daemon of the peer in the folder ``path``; when this returns it serves, at these multiaddresses.

    It is waited for as long as it lives: many new documents may take it a while. Raises :class:`PeerError` as
    :func:`heptox.peer.serve` does when the folder cannot be used, and HX7065 with what it logged when it has ended.
    """
    folder = PeerFolder.open(path)
    with folder.locked():
        pass  # else another daemon runs, which is told by name
    command = [sys.executable, "-m", "heptox", "peer", "start", str(path)]
    log = path / DAEMON_LOG
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise PeerError(Fault("HX7065", f"cannot be written: {error.strerror}", file=str(log))) from None
    with os.fdopen(descriptor, "ab") as opened:
        begin = os.fstat(descriptor).st_size
        process = subprocess.Popen(
            command if listen is None else [*command, "--listen", listen],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the addresses, which are asked for below
            stderr=opened,
            start_new_session=True,  # the end of the terminal is not its end
        )
    try:
        return _addresses(process, path)
    except ChildProcessError:
        raise PeerError(Fault("HX7065", f"it ended: {_told(log, begin)}", file=str(path))) from None
    except BaseException:
        process.terminate()
        raise


def _addresses(process: subprocess.Popen[bytes], path: Path) -> list[str]:
    """Where a daemon serves, once it does; raises ``ChildProcessError`` when it has ended."""
    while process.poll() is None:
        client = Client.running(path)
        if client is not None and client.address.process == process.pid:
            with client:
                return list(client.status().addresses)
        time.sleep(_LOOK)
    raise ChildProcessError


def _told(log: Path, begin: int) -> str:
    """What is in a log from some byte on, its end at least, in one line."""
    with log.open("rb") as opened:
        opened.seek(max(begin, log.stat().st_size - TOLD_BYTES))
        text = opened.read().decode(errors="replace")
    return " ".join(text.split()) or "it says nothing"
