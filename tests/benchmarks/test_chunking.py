"""The benchmark of chunking has the documents, filters and rivals that it says."""

from __future__ import annotations

import io
import re
import tracemalloc
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from math import nan
from pathlib import Path
from random import Random
from typing import Any, Final

import matplotlib
import pytest
from hypothesis import given, strategies as st
from lxml import etree

from benchmarks.chunking import ejb, tables, university
from benchmarks.chunking.__main__ import main
from benchmarks.chunking.filters import Filter, apportioned, drawn_filters
from benchmarks.chunking.measuring import Measured, measure
from benchmarks.chunking.pipeline import filtered
from benchmarks.chunking.plots import draw_deliveries, draw_spreads, draw_times
from benchmarks.chunking.rivals import Source, Whole, by_expat, by_iterparse, whole
from heptox.schema import SchemaGraph, validity_faults
from heptox.xml import XmlElement, count_elements, parse_document, write_element

PREFIXES = tuple(f"/db/{kind}" for kind in university.KILOBYTES)


@pytest.fixture(scope="module")
def organization() -> bytes:
    return university.document()


@pytest.fixture(scope="module")
def members(organization: bytes) -> XmlElement:
    return parse_document(organization).root


def digest(data: bytes, filters: tuple[Filter, ...]) -> str:
    return sha256(b"\n".join((data, *(each.text.encode() for each in filters)))).hexdigest()[:16]


def selected(root: XmlElement, text: str) -> list[Any]:
    """What a path selects: elements, and strings that know which they are from."""
    found = etree.XPath(text)(root.getroottree())
    assert isinstance(found, list)
    return found


# -- documents ---------------------------------------------------------------------------------------------------


def test_the_organization_is_valid_and_as_large_as_the_papers(organization: bytes, members: XmlElement) -> None:
    assert validity_faults(parse_document(organization), university.schema()) == ()
    assert university.SIZE <= len(organization) < university.SIZE + 1000
    assert count_elements(members) == pytest.approx(university.ELEMENTS, rel=0.01)


def test_its_parts_are_as_large_as_the_papers_chunks_and_mixed(members: XmlElement) -> None:
    sizes: Counter[str] = Counter()
    for member in members:
        sizes[str(member.tag)] += len(write_element(member).encode())
    for kind, kilobytes in university.KILOBYTES.items():
        share = kilobytes / sum(university.KILOBYTES.values())
        assert sizes[kind] / sizes.total() == pytest.approx(share, rel=0.08)
    kinds = [member.tag for member in members]
    assert all(len(set(kinds[begin : begin + 500])) == 5 for begin in range(0, len(kinds) - 500, 500))


@pytest.mark.parametrize("size", [1, 3_000, 40_000])
@pytest.mark.parametrize("seed", [1, 2])
def test_other_organizations_are_valid(size: int, seed: int) -> None:
    document = university.document(size, seed)
    assert validity_faults(parse_document(document), university.schema()) == ()
    assert size <= len(document) < size + 1000
    assert university.document(2 * size, seed).startswith(document.removesuffix(b"</db>\n"))


