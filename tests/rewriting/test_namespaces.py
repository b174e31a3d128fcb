"""Programs and documents with names in namespaces: names are names, whatever prefixes documents have for them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import fields, replace
from io import BytesIO
from random import Random

import pytest
from lxml import etree

from heptox.errors import DisseminationError
from heptox.mapping import image_prefixes
from heptox.rewriting import Operator, Program, Rewriter, StreamingRewriter
from heptox.schema import TEXT, SchemaTree, parse_dtd, random_document
from heptox.xml import Outline, PieceReader, Prefixes, parse_document, write_element
from tests.support.namespaces import Namespacing, declared_anyhow, meaning
from tests.support.rewriting.checking import Trickle, damaged
from tests.support.rewriting.making import ALL, PASSED_ON, random_program, random_schema


class Alike(Namespacing):
    """Elements and attributes of one name are in one namespace, for operators make one of the other."""

    def attribute(self, name: str) -> str:
        return self.element(name)


def named_name(name: str, naming: Alike) -> str:
    if name == TEXT:
        return name
    sign = name[0] if name[0] in "@+" else ""
    return sign + naming.element(name.removeprefix(sign))


def named_operator(operator: Operator, naming: Alike) -> Operator:
    def named(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(map(named, value))
        return named_name(value, naming) if isinstance(value, str) else value

    return replace(operator, **{one.name: named(getattr(operator, one.name)) for one in fields(operator)})  # type: ignore[arg-type]


def named_tree(root: etree._Element, naming: Alike) -> etree._Element:
    return etree.fromstring(naming.document(write_element(root), 0))


def rewritten(program: Program, text: str) -> etree._Element | None:
    try:
        return Rewriter(program).rewrite(parse_document(text)).root
    except DisseminationError:
        return None


def streamed(program: Program, source: Trickle, piece: int, prefixes: Prefixes | None) -> bytes | None:
    try:
        return b"".join(StreamingRewriter(program, piece=piece, prefixes=prefixes).rewrite(source))
    except DisseminationError:
        return None


def _tags(found: object) -> list[str]:
    """The names in what an element means."""
    return sorted(re.findall(r"\('((?:\{[^}]*\})?e\d+)', \(", str(found)))


def check(seed: int) -> Counter[str]:
    random, naming, counts = Random(seed), Alike(seed), Counter[str]()
    schema = random_schema(random)
    kinds = random.choice((ALL, PASSED_ON))
    plain = random_program(random, schema, random.choice((1, 2, 3, 8)), kinds)
    source = SchemaTree(naming.graph(schema.graph))
    named = Program(source, tuple(named_operator(operator, naming) for operator in plain.operators))
    for _ in range(6):
        text = random_document(schema.graph, random, repeats=random.choice((3, 6, 30)))
        fits = random.random() < 0.8
        text = text if fits else damaged(random, text)
        expected = rewritten(plain, text)
        wanted = None if expected is None else meaning(write_element(named_tree(expected, naming)))
        told = declared_anyhow(named_tree(parse_document(text).root, naming), random)
        before = f"<!--{'x' * 1024}-->" + random.choice(("", "", '<!DOCTYPE x [<!ENTITY more "more">]>'))
        trickle, piece = Trickle(random, (before + told).encode()), random.choice((1, 5, 40, 300))
        found = streamed(named, trickle, piece, random.choice((None, image_prefixes(source))))
        counts["cases"] += 1
        counts["rewritten"] += found is not None
        if fits or found is not None:
            given = None if found is None else meaning(found.decode())
            if fits:
                assert given == wanted, (told, named.operators)
            else:  # children that do not come in the order of the schema may be left in their own
                assert _tags(given) == _tags(wanted)
        try:
            in_memory = Rewriter(named).rewrite(parse_document(told)).root
        except DisseminationError:
            in_memory = None
        assert (in_memory is None) == (expected is None)
        if in_memory is not None:
            again = declared_anyhow(in_memory, random)
            assert meaning(again) == wanted
    return counts


@pytest.mark.parametrize("seed", range(40))
def test_programs_do_not_depend_on_names(seed: int) -> None:
    assert check(seed)["rewritten"] > 0 or seed


OUTLINE = Outline({"{u}r": Outline({"{u}b": None})})


def test_pieces_carry_the_declarations_in_scope() -> None:
    text = b"<p:r xmlns:p='u' xmlns='v' x='1'><p:b>1</p:b><c xmlns:p='w'><p:b/></c><p:b>2</p:b></p:r>" + b" " * 2000
    reader = PieceReader(BytesIO(text), OUTLINE, size=4)
    pieces = list(reader.read(5000))
    assert [one.named for one in pieces] == [True] * len(pieces)
    assert [str(element.tag) for one in pieces for element in one.root.iter() if element not in one.begun] == [
        "{u}r", "{u}b", "{v}c", "{w}b", "{u}b",
    ]  # fmt: skip


def test_what_is_in_no_namespace_is_written_so_wherever_it_comes() -> None:
    from heptox.rewriting import Rename
    from heptox.schema import Cardinality, Child, Element, SchemaGraph

    graph = SchemaGraph("{u}r", {"{u}r": Element("{u}r", (Child("{u}a", Cardinality.MANY),)), "{u}a": Element("{u}a")})
    program = Program(SchemaTree(graph), (Rename(("{u}a",), "a"),))
    text = b"<r xmlns='u'><a/><a xmlns:p='q' p:x='1'><p:b/></a></r>"
    found = b"".join(StreamingRewriter(program).rewrite(BytesIO(text)))
    wanted = '<r xmlns="u"><a xmlns=""/><a xmlns="" xmlns:p="q" p:x="1"><p:b/></a></r>'
    assert meaning(found.decode()) == meaning(wanted)


def test_names_have_the_prefixes_that_are_given_and_values_those_of_their_own() -> None:
    program = Program(
        SchemaTree(parse_dtd("<!ELEMENT p:r (p:a*)><!ATTLIST p:r xmlns:p CDATA #FIXED 'u'><!ELEMENT p:a ANY>")), ()
    )
    text = b"<r xmlns='u' xmlns:n='u' xmlns:x='v'><a/><n:a t='x:y'>see x:z</n:a><a xmlns='' t='n:y'/></r>"
    found = b"".join(StreamingRewriter(program, prefixes=Prefixes.of({"p": "u"})).rewrite(BytesIO(text)))
    assert found.decode() == (
        '<p:r xmlns:p="u"><p:a></p:a><p:a xmlns:x="v" t="x:y">see x:z</p:a><a xmlns:n="u" t="n:y"></a></p:r>'
    )
