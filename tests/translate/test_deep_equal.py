"""``deep-equal`` is true of two nodes that are not there, and of equal ones."""

from __future__ import annotations

from typing import Final

import pytest

from heptox.translate import Direction
from tests.support.definition import check_equal, pairs
from tests.support.random_mappings import problem

SOURCE = (
    "<!ELEMENT r (p*)> <!ELEMENT p (n, a?, b?)> <!ELEMENT n (#PCDATA)> <!ELEMENT a (#PCDATA)> <!ELEMENT b (#PCDATA)>"
)
GIVEN = problem(SOURCE, SOURCE.replace("p*", "q*").replace(" p ", " q "), "p/n -> q/n\np/a -> q/a\np/b -> q/b\n")


DOCUMENTS: Final = (
    "<r><p><n>x</n></p><p><n>y</n></p><p><n>x</n><a>1</a></p></r>",
    "<r><p><n/><a>1</a><b>1</b></p><p><n>1</n><a>2</a><b>1</b></p><p><n>2</n><a>1</a></p><p><n>1</n><b/></p></r>",
    "<r><p><n>z</n><a/></p><p><n/></p></r>",
)


@pytest.mark.parametrize(
    "condition",
    [
        "deep-equal($x/a, $y/a)",
        "deep-equal($x/a, $x/b)",
        "deep-equal(data($x/a), data($x/b))",
        "deep-equal(data($x/a), data($y/b))",
        "deep-equal($x/n, $y/n)",
        "exists($x/a) and deep-equal($x/a, $y/a)",
        "deep-equal($x/a, $x/a)",
    ],
)
@pytest.mark.parametrize("to", Direction)
def test_leaves_that_may_be_absent_are_compared(condition: str, to: Direction) -> None:
    node = "q" if to is Direction.SOURCE else "p"
    texts = DOCUMENTS if to is Direction.SOURCE else [text.replace("p>", "q>") for text in DOCUMENTS]
    query = f"for $x in //{node}, $y in //{node} where {condition} return <e>{{$x/n}}{{data($y/n)}}</e>"
    check_equal(GIVEN.mapping, query, pairs(GIVEN.mapping, texts, to), to)
