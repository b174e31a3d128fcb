"""Whether an emulation gave the answer of the network: that of all acyclic paths, as ``semantics.md`` section 9 has it.

Paths are followed here without any message, and queries evaluated by the interpreter on the documents themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from heptox.cluster.emulated import Body, Conditions
from heptox.cluster.emulation import Answer, EmulationResult, Engine, Path
from heptox.cluster.network import Crossings, Link
from heptox.cluster.outcome import Check
from heptox.cluster.queries import KnownQuery, Queries
from heptox.peer import ReceiptLine, Status, Translated

_MOST_FAULTS = 10
_NO_BODY = -1


@dataclass(frozen=True, slots=True)
class ExpectedAnswers:
    """What a network that loses nothing does with a query at the end of each path: the query, or why it is not asked,
    and the marks of the items that different queries find at the peers."""

    paths: dict[Path, tuple[Status, Body]]
    marks: dict[tuple[int, Body], frozenset[int]]

    def items(self, path: Path) -> frozenset[int]:
        """The marks of the items at the end of a path."""
        status, body = self.paths[path]
        return self.marks[path[-1], body] if status is Status.ANSWERED else frozenset()

    def all_items(self) -> set[int]:
        return {item for path in self.paths for item in self.items(path)}


def expected_answers(
    conditions: Conditions, emulated: EmulationResult, queries: Queries, engine: Engine
) -> dict[tuple[int, str], ExpectedAnswers]:
    """What each question of an emulation should have brought, by the network and the id of the question."""
    asked = {(each.question.asker, each.question.body) for each in emulated.answers}
    crossings = conditions.network.crossings()
    paths = {one: _paths(conditions, crossings, one, queries, engine) for one in sorted(asked)}
    pairs: dict[int, dict[Body, KnownQuery]] = {}
    for found in paths.values():
        for path, (status, body) in found.items():
            if status is Status.ANSWERED:
                pairs.setdefault(path[-1], {})[body] = queries.known[body]
    marks = engine.interpret({peer: sorted(own.items()) for peer, own in pairs.items()})
    return {
        (each.question.world, each.question.id): ExpectedAnswers(paths[each.question.asker, each.question.body], marks)
        for each in emulated.answers
    }


def _paths(
    conditions: Conditions, crossings: Crossings, asked: tuple[int, Body], queries: Queries, engine: Engine
) -> dict[Path, tuple[Status, Body]]:
    """All acyclic paths of a query, level by level; translations that no message has asked for are made."""
    asker, body = asked
    links = conditions.network.links
    found: dict[Path, tuple[Status, Body]] = {(asker,): (Status.ANSWERED, body)}
    level: list[tuple[Path, Body]] = [((asker,), body)]
    for _ in range(conditions.plan.hops):
        bodies = {body for _, body in level}
        requests = queries.requests(bodies, crossings)
        for request, result in zip(requests, engine.translate(requests) if requests else (), strict=True):
            queries.learn(request, result)
        reached = [
            ((*path, link.peer), _crossing(queries, link, body))
            for path, body in level
            for link in links[path[-1]]
            if link.peer not in path
        ]
        found.update(reached)
        level = [(path, body) for path, (status, body) in reached if status is Status.ANSWERED]
    return found


def _crossing(queries: Queries, link: Link, body: Body) -> tuple[Status, Body]:
    found = queries.crossings[link.edge, link.to, body].found
    return (Status.ANSWERED, found.body) if isinstance(found, Translated) else (found.status, _NO_BODY)


@dataclass(slots=True)
class _Findings:
    wrong: int = 0
    untold: int = 0
    faults: list[str] = field(default_factory=list)

    def tell(self, fault: str) -> None:
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(fault)


def check_answers(
    conditions: Conditions, emulated: EmulationResult, expected: dict[tuple[int, str], ExpectedAnswers]
) -> Check:
    """Hold what came against what should have come; what is missing must be named by the receipt."""
    findings = _Findings()
    paths = 0
    for answer in emulated.answers:
        wanted = expected[answer.question.world, answer.question.id]
        paths += len(wanted.paths)
        _check(conditions, answer, wanted, findings)
    pairs = {pair for wanted in expected.values() for pair in wanted.marks}
    return Check(len(pairs), paths, findings.wrong, findings.untold, tuple(findings.faults))


def _check(conditions: Conditions, answer: Answer, wanted: ExpectedAnswers, findings: _Findings) -> None:
    def named(path: Path) -> str:
        return f"{answer.question.id} at {' > '.join(map(conditions.network.name, path))}"

    for path in sorted({*wanted.paths, *answer.lines, *answer.came}):
        came = answer.marks(path)
        known = wanted.items(path) if path in wanted.paths else frozenset()
        line = answer.lines.get(path)
        if wrong := len(came - known):
            findings.wrong += wrong
            findings.tell(f"{named(path)}: {wrong} items that are not in its answer")
        if path not in wanted.paths:
            findings.wrong += 1
            findings.tell(f"{named(path)}: a path that there is not")
            continue
        for fault in _untold(path, line, came, known, wanted.paths[path][0], answer):
            findings.untold += 1
            findings.tell(f"{named(path)}: {fault}")


def _untold(
    path: Path, line: ReceiptLine | None, came: set[int], known: frozenset[int], status: Status, answer: Answer
) -> Iterator[str]:
    if line is None:
        if all(above.status.complete for above in _lines_above(path, answer)):
            yield "the receipt does not speak of it"
        return
    if line.items != len(came):
        yield f"{line.items} items are told, {len(came)} came"
    if line.status.complete and (line.status is not status or came != known):
        yield f"told as {line.status}, {len(came)} of {len(known)} items came, should be {status}"


def _lines_above(path: Path, answer: Answer) -> Iterator[ReceiptLine]:
    for length in range(1, len(path)):
        line = answer.lines.get(path[:length])
        if line is not None:
            yield line
