"""Some kills of peers that publish, relay and subscribe; ``python -m tests.kills --of feeds`` does more of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.kills.attack import LostError
from tests.kills.feeds import Feeds


def test_kill_9_at_random_moments_loses_no_document_that_was_subscribed_to_elsewhere(tmp_path: Path) -> None:
    feeds = Feeds(tmp_path, seed=3)
    with feeds.laid():
        feeds.run(2)
        figures = feeds.figures
        assert figures["deliveries that had to be"] > 100
        assert figures["subscriptions added"] > 10

        # and what is lost, or comes twice, is seen
        with closing(sqlite3.connect(tmp_path / "s0" / "subscriptions.sqlite")) as log, log:
            number, first = log.execute(
                "SELECT subscription, document FROM notification WHERE sequence = 1 AND subscription ="
                " (SELECT min(number) FROM subscription WHERE text = '/a')"
            ).fetchone()
            log.execute("UPDATE notification SET document = ? WHERE subscription = ? AND sequence = 2", (first, number))
        with pytest.raises(LostError, match=r"\(/a\) is told 2 times of") as raised:
            feeds.look(seconds=0)
        assert "(/a) is not told of" in str(raised.value)
