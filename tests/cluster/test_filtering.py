"""Filtering on Spark: the results of filtering in this process, of random filters and of large documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from io import BytesIO
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

import pytest

from benchmarks.chunking import university
from heptox.cluster import SparkEvaluating, filter_feed
from heptox.cluster.filtering import IN_FLIGHT
from heptox.errors import DisseminationError, GrammarError, HeptoxError, InputError
from heptox.filtering import (
    MOST_HELD,
    ChunkText,
    DocumentFilter,
    Failure,
    FilteringPlan,
    FilterSet,
    Fragment,
    Result,
    Situation,
    Version,
)
from heptox.schema import SchemaGraph, parse_dtd
from tests.cluster.noted import NotedPlan
from tests.support.budget import usually
from tests.support.filtering.making import outside, random_documents, random_filter, random_filter_3, random_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA: Final = parse_dtd(
    "<!ELEMENT a (b | c)*> <!ELEMENT b (#PCDATA)> <!ATTLIST b x CDATA #IMPLIED> <!ELEMENT c (d*)> <!ELEMENT d EMPTY>"
)


def made_plan(
    filters: Iterable[str], schema: SchemaGraph = SCHEMA, degree: int | None = 2, version: Version = Version.ONE
) -> FilteringPlan:
    made = FilterSet(schema, version)
    for number, text in enumerate(filters):
        made.add(number, text)
    return made.plan(degree)


def filtered(plan: FilteringPlan, document: bytes, evaluating: SparkEvaluating | None = None) -> list[Result]:
    return list(DocumentFilter(plan, evaluating).results(BytesIO(document), "a.xml"))


def random_plan(seed: int) -> tuple[FilteringPlan, list[bytes]]:
    """Filters of one version, and documents, some of them outside the schema."""
    random = Random(seed)
    schema = random_schema(random)
    documents = random_documents(random, schema, 8)
    documents += [outside(random, each.decode(), schema).encode() for each in spelt_in_utf_8(documents)[:3]]
    version, draw = (Version.THREE, random_filter_3) if seed % 3 == 2 else (Version.ONE, random_filter)
    texts: list[str] = []
    while len(texts) < 30:
        text = draw(random, schema)
        try:
            FilterSet(schema, version).add(0, text)
        except GrammarError:
            continue
        texts.append(text)
    return made_plan(texts, schema, random.choice((None, 1, 2, 3)), version), documents


def spelt_in_utf_8(documents: Sequence[bytes]) -> list[bytes]:
    found = []
    for each in documents:
        try:
            each.decode()
        except UnicodeDecodeError:
            continue
        if b"encoding" not in each[:100]:
            found.append(each)
    return found


@contextmanager
def counted_jobs(spark: SparkSession, name: str) -> Iterator[Callable[[], int]]:
    """Tells afterwards how many jobs began in the block."""
    context = spark.sparkContext
    context.setJobGroup(name, name)
    try:
        yield lambda: len(context.statusTracker().getJobIdsForGroup(name))
    finally:
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


# -- large documents -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(usually(2, 5)))
def test_results_of_random_filters_are_those_of_this_process(spark: SparkSession, seed: int) -> None:
    plan, documents = random_plan(seed)
    evaluating = SparkEvaluating(spark, plan)
    for document in documents[::4]:
        assert filtered(plan, document, evaluating) == filtered(plan, document)


LARGE: Final = (
    "//name",
    "/db/student/link/@manager",
    "/db/professor[email]/url/@href",
    "/db/*[starts-with(@id, 'st1')]/name/text()",
    "/db/lecturer[position() = last()]/@id",
    "count(//link[. > 1980])",
    "//secretary | //assistant/name",
    "/db",
)


@pytest.mark.parametrize("degree", usually([5], [2, 5]))
def test_results_of_a_large_document_are_those_of_this_process(spark: SparkSession, degree: int) -> None:
    document = university.document(1_200_000)
    plan = replace(made_plan(LARGE, university.schema(), degree), size=1 << 18)
    expected = filtered(plan, document)
    assert len(expected) > 2 * len(LARGE)
    jobs = []
    for in_flight in (1 << 19, None):
        with counted_jobs(spark, f"{degree} {in_flight}") as begun:
            assert filtered(plan, document, SparkEvaluating(spark, plan, in_flight=in_flight)) == expected
        jobs.append(begun())
    assert jobs[0] > jobs[1] == 1


def test_what_is_merged_is_in_document_order(spark: SparkSession) -> None:
    rows = [f"<b>{number}</b>" if number % 3 else f"<c><d/><!--{number}--></c>" for number in range(45_000)]
    document = f"<a>{''.join(rows)}</a>".encode()
    plan = replace(made_plan(["/a/b[. mod 2 = 0] | /a/c/d", "/a/b", "/a/c"]), size=1 << 18)
    assert any(part.merged for part in plan.parts(Situation(cut=True)))
    found = filtered(plan, document, SparkEvaluating(spark, plan))
    assert found == filtered(plan, document)
    texts = [str(each) for number, fragments, _ in found if number == 0 for each in fragments]
    assert texts == [
        f"<b>{number}</b>" if number % 3 else "<d/>" for number in range(45_000) if not number % 3 or not number % 2
    ]


def test_faults_are_those_of_this_process(spark: SparkSession) -> None:
    cases = [
        (made_plan(["/a/b"], degree=None), b"<a>\n<b></a>"),
        (made_plan(["/a/b"]), b"<a>\n<b></a>"),
        (replace(made_plan(["/"]), size=4, most_held=16), b"<a><b>1</b><b>2</b></a>"),
    ]
    for plan, document in cases:
        told = []
        for evaluating in (None, SparkEvaluating(spark, plan)):
            with pytest.raises((InputError, DisseminationError)) as raised:
                filtered(plan, document, evaluating)
            told.append((type(raised.value), raised.value.faults))
        assert told[0] == told[1]


def test_a_filter_without_value_says_why(spark: SparkSession) -> None:
    plan = made_plan(["1 idiv count(//d)", "//b"], version=Version.THREE)
    found = filtered(plan, b"<a><b/></a>", SparkEvaluating(spark, plan))
    assert found == filtered(plan, b"<a><b/></a>")
    assert [result.number for result in found if isinstance(result.found, Failure)] == [0]


def test_chunks_wait_as_long_as_there_is_room_and_somebody_waits_for_them(spark: SparkSession) -> None:
    plan = made_plan(["/a/b"])
    evaluating = SparkEvaluating(spark, plan, in_flight=25)
    chunk = ChunkText(0, b"<a><b>1</b></a>")
    first = evaluating.submit(Situation(), chunk, None)
    assert evaluating.most_waiting == 1
    second = evaluating.submit(Situation(), chunk, None)
    assert evaluating.most_waiting == 0
    del first
    assert evaluating.most_waiting == 1
    assert [str(each) for _, found, _ in second() for each in found] == ["<b>1</b>"]
    assert second() == second()


def test_a_task_may_carry_the_largest_chunk(spark: SparkSession) -> None:
    most = int(spark.sparkContext.getConf().get("spark.rpc.message.maxSize", "128"))
    assert most << 20 > MOST_HELD + IN_FLIGHT


def test_a_plan_is_made_ready_once_in_each_process(spark: SparkSession, tmp_path: Path) -> None:
    plan = made_plan(f"/a/b[@x = '{number}']" for number in range(1_000))
    given = {each.name: getattr(plan, each.name) for each in fields(plan)}
    noted = NotedPlan(**given, notes=str(tmp_path / "notes"))
    filtering = DocumentFilter(noted, SparkEvaluating(spark, noted))
    texts = [f"<a><b x='{number}'/><b x='999'/></a>".encode() for number in range(4)]
    with counted_jobs(spark, "making ready") as begun:
        found = [[result.number for result in filtering.results(BytesIO(text))] for text in texts]
    assert begun() == len(texts)
    documents = spark.createDataFrame(list(enumerate(texts)), "doc bigint, text binary")
    fed = [(row.doc, row.number) for row in filter_feed(spark, noted, documents).collect()]
    assert sorted(fed) == [(doc, number) for doc, numbers in enumerate(found) for number in numbers]
    assert found == [[number, 999] for number in range(4)]
    assert noted.processes and len(noted.processes) == len(set(noted.processes))


# -- feeds -----------------------------------------------------------------------------------------------------------

Rows = tuple[dict[int, list[Fragment]], list[tuple[int | None, str]]]
"""What a document has: the fragments of each filter, and the faults with the numbers of their filters."""


def fed(spark: SparkSession, plan: FilteringPlan, documents: Sequence[bytes]) -> list[Rows]:
    frame = spark.createDataFrame(list(enumerate(documents)), "doc bigint, text binary").repartition(3)
    rows = sorted(map(tuple, filter_feed(spark, plan, frame).collect()), key=str)
    found: list[Rows] = [({}, []) for _ in documents]
    for doc, number, place, kind, name, text, fault in sorted(rows, key=lambda row: (row[0], row[2] or 0)):
        fragments, faults = found[doc]
        if fault is not None:
            assert place is kind is name is text is None
            faults.append((number, fault))
        else:
            assert place == len(fragments.setdefault(number, []))
            fragments[number].append(Fragment(kind, name, text))
    return found


def fed_here(plan: FilteringPlan, documents: Sequence[bytes]) -> Iterator[Rows]:
    for document in documents:
        filtering = DocumentFilter(plan)
        fragments: dict[int, list[Fragment]] = {}
        faults: list[tuple[int | None, str]] = []
        try:
            for number, found, _ in filtering.results(BytesIO(document)):
                if isinstance(found, Failure):
                    faults.append((number, found.reason))
                else:
                    fragments.setdefault(number, []).extend(found)
        except HeptoxError as error:
            fragments, faults = {}, [(None, str(error))]
        else:
            if filtering.outside is not None:
                faults.append((None, str(filtering.outside)))
        yield fragments, sorted(faults, key=str)


@pytest.mark.parametrize("seed", range(usually(2, 5)))
def test_a_feed_has_the_fragments_that_each_document_has_here(spark: SparkSession, seed: int) -> None:
    plan, documents = random_plan(seed)
    expected = list(fed_here(plan, documents))
    assert any(fragments for fragments, _ in expected)
    assert fed(spark, plan, documents) == expected


def test_large_documents_of_a_feed_are_cut(spark: SparkSession) -> None:
    documents = [university.document(400_000, seed) for seed in range(2)]
    plan = replace(made_plan(LARGE, university.schema(), 5), size=1 << 18)
    assert fed(spark, plan, documents) == list(fed_here(plan, documents))


def test_a_feed_tells_of_each_document_what_is_wrong(spark: SparkSession) -> None:
    plan = replace(made_plan(["//d", "/a/b"]), size=1 << 18)
    large = b"<a>" + b"<b>1</b>" * 100_000
    found = fed(spark, plan, [b"<a><b>1</b></a>", b"<a><b>", b"<a><e><d/></e></a>", b"", large])
    assert [sorted(fragments) for fragments, _ in found] == [[1], [], [0], [], []]
    codes = [[fault.split("HX")[1][:4] for number, fault in faults if number is None] for _, faults in found]
    assert codes == [[], ["1002"], ["9204"], ["1002"], ["1002"]]


def test_a_feed_tells_which_filters_have_no_value(spark: SparkSession) -> None:
    plan = made_plan(["//b", "1 idiv count(//d)"], version=Version.THREE)
    (fragments, faults), (other, none) = fed(spark, plan, [b"<a><b/></a>", b"<a><c><d/></c></a>"])
    assert fragments.keys() == {0} and other.keys() == {1}
    assert [number for number, _ in faults] == [1] and none == []
