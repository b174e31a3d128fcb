"""What an emulation has done on Spark: documents made and shredded, queries translated and answered, peers at work."""

from __future__ import annotations

from collections.abc import Mapping as Table
from functools import reduce
from types import TracebackType
from typing import TYPE_CHECKING

from heptox.cluster.documents import document_maker
from heptox.cluster.emulated import Body, Conditions, QueryFacts, mark
from heptox.cluster.lineage import without_plan
from heptox.cluster.probing import Probe, seconds_of
from heptox.cluster.progress import Progress
from heptox.cluster.queries import KnownQuery, Request, Result, timed_translation
from heptox.cluster.relations import Collection
from heptox.cluster.supersteps import SparkPeers
from heptox.cluster.workload import Edge
from heptox.mapping import Mapping
from heptox.schema import SchemaGraph
from heptox.store import evaluate
from heptox.xml import parse_document

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from heptox.cluster.emulated import Parcel


class SparkEngine:
    """The work of an emulation on Spark. A context manager, which lets go of all that is kept there."""

    def __init__(
        self,
        spark: SparkSession,
        conditions: Conditions,
        mappings: Table[Edge, Mapping],
        schemas: Table[str, SchemaGraph],
    ) -> None:
        self._spark = spark
        self._conditions = conditions
        self._mappings = spark.sparkContext.broadcast(dict(mappings))
        self._graphs = spark.sparkContext.broadcast(dict(schemas))
        self._collections: dict[str, Collection] = {}
        self._answers: DataFrame | None = None
        self._kept: DataFrame | None = None
        self._peers = SparkPeers(spark, conditions, self._answers_to)
        for schema, graph in schemas.items():
            self._collections[schema] = self._collection(schema, graph)

    def _collection(self, schema: str, graph: SchemaGraph) -> Collection:
        network, plan = self._conditions.network, self._conditions.plan
        numbers = [(peer,) for peer, own in enumerate(network.schemas) if own == schema]
        documents = self._spark.createDataFrame(numbers, "doc bigint").repartition(
            self._spark.sparkContext.defaultParallelism
        )
        return Collection.of(documents, graph, make=document_maker(schema, plan.people, plan.seed))

    def __enter__(self) -> SparkEngine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._peers.close()
        if self._kept is not None:
            self._kept.unpersist()
        for collection in self._collections.values():
            collection.close()
        self._mappings.destroy()
        self._graphs.destroy()

    def begin(self, parcels: list[tuple[int, Parcel]]) -> None:
        self._peers.begin(parcels)

    def advance(self, end: int, known: QueryFacts, asked: set[Body]) -> Progress:
        return self._peers.advance(end, known, asked)

    def translate(self, requests: list[Request]) -> list[Result]:
        mappings = self._mappings
        slices = min(len(requests), self._spark.sparkContext.defaultParallelism)
        numbered = self._spark.sparkContext.parallelize(requests, slices)
        return numbered.map(lambda request: timed_translation(request, mappings.value[request.edge])).collect()

    def evaluate(self, queries: list[tuple[Body, KnownQuery]]) -> dict[Body, float]:
        frames = []
        for schema, collection in self._collections.items():
            own = [(body, query) for body, query in queries if query.schema == schema]
            plans = [(str(body), collection.plan(query.expression)) for body, query in own]
            if plans:
                frames.append(collection.answers(plans))
        found = reduce(lambda one, other: one.unionAll(other), frames).selectExpr(
            "CAST(query AS INT) AS body", "doc AS peer", "items", "fault"
        )
        self._keep(found if self._answers is None else self._answers.unionAll(found))
        return self._probed(queries)

    def _keep(self, answers: DataFrame) -> None:
        """Keep all answers as one frame of few partitions, instead of what they were made of."""
        together = answers.repartition(self._spark.sparkContext.defaultParallelism, "peer").persist()
        together.count()
        self._answers = without_plan(together)
        if self._kept is not None:
            self._kept.unpersist()
        self._kept = together

    def _probed(self, queries: list[tuple[Body, KnownQuery]]) -> dict[Body, float]:
        """Seconds that each query takes a peer, measured at the first one under its schema."""
        plan, schemas, graphs = self._conditions.plan, self._conditions.network.schemas, self._graphs
        probes = [
            Probe(body, query.value, query.schema, plan.people, plan.seed, schemas.index(query.schema))
            for body, query in sorted(queries, key=lambda one: one[1].schema)
        ]
        slices = min(len(probes), self._spark.sparkContext.defaultParallelism)
        spread = self._spark.sparkContext.parallelize(probes, slices)
        return dict(spread.map(lambda probe: (probe.body, seconds_of(probe, graphs.value[probe.schema]))).collect())

    def interpret(self, pairs: Table[int, list[tuple[Body, KnownQuery]]]) -> dict[tuple[int, Body], frozenset[int]]:
        plan, schemas = self._conditions.plan, self._conditions.network.schemas
        makers = {schema: document_maker(schema, plan.people, plan.seed) for schema in self._collections}
        queries = self._spark.sparkContext.broadcast({body: query for own in pairs.values() for body, query in own})

        def interpreted(one: tuple[int, list[Body]]) -> list[tuple[int, Body, frozenset[int]]]:
            peer, bodies = one
            document = parse_document(makers[schemas[peer]](peer))
            return [
                (peer, body, frozenset(map(mark, evaluate(queries.value[body].expression, [document]))))
                for body in bodies
            ]

        wanted = [(peer, [body for body, _ in own]) for peer, own in sorted(pairs.items())]
        slices = 4 * self._spark.sparkContext.defaultParallelism
        found = self._spark.sparkContext.parallelize(wanted, slices).flatMap(interpreted).collect()
        queries.destroy()
        return {(peer, body): marks for peer, body, marks in found}

    def _answers_to(self, bodies: set[Body]) -> DataFrame:
        assert self._answers is not None
        return self._answers.where(f"body IN ({', '.join(map(str, sorted(bodies)))})")
