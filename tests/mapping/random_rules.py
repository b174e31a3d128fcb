"""Random rules with everything that rules can have, over two fixed schemas, and random documents for them.

Nothing here infers: bodies, conditions, optional parts and identities are drawn as they come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from heptox.mapping import HeadNode, Mapping, Rule
from heptox.mapping.model import Argument, Condition, OptionalPart, Surrogate
from heptox.pattern import NODE, TAG, Absence, Comparison, NoNode, Presence, Term, Text, Variable
from heptox.schema import Box, Path, SchemaTree, parse_dtd
from tests.support import random_document

SOURCE: Final = """<!ELEMENT s (title?, info?, a*, b*, c*)> <!ELEMENT title (#PCDATA)> <!ELEMENT info (from?)>
<!ELEMENT from (#PCDATA)> <!ELEMENT a (x, y?, part?, (pro | con)?, e*, f*)>
<!ATTLIST a id CDATA #REQUIRED to CDATA #IMPLIED> <!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)>
<!ELEMENT part (z?, w*)> <!ELEMENT z (#PCDATA)> <!ELEMENT w (#PCDATA)>
<!ELEMENT pro (n?, v*)> <!ELEMENT con (n?, v*)> <!ELEMENT n (#PCDATA)> <!ELEMENT v (#PCDATA)>
<!ELEMENT e (red | green)*> <!ELEMENT red (n?, v*)> <!ELEMENT green (n?, v*)>
<!ELEMENT f (#PCDATA)> <!ATTLIST f k CDATA #IMPLIED>
<!ELEMENT b (x?, body?)> <!ATTLIST b no CDATA #REQUIRED a CDATA #IMPLIED> <!ELEMENT body (y?, v*)>
<!ELEMENT c (y?)> <!ATTLIST c b CDATA #IMPLIED>"""
TARGET: Final = """<!ELEMENT t (head?, list*, (one | two)*)> <!ATTLIST t v CDATA #IMPLIED> <!ELEMENT head (h?)>
<!ELEMENT h (#PCDATA)> <!ELEMENT list (k?, more?, item*)> <!ATTLIST list n CDATA #IMPLIED> <!ELEMENT k (#PCDATA)>
<!ELEMENT more (l?, m*)> <!ELEMENT l (#PCDATA)> <!ELEMENT m (#PCDATA)> <!ELEMENT item (body?)>
<!ATTLIST item c CDATA #IMPLIED d CDATA #IMPLIED> <!ELEMENT body (y?, v*)> <!ELEMENT y (#PCDATA)> <!ELEMENT v (#PCDATA)>
<!ELEMENT one (p?, q*)> <!ELEMENT two (p?, q*)> <!ELEMENT p (#PCDATA)> <!ELEMENT q (u?)> <!ELEMENT u (#PCDATA)>"""
VALUES: Final = ("1", "2", "")

_SOURCE: Final = SchemaTree(
    parse_dtd(SOURCE, "s"), (Box("Colour", ("a", "e"), ("red", "green")), Box("Side", ("a",), ("pro", "con")))
)
_TARGET: Final = SchemaTree(parse_dtd(TARGET, "t"), (Box("Kind", (), ("one", "two")),))
_ROOT_LEAVES: Final = ((("@v",), ("title",)), (("head", "h"), ("info", "from")))


def random_rules(random: Random) -> Mapping:
    """A mapping of one to four random rules."""
    rules = tuple(_Drawing(random).rule() for _ in range(random.randint(1, 4)))
    return Mapping(_SOURCE, _TARGET, rules, None)


def random_text(random: Random) -> str:
    """A random document for them; few values, so that they meet."""
    return random_document(_SOURCE.graph, random, repeats=3, elements=random.choice((12, 25, 50)), pool=VALUES)


def _all_stops(tree: SchemaTree) -> list[Path]:
    found: list[Path] = [()]
    for stop in found:
        found.extend(tree.child_stops(stop))
    return found


_SOURCE_STOPS: Final = _all_stops(_SOURCE)
_TARGET_STOPS: Final = [stop for stop in _all_stops(_TARGET) if "body" not in stop]  # which is copied whole


class _Drawing:
    """One random rule."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._variables: list[Variable] = [Variable("s", ())]

    def rule(self) -> Rule:
        random = self._random
        for _ in range(random.randint(1, 2)):
            self._chain(random.choice(self._variables), most=3)
        required = list(self._variables)
        conditions = tuple(self._conditions(required))
        kinds = [
            random.choice((self._hanging, self._linked, self._linked)) for _ in range(random.choice((0, 1, 1, 2, 3)))
        ]
        parts = [part for draw in kinds if (part := draw())]
        stops = _TARGET.stops(random.choice(_TARGET_STOPS[1:]))
        return Rule(tuple(map(self._head, stops)), tuple(self._variables), conditions, tuple(parts))

    def _chain(self, top: Variable, most: int) -> list[Variable]:
        """Some variables below one another, below ``top``."""
        below = [stop for stop in _SOURCE_STOPS if stop[: len(top.node)] == top.node and stop != top.node]
        if not below:
            return []
        made: list[Variable] = []
        for stop in _SOURCE.stops(self._random.choice(below)):
            if len(stop) > len(top.node) and len(made) < most:
                made.append(Variable(f"v{len(self._variables)}", stop, (made[-1] if made else top).name))
                self._variables.append(made[-1])
        return made

    def _hanging(self) -> OptionalPart | None:
        made = self._chain(self._random.choice(self._variables), most=3)
        return OptionalPart(tuple(variable.name for variable in made)) if made else None

    def _linked(self) -> OptionalPart | None:
        """A part behind a link, sometimes with more behind it that has to be there."""
        random, before = self._random, list(self._variables)
        top = before[0] if random.random() < 0.7 else random.choice(before)
        made = self._chain(top, most=3)
        entries = [variable for variable in made if _leaves(variable)]
        lefts = list(self._terms(before))
        if not entries:
            self._variables = before
            return None
        links = [Comparison("=", random.choice(lefts), random.choice(list(self._terms([random.choice(entries)]))))]
        for _ in range(random.choice((0, 0, 1, 2))):
            more = self._chain(random.choice([*made, before[0]]), most=2)
            if more and (terms := list(self._terms(more))) and random.random() < 0.6:
                links.append(Comparison("=", random.choice(list(self._terms(made))), random.choice(terms)))
            made += more
        return OptionalPart(tuple(variable.name for variable in made), tuple(links))

    def _terms(self, variables: Sequence[Variable]) -> Iterator[Term]:
        for variable in variables:
            for path in _leaves(variable):
                yield Term(variable.name, path)

    def _conditions(self, variables: Sequence[Variable]) -> Iterator[Condition]:
        random, terms = self._random, list(self._terms(variables))
        for _ in range(random.choice((0, 0, 1, 1, 2))):
            one, other = random.choice(terms), random.choice(terms)
            yield random.choice((
                Comparison("=", one, other),
                Comparison("!=", one, Text(random.choice(VALUES))),
                Comparison("=", one, Text(random.choice(VALUES))),
                Presence(random.choice((one, *_inner(variables)))),
                Absence(random.choice((one, *_inner(variables)))),
                self._no_node(variables),
                self._no_node(variables),
            ))  # fmt: skip

    def _no_node(self, variables: Sequence[Variable]) -> Condition:
        random = self._random
        above = random.choice(variables)
        below = [stop for stop in _SOURCE_STOPS if stop[: len(above.node)] == above.node and stop != above.node]
        if not below:
            return self._no_node(variables)
        node = random.choice(below)
        paths = _leaves(Variable("x", node, "y"))
        tests = [
            (path, random.choice((None, Text(random.choice(VALUES)), random.choice(list(self._terms(variables))))))
            for path in random.sample(paths, min(len(paths), random.choice((0, 1, 1, 2))))
        ]
        return NoNode(above.name, node, tuple(tests))

    def _head(self, node: Path) -> HeadNode:
        random = self._random
        if not node:
            supplied = [(path, Term("s", term)) for path, term in _ROOT_LEAVES if random.random() < 0.3]
            return HeadNode((), tuple(supplied))
        terms = list(self._terms(self._variables))
        paths = [*([(TAG,)] if _TARGET.box(node) else []), *_TARGET.own_leaves(node)]
        leaves = {path: random.choice(terms) for path in paths if path == (TAG,) or random.random() < 0.6}
        copies = [Term(variable.name, ("body",)) for variable in self._variables if variable.node == ("b",)]
        copied = []
        if copies and node == ("list", "item"):
            for path in [path for path in leaves if path[0] == "body"]:
                del leaves[path]
            leaves[("body",)] = random.choice(copies)
            copied.append(("body",))
        else:
            leaves = {path: term for path, term in leaves.items() if path[0:1] != ("body",)}
        kind, keys = random.random(), [path for path in leaves if path not in copied]
        each = random.choice(self._variables[1:]).name if kind < 0.4 else None
        key = random.choice(keys) if each is None and kind < 0.7 and keys else None
        ends = [path for path in (("@n",), ("@c",), ("@d",)) if path in paths and path not in leaves]
        surrogates = tuple((end, self._surrogate(terms)) for end in ends if random.random() < 0.5)
        return HeadNode(node, tuple(leaves.items()), frozenset(copied), each, key, surrogates)

    def _surrogate(self, terms: Sequence[Term]) -> Surrogate:
        """A function of some leaves of some node of the target, and of those above it."""
        random = self._random
        stops = _TARGET.stops(random.choice((("list",), ("list", "item"), ("[Kind]",), ("[Kind]", "q"))))[1:]
        arguments: list[Argument] = []
        for stop in stops:
            tag = [(TAG,)] if _TARGET.box(stop) else []
            leaves = tag + [path for path in _TARGET.own_leaves(stop) if path[:1] != ("body",)]
            if stop != stops[-1] and random.random() < 0.1:
                arguments.append(Argument(stop, (NODE,), Term(random.choice(self._variables[1:]).name, (NODE,))))
            else:
                chosen = random.sample(leaves, random.randint(1, len(leaves)))
                arguments += [Argument(stop, path, random.choice(terms)) for path in chosen]
        return Surrogate(stops[-1], tuple(arguments))


def _leaves(variable: Variable) -> list[Path]:
    """The leaves that a variable owns, but those of the subtree that is copied."""
    tag = [(TAG,)] if _SOURCE.box(variable.node) else []
    return tag + [path for path in _SOURCE.own_leaves(variable.node) if path[:1] != ("body",)]


def _inner(variables: Sequence[Variable]) -> list[Term]:
    """Inner nodes that can be asked for."""
    inner = {("a",): ("part",), ("b",): ("body",), (): ("info",)}
    return [Term(variable.name, inner[variable.node]) for variable in variables if variable.node in inner]
