"""Some kills of a peer under load; ``python -m tests.kills`` does as many as one has time for."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.kills.attack import LostError
from tests.kills.ledger import Register
from tests.kills.siege import Siege
from tests.peer.daemons import daemon


def test_kill_9_at_random_moments_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    siege = Siege(tmp_path, seed=4)
    peer = tmp_path / "besieged"
    with siege.laid():
        siege.kill_while_starting()
        for _ in range(3):
            siege.kill_under_load()
        siege.run(0)
        figures = siege.figures
        assert figures["looks"] == 4
        assert figures["loaded, acknowledged"] and figures["acquainted, acknowledged"]
        assert figures["queries of which the neighbour saw the end"]

        # and what is lost is seen
        changed, removed, *_ = sorted((peer / "documents").iterdir())
        changed.write_bytes(changed.read_bytes() + b" ")
        removed.unlink()
        (peer / "acquaintances" / "neighbour.toml").unlink()
        log = (peer / "audit.log").read_bytes().splitlines(keepends=True)
        query = min(siege.answered.ended)
        asked = next(line for line in log if b'"asked"' in line and query.encode() in line)
        loaded = next(line for line in log if json.loads(line)["event"] == "loaded")
        kept = (line for line in log if line not in (asked, loaded))
        (peer / "audit.log").write_bytes(loaded[:-20] + b"\n" + b"".join(kept))
        with daemon(peer) as besieged, pytest.raises(LostError) as raised:
            siege.look(besieged)
    told = str(raised.value)
    assert f"{changed.name} is " in told
    assert f"{removed.name} is None" in told
    assert "neighbour is None" in told
    assert f"query {query} was answered, but is not in the log" in told
    assert f"loaded {json.loads(loaded)['document']}: " in told
    assert "a line of the audit log is none: " in told


def test_what_was_cut_off_may_be_done_or_not_and_nothing_else() -> None:
    register = Register[str]()
    with register.changing("one", "loaded", "1"):
        pass
    assert register.settle({"one": "1"}) == []
    with pytest.raises(OSError), register.changing("one", "loaded", "2"):
        raise OSError
    assert register.settle({"one": "3"}) == ["one is '3', not '1' or '2'"]
    for found in ({"one": "2"}, {"one": "3"}, {}):
        cut_off = Register[str](acknowledged={"one": "2"}, pending={"one": ("removed", None)})
        assert bool(cut_off.settle(found)) == (found == {"one": "3"})
        assert cut_off.acknowledged == found
    assert Register[str]().settle({"new": "1"}) == ["new is '1', not None"]


def test_a_change_is_written_down_once_and_one_that_was_cut_off_at_most_once() -> None:
    register = Register[str](counts=Counter({("a", "loaded"): 2}), cut_off=Counter({("a", "loaded"): 1}))
    for lines in range(5):
        wrong = register.miscounted(Counter({("a", "loaded"): lines}))
        assert bool(wrong) == (lines not in (2, 3))
    assert register.miscounted(Counter({("a", "loaded"): 2, ("b", "loaded"): 1}))
