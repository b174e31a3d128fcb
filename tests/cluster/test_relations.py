"""Queries on Spark, one statement for all documents: the answers are those of the interpreter on each, and the store's.

This is the test that statements mean on Spark what they mean on DuckDB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from xml.etree.ElementTree import canonicalize

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from heptox.cluster import QUERIES, SCHEMAS, XMARK
from heptox.cluster.relations import Collection
from heptox.errors import ClusterError, HeptoxError
from heptox.grammar import Expression, NameTable, parse_query
from heptox.schema import SchemaGraph, parse_dtd, read_dtd, read_schema
from heptox.store import Store, evaluate, plan_query, query
from heptox.translate import Direction
from heptox.xml import parse_document
from tests.cluster.markets import market, one_is_large
from tests.cluster.workload import asked
from tests.store.test_querying import MIXED, REGULAR, VOCABULARY, document
from tests.support.budget import usually
from tests.support.definition import pairs
from tests.support.queries import queries
from tests.support.random_mappings import QueryMaker, random_documents, random_problem

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Found = dict[tuple[str, int], list[str] | str]


def held(spark: SparkSession, graph: SchemaGraph, texts: Sequence[str]) -> Collection:
    return Collection.of(spark.createDataFrame(list(enumerate(texts)), "doc bigint, text string"), graph, partitions=2)


def made(spark: SparkSession, graph: SchemaGraph, count: int, make: Callable[[int], str]) -> Collection:
    return Collection.of(spark.range(count).withColumnRenamed("id", "doc"), graph, make=make, partitions=2)


def answers(collection: Collection, asked: Sequence[Expression], *, still: bool = False) -> Found:
    """The items, or the fault, by the number of the query and the document."""
    found = collection.answers([(str(number), collection.plan(each)) for number, each in enumerate(asked)])
    if still:
        assert not exchanges(found)
    rows = [(row["query"], row["doc"], row["items"], row["fault"]) for row in found.collect()]
    assert len({row[:2] for row in rows}) == len(rows)
    return {(query, doc): fault or list(items) for query, doc, items, fault in rows}


def evaluated(texts: Sequence[str], asked: Sequence[Expression]) -> Found:
    """What the interpreter finds."""
    documents = [parse_document(text) for text in texts]
    found: Found = {}
    for number, expression in enumerate(asked):
        for doc, each in enumerate(documents):
            try:
                items: list[str] | str = list(evaluate(expression, [each]))
            except HeptoxError as error:
                items = str(error)
            if items:
                found[str(number), doc] = items
    return found


def exchanges(answers: DataFrame) -> list[str]:
    """Where rows move between partitions while answers are computed, besides when documents become rows.

    A select that never finds anything becomes a table without rows, for which Spark may plan to move none.
    """
    plan = str(answers._jdf.queryExecution().executedPlan())
    return [line for line in plan.splitlines() if "Exchange" in line and "REPARTITION_BY_NUM" not in line]


# -- the workload --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", usually(tuple(SCHEMAS)[::4], tuple(SCHEMAS)))
def test_the_workload(spark: SparkSession, schema: str) -> None:
    graph = read_dtd(XMARK / f"{schema}.dtd", root=SCHEMAS[schema])
    texts = [market(schema, doc) for doc in range(12)]
    expressions = [asked(name, schema) for name in QUERIES]
    with made(spark, graph, len(texts), partial(market, schema)) as collection:
        assert (collection.documents, collection.irregular, collection.white) == (12, 0, 12)
        assert sum(collection.plan(each).sql is not None for each in expressions) >= len(QUERIES) - 1
        found = answers(collection, expressions, still=True)
    assert found == evaluated(texts, expressions)
    assert {query for query, _ in found} == {str(number) for number in range(len(QUERIES))}


# -- random queries ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def random_collections(spark: SparkSession) -> list[tuple[Collection, list[str]]]:
    found = []
    for graph in (REGULAR, MIXED):
        texts = [document(graph, seed) for seed in range(5)]
        found.append((held(spark, graph, texts), texts))
    return found


@given(st.lists(queries(VOCABULARY), min_size=12, max_size=12), st.integers(0, 1))
@settings(max_examples=3, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_random_queries(
    random_collections: list[tuple[Collection, list[str]]], expressions: list[Expression], number: int
) -> None:
    collection, texts = random_collections[number]
    assert answers(collection, expressions) == evaluated(texts, expressions)


@pytest.mark.parametrize("seed", [17])
def test_queries_on_random_schemas(spark: SparkSession, seed: int) -> None:
    """Documents that exchange made need not fit their schema."""
    random = Random(seed)
    problem = random_problem(random)
    instances = pairs(problem.mapping, random_documents(random, problem, 4))
    sides = (
        (problem.mapping.source.graph, [pair.document for pair in instances], QueryMaker.of_documents(random, problem)),
        (
            problem.mapping.target.graph,
            [pair.image.strip() for pair in instances],
            QueryMaker.asking(random, problem, Direction.SOURCE),
        ),
    )
    for graph, texts, maker in sides:
        expressions = [parse_query(maker.query()) for _ in range(12)]
        wanted = []
        with Store.open(None, graph) as store:
            for number, text in enumerate(texts):
                store.load(str(number), text.encode())
            with held(spark, graph, texts) as collection:
                wanted = [list(query(store, collection.plan(each))) for each in expressions]
                found = answers(collection, expressions)
        for place, items in enumerate(wanted):
            mine = [item for doc in range(len(texts)) for item in found.get((str(place), doc), [])]
            assert mine == items


# -- one thing after the other ---------------------------------------------------------------------------------------

GRAPH = parse_dtd(
    '<!ELEMENT a (n?, b*, m?)> <!ATTLIST a k CDATA "d"> <!ELEMENT n (#PCDATA)>'
    "<!ELEMENT b (#PCDATA)> <!ELEMENT m (#PCDATA | b)*>",
    "a",
)
TEXTS = (
    "<a/>",
    "<a><n>1</n><b>x</b><b>\\</b><m>t<b>u</b></m></a>",
    "<a>\n<n> 10 </n><b>${spark.app.name}</b>\n</a>",
    "<a k='it&apos;s'><b>\U0001f600</b><b>\uffee</b><b/></a>",
    "<a><n>NaN</n><n/><b>two n do not fit</b></a>",
    "<a><n>1d</n><b>A</b><b>a</b></a>",
    "<a k='1'><n>1e1</n><m><b k='nothing'/></m></a>",
    "<a><n>-INF</n></a>",
)


@pytest.fixture(scope="module")
def small(spark: SparkSession) -> Collection:
    return held(spark, GRAPH, TEXTS)


def test_each_thing_that_engines_may_read_differently(small: Collection) -> None:
    assert (small.documents, small.irregular, small.white) == (8, 2, 1)
    expressions = [
        parse_query(text)
        for text in (
            "/a",
            "for $a in /a where $a/n < 11 return <r>{$a/n, $a/b, $a/m}</r>",
            "for $a in /a where $a/n = -1e400 return $a/@k",
            "for $b in /a/b where $b = '\\' return $b",
            "for $b in /a/b where $b = '${spark.app.name}' return <r t=\"${{x}}\">{$b}</r>",
            'for $a in /a where $a/@k = "it\'s" return <r>{$a/b}</r>',
            "for $b in /a/b where $b > '\uffee' return $b",
            "for $b in /a/b where $b > 'Z' order by $b descending return $b",
            "/a/text()",
            "//b",
            "for $a in /a, $b in $a/b where empty($a/n) or $a/n != '1' order by $b return ($a/@k, data($b), 5)",
            "for $a in /a return <r>{$a/b, $a/@k}</r>",
            "for $a in /a, $m in $a/m return <r>{$m, for $b in $a/b where $b != 'x' return <i>{$b, $m}</i>}</r>",
            "for $a in /a where deep-equal($a/b, $a/n) return $a",
            "/a/zzz",
            "'constant'",
        )
    ]
    canonical = [
        text.replace("<a>", '<a k="d">')
        .replace("<a/>", '<a k="d"/>')
        .replace("'it&apos;s'", '"it\'s"')
        .replace("'1'", '"1"')
        for text in TEXTS
    ]
    assert answers(small, expressions) == evaluated(canonical, expressions)


@pytest.mark.parametrize(
    "condition", ["exists(//d[b = $b])", "empty(//d[b = $b])", "$b = //d[b = $b]/@k", "empty(//d[b = $b and @k])"]
)
def test_conditions_on_a_node_two_queries_around(spark: SparkSession, condition: str) -> None:
    """Spark's subqueries see the query right around them alone, DuckDB's all of them."""
    graph = parse_dtd(
        "<!ELEMENT a (b*, d*)> <!ELEMENT b (#PCDATA)> <!ELEMENT d (b*)> <!ATTLIST d k CDATA #IMPLIED>", "a"
    )
    texts = ["<a><b>1</b><b>2</b><d k='1'><b>1</b></d></a>", "<a><b>3</b><d><b>3</b><b>4</b></d></a>"]
    expression = parse_query(f"for $b in /a/b where {condition} return $b")
    with held(spark, graph, texts) as collection:
        assert plan_query(expression, collection.catalogue).sql
        assert collection.plan(expression).reason
        assert answers(collection, [expression]) == evaluated(texts, [expression])


def test_nothing_is_asked(small: Collection) -> None:
    assert small.answers([]).collect() == []


def test_what_is_no_document_is_told(spark: SparkSession) -> None:
    with pytest.raises(ClusterError, match=r"HX8020 2 of the documents .* number 1: <text>:1:\d+: HX1002") as raised:
        held(spark, GRAPH, ["<a/>", "<a>", "no document"])
    assert [fault.code for fault in raised.value.faults] == ["HX8020"]


def test_documents_are_not_asked_together(spark: SparkSession) -> None:
    with held(spark, GRAPH, ["<a/>", "<a/>"]) as collection:
        with pytest.raises(ClusterError, match=r"HX8024 .*collection\(\)") as raised:
            collection.plan(parse_query("for $x in //a, $y in collection()//a return ($x, $y)"))
        (fault,) = raised.value.faults
        assert fault.position is not None
        assert fault.position.column == 22


def test_a_large_document_among_small_ones(spark: SparkSession) -> None:
    """Its text is in several pieces, and its rows come block by block."""
    graph = read_dtd(XMARK / "auction.dtd", root="site")
    texts = [one_is_large(doc) for doc in range(3)]
    assert len(texts[1]) > 1 << 18
    expressions = [
        parse_query("for $p in /site/people/person return <r>{$p/name, $p}</r>"),
        parse_query("/site/regions"),
    ]
    with made(spark, graph, 3, one_is_large) as collection:
        assert all(plan.sql and plan.plan and plan.plan.reads_texts for plan in map(collection.plan, expressions))
        assert answers(collection, expressions, still=True) == evaluated(texts, expressions)


def views(spark: SparkSession) -> set[str]:
    return {row["viewName"] for row in spark.sql("SHOW VIEWS").collect()}


def test_closing_lets_go(spark: SparkSession) -> None:
    before = views(spark)
    with held(spark, GRAPH, TEXTS[:2]) as collection:
        assert answers(collection, [parse_query("/a/b")])
        assert views(spark) > before
        assert spark.sparkContext._jsc.getPersistentRDDs().size() > 0
    assert views(spark) == before


# -- names in namespaces -----------------------------------------------------------------------------------------------

SHOP = """<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:s="urn:s/hop" xmlns:m="http://m.example/#"
    targetNamespace="urn:s/hop" elementFormDefault="qualified">
  <xs:import namespace="http://m.example/#"/>
  <xs:element name="shop"><xs:complexType><xs:sequence>
    <xs:element name="item" maxOccurs="unbounded"><xs:complexType><xs:sequence>
      <xs:element name="name" type="xs:string" form="unqualified"/>
      <xs:element name="price" minOccurs="0" maxOccurs="2"><xs:complexType><xs:simpleContent>
        <xs:extension base="xs:decimal"><xs:attribute name="cur" type="xs:string" form="qualified"/>
        </xs:extension></xs:simpleContent></xs:complexType></xs:element>
      <xs:element name="name" type="xs:string" minOccurs="0"/>
    </xs:sequence><xs:attribute name="id" type="xs:ID"/></xs:complexType></xs:element>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>
