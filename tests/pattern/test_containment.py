"""Containment and minimisation under schema, keys and references."""

from __future__ import annotations

from typing import Final

import pytest

from heptox.errors import TranslationError
from heptox.grammar import lower, parse_query
from heptox.grammar.tag_value import tag_value_form
from heptox.pattern import (
    Constraints,
    Query,
    contained,
    minimise_member,
    surely_contained,
    without_cases,
    without_contained,
)
from heptox.schema import Box, SchemaTree, parse_dtd

TREE: Final = SchemaTree(
    parse_dtd("""
<!ELEMENT hospital (patient*, admission*, ward+)>
<!ELEMENT patient (name, treat*)> <!ATTLIST patient id ID #REQUIRED>
<!ELEMENT treat (date, what?)>
<!ELEMENT admission (problem, left?)> <!ATTLIST admission of IDREF #REQUIRED by IDREF #IMPLIED>
<!ELEMENT ward (#PCDATA)>
<!ELEMENT name (#PCDATA)> <!ELEMENT date (#PCDATA)> <!ELEMENT what (#PCDATA)>
<!ELEMENT problem (#PCDATA)> <!ELEMENT left (#PCDATA)>
""")
)
KEY: Final = ("patient", "@id")
CONSTRAINTS: Final = Constraints(
    TREE, frozenset({KEY}), frozenset({(("admission", "@of"), KEY), (("admission", "@by"), KEY)})
)
NOTHING_KNOWN: Final = Constraints(TREE)


def minimise(given: Query, constraints: Constraints) -> Query:
    members = tuple(minimise_member(member, constraints) for member in given.members)
    return without_contained(Query(members), constraints)


def query(text: str) -> Query:
    return lower(parse_query(text), TREE).query


@pytest.mark.parametrize(
    ("specific", "general"),
    [
        ("//patient[name = 'a']/@id", "//patient/@id"),
        ("//patient[name = 'a' and treat/date = 'b']/@id", "//patient[treat]/@id"),
        ("//patient[name > 5]/@id", "//patient[name >= 5]/@id"),
        ("//patient[name < 'b']/@id", "//patient[name != 'c']/@id"),
        ("//admission/problem", "for $a in //admission where $a/@of = //patient/@id return $a/problem"),
        (
            "for $a in //admission, $p in //patient, $q in //patient "
            "where $a/@of = $p/@id and $q/@id = $a/@of and $q/name = 'x' return $p/treat/date",
            "for $p in //patient where $p/name = 'x' return $p/treat/date",
        ),
        ("//patient/name", "for $p in //patient where //ward return $p/name"),
        ("//admission[empty(left)]/problem", "//admission/problem"),
        (
            "for $p in //patient where $p/name = 'x' return <a>{$p/name}</a>",
            "for $p in //patient where $p/name = 'x' return <a><name>x</name></a>",
        ),
    ],
)
def test_contained(specific: str, general: str) -> None:
    assert contained(query(specific), query(general), CONSTRAINTS)


@pytest.mark.parametrize(
    ("specific", "general"),
    [
        ("//patient/@id", "//patient[treat]/@id"),
        ("//patient[name >= 5]/@id", "//patient[name > 5]/@id"),
        ("//patient[name < 'b']/@id", "//patient[name < 5]/@id"),
        ("//admission/problem", "//admission[left]/problem"),
        ("//admission/problem", "for $a in //admission where $a/@by = //patient/@id return $a/problem"),
        ("//patient/name", "//admission/problem"),
        ("//patient/name", "//patient/@id"),
        (
            "for $p in //patient, $q in //patient where $p/name = $q/name and $q/treat/date = 'x' return $p/@id",
            "//patient[treat/date = 'x']/@id",
        ),
    ],
)
def test_not_contained(specific: str, general: str) -> None:
    assert not contained(query(specific), query(general), CONSTRAINTS)


def test_keys_and_references_count_only_where_documents_obey_them() -> None:
    joined = query("for $a in //admission where $a/@of = //patient/@id return $a/problem")
    assert not contained(query("//admission/problem"), joined, NOTHING_KNOWN)


@pytest.mark.parametrize(
    ("given", "variables"),
    [
        ("for $a in //admission where $a/@of = //patient/@id return $a/problem", 1),
        ("for $a in //admission, $p in //patient where $a/@of = $p/@id return $p/@id", 1),
        ("for $a in //admission, $p in //patient where $a/@of = $p/@id return $p/name", 2),
        ("for $p in //patient, $q in //patient where $p/@id = $q/@id return <a>{$p/name}{$q/name}</a>", 1),
        ("for $p in //patient where $p/treat/date = 'x' and $p/treat/date != 'y' return $p/name", 2),
        ("for $p in //patient where $p/treat/date = 'x' and $p/treat/what = 'y' return $p/name", 3),
    ],
)
def test_minimal_members(given: str, variables: int) -> None:
    (member,) = minimise(query(given), CONSTRAINTS).members
    assert len(member.variables) - 1 == variables


def test_a_union_without_contained_members() -> None:
    minimal = minimise(query("(//patient[name = 'a']/@id, //patient/@id, //patient[treat]/@id)"), CONSTRAINTS)
    assert minimal == minimise(query("//patient/@id"), CONSTRAINTS)


def test_members_too_large_to_compare_are_refused() -> None:
    many = ", ".join(f"$t{number} in //treat" for number in range(9))
    large = query(f"for {many} return $t0/what")
    larger = query(f"for {many} where $t8/date > 'x' return $t0/what")
    with pytest.raises(TranslationError, match="HX5006"):
        contained(large, larger, CONSTRAINTS)
    assert not surely_contained(large.members[0], larger.members[0], CONSTRAINTS)


