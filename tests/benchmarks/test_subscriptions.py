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
        matched = next(match for match in storm.published if match.notified)
        storm.published = [replace(matched, notified=frozenset())]
        assert storm.wrong(), "what is wrong is seen"
        storm.published = [replace(matched, value=matched.value + 1)]
        assert storm.wrong()
