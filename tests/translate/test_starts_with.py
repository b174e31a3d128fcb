"""How a value begins, asked along mappings in both directions and judged by Saxon."""

from __future__ import annotations

from typing import Final

import pytest

from heptox.errors import GrammarError
from heptox.grammar import parse_query
from heptox.grammar.tag_value import tag_value_form
from heptox.translate import Direction, translate
from tests.support.definition import check_equal, pairs
from tests.support.random_mappings import problem

GIVEN: Final = problem(
    "<!ELEMENT r (p*)> <!ELEMENT p (n, a?, w*)> <!ATTLIST p k CDATA #IMPLIED> <!ELEMENT n (#PCDATA)> "
    "<!ELEMENT a (#PCDATA)> <!ELEMENT w (#PCDATA)>",
    "<!ELEMENT t (x*, y*)> <!ELEMENT x (a?, v*)> <!ATTLIST x k CDATA #IMPLIED> <!ELEMENT y (a?, v*)> "
    "<!ATTLIST y k CDATA #IMPLIED> <!ELEMENT v (#PCDATA)> <!ELEMENT a (#PCDATA)>",
    "target box B = (x | y)\np/n -> [B]\np/a -> [B]/a\np/@k -> [B]/@k\np/w -> [B]/v\n",
)
SOURCES: Final = (
    '<r><p k="ab"><n>x</n><a>abc</a><w>Äb</w><w>b</w></p><p><n>y</n><w>A\u0308b</w></p><p k=""><n>x</n><a/></p></r>',
    '<r><p k="\U0001d49cb"><n>x</n><a>A</a></p><p k="b a"><n>y</n><a> ab</a><w>ab</w></p></r>',
)
TARGETS: Final = (
    '<t><x k="ab"><a>abc</a><v>Äb</v><v>b</v></x><x k=""/><y><v>A\u0308b</v></y></t>',
    '<t><x k="\U0001d49cb"><a>A</a></x><y k="b a"><a> ab</a><v>ab</v></y></t>',
)


@pytest.mark.parametrize(
    "query",
    [
        "for $x in /t/* where starts-with($x/@k, 'ab') return <e>{data($x/@k)}</e>",
        "for $x in //x where starts-with($x/a, 'ab') and starts-with($x/@k, 'a') return $x/a",
        "for $x in //x[starts-with(a, 'A')] return data($x/@k)",
        "//v[starts-with(., 'A')]",
        "for $x in /t/* where $x/v[starts-with(., 'Ä')] return <e>{data($x/@k)}</e>",
        "for $x in /t/*, $v in $x/v where starts-with($v, 'b') or starts-with(data($x/@k), '\U0001d49c') return $v",
        f"for $x in /t/* where starts-with({tag_value_form('$x')}, 'x') return <e>{{data($x/a)}}</e>",
        f"for $x in /t/* where starts-with({tag_value_form('$x')}, 'yy') return <e>{{data($x/a)}}</e>",
        "for $x in //y where starts-with($x/a/text(), ' a') return $x/a",
        "for $x in //x, $y in //x where $x/@k = $y/@k and starts-with($x/a, 'ab') return $y/a",
    ],
)
def test_it_is_asked_of_the_source(query: str) -> None:
    check_equal(GIVEN.mapping, query, pairs(GIVEN.mapping, SOURCES), Direction.SOURCE)


@pytest.mark.parametrize(
    "query",
    [
        "for $p in //p where starts-with($p/n, 'x') return <e>{data($p/@k)}</e>",
        "for $p in //p where starts-with($p/n, 'xy') return <e>{data($p/@k)}</e>",
        "//p[starts-with(@k, 'a')]/a",
        "for $p in //p where $p/w[starts-with(., 'A')] and starts-with($p/n, 'y') return $p/n",
    ],
)
def test_it_is_asked_of_the_target(query: str) -> None:
    check_equal(GIVEN.mapping, query, pairs(GIVEN.mapping, TARGETS, Direction.TARGET), Direction.TARGET)


@pytest.mark.parametrize("condition", ["$x/v", "//v", "$x/(a | v)", "$x/v[. = 'b']"])
def test_what_may_have_several_values_is_refused_by_name(condition: str) -> None:
    query = parse_query(f"for $x in //x where starts-with({condition}, 'a') return $x/a")
    with pytest.raises(GrammarError, match=r"HX3046 starts-with\(\) of what may be more than one value"):
        translate(GIVEN.mapping, query, Direction.SOURCE)


def test_what_computes_is_computed_of_what_the_rules_take() -> None:
    query = "for $x in //x where upper-case($x/@k) = 'AB' return <e>{concat($x/a, '-')}</e>"
    check_equal(GIVEN.mapping, query, pairs(GIVEN.mapping, SOURCES), Direction.SOURCE)
