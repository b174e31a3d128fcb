"""How often items count that come from several peers, and along several paths."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from heptox.grammar import counted_query, parse_query
from heptox.schema import SchemaTree, parse_dtd
from heptox.shell import CoreAnswers, Gathered, answers_document, with_schema
from heptox.store import evaluate
from heptox.xml import parse_document

TREE = SchemaTree(
    parse_dtd(
        "<!ELEMENT h (p*)> <!ELEMENT p (n?, t*)> <!ATTLIST p id CDATA #IMPLIED> <!ELEMENT n (#PCDATA)> "
        "<!ELEMENT t (#PCDATA)>"
    )
)
KEYS = frozenset({("p", "@id")})
QUERY = "for $p in //p return <r>{$p/@id}{$p/n}{$p/t}</r>"


def gathered(paths: dict[str, str], query: str = QUERY, *, keys: frozenset[tuple[str, ...]] = KEYS) -> Gathered:
    """What comes along paths, written as names with blanks, from documents."""
    asked = with_schema(counted_query(parse_query(query)), TREE, keys)
    answers = CoreAnswers()
    for path, document in paths.items():
        answers.add(tuple(path.split()), evaluate(asked, [parse_document(document)]))
    return answers.gathered()


def said(found: Gathered) -> str:
    text = answers_document({"c": found}).removeprefix("<heptox-answers><c>").removesuffix("</c></heptox-answers>")
    return text.replace("<heptox-item>", "").replace("</heptox-item>", "").replace('"></r>', '"/>')


def test_equal_items_count_for_each_match() -> None:
    found = gathered({"a": "<h><p><t>1</t><t>1</t></p><p><t>1</t><t>1</t></p></h>"})
    assert said(found) == "<r><t>1</t><t>1</t></r>" * 2


def test_peers_add_and_those_without_keys_are_named() -> None:
    one = "<h><p><n>x</n></p></h>"
    found = gathered({"a": one, "b": one})
    assert (said(found), found.merged, sorted(found.overlapping)) == ("<r><n>x</n></r>" * 2, 0, ["a", "b"])
    assert gathered({"a": one, "b": "<h/>"}).overlapping == frozenset()


def test_of_several_paths_to_one_peer_the_one_that_brings_most_of_an_item_counts() -> None:
    found = gathered({"b a": "<h><p><n>x</n></p><p><n>y</n></p></h>", "a": "<h><p><n>x</n></p><p><n>x</n></p></h>"})
    assert sorted(said(found).replace("><r", ">\n<r").splitlines()) == [
        "<r><n>x</n></r>", "<r><n>x</n></r>", "<r><n>y</n></r>"
    ]  # fmt: skip


def test_nodes_with_equal_keys_are_one_with_the_parts_of_all() -> None:
    one, other = "<h><p id='1'><n>x</n><t>2</t></p></h>", "<h><p id='1'><t>3</t></p><p id='2'/></h>"
    found = gathered({"a": one, "b": other})
    assert (found.merged, found.conflicts, found.overlapping) == (1, 0, frozenset())
    assert said(found) == '<r id="1"><t>3</t><n>x</n><t>2</t></r><r id="2"/>'


def test_contradicting_values_stay_side_by_side_and_are_counted() -> None:
    found = gathered({"a": "<h><p id='1'><n>x</n></p></h>", "b": "<h><p id='1'><n>y</n></p></h>"})
    assert (found.merged, found.conflicts, said(found).count("<n>")) == (1, 1, 2)


def test_a_node_that_one_peer_counts_and_another_has_once_is_one() -> None:
    answers = CoreAnswers()
    nodes = "<heptox-nodes>2<n0>1</n0><k0>p</k0></heptox-nodes>"
    counted = "<heptox-item><n>x</n><heptox-nodes>1o<n0>7</n0></heptox-nodes></heptox-item>"
    for peer, inside in (("a", counted * 2), ("b", "<n>x</n>")):
        answers.add((peer,), [f"<heptox-item><r><v>{inside}</v></r>{nodes}</heptox-item>"])
    found = answers.gathered()
    assert (found.merged, found.conflicts) == (1, 0)
    assert said(found) == "<r><v><n>x</n></v></r>"


def test_without_declared_keys_nothing_is_one() -> None:
    one = "<h><p id='1'/></h>"
    found = gathered({"a": one, "b": one}, keys=frozenset())
    assert (found.merged, sorted(found.overlapping)) == (0, ["a", "b"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "<heptox-item>",
        "<heptox-item/>",
        "<heptox-item><r/></heptox-item>",
        "<heptox-item><r><heptox-item/></r><heptox-nodes>1</heptox-nodes></heptox-item>",
        "<!DOCTYPE r [<!ENTITY a 'b'>]><heptox-item>&a;<heptox-nodes/></heptox-item>",
        f"<heptox-item>{'<a>' * 3000}{'</a>' * 3000}<heptox-nodes>1</heptox-nodes></heptox-item>",
    ],
)
def test_what_is_no_item_is_left_out_and_said(text: str) -> None:
    answers = CoreAnswers()
    good = "<heptox-item><r/><heptox-nodes>0</heptox-nodes></heptox-item>"
    answers.add(("a",), [good, text])
    answers.add(("b",), [good])
    found = answers.gathered()
    assert (len(found.items), found.garbled) == (2, frozenset({"a"}))


def test_names_without_a_namespace_stay_in_none() -> None:
    answers = CoreAnswers()
    spec = '<heptox-item xmlns=""><spec><k/></spec><heptox-nodes>0</heptox-nodes></heptox-item>'
    answers.add(
        ("a",), [f'<heptox-item><item xmlns="urn:s" n="1">{spec}</item><heptox-nodes>1</heptox-nodes></heptox-item>']
    )
    document = ElementTree.fromstring(answers_document({"c": answers.gathered()}))
    assert [each.tag for each in document.iter()][3:] == ["{urn:s}item", "spec", "k"]
