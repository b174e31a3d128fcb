"""What a query means over a schema, and what is refused by name and position."""

from __future__ import annotations

from typing import Final

import pytest

from heptox.errors import GrammarError
from heptox.grammar import lower, parse_query
from heptox.grammar.tag_value import tag_value_form
from heptox.pattern import Absence, Comparison, Presence, Term, Text
from heptox.schema import Box, SchemaTree, parse_dtd

HOSPITAL: Final = """
<!ELEMENT Hospital (Ward, Patient*)>
<!ELEMENT Ward ((Heart | Lung)*)>
<!ELEMENT Heart (Name, Left?)> <!ATTLIST Heart ID ID #REQUIRED>
<!ELEMENT Lung (Name, Left?)> <!ATTLIST Lung ID ID #REQUIRED>
<!ELEMENT Patient (Name, Weight?, Treat*)>
<!ELEMENT Treat (Date)>
<!ELEMENT Weight (#PCDATA)> <!ATTLIST Weight unit CDATA #IMPLIED>
<!ELEMENT Name (#PCDATA)> <!ELEMENT Left (#PCDATA)> <!ELEMENT Date (#PCDATA)>
"""
PLAIN: Final = SchemaTree(parse_dtd(HOSPITAL))
BOXED: Final = SchemaTree(PLAIN.graph, (Box("Illness", ("Ward",), ("Heart", "Lung")),))


@pytest.mark.parametrize(
    ("query", "code", "column", "said"),
    [
        (
            "for $p in //Patient where not($p/Treat[Date < $p/Name]) return $p/Name",
            "HX3042",
            31,
            "repeating path Patient/Treat",
        ),
        ("for $p in //Patient where empty($p/Weight[@unit = 'kg']) return $p/Name", "HX3042", 33, "does not repeat"),
        ("data(//Patient)", "HX3044", 1, "Hospital/Patient is an inner element"),
        ("//Patient[Treat = 'x']/Name", "HX3044", 11, "inner element"),
        ("for $p in //Patient return <r>{data($p/Treat/Date)}</r>", "HX3046", 37, "repeats"),
        ("for $p in //Patient return <r>{$p/Treat/Date/text()}</r>", "HX3046", 32, "an element around each"),
        ("for $p in //Patient return <r>{for $t in $p/Treat return data($t/Date)}</r>", "HX3046", 32, "around each"),
        ("for $p in //Patient where 'a' = 5 return $p/Name", "HX3043", 27, "string is compared with a number"),
        ("for $p in //Patient return <r>{data($p/Name), data($p/Name)}</r>", "HX3045", 32, "several values"),
        ("for $p in //Patient, $p in $p/Treat return $p/Date", "HX3047", 22, "bound twice"),
        ("for $p in //Patient where empty(collection()//Lung) return $p/Name", "HX3042", 33, "no document"),
        (
            "for $p in //Patient where not($p/Treat[Date = collection()//Left]) return $p/Name",
            "HX3042",
            31,
            "no document",
        ),
        ("//Patient[deep-equal(Name, collection()//Name)]/Name", "HX3046", 28, "more than one node"),
    ],
)
def test_refused_by_name_and_position(query: str, code: str, column: int, said: str) -> None:
    with pytest.raises(GrammarError) as raised:
        lower(parse_query(query), PLAIN)
    fault = raised.value.faults[0]
    assert (fault.code, fault.position and fault.position.column) == (code, column), str(fault)
    assert said in str(fault)


def test_variables_stand_for_stop_nodes_only() -> None:
    (member,) = lower(parse_query("//Treat/Date"), PLAIN).query.members
    assert [variable.node for variable in member.variables] == [(), ("Patient",), ("Patient", "Treat")]


def test_a_descendant_step_is_a_union_of_schema_paths() -> None:
    members = lower(parse_query("//Name"), PLAIN).query.members
    assert {member.variables[-1].node for member in members} == {("Ward", "Heart"), ("Ward", "Lung"), ("Patient",)}


def test_a_box_is_one_variable_and_its_tag_a_term() -> None:
    (member,) = lower(parse_query("//Heart/Name"), BOXED).query.members
    box = member.variables[-1]
    assert box.node == ("Ward", "[Illness]")
    assert Comparison("=", Term(box.name, ("name()",)), Text("Heart")) in member.atoms


def test_a_wildcard_over_a_box_asks_for_no_tag() -> None:
    (member,) = lower(parse_query("//Ward/*/Name"), BOXED).query.members
    assert not any(isinstance(atom, Comparison) for atom in member.atoms)