""".replace('  <xs:import namespace="http://m.example/#"/>\n', "")
SHOPS = (
    '<s:shop xmlns:s="urn:s/hop"><s:item id="a"><name>chair</name><s:price s:cur="CAD">12.5</s:price><s:name>x</s:name>'
    '</s:item><s:item><name>bed</name><s:price>80</s:price><s:price s:cur="EUR">70</s:price></s:item></s:shop>',
    '<shop xmlns="urn:s/hop"><item><name xmlns="">lamp</name></item></shop>',
)
SHOP_QUERIES = (
    "//s:item/Q{}name",
    "//s:item[s:price > 20]/(Q{}name | s:name)",
    "for $i in //s:item where $i/s:price/@s:cur = 'CAD' return <s:found>{$i/Q{}name}{data($i/s:price)}</s:found>",
    "//s:item",
)


def test_names_in_namespaces_mean_on_spark_what_they_mean_to_the_interpreter(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "shop.xsd").write_text(SHOP)
    graph = read_schema(tmp_path / "shop.xsd")
    names = NameTable.of(graph)
    asked = [parse_query(text, names=names) for text in SHOP_QUERIES]
    found, wanted = answers(held(spark, graph, SHOPS), asked), evaluated(SHOPS, asked)
    assert {place: list(map(_prefixless, items)) for place, items in found.items()} == {
        place: list(map(_prefixless, items)) for place, items in wanted.items()
    }


def _prefixless(item: str) -> str:
    """An item so written that prefixes do not matter: on Spark those of the schema are written."""
    return canonicalize(item, rewrite_prefixes=True) if item.startswith("<") else item
