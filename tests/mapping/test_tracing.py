"""The way of values through an exchange: each that arrived is what it was, and none is left out."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from hypothesis import assume, given, strategies as st

from heptox.mapping import HeadNode, Mapping, Rule, Trace, ValueTrace, exchange
from heptox.mapping.element_values import value_of
from heptox.pattern import TAG, Term, Variable, value_expression
from heptox.schema import TEXT, Path, SchemaTree, parse_dtd
from heptox.xml import Document, XmlElement, parse_document, write_element
from tests.mapping.building import hospital, mapping
from tests.support.definition import makes_up
from tests.support.random_mappings import random_documents, random_problem


def traced(rules: Mapping, document: str) -> tuple[Document, list[ValueTrace]]:
    trace = Trace()
    image = exchange(rules, parse_document(document), trace)
    return image, list(trace.values())


def value_at(rules: Mapping, side: str, leaf: Path, element: XmlElement) -> str:
    """What an element has for a leaf: of a copied one all that it holds."""
    tree = rules.source if side == "source" else rules.target
    if (expression := value_expression(leaf)) is not None:
        return str(value_of(element, expression))
    if leaf[-1:] == (TAG,):
        return str(tree.value_of_tag(leaf[:-1], str(element.tag)))
    if leaf and leaf[-1].startswith("@"):
        return str(element.get(leaf[-1][1:]))
    if leaf[-1:] == (TEXT,) or (leaf and tree.is_leaf(leaf)):
        return "".join((element.text or "", *(child.tail or "" for child in element)))
    return write_element(element).partition(">")[2].rpartition("</")[0]


def places(element: XmlElement) -> Iterator[tuple[XmlElement, str]]:
    """Where values stand in a document."""
    for one in element.iter():
        yield from ((one, f"@{name!s}") for name in one.attrib)
        if one.text and not len(one):
            yield one, TEXT


@given(st.integers(0, 10_000))
def test_what_arrived_is_what_it_was(seed: int) -> None:
    random = Random(seed)
    problem = random_problem(random)
    for document in random_documents(random, problem, 2):
        _, values = traced(problem.mapping, document)
        for one in values:
            begin = value_at(problem.mapping, "source", one.source, one.start)
            assert begin == value_at(problem.mapping, "target", one.target, one.end)


@given(st.integers(0, 10_000))
def test_every_value_of_the_image_was_carried(seed: int) -> None:
    random = Random(seed)
    problem = random_problem(random)
    assume(not makes_up(problem.mapping))
    for document in random_documents(random, problem, 2):
        image, values = traced(problem.mapping, document)
        copied = {one.end for one in values if one.copied}
        told = {(one.end, last(one)) for one in values}
        for element, leaf in places(image.root):
            if not copied.intersection((element, *element.iterancestors())):
                assert (element, leaf) in told or (element, "") in told, write_element(image.root)


def last(one: ValueTrace) -> str:
    end = one.target[-1] if one.target else ""
    return end if end.startswith("@") else "" if end == TAG else TEXT


def test_a_value_that_two_elements_have_came_from_both() -> None:
    admission = "<Admission PatRef='p'><Problem>Pulmonary</Problem><AdmDate>1</AdmDate><DisDate>2</DisDate></Admission>"
    patient = "<Patient ID='p'><Name>A</Name><Hist/></Patient>"
    document = f"<MonGenHosp>{patient}{admission}{admission}</MonGenHosp>"
    image, values = traced(hospital(), document)
    assert len(image.root.findall("Admission/Pulmonary")) == 1
    tags = [one for one in values if one.target[-1:] == (TAG,)]
    assert [one.start.text for one in tags] == ["Pulmonary", "Pulmonary"]
    assert tags[0].start is not tags[1].start
    assert {str(one.end.tag) for one in tags} == {"Pulmonary"}


def test_a_copied_subtree_was_carried_whole() -> None:
    dtd = "<!ELEMENT a (b*)> <!ELEMENT b (c, d*)> <!ELEMENT c (#PCDATA)> <!ELEMENT d (#PCDATA)>"
    other = dtd.replace("ELEMENT a (b*)", "ELEMENT x (b*)")
    rules = mapping(dtd, other, "b => b")
    image, values = traced(rules, "<a><b><c>1</c><d>2</d></b></a>")
    assert [(one.source, one.target, one.copied) for one in values] == [(("b",), ("b",), True)]
    assert values[0].end is image.root[0]


def test_a_value_for_which_another_one_stands_did_not_arrive() -> None:
    dtd = parse_dtd("<!ELEMENT s (a*)> <!ELEMENT a (x?)> <!ATTLIST a k CDATA #REQUIRED> <!ELEMENT x (#PCDATA)>", "s")
    leaves = ((("@k",), Term("a", ("@k",))), (("x",), Term("a", ("x",))))
    head = HeadNode(()), HeadNode(("a",), leaves, key=("@k",))
    rule = Rule(head, (Variable("s", ()), Variable("a", ("a",), "s")))
    rules = Mapping(SchemaTree(dtd), SchemaTree(dtd), (rule,), None)
    texts = "".join(f'<a k="1"><x>{text}</x></a>' for text in "112")
    _, values = traced(rules, f"<s>{texts}</s>")
    assert [one.start.text for one in values if one.target == ("a", "x")] == ["1", "1"]
