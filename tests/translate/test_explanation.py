"""Explanations: patterns as trees, dummy nodes, the rules behind each member, and the arrows for what is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest

import heptox.demo
from heptox.errors import HeptoxError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, load_mapping, parse_mapping_arrows
from heptox.translate import Direction, Explanation, Hop, RuleUse, explain, losses, translate_path
from heptox.verification import Vocabulary, random_query

HOSPITAL: Final = Path(heptox.demo.__file__).parent / "hospital"
SOURCE, TARGET = Direction.SOURCE, Direction.TARGET

LIBRARY: Final = """
<!ELEMENT library (book*, loan*)>
<!ELEMENT book (title, note?, by*)> <!ATTLIST book isbn ID #REQUIRED pages CDATA #IMPLIED>
<!ELEMENT title (#PCDATA)> <!ELEMENT note (#PCDATA)> <!ELEMENT by (#PCDATA)>
<!ELEMENT loan (reader)> <!ATTLIST loan of IDREF #REQUIRED> <!ELEMENT reader (#PCDATA)>
"""
SHOP: Final = """
<!ELEMENT shop (item*)>
<!ELEMENT item (name, note?, price?, maker*)> <!ATTLIST item size CDATA #IMPLIED>
<!ELEMENT name (#PCDATA)> <!ELEMENT note (#PCDATA)> <!ELEMENT price (#PCDATA)>
<!ELEMENT maker (first?, last?)> <!ELEMENT first (#PCDATA)> <!ELEMENT last (#PCDATA)>
"""


@pytest.fixture
def mapping(tmp_path: Path) -> Callable[[str], Mapping]:
    (tmp_path / "source.dtd").write_text(LIBRARY, encoding="utf-8")
    (tmp_path / "target.dtd").write_text(SHOP, encoding="utf-8")

    def made(arrows: str) -> Mapping:
        return parse_mapping_arrows(f'source "source.dtd"\ntarget "target.dtd"\n{arrows}', tmp_path)

    return made


def explained(mapping: Mapping, query: str, to: Direction) -> Explanation:
    return explain(translate_path([Hop(mapping, to)], parse_query(query)).hops[0])


def hospital(query: str, to: Direction) -> Explanation:
    return explained(load_mapping(HOSPITAL / "montreal-boston.arrows"), query, to)


def example(name: str, to: Direction) -> Explanation:
    return hospital((HOSPITAL / "queries" / name).read_text(encoding="utf-8"), to)


def test_the_admission_that_stays_is_a_dummy_node() -> None:
    found = hospital("//Symptom/Desc", SOURCE)
    assert [step.name for step in found.steps] == ["expand", "unfold", "contract", "stitch"]
    assert found.steps[0].members[0].tree == (
        "MassGeneral\n└─ Progress $p (dummy)\n   └─ Symptom $s\n      └─ Desc\nreturns <Desc>{data($s/Desc)}</Desc>"
    )
    (last,) = found.steps[-1].members
    assert last.tree == (
        "MonGenHosp\n"
        "├─ Patient $p (dummy)\n"
        "│  ├─ @ID\n"
        "│  └─ Hist/Event $e\n"
        "│     └─ Problem\n"
        "└─ Admission $a (dummy)\n"
        "   └─ @PatRef\n"
        "join $a/@PatRef = $p/@ID\n"
        "returns <Desc>{data($e/Problem)}</Desc>"
    )
    assert last.dummies == (("Patient",), ("Admission",))
    assert last.choices == ((RuleUse(("Progress", "Symptom"), 2),),)


def test_what_makes_a_node_that_the_query_names_is_no_dummy() -> None:
    assert hospital("//Progress/Symptom/Desc", SOURCE).steps[-1].members[0].dummies == (("Patient",),)
    assert hospital("//Coronary/@ID", SOURCE).steps[-1].members[0].dummies == ()


@pytest.mark.parametrize(
    ("name", "to", "rules"),
    [
        ("example1.xq", TARGET, "rule 4 makes Admission, rule 2 makes Patient/Treat"),
        ("example2.xq", SOURCE, "rule 1 makes Admission/[Illness], rule 2 makes Progress/Symptom"),
    ],
)
def test_the_examples_of_the_report(name: str, to: Direction, rules: str) -> None:
    found = example(name, to)
    for step in found.steps[1:]:
        (member,) = step.members
        assert [", ".join(map(str, choice)) for choice in member.choices] == [rules]
        assert member.dummies == ()
    assert "tag = " in found.steps[-1 if to is TARGET else 0].members[0].tree


def test_along_the_rules_what_only_leads_to_an_answer_is_a_dummy() -> None:
    (member,) = hospital("//Treat/Desc", TARGET).steps[-1].members
    assert member.dummies == (("Progress",),)
    assert member.tree.splitlines()[1:4] == ["└─ Progress $p (dummy)", "   └─ Treatment $t", "      └─ Desc"]


def test_each_member_of_a_union_has_its_rules(mapping: Callable[[str], Mapping]) -> None:
    rules = mapping("book/title -> item/name\nloan/reader -> item/name")
    found = explained(rules, "//item/name", SOURCE)
    choices = {member.text.partition("\n")[0]: member.choices for member in found.steps[-1].members}
    assert len(choices) == 2
    assert {rule.rule for ((rule,),) in choices.values()} == {1, 2}
    assert [len(step.members) for step in found.steps] == [1, 2, 2, 2]


def test_members_that_another_contains_go_with_the_last_step(mapping: Callable[[str], Mapping]) -> None:
    rules = mapping("book/title -> item/name\nbook/by -> item/maker/first")
    found = explained(rules, "(//item/name, //item[maker]/name)", SOURCE)
    assert [len(step.members) for step in found.steps] == [2, 2, 2, 1]
    number = next(number for number, rule in enumerate(rules.rules, start=1) if len(rule.head) == 2)
    assert found.steps[-1].members[0].choices == ((RuleUse(("item",), number),),)


def test_conditions_stand_where_they_belong(mapping: Callable[[str], Mapping]) -> None:
    rules = mapping(
        "book/title -> item/name\nbook/note -> item/note\nbook/@pages -> item/@size\nbook/by -> item/maker/last"
    )
    query = """for $i in //item, $j in //item, $m in $i/maker
    where $i/@size > 5 and empty($i/note) and $i/name != $j/name and $m/last >= "b" and exists($j/note)
    return <r n="x{data($i/name)}">{$m/last}<k>{data($j/note)}</k></r>"""
    assert explained(rules, query, SOURCE).steps[0].members[0].tree == (
        "shop\n"
        "├─ item $i\n"
        "│  ├─ @size > 5\n"
        "│  ├─ name\n"
        "│  ├─ note is absent\n"
        "│  └─ maker $m\n"
        '│     └─ last >= "b"\n'
        "└─ item $i2\n"
        "   ├─ name\n"
        "   └─ note is there\n"
        "join $i/name != $i2/name\n"
        'returns <r n="x{$i/name}"><last>{data($m/last)}</last><k>{data($i2/note)}</k></r>'
    )


def test_items_of_every_kind_are_told(mapping: Callable[[str], Mapping]) -> None:
    rules = mapping("book/title -> item/name\nbook/note -> item/note\nbook/@pages -> item/@size")
    found = explained(rules, "(//item/@size, //item/note/text(), data(//item/name), //item/note)", SOURCE)
    items = [member.tree.rpartition("returns ")[2] for member in found.steps[0].members]
    assert items == ["attribute size {$i/@size}", "text {$i/note}", "data($i/name)", "<note>{data($i/note)}</note>"]
    optional = explained(rules, "for $i in //item return <r>{$i/note}{$i/@size}</r>", SOURCE)
    assert (
        optional.steps[0]
        .members[0]
        .tree.endswith("returns <r>{<note>{$i/note}</note> where it is there}{attribute size {$i/@size}}</r>")
    )


# -- what is lost ----------------------------------------------------------------------------------------------------


def arrows(mapping: Mapping, query: str, to: Direction) -> list[str]:
    """The arrows proposed for what is lost, each once."""
    found = losses(translate_path([Hop(mapping, to)], parse_query(query)).hops[0])
    return list(dict.fromkeys(loss.arrow for loss in found if loss.arrow is not None))


@pytest.mark.parametrize(
    ("given", "query", "to", "arrow"),
    [
        # of the same name, where the neighbours are carried to
        ("book/title -> item/name", "//book/note", TARGET, "book/note -> item/note"),
        ("book/title -> item/name", "//item/note", SOURCE, "book/note -> item/note"),
        # several places are free, and none has the name
        (
            "book/title -> item/name",
            "//book/@pages",
            TARGET,
            "book/@pages -> ...   # free: item/@size, item/note, item/price",
        ),
        # one is free, and has nothing in common with the lost one
        (
            "book/title -> item/name\nbook/note -> item/note\nbook/@pages -> item/@size",
            "//item/price",
            SOURCE,
            "... -> item/price   # free: book/@isbn",
        ),
        # none is free
        (
            "book/title -> item/name\nbook/title -> item/note\nbook/note -> item/price\nbook/note -> item/@size",
            "//book/@pages",
            TARGET,
            "book/@pages -> ...   # no leaf of item is free",
        ),
        # one is drawn, and not read this way
        (
            "book/title -> item/name\nbook/note -> item/price oneway",
            "//book/note",
            TARGET,
            "book/note -> item/price   # it is drawn, for the other direction only",
        ),
        (
            "book/title -> item/name\nbook/note -> item/price mirrored",
            "//item/price",
            SOURCE,
            "book/note -> item/price   # it is drawn, for the other direction only",
        ),
        # a function takes it, which has no inverse
        (
            "book/title -> item/name\nupper-case(book/note) -> item/price oneway",
            "//book/note",
            TARGET,
            "book/note -> item/price inverse ...   # behind the arrow that is drawn, which computes item/price",
        ),
        # nothing at all leads there
        ("book/title -> item/name", "//loan/reader", TARGET, "loan/reader -> ..."),
    ],
)
def test_the_arrow_that_would_carry_a_lost_leaf(
    mapping: Callable[[str], Mapping], given: str, query: str, to: Direction, arrow: str
) -> None:
    assert arrows(mapping(given), query, to) == [arrow]


def test_the_only_free_leaf_is_proposed_where_its_name_is_alike(tmp_path: Path) -> None:
    dtd = "<!ELEMENT r (p*)> <!ELEMENT p (name, {0})> <!ELEMENT name (#PCDATA)> <!ELEMENT {0} (#PCDATA)>"
    for name, arrow in (("birthday", "p/birth_date -> p/birthday"), ("price", "p/birth_date -> ...   # free: p/price")):
        (tmp_path / "source.dtd").write_text(dtd.format("birth_date"))
        (tmp_path / "target.dtd").write_text(dtd.format(name))
        given = parse_mapping_arrows('source "source.dtd"\ntarget "target.dtd"\np/name -> p/name', tmp_path)
        assert arrows(given, "//birth_date", TARGET) == [arrow]


def test_an_arrow_that_is_proposed_can_be_drawn(mapping: Callable[[str], Mapping]) -> None:
    given = "book/title -> item/name"
    (arrow,) = arrows(mapping(given), "//book/note", TARGET)
    better = mapping(f"{given}\n{arrow}")
    assert not translate_path([Hop(better, TARGET)], parse_query("//book/note")).empty


def test_in_the_hospital() -> None:
    montreal = load_mapping(HOSPITAL / "montreal-boston.arrows")
    assert arrows(montreal, "//Treat/Doc", TARGET) == [
        "Patient/Treat/Doc -> ...   # no leaf of Progress/Treatment is free"
    ]
    assert arrows(montreal, "//Coronary/InsName", SOURCE) == [
        "... -> [Illness]/InsName   # no leaf of Admission or Patient is free"
    ]


def test_a_loss_that_no_arrow_mends_has_none() -> None:
    (loss,) = hospital("//Patient/Nmae", TARGET).losses
    assert (loss.path, loss.arrow) == ((), None)
    assert str(loss).startswith("no node Nmae")


def test_a_node_without_any_arrow_is_carried_by_one_below_it(mapping: Callable[[str], Mapping]) -> None:
    given = mapping("book/title -> item/name")
    assert arrows(given, "for $i in //item, $m in $i/maker return <r/>", SOURCE) == [
        "... -> item/maker/first   # free: book/@isbn, book/@pages, book/note, book/by"
    ]


@pytest.mark.parametrize("to", Direction)
def test_every_member_of_random_queries_has_its_rules(to: Direction) -> None:
    montreal = load_mapping(HOSPITAL / "montreal-boston.arrows")
    asked = montreal.target if to is SOURCE else montreal.source
    members = 0
    for seed in range(20):
        query = random_query(Random(seed), Vocabulary(asked, values=("a", "Coronary")))
        try:
            hop = translate_path([Hop(montreal, to)], query).hops[0]
        except HeptoxError:
            continue
        for step in explain(hop).steps[1:]:
            for member in step.members:
                assert member.choices, member.text
                members += 1
    assert members > 30
