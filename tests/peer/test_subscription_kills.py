"""Some kills of a peer with subscribers; ``python -m tests.kills --of subscriptions`` does more of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.kills.attack import LostError
from tests.kills.subscribers import Subscribers
from tests.peer.daemons import daemon


def test_kill_9_at_random_moments_loses_no_subscription_and_no_notification(tmp_path: Path) -> None:
    subscribers = Subscribers(tmp_path, seed=3)
    with subscribers.laid():
        rounds = 0
        while rounds < 2 or not subscribers.acknowledged("either"):  # nobody gets that far soon on a busy machine
            subscribers.kill_under_load()
            rounds += 1
        subscribers.run(0)
        figures = subscribers.figures
        assert figures["looks"] == rounds + 2
        assert figures["documents, acknowledged"] and figures["acknowledgements"]
        assert figures["subscriptions added, acknowledged"]

        # and what is lost is seen
        log = sqlite3.connect(tmp_path / "besieged" / "subscriptions.sqlite")
        with log:
            log.execute("DELETE FROM subscription WHERE name = 'even'")
            log.execute("UPDATE notification SET document = 1 WHERE subscription = 1 AND sequence = 2")
            log.execute("UPDATE subscription SET acknowledged = 0 WHERE name = 'either'")
            log.execute("UPDATE subscription SET last = last + 1 WHERE name = 'all'")
        log.close()
        with daemon(tmp_path / "besieged") as besieged, pytest.raises(LostError) as raised:
            subscribers.look(besieged)
    told = str(raised.value)
    assert "even is not there" in told
    assert "all told 2 to be" in told and "all is told 2 times of" in told and "all is not told of" in told
    assert "either is acknowledged up to 0, not" in told
    assert "all leaves numbers out" in told
