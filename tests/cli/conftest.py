"""What tests of several commands share."""

from __future__ import annotations

import pytest

from tests.cluster.scripts import QUICK_JAVA


@pytest.fixture
def quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands that start Spark with settings of their own: its Java compiles less, which short work is done by."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_JAVA)
