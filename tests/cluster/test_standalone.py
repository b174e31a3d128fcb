"""Work on a standalone cluster: executors run the code that is shipped to them, and work outlives what is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from heptox.cluster import report_value
from tests.cluster.emulating import emulated
from tests.cluster.scripts import Ended, run_script
from tests.cluster.standalone import Standalone, standalone_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


SESSION = """
    import json, sys, threading, time
    from dataclasses import replace
    from io import BytesIO
    from benchmarks.chunking import university
    from heptox.cluster import (
        SparkEvaluating, emulate, executor_code, filter_feed, planned, prepare, report_value, spark_faults,
        spark_session,
    )
    from heptox.filtering import DocumentFilter, FilterSet
    from tests.cluster.scripts import QUICK
    from tests.cluster.standalone import DEADLINE, kill_executors, kill_processes

    def translated(query):
        from heptox.grammar import parse_query
        return str(parse_query(query))

    def rows(batches):
        for batch in batches:
            yield batch

    def shipped(spark):
        context = spark.sparkContext
        return {
            "partitions": spark.conf.get("spark.sql.shuffle.partitions"),
            "code": sorted(file for _, file in executor_code(spark)),
            "work": context.parallelize(["/site/people/person/name"], 1).map(translated).collect(),
            "rows": spark.range(50).mapInArrow(rows, "id long").selectExpr("sum(id)").collect()[0][0],
        }

    def filtered(spark, worker):
        filters = FilterSet(university.schema())
        for number, text in enumerate(("//name", "/db/student[email]/link/@manager", "count(//url)")):
            filters.add(number, text)
        plan = replace(filters.plan(3), size=1 << 18)
        document = university.document(1_000_000)
        told = {"code": len(executor_code(spark))}
        def kill_during_a_job():
            while not spark.sparkContext.statusTracker().getActiveJobsIds():
                time.sleep(0.005)
            told["killed"] = kill_executors(worker)
        results = DocumentFilter(plan, SparkEvaluating(spark, plan, in_flight=1 << 18)).results(BytesIO(document))
        found = [next(results)]
        killing = threading.Thread(target=kill_during_a_job)
        killing.start()
        found += results
        killing.join()
        told["same"] = found == [*DocumentFilter(plan).results(BytesIO(document))]
        documents = spark.createDataFrame([(number, document) for number in range(2)], "doc bigint, text binary")
        told["fed"] = filter_feed(spark, plan, documents).count() == 2 * sum(len(each.found) for each in found)
        return told

    def emulated(spark, worker, settings):
        deadline = time.monotonic() + DEADLINE
        while len(executor_code(spark)) < 2:  # another executor comes for the one that was killed
            assert time.monotonic() < deadline, "no other executor has come"
        told = {"code": len(executor_code(spark))}
        def hear(what):
            if what.startswith("at ") and "killed" not in told and not what.startswith("at 0 ms"):
                told["killed"] = what
                kill_processes(worker)
        outcome = emulate(prepare(planned(settings)), spark, hear)
        told["code after"] = len(executor_code(spark))
        assert outcome.check.passed, outcome.check.faults
        return {**told, "report": report_value(outcome)}

    url, worker, folder, settings = sys.argv[1], int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
    # Executors that are killed leave temporary files.
    quick = QUICK["spark.driver.extraJavaOptions"] + f' "-Djava.io.tmpdir={folder}"'
    options = {"spark.executor.extraJavaOptions": quick, "spark.executor.memory": "512m"}
    options["spark.pyspark.python"] = sys.executable
    with spark_session(url, settings={**QUICK, **options}) as spark, spark_faults():
        told = {"shipped": shipped(spark), "filtered": filtered(spark, worker)}
        told["emulated"] = emulated(spark, worker, settings)
    print(json.dumps(told))
"""
"""All that is done in a session of the cluster, in one: to start a session and its executors takes the longest."""

PLAN: Final[dict[str, Any]] = {"peers": 8, "schemas": 3, "hops": 2, "people": 2, "queries": ["Q1", "Q5"], "loss": 0.02}

NO_EXECUTOR = """
    import sys
    from heptox.cluster import spark_session
    from heptox.errors import ClusterError
    from tests.cluster.scripts import QUICK

    try:
        with spark_session(sys.argv[1], settings={**QUICK, "spark.executor.memory": "900g"}, patience=1.0):
            print("started")
    except ClusterError as error:
        print(error)
"""


def test_a_cluster_that_gives_no_executor_is_told(cluster: Standalone, tmp_path: Path) -> None:
    ended = run_script(NO_EXECUTOR, cluster.url, folder=tmp_path)
    assert (ended.code, ended.err, ended.left) == (0, "", [])
    assert ended.out.startswith(f"HX8006 {cluster.url} gives no executor within 1 s (")


@pytest.fixture(scope="module")
def session(cluster: Standalone, tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """How the session on the cluster ended, which has lost an executor and then a worker."""
    folder = tmp_path_factory.mktemp("session")
    return run_script(SESSION, cluster.url, str(cluster.workers[0]), str(folder), json.dumps(PLAN), folder=folder)


def told(session: Ended, part: str) -> dict[str, Any]:
    """What the session told of a part of its work."""
    assert (session.code, session.err, session.left) == (0, "", [])
    found: dict[str, Any] = json.loads(session.out)[part]
    return found


def test_executors_run_the_code_that_is_shipped(session: Ended) -> None:
    shipped = told(session, "shipped")
    code = shipped.pop("code")
    assert [Path(file).parts[-3:] for file in code] == [("heptox.zip", "heptox", "__init__.py")] * 2
    assert len(set(code)) == 2
    assert shipped.pop("work")
    assert shipped == {"partitions": "2", "rows": sum(range(50))}


def test_filtering_outlives_an_executor_and_gives_the_same_results(session: Ended) -> None:
    assert told(session, "filtered") == {"code": 2, "killed": 1, "same": True, "fed": True}


def test_an_emulation_outlives_a_worker_and_gives_the_same_answers(session: Ended) -> None:
    emulation = told(session, "emulated")
    assert (emulation["code"], emulation["code after"]) == (2, 1), "no worker was lost"
    assert "killed" in emulation
    assert emulation["report"] == json.loads(json.dumps(report_value(emulated(**PLAN))))
