"""What a mapping says that can never be, or that exchange does not do: selections and arrows that contradict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import permutations, product

from heptox.mapping import Correspondence, Examination, HeadNode, Mapping, Rule, path_text
from heptox.pattern import NODE, Absence, Comparison, Constant, Presence, Term, Text, leaf_paths, value_expression
from heptox.schema import Path, SelectionTest, contradict, plain, split_selection


def selecting_nothing(read: Mapping) -> Iterator[str]:
    """Selections in the bodies of rules whose conditions contradict each other."""
    nodes = {one.node for rule in read.rules for one in rule.variables if one.node}
    for node in sorted(nodes):
        tests = split_selection(node[-1])[1]
        required = [
            SelectionTest("exists", test.path)
            for test in tests
            if read.source.required((*plain(node), *test.path), below=plain(node))
        ]
        if contradict((*tests, *required)):
            yield f"{path_text(read.source, node)} selects nothing: its conditions contradict each other, or the schema"


# -- what comes back elsewhere -----------------------------------------------------------------------------------------


def brought_elsewhere(read: Mapping) -> Iterator[tuple[Path, list[tuple[Path, Path]]]]:
    """The leaves of images that take what several leaves bring, each with the pairs of these of which one comes back as
    the other: but for nodes of selections that are never one.
    """
    made: dict[Path, dict[Path, list[tuple[Sequence[HeadNode], Path]]]] = {}
    for rule, head, leaf, term in _supplied(read):
        for source in _sources(rule, term):
            ways = made.setdefault((*plain(head.node), *leaf), {})
            chain = rule.head[: rule.head.index(head) + 1]
            ways.setdefault(plain(source), []).append((chain, rule.path(term)))
    back: dict[Path, dict[Path, set[Path]]] = {}
    for rule, head, leaf, term in _supplied(read.mirrored()):
        for taken in _sources(rule, term):
            ends = back.setdefault(plain(taken), {})
            ends.setdefault((*plain(head.node), *leaf), set()).add(taken)
    for target, ways in made.items():
        returned = back.get(target, {})
        pairs = [
            (one, other)
            for one, other in permutations([source for source in ways if source in returned], 2)
            if _brings(ways[one], {origin for _, origin in ways[other]}, returned[other])
        ]
        if pairs:
            yield target, pairs


def _brings(ways: Sequence[tuple[Sequence[HeadNode], Path]], origins: set[Path], returned: Iterable[Path]) -> bool:
    """Whether some of what is taken from one leaf, in ways that another has no part in, comes back as that one."""
    return any(origin not in origins and _selects(taken, chain) for (chain, origin), taken in product(ways, returned))


def _supplied(read: Mapping) -> Iterator[tuple[Rule, HeadNode, Path, Term]]:
    for rule in read.rules:
        for head in rule.head:
            yield from ((rule, head, leaf, term) for leaf, term in head.leaves if term.path != (NODE,))


def _sources(rule: Rule, term: Term) -> list[Path]:
    """The leaves of which a term is a value, or from which it is computed."""
    expression = value_expression(term.path)
    paths = [term.path] if expression is None else leaf_paths(expression)
    return [(*rule.node(term.variable), *path) for path in paths]


def _selects(taken: Path, chain: Sequence[HeadNode]) -> bool:
    """Whether a leaf of virtual nodes may be one of what a rule makes, at or below a chain of nodes.

    >>> _selects(('f[["=",["@k"],["1"]]]', "v"), [HeadNode(('f[["=",["@k"],["2"]]]',))])
    False
    >>> _selects(('f[["exists",["@k"],[]]]', "v"), [HeadNode(("f",))])
    False
    """
    for head in chain:
        if head.node:
            step = taken[len(head.node) - 1]
            is_there = all(test.test == "not" or test.path in head.paths for test in split_selection(step)[1])
            if not is_there or not _can_be_one(step, head.node[-1]):
                return False
    return True


@lru_cache(maxsize=10_000)
def _can_be_one(step: str, other: str) -> bool:
    return not contradict((*split_selection(step)[1], *split_selection(other)[1]))


# -- arrows that are not taken -----------------------------------------------------------------------------------------


def never_taken(read: Mapping, examined: Examination, *, mirrored: bool) -> Iterator[tuple[Correspondence, str]]:
    """Arrows with why they make nothing, or nothing of what lines say of their nodes."""
    reading = examined.readings[mirrored]
    heads: dict[tuple[Path, Path], list[HeadNode]] = {}
    for rule, head, leaf, term in _supplied(read):
        heads.setdefault((plain(rule.path(term)), plain((*head.node, *leaf))), []).append(head)
    keys = {reference.source: reference.target for reference in read.source_references}
    every = {(plain(arrow.source.absolute), plain(arrow.target.absolute)) for arrow in reading.arrows}
    drawn = {target for _, target in every}
    lines = {entity.target for entity in reading.entities}
    arrows = reading.arrows if mirrored else [c for c in examined.correspondences if not _is_mirrored(c)]
    for arrow in arrows:
        source, target = plain(arrow.source.absolute), plain(arrow.target.absolute)
        found = heads.get((source, target), ())
        if found and arrow.target.stop in lines and not any(head.each for head in found):
            yield arrow, "goes with no each line of its node, and makes nodes of its own"
        elif not found and not mirrored and (keys.get(source), target) not in every:  # a key brings its values
            constant = target not in drawn
            yield arrow, f"makes nothing: {'a constant fills the leaf' if constant else 'no rule takes it'}"


def _is_mirrored(arrow: Correspondence) -> bool:
    return arrow.arrow is not None and arrow.arrow.reading == "against"


# -- nodes that are not as they are selected ---------------------------------------------------------------------------


def not_as_selected(read: Mapping) -> Iterator[tuple[str, str | None]]:
    """Nodes that are made, and that their own selections would not select, or not always; what may mend it."""
    found: dict[tuple[Path, SelectionTest], dict[str, None]] = {}
    for rule in read.rules:
        for head in rule.head:
            for test in split_selection(head.node[-1])[1] if head.node else ():
                if fault := _fault(read, rule, head, test):
                    found.setdefault((head.node, test), {})[fault] = None
    for (node, test), faults in found.items():
        leaf = path_text(read.target, test.path) if test.path else "value"
        text = f"{path_text(read.target, node)} {' or '.join(faults)} {leaf}: its own condition does not select it then"
        mended = any("without" in fault for fault in faults)
        yield text, f"draw an arrow into {leaf} that is always there, or compare it with one string" if mended else None


def _fault(read: Mapping, rule: Rule, head: HeadNode, test: SelectionTest) -> str | None:
    """How a rule makes a node that a condition of its own does not select; a constant is always there."""
    term = head.term(test.path)
    if term is None:
        invented = any(path == test.path for path, _ in head.surrogates)
        return None if test.test == "not" or (invented and test.test == "exists") else "is made without"
    value = value_expression(term.path)
    if isinstance(value, Constant) and test.test != "not":
        return "is made with another" if contradict((test, SelectionTest("=", test.path, (value.value,)))) else None
    known = [replace(one, path=test.path) for one in _known(rule, term)]
    if test.test == "not":
        return None if contradict((*known, replace(test, test="exists"))) else "may be made with"
    is_there = any(one.test != "not" for one in known) or read.source.required(
        rule.path(term), rule.node(term.variable)
    )
    if value is not None or not is_there or not _is_bound(rule, head, term):
        return "may be made without"
    if test.test == "!=" and not contradict((*known, replace(test, test="="))):
        return "may be made with another"
    values = next((one.values for one in known if one.test == "="), None)
    return "may be made with another" if test.test == "=" and not {*(values or [""])} <= {*test.values} else None


def _known(rule: Rule, term: Term) -> Iterator[SelectionTest]:
    """What a rule says of a leaf, as conditions of a selection."""
    node = rule.node(term.variable)
    yield from (test for test in (split_selection(node[-1])[1] if node else ()) if test.path == term.path)
    for condition in rule.conditions:
        match condition:
            case Comparison(("=" | "!=") as test, left, Text(value)) if left == term:
                yield SelectionTest(test, term.path, (value,))
            case Presence(there) if there == term:
                yield SelectionTest("exists", term.path)
            case Absence(there) if there == term:
                yield SelectionTest("not", term.path)


def _is_bound(rule: Rule, head: HeadNode, term: Term) -> bool:
    """Whether the source node of a term is there wherever a rule makes a node."""
    bound = {variable.name for variable in rule.required} | {head.each}
    others = {one.variable for one in head.terms if not isinstance(value_expression(one.path), Constant)}
    return term.variable in bound or others == {term.variable}
