"""Random queries of the fragment over a schema tree: joins, wildcards, boxes, conditions and items of every kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Final, TypeAlias, TypeVar

from heptox.grammar import Expression, syntax
from heptox.pattern import FUNCTIONS, ComparisonOperator, Sign
from heptox.schema import ANYWHERE, TEXT, WILDCARD, Path, SchemaTree

OPERATORS: Final[tuple[Sign, ...]] = ("=", "=", "=", "!=", "<", "<=", ">", ">=")
NUMBERS: Final = ("1", "2", "5", "10")
MOST_CLAUSES: Final = 3

_Choice = TypeVar("_Choice")
_Steps: TypeAlias = tuple[syntax.Step, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What queries over a schema tree speak of.

    ``carried`` are leaves that arrows lead from or to, asked for more often than others; ``keys`` those on which nodes
    are joined with others of their kind; ``numeric`` those whose values are numbers, the only ones that are compared
    with numbers; ``values`` the strings that leaves are compared with.
    """

    tree: SchemaTree
    carried: frozenset[Path] = frozenset()
    keys: frozenset[Path] = frozenset()
    numeric: frozenset[Path] = frozenset()
    values: Sequence[str] = ("a", "b", "1", "")


def random_query(random: Random, vocabulary: Vocabulary) -> Expression:
    """A query of the fragment; the same state of ``random`` gives the same one.

    It may hold what translation refuses by name: the value of an inner element, a wildcard over several.

    >>> from heptox.grammar import print_query
    >>> from heptox.schema import parse_dtd
    >>> tree = SchemaTree(parse_dtd("<!ELEMENT bib (book*)> <!ELEMENT book (#PCDATA)>"))
    >>> print(print_query(random_query(Random(29), Vocabulary(tree))))
    for $x in //book, $y in //book
    where $x <= $y
    return <r>{$x}{$y}{$x}</r>
    """
    return _Maker(random, vocabulary).query()


def random_path(random: Random, vocabulary: Vocabulary) -> Expression | None:
    """The path of a leaf, one that arrows carry if there is one; ``None`` where the schema has no leaf."""
    maker = _Maker(random, vocabulary)
    leaves = [leaf for leaf in maker.leaves if leaf in vocabulary.carried] or maker.leaves
    return maker.from_root(maker.pick(leaves)) if leaves else None


@dataclass(frozen=True, slots=True)
class _Bound:
    """A variable, or the context item ``.``, with the schema node that it stands for."""

    name: str
    node: Path


