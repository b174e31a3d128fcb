"""The times at which a state machine wants to be woken."""

from __future__ import annotations

from heapq import heappop, heappush

import trio


class Timer:
    """Times of trio's clock, in any number; one task waits for them."""

    def __init__(self) -> None:
        self._times: list[float] = []
        self._sooner = trio.Event()

    def wake(self, at: float) -> None:
        """One more time."""
        heappush(self._times, at)
        self._sooner.set()

    async def due(self) -> None:
        """Wait until one of the times has come; it, and all that have come with it, are taken off."""
        while not self._times or self._times[0] > trio.current_time():
            self._sooner = trio.Event()
            with trio.CancelScope(deadline=self._times[0] if self._times else float("inf")):
                await self._sooner.wait()
        while self._times and self._times[0] <= trio.current_time():
            heappop(self._times)