def test_a_large_organization_is_written_with_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    tracemalloc.start()
    university.write(path, 4_000_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size >= 4_000_000
    assert most < 1_000_000


@pytest.mark.parametrize("seed", range(5))
def test_descriptors_are_valid_and_have_the_papers_cardinalities(seed: int) -> None:
    document = parse_document(ejb.document(seed))
    assert validity_faults(document, ejb.schema()) == ()
    counts = {
        prefix: sum(map(count_elements, selected(document.root, prefix)))
        for prefix in (*ejb.CARDINALITIES, ejb.BEANS, ejb.DESCRIPTOR)
    }
    for prefix, cardinality in ejb.CARDINALITIES.items():
        assert counts[prefix] + ejb.ABOVE == cardinality
    assert counts[ejb.BEANS] + 1 == 681
    assert counts[ejb.DESCRIPTOR] + 1 == 3971


def test_other_machines_draw_the_same() -> None:
    """Once written down, so that a change of a generator, which spoils what was measured before, is noticed."""
    drawn = (
        digest(university.document(100_000), university.filters(100)),
        digest(b"", university.filters(500, size=100_000_000)),
        digest(ejb.document(), ejb.filters(500)),
    )
    assert drawn == ("df2436323b79dce9", "2cfe19996b661557", "3b1913a9d9313150")


# -- filters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [100, 500, 2_000, 10_000])
@pytest.mark.parametrize("size", [None, 100_000_000])
def test_filters_over_the_organization_have_their_shares(count: int, size: int | None) -> None:
    filters = university.filters(count, size=size)
    by_kind = Counter(each.part for each in filters)
    assert by_kind == {f"/db/{kind}": count * share // 100 for kind, share in university.spread(count).items()}
    texts = [without_strings(each.text) for each in filters]
    assert sum("//" in text for text in texts) == count * 3 // 10
    assert sum(text.count("[") for text in texts) == (count if size else 0) + count * 3 // 10


def owner(item: Any) -> XmlElement:
    """An element, or the one that has an attribute."""
    element: XmlElement = item if isinstance(item, etree._Element) else item.getparent()
    return element


def without_strings(text: str) -> str:
    return re.sub("'.*?'", "", text)


@pytest.mark.parametrize(("count", "potpourri"), [(100, "student"), (500, "secretary"), (2_000, "professor")])
def test_the_potpourri_of_four_chunks_is_that_of_the_paper(count: int, potpourri: str) -> None:
    spread = university.spread(count)
    assert min(spread, key=spread.__getitem__) == next(iter(spread)) == potpourri
    assert sum(spread.values()) == 100


def test_other_numbers_of_filters_are_spread_as_the_next_larger() -> None:
    assert university.spread(7) == university.SPREADS[100]
    assert university.spread(501) == university.SPREADS[2_000]
    assert university.spread(1_000_000) == university.SPREADS[10_000]


def test_filters_over_the_organization_select_within_their_part(members: XmlElement) -> None:
    missed = 0
    for each in university.filters(50):
        found = selected(members, each.text)
        missed += not found
        check_within(each, found)
    assert missed <= 2


def check_within(each: Filter, found: list[Any]) -> None:
    """What is found is of the part, attributes by the elements that have them."""
    for item in found:
        element = owner(item)
        names = [str(element.tag), *(str(above.tag) for above in element.iterancestors())]
        assert ("/" + "/".join(reversed(names)) + "/").startswith(each.part + "/"), each


def test_filters_over_the_descriptor_have_their_shares_and_select_within_their_part() -> None:
    root = parse_document(ejb.document()).root
    filters = ejb.filters(2_000)
    assert Counter(each.part for each in filters) == {part: 20 * share for part, share in ejb.SHARES.items()}
    assert sum("//" in without_strings(each.text) for each in filters) == pytest.approx(600, abs=10)
    assert sum("[" in each.text for each in filters) == pytest.approx(600, abs=10)
    found = [selected(root, each.text) for each in filters]
    for each, items in zip(filters, found, strict=True):
        check_within(each, items)
    assert sum(map(bool, found)) > 0.9 * len(filters)


def test_all_chunks_of_the_descriptor_have_the_papers_shares_of_filters() -> None:
    shares = {
        number: [
            sum(share for part, share in ejb.SHARES.items() if next(filter(part.startswith, prefixes), None) == prefix)
            for prefix in prefixes
        ]
        for number, prefixes in ejb.CHUNKS.items()
    }
    assert shares == {
        2: [54, 46],
        3: [19, 35, 46],
        4: [19, 18, 17, 46],
        5: [19, 18, 17, 16, 30],
        6: [19, 18, 17, 16, 15, 14],
    }


def test_filters_over_a_large_organization_select_one_member_or_none() -> None:
    root = parse_document(university.document(400_000)).root
    found = [selected(root, each.text) for each in university.filters(300, size=400_000)]
    assert sum(map(bool, found)) > 200
    for items in found:
        around = {above for item in items for above in (owner(item), *owner(item).iterancestors())}
        assert sum("id" in element.attrib for element in around) <= 1


def test_filters_depend_on_their_seed() -> None:
    assert university.filters(100) == university.filters(100) != university.filters(100, 1)
    assert ejb.filters(100) == ejb.filters(100) != ejb.filters(100, 1)


def test_a_prefix_that_leads_nowhere_is_refused() -> None:
    root = parse_document("<a><b/></a>").root
    for prefix in ("/a/c", "/b"):
        with pytest.raises(ValueError, match=f"nothing at {prefix}"):
            drawn_filters(root, {prefix: 1}, 1, Random(0))


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 50), min_size=1), st.integers(0, 500))
def test_what_is_apportioned_adds_up_and_is_near_its_share(shares: dict[str, int], count: int) -> None:
    found = apportioned(shares, count)
    assert sum(found.values()) == count
    for name, share in shares.items():
        assert abs(found[name] - count * share / sum(shares.values())) < 1


