"""What a mapping means for real documents: remarks of a mapping without faults (``semantics.md`` sections 2, 4 and 6).

A remark is no fault: what becomes one, makes nothing or does not come back may be meant so. It says the line to write
where it is not, and names only a line that was tried on the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from typing import Final

from heptox.errors import Fault, HeptoxError
from heptox.mapping import (
    ArrowsText,
    Examination,
    HeadNode,
    Mapping,
    Rule,
    Trace,
    exchange,
    owning_stop,
    path_text,
)
from heptox.pattern import NODE, TAG, Term
from heptox.schema import COMPUTED, TEXT, Path, SchemaTree, idref_paths
from heptox.verification.cases import CaseMaker
from heptox.verification.laws import Law, served
from heptox.verification.nodes import every_node
from heptox.verification.round_trips import (
    all_leaves,
    arrows_for,
    counterparts,
    ends_for,
    entity_line,
    likeness,
    returning,
    sound_with,
)
from heptox.xml import Document, XmlElement

MOST_NAMED: Final = 8
"""Leaves that one remark names at most."""
MOST_TRIES: Final = 500
"""Lines that are tried at most."""
MOST_RULES: Final = 600
"""How many rules are inferred at most for all lines that are tried, but for ``each`` lines."""
LIKE: Final = 0.75
"""How like the names of two leaves are between which an arrow is proposed."""


@dataclass(frozen=True, slots=True)
class Remark:
    """One thing that a direction of a mapping does to documents; ``hint`` says what to write where that is not meant.

    ``code`` and ``line`` are those of what the mirrored reading lacks, and of the line that it is about.

    >>> str(Remark(Law.ALONG, "books with equal name become one", "write: each item -> book"))
    'along: books with equal name become one (write: each item -> book)'
    """

    direction: Law
    text: str
    hint: str | None = None
    code: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        code = f"{self.code} " if self.code else ""
        return f"{self.direction}: {place}{code}{self.text}" + (f" ({self.hint})" if self.hint else "")


def remarks(
    mapping: Mapping,
    arrows: ArrowsText | None = None,
    source_documents: Sequence[Document] = (),
    target_documents: Sequence[Document] = (),
    *,
    are_random: bool = False,
    tries: int = MOST_TRIES,
) -> tuple[Remark, ...]:
    """What there is to know of a mapping, each direction after the other; ``arrows`` is its text, if it was inferred,
    on which as many lines as ``tries`` says are tried, but of those for which all its rules are inferred again fewer
    where these are very many.

    What makes nothing is counted on the documents, which are valid ones of their side, and said to be random if they
    ``are_random``.
    """
    documents = {Law.ALONG: source_documents, Law.AGAINST: target_documents}
    examined = None if arrows is None else arrows.examined()
    rules = sum(len(law.read(mapping).rules) for law in served(mapping))
    trials = None if arrows is None else _LineTrials(arrows, tries, min(tries, MOST_RULES // max(rules, 1)))
    found: list[Remark] = []
    for law in served(mapping):
        found += _DirectionRemarks(mapping, law, trials, examined, documents[law], are_random).remarks()
    return tuple(dict.fromkeys(found))


def random_documents(mapping: Mapping, law: Law, cases: int = 3) -> list[Document]:
    """A few random documents of the side that answers; none where none can be made."""
    try:
        maker = CaseMaker(law.read(mapping))
        randoms = [Random(f"{law} {seed}") for seed in range(cases)]
        return [one.document for random in randoms for one in maker.instances(random, random.random() < 0.25)]
    except HeptoxError:
        return []


@dataclass(slots=True)
class _LineTrials:
    """The text of a mapping, on which a number of lines are tried, each once: ``each`` lines for the nodes that they
    are about, and a smaller number for all its rules.
    """

    arrows: ArrowsText
    each_left: int
    left: int
    known: dict[str, Mapping | None] = field(default_factory=dict)

    def sound_with(self, line: str) -> Mapping | None:
        """The mapping with a line more; ``None`` where that is a fault, or is not tried."""
        if line not in self.known:
            self.left -= 1
            self.known[line] = sound_with(self.arrows, line) if self.left >= 0 else None
        return self.known[line]

    def makes_of_each(self, law: Law, node: Path, made: HeadNode) -> bool:
        """Whether an ``each`` line is no fault, and every node makes one of an image by it, with its leaves."""
        self.each_left -= 1
        if self.each_left < 0:
            return False
        ends = (node, made.node) if law is Law.ALONG else (made.node, node)
        rules = self.arrows.examined().rules_with_each(*ends, mirrored=law is Law.AGAINST) or ()
        heads = (head for rule in rules for head in rule.head if head.node == made.node and head.each is not None)
        return any({*head.paths} >= {*made.paths} for head in heads)


@dataclass
class _DirectionRemarks:
    """The remarks on one direction of a mapping."""

    whole: Mapping
    law: Law
    trials: _LineTrials | None
    examined: Examination | None
    documents: Sequence[Document]
    are_random: bool

    @cached_property
    def read(self) -> Mapping:
        return self.law.read(self.whole)

    def remarks(self) -> Iterator[Remark]:
        if not self.read.rules:
            yield self.remark(f"0 rules: nothing that is asked in the words of the {self.law.asks} is translated")
        if self.examined is not None and self.law is Law.AGAINST:
            yield from map(self._mirrored, self.examined.remarks)
        if self.read.rules:
            yield from self._unknown_references()
            yield from self._become_one()
            yield from self._optional_connections()
            yield from self._make_nothing()
            yield from self._several_values()
            if len(served(self.whole)) == len(Law):
                yield from self._do_not_come_back()
                yield from self._come_back_twice()

    def remark(self, text: str, hint: str | None = None) -> Remark:
        return Remark(self.law, text, hint)

    def _mirrored(self, fault: Fault) -> Remark:
        line = fault.position.line if fault.position else None
        return Remark(self.law, fault.message, fault.hint, fault.code, line)

    def _sound_with(self, line: str) -> Mapping | None:
        """The mapping with a line more, as it is read here; ``None`` where that is a fault."""
        changed = None if self.trials is None else self.trials.sound_with(line)
        return None if changed is None else self.law.read(changed)

    # -- references ----------------------------------------------------------------------------------------------

    def _unknown_references(self) -> Iterator[Remark]:
        """References of nodes that rules use, of which nothing says what they refer to."""
        tree = self.read.source
        known = {reference.source for reference in self.read.source_references}
        used = {variable.node for rule in self.read.rules for variable in rule.variables}
        unknown = [leaf for leaf in idref_paths(tree, used) if leaf not in known and tree.stop(leaf) in used]
        if unknown:
            line = next((line for leaf in unknown if (line := self._reference(leaf)) is not None), None)
            text = f"nothing says which keys these refer to, and no rule follows them: {_named(tree, unknown)}"
            yield self.remark(text, f"write, if it is so: {line}" if line else "write: reference LEAF -> KEY")

    def _reference(self, leaf: Path) -> str | None:
        """A line that says which key a leaf refers to, where the name says it too."""
        for key in sorted(self.read.source_keys, key=lambda key: -likeness(leaf[-1:], key[-2:-1])):
            if likeness(leaf[-1:], key[-2:-1]) < LIKE:
                return None
            source, target = (path_text(self.read.source, path) for path in (leaf, key))
            line = f"{self.law.answers} reference {source} -> {target}"
            if self._sound_with(line) is not None:
                return line
        return None

    def _optional_connections(self) -> Iterator[Remark]:
        reported: set[tuple[Path, Path]] = set()
        for rule in self.read.rules:
            for part in rule.optional:
                made = [
                    path_text(self.read.target, (*head.node, *leaf))
                    for head in rule.head
                    for leaf, term in head.leaves
                    if term.variable in part.variables
                ]
                for condition in part.conditions[:1]:
                    assert isinstance(condition.right, Term)  # the link of a part
                    ends = rule.path(condition.left), rule.path(condition.right)
                    if ends not in reported and made:
                        reported.add(ends)
                        left, right = (path_text(self.read.source, end) for end in ends)
                        text = (
                            f"where no {right} equals {left}, there is no {_listed(made)}: the connection is optional"
                        )
                        yield self.remark(text)

    # -- identity ------------------------------------------------------------------------------------------------

    def _become_one(self) -> Iterator[Remark]:
        """Nodes that are told apart by their values only, which do not tell the nodes apart that they come from."""
        reported: set[Path] = set()
        for rule in self.read.rules:
            for depth, head in enumerate(rule.head):
                if head.node and head.node not in reported and self._may_become_one(rule, depth):
                    reported.add(head.node)
                    yield self._one_for(rule, head)

    def _may_become_one(self, rule: Rule, depth: int) -> bool:
        head = rule.head[depth]
        if head.each is not None or head.key is not None or head.term(()) is not None:
            return False  # of equal leaves, one says as much as several
        if not head.leaves:
            return not any(head.node == other.node and other.leaves for one in self.read.rules for other in one.head)
        apart = self._told_apart(rule, rule.head[: depth + 1])
        return any(term.variable not in apart for term in head.terms)

    def _told_apart(self, rule: Rule, chain: Iterable[HeadNode]) -> set[str]:
        """The variables whose nodes are told apart by the identities of a chain of head nodes."""
        keys, tree = self.read.source_keys, self.read.source
        links = [*rule.equalities(), *_links(rule)]
        found = {rule.variables[0].name}
        for head in chain:
            found |= {head.each} if head.each is not None else set()
            for term in head.terms:
                node = rule.node(term.variable)
                is_key = (*node, *term.path) in keys and tree.required((*node, *term.path), below=node)
                if is_key or term.path == (NODE,):
                    found.add(term.variable)
        parents = {variable.name: variable.parent for variable in rule.variables}
        while True:
            more = {parent for name in found if (parent := parents[name]) is not None}
            for one, other in (*links, *((right, left) for left, right in links)):
                if one.variable in found and rule.path(other) in keys:
                    more.add(other.variable)
            if more <= found:
                return found
            found |= more

    def _one_for(self, rule: Rule, head: HeadNode) -> Remark:
        node = path_text(self.read.target, head.node)
        every = [other for one in self.read.rules for other in one.head if other.node == head.node]
        leaves = dict.fromkeys(
            path_text(self.read.target, leaf) if leaf != (TAG,) else "tag"
            for other in every
            if other.anchor is None
            for leaf in (*dict(other.leaves), *(path for path, made in other.surrogates if made.node != other.node))
        )
        keys = dict.fromkeys(path_text(self.read.target, other.key) for other in every if other.key is not None)
        parent = self.read.target.stops(head.node)[-2]
        above = path_text(self.read.target, parent)
        where = f"below one {above}" if parent else "of a document"
        where += f" without {_listed(list(keys))}," if keys else ""
        if leaves:
            text = f"all {node} {where} with equal {_listed(list(leaves))} become one"
        else:
            text = f"there is one {node} {f'for each {above}' if parent else 'for the whole document'}"
            text += ": no leaf of its own tells several apart"
        line = self._each_line(rule, head)
        return self.remark(text, line and f"write, if each is its own: {line}")

    def _each_line(self, rule: Rule, head: HeadNode) -> str | None:
        """The line by which a source node makes each node: first of one that stands below all others that its leaves
        come from, for several of it may make one of them.
        """
        counts = Counter(rule.node(term.variable) for _, term in head.leaves)
        if not head.leaves:
            below = (one for one in rule.head if one.node[: len(head.node)] == head.node)
            counts = Counter(rule.node(term.variable) for one in below for _, term in one.leaves)
        apart = {rule.node(name) for name in self._told_apart(rule, rule.head)} if head.leaves else set()
        lowest = {node for node in counts if all(node[: len(other)] == other for other in counts)}
        reading = self.examined.readings[self.law is Law.AGAINST] if self.examined else None
        for node in sorted(counts, key=lambda node: (node not in lowest, node in apart, -counts[node], len(node))):
            if node and reading is not None and self.trials is not None:
                drawn = reading.drawn(node)
                if self.trials.makes_of_each(self.law, drawn, head):
                    return self._entity(drawn, head.node)
        return None

    def _entity(self, node: Path, made: Path) -> str:
        return entity_line(self._along, *((node, made) if self.law is Law.ALONG else (made, node)))

    @property
    def _along(self) -> Mapping:
        """The mapping as its file has it."""
        return self.read if self.law is Law.ALONG else self.read.mirrored()

    # -- what makes nothing --------------------------------------------------------------------------------------

    def _make_nothing(self) -> Iterator[Remark]:
        idle, total = self._idle(self.read)
        for stop in sorted(idle):
            which = " of random documents" if self.are_random else ""
            name = path_text(self.read.source, stop)
            text = f"{idle[stop]} of {total[stop]} {name}{which} make nothing: {self._why(stop)}"
            pairs = counterparts(self.examined) if self.examined else []
            own = [(s, t) for s, t in pairs if stop == (s if self.law is Law.ALONG else t)]
            lines = (entity_line(self._along, *pair) for pair in own)
            line = next((line for line in lines if self._makes_all(line, stop)), None)
            yield self.remark(text, line and f"write, to make something of each: {line}")

    def _several_values(self) -> Iterator[Remark]:
        """Leaves that are there once, for which given documents bring several values."""
        conflicts: Counter[Path] = Counter()
        for document in () if self.are_random else self.documents:
            with suppress(HeptoxError):  # a value for which the other schema has no tag left
                exchange(self.read, document, conflicts=conflicts)
        for leaf, count in sorted(conflicts.items()):
            nodes = f"{count} {path_text(self.read.target, self.read.target.stop(leaf))}"
            name = path_text(self.read.target, leaf)
            text = f"{nodes} get several values for {name}, which is there once: one of them stays"
            yield self.remark(f"{text}, and translation promises nothing for these documents")

    def _makes_all(self, line: str, stop: Path) -> bool:
        changed = self._sound_with(line)
        return changed is not None and not self._idle(changed)[0][stop]

    def _idle(self, read: Mapping) -> tuple[Counter[Path], Counter[Path]]:
        """By stop node how many elements make nothing, below ones that do, and how many there are with values."""
        idle: Counter[Path] = Counter()
        total: Counter[Path] = Counter()
        carried = {source for source, _ in read.carried()}
        for document in self.documents:
            trace = Trace()
            try:
                exchange(read, document, trace)
            except HeptoxError:
                continue  # a value for which the other schema has no tag left
            tree = read.source
            there = {_owner(tree, leaf, at): owning_stop(tree, leaf) for leaf, at in trace.starts() if leaf in carried}
            making = {_owner(tree, one.source, one.start) for one in trace.values()}
            making |= {above for element in making for above in element.iterancestors()}
            for element, stop in there.items():
                if stop and not any(above in there and above not in making for above in element.iterancestors()):
                    total[stop] += 1
                    idle[stop] += element not in making
        return Counter({stop: count for stop, count in idle.items() if count}), total

    def _why(self, stop: Path) -> str:
        """What the rules that take values of a stop node join besides."""
        keys = self.read.source_keys
        for rule in self.read.rules:
            names = {variable.name for variable in rule.variables if variable.node == stop}
            if not names & {term.variable for head in rule.head for _, term in head.leaves}:
                continue
            above = {above for name in names for above in _upwards(rule, name)}
            for one, other in (*rule.equalities(), *_links(rule)):
                for near, far in ((one, other), (other, one)):
                    if near.variable in above and far.variable not in above:
                        node = path_text(self.read.source, rule.node(far.variable))
                        refers = rule.path(near) not in keys
                        return f"they refer to no {node} that is there" if refers else f"no {node} refers to them"
            below = [v.node for v in rule.required if v.node[: len(stop)] == stop != v.node]
            if below:
                return f"they have no {' or no '.join(path_text(self.read.source, node) for node in below)}"
        return "what their rules need besides is not there"

    # -- what does not come back ---------------------------------------------------------------------------------

    def _do_not_come_back(self) -> Iterator[Remark]:
        lost = sorted(lost_leaves(self.read), key=lambda leaf: (len(leaf), leaf))
        arrows = {leaf: _readings(self.examined, self.law, leaf) for leaf in lost}
        carried = {source for source, _ in self.read.carried()}
        without = [leaf for leaf in lost if not arrows[leaf] and leaf not in carried]
        if without:
            what = "no arrow" if self.examined else "no rule"
            text = f"{_count(without)} of the {self.law.answers} {_do(without)} not come back, having {what}"
            names = _named(self.read.source, without)
            if every_node(self.read.source) is None:  # what stands below others, and its number, is not said
                names = f"right below nodes that the mapping speaks of, {names}; and all below other nodes"
                text = f"leaves of the {self.law.answers} do not come back, having {what}"
            yield self.remark(f"{text}: {names}", self._proposal(without))
        single = [leaf for leaf in lost if arrows[leaf] and "both" not in arrows[leaf]]
        if single:
            text = f"{_count(single)} of the {self.law.answers} {_do(single)} not come back, read in one direction only"
            yield self.remark(f"{text}: {_named(self.read.source, single)}")
        others = [leaf for leaf in lost if leaf not in without and leaf not in single]
        if others:
            text = f"{_count(others)} of the {self.law.answers} {_do(others)} not come back: no rule"
            yield self.remark(
                f"{text} {self.law.other} makes it of what a rule {self.law} made: {_named(self.read.source, others)}"
            )

    def _proposal(self, leaves: Sequence[Path]) -> str | None:
        """An arrow for one of some leaves that have none, where a free leaf has a like name."""
        for leaf in leaves[:MOST_NAMED]:
            if self.examined is None:
                continue
            ends = next(ends_for(self.examined, self.law, leaf), None)
            if ends is None or likeness(ends[0][-1:], ends[1][-1:]) < LIKE:
                continue
            line = next(arrows_for(self.examined, self.law, leaf))
            changed = self._sound_with(line)
            if changed is not None and leaf in returning(changed).values:
                return f"perhaps: {line}"
        return None

    def _come_back_twice(self) -> Iterator[Remark]:
        there = set(self.read.carried())
        made: dict[Path, dict[Path, None]] = {}
        for target, source in self.read.mirrored().carried():
            if (source, target) in there:
                made.setdefault(target, {})[source] = None
        for target, sources in made.items():
            if len(sources) > 1:
                names = _listed([path_text(self.read.source, source) for source in sources])
                yield self.remark(
                    f"{path_text(self.read.target, target)} takes {names}: what it takes comes back as each of them",
                    "write oneway behind all arrows but one, if that is not so",
                )


def _links(rule: Rule) -> Iterator[tuple[Term, Term]]:
    for part in rule.optional:
        for condition in part.conditions:
            if isinstance(condition.right, Term):
                yield condition.left, condition.right


def _upwards(rule: Rule, name: str) -> Iterator[str]:
    """A variable and those above it, but for the root, which all share."""
    parents = {variable.name: variable.parent for variable in rule.variables}
    current: str | None = name
    while current is not None and parents[current] is not None:
        yield current
        current = parents[current]


def _owner(tree: SchemaTree, leaf: Path, element: XmlElement) -> XmlElement:
    """The element of the stop node whose leaf is in or at an element."""
    for step in leaf[len(owning_stop(tree, leaf)) :]:
        if not step.startswith(("@", COMPUTED)) and step not in (TEXT, TAG):
            above = element.getparent()
            assert above is not None  # a leaf stands below its stop node
            element = above
    return element


def _count(leaves: Sequence[Path]) -> str:
    return f"{len(leaves)} {'leaf' if len(leaves) == 1 else 'leaves'}"


def _do(leaves: Sequence[Path]) -> str:
    return "does" if len(leaves) == 1 else "do"


def _named(tree: SchemaTree, leaves: Sequence[Path]) -> str:
    names = [path_text(tree, leaf) for leaf in leaves[:MOST_NAMED]]
    more = [f"{len(leaves) - MOST_NAMED} more"] if len(leaves) > MOST_NAMED else []
    return ", ".join([*names, *more])


def _listed(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        names = [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def lost_leaves(read: Mapping) -> Collection[Path]:
    """The leaves of the side that answers which never come back; what refers to a key that does may."""
    back = returning(read).values
    made = {leaf for _, leaf in read.mirrored().carried()}
    with_key = {one.source for one in read.source_references if one.target in back and one.source in made}
    return all_leaves(read).values - back - with_key


def _readings(examined: Examination | None, law: Law, leaf: Path) -> set[str]:
    """How the arrows at a leaf are read; below a copied node, how that is."""
    found: set[str] = set()
    for c in examined.correspondences if examined else ():
        end = (c.source if law is Law.ALONG else c.target).absolute
        if end == leaf or (c.copied and leaf[: len(end)] == end):
            found.add("both" if c.arrow is None else c.arrow.reading)
    return found
