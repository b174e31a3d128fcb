"""``deep-equal`` is translated of one node, or value, on each side, if any; it is true where neither is there."""

from __future__ import annotations

import pytest

from heptox.errors import GrammarError
from heptox.grammar import parse_query
from heptox.translate import Direction, translate
from tests.support.definition import check_backward, pairs
from tests.support.random_mappings import problem

SOURCE = (
    "<!ELEMENT r (p*)> <!ELEMENT p (n, a?, b?)> <!ELEMENT n (#PCDATA)> <!ELEMENT a (#PCDATA)> <!ELEMENT b (#PCDATA)>"
)
GIVEN = problem(SOURCE, SOURCE.replace("p*", "q*").replace(" p ", " q "), "p/n -> q/n\np/a -> q/a\np/b -> q/b\n")


@pytest.mark.parametrize(
    "condition",
    [
        "deep-equal($x/n/text(), $x/a/text())",
        "deep-equal($x/n/text(), $x/n/text())",
        "deep-equal($x/*, $x/n)",
    ],
)
@pytest.mark.parametrize(("to", "node"), [(Direction.SOURCE, "q"), (Direction.TARGET, "p")])
def test_what_may_be_several_and_texts_are_refused(condition: str, to: Direction, node: str) -> None:
    with pytest.raises(GrammarError) as raised:
        translate(GIVEN.mapping, parse_query(f"for $x in //{node} where {condition} return $x/n"), to)
    assert raised.value.faults[0].code == "HX3046"


def test_what_is_surely_there_is_compared() -> None:
    instances = pairs(GIVEN.mapping, ["<r><p><n>x</n></p><p><n>y</n></p><p><n>x</n><a>1</a></p></r>"])
    query = (
        "for $x in //q, $y in //q where exists($x/n) and exists($y/n) and deep-equal($x/n, $y/n) return <e>{$x/a}</e>"
    )
    check_backward(GIVEN.mapping, query, instances)
