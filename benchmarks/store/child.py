"""What is measured in a process of its own: ``python -m benchmarks.store.child WHAT ARGUMENT...`` prints it as JSON."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from saxonche import PySaxonApiError, PySaxonProcessor

from benchmarks.store.answers import Answer
from benchmarks.store.workload import counted
from heptox.cluster import XMARK
from heptox.grammar import parse_query
from heptox.schema import parse_dtd
from heptox.store import Store, plan_query, query

LONG: Final = 5.0
"""Seconds after which a query is not run again."""


def load(document: str, file: str) -> dict[str, object]:
    """Seconds of a load into a new store in a file, from opening it to closing it; megabytes of memory at most."""
    graph = parse_dtd((XMARK / "auction.dtd").read_text(encoding="utf-8"), "site")
    began = time.perf_counter()
    with Store.open(Path(file), graph) as store:
        store.load("auction", Path(document))
    return {"seconds": time.perf_counter() - began, "memory": peak()}


def reopen(file: str, text: str) -> dict[str, object]:
    """Seconds from a store that is closed to the answer of a first query; modules and grammar are loaded already."""
    graph = parse_dtd((XMARK / "auction.dtd").read_text(encoding="utf-8"), "site")
    parse_query(text)  # which loads the grammar, once in a process
    began = time.perf_counter()
    with Store.open(Path(file), graph) as store:
        list(query(store, plan_query(parse_query(text), store.catalogue)))
        return {"seconds": time.perf_counter() - began}


def heptox(file: str, text: str, count: str) -> dict[str, object]:
    """Seconds of a query on a store, from its text to its serialised items."""
    graph = parse_dtd((XMARK / "auction.dtd").read_text(encoding="utf-8"), "site")
    with Store.open(Path(file), graph) as store:
        return _answered(lambda: list(query(store, plan_query(parse_query(text), store.catalogue))), int(count))


def saxon(document: str, text: str, count: str) -> dict[str, object]:
    """Seconds of parsing a document, and of a query on it from its text to its serialised items.

    Its parser has limits of its own; what it says of a document beyond them is ``refused``.
    """
    with PySaxonProcessor(license=False) as processor:
        began = time.perf_counter()
        try:
            parsed = processor.parse_xml(xml_file_name=document)
        except PySaxonApiError as error:
            return {"refused": str(error)}
        parsing = time.perf_counter() - began
        memory = peak()
        compiler = processor.new_xquery_processor()
        compiler.set_context(xdm_item=parsed)
        compiler.set_property("!method", "adaptive")
        compiler.set_property("!item-separator", "\n")
        compiler.set_property("!omit-xml-declaration", "yes")

        def run() -> list[str]:
            compiler.set_query_content(text)
            return str(compiler.run_query_to_string()).split("\n")

        return {"parsing": parsing, "memory": memory, **_answered(run, int(count))}


def saxon_once(document: str, text: str) -> None:
    """Print the answer of a query on a file, as a program would that does nothing else."""
    with PySaxonProcessor(license=False) as processor:
        compiler = processor.new_xquery_processor()
        compiler.set_context(file_name=document)
        compiler.set_query_content(text)
        print(compiler.run_query_to_string())


def _answered(run: Callable[[], list[str]], count: int) -> dict[str, object]:
    times: list[float] = []
    items: list[str] = []
    while len(times) < count and sum(times) < LONG:
        began = time.perf_counter()
        items = run()
        times.append(time.perf_counter() - began)
    answer = Answer.of(items)
    return {"times": counted(times), "items": answer.items, "digest": answer.digest}


def peak() -> float | None:
    """The megabytes of memory that this process had at most; nothing where the system does not tell."""
    try:
        found = re.search(r"^VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) / 1024 if found else None


MEASURED: Final[dict[str, Callable[..., object]]] = {
    "load": load,
    "reopen": reopen,
    "heptox": heptox,
    "saxon": saxon,
    "saxon-once": saxon_once,
}

if __name__ == "__main__":
    measured = MEASURED[sys.argv[1]](*sys.argv[2:])
    if measured is not None:
        print(json.dumps(measured))
