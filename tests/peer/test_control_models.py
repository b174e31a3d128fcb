"""What the client reads: the models that the server sends, from daemons of other versions too."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from heptox.errors import Fault, PeerError, Position
from heptox.peer.control.client import _error, _validated
from heptox.peer.models.control import Faults, HiddenModel, ItemLine, Origin

ITEM = ItemLine(item="<a/>", origin=Origin(peer="12D3", name="boston", path=("montreal", "boston")), repeated=False)


def test_faults_are_read_as_they_were_sent_also_those_that_are_not_utf8() -> None:
    faults = (
        Fault("HX7054", "no \udc80 address", Position(1, 2, "a"), hint="one"),
        Fault("HX1001", "x", file="\udcff"),
    )
    sent = json.dumps(Faults.of(PeerError(faults)).to_json())
    assert _error(json.loads(sent)).faults == faults


def test_what_only_a_newer_daemon_says_is_left_out() -> None:
    sent: dict[str, Any] = ITEM.to_json()
    sent["origin"]["country"] = sent["age"] = "new"
    assert _validated(TypeAdapter(ItemLine), sent) == ITEM


@pytest.mark.parametrize("sent", [None, [], {}, {"item": 1}, {**ITEM.to_json(), "origin": "boston"}])
def test_what_is_no_answer_is_refused_by_name(sent: object) -> None:
    with pytest.raises(PeerError, match="HX7060"):
        _validated(TypeAdapter(ItemLine), sent)
    assert [fault.code for fault in _error(sent).faults] == ["HX7060"]


def test_members_have_the_names_that_are_sent() -> None:
    assert HiddenModel(paths=("//a",), whom="all").to_json() == {"paths": ["//a"], "from": "all"}
