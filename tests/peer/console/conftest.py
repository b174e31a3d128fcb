"""What the tests of the console's operations share: a running peer of their own, and somebody with its token."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from heptox.peer import ControlAddress
from heptox.peer.control.client import http_client
from tests.peer.daemons import DEADLINE, Daemon, acquaint, daemon, hospital_peer


@pytest.fixture(scope="package")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Montreal, acquainted with Boston, which does not run."""
    folder = tmp_path_factory.mktemp("console")
    montreal, boston = hospital_peer(folder / "montreal", "montreal", 3), hospital_peer(folder / "boston", "boston", 3)
    with daemon(boston) as other, daemon(montreal) as running:
        acquaint(montreal, other, "montreal-boston.arrows")
        yield running


@pytest.fixture
def http(peer: Daemon) -> Iterator[httpx.Client]:
    address = ControlAddress.read(peer.folder)
    assert address
    with http_client(address, {"Authorization": f"Bearer {address.token}"}) as client:
        client.timeout = httpx.Timeout(DEADLINE)
        yield client
