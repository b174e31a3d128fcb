"""Histories in which one peer lies, in any way that the protocol lets it say: no forged document is delivered, and none
is lost without being named.

Six peers sign with keys as deployed ones do. What the liar sends passes its tongue, which drops it, keeps it back,
says it again, changes it, forges it, or says something else besides.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from random import Random
from typing import Final

from benchmarks.routing.emulated_feeds import Conditions, EmulatedFeeds
from heptox.feed import (
    ANYTHING,
    Announce,
    CatchUp,
    CaughtUp,
    Gate,
    Message,
    Publish,
    Replay,
    Store,
    Subscribe,
    Unsubscribe,
    Withdraw,
)
from heptox.peer.wire.identity import Ed25519, Identity
from tests.support.checking import Outcome
from tests.support.feeds.checking import shrunk
from tests.support.feeds.delivery import HEALING, Trial, Verdict
from tests.support.feeds.making import Scenario, World, random_graph, random_scenario, random_world

PEERS: Final = 6
FAR: Final = 10**9
"""A position at which no feed is."""
LATE: Final = 3
"""So many messages overtake one that is kept back."""
MOST_HEARD: Final = 200


@dataclass(frozen=True, slots=True)
class Lying:
    """How a peer lies: which ``lies`` it tells, and how ``often``."""

    liar: str
    lies: tuple[str, ...]
    often: float
    seed: int


@dataclass(slots=True)
class Tongue:
    """What the liar says in place of what its router has it say."""

    lying: Lying
    gate: Gate
    random: Random
    told: Counter[str] = field(default_factory=Counter)
    _said: list[Message] = field(default_factory=list)
    _late: dict[str, list[tuple[int, Message]]] = field(default_factory=dict)

    def __call__(self, peer: str, neighbour: str, message: Message) -> Iterable[tuple[str, Message]]:
        if peer != self.lying.liar:
            if neighbour == self.lying.liar:
                self._remember(message)
            return ((neighbour, message),)
        said = [message]
        if self.random.random() < self.lying.often:
            for lie in self.random.sample(self.lying.lies, len(self.lying.lies)):
                said = list(LIES[lie](self, neighbour, message))
                if said != [message]:
                    self.told[lie] += 1
                    break
        self._remember(message)
        return ((neighbour, each) for each in (*said, *self._due(neighbour)))

    def _remember(self, message: Message) -> None:
        self._said.append(message)
        if len(self._said) > MOST_HEARD:
            del self._said[self.random.randrange(len(self._said))]

    def _due(self, neighbour: str) -> Iterator[Message]:
        waiting = self._late.get(neighbour, [])
        self._late[neighbour] = [(left - 1, message) for left, message in waiting if left]
        yield from (message for left, message in waiting if not left)

    # -- lies --------------------------------------------------------------------------------------------------------

    def drop(self, _: str, message: Message) -> Iterator[Message]:
        if isinstance(message, Withdraw):
            yield message

    def drop_documents(self, _: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, Publish | Replay):
            yield message

    def drop_some_documents(self, _: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, Publish | Replay) or message.document.sequence % 2:
            yield message

    def drop_questions(self, _: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, CatchUp):
            yield message

    def drop_answers(self, _: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, CaughtUp):
            yield message

    def drop_subscriptions(self, _: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, Subscribe):
            yield message

    def keep_back(self, neighbour: str, message: Message) -> Iterator[Message]:
        self._late.setdefault(neighbour, []).append((self.random.randint(0, LATE), message))
        yield from ()

    def say_again(self, _: str, message: Message) -> Iterator[Message]:
        yield message
        if self._said:
            yield self.random.choice(self._said)

    def flap(self, _: str, message: Message) -> Iterator[Message]:
        if isinstance(message, Announce):
            yield from (message, Withdraw(message.publisher))
        yield message

    def forge_documents(self, _: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, Publish | Replay):
            yield message
            return
        document = message.document
        data = b"<a><b>forged</b></a>"
        forged = self.random.choice(
            (
                replace(document, data=data),
                replace(document, sequence=document.sequence + self.random.choice((1, FAR))),
                replace(document, id="another", name="another.xml"),
                replace(document, previous=b"x" * 32),
                replace(document, publisher=self.lying.liar),
                self.gate.signed(replace(document, data=data)),
                self.gate.signed(replace(document, sequence=FAR, data=data)),
            )
        )
        yield replace(message, document=forged)
        if self.random.random() < 0.5:
            yield message

    def forge_answers(self, _: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, CaughtUp):
            yield message
            return
        forged = self.random.choice(
            (
                replace(message, position=FAR),
                replace(message, sent=message.sent[1:]),
                replace(message, complete=not message.complete),
                replace(message, missing=0, position=message.position + 1),
                replace(message, question=b"x" * 32),
                replace(message, last=b"x" * 32),
                replace(message, request=message.request + 1),
                self._signed(replace(message, position=FAR, sent=())),
            )
        )
        yield forged
        if self.random.random() < 0.5:
            yield message

    def _signed(self, answer: CaughtUp) -> CaughtUp:
        sealed = self.gate.seal(replace(answer, publisher=self.lying.liar), "")
        assert isinstance(sealed, CaughtUp)
        return replace(sealed, publisher=answer.publisher)

    def change_questions(self, _: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, CatchUp):
            yield message
            return
        since = message.since or 0
        yield self.random.choice(
            (
                replace(message, since=since + 1),
                replace(message, since=None),
                replace(message, wants=()),
                replace(message, wants=("/nothing",)),
                replace(message, has=tuple(range(since + 1, since + 9))),
                replace(message, request=message.request + 1),
                replace(message, route=(*message.route[1:],) if len(message.route) > 1 else message.route),
            )
        )

    def forge_announcements(self, neighbour: str, message: Message) -> Iterator[Message]:
        if not isinstance(message, Announce):
            yield message
            return
        path = message.path
        forged = self.random.choice(
            (
                replace(message, version=message.version + 1),
                replace(message, position=self.random.choice((0, FAR))),
                replace(message, feed="another feed"),
                replace(message, digest=ANYTHING, advertisement=None),
                replace(message, wording=replace(message.wording, schema="another schema")),
                replace(message, news=not message.news),
            )
        )
        yield self._attested(neighbour, replace(forged, path=path[1:], attestations=message.attestations[1:]))
        if self.random.random() < 0.5:
            yield message

    def shorten_paths(self, neighbour: str, message: Message) -> Iterator[Message]:
        """Be the publisher's neighbour, or the publisher."""
        if not isinstance(message, Announce) or len(message.path) < 2:
            yield message
            return
        rest = self.random.randint(1, len(message.path))
        behind = replace(message, path=message.path[-rest:], attestations=message.attestations[-rest:])
        mappings = message.wording.mappings[-rest:]
        behind = replace(behind, wording=replace(message.wording, mappings=mappings))
        yield self._attested(neighbour, behind)

    def follow_other_paths(self, neighbour: str, message: Message) -> Iterator[Message]:
        """Say again what others have announced, to whom they have not."""
        heard = [one for one in self._said if isinstance(one, Announce) and self.lying.liar not in one.path]
        yield message
        if heard:
            yield self._attested(neighbour, self.random.choice(heard))

    def _attested(self, neighbour: str, behind: Announce) -> Announce:
        """What comes from behind, with the liar before it, and its signature."""
        path = behind.path if behind.path[:1] == (self.lying.liar,) else (self.lying.liar, *behind.path)
        mappings = behind.wording.mappings
        wording = replace(behind.wording, mappings=("mapping 9",) * (len(path) - len(mappings)) + mappings)
        attestations = behind.attestations[-(len(path) - 1) :] if len(path) > 1 else ()
        sealed = self.gate.seal(replace(behind, path=path, wording=wording, attestations=attestations), neighbour)
        assert isinstance(sealed, Announce)
        return sealed

    def publish_differently(self, neighbour: str, message: Message) -> Iterator[Message]:
        """Have another feed for each neighbour, signed as it should be."""
        if isinstance(message, Publish | Replay) and message.document.publisher == self.lying.liar:
            data = f"<a><b>{neighbour}</b></a>".encode()
            document = self.gate.signed(replace(message.document, data=data))
            yield replace(message, document=document)
        elif isinstance(message, CaughtUp) and message.publisher == self.lying.liar:
            position = self.random.choice((message.position, FAR, 0))
            yield self.gate.seal(replace(message, position=position, sent=(1, 2)), neighbour)
        elif isinstance(message, Announce) and message.path == (self.lying.liar,):
            forged = replace(message, position=self.random.choice((0, FAR)), attestations=())
            yield self.gate.seal(forged, neighbour)
        else:
            yield message

    def unsubscribe_others(self, _: str, message: Message) -> Iterator[Message]:
        """Take back what was told, and tell it again much later, or not at all."""
        yield message
        if isinstance(message, Subscribe):
            yield Unsubscribe(message.number)