class _Maker:
    def __init__(self, random: Random, vocabulary: Vocabulary) -> None:
        self.random = random
        self.vocabulary = vocabulary
        self.tree = vocabulary.tree
        self.stops = _stops(self.tree)
        self.leaves = [(*stop, *leaf) for stop in self.stops for leaf in self.tree.own_leaves(stop)]

    def query(self) -> Expression:
        kind = self.random.random()
        if kind < 0.15 and self.leaves:
            return self.from_root(self.weighted(self.leaves))
        if kind < 0.3 and self.vocabulary.keys:
            return self.twins()
        if kind < 0.37:
            return syntax.Sequence((self.flwor(), self.flwor()))
        if kind < 0.43:
            return self.whole()
        return self.flwor()

    # -- choices -------------------------------------------------------------------------------------------------

    def pick(self, choices: Sequence[_Choice]) -> _Choice:
        return self.random.choice(choices)

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def weighted(self, leaves: Sequence[Path]) -> Path:
        carried = [leaf for leaf in leaves if leaf in self.vocabulary.carried]
        return self.pick(carried if carried and self.chance(0.85) else leaves)

    # -- paths ---------------------------------------------------------------------------------------------------

    def from_root(self, path: Path) -> syntax.PathExpression:
        root = syntax.Step("child", (self.tree.root,))
        if path and self.chance(0.7):
            start = self.random.randrange(len(path))
            first = _anywhere(self.step(path[: start + 1]))
            if first.names not in ((WILDCARD,), (TEXT,)):
                return syntax.PathExpression("/", (first, *self.steps(path, start + 1)))
        return syntax.PathExpression("/", (root, *self.steps(path, 0)))

    def relative(self, bound: _Bound, path: Path) -> syntax.PathExpression:
        return syntax.PathExpression(bound.name, self.steps(path, len(bound.node)))

    def steps(self, path: Path, above: int) -> _Steps:
        return tuple(self.step(path[:length]) for length in range(above + 1, len(path) + 1))

    def step(self, path: Path) -> syntax.Step:
        """A step that can stand for the node at ``path``, below its parent."""
        last = path[-1]
        if self.tree.box(path) is not None:
            return syntax.Step("child", self.tags(path))
        if last.startswith("@"):
            return syntax.Step("attribute", (last[1:],))
        if last.startswith(ANYWHERE):
            return syntax.Step("descendant", (last.removeprefix(ANYWHERE),))
        return syntax.Step("child", (WILDCARD if last != TEXT and self.chance(0.04) else last,))

    def tags(self, path: Path) -> tuple[str, ...]:
        box = self.tree.box(path)
        assert box is not None  # asked for boxes only
        kind = self.random.random()
        if kind < 0.4:
            return (WILDCARD,)
        if kind < 0.8:
            return (self.pick(box.members),)
        if kind < 0.9:
            return box.members
        return (self.tree.tag_of_value(path, self.pick(self.vocabulary.values)),)

    def single(self, bound: _Bound, *, numeric: bool = False) -> list[Path]:
        """The single-valued leaves below a node, the node itself if it is one."""
        if not self.tree.is_element(bound.node):
            return [] if numeric and bound.node not in self.vocabulary.numeric else [bound.node]
        stop = self.tree.stop(bound.node)
        owned = ((*stop, *leaf) for leaf in self.tree.own_leaves(stop))
        return [leaf for leaf in owned if leaf[: len(bound.node)] == bound.node and self.fits(leaf, numeric)]

    def repeating(self, bound: _Bound, *, numeric: bool = False) -> list[Path]:
        """The leaves that repeat below a node."""
        single = set(self.single(bound))
        below = [leaf for leaf in self.leaves if leaf[: len(bound.node)] == bound.node]
        return [leaf for leaf in below if leaf not in single and self.fits(leaf, numeric)]

    def fits(self, leaf: Path, numeric: bool) -> bool:
        return not numeric or leaf in self.vocabulary.numeric

    # -- for and where -------------------------------------------------------------------------------------------

    def flwor(self) -> Expression:
        bound: list[_Bound] = []
        clauses: list[syntax.For | syntax.Let] = []
        for number in range(self.pick((1, 1, 2, 2, MOST_CLAUSES))):
            source, node = self.clause(bound)
            bound.append(_Bound(f"${'xyz'[number]}", node))
            clauses.append(syntax.For(bound[-1].name, source))
        conditions = [self.condition(bound) for _ in range(self.pick((0, 0, 0, 1, 1, 2)))]
        conditions += self.joins(bound)
        return syntax.Flwor(tuple(clauses), syntax.conjunction(conditions), self.item(bound))

    def twins(self) -> Expression:
        """Two nodes of one kind that agree on a key, and something of each: one node where the key is one."""
        key = self.pick(sorted(self.vocabulary.keys))
        one, other = (_Bound(name, self.tree.stop(key)) for name in ("$x", "$y"))
        clauses = tuple(syntax.For(twin.name, self.from_root(twin.node)) for twin in (one, other))
        conditions: list[syntax.Condition] = [
            syntax.Comparison("=", self.relative(one, key), self.relative(other, key))
        ]
        conditions += [self.condition([one, other])] if self.chance(0.3) else []
        leaves = [leaf for leaf in self.single(one) if leaf != key] or [key]
        slots = tuple(self.slot(twin, self.weighted(leaves)) for twin in (one, other))
        return syntax.Flwor(clauses, syntax.conjunction(conditions), syntax.ElementConstructor("r", (), slots))

    def clause(self, bound: Sequence[_Bound]) -> tuple[syntax.PathExpression, Path]:
        nodes = self.nodes()
        if bound and self.chance(0.15):
            node = self.pick(bound).node  # the same again, to be joined with itself
            return self.from_root(node), node
        if bound and self.chance(0.5):
            above = self.pick(bound)
            below = [node for node in nodes if node[: len(above.node)] == above.node and node != above.node]
            if below:
                node = self.pick(below)
                return self.restricted(self.relative(above, node), node), node
        node = self.pick(nodes)
        return self.restricted(self.from_root(node), node), node

    def nodes(self) -> list[Path]:
        """Nodes that a variable may stand for: mostly stop nodes with something below that is carried."""
        stops = [stop for stop in self.stops if stop] or [()]
        carried = [stop for stop in stops if any(leaf[: len(stop)] == stop for leaf in self.vocabulary.carried)]
        inner = [leaf[:-1] for leaf in self.leaves if len(leaf) > 1]
        others = [*inner, *self.leaves, *stops]
        return carried if carried and self.chance(0.75) else others

    def restricted(self, path: syntax.PathExpression, node: Path) -> syntax.PathExpression:
        if not node or self.chance(0.8):
            return path
        *before, last = path.steps
        restricted = syntax.Step(last.axis, last.names, (self.condition([_Bound(".", node)]),))
        return syntax.PathExpression(path.start, (*before, restricted))

    def joins(self, bound: Sequence[_Bound]) -> list[syntax.Condition]:
        found: list[syntax.Condition] = []
        for one, other in combinations(bound, 2):
            left, right = self.single(one), self.single(other)
            if not left or not right or not self.chance(0.6):
                continue
            first = self.weighted(left)
            if other.node == one.node:
                second = first if self.chance(0.8) else self.weighted(right)
            elif other.node[: len(one.node)] != one.node:
                second = self.weighted(right)
            else:
                continue
            found.append(syntax.Comparison("=", self.relative(one, first), self.relative(other, second)))
        return found

    def condition(self, bound: Sequence[_Bound]) -> syntax.Condition:
        if self.chance(0.1):
            return syntax.Or((self.simple(bound), self.simple(bound)))
        return self.simple(bound)

    def simple(self, bound: Sequence[_Bound]) -> syntax.Condition:
        makers: tuple[Callable[[Sequence[_Bound]], syntax.Condition | None], ...] = (
            self.with_string,
            self.with_string,
            self.with_number,
            self.between,
            self.between,
            self.empty,
            self.exists,
        )
        for _ in range(12):
            found = self.pick(makers)(bound)
            if found is not None:
                return found
        return syntax.Exists(self.from_root(self.stops[-1]))

    def operand(
        self, bound: Sequence[_Bound], *, numeric: bool = False
    ) -> syntax.PathExpression | syntax.TagValue | None:
        one = self.pick(bound)
        if not numeric and self.tree.box(one.node) is not None and self.chance(0.4):
            return syntax.TagValue(syntax.PathExpression(one.name))
        leaves = self.repeating(one, numeric=numeric) if self.chance(0.25) else []
        leaves = leaves or self.single(one, numeric=numeric)
        return self.relative(one, self.weighted(leaves)) if leaves else None

    def with_string(self, bound: Sequence[_Bound]) -> syntax.Condition | None:
        left, value = self.operand(bound), self.pick(self.vocabulary.values)
        operator = self.pick((*OPERATORS, *(each.name for each in FUNCTIONS.values())))
        if operator in FUNCTIONS:
            return self.by_function(FUNCTIONS[operator], self.pick(bound), value)
        return None if left is None else syntax.Comparison(operator, left, syntax.StringLiteral(value))

    def by_function(self, function: ComparisonOperator, one: _Bound, value: str) -> syntax.Condition | None:
        """A function of what has one value at most, and of the beginning of a string."""
        value, leaves = value[: self.pick((1, 1, 2, len(value)))], self.single(one)
        if function.holds("", value) or not leaves:
            return None
        return syntax.Comparison(function.name, self.relative(one, self.weighted(leaves)), syntax.StringLiteral(value))

    def with_number(self, bound: Sequence[_Bound]) -> syntax.Condition | None:
        left = self.operand(bound, numeric=True)
        if not isinstance(left, syntax.PathExpression) or any(WILDCARD in step.names for step in left.steps):
            return None
        return syntax.Comparison(self.pick(OPERATORS), left, syntax.NumberLiteral(self.pick(NUMBERS)))

    def between(self, bound: Sequence[_Bound]) -> syntax.Condition | None:
        left, right = self.operand(bound), self.operand(bound)
        if left is None or right is None or left == right:
            return None
        return syntax.Comparison(self.pick(OPERATORS), left, right)

    def empty(self, bound: Sequence[_Bound]) -> syntax.Condition | None:
        found = self.below(bound)
        return None if found is None else syntax.Empty(found)

    def exists(self, bound: Sequence[_Bound]) -> syntax.Condition | None:
        found = self.below(bound)
        return None if found is None else syntax.Exists(found)

    def below(self, bound: Sequence[_Bound]) -> syntax.PathExpression | None:
        """The path to a node below a variable, or to a leaf of it."""
        one = self.pick(bound)
        below = [stop for stop in self.stops if stop[: len(one.node)] == one.node and stop != one.node]
        leaves = [leaf for leaf in self.single(one) if leaf != one.node]
        if below and (not leaves or self.chance(0.5)):
            return self.relative(one, self.pick(below))
        return self.relative(one, self.weighted(leaves)) if leaves else None

    # -- items ---------------------------------------------------------------------------------------------------

    def item(self, bound: Sequence[_Bound]) -> Expression:
        options = [(one, leaf) for one in bound for leaf in self.single(one)]
        carried = [option for option in options if option[1] in self.vocabulary.carried]
        boxed = [one for one in bound if self.tree.box(one.node) is not None]
        if boxed and self.chance(0.2):
            return syntax.TagValue(syntax.PathExpression(self.pick(boxed).name))
        if not options or self.chance(0.05):
            return syntax.ElementConstructor("r")

        def chosen() -> tuple[_Bound, Path]:
            return self.pick(carried if carried and self.chance(0.85) else options)

        def leaf() -> syntax.PathExpression:
            return self.relative(*chosen())

        kind = self.random.random()
        if kind < 0.3:
            return leaf()
        if kind < 0.4:
            return syntax.Data(leaf())
        if kind < 0.45:
            return syntax.TextConstructor(syntax.Data(leaf()))
        if kind < 0.5:
            return syntax.AttributeConstructor("a", syntax.Data(leaf()))
        attributes = (syntax.DirectAttribute("a", (syntax.Data(leaf()),)),) if self.chance(0.2) else ()
        slots = tuple(self.slot(*chosen()) for _ in range(self.pick((1, 2, 2, 3))))
        if self.chance(0.35):
            slots = (*slots[:-1], self.nested(bound))
        return syntax.ElementConstructor("r", attributes, slots)

    def whole(self) -> Expression:
        """All elements of one kind, as they are."""
        inner = [stop for stop in self.stops if stop and self.tree.is_element(stop) and not self.tree.is_leaf(stop)]
        return self.from_root(self.pick(inner)) if inner else self.flwor()

    def nested(self, bound: Sequence[_Bound], depth: int = 0) -> Expression:
        """What hangs below a variable, or is joined with it: paths that repeat, and loops with items of their own."""
        one = self.pick(bound)
        below = [stop for stop in self.stops if stop[: len(one.node)] == one.node and stop != one.node]
        name = f"${'vw'[depth]}"
        if below and self.chance(0.7):
            node = self.pick(below)
            source = self.restricted(self.relative(one, node), node)
            if self.chance(0.4):
                return source
        else:
            node = self.pick(self.nodes())
            source = self.from_root(node)
        inner = _Bound(name, node)
        both = (*bound, inner)
        conditions = [self.condition(both)] if self.chance(0.3) else []
        conditions += self.joins(both) if self.chance(0.6) else []
        content: list[Expression] = [
            self.slot(each, self.weighted(self.single(each))) for each in (inner,) if self.single(each)
        ]
        if depth == 0 and self.chance(0.3):
            content.append(self.nested(both, 1))
        return syntax.Flwor(
            (syntax.For(name, source),),
            syntax.conjunction(conditions),
            syntax.ElementConstructor("n", (), tuple(content)),
        )

    def slot(self, bound: _Bound, leaf: Path) -> Expression:
        kind, path = self.random.random(), self.relative(bound, leaf)
        if kind < 0.5 and leaf[-1:] != (TEXT,) and not leaf[-1].startswith("@"):
            return path
        if kind < 0.85 or not path.steps:
            return syntax.ElementConstructor("i", (), (syntax.Data(path),))
        inner = syntax.ElementConstructor("j", (), (syntax.Data(syntax.PathExpression("$u")),))
        return syntax.Flwor((syntax.For("$u", path),), None, inner)


def _stops(tree: SchemaTree) -> list[Path]:
    """All stop nodes, the root first."""
    found: list[Path] = [()]
    for stop in found:
        found.extend(tree.child_stops(stop))
    return found


def _anywhere(step: syntax.Step) -> syntax.Step:
    return syntax.Step("descendant-attribute" if step.axis == "attribute" else "descendant", step.names)
