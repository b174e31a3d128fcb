"""How heptox gets a Spark session: quiet, with settings for its kind of work, and gone when it is left."""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Final

import heptox
from heptox.cluster.faults import require_spark, spark_faults, was_interrupted
from heptox.cluster.gateway import JavaProcess, environment, start_java
from heptox.cluster.java import find_java, make_java_home
from heptox.cluster.master import Master, address_facing, read_master
from heptox.cluster.shipping import package_zip
from heptox.errors import ClusterError, Fault

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

REGISTERING: Final = 30.0
"""Seconds that the master of a standalone cluster has to accept a program; Spark itself would try for a minute."""

PATIENCE: Final = 60.0
"""Seconds to wait for the first executor, unless said otherwise."""

_SETTLING: Final = 1.0
_PAUSE: Final = 0.05
_GIBIBYTE: Final = 2**30
_LOOPBACK: Final = "127.0.0.1"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_PYTHON: Final = "spark.pyspark.python"
_PARTITIONS: Final = "spark.sql.shuffle.partitions"

SETTINGS: Final[Mapping[str, str]] = {
    # The pages of a session that lasts for a command are not looked at, and their server takes time and a port.
    "spark.ui.enabled": "false",
    # The progress bar is written on the terminal.
    "spark.ui.showConsoleProgress": "false",
    # The work is many small statements, where planning takes longer than computing. Adaptive execution plans again
    # after each shuffle.
    "spark.sql.adaptive.enabled": "false",
    # A broadcast is a job of its own; between small partitions a shuffle is cheaper than to decide and to send.
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Relations partitioned by one of the columns of a join stay where they are.
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    # Few rows are hashed faster than they are sorted.
    "spark.sql.join.preferSortMergeJoin": "false",
    # To generate and compile Java for a statement takes longer than to interpret it for few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Dates and times mean the same on every machine.
    "spark.sql.session.timeZone": "UTC",
    # To start Python and to import heptox takes far longer than a task does. It is Spark's default; we rely on it.
    "spark.python.worker.reuse": "true",
    # In MiB: a task may carry a chunk of a document that cannot be cut, of 256 MiB; Spark would refuse half of that.
    "spark.rpc.message.maxSize": "512",
}
"""The settings of a session for small jobs, measured on emulations: statements are many, rows are few.

What is not here is as Spark has it, such as ``spark.sql.ansi.enabled``: a value that does not fit is an error, no null.

Joins and groups make as many partitions as there are cores (``spark.sql.shuffle.partitions``, which Spark would make
200; ``spark.default.parallelism`` is the number of cores anyway)."""

BULK: Final[Mapping[str, str]] = {
    "spark.sql.adaptive.enabled": "true",
    # As Spark has them.
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
"""The ``settings`` of a session for a bulk job: statements are few, rows are many."""


@contextmanager
def spark_session(
    master: str = "local[*]",
    *,
    name: str = "heptox",
    settings: Mapping[str, str] | None = None,
    memory: str | None = None,
    patience: float = PATIENCE,
) -> Iterator[SparkSession]:
    """A Spark session on a master; after the block nothing of it is left, no process and no file.

    ``master`` is ``local``, ``local[N]``, ``local[*]``, ``spark://HOST:PORT[,HOST:PORT]``, ``yarn`` or ``k8s://...``.
    ``settings`` are settings of Spark, :data:`BULK` or others, which go before :data:`SETTINGS`; only
    ``spark.driver.extraJavaOptions`` adds to what is there. ``memory`` is the driver's (``4g``), by default a quarter
    of the machine's, 1 to 8 GiB; with a local master that is all the memory there is for data. ``patience`` is the
    number of seconds in which a cluster has to give the first executor. Executors get the code of heptox that runs
    here; their Python has to bring the packages that heptox needs. Spark prints nothing. A process can have one
    session at a time, but several after each other.

    Raises :class:`ClusterError`: HX8001 without Java, HX8002 without PySpark, HX8003 where the master cannot be
    reached, HX8004 for a ``master`` that is none, HX8005 where Spark fails to start, HX8006 where the cluster gives no
    executor, HX8007 where Spark is in use in this process already. What fails inside the block comes as Spark raises
    it; :func:`spark_faults` reports that as errors of heptox.
    """
    where = read_master(master)
    require_spark()
    _refuse_second_session()
    facing = address_facing(where)
    java = find_java()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="heptox-spark-", ignore_cleanup_errors=True))
        )
        stack.enter_context(_process_as_before())
        wanted = dict(settings or {})
        properties = folder / "spark.properties"
        _write_properties(properties, _all_settings(where, name, wanted, memory, folder, facing))
        process = start_java(folder, make_java_home(java, folder), _variables(where, folder), properties)
        stack.callback(lambda: process.end(lambda: _leave(process)))
        context = _start(process, where, wanted, patience)
        if not where.is_local:
            _await_executors(context, where, patience)
            with spark_faults():
                context.addPyFile(str(package_zip(folder)))
        session = _session(context)
        try:
            yield session
        except Exception as error:
            if was_interrupted(error):
                raise KeyboardInterrupt from error
            raise


