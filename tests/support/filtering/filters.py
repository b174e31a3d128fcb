"""Random XPath filters that walk about in a schema, and leave it now and then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Final, TypeAlias

from elementpath import ElementPathError, XPath1Parser
from lxml import etree

from heptox.schema import SchemaGraph
from tests.support.filtering.judging import parsed_3

CONSTANTS: Final = ("'1'", "'2'", "'a'", "'ab'", "''", "' 2 '", '"b"', "1", "2", "3", "1.5", "10", "0", "-1")
_STRINGS: Final = CONSTANTS[:7]
OPERATORS: Final = ("=", "=", "=", "!=", "<", "<=", ">", ">=")
POSITIONS: Final = ("1", "2", "last()", "position()<3", "position() > 1", "position()=last()", "last() - 1", "last()=1")
UNDECLARED: Final = ("zz", "aa", "b2")
ABSENT: Final = 0.04
"""How often a name is none that the schema has at that place."""

Types: TypeAlias = frozenset[str]
"""The element types that a path may have come to; the document is the empty name."""
DOCUMENT: Final = frozenset({""})
NOTHING: Types = frozenset()


# -- filters -------------------------------------------------------------------------------------------------------


def random_filter(random: Random, graph: SchemaGraph) -> str:
    """A filter of XPath 1.0. Six of ten are location paths of ``/``, ``//``, ``*`` and ``..`` with few and simple
    predicates; the others have all axes, functions of all kinds, predicates in predicates, and values of all types.
    """
    walker = _Walker(graph)
    while True:
        text = _Maker(random, walker, is_wild=random.random() > 0.6).top()
        if _is_xpath_1(text):
            return text


def random_filter_3(random: Random, graph: SchemaGraph) -> str:
    """A filter of XPath 3.1, with what XPath 1.0 does not have.

    None compares with a number what may be none, which is an error there. elementpath 5.1.4 is wrong in
    ``//a/(b, ..)``, in ``deep-equal``, and in ``for`` with a variable on which a later one of the same ``for`` depends:
    they are left out.
    """
    walker = _Walker(graph)
    while True:
        text = _Maker(random, walker, is_wild=False, constants=_STRINGS).top_3()
        if _is_xpath_3(text):
            return text


def _is_xpath_1(text: str) -> bool:
    try:
        etree.XPath(text)
        XPath1Parser().parse(text)
    except (etree.XPathError, ElementPathError):
        return False
    return True


def _is_xpath_3(text: str) -> bool:
    try:
        parsed_3(text)
    except ElementPathError:
        return False
    return True


# -- the schema ----------------------------------------------------------------------------------------------------


class _Walker:
    """Which element types are where from others; the document is above the root."""

    def __init__(self, graph: SchemaGraph) -> None:
        self.graph = graph
        self.below: dict[str, Types] = {
            name: frozenset(child.name for child in element.children) for name, element in graph.elements.items()
        }
        self.below[""] = frozenset({graph.root})
        self.all: Types = frozenset(graph.elements)
        self.above: dict[str, Types] = {
            name: frozenset(parent for parent, found in self.below.items() if name in found) for name in self.below
        }

    def children(self, types: Types) -> Types:
        return _union(self.below[name] for name in types)

    def parents(self, types: Types) -> Types:
        return _union(self.above[name] for name in types)

    def siblings(self, types: Types) -> Types:
        return self.children(self.parents(types))

    def descendants(self, types: Types) -> Types:
        return _closed(types, self.children)

    def ancestors(self, types: Types) -> Types:
        return _closed(types, self.parents)

    def attributes(self, types: Types) -> list[str]:
        return sorted({a.name for name in types & self.all for a in self.graph.elements[name].attributes})

    def with_text(self, types: Types) -> Types:
        return frozenset(name for name in types & self.all if self.graph.elements[name].text)


def _union(parts: Iterable[Types]) -> Types:
    return frozenset().union(*parts)


def _closed(types: Types, step: Callable[[Types], Types]) -> Types:
    """What is one step away, or several."""
    found = step(types)
    while not (further := step(found)) <= found:
        found |= further
    return found


# -- expressions ---------------------------------------------------------------------------------------------------


class _Maker:
    """One filter; it grows less the deeper it is nested."""

    def __init__(self, random: Random, walker: _Walker, *, is_wild: bool, constants: Sequence[str] = CONSTANTS) -> None:
        self.random = random
        self.walker = walker
        self.is_wild = is_wild
        self.constants = constants
        self.depth = 0

    def often(self, chance: float) -> bool:
        return self.random.random() < chance

    def one(self, *choices: str) -> str:
        return self.random.choice(choices)

    def of(self, types: Types) -> str:
        """A type, or a name that is not expected there."""
        if not types or self.often(ABSENT):
            return self.random.choice([*sorted(self.walker.all), *UNDECLARED])
        return self.random.choice(sorted(types))

    # -- whole filters

    def top(self) -> str:
        if not self.is_wild:
            return self.location()
        wild: Sequence[Callable[[], str]] = (
            self.location, self.location, self.location, self.location, self.relative, self.union, self.parenthesised,
            self.value, self.up_and_down, self.identified,
        )  # fmt: skip
        return self.random.choice(wild)()

    def location(self) -> str:
        """An absolute path from the document."""
        return self.path(DOCUMENT, "/", self.random.choice((1, 2, 2, 3, 3, 4, 5)))[0]

    def relative(self) -> str:
        """A path whose first step stands alone; it begins at the document, too."""
        steps, _ = self.path(DOCUMENT, "", self.random.choice((1, 2, 3)))
        return self.one(steps, f"./{steps}", f".//{self.of(self.walker.descendants(DOCUMENT))}", f"(.)/{steps}")

    def union(self) -> str:
        kinds: Sequence[Callable[[], str]] = (self.location, self.location, self.relative)
        paths = [self.random.choice(kinds)() for _ in range(self.random.choice((2, 2, 3)))]
        return self.one(" | ", "|").join(paths)

    def parenthesised(self) -> str:
        inside = self.union() if self.often(0.3) else self.location()
        types = self.walker.descendants(DOCUMENT)
        predicate = f"[{self.one(*POSITIONS)}]" if self.often(0.8) else self.predicate(types)
        further = self.one("..", "*", "text()", self.of(types))  # there may be attributes: no other axes
        return f"({inside}){predicate}" + (f"/{further}" if self.often(0.3) else "")

    def up_and_down(self) -> str:
        """What looks up from deep inside."""
        types = self.walker.descendants(DOCUMENT)
        name = self.of(types)
        here = frozenset({name}) & self.walker.all
        above, siblings = self.walker.ancestors(here), self.walker.siblings(here)
        look = self.one(
            f"../{self.of(siblings)}",
            f"../../{self.of(self.walker.children(above))} {self.one(*OPERATORS)} {self.one(*self.constants)}",
            f"ancestor::{self.of(above)}",
            f"ancestor-or-self::*[@{self.attribute(above)}]",
            f"preceding-sibling::{self.of(siblings)}",
            f"following::{self.of(types)}",
            f"not(../{self.of(siblings)} = .)",
            f". = ../{self.of(siblings)}",
            f". = {self.location()}",
            f"count(ancestor::*) {self.one('=', '>', '<')} {self.one('1', '2', '3')}",
            f"count(../{self.of(siblings)}) {self.one('=', '>', '<')} {self.one('1', '2')}",
        )
        return f"//{name}[{look}]" + (f"/{self.step(here)[0]}" if self.often(0.4) else "")

    def identified(self) -> str:
        """With ``id``, which is about attributes that the document declares to be IDs."""
        there = self.location()
        return self.one(
            f"id('p{self.one('1', '2')}')",
            f"id('p1 p3')/{self.one('*', '..', '@*')}",
            f"id({there})",
            "//*[id('p1')]",
            "//*[count(id(@*)) > 0]",
            f"{there}[id('..')]",
            "//*[. = id('p2')]",
            "id('p1')/ancestor::*",
        )

    def value(self) -> str:
        """A number, a string or a truth value."""
        there, other = self.location(), self.location()
        return self.one(
            f"count({there})",
            f"count({there}) {self.one('+', '-', '*')} count({other})",
            f"{there} {self.one(*OPERATORS)} {self.one(*self.constants)}",
            f"{there} {self.one(*OPERATORS)} {other}",
            f"string({there})",
            f"name({there})",
            f"local-name({there})",
            f"normalize-space({there})",
            f"string-length({there})",
            f"concat({there}, '-', {other})",
            f"sum({there}[. >= 0])",
            f"number({there})",
            f"boolean({there})",
            f"not({there})",
            f"contains({there}, {self.one(*_STRINGS)})",
            f"starts-with({there}, {self.one(*_STRINGS)})",
            f"substring-before({there}, {self.one(*_STRINGS)})",
            f"translate({there}, 'ab1', 'AB')",
            f"boolean({there}) and {other}",
            f"not({there} = {other})",
            f"true() = ({there} = {other})",
            "position() + last()",
        )

    # -- paths

    def path(self, types: Types, slash: str, length: int) -> tuple[str, Types]:
        """So many steps from where some types are; ``slash`` stands before the first."""
        parts = []
        for number in range(length):
            if number or slash:
                slash = "//" if self.often(0.25) else "/"
            before = types
            if slash == "//":
                types |= self.walker.descendants(types)
            is_last = number == length - 1
            step, types = self.last_step(types) if is_last and types != DOCUMENT else self.step(types)
            if not types and is_last and before == DOCUMENT:
                types = self.walker.all
            parts.append(slash + step)
            if not types:
                break
        return "".join(parts), types

    def last_step(self, types: Types) -> tuple[str, Types]:
        """As :meth:`step`, or attributes, or text."""
        chance = self.random.random()
        if chance < 0.12 and self.walker.attributes(types):
            step = f"@{self.attribute(types)}" if self.often(0.8) else "@*"
        elif chance < 0.2 and self.walker.with_text(types):
            step = self.one("text()", "text()", "node()", "text()[1]")
        elif chance < 0.23 and self.is_wild:
            step = self.one("node()", "text()/..", "@*/..", "attribute::*[. = '1']", "child::node()[last()]")
        else:
            return self.step(types)
        return step, NOTHING

    def step(self, types: Types) -> tuple[str, Types]:
        step, found = self.any_axis(types) if self.is_wild and self.often(0.4) else self.plain_step(types)
        if step == ".." and self.depth < 2 and self.often(0.3):
            return f"parent::{self.one('*', 'node()')}{self.predicate(found - DOCUMENT)}", found
        if step not in (".", "..") and found != DOCUMENT:
            for _ in range(self.random.choice((0, 0, 0, 0, 1, 1, 2) if self.is_wild else (0, 0, 0, 1))):
                if self.depth < 2:
                    step += self.predicate(found)
        return step, found

    def plain_step(self, types: Types) -> tuple[str, Types]:
        below = self.walker.children(types)
        chance = self.random.random()
        if chance < 0.07 and "" not in types:
            return "..", self.walker.parents(types)
        if chance < 0.09:
            return ".", types
        if chance < 0.22 and below:
            return "*", below
        if not below and "" not in types:
            return ("..", self.walker.parents(types)) if self.often(0.5) else (".", types)
        return self.named("", below)

    def named(self, axis: str, types: Types) -> tuple[str, Types]:
        name = self.of(types)
        return axis + name, frozenset({name}) & self.walker.all

    def any_axis(self, types: Types) -> tuple[str, Types]:
        walker = self.walker
        axis, found = self.random.choice(
            (
                ("child", walker.children(types)),
                ("parent", walker.parents(types)),
                ("self", types),
                ("ancestor", walker.ancestors(types)),
                ("ancestor-or-self", walker.ancestors(types) | types),
                ("descendant", walker.descendants(types)),
                ("descendant-or-self", walker.descendants(types) | types),
                ("following-sibling", walker.siblings(types)),
                ("preceding-sibling", walker.siblings(types)),
                ("following", walker.all),
                ("preceding", walker.all),
            )
        )
        found -= DOCUMENT
        if not found:
            return self.plain_step(types)
        if self.often(0.25):
            return f"{axis}::{self.one('*', '*', 'node()')}", found
        return self.named(f"{axis}::", found)

    def attribute(self, types: Types) -> str:
        names = self.walker.attributes(types)
        return self.random.choice(names) if names and not self.often(ABSENT) else self.one("x", "y", "i", "zz")

    # -- predicates

    def predicate(self, types: Types) -> str:
        self.depth += 1
        text = self.wild_condition(types) if self.is_wild else self.plain_condition(types)
        self.depth -= 1
        return f"[{text}]"

    def plain_condition(self, types: Types) -> str:
        """That something is there, or has a value, or a position."""
        chance = self.random.random()
        if chance < 0.25:
            return self.one(*POSITIONS)
        if chance < 0.33:
            return self.above(types)
        operand = self.operand(types)
        return operand if chance < 0.6 else f"{operand}{self.one(*OPERATORS)}{self.one(*self.constants)}"

    def above(self, types: Types) -> str:
        """A path to what is beside an element, or beside those above it."""
        above = self.walker.ancestors(types) - DOCUMENT
        beside = f"../{self.of(self.walker.siblings(types))}"
        return self.one(beside, beside, f"ancestor::*/{self.of(self.walker.children(above))}", f"../{beside}")

    def operand(self, types: Types) -> str:
        """A short path to something below."""
        below, attributes = self.walker.children(types), self.walker.attributes(types)
        if attributes and self.often(0.4):
            return f"@{self.attribute(types)}"
        if below and self.often(0.15):
            return f".//{self.of(self.walker.descendants(types))}"
        if below and self.often(0.1):
            step, found = self.named("", below)
            return f"{step}[{self.one(*POSITIONS)}]/{self.of(self.walker.children(found))}"
        if below and self.often(0.75):
            return (
                self.one("", "", "", ".//") + self.path(below | types, "", 1)[0] if self.often(0.2) else self.of(below)
            )
        return self.one(".", ".", "text()", "*", "@*", "..")

    def wild_path(self, types: Types) -> str:
        if self.often(0.15):
            return self.location()
        if self.often(0.5):
            return self.operand(types)
        return self.path(types, "", self.random.choice((1, 1, 2, 3)))[0]

    def wild_condition(self, types: Types) -> str:
        if self.often(0.3):
            return self.plain_condition(types)
        there, other = self.wild_path(types), self.wild_path(types)
        return self.one(
            there,
            f"not({there})",
            f"{there} and {other}",
            f"{there} or {self.plain_condition(types)}",
            f"not({there}) and {other} {self.one(*OPERATORS)} {self.one(*self.constants)}",
            f"{there} {self.one(*OPERATORS)} {other}",
            f"{there} {self.one(*OPERATORS)} {self.one(*self.constants)}",
            f"{self.one(*self.constants)} {self.one(*OPERATORS)} {there}",
            f"{self.one(*POSITIONS)}",
            f"count({there}) {self.one(*OPERATORS)} {self.one('0', '1', '2', f'count({other})')}",
            f"contains({there}, {self.one(*_STRINGS)})",
            f"starts-with({there}, {self.one(*_STRINGS)})",
            f"string-length({there}) {self.one(*OPERATORS)} {self.one('0', '1', '2')}",
            f"normalize-space({self.one('', there)}) = {self.one(*_STRINGS)}",
            f"sum({there}) {self.one(*OPERATORS)} {self.one('1', '3')}",
            f"number({there}) = {self.one('1', '2', '1.5')}",
            f"{self.one('name', 'local-name')}() = '{self.of(types)}'",
            f"starts-with(name({self.one('', '..', '*')}), '{self.of(types)[:1]}')",
            f"(({there}) | ({other})) = {self.one(*self.constants)}",
            f"lang('en') or {there}",
            f"{there} {self.one('=', '!=')} not({other})",
            f"position() = count({there})",
            f"string(.) = string({there})",
            f"{there}[{self.one(*POSITIONS)}] = {self.one(*self.constants)}",
            f"position() mod 2 = {self.one('0', '1')}",
            f"{there} + 1 > {self.one('1', '2')}",
            f"../{self.of(self.walker.siblings(types))} {self.one(*OPERATORS)} {other}",
            f"ancestor::{self.of(self.walker.ancestors(types) - DOCUMENT)}",
            f"self::{self.of(types)}",
        )

    # -- XPath 3.1

    def top_3(self) -> str:
        there, other = self.location(), self.location()
        types = self.walker.descendants(DOCUMENT)
        name = self.of(types)
        here = frozenset({name}) & self.walker.all
        below = self.of(self.walker.children(here))
        text = self.one("'1'", "'2'", "'a'", "''")
        return self.one(
            f"for $v in {there} return $v/..",
            f"for $v in //{name} return ($v/{below}, $v/@*)",
            f"for $v in {there} return for $w in {other}[. = $v] return $w",
            f"//{name}[some $v in {below} satisfies $v = {text}]",
            f"//{name}[every $v in .//* satisfies string($v) != {text}]",
            f"some $v in {there} satisfies $v = {text}",
            f"//{name}[if ({below}) then @* else *]",
            f"if ({there}) then {other} else 'none'",
            f"{there} intersect {other}",
            f"({there}) except ({other})",
            f"//{name}/* except //{name}/{below}",
            f"{there} union {other}",
            f"{there} ! name()",
            f"//{name} ! (., ..)",
            f"//{name}[string({below}[1]) eq {text}]",
            f"//{name}[name() eq 'a' or name() ge 'b']",
            f"//{name}[count({below}) ge {self.one('1', '2')}]",
            f"//{name}[. is ../*[1]]",
            f"//{name}[. << ../{below}[1]]",
            f"distinct-values({there}/string())",
            f"distinct-values(//{name}/@*)",
            f"({there}, {other})",
            f"(//{name}, 'end', 3)",
            f"string-join({there}/string(), ',')",
            f"string-join({there} ! name(), '/')",
            f"//{name}/string-length()",
            f"//{name}/(*|@*)",
            f"//{name}/({below} | ..)",
            f"reverse({there})",
            f"subsequence({there}, 2, 2)",
            f"{self.one('head', 'tail', 'count', 'exists', 'empty')}({there})",
            f"let $v := {there} return $v[last()]",
            f"{there}[matches(., '^[1-3]')]",
            f"{there}[. = ('1', 'a', '2')]",
            f"{there}[ends-with(., '1')]",
            f"//{name}[path() = path(({there})[1])]",
            f"{there} => count()",
            f"//*[local-name() = ('{name}', '{below}')]",
            f"for-each(//{name}, function($v) {{ $v/{below} }})",
            f"filter(//{name}, function($v) {{ $v = {text} }})",
            f"sort(distinct-values({there}/string()))",
            f"(1 to count({there})) ! (. * 2)",
            f"//{name}[string(.) = ../*[1]/string()]",
            f"outermost({there})",
            f"innermost({there} | {other})",
            f"root(({there})[1])/*",
        )
