"""The daemon that the attacks of several modules share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.handlers.target import attacked_daemon
from tests.hostile.attacks import stop
from tests.hostile.victims import Victim


@pytest.fixture(scope="package")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Victim]:
    with attacked_daemon(tmp_path_factory.mktemp("handlers")) as (running, target, friend):
        yield Victim(running, target, friend)
        stop(running)
