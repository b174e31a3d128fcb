"""What an emulation reports: as values, as text, as figures, and as a page.

``report.json`` follows from the plan and its seed alone: the same bytes wherever an emulation runs. All that was
measured is in ``times.json``.
"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from math import isfinite
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from typing import Any, Final

from heptox.cluster.figures import Drawing, draw_arrival, draw_breakdown, draw_hops
from heptox.cluster.outcome import Check, Outcome, QueryOutcome
from heptox.cluster.page import outcome_page
from heptox.cluster.summary import (
    BROUGHT,
    Spread,
    answer_curve,
    asked,
    breakdown,
    evaluation_times,
    hop_statuses,
    outward,
    reached,
    share,
    statuses,
    time_of,
    total_seconds,
    translation_times,
)
from heptox.cluster.tables import Table, plain_console, print_comparison, print_outcome
from heptox.errors import ClusterError, Fault
from heptox.peer import Status, write_atomically
from heptox.printable import on_one_line

_DIGITS: Final = 6
"""How many digits after the point a number has in a report."""
_MODE: Final = 0o666
"""Reports are for everybody whom the umask leaves them to."""
_PATH_COLUMNS: Final = ("query", "asker", "path", "status", "items", "beyond", "reason", "arrived", "first", "last")


def report_value(outcome: Outcome) -> dict[str, Any]:
    """The content of ``report.json``: all that follows from the plan and its seed; times are virtual milliseconds."""
    value = {
        "plan": dict(outcome.plan),
        "network": {
            "peers": dict(outcome.network.peers),
            "acquaintances": outcome.network.acquaintances,
            "least": outcome.network.least,
            "most": outcome.network.most,
            **({"names": list(outcome.network.names)} if outcome.network.names else {}),
        },
        "queries": [_query_value(query) for query in outcome.queries],
        "supersteps": [
            {
                "begin": step.begin,
                "peers": step.peers,
                "events": step.events,
                "messages": step.messages,
                "translations": step.translations,
                "statements": step.statements,
            }
            for step in outcome.supersteps
        ],
        "messages": dict(outcome.messages),
        "bytes": dict(outcome.bytes),
        "lost": outcome.lost,
        "departures": outcome.departures,
        "check": _check_value(outcome.check),
    }
    return _object(value)


def times_value(outcome: Outcome) -> dict[str, Any]:
    """The content of ``times.json``: all that was measured, in seconds, but for queries, in milliseconds, and bytes."""
    taken = [step.seconds for step in outcome.supersteps]
    value = {
        "seconds": dict(outcome.times.seconds),
        "all_seconds": total_seconds(outcome),
        "supersteps": {
            "seconds": taken,
            "median": median(taken) if taken else None,
            "maximum": max(taken, default=None),
        },
        "queries": [_query_times_value(query, outcome.plan) for query in outcome.queries],
        "memory": outcome.times.memory,
        "machine": outcome.times.cpu,
    }
    return _object(value)


def report_text(outcome: Outcome) -> str:
    """The content of ``report.txt``: every table as plain text."""
    file = StringIO()
    print_outcome(plain_console(file), outcome)
    return file.getvalue()


def paths_text(outcome: Outcome) -> str:
    """The content of ``paths.csv``: the status of each query on each path; times are virtual milliseconds."""
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_PATH_COLUMNS)
    for query in outcome.queries:
        for row in _path_rows(query):
            writer.writerow([on_one_line(query.name), query.asker, *row])
    return file.getvalue()


def comparison_text(sentence: str, checks: Sequence[Check], tables: Sequence[Table], remarks: Sequence[str]) -> str:
    """Several emulations put together, as plain text."""
    file = StringIO()
    print_comparison(plain_console(file), sentence, checks, tables, remarks)
    return file.getvalue()


def outcome_drawings(outcome: Outcome) -> tuple[Drawing, ...]:
    """The figures about one emulation."""
    return draw_arrival(outcome), draw_hops(outcome), draw_breakdown(outcome)


def write_report(outcome: Outcome, folder: Path) -> tuple[Path, ...]:
    """Write all about an emulation into a folder, which is made where there is none; the files, ``report.html`` first.

    Each file is there as a whole or as it was before. Raises :class:`ClusterError` (HX8050).
    """
    drawings = outcome_drawings(outcome)
    return write_files(
        folder,
        {
            "report.html": outcome_page(outcome, drawings),
            "report.txt": report_text(outcome),
            "report.json": json_text(report_value(outcome)),
            "times.json": json_text(times_value(outcome)),
            "paths.csv": paths_text(outcome),
            **{f"{drawing.name}.svg": drawing.svg for drawing in drawings},
        },
    )


def make_report_folder(folder: Path) -> None:
    """Make the folder of a report, and see that it can be written to. Raises :class:`ClusterError` (HX8050)."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritten(folder, error) from error