# -- before Java -------------------------------------------------------------------------------------------------


def _refuse_second_session() -> None:
    from pyspark import SparkContext

    if SparkContext._active_spark_context is not None:
        hint = "end the session that there is first: a process can have one"
        raise ClusterError(Fault("HX8007", "Spark is in use in this process already", hint=hint))


def _all_settings(
    master: Master, name: str, wanted: Mapping[str, str], memory: str | None, folder: Path, facing: str | None
) -> dict[str, str]:
    """Every setting that Spark is started with."""
    logging_file = folder / "log4j2.properties"
    logging_file.write_bytes((files("heptox.cluster") / "log4j2.properties").read_bytes())
    found = {"spark.master": master.url, "spark.app.name": name, **SETTINGS}
    found["spark.driver.memory"] = memory or _default_memory()
    if master.is_on_this_machine:
        # Whatever the machine's name is, and whether it can be resolved.
        found |= {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
        # Else Spark would name a folder beside the user's files.
        found["spark.sql.warehouse.dir"] = (folder / "warehouse").as_uri()
        found[_PYTHON] = sys.executable
    elif facing is not None and "SPARK_LOCAL_IP" not in os.environ:
        # Executors, like the master, reach the driver at this address, whatever its machine's name resolves to.
        found["spark.driver.host"] = facing
    found |= wanted
    # Java's own folder for temporary files is not TMPDIR; in this one nothing is left behind by a Java that was killed.
    options = [f"-Dlog4j2.configurationFile={logging_file.as_uri()}", f'"-Djava.io.tmpdir={folder}"']
    found[_JAVA_OPTIONS] = " ".join([*options, wanted.get(_JAVA_OPTIONS, "")]).strip()
    return found


def _default_memory() -> str:
    """A quarter of the machine's memory as Java takes it by itself, but enough for Spark and nothing excessive."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{min(max(machine // 4, _GIBIBYTE), 8 * _GIBIBYTE) // 2**20}m"


def _write_properties(file: Path, values: Mapping[str, str]) -> None:
    """Write settings as Java reads them: for the owner only, since a setting may be a secret."""
    file.touch(mode=0o600)
    with file.open("w", encoding="utf-8") as output:
        for name, value in values.items():
            escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
            output.write(f"{name}={escaped}\n")


def _variables(master: Master, folder: Path) -> dict[str, str | None]:
    """The environment of Java, as far as it depends on the master."""
    found: dict[str, str | None] = {}
    if "SPARK_LOCAL_DIRS" not in os.environ:
        # What Spark keeps on disk goes with the session, even if Java had to be killed.
        found["SPARK_LOCAL_DIRS"] = str(folder)
    if master.is_on_this_machine:
        # Python workers find the package that runs here, wherever Python found it.
        package = str(Path(next(iter(heptox.__path__))).parent)
        others = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
        found |= {"SPARK_LOCAL_IP": _LOOPBACK, "SPARK_LOCAL_HOSTNAME": None}
        found["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([package, *others]))
    return found


# -- Spark in this process ---------------------------------------------------------------------------------------


def _start(process: JavaProcess, master: Master, wanted: Mapping[str, str], patience: float) -> SparkContext:
    from pyspark import SparkContext

    gateway = process.connect()
    SparkContext._gateway, SparkContext._jvm = gateway, gateway.jvm
    interrupted = signal.getsignal(signal.SIGINT)
    with environment(_python(master, wanted)):
        context = _in_time(process, master, patience)
    if threading.current_thread() is threading.main_thread():
        # PySpark's own handler calls Java while another call waits for its answer, which breaks both.
        signal.signal(signal.SIGINT, interrupted)
    # The thread that takes accumulators from Java would print a traceback where Java ends before it.
    context._accumulatorServer.handle_error = lambda *_: None  # type: ignore[method-assign]
    return context


def _in_time(process: JavaProcess, master: Master, patience: float) -> SparkContext:
    """The context; what is asked for it on this machine is there, but a master may let everybody wait."""
    from pyspark import SparkContext

    if master.is_on_this_machine:
        with spark_faults():
            return SparkContext()
    seconds = REGISTERING if master.addresses else patience
    with process.killed_after(seconds) as was_killed:
        try:
            with spark_faults():
                return SparkContext()
        except Exception as error:
            if not was_killed():
                raise
            message = f"{master.url} does not accept a program within {seconds:.0f} s"
            hint = (
                "is it a master, of the same version of Spark and with the same secret, and can it reach this machine?"
            )
            raise ClusterError(Fault("HX8003", message, hint=hint)) from error


def _python(master: Master, wanted: Mapping[str, str]) -> dict[str, str | None]:
    """The Python of workers, where PySpark looks for it: this one here, elsewhere what ``PYSPARK_PYTHON`` says."""
    if _PYTHON in wanted:
        return {"PYSPARK_PYTHON": wanted[_PYTHON]}
    return {"PYSPARK_PYTHON": sys.executable} if master.is_on_this_machine else {}


def _await_executors(context: SparkContext, master: Master, patience: float) -> None:
    """Wait for the first executor, then until no more come at once: how many will come is not known."""
    began = time.monotonic()
    known, changed = 0, began
    while not known or time.monotonic() < changed + _SETTLING:
        with spark_faults():
            executors = len(context.statusTracker().getExecutorInfos()) - 1  # the driver counts as one
        now = time.monotonic()
        if executors != known:
            known, changed = executors, now
        if not known and now > began + patience:
            message = f"{master.url} gives no executor within {patience:.0f} s"
            hint = "has it workers with a free core and free memory? An executor takes 1 GiB, or spark.executor.memory"
            raise ClusterError(Fault("HX8006", message, hint=hint))
        time.sleep(_PAUSE)


def _session(context: SparkContext) -> SparkSession:
    from pyspark.sql import SparkSession

    with spark_faults():
        # A cluster's cores are known only now.
        given = context.getConf().contains(_PARTITIONS)
        return SparkSession(context, options={} if given else {_PARTITIONS: str(context.defaultParallelism)})


def _leave(process: JavaProcess) -> None:
    """Stop what runs, take leave of the cluster, and close the connections to Java; what fails there ends with Java."""
    from pyspark import SparkContext

    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    with warnings.catch_warnings(), suppress(Exception):
        warnings.simplefilter("ignore")
        if context is not None:
            if process.has_ended:
                context._jsc = None  # no session is left to be informed
            context.stop()
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()


@contextmanager
def _process_as_before() -> Iterator[None]:
    """Undo what PySpark does to this process: its own state, environment variables, places of modules."""
    from pyspark import SparkContext, SparkFiles
    from pyspark.sql import SparkSession, SQLContext

    gateway, jvm = SparkContext._gateway, SparkContext._jvm
    SparkContext._gateway = SparkContext._jvm = None
    path = set(sys.path)
    root, py4j = logging.getLogger(), logging.getLogger("py4j")
    root.addFilter(_is_not_of_py4j)
    propagates, py4j.propagate = py4j.propagate, False  # what it logs when it is interrupted helps no reader
    try:
        # PySpark sets them, to values of this session.
        with environment({"SPARK_AUTH_SOCKET_TIMEOUT": None, "SPARK_BUFFER_SIZE": None}):
            yield
    finally:
        root.removeFilter(_is_not_of_py4j)
        py4j.propagate = propagates
        SparkContext._gateway, SparkContext._jvm, SparkContext._active_spark_context = gateway, jvm, None
        SparkSession._instantiatedSession = SparkSession._activeSession = None
        SQLContext._instantiatedContext = None
        SparkFiles._sc = None
        # Where it keeps files for modules of a session, and the files there.
        sys.path[:] = [place for place in sys.path if place in path or "userFiles-" not in place]


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """Py4J logs with the root logger that a call failed, and where; the exception says it as well."""
    return "py4j" not in Path(record.pathname).parts