# -- rivals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_file", [False, True])
def test_both_cutters_cut_out_the_same_elements(as_file: bool, tmp_path: Path) -> None:
    document = university.document(700_000)  # several pieces
    path = tmp_path / "document.xml"
    path.write_bytes(document)
    root = parse_document(document).root
    for cutter in (by_expat, by_iterparse):
        sinks = [io.BytesIO() for _ in PREFIXES]
        cut = cutter(path if as_file else document, PREFIXES, sinks)
        assert cut.size == len(document)
        assert cut.chunks == tuple(len(sink.getvalue()) for sink in sinks)
        for kind, sink in zip(university.KILOBYTES, sinks, strict=True):
            chunk = parse_document(sink.getvalue()).root
            assert [*map(write_element, chunk)] == [*map(write_element, root.findall(kind))]


@pytest.mark.parametrize(
    ("document", "prefixes", "filters"),
    [
        (university.document(200_000), PREFIXES, university.filters(100)),
        (ejb.document(), ejb.CHUNKS[4], ejb.filters(300)),
    ],
    ids=["organization", "descriptor"],
)
def test_filters_select_in_their_chunk_what_they_do_in_the_whole_document(
    document: bytes, prefixes: Sequence[str], filters: Sequence[Filter]
) -> None:
    sinks = [io.BytesIO() for _ in prefixes]
    by_expat(document, prefixes, sinks)
    chunks = {prefix: parse_document(sink.getvalue()).root for prefix, sink in zip(prefixes, sinks, strict=True)}
    root = parse_document(document).root
    for each in filters:
        chunk = next(chunks[prefix] for prefix in prefixes if each.part.startswith(prefix))
        assert written(selected(chunk, each.text)) == written(selected(root, each.text)), each


def written(items: Sequence[Any]) -> list[str]:
    return [item if isinstance(item, str) else write_element(item) for item in items]


@pytest.mark.parametrize("number", [2, 4, 6])
def test_chunks_of_the_descriptor_have_the_papers_cardinalities(number: int) -> None:
    sinks = [io.BytesIO() for _ in ejb.CHUNKS[number]]
    by_expat(ejb.document(), ejb.CHUNKS[number], sinks)
    expected = {**ejb.CARDINALITIES, ejb.BEANS: 681, ejb.DESCRIPTOR: 3971}
    for prefix, sink in zip(ejb.CHUNKS[number], sinks, strict=True):
        assert count_elements(parse_document(sink.getvalue()).root) == expected[prefix]