def _unwritten(place: Path, error: OSError) -> ClusterError:
    message = f"report cannot be written: {error.strerror or error}"
    return ClusterError(Fault("HX8050", message, file=str(place), hint="give a folder that can be written to"))


def write_files(folder: Path, contents: Mapping[str, str | bytes]) -> tuple[Path, ...]:
    """Write files into a folder, which is made where there is none. Raises :class:`ClusterError` (HX8050)."""
    written = []
    place = folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            place = folder / name
            write_atomically(place, content.encode() if isinstance(content, str) else content, _MODE)
            written.append(place)
    except OSError as error:
        raise _unwritten(place, error) from error
    return tuple(written)


def json_text(value: Mapping[str, Any]) -> str:
    """JSON with sorted keys; a character outside ASCII is escaped, so that every name can be written."""
    return f"{json.dumps(value, indent=1, sort_keys=True, allow_nan=False)}\n"


def _query_value(query: QueryOutcome) -> dict[str, Any]:
    curve = answer_curve(query)
    return {
        "name": query.name,
        "asker": query.asker,
        "paths": len(outward(query)),
        "asked": len(asked(query)),
        "reached": reached(query),
        "statuses": _status_value(statuses(query)),
        "hops": {str(hops): _status_value(ends) for hops, ends in hop_statuses(query).items()},
        "items": query.items,
        "expected": query.expected,
        "arrived": share(query.items, query.expected),
        "complete": query.complete,
        "semantic_path_length": query.semantic_path_length,
        "first": min((path.first for path in query.paths if path.first is not None), default=None),
        "brought": {f"{part:.0%}": time_of(curve, part) for part in BROUGHT},
        "concluded": query.concluded,
        "sha256": hashlib.sha256(json.dumps(list(_path_rows(query))).encode()).hexdigest(),
    }


def _query_times_value(query: QueryOutcome, plan: Mapping[str, object]) -> dict[str, Any]:
    parts = breakdown(query, plan)
    return {
        "name": query.name,
        "asker": query.asker,
        "translation": _spread_value(translation_times(query)),
        "evaluation": _spread_value(evaluation_times(query)),
        "breakdown": parts
        and {
            "paths": parts.paths,
            "translation": parts.translation,
            "network": parts.network,
            "evaluation": parts.evaluation,
        },
    }


def _spread_value(of: Spread) -> dict[str, Any]:
    return {"count": of.count, "average": of.average, "maximum": of.maximum}


def _status_value(counts: Mapping[Status, int]) -> dict[str, int]:
    return {status.value: number for status, number in counts.items()}


def _check_value(check: Check) -> dict[str, Any]:
    return {
        "passed": check.passed,
        "pairs": check.pairs,
        "paths": check.paths,
        "wrong": check.wrong,
        "untold": check.untold,
        "faults": list(check.faults),
    }


def _path_rows(query: QueryOutcome) -> Iterator[Sequence[Any]]:
    for path in query.paths:
        way = " ".join(str(peer) for peer in path.path)
        times = (_exact(path.arrived), _exact(path.first), _exact(path.last))
        yield way, path.status.value, path.items, path.beyond, on_one_line(path.reason), *times


def _object(value: dict[str, Any]) -> dict[str, Any]:
    return {key: _exact(part) for key, part in value.items()}


def _exact(value: Any) -> Any:
    """A value as JSON has it; numbers are rounded here alone, and never a negative zero."""
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0 if isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _exact(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(part) for part in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
