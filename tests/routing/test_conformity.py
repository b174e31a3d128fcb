"""Conformity of documents to advertisements, against the definition: each path is an advertised one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, pairwise, permutations
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.routing.covering import Coverings
from heptox.routing import Advertisement, Conformity, ElementType, advertised
from heptox.schema import Cardinality, Particle, SchemaGraph, parse_dtd, random_document
from heptox.xml import parse_document
from tests.support.budget import tries
from tests.support.matching.making import random_schema
from tests.support.routing.judging import accepts
from tests.support.routing.making import loosened, random_paths
from tests.support.routing.schemas import Tree, documents, edges, leaves, schema_of, words

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
        "<orders><order id='1'><note/><note kind='odd'/></order>text</orders>",
        "<orders><order id=''><note><!-- a comment is nothing --></note></order></orders>",
        "<orders><order id=''><note><?instruction is nothing?></note></order></orders>",
        "<orders><order id=''><note><![CDATA[]]></note></order></orders>",
    ],
)
def test_order_and_number_of_children_are_not_looked_at(text: str) -> None:
    assert misfit(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\n<order id='1'/>", "line 2: the root order is not orders"),
        ("<orders>\n <line/>\n</orders>", "line 2: line may not stand below orders"),
        ("<orders>\n<order id='1'>\n<line>\n<note/></line></order></orders>", "line 4: note may not stand below line"),
        ("<orders><odd/></orders>", "line 1: odd may not stand below orders"),
        ("<orders><order\nid='1' number='2'/></orders>", "line 2: order may not have the attribute number"),
        ("<orders id='1'/>", "line 1: orders may not have the attribute id"),
        ("<orders><order by='x'><line/></order></orders>", "line 1: order has to have the attribute id"),
        ("<orders><order id='1'> </order></orders>", "line 1: order may not be without children"),
        ("<orders><order id='1'><note> </note></order></orders>", "line 1: note may not have text"),
        ("<orders><order id='1'><note><!-- -->x</note></order></orders>", "line 1: note may not have text"),
        ("<!DOCTYPE orders [<!ENTITY e 'x'>]><orders><order id='1'><note>&e;</note></order></orders>",
         "line 1: note may not have text"),
        ("<!DOCTYPE orders [<!ATTLIST orders more CDATA '1'>]><orders/>",
         "line 1: orders may not have the attribute more"),
        ("<orders><order more='1'/><odd/></orders>", "line 1: order may not have the attribute more"),
        ("<orders>\n<order id='1'><note>\n<odd more='1'/></note></order></orders>", "line 2: note may not have text"),
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


def _is_advertised(schema: SchemaGraph, path: Tree) -> bool:
    """Whether a path to an element without children is one of the schema's."""
    below = edges(schema)
    elements = [path]
    while elements[-1].children:
        elements += elements[-1].children
    return (
        path.name == schema.root
        and all(child.name in below[parent.name] for parent, child in pairwise(elements))
        and all(_required(schema, each.name) <= set(each.leaves) <= leaves(schema, each.name) for each in elements)
        and "" in words(schema.elements[elements[-1].name], frozenset(below))
    )


def _required(schema: SchemaGraph, name: str) -> set[str]:
    return {f"@{each.name}" for each in schema.elements[name].attributes if each.cardinality.required}


def _tree(random: Random, schema: SchemaGraph, name: str, depth: int) -> Tree:
    """A tree that mostly keeps to the paths of a schema."""
    odd, known = random.random() < 0.04, name in schema.elements
    contents = words(schema.elements[name], frozenset(edges(schema)), 3) if known and not odd else ["", *"abcdz"]
    word = random.choice((contents if depth > 0 else contents[:1]) or [""]) if depth > -4 else ""
    labels = sorted(leaves(schema, name)) if known and not odd else ["@x", "@y", "text()"]
    required = _required(schema, name) if known and not odd else set()
    return Tree(
        name,
        tuple(label for label in labels if label in required or random.random() < 0.3),
        tuple(_tree(random, schema, child, depth - 1) for child in random.sample(word, len(word))),
    )


def _trees(random: Random, schema: SchemaGraph) -> Iterator[Tree]:
    for _ in range(10):
        yield _tree(random, schema, schema.root if random.random() > 0.05 else random.choice("abcd"), 3)


@settings(max_examples=tries(100), deadline=None)
@given(seeds)
def test_a_document_conforms_when_each_path_is_advertised(seed: int) -> None:
    random = Random(seed)
    schema = schema_of(random)
    conformity = Conformity(advertised(schema))
    for tree in _trees(random, schema):
        expected = all(_is_advertised(schema, path) for path in tree.chains())
        assert (conformity.first_misfit(parse_document(str(tree))) is None) == expected, str(tree)


@settings(max_examples=tries(100), deadline=None)
@given(seeds)
def test_covering_over_advertised_paths_holds_for_documents_that_conform(seed: int) -> None:
    random = Random(seed)
    schema = schema_of(random)
    advertisement = advertised(schema)
    conformity, coverings = Conformity(advertisement), Coverings(advertisement)
    paths = random_paths(random, 8, 4)
    pairs = [
        (general, special)
        for general, special in permutations([*paths, *(loosened(random, path) for path in paths)], 2)
        if coverings.path(general, special)
    ]
    for tree in _trees(random, schema):
        if conformity.first_misfit(parse_document(str(tree))) is None:
            found = list(tree.words())
            matched = {path for path in {*chain.from_iterable(pairs)} if any(accepts(path, word) for word in found)}
            assert all(general in matched for general, special in pairs if special in matched), str(tree)


@settings(max_examples=tries(50), deadline=None)
@given(seeds)
def test_all_small_valid_documents_conform(seed: int) -> None:
    schema = schema_of(Random(seed))
    conformity = Conformity(advertised(schema))
    for tree in islice(documents(schema, 4), 300):
        assert conformity.first_misfit(parse_document(str(tree))) is None, str(tree)


@settings(max_examples=tries(50), deadline=None)
@given(seeds)
def test_random_valid_documents_conform(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    conformity = Conformity(advertised(schema))
    for _ in range(5):
        text = random_document(schema, random, elements=40)
        assert conformity.first_misfit(parse_document(text)) is None, text
