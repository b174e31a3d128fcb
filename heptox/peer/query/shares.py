"""How much of a peer's work others can have at once: the own user, each acquaintance, and all strangers together have
a share of their own, so that whoever asks for much waits behind nobody but itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import trio

from heptox.peer.wire.messages import OWN, PeerId

NEIGHBOURS: Final = 8
"""Neighbours for which work is done at once; the others wait. Of them, whoever has waited longest is next."""
KEPT: Final = 16
"""Threads beside those, one for each neighbour that has used little lately and has none at work: so that it does not
wait until others have ended."""

_Result = TypeVar("_Result")


class _Share:
    """What limits worker threads for a neighbour: its own part, and then those of all neighbours together.

    ``is_little`` tells whether it has used little lately: then it gets one of the threads ``kept``, where those of all
    ``together`` are taken.
    """

    def __init__(
        self, each: int, together: trio.CapacityLimiter, kept: trio.CapacityLimiter, is_little: Callable[[], bool]
    ) -> None:
        self._each = trio.CapacityLimiter(each)
        self._together = together
        self._kept = kept
        self._is_little = is_little
        self._from: dict[object, trio.CapacityLimiter] = {}

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        await self._each.acquire_on_behalf_of(borrower)
        limiter = self._from[borrower] = self._kept if self._is_kept_for() else self._together
        try:
            await limiter.acquire_on_behalf_of(borrower)
        except BaseException:
            del self._from[borrower]
            self._each.release_on_behalf_of(borrower)
            raise

    def _is_kept_for(self) -> bool:
        """Whether one of the threads that are kept is for this neighbour now."""
        if self._from or self._together.available_tokens or not self._kept.available_tokens:
            return False
        return self._is_little()

    def release_on_behalf_of(self, borrower: object) -> None:
        self._from.pop(borrower).release_on_behalf_of(borrower)
        self._each.release_on_behalf_of(borrower)


class Shares:
    """Worker threads, ``each`` of them at most at once for the own user, and for one neighbour.

    ``is_little`` tells whether a neighbour has used little lately. A thread counts until it has ended, also where
    nobody waits for it any more.
    """

    def __init__(self, each: int, is_little: Callable[[PeerId], bool]) -> None:
        self._each = each
        self._is_little = is_little
        self._own = trio.CapacityLimiter(each)
        self._together = trio.CapacityLimiter(NEIGHBOURS * each)
        self._kept = trio.CapacityLimiter(KEPT)
        self._neighbours: WeakValueDictionary[PeerId, _Share] = WeakValueDictionary()

    async def run(self, asker: PeerId, work: Callable[[], _Result]) -> _Result:
        """The result of ``work``, done in a thread in its turn. Whoever is cancelled does not wait for the thread."""
        limiter = self._own if asker == OWN else self._share(asker)
        # Of a limiter, Trio asks only for these two methods, though its types say more.
        return await trio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)  # type: ignore[arg-type]

    def _share(self, asker: PeerId) -> _Share:
        made = _Share(self._each, self._together, self._kept, partial(self._is_little, asker))
        return self._neighbours.setdefault(asker, made)

    async def ended(self) -> None:
        """Wait until no thread is at work; none can be begun from then on."""
        for limiter in (self._own, self._together, self._kept):
            for _ in range(int(limiter.total_tokens)):
                await limiter.acquire_on_behalf_of(object())
