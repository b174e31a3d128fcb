"""Every engine measured on a document of one size, each in processes of its own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.store import basex, saxon_java
from benchmarks.store.answers import Answer, Measured
from benchmarks.store.workload import PATH, POINT, QUERIES, Asked, document, runs

DEADLINE: Final = 30.0
"""Seconds after which a rival's query is given up, beside a tenth of a second for each megabyte to read."""
LATE: Final = f"over {DEADLINE:.0f} s"
REFUSED: Final = "refused"
LOADS: Final = 3
ONCE: Final = 3

LARGE: Final = 200
"""From how many megabytes on engines that keep a document in memory are left out, and loads are timed once."""

HEPTOX, BASEX_MEMORY, BASEX_DISK, SAXON, SAXON_MAPS, SAXON_JAVA, SAXON_JAVA_MAPS = (
    "heptox",
    "BaseX, main memory",
    "BaseX, disk",
    "SaxonC",
    "SaxonC, maps",
    "Saxon on Java",
    "Saxon on Java, maps",
)
_ROOT: Final = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True)
class Loading:
    """What a load takes: seconds, megabytes of memory at most, megabytes of the file; nothing where there is none."""

    seconds: float
    memory: float | None
    size: float | None


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured with a document of so many megabytes; times are in seconds.

    ``queries`` have the median for each engine, or why there is none. ``once`` is from the file to the answer, for the
    path and for the join.
    """

    megabytes: float
    loads: dict[str, Loading]
    reopening: float
    queries: dict[Asked, dict[str, float | str]]
    once: dict[Asked, dict[str, float | str]]


class DisagreementError(Exception):
    """Two engines gave different answers: nothing that was measured counts."""


def measure(megabytes: int, folder: Path, scratch: Path) -> Results:
    """Measure with a document of that size, which is made in ``folder`` unless it is there.

    Raises :class:`DisagreementError`.
    """
    text = document(folder, megabytes)
    store = scratch / f"auction-{megabytes}.heptox"
    seconds = DEADLINE + megabytes / 10
    large = megabytes > LARGE
    times = 1 if large else LOADS
    loads = {HEPTOX: _load(text, store, times)}
    count = runs(megabytes)
    found: dict[Asked, dict[str, Measured]] = {
        asked: {HEPTOX: _answered(_child("heptox", store, asked.text, str(count)))} for asked in QUERIES
    }
    made: dict[str, list[Loading]] = {}
    if basex.java():
        for engine in (BASEX_DISK,) if large else (BASEX_MEMORY, BASEX_DISK):
            for turn in range(times):
                _ask_basex(text, engine, QUERIES[turn::times], count, 8 * seconds, found, made)
    if not large:
        _ask_saxon(text, count, seconds, found, made)
    for asked, answers in found.items():
        agreed(asked, answers)
    reopening = statistics.median(_child("reopen", store, POINT.text)["seconds"] for _ in range(LOADS))
    loads |= {engine: _median(engine_loads) for engine, engine_loads in made.items()}
    medians = {
        asked: {engine: _middle(measured.times) or measured.missing or LATE for engine, measured in answers.items()}
        for asked, answers in found.items()
    }
    once = {} if large else {asked: _once(text, asked, seconds) for asked in (PATH, QUERIES[2])}
    return Results(text.stat().st_size / 1e6, loads, reopening, medians, once)


def _ask_basex(
    text: Path,
    engine: str,
    queries: Sequence[Asked],
    count: int,
    seconds: float,
    found: dict[Asked, dict[str, Measured]],
    made: dict[str, list[Loading]],
) -> None:
    in_memory = engine == BASEX_MEMORY
    session = basex.session(text, [asked.text for asked in queries], count, in_memory=in_memory, seconds=seconds)
    for asked, answered in zip(queries, session.answered, strict=True):
        found[asked][engine] = answered
    if session.creating is not None:
        size = None if in_memory else session.size
        made.setdefault(engine, []).append(Loading(session.creating, session.memory, size))


def _ask_saxon(
    text: Path,
    count: int,
    seconds: float,
    found: dict[Asked, dict[str, Measured]],
    made: dict[str, list[Loading]],
) -> None:
    for asked, answers in found.items():
        for engine, java, query in (
            (SAXON, SAXON_JAVA, asked.text),
            (SAXON_MAPS, SAXON_JAVA_MAPS, asked.with_maps),
        ):
            if query is None:
                continue
            told = _child("saxon", text, query, str(count), seconds=seconds)
            answers[engine] = _answered(told)
            if told is not None and "refused" not in told:
                made.setdefault(SAXON, []).append(Loading(told["parsing"], told["memory"], None))
            if saxon_java.java():
                answered = saxon_java.session(text, query, count, seconds=4 * seconds)
                answers[java] = answered or Measured((), None, LATE)


def _child(*arguments: str | Path, seconds: float | None = None) -> Any:
    """What a process of our own has measured; ``None`` where it took longer than ``seconds``."""
    command = [sys.executable, "-m", "benchmarks.store.child", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    try:
        ended = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return None
    return json.loads(ended.stdout)


def _load(text: Path, store: Path, times: int) -> Loading:
    found = []
    for _ in range(times):
        store.unlink(missing_ok=True)
        told = _child("load", text, store)
        found.append(Loading(told["seconds"], told["memory"], store.stat().st_size / 1e6))
    return _median(found)


def _median(loads: Sequence[Loading]) -> Loading:
    seconds, memory, size = (
        _middle([value for load in loads if (value := getattr(load, field)) is not None])
        for field in ("seconds", "memory", "size")
    )
    assert seconds is not None
    return Loading(seconds, memory, size)


def _middle(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _answered(told: Any) -> Measured:
    if told is None:
        return Measured((), None, LATE)
    if "refused" in told:
        print(told["refused"], file=sys.stderr)
        return Measured((), None, REFUSED)
    return Measured(tuple(told["times"]), Answer(told["items"], told["digest"]))


def agreed(asked: Asked, found: dict[str, Measured]) -> None:
    """Raise :class:`DisagreementError` where two engines gave different answers."""
    answers = {engine: measured.answer for engine, measured in found.items() if measured.answer is not None}
    if len(set(answers.values())) > 1:
        raise DisagreementError(f"{asked.shape}: {answers}")


def _once(text: Path, asked: Asked, seconds: float) -> dict[str, float | str]:
    """Seconds of a whole process from a file to its answer."""
    commands = {HEPTOX: [sys.executable, "-m", "heptox", "eval", asked.text, str(text)]}
    if basex.java():
        commands[BASEX_MEMORY] = basex.once(text, asked.text)
    child = [sys.executable, "-m", "benchmarks.store.child", "saxon-once", str(text)]
    commands[SAXON] = [*child, asked.text]
    if asked.with_maps is not None:
        commands[SAXON_MAPS] = [*child, asked.with_maps]
    if saxon_java.java():
        commands[SAXON_JAVA] = saxon_java.once(text, asked.text)
        if asked.with_maps is not None:
            commands[SAXON_JAVA_MAPS] = saxon_java.once(text, asked.with_maps)
    return {engine: _timed(command, seconds) for engine, command in commands.items()}


def _timed(command: Sequence[str], seconds: float) -> float | str:
    """The median seconds of a process, or why there is none."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    null = subprocess.DEVNULL
    times = []
    for _ in range(ONCE):
        began = time.perf_counter()
        try:
            ended = subprocess.run(command, env=environment, stdin=null, stdout=null, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return LATE
        if ended.returncode:
            return REFUSED
        times.append(time.perf_counter() - began)
    return statistics.median(times)
