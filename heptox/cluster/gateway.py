"""The Java process behind a Spark session: started quietly, ended for sure.

PySpark keeps the process that it starts until Python ends, lets it write on the terminal, and loses it when it is
interrupted while it starts. So the process is started here, by the same script, and PySpark is given its address.
"""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Thread, Timer
from typing import TYPE_CHECKING, Final

from heptox.cluster.faults import first_sentence, spark_faults
from heptox.errors import ClusterError, Fault

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

STARTING: Final = 60.0
"""Seconds in which Java has to be there."""

ENDING: Final = 10.0
"""Seconds that each step of ending has before the process is killed."""

_PAUSE: Final = 0.02
_FAILURE: Final = re.compile(r'^(?:Exception in thread "[^"]*" |Error: (?!Could not create|A fatal))', re.MULTILINE)
_SUBMITTING: Final = ("SPARK_CONNECT_MODE_ENABLED", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")


@contextmanager
def environment(changes: Mapping[str, str | None]) -> Iterator[None]:
    """Environment variables set, or taken away where ``None`` is given, inside the block and as before after it."""
    before = {name: os.environ.get(name) for name in changes}
    _set_variables(changes)
    try:
        yield
    finally:
        _set_variables(before)


def _set_variables(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@dataclass(frozen=True, slots=True)
class JavaProcess:
    """A Java process with Spark in it, the leader of its own session of processes; ``log`` is what it wrote."""

    process: subprocess.Popen[bytes]
    folder: Path

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.process.poll() is not None

    def connect(self) -> JavaGateway:
        """PySpark's way to the process, once it listens.

        Raises :class:`ClusterError` (HX8005) where it ends before, or does not listen in time.
        """
        from pyspark.java_gateway import launch_gateway

        port, secret = self._address()
        variables = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret}
        with environment(variables), spark_faults():
            gateway: JavaGateway = launch_gateway()  # type: ignore[no-untyped-call]
        gateway.proc = self.process
        return gateway

    def _address(self) -> tuple[int, str]:
        file = _address_file(self.folder)
        deadline = time.monotonic() + STARTING
        while not file.exists():
            if self.has_ended:
                raise ClusterError(Fault("HX8005", f"Spark does not start: {first_sentence(self._wrote())}"))
            if time.monotonic() > deadline:
                raise ClusterError(Fault("HX8005", f"Spark does not start within {STARTING:.0f} s"))
            time.sleep(_PAUSE)
        content = file.read_bytes()
        port, length = struct.unpack_from(">ii", content)
        return port, content[8 : 8 + length].decode()

    def _wrote(self) -> str:
        """What it wrote, from the line that reports an error, or from the first where none does."""
        wrote = _log_file(self.folder).read_text(encoding="utf-8", errors="replace")
        found = _FAILURE.search(wrote)
        return wrote[found.end() :] if found else wrote

    @contextmanager
    def killed_after(self, seconds: float) -> Iterator[Callable[[], bool]]:
        """Kill the process where the block takes longer, so that a call to it ends; gives whether that happened."""
        fired = False

        def fire() -> None:
            nonlocal fired
            fired = True
            self.process.kill()

        timer = Timer(seconds, fire)
        timer.daemon = True
        timer.start()
        try:
            yield lambda: fired
        finally:
            timer.cancel()

    def end(self, stop: Callable[[], None]) -> None:
        """End it with all its Python workers. ``stop`` takes leave of the cluster, if it does so in time."""
        try:
            # In a thread of its own `stop` has a connection of its own, whatever an interrupt left in another one.
            stopping = Thread(target=stop, daemon=True)
            stopping.start()
            stopping.join(ENDING)
            if self.process.stdin:
                with suppress(OSError):
                    self.process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(ENDING)
        finally:
            self.process.kill()
            self.process.wait()
            _end_session(self.process.pid)


def start_java(folder: Path, java_home: Path, variables: Mapping[str, str | None], properties: Path) -> JavaProcess:
    """Start Java with Spark and the settings of the file ``properties``; what it writes goes to a file in ``folder``.

    It ends by itself when this process does.
    """
    import pyspark

    spark_home = Path(pyspark.__file__).parent
    changes = {
        **dict.fromkeys(_SUBMITTING),
        "JAVA_HOME": str(java_home),
        "SPARK_HOME": str(spark_home),
        "SPARK_CONNECT_MODE": "0",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(_address_file(folder)),
        **variables,
    }
    with environment(changes), _log_file(folder).open("wb") as log:
        submit = ["--properties-file", str(properties), "--load-spark-defaults", "pyspark-shell"]
        process = subprocess.Popen(
            [str(spark_home / "bin" / "spark-submit"), *submit],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for Python, which then ends Java; and so the Python workers are known from other processes.
            start_new_session=True,
        )
    return JavaProcess(process, folder)


def _address_file(folder: Path) -> Path:
    return folder / "address"


def _log_file(folder: Path) -> Path:
    return folder / "log"


def _end_session(leader: int) -> None:
    """Wait until the other processes of a session are gone, as Python workers are soon after Java; kill what stays."""
    deadline = time.monotonic() + ENDING
    while members := session_members(leader):
        if time.monotonic() > deadline:
            for member in members:
                with suppress(ProcessLookupError):
                    os.kill(member, signal.SIGKILL)
        time.sleep(_PAUSE)


def session_members(session: int) -> list[int]:
    """The processes of a session; none where the system has no ``/proc`` to tell them."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # After the name, which may hold anything: state, parent, group, session.
            state, _, _, leader = file.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[:4]
            if int(leader) == session and state not in "ZX":
                found.append(int(file.parent.name))
    return found
