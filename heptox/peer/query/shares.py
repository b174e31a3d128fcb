"""How much of a peer's work others can have at once: the own user and each neighbour have a share of their own, so that
whoever asks for much waits behind nobody but itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar
from weakref import WeakValueDictionary

import trio

from heptox.peer.wire.messages import OWN, PeerId

NEIGHBOURS: Final = 8
"""Neighbours for which work is done at once; the others wait. Of them, whoever has waited longest is next."""

_Result = TypeVar("_Result")


class _Share:
    """What limits worker threads for a neighbour: its own part, and then that of all neighbours together."""

    def __init__(self, each: int, together: trio.CapacityLimiter) -> None:
        self._each = trio.CapacityLimiter(each)
        self._together = together

    async def acquire_on_behalf_of(self, borrower: object) -> None:
        await self._each.acquire_on_behalf_of(borrower)
        try:
            await self._together.acquire_on_behalf_of(borrower)
        except BaseException:
            self._each.release_on_behalf_of(borrower)
            raise

    def release_on_behalf_of(self, borrower: object) -> None:
        self._together.release_on_behalf_of(borrower)
        self._each.release_on_behalf_of(borrower)


class Shares:
    """Worker threads, ``each`` of them at most at once for the own user, and for one neighbour.

    A thread counts until it has ended, also where nobody waits for it any more.
    """

    def __init__(self, each: int) -> None:
        self._each = each
        self._own = trio.CapacityLimiter(each)
        self._together = trio.CapacityLimiter(NEIGHBOURS * each)
        self._neighbours: WeakValueDictionary[PeerId, _Share] = WeakValueDictionary()

    async def run(self, asker: PeerId, work: Callable[[], _Result]) -> _Result:
        """The result of ``work``, done in a thread in its turn. Whoever is cancelled does not wait for the thread."""
        limiter = self._own if asker == OWN else self._neighbours.setdefault(asker, _Share(self._each, self._together))
        # Of a limiter, Trio asks only for these two methods, though its types say more.
        return await trio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)  # type: ignore[arg-type]

    async def ended(self) -> None:
        """Wait until no thread is at work; none can be begun from then on."""
        for limiter in (self._own, self._together):
            for _ in range(int(limiter.total_tokens)):
                await limiter.acquire_on_behalf_of(object())
