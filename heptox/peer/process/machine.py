"""The loop of every pure machine: an event goes in, instructions come out, and each is performed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import trio

from heptox.peer.process.timer import Timer

_Event = TypeVar("_Event")
_Consequences = TypeVar("_Consequences")
_Instruction = TypeVar("_Instruction")
_AnyEvent = TypeVar("_AnyEvent", contravariant=True)
_AnyInstruction = TypeVar("_AnyInstruction", covariant=True)


class Machine(Protocol[_AnyEvent, _AnyInstruction]):
    """What decides without I/O: :class:`heptox.peer.query.state.PeerState`, :class:`heptox.feed.Router`."""

    def handle(self, event: _AnyEvent, now: float) -> tuple[_AnyInstruction, ...]:
        """Take in an event at a time in seconds; what is to be done, in order."""
        ...


class MachineLoop(Generic[_Event, _Instruction, _Consequences]):
    """Runs one machine by trio's clock.

    ``perform`` does what an instruction says, without waiting: so all that is sent stays in order. It notes in the
    consequences of the event what is to be waited for afterwards, and returns an event that follows at once, if any.
    ``consequences`` makes empty ones. ``tick`` is the event that time has passed.
    """

    def __init__(
        self,
        machine: Machine[_Event, _Instruction],
        perform: Callable[[_Instruction, _Consequences], _Event | None],
        consequences: Callable[[], _Consequences],
        tick: _Event,
    ) -> None:
        self._machine = machine
        self._perform = perform
        self._consequences = consequences
        self._tick = tick
        self._timer = Timer()

    def apply(self, event: _Event) -> _Consequences:
        """Perform what an event asks for, and what follows from that at once."""
        consequences = self._consequences()
        events = deque([event])
        while events:
            for instruction in self._machine.handle(events.popleft(), trio.current_time()):
                following = self._perform(instruction, consequences)
                if following is not None:
                    events.append(following)
        return consequences

    def wake(self, at: float) -> None:
        """The machine wants to know when that time has come."""
        self._timer.wake(at)

    async def keep_time(self, finish: Callable[[_Consequences], None] | None = None) -> None:
        """Give the machine a tick at each time that it has asked for; ``finish`` has others wait for what follows, for
        a stalled neighbour must not stop the clock."""
        while True:
            await self._timer.due()
            consequences = self.apply(self._tick)
            if finish is not None:
                finish(consequences)
