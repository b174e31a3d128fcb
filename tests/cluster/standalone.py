"""A standalone cluster of Spark on this machine, out of the package PySpark: a master and workers as processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import pyspark

from heptox.cluster.gateway import session_members
from heptox.cluster.java import find_java, make_java_home
from tests.cluster.scripts import QUICK_JAVA

DEADLINE: Final = 240.0
_MASTER: Final = re.compile(r"Starting Spark master at (spark://127\.0\.0\.1:\d+)")
_REGISTERED: Final = "Successfully registered with master"
_EXECUTOR: Final = b"CoarseGrainedExecutorBackend"
_Value = TypeVar("_Value")
_SPARK_HOME: Final = Path(pyspark.__file__).parent


@dataclass(frozen=True, slots=True)
class Standalone:
    """A running cluster: the address of its master, and the processes of its workers."""

    url: str
    workers: tuple[int, ...]

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executors as a machine that loses its power does."""
        kill_processes(self.workers[number])


@contextmanager
def standalone_cluster(folder: Path, workers: int = 2) -> Iterator[Standalone]:
    """A master and workers of one core and 1 GiB each, with their files in ``folder``; none is left after it."""
    home = make_java_home(find_java(), folder)
    with ExitStack() as stack:
        stack.enter_context(_daemon(folder / "master", home, "master.Master", "--port", "0"))
        url = _awaited(lambda: _found(_MASTER, folder / "master" / "log"), "master")
        folders = [folder / f"worker-{number}" for number in range(workers)]
        options = ("--cores", "1", "--memory", "1g")
        pids = [
            stack.enter_context(_daemon(place, home, "worker.Worker", *options, "--work-dir", str(place), url))
            for place in folders
        ]
        logs = [place / "log" for place in folders]
        _awaited(lambda: all(_REGISTERED in log.read_text() for log in logs), "workers")
        yield Standalone(url, tuple(pids))


def kill_processes(leader: int) -> None:
    """Kill all processes of a session, and wait until they are gone."""
    deadline = time.monotonic() + DEADLINE
    while members := session_members(leader):
        assert time.monotonic() < deadline, members
        for member in members:
            with suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
        time.sleep(0.02)


def kill_executors(leader: int) -> int:
    """Kill the executors of a worker, which stays and starts others; gives how many there were."""
    executors = [each for each in session_members(leader) if _EXECUTOR in Path(f"/proc/{each}/cmdline").read_bytes()]
    for executor in executors:
        os.kill(executor, signal.SIGKILL)
    return len(executors)


@contextmanager
def _daemon(folder: Path, java_home: Path, name: str, *options: str) -> Iterator[int]:
    """A daemon of Spark as the leader of a session of processes; gives its id, and kills them all."""
    folder.mkdir()
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYTHON"))}
    variables |= {
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(_SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Dspark.master.rest.enabled=false -Djava.io.tmpdir={folder}",
        # Also for the Java that only finds out how to start the daemon, and for executors.
        "JDK_JAVA_OPTIONS": QUICK_JAVA,
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [str(_SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--webui-port", "0", *options],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process.pid
    finally:
        kill_processes(process.pid)
        process.wait()


def _found(pattern: re.Pattern[str], file: Path) -> str | None:
    found = pattern.search(file.read_text())
    return found[1] if found else None


def _awaited(condition: Callable[[], _Value | None], what: str) -> _Value:
    """What a condition gives as soon as it holds."""
    deadline = time.monotonic() + DEADLINE
    while not (value := condition()):
        assert time.monotonic() < deadline, f"no {what}"
        time.sleep(0.05)
    return value
