"""What judges filters: the schemas, documents and filters that are drawn, and the two judges."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest
from elementpath import ElementPathError, XPath1Parser, select
from hypothesis import given, settings, strategies as st
from lxml import etree

from heptox.schema import SchemaGraph, validity_faults
from heptox.xml import XmlElement, parse_document, write_element
from tests.support import evaluate
from tests.support.budget import tries
from tests.support.filtering.judging import Result, corrected, judged_tree, parsed_3, whole, whole_by_elementpath
from tests.support.filtering.making import (
    outside,
    random_documents,
    random_filter,
    random_filter_3,
    random_schema,
    respell,
)

seeds = st.integers(0, 1 << 32)


def content(element: XmlElement | ElementTree.Element) -> Any:
    """What an element means, however it is spelt."""
    children = [(content(child), child.tail or "") for child in element]
    attributes = {str(name): str(value) for name, value in element.attrib.items()}
    return element.tag, attributes, element.text or "", children


def cases(number: int, documents: int = 5) -> Iterator[tuple[Random, SchemaGraph, list[bytes]]]:
    for seed in range(number):
        random = Random(seed)
        schema = random_schema(random)
        yield random, schema, random_documents(random, schema, documents)


# -- schemas -------------------------------------------------------------------------------------------------------


def below(schema: SchemaGraph, name: str) -> set[str]:
    found: set[str] = set()
    waiting = [name]
    while waiting:
        new = {child.name for child in schema.elements[waiting.pop()].children} - found
        found |= new
        waiting += new
    return found


@given(seeds, st.integers(1, 12))
@settings(max_examples=tries(100), deadline=None)
def test_all_types_of_a_schema_are_below_its_root(seed: int, most: int) -> None:
    schema = random_schema(Random(seed), most)
    assert {schema.root, *below(schema, schema.root)} == set(schema.elements)
    assert len(schema.elements) <= most


def test_schemas_are_no_trees_only() -> None:
    found: Counter[str] = Counter()
    for seed in range(300):
        schema = random_schema(Random(seed))
        elements = schema.elements
        children = [child.name for element in elements.values() for child in element.children]
        declared = [attribute for element in elements.values() for attribute in element.attributes]
        cyclic = [name for name in elements if name in below(schema, name)]
        found["shared"] += len(set(children)) < len(children)
        found["recursive"] += bool(cyclic)
        found["directly"] += any(child.name == name for name in elements for child in elements[name].children)
        found["several"] += len(cyclic) > 2
        found["tree"] += not cyclic and len(set(children)) == len(children)
        found["mixed"] += any(element.mixed for element in elements.values())
        found["empty"] += any(not element.text and not element.children for element in elements.values())
        found["any"] += any(len(e.children) == len(elements) > 1 and e.text for e in elements.values())
        found["prefix"] += any(one != other and other.startswith(one) for one in elements for other in elements)
        found["beyond ASCII"] += not "".join(elements).isascii()
        found["default"] += any(attribute.default and not attribute.fixed for attribute in declared)
        found["fixed"] += any(attribute.fixed for attribute in declared)
        found["values"] += any(attribute.values for attribute in declared)
        found["ID"] += any(attribute.type == "ID" for attribute in declared)
    assert len(found) == 14 and min(found.values()) >= 5, found


# -- documents -----------------------------------------------------------------------------------------------------


def test_documents_are_valid() -> None:
    for _, schema, documents in cases(60):
        for document in documents:
            assert validity_faults(parse_document(document), schema) == (), document


TEXTS: st.SearchStrategy[Any] = st.recursive(
    st.builds(
        lambda name, value, text: (name, value, text, []),
        st.sampled_from("ab\u00e9\u03b1"),
        st.text("ab <>&'\"]\n\t\r\u00e9\u2264%;", max_size=6),
        st.text("ab <>&'\"]\n\t\r\u00e9\u2264%;", max_size=6),
    ),
    lambda inner: st.tuples(st.sampled_from("ab"), st.text("a &", max_size=2), st.just("x"), st.lists(inner)),
    max_leaves=8,
)


def written(node: Any) -> XmlElement:
    name, value, text, children = node
    element = etree.Element(name, x=value)
    element.text = text
    for child in children:
        element.append(written(child))
        element[-1].tail = value
    return element


@given(seeds, TEXTS)
@settings(max_examples=tries(300), deadline=None)
def test_another_spelling_means_the_same(seed: int, node: Any) -> None:
    text = write_element(written(node))
    document = respell(Random(seed), text)
    assert content(parse_document(document).root) == content(parse_document(text).root)
    assert content(ElementTree.fromstring(document)) == content(parse_document(text).root)  # another parser


@given(seeds)
@settings(max_examples=tries(200), deadline=None)
def test_random_documents_mean_the_same_to_another_parser(seed: int) -> None:
    random = Random(seed)
    for document in random_documents(random, random_schema(random), 3):
        root = parse_document(document).root
        assert content(ElementTree.fromstring(document)) == content(root)
        assert content(parse_document(respell(random, write_element(root))).root) == content(root)


def test_a_spelling_keeps_what_the_internal_subset_declares() -> None:
    text = '<!DOCTYPE a [<!ATTLIST b i ID #IMPLIED><!ENTITY e "1">]><a><b i="p1">&e;</b><b i="p2"/></a>'
    for seed in range(50):
        assert whole(["id('p1')"], respell(Random(seed), text)) == [(("element", "b", '<b i="p1">1</b>'),)]


SPELLINGS = {
    "empty element": r"<[^<>]*/>",
    "end tag with a blank": r"</[^<>]*\s>",
    "start and end of nothing": r"<(\w+)></\1>",
    "single quotes": r"<\w[^<>]*='",
    "end of a tag in a value": r"""<\w+ \w+=("[^"<]*>[^"<]*"|'[^'<]*>[^'<]*')""",
    "CDATA section": r"<!\[CDATA\[",
    "decimal reference": r"&#\d+;",
    "hexadecimal reference": r"&#x",
    "markup in a comment": r"<!-- <a>",
    "markup in an instruction": r"<\?p <",
    "entity": r"&n\d+\.é;",
    "elements in an entity": r'<!ENTITY \S+ "[^"]*<\w',
    "default": r"<!ATTLIST \S+ \S+ CDATA ['\"]",
    "fixed": r"#FIXED",
    "ID": r" ID #IMPLIED",
    "system": r"SYSTEM",
    "public": r"PUBLIC",
    "CR LF": r"\r\n",
    "CR": r"\r[^\n]",
    "behind the root": r">\s*<(!--|\?)[^<]*$",
}


def test_all_spellings_are_there() -> None:
    found: Counter[str] = Counter()
    for _, _, documents in cases(200):
        for document in documents:
            encoding = next((name for name, mark in MARKS.items() if document.startswith(mark)), "utf-8")
            encoding = "iso-8859-1" if re.match(rb"<\?xml[^>]*8859", document) else encoding
            found[encoding] += 1
            text = document.decode(encoding)
            found.update(name for name, pattern in SPELLINGS.items() if re.search(pattern, text))
    assert found.keys() == {*SPELLINGS, *MARKS, "utf-8", "iso-8859-1"}, found


MARKS = {"utf-8-sig": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


def test_documents_outside_do_not_belong() -> None:
    found: Counter[str] = Counter()
    for random, schema, documents in cases(60):
        for document in documents:
            root = parse_document(outside(random, write_element(parse_document(document).root), schema)).root
            assert validity_faults(parse_document(write_element(root)), schema)
            tags = {element.tag for element in root.iter()}
            found["undeclared"] += not tags <= schema.elements.keys()
            found["at a wrong place"] += tags <= schema.elements.keys()
            found["undeclared root"] += root.tag not in schema.elements
            found["another root"] += root.tag in schema.elements and root.tag != schema.root
            found["same root"] += root.tag == schema.root
    assert len(found) == 5 and min(found.values()) >= 10, found


# -- filters -------------------------------------------------------------------------------------------------------

AXES = (
    "parent", "self", "ancestor", "ancestor-or-self", "descendant", "descendant-or-self", "following-sibling",
    "preceding-sibling", "following", "preceding", "child", "attribute",
)  # fmt: skip
FUNCTIONS = (
    "last", "position", "count", "id", "local-name", "name", "string", "concat", "starts-with", "contains",
    "substring-before", "string-length", "normalize-space", "translate", "boolean", "not", "true", "lang", "number",
    "sum", "text", "node",
)  # fmt: skip
KINDS = {
    **{f"axis {axis}": rf"(?<![\w-]){axis}::" for axis in AXES},
    **{f"function {name}": rf"(?<![\w-]){name}\(" for name in FUNCTIONS},
    **{
        f"operator {sign}": rf"[\w'\"\])*.] ?{re.escape(sign)} ?[\w'\"/.@(*-]"
        for sign in ("=", "!=", "<", "<=", ">", ">=")
    },
    "relative": r"^[^/(']",
    "union": r"\|",
    "parenthesised": r"^\(.*\)\[",
    "predicate in a predicate": r"\[[^]]*\[",
    "absolute path in a predicate": r"\[/",
    "position": r"\[\d\]",
    "all attributes": r"@\*",
    "parent": r"/\.\.",
    "look up": r"\[\.\./",
    "look further up": r"\[\.\./\.\./",
    "wildcard": r"/\*",
    "nothing of the schema": r"zz",
    "and": r" and ",
    "or": r" or ",
    "number": r"^count\(",
    "truth value": r"^/.* (=|!=|<|<=|>|>=) ('[^']*'|[\d.-]+)$",
}


def test_all_kinds_of_filters_are_there() -> None:
    found: Counter[str] = Counter()
    for random, schema, _ in cases(450, documents=0):
        for _ in range(10):
            text = random_filter(random, schema)
            found["filters"] += 1
            found["plain"] += re.search(r"::|\(|\||^[^/]|\[[^]]*\[| (and|or) ", text) is None
            found.update(kind for kind, pattern in KINDS.items() if re.search(pattern, text))
    assert KINDS.keys() <= found.keys(), KINDS.keys() - found.keys()
    assert 0.45 < found["plain"] / found["filters"] < 0.75, found


def test_filters_are_xpath_to_both_libraries() -> None:
    for random, schema, _ in cases(40, documents=0):
        for _ in range(10):
            text = random_filter(random, schema)
            assert etree.XPath(text).path == text
            assert XPath1Parser().parse(text).source
            assert parsed_3(random_filter_3(random, schema)).source


def test_many_filters_select_something() -> None:
    asked: Counter[str] = Counter()
    for random, schema, documents in cases(60, documents=10):
        filters = [random_filter(random, schema) for _ in range(20)]
        results = [whole(filters, document) for document in documents]
        for found in zip(*results, strict=True):
            asked["all"] += 1
            asked["some"] += any(found)
            asked["none"] += not any(found)
    assert asked["some"] >= 0.4 * asked["all"] and asked["none"] >= 0.1 * asked["all"], asked


def test_filters_of_xpath_3_have_no_errors_and_select() -> None:
    hits = 0
    for random, schema, documents in cases(20, documents=3):
        filters = [random_filter_3(random, schema) for _ in range(10)]
        hits += sum(
            any(found) for found in zip(*(whole_by_elementpath(filters, d, "3.1") for d in documents), strict=True)
        )
    assert hits >= 80


# -- judges --------------------------------------------------------------------------------------------------------


def test_both_judges_agree() -> None:
    selected = 0
    for random, schema, documents in cases(120, documents=4):
        filters = [text for _ in range(12) if "id(" not in (text := random_filter(random, schema))]
        for document in documents:
            found = whole(filters, document)
            selected += sum(map(bool, found))
            for text, one, other in zip(filters, found, whole_by_elementpath(filters, document), strict=True):
                assert one == other, (text, document)
    assert selected > 1500


def test_saxon_agrees_about_xpath_3() -> None:
    told = 0
    for random, schema, documents in cases(30, documents=2):
        filters = [random_filter_3(random, schema) for _ in range(10)]
        for document in documents:
            read = write_element(judged_tree(document))
            for text, found in zip(filters, whole_by_elementpath(filters, document, "3.1"), strict=True):
                assert "".join(map(strings_of, found)) == by_saxon(text, read), (text, document)
                told += bool(found)
    assert told > 200


def strings_of(result: Result) -> str:
    kind, name, text = result
    if kind == "element":
        text = "".join(map(str, parse_document(text).root.itertext()))
    return f"{'' if kind == 'value' else name}|{text};"


def by_saxon(text: str, document: str) -> str:
    name = "if ($item instance of node()) then name($item) else ''"
    nodes = f"({text})[not(. instance of document-node())]"
    (answer,) = evaluate(f"string-join(for $item in {nodes} return concat({name}, '|', $item, ';'))", document)
    return answer[1:-1].replace('""', '"')


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a/b", [("element", "b", '<b x="1">2</b>'), ("element", "b", "<b/>")]),
        ("b", []),
        ("..", []),
        ("/", []),
        ("//b | /a/@y | //text()", [
            ("attribute", "y", " "), ("text", "", "1&"), ("element", "b", '<b x="1">2</b>'), ("text", "", "2"),
            ("text", "", "34"), ("element", "b", "<b/>"),
        ]),
        ("(//b/.. | //b)[2]", [("element", "b", '<b x="1">2</b>')]),
        ("string(/)", [("value", "string", "1&234")]),
        ("string-length(/a/../.)", [("value", "number", "5")]),
        ("count(//b[1]/text())", [("value", "number", "1")]),
        ("1 div 4", [("value", "number", "0.25")]),
        ("//b = 2", [("value", "boolean", "true")]),
        ("//b[. < 3]/@*", [("attribute", "x", "1")]),
        ("a/b[2]/node()", []),
        ("//b[1]/text()/following::b", [("element", "b", "<b/>")]),
        ("position() = last()", [("value", "boolean", "true")]),
    ],
)  # fmt: skip
def test_the_judges_know(text: str, expected: list[tuple[str, str, str]]) -> None:
    document = (
        b'<!DOCTYPE a [<!ENTITY e "3"><!ENTITY n "">]><a y=" ">1<![CDATA[&]]><!-- --><b x="1">2</b>&e;<?p?>4'
        b"<b>&n;<![CDATA[]]></b></a>"
    )
    assert whole([text], document) == [tuple(expected)]
    assert whole_by_elementpath([text], document) == [tuple(expected)]


def test_what_is_corrected_in_elementpath_is_as_before_afterwards() -> None:
    tree = parse_document("<a><b><c>2</c></b><b>1</b>x</a>").root.getroottree()
    asked = ("string(/a)", "//b = 1", "//b > 1", "//text()/following::b")

    def answers() -> list[str]:
        return [str(answer) for text in asked for answer in _answers(tree, text)]

    before = answers()
    with corrected():
        assert answers() == ["21x", "True", "True", str(tree.getroot()[1])]
    assert answers() == before


def _answers(tree: Any, text: str) -> Sequence[Any]:
    try:
        answer = select(tree, text, parser=XPath1Parser)
    except ElementPathError as error:
        answer = str(error)
    return answer if isinstance(answer, list) else [answer]
