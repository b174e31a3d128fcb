"""Random small schemas, documents and subscriptions in which names and values are few, so that things coincide.

Subscriptions walk about in documents that there are, and leave the way now and then, so that about as many match as do
not, and those that do not fail late.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Final

from heptox.errors import SchemaError
from heptox.schema import SchemaGraph, parse_dtd, random_document
from tests.support.matching.conditions import All, Any, Comparison, Condition, Constant, Exists, Path, Step
from tests.support.matching.embedding import Node

NAMES: Final = ("a", "b", "c", "d")
ATTRIBUTES: Final = ("x", "y")
ODD_NAMES: Final = ("and", "or", "text", "div", "é", "a-b.c", "if")
"""Names that are words of XPath, or not spelled with plain letters."""

VALUES: Final = (
    "1", "2", "5", "05", "5.0", "5.", "1e0", "1E+1", ".5", "-0", "0", "-1", "+1", " 5 ", "\t2\n", "10", "9", "1.5",
    "NaN", "INF", "-INF", "inf", "1_0", "\uff11", "\xa05", "0x5", "1e", "- 1",
    "", " ", "a", "b", "B", "ab", " a", "a b", "x\ny", "it's", '"', "<&>", "]]>", "--",
    "\u00e9", "e\u0301", "\ud7ff", "\uffee", "\U00010000",
)  # fmt: skip
"""Numbers in many spellings and what only looks like one; strings whose order is not that of UTF-16 or of a locale."""

NUMBERS: Final = (
    "0", "1", "2", "5", "10", "5.0", "05", ".5", "1.", "1e0", "5E0", "15", "0.1e1", "-1", "-0", "+1", "-.5", "1.5",
    "-1.5",
)  # fmt: skip
OPERATORS: Final = ("=", "!=", "<", "<=", ">", ">=")


# -- schemas and documents ---------------------------------------------------------------------------------------


def random_schema(random: Random) -> SchemaGraph:
    """A schema with few names: recursive, with mixed content and empty elements as it comes."""
    while True:
        names = list(NAMES[: random.randint(2, len(NAMES))])
        if random.random() < 0.15:
            names[-1] = random.choice(ODD_NAMES)
        text = "".join(_declaration(random, name, names) for name in names)
        try:
            graph = parse_dtd(text, names[0])
            random_document(graph, Random(0))
        except (SchemaError, ValueError):
            continue
        return graph


def _declaration(random: Random, name: str, names: Sequence[str]) -> str:
    children = random.sample(names, random.randint(1, len(names)))
    content = random.choice(
        (
            "EMPTY",
            "(#PCDATA)",
            "(#PCDATA)",
            f"(#PCDATA | {' | '.join(children)})*",
            f"({' | '.join(children)})*",
            f"({' | '.join(children)})+",
            f"({', '.join(child + random.choice('?*+') for child in children)})",
        )
    )
    attributes = random.sample(ATTRIBUTES, random.choice((0, 0, 1, 2)))
    declared = "".join(f" {attribute} CDATA #IMPLIED" for attribute in attributes)
    return f"<!ELEMENT {name} {content}>" + (f"<!ATTLIST {name}{declared}>" if declared else "")


def random_text(random: Random, schema: SchemaGraph) -> str:
    """A valid document with comments, processing instructions, CDATA sections and entities here and there."""
    repeats, elements, depth = random.randint(1, 3), random.choice((3, 8, 15, 30)), random.choice((3, 6, 12))
    text = random_document(schema, random, repeats=repeats, elements=elements, depth=depth, pool=VALUES)
    if random.random() < 0.5:
        text = "".join(_decorated(random, piece) for piece in re.findall(r"<[^>]*>|[^<]+", text))
    if random.random() < 0.1:
        text = f'<!DOCTYPE {schema.root} [<!ENTITY e "5"><!ATTLIST {schema.root} y CDATA "1">]>' + text
        text = re.sub(">([^<]*)<", lambda found: f">{found[1].replace('5', '&e;')}<", text)
    return text


def _decorated(random: Random, piece: str) -> str:
    chance = random.random()
    if piece[0] == "<":
        return piece + (random.choice(("<!-- 5 -->", "<?p 5?>")) if chance < 0.1 else "")
    if "&" in piece or chance < 0.6:
        return piece
    half = len(piece) // 2
    if chance < 0.7:
        return f"<![CDATA[{piece}]]>"
    return f"{piece[:half]}{random.choice(('<!--b-->', '<?b?>', '<![CDATA[]]>'))}{piece[half:]}"


# -- damaged texts -----------------------------------------------------------------------------------------------

PIECES: Final = (
    "/", "//", "[", "]", "(", ")", "and", "or", "=", "!=", "<", "<=", ".", "..", "*", "@", "@*", "@x", "a", "text()",
    "5", "-5", ".5", "5.", "1e0", "e1", "'x'", '"y"', "''", '""', " ", "\n", "(:", "(: c :)", "::", "child::", "not(",
    "|", ",", "$x", "-", "+", "div", "eq", "a-b", "\u00e9", "1a", "node()", "''''", "&lt;", "{", "}", "#", "!", "a:b",
    "*:a", "?", "if", "\u00a0", "\x00",
)  # fmt: skip
"""What texts are damaged with."""


def damaged(random: Random, text: str) -> str:
    """A text with something put in, left out or replaced: perhaps no XPath any more, perhaps another one."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        place = random.randint(0, len(text))
        put, taken = random.choice((*PIECES, *("",) * 20)), random.choice((0, 0, 1, 1, 2, 4))
        text = text[:place] + put + text[place + taken :]
    return text


