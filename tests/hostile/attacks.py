"""What attacks have in common: how long the event loop of a daemon is held meanwhile, and whether its owner is served.

A step of the loop counts by the time of its own thread on a processor, so that a loaded machine fails no test.
"""

from __future__ import annotations

import json
import logging
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from heptox.peer import ControlAddress
from tests.peer.daemons import DEADLINE, Daemon, ask, log_of, memory_of
from tests.peer.test_metrics import scrape

_log = logging.getLogger(__name__)


@contextmanager
def no_stall(*daemons: Daemon, growth: int) -> Iterator[None]:
    """Nothing in the block holds the event loops over the limit, or takes more than so many bytes for good."""
    before = {daemon.folder: _stalls(daemon) for daemon in daemons}
    memory = {daemon.folder: memory_of(daemon.process.pid) for daemon in daemons}
    yield
    for daemon in daemons:
        numbers = scrape(daemon.folder)
        longest = [numbers(f"heptox_loop_longest_step_{name}seconds") for name in ("", "clock_")]
        _log.info("%s: the longest step took %.3f s, by the clock %.3f s", daemon.folder.name, *longest)
        held = [line for line in log_of(daemon.folder).read_text().splitlines() if "the event loop was held" in line]
        assert _stalls(daemon) == before[daemon.folder], held
        assert memory_of(daemon.process.pid) - memory[daemon.folder] < growth


def _stalls(daemon: Daemon) -> float:
    return scrape(daemon.folder)("heptox_loop_stalls")


def served(daemon: Daemon, query: str) -> None:
    """The owner looks whether the daemon serves, and asks it: both are answered."""
    address = ControlAddress.read(daemon.folder)
    assert address
    with urllib.request.urlopen(f"{address.url}/healthz", timeout=DEADLINE) as answer:
        assert json.load(answer)["status"] == "ok"
    items, receipt = ask(daemon.folder, query, hops=0)
    assert items
    assert receipt["complete"]
