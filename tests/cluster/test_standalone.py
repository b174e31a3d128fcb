"""Work on a standalone cluster: executors run the code that is shipped to them, and work outlives what is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from heptox.cluster import report_value
from tests.cluster.emulating import emulated
from tests.cluster.scripts import run_script
from tests.cluster.standalone import Standalone, standalone_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


WORK = """
    import json, sys
    from heptox.cluster import executor_code, spark_faults, spark_session
    from tests.cluster.scripts import QUICK

    def translated(query):
        from heptox.grammar import parse_query
        return str(parse_query(query))

    def rows(batches):
        for batch in batches:
            yield batch

    told = {}
    # Executors that are killed leave temporary files.
    quick = QUICK["spark.driver.extraJavaOptions"] + f' "-Djava.io.tmpdir={sys.argv[2]}"'
    options = {"spark.executor.extraJavaOptions": quick, "spark.executor.memory": "512m"}
    options["spark.pyspark.python"] = sys.executable
    with spark_session(sys.argv[1], settings={**QUICK, **options}) as spark, spark_faults():
        context = spark.sparkContext
        told["partitions"] = spark.conf.get("spark.sql.shuffle.partitions")
        told["code"] = sorted(file for _, file in executor_code(spark))
        told["work"] = context.parallelize(["/site/people/person/name"], 1).map(translated).collect()
        told["rows"] = spark.range(50).mapInArrow(rows, "id long").selectExpr("sum(id)").collect()[0][0]
    print(json.dumps(told))
"""

EMULATION = """
    import json, sys
    from heptox.cluster import emulate, executor_code, planned, prepare, report_value, spark_faults, spark_session
    from tests.cluster.scripts import QUICK
    from tests.cluster.standalone import kill_processes

    plan = prepare(planned(json.loads(sys.argv[4])))
    # Executors that are killed leave temporary files.
    quick = QUICK["spark.driver.extraJavaOptions"] + f' "-Djava.io.tmpdir={sys.argv[3]}"'
    options = {"spark.executor.extraJavaOptions": quick, "spark.executor.memory": "512m"}
    options["spark.pyspark.python"] = sys.executable
    with spark_session(sys.argv[1], settings={**QUICK, **options}) as spark, spark_faults():
        told = {"code": len(executor_code(spark))}
        def hear(what):
            if what.startswith("at ") and "killed" not in told and not what.startswith("at 0 ms"):
                told["killed"] = what
                kill_processes(int(sys.argv[2]))
        outcome = emulate(plan, spark, hear)
        told["code after"] = len(executor_code(spark))
    assert outcome.check.passed, outcome.check.faults
    told["report"] = report_value(outcome)
    print(json.dumps(told))
"""

FILTERING = """
    import json, sys, threading, time
    from dataclasses import replace
    from io import BytesIO
    from benchmarks.chunking import university
    from heptox.cluster import SparkEvaluating, executor_code, filter_feed, spark_faults, spark_session
    from heptox.dissemination.chunking import DocumentFilter, FilterSet
    from tests.cluster.scripts import QUICK
    from tests.cluster.standalone import kill_executors

    filters = FilterSet(university.schema())
    for number, text in enumerate(("//name", "/db/student[email]/link/@manager", "count(//url)")):
        filters.add(number, text)
    plan = replace(filters.plan(3), size=1 << 18)
    document = university.document(1_500_000)
    # Executors that are killed leave temporary files.
    quick = QUICK["spark.driver.extraJavaOptions"] + f' "-Djava.io.tmpdir={sys.argv[3]}"'
    options = {"spark.executor.extraJavaOptions": quick, "spark.executor.memory": "512m"}
    options["spark.pyspark.python"] = sys.executable
    with spark_session(sys.argv[1], settings={**QUICK, **options}) as spark, spark_faults():
        told = {"code": len(executor_code(spark))}
        def kill_during_a_job():
            while not spark.sparkContext.statusTracker().getActiveJobsIds():
                time.sleep(0.005)
            told["killed"] = kill_executors(int(sys.argv[2]))
        results = DocumentFilter(plan, SparkEvaluating(spark, plan, in_flight=1 << 18)).results(BytesIO(document))
        found = [next(results)]
        killing = threading.Thread(target=kill_during_a_job)
        killing.start()
        found += results
        killing.join()
        told["same"] = found == [*DocumentFilter(plan).results(BytesIO(document))]
        documents = spark.createDataFrame([(number, document) for number in range(2)], "doc bigint, text binary")
        told["fed"] = filter_feed(spark, plan, documents).count() == 2 * sum(len(each.found) for each in found)
    print(json.dumps(told))
"""

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


def test_executors_run_the_code_that_is_shipped(cluster: Standalone, tmp_path: Path) -> None:
    ended = run_script(WORK, cluster.url, str(tmp_path), folder=tmp_path)
    assert (ended.code, ended.err, ended.left) == (0, "", [])
    told = json.loads(ended.out)
    code = told.pop("code")
    assert [Path(file).parts[-3:] for file in code] == [("heptox.zip", "heptox", "__init__.py")] * 2
    assert len(set(code)) == 2
    assert told.pop("work")
    assert told == {"partitions": "2", "rows": sum(range(50))}


def test_filtering_outlives_an_executor_and_gives_the_same_results(cluster: Standalone, tmp_path: Path) -> None:
    arguments = (cluster.url, str(cluster.workers[0]), str(tmp_path))
    ended = run_script(FILTERING, *arguments, folder=tmp_path)
    assert (ended.code, ended.err, ended.left) == (0, "", [])
    assert json.loads(ended.out) == {"code": 2, "killed": 1, "same": True, "fed": True}


def test_an_emulation_outlives_a_worker_and_gives_the_same_answers(cluster: Standalone, tmp_path: Path) -> None:
    arguments = (cluster.url, str(cluster.workers[0]), str(tmp_path), json.dumps(PLAN))
    ended = run_script(EMULATION, *arguments, folder=tmp_path)
    assert (ended.code, ended.err, ended.left) == (0, "", [])
    told = json.loads(ended.out)
    assert (told["code"], told["code after"]) == (2, 1), "no worker was lost"
    assert "killed" in told
    assert told["report"] == json.loads(json.dumps(report_value(emulated(**PLAN))))
