"""Signed lines of receipts: whatever a relay does to answers that pass it, the asker finds it and names it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

import pytest

from heptox.peer.query.events import Receipt, Send
from heptox.peer.query.signing import LineSigning
from heptox.peer.wire.messages import Answers, End, Hop, Message, ReceiptLine, Status, peers_of
from tests.peer.simulation import Simulation, World
from tests.support.budget import usually

PATH: Final = ("A", "B", "C")
HOPS: Final = tuple(Hop(peer, peer.lower()) for peer in PATH)
SEEDS: Final = range(usually(2_000, 20_000))


@dataclass(frozen=True, slots=True)
class Keyed:
    """Signatures by secrets that the tests know, one for each peer."""

    peer: str

    def sign(self, data: bytes) -> bytes:
        return hashlib.blake2b(data, key=self.peer.encode()).digest()

    def verify(self, peer: str, signature: bytes, data: bytes) -> bool:
        return signature == Keyed(peer).sign(data)


@dataclass
class Answer:
    """What a relay is about to pass on: the items of the peer behind it, in their order, and its receipt."""

    items: list[str]
    receipt: dict[tuple[str, ...], ReceiptLine]

    @property
    def line(self) -> ReceiptLine:
        return self.receipt[PATH]

    def tell(self, **changed: object) -> None:
        self.receipt[PATH] = replace(self.line, **changed)  # type: ignore[arg-type]


Attack = Callable[[Answer, Random, "Relayed"], None]


@dataclass
class Relayed(Simulation):
    """A network in which the relay B passes on what ``attack`` makes of the answers of C."""

    attack: Attack | None = None
    random: Random = field(default_factory=Random)
    waiting: list[Answers | End] = field(default_factory=list)
    before: Answer | None = None

    def send(self, peer: str, instruction: Send) -> None:
        if peer != "B" or not isinstance(instruction.message, Answers | End):
            super().send(peer, instruction)
            return
        self.waiting.append(instruction.message)
        if isinstance(instruction.message, End):
            for message in self._attacked(instruction.message):
                super().send(peer, replace(instruction, message=message))
            self.waiting = []

    def _attacked(self, end: End) -> list[Message]:
        several = [one for one in self.waiting if isinstance(one, Answers)]
        origins = {peers_of(one.origin): one.origin for one in several}
        own = [one for one in several if peers_of(one.origin) != PATH]
        items = [item for one in several if peers_of(one.origin) == PATH for item in one.items]
        answer = Answer(items, {peers_of(line.path): line for line in end.receipt})
        if self.attack is None:
            self.before = Answer(list(items), dict(answer.receipt))
        else:
            self.attack(answer, self.random, self)
        path = answer.line.path if PATH in answer.receipt else origins.get(PATH)
        passed: list[Message] = [*own]
        if path is not None:
            passed += [Answers(end.query, path, (item,)) for item in answer.items]
        return [*passed, End(end.query, tuple(answer.receipt.values()))]


def counted(attack: Callable[[list[str], Random], None]) -> Attack:
    """An attack on the items, whose number the relay then tells."""

    def changed(answer: Answer, random: Random, _: Relayed) -> None:
        attack(answer.items, random)
        answer.tell(items=len(answer.items))

    return changed


def alter(items: list[str], random: Random) -> None:
    place = random.randrange(len(items))
    items[place] = items[place].replace("</i>", "'</i>")


def drop(items: list[str], random: Random) -> None:
    del items[random.randrange(len(items))]


def invent(items: list[str], random: Random) -> None:
    items.insert(random.randrange(len(items) + 1), "<invented/>")


def repeat(items: list[str], random: Random) -> None:
    items.append(random.choice(items))


def reorder(items: list[str], random: Random) -> None:
    place = random.randrange(len(items) - 1)
    items[place], items[place + 1] = items[place + 1], items[place]


def cut(items: list[str], random: Random) -> None:
    del items[random.randrange(len(items)) :]


def replay(answer: Answer, _: Random, relay: Relayed) -> None:
    """What came for another query, with its signature."""
    assert relay.before is not None
    answer.items[:] = relay.before.items
    answer.tell(items=relay.before.line.items, signature=relay.before.line.signature)


def swallow(answer: Answer, _: Random, __: Relayed) -> None:
    """Nothing came, it says, and that was all."""
    answer.items.clear()
    answer.tell(items=0)


def take_off(answer: Answer, random: Random, _: Relayed) -> None:
    """Alter an item, and take the signature off, as if the peer were one that does not sign."""
    alter(answer.items, random)
    answer.tell(signature=b"")


def forge(answer: Answer, random: Random, _: Relayed) -> None:
    """Alter an item, and sign as itself."""
    alter(answer.items, random)
    answer.tell(signature=Keyed("B").sign(b"C said so"))


def uncut(answer: Answer, _: Random, __: Relayed) -> None:
    """Say that nobody stands behind."""
    answer.tell(beyond=False, behind=())


ATTACKS: Final[dict[str, Attack]] = {
    **{attack.__name__: counted(attack) for attack in (alter, drop, invent, repeat, reorder, cut)},
    **{attack.__name__: attack for attack in (replay, swallow, take_off, forge, uncut)},
}


def asked(attack: Attack | None, seed: int) -> tuple[Relayed, Receipt]:
    """A relay that was honest once, and then is not."""
    random = Random(seed)
    items = {symbol: tuple(f"<i>{symbol}-{n}-{seed}</i>" for n in range(random.randint(2, 5))) for symbol in (1, 2)}
    edges = {("A", "B"): {1: 1, 2: 2}, ("B", "C"): {1: 1, 2: 2}, ("C", "D"): {1: 1, 2: 2}}
    world = World(("A", "B", "C", "D"), dict(edges), {"A": {}, "B": {1: ("<b/>",), 2: ("<b/>",)}, "C": items, "D": {}})
    simulation = Relayed(world, random.randrange, signatures=Keyed, random=random)
    simulation.ask("A", [1], hops=2, query="before")
    simulation.run()
    simulation.delivered.clear()
    simulation.attack = attack
    simulation.ask("A", [2], hops=2, query="now")
    simulation.run()
    return simulation, simulation.receipts[-1]


def test_an_honest_relay_passes_signed_lines_on() -> None:
    simulation, receipt = asked(None, 1)
    assert all(line.signature for line in receipt.lines[1:])
    assert {line.status for line in receipt.lines} == {Status.ANSWERED}
    assert [found.lack.value for found in receipt.missing] == ["hop limit"]
    assert simulation.delivered[PATH]


@pytest.mark.parametrize("name", ATTACKS)
def test_what_a_relay_does_to_an_answer_is_found(name: str) -> None:
    for seed in SEEDS[:: len(ATTACKS)]:
        _, receipt = asked(ATTACKS[name], seed)
        (line,) = (line for line in receipt.lines if peers_of(line.path) == PATH)
        assert (line.status, line.signature) == (Status.FAILED, b""), (name, seed, line)
        assert "on the way has changed" in line.reason
        assert "failed" in [found.lack.value for found in receipt.missing]
        own = next(line for line in receipt.lines if peers_of(line.path) == PATH[:2])
        assert (own.status, bool(own.signature)) == (Status.ANSWERED, True)


@pytest.mark.parametrize(
    "changed",
    [
        {"losses": ()},
        {"losses": ("a: hidden", "b: hidden")},
        {"items": 2},
        {"beyond": True},
        {"status": Status.DENIED},
        {"path": (*HOPS[:1], *HOPS[2:])},
    ],
)
def test_what_a_peer_says_of_itself_is_signed(changed: dict[str, Any]) -> None:
    line = ReceiptLine(HOPS, Status.ANSWERED, 1, losses=("a: hidden",))
    signed = LineSigning(Keyed("C")).signed("q", line, b"digest")
    asker = LineSigning(Keyed("A"))
    on_the_way = replace(signed, losses=("x: no arrow", *signed.losses), milliseconds=5, text="b")
    assert asker.verified("q", on_the_way, b"digest") == on_the_way
    assert asker.verified("q", replace(signed, **changed), b"digest").status is Status.FAILED
    for query, digest in (("other", b"digest"), ("q", b"other")):
        assert asker.verified(query, signed, digest).status is Status.FAILED


def test_items_of_who_does_not_sign_are_taken_and_not_called_signed() -> None:
    """As those of peers that have an older heptox."""
    world = World(("A", "B"), {("A", "B"): {1: 1}}, {"A": {}, "B": {1: ("<b/>",)}})
    simulation = Simulation(world, lambda _: 0, signatures=lambda peer: Keyed(peer) if peer == "A" else Silent())
    simulation.ask("A", [1], hops=1)
    simulation.run()
    (receipt,) = simulation.receipts
    assert receipt.complete
    assert [bool(line.signature) for line in receipt.lines] == [False, False]


class Silent(Keyed):
    """Signs nothing."""

    def __init__(self) -> None:
        super().__init__("")

    def sign(self, data: bytes) -> bytes:  # noqa: ARG002
        return b""