@pytest.mark.parametrize(
    ("document", "chunk"),
    [
        (b"<a><b/></a>", b"<a><b/></a>"),
        (b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xe9<b>\xe9</b></a>", None),
        (b"<a><b>/></b><c><b/></c><b></b ></a>", b"<a><b>/></b><b></b ></a>"),
        (b"<!-- <b/> --><a><!-- <b/> --><b/><c/></a><!-- - -->", b"<!-- <b/> --><a><!-- <b/> --><b/></a><!-- - -->"),
        (b"<a/>", b"<a/>"),
        (b"<c><b/></c>", b""),
    ],
)
def test_what_is_cut_by_ranges_is_as_it_was(document: bytes, chunk: bytes | None) -> None:
    sink = io.BytesIO()
    by_expat(document, ["/a/b"], [sink])
    assert sink.getvalue() == (document if chunk is None else chunk)


def test_the_whole_document_is_measured_by_part(tmp_path: Path) -> None:
    path = tmp_path / "document.xml"
    university.write(path, 50_000)
    filters = ["//name", "count(//name)", "/db/student/url/@href"]
    found = whole(path, filters)
    root = parse_document(path.read_bytes()).root
    names, hrefs = selected(root, "//name"), selected(root, "/db/student/url/@href")
    assert found.results == len(names) + 1 + len(hrefs)
    assert found.written > sum(len(write_element(name).encode()) for name in names)
    assert min(found.parsing, found.compiling, found.filtering, found.writing) > 0
    assert found.seconds == found.parsing + found.filtering
    assert whole(path.read_bytes(), filters).written == found.written


def test_rivals_take_longer_for_more_filters_of_the_same_sort() -> None:
    found = Whole(1.0, 2.0, 3.0, 4.0, 5, 6)
    assert found.with_times_as_many(10) == Whole(1.0, 20.0, 30.0, 40.0, 50, 60)
    assert found.with_times_as_many(10).seconds == 31.0


# -- figures -----------------------------------------------------------------------------------------------------


def measured(filters: int, chunks: int, whole: float = 10.0) -> Measured:
    each = tuple(float(number) for number in range(1, chunks + 1))
    return Measured("scenario", filters, chunks, 0.5, each, 2.25, whole, (1.5, 3.5))


SEVERAL: Final = [measured(filters, chunks) for filters in (100, 2_000) for chunks in (3, 2)]


def test_times_are_put_together_as_the_paper_does() -> None:
    one = measured(100, 3)
    assert (one.total, one.parallel) == (0.5 + 6 + 2.25, 3.5)
    assert measured(100, 2).parallel == 0.5 + 2.25, "the potpourri may be the longest"
    assert (one.ratio, one.earliest, one.latest) == (0.875, 0.15, 0.35)


@pytest.mark.parametrize(("each", "delivered"), [((1.0,), (1.0,)), ((1.0, 2.0), ())])
def test_times_that_are_missing_are_refused(each: tuple[float, ...], delivered: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="2 chunks"):
        Measured("scenario", 1, 2, 1.0, each, 0.0, 1.0, delivered)


def test_tables_have_a_row_for_each_measurement_and_a_cell_for_each_column() -> None:
    for table in (tables.times(SEVERAL), tables.deliveries(SEVERAL), tables.spreads(university.SPREADS)):
        assert {len(row) for row in table.rows} == {len(table.columns)}
    times = tables.times(SEVERAL)
    assert [row[:2] for row in times.rows] == [("100", "3"), ("100", "2"), ("2,000", "3"), ("2,000", "2")]
    assert dict(zip(times.columns, times.rows[1], strict=True)) == {
        "filters": "100", "chunks": "2", "chunking s": "0.5", "chunk 1": "1", "chunk 2": "2", "chunk 3": "",
        "potpourri": "2.25", "sum": "5.75", "parallel": "2.75", "whole": "10", "whole ÷ sum": "1.7",
        "whole ÷ parallel": "3.6",
    }  # fmt: skip
    assert tables.deliveries(SEVERAL).rows[0] == ("100", "3", "8.75", "10", "87.5%", "15.0%", "35.0%")


def test_what_was_too_large_to_be_measured_is_left_open() -> None:
    large = [measured(10_000, 5, whole=nan)]
    assert tables.times(large).rows[0][-3:] == ("-", "-", "-")
    assert tables.deliveries(large).rows[0][-4:] == ("-", "-", "-", "-")
    assert "nan" not in "".join(tables.times(large).rows[0])


def drawn(svg: bytes) -> list[str]:
    """The texts of a figure."""
    root: Any = etree.fromstring(svg)
    return ["".join(element.itertext()).strip() for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_figures_name_what_they_show() -> None:
    shares = {count: university.spread(count) for count in (100, 500, 2_000)}
    spreads = drawn(draw_spreads(shares))
    assert {*university.KILOBYTES, "4 chunks", "3 chunks", "100 filters", "2,000 filters", "potpourri"} <= set(spreads)
    times = drawn(draw_times(SEVERAL))
    assert {"100 filters", "2,000 filters", "chunk 3", "longest in parallel", "whole document"} <= set(times)
    assert times.count("3 chunks") == 2
    assert times.count("8.75") == times.count("3.5") == 2, "each bar says its height"
    deliveries = drawn(draw_deliveries(SEVERAL))
    assert {"a) 100 filters, seconds", "b) sum ÷ whole document", "2,000 filters", "chunk 3"} <= set(deliveries)


def test_figures_can_be_drawn_of_nothing_and_are_the_same_each_time() -> None:
    for draw in (draw_times, draw_deliveries):
        assert draw([]) != draw(SEVERAL) == draw(SEVERAL)
        with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "path"}):
            assert draw(SEVERAL) == draw(SEVERAL, "svg")
        assert draw(SEVERAL, "png").startswith(b"\x89PNG")


