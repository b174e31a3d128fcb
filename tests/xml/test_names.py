"""The SQL/XML escape: total on XML's characters, injective, readable by every XML parser."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from lxml import etree

from heptox.xml import escaped_name, name_spellings, unescaped_name

XML_CHARACTERS = st.one_of(
    st.sampled_from("_xXAF0059.-: \t\n/é\u00d7\u037e\u0300\U0001f600\U0010ffff\ufffd"),
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\ufffe\uffff"),
)
VALUES = st.text(XML_CHARACTERS, max_size=12) | st.from_regex(r"\A(_x[0-9A-F]{4,6}_?|_|x){1,4}\Z")


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("", "_x0000_"),
        ("Asthma", "Asthma"),
        ("Chest pain/acute", "Chest_x0020_pain_x002F_acute"),
        ("a:b", "a_x003A_b"),
        ("_x", "_x005F_x"),
        ("_x0041_", "_x005F_x0041_"),
        ("_x0000_", "_x005F_x0000_"),
        ("4mg", "_x0034_mg"),
        ("-a", "_x002D_a"),
        ("a-4.b", "a-4.b"),
        ("Œdème", "Œdème"),
        ("\N{GRINNING FACE}", "_x01F600_"),
        ("a\nb", "a_x000A_b"),
    ],
)
def test_known_names(value: str, name: str) -> None:
    assert escaped_name(value) == name
    assert unescaped_name(name) == value


@given(VALUES)
def test_unescaping_inverts_escaping(value: str) -> None:
    assert unescaped_name(escaped_name(value)) == value


@given(VALUES)
def test_an_escaped_value_is_a_name_that_parsers_read(value: str) -> None:
    name = escaped_name(value)
    assert ":" not in name
    assert etree.fromstring(f"<{name}/>").tag == name


@given(st.from_regex(r"\A[A-Za-z][A-Za-z0-9.-]*\Z"))
def test_plain_names_stay(name: str) -> None:
    assert escaped_name(name) == name == unescaped_name(name)


@pytest.mark.parametrize("name", ["snake_xyz", "_x41_", "_x00e9_", "_xD800_", "_xFFFFFF_", "a_x0000_", "_x0041"])
def test_what_is_no_escape_stays(name: str) -> None:
    assert unescaped_name(name) == name


def test_an_escape_that_was_not_needed_is_decoded() -> None:
    assert unescaped_name("_x0041_dmission") == "Admission"
    assert escaped_name("Admission") != "_x0041_dmission"


@pytest.mark.parametrize("value", ["\0", "a\x01", "\ud800", "\uffff"])
def test_what_xml_cannot_hold_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="no XML character"):
        escaped_name(value)


@given(VALUES)
def test_every_spelling_is_a_name_that_is_read_as_its_value(value: str) -> None:
    spellings = list(name_spellings(value))
    assert spellings[0] == escaped_name(value)
    assert len(set(spellings)) == len(spellings) == max(sum(c <= "\uffff" for c in value), value == "") + 1
    for name in spellings:
        assert unescaped_name(name) == value
        assert etree.fromstring(f"<{name}/>").tag == name
