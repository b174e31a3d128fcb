"""Conformity of documents to advertisements, against the definition: each root path is a word."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.dissemination.routing import Advertisement, Conformity, ElementType, advertised
from heptox.schema import Cardinality, Particle, SchemaGraph, parse_dtd, random_document
from heptox.xmlio import parse_document
from tests.support.matching.making import random_schema
from tests.support.routing.schemas import Tree, documents, edges, leaves, schema_of

seeds = st.integers(0, 1 << 32)

ORDERS = """
    <!ELEMENT orders (order*)> <!ELEMENT order (line+, note?)> <!ELEMENT line (#PCDATA | part)*>
    <!ELEMENT part (part?)> <!ELEMENT note EMPTY>
    <!ATTLIST order id CDATA #REQUIRED by CDATA #IMPLIED> <!ATTLIST note kind CDATA "usual">
"""


def misfit(text: str, dtd: str = ORDERS, root: str = "orders") -> str | None:
    return Conformity(advertised(parse_dtd(dtd, root))).first_misfit(parse_document(text))


@pytest.mark.parametrize(
    "text",
    [
        "<orders/>",
        "<orders>\n <order id='1' by='x'>\n  <line>x<part/>y<part><part/></part></line>\n </order>\n</orders>",
        "<orders><order/><order><note/><note kind='odd'/><line/></order>text</orders>",
        "<orders><order><note><!-- a comment is nothing --></note></order></orders>",
        "<orders><order><note><?instruction is nothing?></note></order></orders>",
        "<orders><order><note><![CDATA[]]></note></order></orders>",
    ],
)
def test_order_and_number_of_children_and_missing_attributes_are_not_looked_at(text: str) -> None:
    assert misfit(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n<order id='1'/>", "line 2: the root order is not orders"),
        ("<orders>\n <line/>\n</orders>", "line 2: line may not stand below orders"),
        ("<orders>\n<order>\n<line><part/>\n<note/></line></order></orders>", "line 4: note may not stand below line"),
        ("<orders><odd/></orders>", "line 1: odd may not stand below orders"),
        ("<orders><order\nid='1' number='2'/></orders>", "line 2: order may not have the attribute number"),
        ("<orders id='1'/>", "line 1: orders may not have the attribute id"),
        ("<orders><order><note> </note></order></orders>", "line 1: note may not have text"),
        ("<orders><order><note><!-- -->x</note></order></orders>", "line 1: note may not have text"),
        ("<!DOCTYPE orders [<!ENTITY e 'x'>]><orders><order><note>&e;</note></order></orders>",
         "line 1: note may not have text"),
        ("<!DOCTYPE orders [<!ATTLIST orders more CDATA '1'>]><orders/>",
         "line 1: orders may not have the attribute more"),
        ("<orders><order more='1'/><odd/></orders>", "line 1: order may not have the attribute more"),
        ("<orders>\n<order><note>\n<odd more='1'/></note></order></orders>", "line 2: note may not have text"),
    ],
)  # fmt: skip
def test_the_first_misfit_is_told_with_its_line(text: str, expected: str) -> None:
    assert misfit(text) == expected


def test_what_no_finite_document_has_is_a_misfit() -> None:
    dtd = "<!ELEMENT a (b*, endless*)> <!ELEMENT b EMPTY> <!ELEMENT endless (endless)>"
    assert misfit("<a><b/></a>", dtd, "a") is None
    assert misfit("<a><endless/></a>", dtd, "a") == "line 1: endless may not stand below a"


def test_text_behind_a_child_is_text() -> None:
    below = Particle("name", Cardinality.MANY, "a")
    conformity = Conformity(Advertisement("a", {"a": ElementType(below)}))
    assert conformity.first_misfit(parse_document("<a><a/><a><a/></a></a>")) is None
    assert conformity.first_misfit(parse_document("<a><a/><a><a/> </a></a>")) == "line 1: a may not have text"


# -- the definition --------------------------------------------------------------------------------------------------


def _judged(schema: SchemaGraph, tree: Tree) -> str | None:
    """The first root path of a document that none of the schema is, as a sentence about its last label."""
    below = edges(schema)
    for path in tree.words():
        elements = [label for label in path if label != "text()" and label[0] != "@"]
        if path[0] != schema.root:
            return f"the root {path[0]} is not {schema.root}"
        if any(child not in below[parent] for parent, child in pairwise(elements)):
            return f"{path[-1]} may not stand below {path[-2]}"
        if len(elements) < len(path) and path[-1] not in leaves(schema, path[-2]):
            what = "text" if path[-1] == "text()" else f"the attribute {path[-1][1:]}"
            return f"{path[-2]} may not have {what}"
    return None


def _tree(random: Random, schema: SchemaGraph, name: str, depth: int) -> Tree:
    """A tree that mostly keeps to the paths of a schema."""
    odd = 0.06
    allowed = sorted(edges(schema).get(name, ())) if random.random() > odd else list("abcdz")
    labels = sorted(leaves(schema, name)) if name in schema.elements else []
    if random.random() < odd:
        labels = ["@x", "@y", "text()"]
    children = random.choices(allowed, k=random.randint(0, 3)) if allowed and depth else []
    return Tree(
        name,
        tuple(label for label in labels if random.random() < 0.4),
        tuple(_tree(random, schema, child, depth - 1) for child in children),
    )


def _trees(random: Random, schema: SchemaGraph) -> Iterator[Tree]:
    for _ in range(10):
        yield _tree(random, schema, schema.root if random.random() > 0.05 else random.choice("abcd"), 4)


@settings(max_examples=100, deadline=None)
@given(seeds)
def test_a_document_conforms_when_each_root_path_is_a_word(seed: int) -> None:
    random = Random(seed)
    schema = schema_of(random)
    conformity = Conformity(advertised(schema))
    for tree in _trees(random, schema):
        expected = _judged(schema, tree)
        found = conformity.first_misfit(parse_document(str(tree)))
        assert found == (expected and f"line 1: {expected}"), str(tree)


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_all_small_valid_documents_conform(seed: int) -> None:
    schema = schema_of(Random(seed))
    conformity = Conformity(advertised(schema))
    for tree in islice(documents(schema, 4), 300):
        assert conformity.first_misfit(parse_document(str(tree))) is None, str(tree)


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_random_valid_documents_conform(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    conformity = Conformity(advertised(schema))
    for _ in range(5):
        text = random_document(schema, random, elements=40)
        assert conformity.first_misfit(parse_document(text)) is None, text