def test_the_commands_print_what_rivals_take(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["scenario-1", "--filters=10", "--chunks=", "--figures", str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {"figure-10.svg", "figure-10.png"}
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("figure 10", "scenario 1, 10 filters", "expat byte ranges", "iterparse"))
    main(["large", "--filters=100,5", "--sizes=1", "--sample=5", "--where=1 process", "--folder", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "1 MB, 100 filters, as 5 of them" in printed and "1 MB, 5 filters " in printed
    assert "1 MB, 100 filters, 5 chunks, 1 process" in printed
    (document,) = tmp_path.glob("*.xml")
    assert document.stat().st_size >= 1_000_000


def test_chunking_is_measured_for_each_number_of_filters_and_chunks(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def measure(
        scenario: str,
        document: Source,
        schema: SchemaGraph,
        filters: Sequence[str],
        chunks: int,
        whole: float,
        **_: bool,
    ) -> Measured:
        asked.append((scenario, schema.root, len(filters), chunks))
        assert document == ejb.document() and whole > 0
        return measured(len(filters), chunks, whole)

    monkeypatch.setattr("benchmarks.chunking.__main__.measure", measure)
    main(["scenario-2", "--filters=10,20", "--chunks=2,6", "--figures", str(tmp_path)])
    assert asked == [("scenario 2", "ejb-jar", filters, chunks) for filters in (10, 20) for chunks in (2, 6)]
    assert {path.name for path in tmp_path.iterdir()} == {"figure-12.svg", "figure-12.png"}
    assert "figure 12" in capsys.readouterr().out


def test_filtering_is_measured_from_the_document_to_the_results() -> None:
    organization = university.document(1_000_000)
    texts = [each.text for each in university.filters(50, seed=1)]
    here, there = (
        filtered(organization, university.schema(), texts, 3, where) for where in ("1 process", "2 processes")
    )
    assert here.results == there.results == whole(organization, texts).results
    assert here.size == len(organization)
    assert 0 < here.first <= here.last


def test_chunks_measured_are_those_of_the_filters() -> None:
    organization = university.document(1_000_000)
    texts = [each.text for each in university.filters(50, seed=1)]
    for sharing in (False, True):
        found = measure("s", organization, university.schema(), texts, 4, 1.0, sharing=sharing)
        assert (found.chunks, found.potpourri, len(found.delivered)) == (4, 0.0, 4)
        assert all(found.each) and found.chunking > 0
