"""Tree patterns over documents of any schema: what a subscription asks for (``dissemination.md``).

Unlike a :class:`~heptox.pattern.Query`, a tree pattern has no schema and no output: its steps may be ``//`` and ``*``,
and a document matches it or does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from heptox.pattern.model import Number, Text
from heptox.pattern.operators import Sign

Axis: TypeAlias = Literal["/", "//"]
"""A child, or a node at any depth below."""

ANY_ELEMENT: Final = "*"
ANY_ATTRIBUTE: Final = "@*"
TEXT: Final = "text()"


@dataclass(frozen=True, slots=True)
class ValueTest:
    """What the value of a node itself must fulfil: ``. >= 5``, ``. = "x"`` (:func:`~heptox.pattern.holds`)."""

    operator: Sign
    constant: Text | Number

    def __str__(self) -> str:
        return f"{self.operator} {printed_constant(self.constant)}"


@dataclass(frozen=True, slots=True)
class PatternNode:
    """A node of a pattern: how it is reached, what it is, what holds of its value and what lies below it.

    ``test`` is the expanded name of an element, ``*``, ``@name``, ``@*`` or ``text()``; nothing lies below the last
    three.
    """

    axis: Axis
    test: str
    values: tuple[ValueTest, ...] = ()
    children: tuple[PatternNode, ...] = ()

    def __post_init__(self) -> None:
        if self.children and is_leaf_test(self.test):
            raise ValueError(f"nothing lies below {self.test}")

    def __str__(self) -> str:
        return f"{self.axis}{printed_test(self.test)}{''.join(f'[{condition}]' for condition in self._conditions())}"

    def _conditions(self) -> list[str]:
        return [f". {value}" for value in self.values] + [
            str(child)[1:] if child.axis == "/" else f".{child}" for child in self.children
        ]


@dataclass(frozen=True, slots=True)
class TreePattern:
    """A conjunction of pattern nodes below the document node, at least one.

    It matches a document if there is an embedding: each node of the pattern goes to a node of the document of which its
    test and value tests hold, and which stands to the image of the node above as the axis says. Several nodes of the
    pattern may go to one node of the document.

    >>> print(TreePattern((PatternNode("//", "b", (), (PatternNode("/", "@x", (ValueTest("=", Text("1")),)),)),)))
    //b[@x[. = "1"]]
    """

    children: tuple[PatternNode, ...]

    def __post_init__(self) -> None:
        if not self.children:
            raise ValueError("a tree pattern needs a node")

    def __str__(self) -> str:
        """The pattern as an XPath expression of the subscription language."""
        return " and ".join(map(str, self.children))


def is_leaf_test(test: str) -> bool:
    """Whether a node test is one of attributes or text, below which nothing lies."""
    return test[0] == "@" or test == TEXT


def printed_test(test: str) -> str:
    """A node test as XPath writes it, which needs no table of prefixes.

    >>> printed_test("@{urn:a}b"), printed_test("b"), printed_test("*")
    ('@Q{urn:a}b', 'b', '*')
    """
    return test.replace("{", "Q{", 1) if "{" in test else test


def printed_constant(constant: Text | Number) -> str:
    """A constant as XPath writes it.

    >>> print(printed_constant(Text('say "x"')), printed_constant(Number("-5")))
    "say ""x""\" -5
    """
    return constant.lexical if isinstance(constant, Number) else '"' + constant.value.replace('"', '""') + '"'