PAIR: Final = "for $a in //admission, $b in //admission where"


def test_variables_with_constants_are_placed_first() -> None:
    many = ", ".join(f"$t{number} in //treat" for number in range(9))
    apart = query(f"for {many} where $t0/what = 'x' and $t1/date = 'y' return $t2/what")
    together = query(f"for {many} where $t8/what = 'x' and $t8/date = 'y' return $t2/what")
    assert not contained(apart, together, CONSTRAINTS)
    assert contained(together, apart, CONSTRAINTS)


@pytest.mark.parametrize(
    ("specific", "general", "holds"),
    [
        ("//patient[empty(treat)]/name", "//patient[empty(treat/what)]/name", True),
        ("//patient[empty(treat/what)]/name", "//patient[empty(treat)]/name", False),
        ("//patient[empty(treat)]/name", "//patient[empty(treat[date = 'x'])]/name", True),
        ("//patient[empty(treat[date = 'x'])]/name", "//patient[empty(treat[date = 'y'])]/name", False),
        (
            "//patient[name = 'x'][empty(treat[date = 'x'])]/name",
            "for $p in //patient where empty($p/treat[date = $p/name]) return $p/name",
            True,
        ),
        (
            "for $p in //patient where $p/name = 'x' and empty($p/treat[date = $p/name]) return $p/name",
            "//patient[empty(treat[date = 'x'])]/name",
            True,
        ),
        (
            "for $p in //patient where empty(//treat[date = $p/name]) return $p/name",
            "for $p in //patient where empty($p/treat[date = $p/name]) return $p/name",
            True,
        ),
        (
            "for $p in //patient where empty($p/treat[date = $p/name]) return $p/name",
            "for $p in //patient where empty(//treat[date = $p/name]) return $p/name",
            False,
        ),
        (
            "for $a in //admission where empty(//patient[@id = $a/@by]) return $a/problem",
            "//admission[empty(@by)]/problem",
            True,
        ),
        (
            "//admission[empty(@by)]/problem",
            "for $a in //admission where empty(//patient[@id = $a/@by]) return $a/problem",
            True,
        ),
        ("for $a in //admission where empty(//patient[@id = $a/@of]) return $a/problem", "()", True),
        (
            f"{PAIR} deep-equal(data($a/left), data($b/left)) and empty($b/left) return $a/problem",
            "//admission[empty(left)]/problem",
            True,
        ),
        (
            f"{PAIR} $a/left = $b/left return <l>{{$a/left}}</l>",
            f"{PAIR} deep-equal(data($a/left), data($b/left)) return <l>{{$b/left}}</l>",
            True,
        ),
        (
            f"{PAIR} deep-equal(data($a/left), data($b/left)) return <l>{{$a/left}}</l>",
            f"{PAIR} $a/left = $b/left return <l>{{$a/left}}</l>",
            False,
        ),
    ],
)
def test_absences_are_compared(specific: str, general: str, holds: bool) -> None:
    assert contained(query(specific), query(general), CONSTRAINTS) == holds


def test_an_absence_keeps_its_variable() -> None:
    (member,) = minimise(
        query("for $p in //patient, $q in //patient where $p/name = $q/name and empty($q/treat) return $p/name"),
        CONSTRAINTS,
    ).members
    assert len(member.variables) == 2, "the one without treatment is enough"
    (member,) = minimise(
        query("for $p in //patient, $q in //patient where $p/name = $q/name and empty($q/treat) return $p/treat/date"),
        CONSTRAINTS,
    ).members
    assert len(member.variables) == 4


@pytest.mark.parametrize(
    ("union", "left"),
    [
        ("(//patient[name = 'a']/@id, //patient[name != 'a']/@id)", "//patient/@id"),
        ("(//admission[left = 'a']/problem, //admission[left != 'a']/problem)", "//admission[left]/problem"),
        (
            "(//patient[name = 'a']/@id, //patient[name = 'b']/@id, //patient[name != 'a' and name != 'b']/@id)",
            "//patient/@id",
        ),
        ("(//patient[name = 'a' and treat]/@id, //patient[name != 'a']/@id)", None),
        ("(//patient[name = 'a']/@id, //patient[name != 'b']/@id)", "//patient[name != 'b']/@id"),
        ("(//admission[problem = 'a']/left, //admission[problem != 'a']/problem)", None),
    ],
)
def test_a_union_of_all_cases_is_no_union(union: str, left: str | None) -> None:
    given = query(union)
    found = without_contained(without_cases(given, CONSTRAINTS), CONSTRAINTS)
    assert len(found.members) == (2 if left is None else 1)
    assert contained(given, found, CONSTRAINTS)
    if left is not None:
        assert contained(found, query(left), CONSTRAINTS)
        assert contained(query(left), found, CONSTRAINTS)


BOXED: Final = SchemaTree(
    parse_dtd("<!ELEMENT r (a | b | c)*> <!ELEMENT a (n?)> <!ELEMENT b (n?)> <!ELEMENT c (n?)> <!ELEMENT n (#PCDATA)>"),
    (Box("B", (), ("a", "b", "c")),),
)


def test_in_valid_documents_a_tag_that_is_no_other_member_is_the_last() -> None:
    def boxed(text: str) -> Query:
        return lower(parse_query(text), BOXED).query

    tag = tag_value_form("$x")
    others = boxed(f"for $x in /r/* where {tag} != 'a' and {tag} != 'b' return $x/n")
    every = boxed("(//a/n, //b/n, //c/n)")
    for valid in (True, False):
        known = Constraints(BOXED, valid=valid)
        assert contained(others, boxed("//c/n"), known) == valid
        assert len(without_contained(without_cases(every, known), known).members) == (1 if valid else 3)