LIES: Final[dict[str, Callable[[Tongue, str, Message], Iterator[Message]]]] = {
    lie.__name__: lie
    for lie in (
        Tongue.drop, Tongue.drop_documents, Tongue.drop_some_documents, Tongue.drop_questions, Tongue.drop_answers,
        Tongue.drop_subscriptions, Tongue.keep_back, Tongue.say_again, Tongue.flap, Tongue.forge_documents,
        Tongue.forge_answers, Tongue.change_questions, Tongue.forge_announcements, Tongue.shorten_paths,
        Tongue.follow_other_paths, Tongue.publish_differently, Tongue.unsubscribe_others,
    )
}  # fmt: skip


class _Network(EmulatedFeeds):
    """A network that notes what is delivered and was never published; ``honest`` are the peers that are."""

    honest: frozenset[str] = frozenset()
    forged: tuple[str, ...] = ()

    def _obey(self, peer: str, instruction: object) -> None:
        if isinstance(instruction, Store) and peer in self.honest:
            document = instruction.document
            log = self._disks[document.publisher].log if document.publisher in self._disks else []
            known = log[document.sequence - 1] if 0 < document.sequence <= len(log) else None
            if document.publisher in self.honest and document != known:
                self.forged = (*self.forged, f"forged: {document} at {peer}")
        super()._obey(peer, instruction)  # type: ignore[arg-type]


