"""An element that is nil has no value (``semantics.md`` section 1)."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Final

import pytest

from heptox.errors import MappingError
from heptox.grammar import parse_query, print_query
from heptox.mapping import parse_mapping_arrows, parse_mapping_rules, print_rules
from heptox.translate import Direction
from tests.mapping.building import image
from tests.mapping.test_stored_exchange import check
from tests.support.definition import check_equal, pairs
from tests.support.saxon import answer_set

LEAVES: Final = ("born", "died", "town", "trade")
HEAD: Final = 'source "s.xsd" root s\ntarget "t.dtd" root t\n'
ARROWS: Final = "p/name -> q/name\np/born -> q/birth\np/died -> q/death\n"
MANY: Final = "each p -> q\n" + ARROWS + "p/town -> q/place\np/trade -> q/work\n"
NICKS: Final = "p/name -> q/name\np/nick -> q/alias\n"

XSD: Final = f"""<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="s"><xs:complexType>
<xs:sequence><xs:element name="p" minOccurs="0" maxOccurs="unbounded"><xs:complexType><xs:sequence>
<xs:element name="name" type="xs:string"/>
{"".join(f'<xs:element name="{leaf}" type="xs:string" minOccurs="0" nillable="true"/>' for leaf in LEAVES)}
<xs:element name="nick" type="xs:string" minOccurs="0" maxOccurs="unbounded" nillable="true"/>
</xs:sequence></xs:complexType></xs:element></xs:sequence></xs:complexType></xs:element></xs:schema>"""
DTD: Final = "<!ELEMENT t (q*)><!ELEMENT q (name, birth?, death?, place?, work?, alias*)>" + "".join(
    f"<!ELEMENT {leaf} (#PCDATA)>" for leaf in ("name", "birth", "death", "place", "work", "alias")
)


def said(leaf: str) -> dict[str, str]:
    """An element in each way that it can be there."""
    nil = {value: f'<{leaf} xsi:nil="{value}"/>' for value in ("true", "1")}
    return nil | {
        "none": "",
        "empty": f"<{leaf}/>",
        "plain": f"<{leaf}>b</{leaf}>",
        "false": f'<{leaf} xsi:nil="false">b</{leaf}>',
        "0": f'<{leaf} xsi:nil="0"/>',
    }


def document(*people: str) -> str:
    inside = "".join(f"<p>{each}</p>" for each in people)
    return f'<s xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">{inside}</s>'


EVERYBODY: Final = document(
    *(
        f"<name>{born} {died}</name>{text}{other}"
        for (born, text), (died, other) in product(said("born").items(), said("died").items())
    )
)
SOME: Final = document(*(f"<name>{number}</name>{text}" for number, text in enumerate(said("born").values())))
TRADING: Final = document(
    *(f"<name>{number}</name>{said('town')[number]}{text}" for number, text in said("trade").items())
)
NICKNAMED: Final = document("<name>All</name>" + "".join(said("nick").values()), '<name>Nil</name><nick xsi:nil="1"/>')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("nil")
    (found / "s.xsd").write_text(XSD, encoding="utf-8")
    (found / "t.dtd").write_text(DTD, encoding="utf-8")
    return found


@pytest.mark.parametrize("lines", ["", "each p -> q\n"])
def test_a_nil_element_makes_none(folder: Path, lines: str) -> None:
    given = parse_mapping_arrows(HEAD + lines + ARROWS, folder)
    check(given, EVERYBODY)  # on a store too
    made = image(given, EVERYBODY)
    for (born, _), (died, _) in product(said("born").items(), said("died").items()):
        values = {"empty": "", "0": "", "plain": "b", "false": "b"}
        parts = [f"<name>{born} {died}</name>"]
        parts += [f"<birth>{values[born]}</birth>".replace("<birth></birth>", "<birth/>")] if born in values else []
        parts += [f"<death>{values[died]}</death>".replace("<death></death>", "<death/>")] if died in values else []
        assert f"<q>{''.join(parts)}</q>" in made
    assert made.count("<q>") == len(said("born")) ** 2


@pytest.mark.parametrize(
    ("lines", "query", "text"),
    [
        *(
            (lines + ARROWS, query, EVERYBODY)
            for lines, query in (
                ("", "//birth"),
                ("", "//q[birth]/name"),
                ("each p -> q\n", "//q[not(birth)]/name"),
                ("", "//q[birth = '']/name"),
                ("each p -> q\n", "//q[birth != '']/death"),
                ("", "for $q in //q where empty($q/birth) and exists($q/death) return $q/name"),
                ("each p -> q\n", "for $q in //q return <r>{$q/name}{$q/birth}{$q/death}</r>"),
            )
        ),
        (NICKS, "//alias", NICKNAMED),
        (NICKS, "//q[alias]/name", NICKNAMED),
        (NICKS, "for $q in //q, $a in $q/alias return <r>{$q/name}{$a}</r>", NICKNAMED),
        (
            MANY,
            "//q[work]/name",
            document("<name>A</name>" + said("trade")["true"], "<name>B</name>" + said("trade")["0"]),
        ),
        (ARROWS, "for $a in //q, $b in //q where $a/birth = $b/death return $a/name", SOME),
        (MANY, "//q[work]/name", TRADING),
        (MANY, "//place", TRADING),
        (MANY, "//q[place = work]/name", TRADING),
    ],
)
def test_translated_queries_answer_as_on_the_image(folder: Path, lines: str, query: str, text: str) -> None:
    given = parse_mapping_arrows(HEAD + lines, folder)
    translation = check_equal(given, query, pairs(given, [text]), Direction.SOURCE)
    read_again = print_query(parse_query(translation.text))
    assert answer_set(read_again, text) == answer_set(translation.text, text)


def test_of_arrows_that_compete_that_is_taken_which_is_not_nil(folder: Path) -> None:
    arrows = "p/name -> q/name\np/born -> q/birth\np/died -> q/birth\n"
    given = parse_mapping_arrows(HEAD + arrows, folder)
    text = document(*(f"<name>{number}</name>{said('born')['1']}{other}" for number, other in said("died").items()))
    made = image(given, text)
    assert made.count("<q>") == len(said("died"))
    assert "<q><name>plain</name><birth>b</birth></q>" in made and "<q><name>true</name></q>" in made
    check_equal(given, "//q[not(birth)]/name", pairs(given, [text]), Direction.SOURCE)


def test_rules_with_nil_are_read_as_they_are_printed(folder: Path) -> None:
    given = parse_mapping_arrows(HEAD + MANY + "p/nick -> q/alias\n", folder)
    assert parse_mapping_rules(print_rules(given, folder), folder) == given


def test_a_written_rule_takes_no_value_of_a_nil_element(folder: Path) -> None:
    rules = HEAD + "t -> f_t($s)[q -> f_q($n, $b)[name -> $n, birth -> $b]]"
    rules += "<- s -> $s[p -> $p[name -> $n, born -> $c[text() -> $b]]]."
    made = image(parse_mapping_rules(rules, folder), document('<name>Bob</name><born xsi:nil="true"/>'))
    assert made == "<t><q><name>Bob</name></q></t>"


def test_what_cannot_be_said_to_be_nil_is_refused_at_its_arrow(folder: Path) -> None:
    with pytest.raises(MappingError) as caught:
        parse_mapping_arrows(HEAD + MANY.replace("each p -> q\n", ""), folder, "m.arrows")
    assert [(fault.code, fault.position and fault.position.line) for fault in caught.value.faults] == [
        ("HX4037", 6), ("HX4037", 7)
    ]  # fmt: skip
