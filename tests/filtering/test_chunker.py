"""Documents cut into chunks: what is copied, as which bytes, and how much of a document is held."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import chain, repeat
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.errors import DisseminationError, InputError
from heptox.filtering import (
    Chunk,
    Chunker,
    ChunkingScheme,
    ChunkText,
    Projection,
    SchemaSteps,
    TagPath,
    clean,
    read_filter,
)
from heptox.filtering.chunker import OutsideSchemaError
from heptox.filtering.parts import Part, Registered, parts
from heptox.schema import parse_dtd
from heptox.xml import parse_document, write_element
from tests.support.budget import tries
from tests.support.filtering.checking import TrickleSource
from tests.support.filtering.making import random_schema, random_text, respell

KEY, OTHER, PART = ("r", "k"), ("r", "o"), ("r", "o", "p")


def projection(*whole: TagPath, bare: Iterable[TagPath] = (), units: Iterable[TagPath] = ()) -> Projection:
    return Projection(frozenset(whole), frozenset(bare), frozenset(units))


def chunks(document: bytes, *projections: Projection, size: int | None = None) -> list[ChunkText]:
    source = TrickleSource(Random(len(document)), document)
    return list(chain(*Chunker(projections, size=size).read(source, "r.xml")))


def only(document: bytes, given: Projection) -> bytes:
    (found,) = chunks(document, given)
    return found.data


# -- what is copied ------------------------------------------------------------------------------------------------

FIGURE_8 = SchemaSteps(
    parse_dtd(
        "<!ELEMENT a (b*)> <!ELEMENT b (c?, d*)> <!ELEMENT c (x*)> <!ELEMENT x EMPTY>"
        "<!ELEMENT d (e*, f*)> <!ELEMENT e (#PCDATA)> <!ELEMENT f EMPTY>"
    )
)
IN_FIGURE_8 = b"<a><b><c><x/></c><d><e>1</e><f/></d><d/></b><b><d><e>2</e></d></b><b><c/></b></a>"


def figure_8(text: str, *, cut: bool = False) -> Part:
    scheme = ChunkingScheme(1, (Chunk((("a", "b", "d"),), 1, 1.0),))
    (part,) = parts(scheme, [Registered(1, clean(text, read_filter(text), FIGURE_8))], cut=cut)
    return part


def test_the_nodes_that_filters_need_are_in_the_chunk_of_figure_8() -> None:
    given = figure_8("/a/b[c]/d/e").projection
    assert given == projection(("a", "b", "d"), bare=[("a", "b", "c")])
    assert only(IN_FIGURE_8, given) == (
        b"<a><b><c></c><d><e>1</e><f/></d><d/></b><b><d><e>2</e></d></b><b><c></c></b></a>"
    )


def test_without_filters_the_chunk_of_figure_8_has_nothing_else() -> None:
    given = figure_8("/a/b/d/e").projection
    assert given is not None
    assert only(IN_FIGURE_8, given) == b"<a><b><d><e>1</e><f/></d><d/></b><b><d><e>2</e></d></b></a>"


def test_compared_nodes_are_in_the_chunk_with_their_text() -> None:
    given = figure_8("/a/b[c = '']/d/e").projection
    assert given is not None
    assert only(IN_FIGURE_8, given).startswith(b"<a><b><c><x/></c><d>")


def test_a_chunk_is_cut_between_elements_in_which_all_is_that_a_filter_looks_at() -> None:
    for text, unit in (("/a/b[c]/d/e", ("a", "b")), ("/a/b/d[e]/f", ("a", "b", "d")), ("/a/b/d/e[2]", ("a", "b", "d"))):
        given = figure_8(text, cut=True).projection
        assert given is not None and given.units == {unit}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ("<r><k/></r>", "<r><k/></r>"),
        ("<r><k></k ><k>1</k\n></r>", "<r><k></k ><k>1</k\n></r>"),
        ("<r>\n <k a='1'>x<!-- c --><?p <k>?></k><k/></r>", "<r><k a='1'>x<!-- c --><?p <k>?></k><k/></r>"),
        ("<r><k><![CDATA[</k>]]></k></r>", "<r><k><![CDATA[</k>]]></k></r>"),
        ("<r><k>&lt;&#x41;&#66;</k></r>", "<r><k>&lt;&#x41;&#66;</k></r>"),
        ("<r><k>\u00e9\u03b1\U0001f600</k></r>", "<r><k>\u00e9\u03b1\U0001f600</k></r>"),
        ("<r>text<k><k/><o>1</o></k><k/></r>", "<r><k><k/><o>1</o></k><k/></r>"),
        ("<r><k/><q><k/></q><k/></r>", "<r><k/><k/></r>"),
        ("<r x='&lt;&#10;&quot;' y = \"'\"><k/></r>", '<r x="&lt;&#10;&quot;" y="\'"><k/></r>'),
        ("<r><o y='1'>text<p/><k/></o><k/></r>", '<r><o y="1"></o><k/></r>'),
        ("<r><q/></r>", "<r></r>"),
        ("<r/>", "<r></r>"),
        ("<q><k/></q>", "<q></q>"),
        ("<?xml version='1.0'?>\n<!-- <r> -->\n<r><k/></r>\n<!-- </r> -->", "<r><k/></r>"),
    ],
)
def test_elements_are_copied_as_they_stand(document: str, expected: str) -> None:
    assert only(document.encode(), projection(KEY, bare=[OTHER])).decode() == expected
    if not document.startswith("<?xml"):
        long = f"<!--{'x' * 1024}-->{document}".encode()
        ((found,),) = Chunker([projection(KEY, bare=[OTHER])]).read(ByteByByte(long))
        assert found.data.decode() == expected


class ByteByByte(BytesIO):
    """A source that gives one byte at once; readers wait for the first thousand."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(size if size is None or size < 0 else 1)