class LyingTrial(Trial):
    """A scenario in which one peer lies."""

    def __init__(self, world: World, scenario: Scenario, identities: dict[str, Identity], lying: Lying) -> None:
        super().__init__(world, scenario)
        self._liar = lying.liar
        gate = Gate(lying.liar, Ed25519(identities[lying.liar]))
        self.tongue = Tongue(lying, gate, Random(lying.seed))
        network = _Network(
            scenario.links,
            scenario.method,
            Conditions(scenario.seed, budget=scenario.budget),
            signatures=lambda peer: Ed25519(identities[peer]),
            saying=self.tongue,
        )
        network.honest = frozenset(scenario.peers) - {lying.liar}
        self.network: EmulatedFeeds = network
        self.named = 0

    def verdict(self) -> Verdict:
        """Let everything happen, and everything heal as far as it does, and judge."""
        for step in self._scenario.steps:
            self._take(step)
        self._heal()
        self.network.run(HEALING)
        owed = {key for one in self._subscriptions if one.peer != self._liar for key in self._owed(one)}
        owed = {key for key in owed if not key[2].startswith(f"{self._liar}/")}
        assert isinstance(self.network, _Network)
        faults = (*self.network.forged, *self._misdelivered(owed), *self._accused_falsely())
        return Verdict(faults, len(owed), sum(self.network.delivered.values()), sum(self.tongue.told.values()))

    def _misdelivered(self, owed: set[tuple[str, int, str]]) -> Iterator[str]:
        allowed = {key for subscription in self._subscriptions for key in self._allowed(subscription)}
        got = {
            key: times
            for key, times in self.network.delivered.items()
            if key[0] != self._liar and not key[2].startswith(f"{self._liar}/")
        }
        lost = sorted(owed - got.keys())
        self.named = sum(map(self._is_named, lost))
        yield from (f"lost: {key}" for key in lost if not self._is_named(key))
        yield from (f"not wanted: {key}" for key in sorted(got.keys() - allowed))
        yield from (f"{times} times: {key}" for key, times in sorted(got.items()) if times > 1)

    def _is_named(self, lost: tuple[str, int, str]) -> bool:
        """Whether a subscriber sees that it does not get all of a publisher."""
        peer, number, what = lost
        publisher = what.rpartition("/")[0]
        router = self.network.router(peer)
        suspected = any(one.publisher == publisher for one in router.suspicions)
        return suspected or publisher in router.unreached or not router.counts(publisher, number)

    def _accused_falsely(self) -> Iterator[str]:
        for peer in sorted(self.network.up):
            for one in self.network.router(peer).suspicions if peer != self._liar else ():
                if one.distrusted and self._liar not in (one.neighbour, one.publisher):
                    yield f"{peer} does not trust {one.neighbour}, which is honest: {one.reason}"


