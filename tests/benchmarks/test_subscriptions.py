"""Subscriptions that come and go while documents are matched, fewer than the benchmark has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.subscriptions import Storm
from heptox.matching import Broker, MemoryMatcher, SubscriptionLog


def test_no_decision_is_wrong_while_subscriptions_come_and_go(tmp_path: Path) -> None:
    with SubscriptionLog(tmp_path / "log.sqlite") as log:
        storm = Storm(Broker(log, MemoryMatcher()), seed=2)
        storm.blow(300, held=30)
        assert storm.wrong() == []
        assert log.check() == []
        assert sum(1 for _ in log.subscriptions()) == 30
        published = storm.published  # what came or went meanwhile may be notified or not
        storm.published = [replace(match, notified=frozenset()) for match in published]
        assert storm.wrong(), "what is wrong is seen"
        storm.published = [replace(match, value=match.value + 1) for match in published]
        assert storm.wrong()
