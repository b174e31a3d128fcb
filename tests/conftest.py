"""Fixtures that several rooms' tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from heptox.demo import Network, network

# The same examples in every run, however busy the machine; `--hypothesis-profile=search` looks for new ones.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("same")


@pytest.fixture(scope="session")
def hospitals() -> Iterator[Network]:
    """The three hospitals of the demonstration as running peers. Tests that use them leave them as they are."""
    with network(patients=60, seed=7) as running:
        yield running