def test_an_undeclared_name_is_a_tag_in_an_open_box_only() -> None:
    assert not lower(parse_query("//Asthma/Name"), PLAIN).query.members
    (member,) = lower(parse_query("//Asthma/Name"), BOXED).query.members
    assert Text("Asthma") in {atom.right for atom in member.atoms if isinstance(atom, Comparison)}


def test_a_step_without_a_path_is_named_with_what_is_there() -> None:
    lowering = lower(parse_query("//Patient/Nmae"), PLAIN)
    assert not lowering.query.members
    (fault,) = lowering.unmatched
    assert (fault.code, fault.position and fault.position.column) == ("HX3041", 11)
    assert fault.hint == "did you mean Name?"
    (fault,) = lower(parse_query("//Patient/Zzz"), PLAIN).unmatched
    assert "Name, Weight, Treat" in (fault.hint or "")


def test_or_is_a_union_and_and_is_not() -> None:
    query = "//Patient[(Name = 'a' or Name = 'b') and Treat/Date = 'c']/Name"
    assert len(lower(parse_query(query), PLAIN).query.members) == 2


@pytest.mark.parametrize(
    ("query", "plain"),
    [
        ("//Treat[number(Date) <= 5]/Date", "//Treat[Date <= 5]/Date"),
        ("//Patient[5 > number(Weight/text())]/Name", "//Patient[Weight/text() < 5]/Name"),
        ("//Patient[Name[number() = 5]]/Name", "//Patient[Name[. = 5]]/Name"),
    ],
)
def test_number_says_what_a_plain_comparison_says(query: str, plain: str) -> None:
    assert lower(parse_query(query), PLAIN) == lower(parse_query(plain), PLAIN)


def test_a_fixed_tag_is_a_number_or_none() -> None:
    tag = tag_value_form("$p")
    for comparison, members in ((f"number({tag}) < 5", 0), (f"5 >= number({tag})", 0)):
        query = f"for $p in //Patient where {comparison} return $p/Name"
        assert len(lower(parse_query(query), PLAIN).query.members) == members
    numbered = SchemaTree(parse_dtd("<!ELEMENT a (_x0035_*)> <!ELEMENT _x0035_ (#PCDATA)>"))
    query = f"for $p in /a/_x0035_ where 6 > number({tag}) return $p"
    assert len(lower(parse_query(query), numbered).query.members) == 1


def test_negation_of_a_single_valued_leaf_is_an_absence() -> None:
    for spelling in ("not", "empty"):
        (member,) = lower(parse_query(f"//Ward/Heart[{spelling}(Left)]/Name"), BOXED).query.members
        assert any(isinstance(atom, Absence) and atom.term.path == ("Left",) for atom in member.atoms)


def test_let_stands_for_its_path_each_time() -> None:
    by_let = lower(parse_query("for $p in //Patient let $t := $p/Treat where $t/Date = 'x' return $p/Name"), PLAIN)
    plain = lower(parse_query("for $p in //Patient where $p/Treat/Date = 'x' return $p/Name"), PLAIN)
    assert by_let == plain


def test_a_bare_path_needs_its_leaf_and_a_slot_does_not() -> None:
    (bare,) = lower(parse_query("//Heart/Left"), PLAIN).query.members
    (slot,) = lower(parse_query("for $h in //Heart return <r>{$h/Left}</r>"), PLAIN).query.members
    assert any(isinstance(atom, Presence) for atom in bare.atoms)
    assert not slot.atoms


def test_too_many_alternatives_are_refused_not_cut() -> None:
    conditions = " and ".join("(Name = 'a' or Name = 'b')" for _ in range(30))
    with pytest.raises(GrammarError, match="HX3050"):
        lower(parse_query(f"//Patient[{conditions}]/Name"), PLAIN)


@pytest.mark.parametrize(
    ("query", "roots"),
    [
        ("//Patient/Name", 1),
        ("collection()//Patient/Name", 1),
        ("for $p in collection()//Patient, $t in $p/Treat return $t/Date", 1),
        ("for $p in collection()//Patient, $q in collection()//Patient where $p/Name = $q/Name return $p/Name", 2),
        ("for $p in //Patient, $q in //Patient, $r in collection()//Patient return $r/Name", 2),
        ("for $p in //Patient where collection()//Treat/Date = collection()//Left return $p/Name", 3),
        ("let $n := collection()//Name for $p in collection()//Patient where $n = 'a' and $n = 'b' return $p/Name", 3),
    ],
)
def test_each_path_from_the_collection_is_of_a_document_of_its_own(query: str, roots: int) -> None:
    for member in lower(parse_query(query), PLAIN).query.members:
        assert len(set(member.roots.values())) == roots
