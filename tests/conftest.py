"""Fixtures that several rooms' tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from heptox.demo import Network, network


@pytest.fixture(scope="session")
def hospitals() -> Iterator[Network]:
    """The three hospitals of the demonstration as running peers. Tests that use them leave them as they are."""
    with network(patients=60, seed=7) as running:
        yield running