def test_a_document_in_another_encoding_or_with_declarations_is_copied_as_it_means() -> None:
    wanted = "<r><k>\u00e9</k></r>"
    for encoding in ("utf-16", "iso-8859-1", "utf-8-sig"):
        head = f"<?xml version='1.0' encoding='{encoding.removesuffix('-sig')}'?>"
        assert only(f"{head}<r><k>\u00e9</k></r>".encode(encoding), projection(KEY)).decode() == wanted
    declared = (
        "<!DOCTYPE r [<!ENTITY e '<k>&#233;</k>'><!ENTITY f '&lt;'><!ATTLIST k x CDATA 'd'>]><r>&e;<k x='y'>&f;</k></r>"
    )
    assert only(declared.encode(), projection(KEY)).decode() == ('<r><k x="d">\u00e9</k><k x="y">&lt;</k></r>')


def test_each_chunk_has_its_own() -> None:
    document = b"<r><k>1</k><o>2<p>3</p></o><k>4</k></r>"
    found = chunks(document, projection(KEY), projection(PART, bare=[KEY]), projection(OTHER, PART), projection())
    assert [(chunk.number, chunk.data) for chunk in found] == [
        (0, b"<r><k>1</k><k>4</k></r>"),
        (1, b"<r><k></k><o><p>3</p></o><k></k></r>"),
        (2, b"<r><o>2<p>3</p></o></r>"),
        (3, b"<r></r>"),
    ]


def test_where_marked_elements_begin_is_told() -> None:
    document = b"<r><k>1</k><o><p/></o><k/></r>"
    given = Projection(frozenset({KEY, PART}), marked=frozenset({KEY, PART}))
    (found,) = chunks(document, given)
    assert {path: list(places) for path, places in found.begins.items()} == {KEY: [3, 22], PART: [14]}


seeds = st.integers(0, 1 << 32)


@given(seeds)
@settings(max_examples=tries(150))
def test_chunks_are_the_same_however_a_document_comes(seed: int) -> None:
    random = Random(seed)
    graph = random_schema(random)
    document = respell(random, random_text(random, graph))
    paths = sorted(tag_paths(document))
    projections = [
        projection(*random.sample(paths, min(len(paths), 2)), bare=random.sample(paths, min(len(paths), 3)))
        for _ in range(3)
    ]
    chunker = Chunker([disjoint(each) for each in projections])
    (expected,) = chunker.read(BytesIO(document))
    (found,) = chunker.read(TrickleSource(random, document))
    assert found == expected
    for each in found:
        assert parse_document(each.data).root.tag == graph.root


def tag_paths(document: bytes) -> set[tuple[str, ...]]:
    root = parse_document(document).root
    return {
        (*(str(each.tag) for each in reversed([*element.iterancestors()])), str(element.tag)) for element in root.iter()
    }


