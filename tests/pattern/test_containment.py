"""Containment and minimisation under schema, keys and references."""

from __future__ import annotations

from typing import Final

import pytest

from heptox.errors import TranslationError
from heptox.grammar import lower, parse_query
from heptox.grammar.tag_value import tag_value_form
from heptox.pattern import (
    Absence,
    Constraints,
    NoNode,
    NormalForms,
    Query,
    contained,
    minimise_member,
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
    forms = NormalForms(constraints)
    return without_contained(Query(tuple(minimise_member(member, forms) for member in given.members)), forms)


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
    larger = query(f"for {many} where $t8/date > $t7/date return $t0/what")
    with pytest.raises(TranslationError, match="HX5006"):
        contained(large, larger, CONSTRAINTS)
    small, big = NormalForms(CONSTRAINTS).of_all((*large.members, *larger.members))
    assert not small.is_surely_contained(big)


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
    forms = NormalForms(CONSTRAINTS)
    found = without_contained(without_cases(given, forms), forms)
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
        forms = NormalForms(known)
        assert len(without_contained(without_cases(every, forms), forms).members) == (1 if valid else 3)


# -- several documents -------------------------------------------------------------------------------------------------

TWO: Final = "for $p in {0}//patient, $q in {1}//patient where $p/@id = $q/@id return <x>{{$p/name}}{{$q/name}}</x>"


def test_keys_tell_apart_the_nodes_of_one_document_only() -> None:
    (one,) = minimise(query(TWO.format("", "")), CONSTRAINTS).members
    (two,) = minimise(query(TWO.format("collection()", "collection()")), CONSTRAINTS).members
    assert [len(member.variables) for member in (one, two)] == [2, 4]


def test_a_reference_is_guaranteed_in_its_own_document() -> None:
    told = "for $a in //admission, $p in {0}//patient where $a/@of = $p/@id return <x>{{$a/problem}}{1}</x>"
    here = query("for $a in //admission return <x>{$a/problem}</x>")
    elsewhere = query(told.format("collection()", ""))
    assert minimise(elsewhere, CONSTRAINTS) == minimise(here, CONSTRAINTS)
    assert contained(here, elsewhere, CONSTRAINTS)
    assert not contained(here, elsewhere, NOTHING_KNOWN)
    named = [query(told.format(start, "{$p/name}")) for start in ("", "collection()")]
    assert contained(named[0], named[1], CONSTRAINTS)
    assert not contained(named[1], named[0], CONSTRAINTS)


def test_what_another_document_would_say_too_is_left_out() -> None:
    given = query("for $p in collection()//patient where collection()//patient/treat/date = 'x' return $p/name")
    (member,) = minimise(given, CONSTRAINTS).members
    assert len(set(member.roots.values())) == 2
    wider = query("for $p in collection()//patient where collection()//patient/name = $p/name return $p/name")
    (member,) = minimise(wider, CONSTRAINTS).members
    assert [variable.node for variable in member.variables] == [(), ("patient",)]


def test_an_absence_is_of_one_document() -> None:
    """That no patient has the identifier says that the reference is absent where it refers to a patient there."""
    nobody = "for $a in //admission, $h in {0} where empty($h/patient[@id = $a/@by]) return $a/problem"
    (here,) = minimise(query(nobody.format("/hospital")), CONSTRAINTS).members
    assert any(isinstance(atom, Absence) for atom in here.atoms)
    (there,) = minimise(query(nobody.format("collection()/hospital")), CONSTRAINTS).members
    assert any(isinstance(atom, NoNode) for atom in there.atoms)