# -- subscriptions -----------------------------------------------------------------------------------------------


def random_condition(random: Random, documents: Sequence[Node]) -> Condition:
    """A condition on documents of which some are given, as document nodes."""
    return _Maker(random, random.choice(documents)).top()


class _Maker:
    def __init__(self, random: Random, document: Node) -> None:
        self.random = random
        self.document = document
        self.nodes = list(document)
        self.budget = random.choice((2, 4, 8, 14))
        """How many more steps there may be."""

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def top(self) -> Condition:
        if self.chance(0.25):
            kind = All if self.chance(0.6) else Any
            return kind(tuple(self.top() for _ in range(self.random.choice((2, 2, 3)))))
        return self.leaf(self.document, absolute=True)

    def condition(self, here: Node | None, depth: int) -> Condition:
        """A condition on a node, ``None`` for one that there is not."""
        if depth < 3 and self.chance(0.25):
            kind = All if self.chance(0.6) else Any
            return kind(tuple(self.condition(here, depth + 1) for _ in range(self.random.choice((2, 2, 3)))))
        if self.chance(0.05):
            return self.leaf(self.document, absolute=True)
        return self.leaf(here, absolute=False)

    def leaf(self, here: Node | None, *, absolute: bool) -> Condition:
        if not absolute and (self.chance(0.2) or not self.leads_on(here)):
            # a pair, so that two comparisons of one node are frequent
            own = [self.compared(Path(False, ()), here) for _ in range(self.random.choice((1, 1, 2)))]
            return own[0] if len(own) == 1 else All(tuple(own))
        path, end = self.path(here, absolute)
        return self.compared(path, end) if self.chance(0.5) else Exists(path)

    def leads_on(self, here: Node | None) -> bool:
        """Whether a step may be made from a node: not from attributes and text."""
        return here is None or not (here.test.startswith("@") or here.test == "text()")

    def path(self, here: Node | None, absolute: bool) -> tuple[Path, Node | None]:
        steps: list[Step] = []
        wanted = self.random.choice((1, 1, 2, 2, 3, 3, 4, 6))
        while len(steps) < wanted and (not steps or _is_element(steps[-1].test)):
            axis = "//" if self.chance(0.3) else "/"
            here = self.next(here, axis, last=len(steps) + 1 == wanted)
            test = self.test(here)
            if here is not None and not here.passes(test):
                here = None
            self.budget -= 1
            predicates: list[Condition] = []
            while self.budget > 0 and self.chance(0.25):
                predicates.append(self.condition(here if _is_element(test) else here or _LEAF, 1))
            steps.append(Step(axis, test, tuple(predicates)))
        return Path(absolute, tuple(steps)), here

    def next(self, here: Node | None, axis: str, *, last: bool) -> Node | None:
        if here is None or self.chance(0.05):
            return None
        starts = [here] if axis == "/" else list(here)
        found = [node for start in starts for node in start.below if last or self.leads_on(node) or self.chance(0.1)]
        return self.random.choice(found) if found else None

    def test(self, node: Node | None) -> str:
        if node is None or self.chance(0.03):
            kinds = (*NAMES, *NAMES, "*", "text()", "@*", *(f"@{name}" for name in ATTRIBUTES))
            return self.random.choice((*kinds, *ODD_NAMES) if self.chance(0.1) else kinds)
        if node.test == "text()" or not self.chance(0.18):
            return node.test
        return "@*" if node.test.startswith("@") else "*"

    def compared(self, path: Path, end: Node | None) -> Comparison:
        return Comparison(path, self.random.choice(OPERATORS), self.constant(end))

    def constant(self, end: Node | None) -> Constant:
        if end is not None and self.chance(0.5):
            near = end.value
        else:
            near = self.random.choice(self.nodes).value if self.chance(0.5) else self.random.choice(VALUES)
        if self.chance(0.5):
            return Constant(near)
        as_number = near.strip(" \t\n")
        if _LITERAL.fullmatch(as_number) and self.chance(0.6):
            return Constant(as_number, True)
        return Constant(self.random.choice(NUMBERS), True)


_LEAF: Final = Node("@")
_LITERAL: Final = re.compile(r"[+-]?([0-9]{1,12}(\.[0-9]{0,3})?|\.[0-9]{1,12})([eE][+-]?[0-9]{1,2})?")
"""Numbers that every precision keeps."""


def _is_element(test: str) -> bool:
    return not test.startswith("@") and test != "text()"