def random_lying(random: Random, steps: int, lies: Sequence[str] = ()) -> tuple[Scenario, dict[str, Identity], Lying]:
    """A scenario of six peers, their keys, and how one of them lies: with some ``lies``, or any."""
    seed = random.randrange(1 << 32)
    keys = [Identity(sha256(f"{seed} {number}".encode()).digest()) for number in range(PEERS)]
    names = {f"p{number}": key.peer_id for number, key in enumerate(keys)}
    links = tuple((names[one], names[other]) for one, other in random_graph(random, PEERS))
    drawn = random_scenario(random, steps, is_calm=False)
    publishers = tuple(random.sample(sorted(names.values()), random.randint(1, 3)))
    scenario = replace(drawn, links=links, publishers=publishers)
    between = Counter(end for link in links for end in link)
    liar = random.choices([*between], [number**2 for number in between.values()])[0]
    lies = tuple(lies or random.sample([*LIES], random.randint(1, 4)))
    lying = Lying(liar, lies, random.choice((0.02, 0.1, 0.3, 1.0)), seed)
    return scenario, {key.peer_id: key for key in keys}, lying


def check_lying(
    random: Random,
    steps: int,
    scenarios: int,
    outcome: Outcome,
    lies: Sequence[str] = (),
    *,
    is_explained: bool = True,
) -> None:
    """Let scenarios of so many steps happen in which one peer lies; each is a case. Where one goes wrong, it
    ``is_explained`` by the steps that are needed for it."""
    world = random_world(random)
    for _ in range(scenarios):
        scenario, identities, lying = random_lying(random, steps, lies)
        trial = LyingTrial(world, scenario, identities, lying)
        verdict = trial.verdict()
        outcome.counts["cases"] += 1
        outcome.counts["lies"] += verdict.everything
        outcome.counts["deliveries owed"] += verdict.owed
        outcome.counts["delivered"] += verdict.delivered
        outcome.counts["lost, and named"] += trial.named
        for note in ("neighbour distrusted", "neighbour silent", "feed forked"):
            outcome.counts[note] += trial.network.notes[note]
        for lie, times in trial.tongue.told.items():
            outcome.counts[f"lie: {lie}"] += times
        if verdict.faults:

            def is_wrong(fewer: Scenario) -> bool:
                return bool(LyingTrial(world, fewer, identities, lying).verdict().faults)  # noqa: B023

            least = shrunk(scenario, is_wrong) if is_explained else scenario
            faults = LyingTrial(world, least, identities, lying).verdict().faults
            outcome.broken.append("\n".join(("lying", str(lying), str(least), *faults)))
