"""``map check`` says what can never be, and what is made otherwise than its own conditions say."""

from __future__ import annotations

import pytest

from tests.verification.test_remarks import told, written

SOURCE = """<!ELEMENT s (r*)> <!ELEMENT r (l, k?, f*)> <!ELEMENT l (#PCDATA)> <!ELEMENT k (#PCDATA)>
<!ELEMENT f EMPTY> <!ATTLIST f t CDATA #REQUIRED i CDATA #IMPLIED>"""
TARGET = """<!ELEMENT t (d*, e*)> <!ELEMENT d (n*, m?, kind?)> <!ATTLIST d v CDATA #IMPLIED> <!ELEMENT m (#PCDATA)>
<!ELEMENT n (#PCDATA)> <!ATTLIST n ty CDATA #IMPLIED> <!ELEMENT kind (#PCDATA)> <!ELEMENT e (#PCDATA)>"""


def said(*lines: str) -> list[str]:
    return told(written("\n".join(lines), SOURCE, TARGET))


@pytest.mark.parametrize("condition", ['k = "1" and not(k)', 'k = "1" and k != "1"', "not(l)"])
def test_a_selection_that_selects_nothing(condition: str) -> None:
    found = said(f"each r[{condition}] -> d", f"r[{condition}]/l -> d/m")
    assert any("selects nothing: its conditions contradict each other" in text for text in found)
    assert not any("selects nothing" in text for text in said('each r[k = "1" and l] -> d'))


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (["r/k -> d[not(@v)]/@v"], "d[not(@v)] may be made with @v"),
        (["r/l -> d[@v]/m"], "d[@v] is made without @v"),
        (["r/l -> d[@v]/m", "r/k -> d[@v]/@v"], "d[@v] may be made without @v"),
        (["r/l -> d[@v]/m", "r/l -> d[@v]/@v"], None),
        (["r[k]/l -> d[@v]/m", "r[k]/k -> d[@v]/@v"], None),
        (['r/l -> d[@v != "x"]/@v'], 'd[@v != "x"] may be made with another @v'),
        (['r[l != "x"]/l -> d[@v != "x"]/@v'], None),
        (['r[l = "y"]/l -> d[@v != "x"]/@v'], None),
        (['r/l -> d[@v = ("x", "y")]/@v'], 'd[@v = ("x", "y")] may be made with another @v'),
        (['r/l -> d[@v = ("x", "y")]/m'], 'd[@v = ("x", "y")] is made without @v'),
        (['r[l = "x"]/l -> d[@v = ("x", "y")]/@v'], None),
        (['r/l -> d[@v = "x"]/m'], None),
    ],
)
def test_a_node_that_its_own_condition_does_not_select(lines: list[str], fault: str | None) -> None:
    found = [text for text in said(*lines) if text.startswith("along") and "does not select it" in text]
    assert [text.removeprefix("along: ").partition(":")[0] for text in found] == ([fault] if fault else [])


def test_an_arrow_into_a_leaf_that_a_constant_fills() -> None:
    assert "along: line 4: r/l -> d/kind makes nothing: a constant fills the leaf" in said(
        '"book" -> d/kind', "r/l -> d/kind", "r/k -> d/m"
    )


def test_an_arrow_that_goes_with_no_each_line() -> None:
    text = 'along: line 4: r[k = "2"]/l -> d/m goes with no each line of its node, and makes nodes of its own'
    assert text in said('each r[k = "1"] -> d', 'r[k = "2"]/l -> d/m')
    assert not any(
        "goes with no" in text for text in said("each r -> d", "r/l -> d/m", "each r/f -> d/n", "r/f/@t -> d/n")
    )


def test_nodes_that_all_records_share_beside_the_selection_of_an_each_line() -> None:
    (text,) = (text for text in said("each r -> d", 'r/l -> d[@v = "x"]/n') if "there is one" in text)
    assert text.endswith(
        'no leaf of its own tells several apart (write, if each is its own: each r -> d[@v = "x"] oneway)'
    )
    assert not any(
        "there is one d" in text for text in said("each r -> d", 'each r -> d[@v = "x"]', 'r/l -> d[@v = "x"]/n')
    )


def test_what_comes_back_elsewhere_is_said_of_nodes_that_can_be_one() -> None:
    lines = ['r/f[@t = "1"]/@i -> d/m', 'r/f[@t = "2"]/@i -> e']
    both = "against: r/f/@i takes d/m and e: what it takes comes back as each of them"
    assert not any("comes back as" in text for text in said(*lines))
    found = said(*(line.replace('[@t = "1"]', "").replace('[@t = "2"]', "") for line in lines))
    assert any(text.startswith(both) for text in found)
    (text,) = (text for text in said(lines[0], "r/f/@i -> e") if "comes back as" in text)
    assert text.startswith("against: what r/f/@i takes of d/m comes back as e, too")
