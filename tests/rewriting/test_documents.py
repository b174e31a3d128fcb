"""Documents rewritten in memory."""

from __future__ import annotations

from random import Random

import pytest

from heptox.errors import DisseminationError
from heptox.rewriting import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    Operator,
    Program,
    Prune,
    Rename,
    Rewriter,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
)
from heptox.schema import SchemaTree, parse_dtd
from heptox.xml import parse_document, write_element
from tests.support.checking import Outcome
from tests.support.rewriting.checking import check_documents

SCHEMA = SchemaTree(
    parse_dtd(
        "<!ELEMENT r (a*, b?)> <!ELEMENT a (c*, d*)> <!ELEMENT b (#PCDATA | d)*> <!ELEMENT c (#PCDATA)>"
        "<!ELEMENT d (#PCDATA)> <!ATTLIST a x CDATA #IMPLIED y CDATA #IMPLIED>"
    )
)
A, B, C, D = ("a",), ("b",), ("a", "c"), ("a", "d")


def rewritten(text: str, *operators: Operator) -> str:
    return write_element(Rewriter(Program(SCHEMA, operators)).rewrite(parse_document(text)).root)


@pytest.mark.parametrize(
    ("operator", "given", "made"),
    [
        (Rename(A, "q"), "<r><a><c/></a><b/></r>", "<r><q><c/></q><b/></r>"),
        (Rename((*A, "@x"), "@q"), '<r><a x="1"/></r>', '<r><a q="1"/></r>'),
        (ToElement((*A, "@x")), '<r><a x="1"><c/></a></r>', "<r><a><x>1</x><c/></a></r>"),
        (ToAttribute(C), "<r><a><c>1</c><d/></a></r>", '<r><a c="1"><d/></a></r>'),
        (Insert(A, ("w",), (C,)), "<r><a><c/><c/><d/></a><a/></r>", "<r><a><d/><w><c/><c/></w></a><a/></r>"),
        (Insert(A, ("v", "w")), "<r><a><c/><d/></a><a/></r>", "<r><a><v><w><c/><d/></w></v></a><a/></r>"),
        (Upgrade(A, (C,)), "<r><a><c>1</c><c>2</c><d/></a><b/></r>", "<r><a><d/></a><c>1</c><c>2</c><b/></r>"),
        (Downgrade(A, (C,), D), "<r><a><c/><d>1</d><d>2</d></a></r>", "<r><a><d>1<c/></d><d>2<c/></d></a></r>"),
        (Downgrade(A, (C,), D), "<r><a><c/></a></r>", "<r><a><c/></a></r>"),
        (Downgrade(A, (C,), D, True), "<r><a><c/></a></r>", "<r><a/></r>"),
        (Swap(A, C), "<r><a><c>1</c><c>2</c><d/></a><a/></r>", "<r><c>1<a><d/></a></c><c>2<a><d/></a></c><a/></r>"),
        (Swap(A, C, True), "<r><a><c/></a><a/></r>", "<r><c><a/></c></r>"),
        (Dissolve(A), '<r><a x="1"><c/><d/></a><b/></r>', "<r><c/><d/><b/></r>"),
        (Drop(C), "<r><a><c/><d/></a></r>", "<r><a><d/></a></r>"),
        (Drop((*B, "text()")), "<r><b>1<d/>2</b></r>", "<r><b><d/></b></r>"),
        (Prune(A), '<r><a/><a x="1"/><a><c/></a></r>', '<r><a x="1"/><a><c/></a></r>'),
        (Arrange(A, (D, C)), "<r><a><c>1</c><c>2</c><d/></a></r>", "<r><a><d/><c>1</c><c>2</c></a></r>"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)  # fmt: skip
def test_what_an_operator_means(operator: Operator, given: str, made: str) -> None:
    assert rewritten(given, operator) == made


def test_text_stays_with_its_element() -> None:
    assert rewritten("<r><b>1<d>2</d>3</b></r>", Upgrade(B, ((*B, "d"),))) == "<r><b>13</b><d>2</d></r>"


def test_texts_between_children_keep_their_order() -> None:
    schema = SchemaTree(parse_dtd("<!ELEMENT r (#PCDATA | a | b)*> <!ELEMENT a EMPTY> <!ELEMENT b EMPTY>"))
    rewriter = Rewriter(Program(schema, (Arrange((), (B, A)),)))
    made = rewriter.rewrite(parse_document("<r>1<a/>2<b/>3</r>"))
    assert write_element(made.root) == "<r>123<b/><a/></r>"


def test_attributes_that_change_names_at_once_keep_their_values() -> None:
    swap = Rename((*A, "@x"), "@y"), Rename((*A, "@y"), "@x")
    assert rewritten('<r><a x="1" y="2"/></r>', *swap) in ('<r><a y="1" x="2"/></r>', '<r><a x="2" y="1"/></r>')


def test_the_document_that_is_given_stays_as_it_is() -> None:
    document = parse_document("<r><a><c/></a></r>")
    Rewriter(Program(SCHEMA, (Dissolve(A),))).rewrite(document)
    assert write_element(document.root) == "<r><a><c/></a></r>"


def test_elements_that_the_schema_does_not_know_stay() -> None:
    assert rewritten("<r><n><c/></n><a><n/><c/></a></r>", Swap(A, C)) == "<r><n><c/></n><c><a><n/></a></c></r>"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("\n<a/>", "<text>:2:1: HX9103 the root element is a, not r"),
        ("<r>\n<a>\n<c>1</c><c>2</c></a></r>", "HX9103 an element a has several values for its attribute c"),
    ],
)
def test_documents_that_do_not_fit_are_refused(given: str, message: str) -> None:
    with pytest.raises(DisseminationError) as caught:
        rewritten(given, ToAttribute(C))
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "operator",
    [Swap((), A), Upgrade((), (A,)), Dissolve(()), Drop(()), Prune(()), ToAttribute(())],
    ids=lambda operator: type(operator).__name__,
)
def test_operators_that_would_leave_no_root_are_refused(operator: Operator) -> None:
    with pytest.raises(DisseminationError, match=r"HX9102 .* cannot be applied to the root \(a document has one root"):
        Program(SCHEMA, (operator,))


def test_an_attribute_takes_the_place_of_no_other() -> None:
    schema = SchemaTree(parse_dtd("<!ELEMENT r EMPTY><!ATTLIST r a CDATA #IMPLIED b CDATA #IMPLIED>"))
    document = parse_document("<r a='1' b='2'/>")
    renames = (Rename(("@a",), "@c"), Rename(("@b",), "@c"))
    for operators in ((Rename(("@a",), "@b"),), renames):
        with pytest.raises(DisseminationError, match="HX9103 an element r has several values for its attribute"):
            Rewriter(Program(schema, operators)).rewrite(document)
    with pytest.raises(DisseminationError, match="HX9102 an attribute cannot be called xmlns"):
        Program(schema, (Rename(("@a",), "@xmlns"),))


def test_the_root_is_renamed() -> None:
    assert rewritten("<r><b/></r>", Rename((), "q")) == "<q><b/></q>"


@pytest.mark.parametrize("seed", range(6))
def test_documents_are_rewritten_as_slowly_one_operator_at_a_time(seed: int) -> None:
    outcome = Outcome()
    check_documents(Random(seed), 40, 3, outcome)
    assert not outcome.broken, outcome.broken[0]
