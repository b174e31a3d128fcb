"""The law of agreeing: whatever two administrators do, and whatever is lost on the way, both sides come to the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar, TypeVarTuple
from unittest import mock

import pytest
import trio
import trio.testing
from hypothesis import given, settings, strategies as st

from heptox.demo import HOSPITAL
from heptox.errors import Fault, PeerError
from heptox.peer import PeerFolder, Standing
from heptox.peer.acquaintance.acquaintances import Acquaintances
from heptox.peer.acquaintance.acquainting import Proposal
from heptox.peer.acquaintance.offer_answers import CHANGE_SECONDS
from heptox.peer.wire.address import PeerAddress
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.offers import Withdrawal, decode_call
from tests.peer.daemons import DEADLINE
from tests.peer.networks import until
from tests.support.budget import tries

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
ADDRESS: Final = "/ip4/127.0.0.1/tcp/1/p2p/"
_PACKED: Final = MappingFiles.pack(HOSPITAL / "montreal-boston.arrows")
MAPPINGS: Final = (
    _PACKED,
    MappingFiles({**_PACKED.files, _PACKED.mapping: b"# newer\n" + _PACKED.files[_PACKED.mapping]}, _PACKED.mapping),
)
PAUSE: Final = 0.02
"""Seconds between two withdrawals that are not acknowledged."""
SHORT_PAUSES: Final = mock.patch.multiple("heptox.peer.acquaintance.links", FIRST_PAUSE=PAUSE, LONGEST_PAUSE=PAUSE)
ROUNDS: Final = 4
"""After so many offers each way, both have heard all there is to hear."""


@dataclass
class Wire:
    """Two peers, and whether calls between them arrive, and replies come back; the next one not before ``late``."""

    peers: dict[PeerId, Acquaintances] = field(default_factory=dict)
    calls_arrive: bool = True
    replies_arrive: bool = True
    late: trio.Event | None = None
    replies: int = 0
    withdrawals: int = 0


@dataclass
class Link:
    """A :class:`heptox.peer.wire.transport.Transport`, as far as acquaintances need it."""

    wire: Wire
    peer: PeerId

    @property
    def addresses(self) -> tuple[str, ...]:
        return (f"{ADDRESS}{self.peer}",)

    def connected(self, neighbour: PeerId) -> bool:
        return neighbour in self.wire.peers

    async def dial(self, neighbour: PeerId, addresses: tuple[str, ...]) -> None:
        assert addresses in ((f"{ADDRESS}{neighbour}",), ())
        await trio.lowlevel.checkpoint()
        if not self.wire.calls_arrive:
            raise PeerError(Fault("HX7010", "it is not there"))

    async def call(self, neighbour: PeerId, protocol: str, message: bytes) -> bytes:
        assert protocol
        self.wire.withdrawals += isinstance(decode_call(message), Withdrawal)
        reply = await self.wire.peers[neighbour].answer(self.peer, message)
        if self.wire.late is not None:
            late, self.wire.late = self.wire.late, None
            await late.wait()
        if not self.wire.replies_arrive:
            raise PeerError(Fault("HX7011", "it does not answer"))
        self.wire.replies += 1
        return reply


class Here:
    """Workers that work in this very process."""

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        await trio.lowlevel.checkpoint()
        return function(*arguments)


async def _unrecorded(event: str, **fields: Any) -> None:
    assert event and fields


def _unnoted(event: str, **fields: Any) -> bool:
    assert event and fields
    return False


@dataclass
class Two:
    """Two administrators; ``wanted`` is the mapping that each wants to have with the other."""

    folders: tuple[PeerFolder, PeerFolder]
    wire: Wire = field(default_factory=Wire)
    wanted: list[MappingFiles | None] = field(default_factory=lambda: [None, None])

    async def start(self, which: int) -> None:
        folder = self.folders[which]
        peer = folder.identity.peer_id
        link: Any = Link(self.wire, peer)
        self.wire.peers[peer] = Acquaintances(folder, link, lambda: None, _unrecorded, _unnoted, Here())
        await self.wire.peers[peer].open()

    def at(self, which: int) -> Acquaintances:
        return self.wire.peers[self.folders[which].identity.peer_id]

    def other(self, which: int) -> PeerId:
        return self.folders[1 - which].identity.peer_id

    async def act(self, which: int, what: str) -> None:
        here, other = self.at(which), self.other(which)
        known = [one for one in here.known if one.peer == other]
        waiting = here.requests().get(other)
        match what:
            case "offer first" | "offer second":
                files = MAPPINGS[what == "offer second"]
                self.wanted[which] = files
                await here.acquaint(Proposal(PeerAddress.parse(f"{ADDRESS}{other}"), files))
            case "accept" if waiting:
                self.wanted[which] = waiting.files
                await here.accept(other)
            case "refuse" if waiting:
                await here.refuse(other)
            case "withdraw" if known:
                self.wanted[which] = None
                await here.withdraw(other)
            case "greet" if known:
                await here.reach(other)
            case "restart":
                await self.start(which)
            case "lose calls":
                self.wire.calls_arrive = not self.wire.calls_arrive
            case "lose replies":
                self.wire.replies_arrive = not self.wire.replies_arrive

    async def settle(self, clock: trio.testing.MockClock) -> None:
        self.wire.calls_arrive = self.wire.replies_arrive = True
        for _ in range(ROUNDS):
            clock.jump(CHANGE_SECONDS)
            for which in (0, 1):
                if self.other(which) in {
                    one.peer for one in self.at(which).known if one.acquaintance.standing.in_force
                }:
                    await self.at(which).reach(self.other(which))

    def standings(self) -> list[Standing | None]:
        return [next((one.acquaintance.standing for one in self.at(which).known), None) for which in range(2)]


ACTS: Final = (
    "offer first", "offer second", "accept", "refuse", "withdraw", "greet", "restart", "lose calls", "lose replies",
)  # fmt: skip


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    folder = tmp_path_factory.mktemp("agreement")
    for name, schema in (("montreal", "mongenhosp.dtd"), ("boston", "massgeneral.dtd")):
        PeerFolder.create(folder / name, HOSPITAL / schema)
    yield folder / "montreal", folder / "boston"
    shutil.rmtree(folder)


@contextmanager
def two_peers(templates: tuple[Path, Path], copies: Path) -> Iterator[Two]:
    """Two peers that know nobody yet, not started."""
    for template in templates:
        shutil.copytree(template, copies / template.name)
    one, other = (PeerFolder.open(copies / template.name) for template in templates)
    yield Two((one, other))
    shutil.rmtree(copies)


def test_a_reply_that_comes_after_a_later_agreement_ends_nothing(
    templates: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def test(two: Two) -> None:
        for which in (0, 1):
            await two.start(which)
        late = two.wire.late = trio.Event()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(two.act, 0, "offer first")  # the other one says that it has not decided
            while not two.at(1).requests():
                await trio.sleep(0.001)
            await two.act(1, "offer first")
            late.set()
        assert two.standings() == [Standing.AGREED, Standing.AGREED]

    with two_peers(templates, tmp_path_factory.mktemp("peers")) as two:
        trio.run(test, two)


def test_an_end_that_comes_too_soon_is_learned_by_the_next_offer(
    templates: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    async def test(two: Two) -> None:
        for which in (0, 1):
            await two.start(which)
            await two.act(which, "offer first")
        assert two.standings() == [Standing.AGREED, Standing.AGREED]
        for _ in range(3):
            await two.act(0, "withdraw")
            await two.act(0, "offer first")
        assert two.standings() == [Standing.AGREED, Standing.AGREED]
        before = two.wire.replies
        async with two.at(1).kept():
            with trio.fail_after(DEADLINE):
                while two.wire.replies == before:
                    await trio.sleep(0.01)
            await trio.testing.wait_all_tasks_blocked(0.05)
            await two.act(0, "withdraw")
            assert two.standings() == [None, Standing.AGREED]
            with trio.fail_after(DEADLINE):
                while two.standings() != [None, Standing.WITHDRAWN]:
                    await trio.sleep(0.01)

    peers = two_peers(templates, tmp_path_factory.mktemp("peers"))
    with peers as two, mock.patch("heptox.peer.acquaintance.offer_answers.CHANGES", 2):
        trio.run(test, two)


@pytest.mark.parametrize("end", ["refuse", "withdraw"])
def test_an_end_that_was_lost_is_said_again_over_the_same_connection(
    templates: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory, end: str
) -> None:
    """The offerer need not offer again: it does so after a minute where nobody has decided, else never."""
    standing, before = (
        (Standing.REFUSED, Standing.PROPOSED) if end == "refuse" else (Standing.WITHDRAWN, Standing.AGREED)
    )

    async def test(two: Two) -> None:
        for which in (0, 1):
            await two.start(which)
        await two.act(0, "offer first")
        if end == "withdraw":
            await two.act(1, "accept")
        async with two.at(1).kept():
            await two.act(0, "lose calls")
            await two.act(1, end)
            assert two.standings() == [before, None]
            two.wire.replies_arrive = False
            await two.act(0, "lose calls")
            await until(lambda: two.standings() == [standing, None])
            await trio.sleep(5 * PAUSE)
            assert two.standings() == [standing, None]  # to hear it again changes nothing
            replies, two.wire.replies_arrive = two.wire.replies, True
            await until(lambda: two.wire.replies > replies)
            await trio.sleep(20 * PAUSE)
            assert two.wire.replies == replies + 1  # it is acknowledged

    with two_peers(templates, tmp_path_factory.mktemp("peers")) as two, SHORT_PAUSES:
        trio.run(test, two)


@pytest.mark.parametrize("what", ["its own offer", "a new agreement"])
def test_an_end_that_was_lost_is_not_said_after_something_later(
    templates: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory, what: str
) -> None:
    async def test(two: Two) -> None:
        for which in (0, 1):
            await two.start(which)
        for act in ((0, "offer first"), (1, "accept")):
            await two.act(*act)
        async with two.at(1).kept():
            for act in ((0, "lose calls"), (1, "withdraw"), (0, "lose calls")):
                await two.act(*act)
            await two.act(0 if what == "its own offer" else 1, "greet" if what == "its own offer" else "offer first")
            expected = [Standing.WITHDRAWN, None] if what == "its own offer" else [Standing.AGREED, Standing.AGREED]
            assert two.standings() == expected
            withdrawals = two.wire.withdrawals
            await trio.sleep(20 * PAUSE)
            assert two.standings() == expected
            assert two.wire.withdrawals == withdrawals

    with two_peers(templates, tmp_path_factory.mktemp("peers")) as two, SHORT_PAUSES:
        trio.run(test, two)


@settings(max_examples=tries(150))
@given(
    acts=st.lists(st.tuples(st.integers(0, 1), st.sampled_from(ACTS)), max_size=12), changes=st.sampled_from([1, 100])
)
def test_both_sides_agree_exactly_when_both_administrators_want_the_same(
    templates: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[int, str]], changes: int
) -> None:
    """Also where either side lets the other change something only once in ten minutes."""
    clock = trio.testing.MockClock(rate=1.0)

    async def test(two: Two) -> None:
        for which in (0, 1):
            await two.start(which)
        for which, what in acts:
            await two.act(which, what)
        await two.settle(clock)
        wanted, standings = two.wanted, two.standings()
        if wanted[0] is not None and wanted[1] is not None and wanted[0].digest == wanted[1].digest:
            assert standings == [Standing.AGREED, Standing.AGREED]
        else:
            assert Standing.AGREED not in standings
        for which in (0, 1):  # what is known is on the disk
            known = {one.peer: one.acquaintance for one in two.at(which).known}
            assert {one.peer_id: one for one in two.folders[which].acquaintances()} == known

    peers = two_peers(templates, tmp_path_factory.mktemp("peers"))
    with peers as two, mock.patch("heptox.peer.acquaintance.offer_answers.CHANGES", changes):
        trio.run(test, two, clock=clock)


def test_what_the_other_side_has_said_before_it_offered_the_acquaintance_anew_does_not_end_it(
    templates: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = tuple(shutil.copytree(template, tmp_path / template.name) for template in templates)
    two = Two((PeerFolder.open(folders[0]), PeerFolder.open(folders[1])))
    call = Link.call

    async def overtaken(link: Link, neighbour: PeerId, protocol: str, message: bytes) -> bytes:
        """The reply comes late: whoever has given it offers the acquaintance anew before."""
        reply = await call(link, neighbour, protocol, message)
        monkeypatch.setattr(Link, "call", call)
        await two.act(1, "offer first")
        return reply

    async def test() -> None:
        for which in (0, 1):
            await two.start(which)
        for act in ((0, "offer first"), (1, "accept"), (1, "lose calls"), (1, "withdraw"), (1, "lose calls")):
            await two.act(*act)
        assert two.standings() == [Standing.AGREED, None]
        monkeypatch.setattr(Link, "call", overtaken)
        await two.act(0, "greet")
        assert two.standings() == [Standing.AGREED, Standing.AGREED]

    trio.run(test)