def disjoint(given: Projection) -> Projection:
    """The projection without paths below others that are copied."""
    whole = {path for path in given.whole if not any(path[:depth] in given.whole for depth in range(len(path)))}
    bare = {path for path in given.bare if not any(path[: depth + 1] in whole for depth in range(len(path)))}
    return Projection(frozenset(whole), frozenset(bare))


# -- pieces --------------------------------------------------------------------------------------------------------


def long_document(items: int) -> bytes:
    inside = "".join(f"<k n='{number}'><p>{number}</p></k>\n" for number in range(items))
    return f"<r x='1'>\n<h>head</h>{inside}<o/></r>".encode()


@pytest.mark.parametrize("size", [1, 50, 500, 100_000])
def test_pieces_have_what_the_document_has(size: int) -> None:
    document = long_document(200)
    found = chunks(document, projection(KEY, units=[KEY]), projection(("r", "h")), size=size)
    whole = [chunk.data for chunk in found if chunk.number == 1]
    pieces = [parse_document(chunk.data).root for chunk in found if chunk.number == 0]
    assert whole == [b'<r x="1"><h>head</h></r>']
    assert [write_element(element) for root in pieces for element in root] == [
        write_element(element) for element in parse_document(document).root.iter("k")
    ]
    assert all(root.tag == "r" and root.get("x") == "1" for root in pieces)
    assert len(pieces) == 1 if size == 100_000 else len(pieces) > len(document) / (size + 1100)


def test_units_stay_whole() -> None:
    document = b"<r>" + b"".join(b"<o>%s</o>" % (b"<p/>" * 100) for _ in range(20)) + b"</r>"
    pieces = [parse_document(chunk.data).root for chunk in chunks(document, projection(PART, units=[OTHER]), size=40)]
    assert len(pieces) > 5
    assert [len(element) for root in pieces for element in root] == [100] * 20


# -- what is held --------------------------------------------------------------------------------------------------


class Endless:
    """A document of so many equal elements, which is made while it is read."""

    def __init__(self, element: bytes, number: int) -> None:
        self._parts = chain([b"<r>"], repeat(element, number), [b"</r>"])

    def read(self, size: int, /) -> bytes:
        data = bytearray()
        while len(data) < size and (part := next(self._parts, None)) is not None:
            data += part
        return bytes(data)


@pytest.mark.parametrize(
    ("given", "name"),
    [(projection(KEY, units=[KEY]), "k"), (projection(KEY, units=[KEY]), "o"), (projection(OTHER), "k")],
    ids=["cut", "nothing to copy", "nothing to copy uncut"],
)
def test_what_is_held_does_not_grow_with_the_document(given: Projection, name: str) -> None:
    peaks = [peak(given, name, megabytes) for megabytes in (2, 12)]
    assert max(peaks) < 2_000_000
    assert peaks[1] - peaks[0] < 300_000


def peak(given: Projection, name: str, megabytes: int) -> int:
    """How many bytes are held at most while a document of so many megabytes is cut into pieces of a tenth of one."""
    element = f"<{name}>{'x' * 2000}</{name}>".encode()
    source = Endless(element, megabytes * 1_000_000 // len(element))
    tracemalloc.start()
    try:
        count = sum(len(chunk.data) for chunk in pieces(Chunker([given], size=100_000), source))
        assert (count > megabytes * 900_000) == (name == "k" and KEY in given.whole)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def pieces(chunker: Chunker, source: Endless) -> Iterator[ChunkText]:
    for found in chunker.read(source):
        yield from found


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (projection(KEY), "a chunk that cannot be cut would have more than 50000 bytes"),
        (projection(("r",), units=[("r",)]), "a piece of a chunk would have more than 50000 bytes"),
    ],
)
def test_too_much_is_not_held(given: Projection, message: str) -> None:
    chunker = Chunker([given], size=1000, most_held=50_000)
    with pytest.raises(DisseminationError) as caught:
        for _ in chunker.read(Endless(b"<k>1</k>", 1_000_000), "r.xml"):
            pass
    (fault,) = caught.value.faults
    assert (fault.code, fault.message, fault.file) == ("HX9201", message, "r.xml")


# -- what is wrong -------------------------------------------------------------------------------------------------

