"""Advertisements: what they keep of a DTD, and their bytes."""

from __future__ import annotations

import json
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import DisseminationError
from heptox.routing import (
    MOST_ADVERTISEMENT_BYTES,
    Advertisement,
    ElementType,
    advertised,
    digest,
    from_bytes,
    to_bytes,
)
from heptox.schema import Cardinality, Child, Element, Particle, SchemaGraph, parse_dtd
from tests.support.budget import tries
from tests.support.routing.schemas import edges, schema_of, words

seeds = st.integers(0, 1 << 32)


def test_what_no_finite_document_has_is_dropped() -> None:
    dtd = """
        <!ELEMENT a (b | (c, endless) | d)> <!ELEMENT b (c?, endless*)> <!ELEMENT c EMPTY> <!ELEMENT d (endless)>
        <!ELEMENT endless (endless)> <!ELEMENT apart (a)>
    """
    advertisement = advertised(parse_dtd(dtd, "a"))
    assert {name: advertisement.children(name) for name in advertisement.elements} == {
        "a": ("b",),
        "b": ("c",),
        "c": (),
    }
    assert [name for name, element in advertisement.elements.items() if element.ends] == ["b", "c"]


def test_no_document_no_advertisement() -> None:
    with pytest.raises(DisseminationError, match="HX9030"):
        advertised(parse_dtd("<!ELEMENT a (a)>", "a"))


def test_leaves_that_are_always_there() -> None:
    dtd = """
        <!ELEMENT a (b*)> <!ELEMENT b EMPTY>
        <!ATTLIST a r CDATA #REQUIRED i CDATA #IMPLIED d CDATA "1" f CDATA #FIXED "2">
    """
    advertisement = advertised(parse_dtd(dtd, "a"))
    assert advertisement.elements["a"].required == {"r"}
    assert advertisement.leaves("a") == ("@d", "@f", "@i", "@r", "text()")
    assert advertisement.leaves("b") == ()


def test_a_schema_without_content_models() -> None:
    children = (Child("b", Cardinality.SOME), Child("c", Cardinality.OPTIONAL))
    schema = SchemaGraph("a", {"a": Element("a", children), "b": Element("b"), "c": Element("c")})
    advertisement = advertised(schema)
    assert advertisement.children("a") == ("b", "c")
    assert not advertisement.elements["a"].ends


@settings(max_examples=tries(50), deadline=None)
@given(seeds)
def test_edges_and_ends_are_those_of_the_words_of_content_models(seed: int) -> None:
    schema = schema_of(Random(seed))
    below = edges(schema)
    advertisement = advertised(schema)
    for name, element in advertisement.elements.items():
        assert set(advertisement.children(name)) == below[name]
        assert element.ends == ("" in words(schema.elements[name], frozenset(below)))


# -- bytes -------------------------------------------------------------------------------------------------------


@settings(max_examples=tries(50), deadline=None)
@given(seeds)
def test_bytes_are_the_advertisement(seed: int) -> None:
    advertisement = advertised(schema_of(Random(seed)))
    data = to_bytes(advertisement)
    assert from_bytes(data) == advertisement
    assert to_bytes(from_bytes(data)) == data
    assert hash(from_bytes(data)) == hash(advertisement)


def test_order_of_declarations_makes_no_other_digest() -> None:
    one, other = "<!ELEMENT a (b, c)>", "<!ELEMENT c EMPTY><!ATTLIST c x CDATA #IMPLIED y CDATA #IMPLIED>"
    reordered = "<!ELEMENT c EMPTY><!ATTLIST c y CDATA #IMPLIED x CDATA #IMPLIED>"
    b = "<!ELEMENT b EMPTY>"
    digests = {digest(advertised(parse_dtd(text, "a"))) for text in (one + other + b, b + reordered + one)}
    assert len(digests) == 1
    assert digest(advertised(parse_dtd(one.replace("b, c", "c, b") + other + b, "a"))) not in digests


def changed(**changes: object) -> bytes:
    whole = {
        "format": "heptox advertisement 1",
        "root": "a",
        "elements": {"a": {"content": [",", "a?"], "optional": [], "required": [], "text": True}},
    }
    return json.dumps(whole | changes).encode()


def element(**changes: object) -> bytes:
    usual: dict[str, object] = {"content": "a?", "optional": [], "required": [], "text": True}
    return changed(elements={"a": usual | changes})


def nested(depth: int) -> object:
    return [",", nested(depth - 1)] if depth else "a?"


def test_the_unchanged_bytes_are_read() -> None:
    assert from_bytes(changed()) == from_bytes(element(content=[",", "a?"]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b"{",
        b"[" * 100_000,
        b'{"format":"heptox advertisement 1"}',
        changed(format="heptox advertisement 2"),
        changed(root="b"),
        changed(root=1),
        changed(elements=[]),
        changed(elements={}),
        changed(more=1),
        element(text=1),
        element(content=1),
        element(content=[]),
        element(content="b"),
        element(content="a"),
        element(content=["&", "a"]),
        element(content=["|!", "a"]),
        element(content="a/b"),
        element(content=""),
        element(content=nested(100)),
        element(optional="x"),
        element(optional=["x"], required=["x"]),
        element(required=["x y"]),
        element(required=[["x"]]),
    ],
)
def test_what_is_no_advertisement_is_refused(data: bytes) -> None:
    with pytest.raises(DisseminationError, match="HX9031"):
        from_bytes(data)


@given(st.binary(max_size=200))
def test_garbage_is_refused(data: bytes) -> None:
    with pytest.raises(DisseminationError, match="HX9031"):
        from_bytes(data)


def test_too_large_an_advertisement() -> None:
    with pytest.raises(DisseminationError, match="HX9032"):
        from_bytes(b" " * (MOST_ADVERTISEMENT_BYTES + 1))
    name = "x" * MOST_ADVERTISEMENT_BYTES
    with pytest.raises(DisseminationError, match="HX9032"):
        to_bytes(Advertisement("a", {"a": ElementType(Particle("sequence", Cardinality.ONE), frozenset({name}))}))


def test_too_many_element_types() -> None:
    names = [f"e{number:04}" for number in range(2001)]
    dtd = "".join(f"<!ELEMENT {name} ({below})>" for name, below in pairwise(names)) + f"<!ELEMENT {names[-1]} EMPTY>"
    with pytest.raises(DisseminationError, match="2001 element types"):
        to_bytes(advertised(parse_dtd(dtd, names[0])))
    data = to_bytes(advertised(parse_dtd(dtd, names[1])))
    assert from_bytes(data).root == names[1]
    with pytest.raises(DisseminationError, match="2001 element types"):
        from_bytes(data.replace(b'"elements":{', b'"elements":{"more":{},'))
