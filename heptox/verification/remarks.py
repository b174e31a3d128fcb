"""What a mapping means for real documents: remarks of a mapping without faults (``semantics.md`` sections 2, 4 and 6).

A remark is no fault: what becomes one, makes nothing or does not come back may be meant so. It says the line to write
where it is not, and names only a line that was tried on the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping as Table, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from heptox.errors import Fault, HeptoxError
from heptox.grammar import Side
from heptox.mapping import ArrowsText, Examination, HeadNode, Mapping, Rule, path_text
from heptox.pattern import NODE, TAG, Term, is_constant
from heptox.schema import Path, SchemaTree, idref_paths, plain, validity_faults
from heptox.verification.cases import DOCUMENTS, CaseMaker
from heptox.verification.contradictions import brought_elsewhere, never_taken, not_as_selected, selecting_nothing
from heptox.verification.coverage import Coverage, coverage
from heptox.verification.images import Images
from heptox.verification.inverses import wrong_inverses
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
from heptox.verification.unasked import unasked
from heptox.xml import Document

if TYPE_CHECKING:
    from heptox.schema import DocumentChecker

MOST_NAMED: Final = 8
"""Leaves that one remark names at most."""
MOST_LINES: Final = 3
"""Lines that one remark proposes at most for nodes of several kinds."""
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


@dataclass(frozen=True, slots=True)
class Checked:
    """What there is to know of a mapping: remarks, and what needs none; for each direction of which leaves rules speak,
    and what exchange makes of documents.
    """

    remarks: tuple[Remark, ...]
    confirmed: tuple[Remark, ...]
    coverage: Table[Law, Coverage]
    images: Table[Law, Images]


def checked(
    mapping: Mapping,
    arrows: ArrowsText | None = None,
    documents: Table[Side, Sequence[Document]] = MappingProxyType({}),
    *,
    are_random: bool = False,
    tries: int = MOST_TRIES,
    checkers: Table[Side, DocumentChecker] = MappingProxyType({}),
) -> Checked:
    """What there is to know of a mapping, each direction after the other; ``arrows`` is its text, if it was inferred,
    on which as many lines as ``tries`` says are tried, but of those for which all its rules are inferred again fewer
    where these are very many.

    What becomes of documents is seen on those of each side, which are valid, and said to be random if they
    ``are_random``. Images are checked by the ``checkers`` of their sides, where there are such, else against the schema
    graph.
    """
    examined = None if arrows is None else arrows.examined()
    rules = sum(len(law.read(mapping).rules) for law in served(mapping))
    trials = None if arrows is None else _LineTrials(arrows, tries, min(tries, MOST_RULES // max(rules, 1)))
    found: list[Remark] = []
    confirmed: list[Remark] = []
    covered = {law: coverage(law.read(mapping)) for law in served(mapping)}
    images = {
        law: Images(law.read(mapping), documents.get(law.answers, ()), are_random, checkers.get(law.asks))
        for law in served(mapping)
    }
    for law in served(mapping):
        direction = _DirectionRemarks(mapping, law, trials, examined, covered, images[law])
        found += direction.remarks()
        confirmed += direction.confirmed()
    return Checked(tuple(dict.fromkeys(found)), tuple(confirmed), covered, images)


def remarks(
    mapping: Mapping,
    arrows: ArrowsText | None = None,
    documents: Sequence[Document] = (),
    *,
    are_random: bool = False,
    tries: int = MOST_TRIES,
) -> tuple[Remark, ...]:
    """The remarks alone, as :func:`checked` makes them, with documents of the source."""
    return checked(mapping, arrows, {"source": documents}, are_random=are_random, tries=tries).remarks


def random_documents(mapping: Mapping, law: Law, cases: int = 3) -> list[Document]:
    """A few random documents of the side that answers, valid and with the keys that are declared for it; none where
    none can be made."""
    graph = law.read(mapping).source.graph
    try:
        maker = CaseMaker(law.read(mapping))
        randoms = [Random(f"{law} {seed}") for seed in range(cases)]
        drawn = (maker.documents(random, random.random() < 0.25) for random in randoms)
        return [
            one for some in drawn for one in islice((one for one in some if not validity_faults(one, graph)), DOCUMENTS)
        ]
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

    def makes_of_each(self, law: Law, node: Path, made: HeadNode, *, alone: bool) -> bool:
        """Whether an ``each`` line is no fault, and every node makes one of an image by it, with its leaves; it is read
        in this direction ``alone``, or in both.
        """
        self.each_left -= 1
        if self.each_left < 0:
            return False
        ends = (node, made.node) if law is Law.ALONG else (made.node, node)
        rules = self.arrows.examined().rules_with_each(*ends, mirrored=law is Law.AGAINST, alone=alone) or ()
        heads = (head for rule in rules for head in rule.head if head.node == made.node and head.each is not None)
        return any({*head.paths} >= {*made.paths} for head in heads)


@dataclass
class _DirectionRemarks:
    """The remarks on one direction of a mapping."""

    whole: Mapping
    law: Law
    trials: _LineTrials | None
    examined: Examination | None
    covered: Table[Law, Coverage]
    images: Images

    @cached_property
    def read(self) -> Mapping:
        return self.law.read(self.whole)

    def remarks(self) -> Iterator[Remark]:
        if not self.read.rules:
            yield self.remark(f"0 rules: nothing that is asked in the words of the {self.law.asks} is translated")
        if self.examined is not None and self.law is Law.AGAINST:
            yield from map(self._mirrored, self.examined.remarks)
        if self.read.rules:
            yield from self._coverage()
            yield from map(self.remark, self.images.remarks())
            yield from self._unknown_references()
            yield from self._contradict()
            yield from self._become_one()
            yield from self._optional_connections()
            yield from self._make_nothing()
            yield from map(self.remark, unasked(self.read))
            if not self.images.are_random:
                yield from map(self.remark, self.images.several_values())
                yield from map(self.remark, self.images.unknown_codes())
                yield from map(self.remark, self.images.broken_promises())
            yield from (self.remark(fault.message) for fault in wrong_inverses(self.read)[0])
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

    # -- leaves --------------------------------------------------------------------------------------------------

    def confirmed(self) -> Iterator[Remark]:
        """What is as it should be, where something is made."""
        if not self.read.rules:
            return
        yield from (
            self.remark(f"{count} of {count} {leaves} are {verb}")
            for _, left, verb, leaves, count in self._leaves()
            if count and not left
        )
        if self.images.faults and not any(self.images.faults):
            values = ", values aside" if self.images.leaves_values_aside else ""
            count = len(self.images.faults)
            yield self.remark(f"{count} of {count} images{self.images.which} are valid{values}")

    def _coverage(self) -> Iterator[Remark]:
        """Which leaves rules do not reach and use, and what else the schema requires."""
        for tree, left, verb, leaves, count in self._leaves():
            if left:
                text = f"{count} of {count + len(left)} {leaves} are {verb}, not {_named(tree, left)}"
                yield self.remark(text, self._proposal(left) if verb == "used" else None)
        missing = self.covered[self.law].missing
        if missing:
            yield self.remark(f"required by the schema, and not reached: {_named(self.read.target, missing)}")

    def _leaves(self) -> Iterator[tuple[SchemaTree, Sequence[Path], str, str, int]]:
        """The leaves of images that rules leave out, and those of documents; what they do with others, and how many."""
        read, found = self.read, self.covered[self.law]
        for tree, there, left, verb, side in (
            (read.target, found.reached, found.unreached, f"reached{self._invented()}", self.law.asks),
            (read.source, found.used, found.unused, "used", self.law.answers),
        ):
            where = " right below nodes that the mapping speaks of" if every_node(tree) is None else ""
            yield tree, left, verb, f"leaves of the {side}{where}", len(there)

    def _invented(self) -> str:
        count = len(self.read.invented_target.intersection(self.covered[self.law].reached))
        return f", {count} of them by invented identifiers" if count else ""

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

    # -- what contradicts ----------------------------------------------------------------------------------------

    def _contradict(self) -> Iterator[Remark]:
        yield from map(self.remark, selecting_nothing(self.read))
        yield from (self.remark(text, hint) for text, hint in not_as_selected(self.read))
        if self.examined is not None:
            for arrow, why in never_taken(self.read, self.examined, mirrored=self.law is Law.AGAINST):
                ends = (
                    path_text(self.read.source, arrow.source.absolute),
                    path_text(self.read.target, arrow.target.absolute),
                )
                line = arrow.arrow.position.line if arrow.arrow and arrow.arrow.position else None
                yield Remark(self.law, f"{' -> '.join(ends)} {why}", line=line)

    # -- identity ------------------------------------------------------------------------------------------------

    def _become_one(self) -> Iterator[Remark]:
        """Nodes that are told apart by their values only, which do not tell the nodes apart that they come from."""
        reported: set[Path] = set()
        kinds: dict[tuple[str, str], list[tuple[Rule, HeadNode]]] = {}
        for rule in self.read.rules:
            for depth, head in enumerate(rule.head):
                if head.node and head.node not in reported and self._may_become_one(rule, depth):
                    reported.add(head.node)
                    kinds.setdefault(self._said_of(head), []).append((rule, head))
        for (before, after), made in kinds.items():
            nodes = _listed([path_text(self.read.target, head.node) for _, head in made])
            several = ", each kind by itself" if len(made) > 1 else ""
            lines = [line for line in (self._each_line(*one) for one in made[:MOST_LINES]) if line]
            hint = f"write, if each is its own: {'; '.join(lines)}" if lines else None
            yield self.remark(f"{before} {nodes} {after}{several}", hint)

    def _may_become_one(self, rule: Rule, depth: int) -> bool:
        head = rule.head[depth]
        if head.each is not None or head.key is not None or head.term(()) is not None:
            return False  # of equal leaves, one says as much as several
        terms = _values(head)
        if not terms:
            if any(map(_values, self._heads[head.node])):
                return False
            terms = [term for below in rule.head[depth:] for term in _values(below)]
        apart = self._told_apart(rule, rule.head[: depth + 1])
        return any(term.variable not in apart for term in terms)

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

    @cached_property
    def _heads(self) -> dict[Path, list[HeadNode]]:
        """The nodes of the heads of all rules, by their paths."""
        found: dict[Path, list[HeadNode]] = {}
        for head in (head for rule in self.read.rules for head in rule.head):
            found.setdefault(head.node, []).append(head)
        return found

    def _said_of(self, head: HeadNode) -> tuple[str, str]:
        """What is said of nodes that become one, before and behind their name."""
        tree = self.read.target
        every = self._heads[head.node]
        leaves = dict.fromkeys(
            path_text(tree, leaf) if leaf != (TAG,) else "tag"
            for other in every
            if other.anchor is None
            for leaf in (
                *(path for path, term in other.leaves if not is_constant(term.path)),
                *(path for path, made in other.surrogates if made.node != other.node),
            )
        )
        keys = dict.fromkeys(path_text(tree, other.key) for other in every if other.key is not None)
        parent = tree.stops(head.node)[-2]
        above = path_text(tree, parent)
        if not leaves:
            where = f"for each {above}" if parent else "for the whole document"
            return "there is one", f"{where}: no leaf of its own tells several apart"
        where = f"below one {above}" if parent else "of a document"
        where += f" without {_listed(list(keys))}," if keys else ""
        return "all", f"{where} with equal {_listed(list(leaves))} become one"

    def _each_line(self, rule: Rule, head: HeadNode) -> str | None:
        """The line by which a source node makes each node: first of one that stands below all others that its leaves
        come from, for several of it may make one of them.
        """
        own = _values(head)
        below = (one for one in rule.head if one.node[: len(head.node)] == head.node)
        counts = Counter(rule.node(term.variable) for term in own or (term for one in below for term in _values(one)))
        apart = {rule.node(name) for name in self._told_apart(rule, rule.head)} if own else set()
        lowest = {node for node in counts if all(node[: len(other)] == other for other in counts)}
        if self.examined is None or self.trials is None:
            return None
        reading, other = self.examined.readings[:: -1 if self.law is Law.AGAINST else 1]
        for node in sorted(counts, key=lambda node: (node not in lowest, node in apart, -counts[node], len(node))):
            drawn = reading.drawn(node)
            # what the other direction makes of each of another node is not to be made of each of this one, too
            alone = any(entity.target == drawn for entity in other.entities)
            if node and self.trials.makes_of_each(self.law, drawn, head, alone=alone):
                only = " oneway" if self.law is Law.ALONG else " mirrored"
                return f"{self._entity(drawn, head.node)}{only if alone else ''}"
        return None

    def _entity(self, node: Path, made: Path) -> str:
        return entity_line(self._along, *((node, made) if self.law is Law.ALONG else (made, node)))

    @property
    def _along(self) -> Mapping:
        """The mapping as its file has it."""
        return self.read if self.law is Law.ALONG else self.read.mirrored()

    # -- what makes nothing --------------------------------------------------------------------------------------

    def _make_nothing(self) -> Iterator[Remark]:
        idle, total = self.images.idle()
        for stop in sorted(idle):
            name = path_text(self.read.source, stop)
            text = f"{idle[stop]} of {total[stop]} {name}{self.images.which} make nothing: {self._why(stop)}"
            pairs = counterparts(self.examined) if self.examined else []
            own = [(s, t) for s, t in pairs if stop == (s if self.law is Law.ALONG else t)]
            lines = (entity_line(self._along, *pair) for pair in own)
            line = next((line for line in lines if self._makes_all(line, stop)), None)
            yield self.remark(text, line and f"write, to make something of each: {line}")

    def _makes_all(self, line: str, stop: Path) -> bool:
        changed = self._sound_with(line)
        return changed is not None and not replace(self.images, read=changed).idle()[0][stop]

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
        constant = _constants(self.read.mirrored())  # as selections say, they come back
        lost = sorted({*lost_leaves(self.read)} - constant, key=lambda leaf: (len(leaf), leaf))
        arrows = {leaf: _readings(self.examined, self.law, leaf) for leaf in lost}
        carried = {source for source, _ in self.read.carried()}
        without = [leaf for leaf in lost if not arrows[leaf] and leaf not in carried]
        tested = [leaf for leaf in without if leaf in self.covered[self.law].used]
        if tested:
            text = f"{_count(tested)} of the {self.law.answers} {_do(tested)} not come back, used in conditions only"
            yield self.remark(f"{text}: {_named(self.read.source, tested)}")
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
            if self.examined is None or len(served(self.whole)) < len(Law) or leaf[-1] == TAG:
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
        hint = "write oneway behind all arrows but one, if that is not so"
        for target, pairs in brought_elsewhere(self.read):
            names = {leaf: path_text(self.read.source, leaf) for leaf in dict.fromkeys(chain(*pairs))}
            taker = path_text(self.read.target, target)
            if len(pairs) == len(names) * (len(names) - 1):
                text = f"{taker} takes {_listed([*names.values()])}: what it takes comes back as each of them"
                yield self.remark(text, hint)
                continue
            for leaf in dict.fromkeys(one for one, _ in pairs):
                others = _listed([names[other] for one, other in pairs if one == leaf])
                yield self.remark(f"what {taker} takes of {names[leaf]} comes back as {others}, too", hint)


def _values(head: HeadNode) -> list[Term]:
    """The source terms of what a rule supplies, but for constants, by which no nodes are told apart."""
    return [term for term in head.terms if not is_constant(term.path)]


def _constants(read: Mapping) -> set[Path]:
    """The leaves that rules give constants."""
    heads = (head for rule in read.rules for head in rule.head)
    return {(*plain(head.node), *path) for head in heads for path, term in head.leaves if is_constant(term.path)}


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