SCHEMA = SchemaSteps(parse_dtd("<!ELEMENT r (k*, o*)> <!ELEMENT k (#PCDATA)> <!ELEMENT o (k*)>", "r"))


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("<q/>", "r.xml:1:1: HX9204 the schema has no q as the root"),
        ("<k/>", "r.xml:1:1: HX9204 the schema has no k as the root"),
        ("<r>\n <k><o/></k></r>", "r.xml:2:5: HX9204 the schema has no o below k"),
        ("<r><o><z/></o></r>", "r.xml:1:7: HX9204 the schema has no z below o"),
    ],
)
def test_a_document_outside_its_schema_is_noticed(document: str, told: str) -> None:
    with pytest.raises(OutsideSchemaError) as caught:
        list(Chunker([projection(KEY)], SCHEMA).read(BytesIO(document.encode()), "r.xml"))
    assert str(caught.value.fault) == told


def test_elements_in_any_order_and_number_are_not_outside() -> None:
    document = b"<r><o/><k/><o><k/></o><k/></r>"
    ((found,),) = Chunker([projection(KEY)], SCHEMA).read(BytesIO(document))
    assert found.data == b"<r><k/><k/></r>"


@pytest.mark.parametrize(
    ("document", "code"),
    [
        (b"<r><k></r>", "HX1002"),
        (b"<r><k/>", "HX1002"),
        (b"", "HX1002"),
        (b"<r><k/></r><r/>", "HX1002"),
        (b"<r>\xff</r>", "HX1003"),
        (b"<!DOCTYPE r [<!ENTITY e SYSTEM 'f'>]><r>&e;</r>", "HX1004"),
        (b"<!DOCTYPE r SYSTEM 'f'><r>&e;</r>", "HX1005"),
    ],
)
def test_what_is_no_document_is_refused(document: bytes, code: str) -> None:
    with pytest.raises(InputError) as caught:
        chunks(document, projection(KEY))
    assert caught.value.faults[0].code == code
    assert caught.value.faults[0].position is None or caught.value.faults[0].position.file == "r.xml"


@pytest.mark.parametrize(
    "document",
    [
        b"<r><k/><s><p:t/></s></r>",
        b"<r><k/><s p:x='1'/></r>",
        b"<r><k/><s><t xmlns:p='u'/><p:t/></s></r>",
        b"<r><k/><s xmlns:p=''/></r>",
        b"<r><k/><s xmlns:xml='u'/></r>",
        b"<r><k/><s xmlns:p='u' xmlns:q='u' p:x='1' q:x='2'/></r>",
        b"<r><k/><:s/></r>",
        b"<!DOCTYPE r [<!ATTLIST s p:x CDATA 'u'>]><r><k/><s/></r>",
    ],
)
def test_names_that_stand_for_nothing_are_refused_wherever_they_stand(document: bytes) -> None:
    with pytest.raises(InputError):
        parse_document(document)
    with pytest.raises(InputError) as raised:
        list(Chunker([Projection(frozenset({("r", "k")}))]).read(BytesIO(document)))
    assert raised.value.faults[0].code in ("HX1002", "HX1007")
    assert raised.value.faults[0].position is not None


@pytest.mark.parametrize(
    ("document", "chunk"),
    [
        (b"<r xmlns='u'><k/><k xmlns=''/></r>", b'<r xmlns="u"><k/></r>'),
        (b"<p:r xmlns:p='u' xmlns='v'><k xmlns=''/><p:k/><k/></p:r>", b'<p:r xmlns:p="u" xmlns="v"><p:k/></p:r>'),
        (b"<r xml:lang='en'><p:k xmlns:p='w'/><k>1</k></r>", b'<r xml:lang="en"></r>'),
        (
            b"<!DOCTYPE r [<!ATTLIST r xmlns CDATA 'u' xmlns:q CDATA 'v'>]><r><q:k/></r>",
            b'<r xmlns="u" xmlns:q="v"></r>',
        ),
    ],
)
def test_start_tags_declare_what_is_in_scope(document: bytes, chunk: bytes) -> None:
    ((found,),) = list(Chunker([Projection(frozenset({("{u}r", "{u}k")}))]).read(BytesIO(document)))
    assert found.data == chunk


def test_deep_and_varied_documents_leave_little_behind() -> None:
    chunker = Chunker([Projection(frozenset({("r", "k")}))])
    deep = b"".join(b"<t%d>" % (number % 7) for number in range(5000))
    closed = b"".join(b"</t%d>" % (number % 7) for number in reversed(range(5000)))
    list(chunker.read(BytesIO(b"<r>" + deep + closed + b"<k/></r>")))
    gc.collect()
    assert sum(type(each).__name__ == "_State" for each in gc.get_objects()) < 200
