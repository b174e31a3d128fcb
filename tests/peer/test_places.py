"""Who makes room for newcomers."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace

import pytest
import trio

from heptox.peer.wire.places import Places
from heptox.peer.wire.swarm import _host


def test_a_newcomer_gets_in_and_who_takes_many_places_loses_its_own() -> None:
    chance = random.Random(7)
    places, modest = Places(20), trio.CancelScope()
    places.enter(modest, "modest", "peer")
    for number in range(1000):
        scope = trio.CancelScope()
        places.enter(scope, f"host {chance.randrange(5)}", f"peer {number}")
        assert scope in places
        assert modest in places
        assert len(places) <= 20


def test_within_an_address_it_is_the_peer_that_has_most() -> None:
    places, modest = Places(6), trio.CancelScope()
    places.enter(modest, "host", "modest")
    scopes = [trio.CancelScope() for _ in range(20)]
    for scope in scopes:
        places.enter(scope, "host", "greedy")
    assert modest in places
    assert [scope in places for scope in scopes] == [False] * 15 + [True] * 5, "the oldest first"


def test_one_group_has_no_more_than_its_share_though_there_are_places() -> None:
    places, hosts = Places(100, 3), Counter[str]()
    scopes = {trio.CancelScope(): f"host {number % 4}" for number in range(40)}
    for scope, host in scopes.items():
        places.enter(scope, host)
    hosts.update(host for scope, host in scopes.items() if scope in places)
    assert set(hosts.values()) == {3}
    for scope in scopes:
        places.leave(scope)
    assert not len(places)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
    ],
)
def test_an_address_of_version_6_stands_for_its_network(one: str, other: str, same: bool) -> None:
    hosts = [
        _host(SimpleNamespace(stream=SimpleNamespace(socket=SimpleNamespace(getpeername=lambda: (address, 1)))))  # noqa: B023
        for address in (one, other)
    ]
    assert (hosts[0] == hosts[1]) is same
