"""What tests of several commands share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.cluster.scripts import QUICK_JAVA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def quick_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """For commands that start Spark with settings of their own: its Java compiles less, which short work is done by."""
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK_JAVA)


@pytest.fixture
def shared_spark(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    """For commands that start Spark: they get the session that all tests share, with their own settings of SQL."""

    @contextmanager
    def session(
        master: str, *, settings: Mapping[str, str] | None = None, memory: str | None = None
    ) -> Iterator[SparkSession]:
        assert (master, memory) == ("local[2]", None)
        wanted = settings or {}
        before = {name: spark.conf.get(name) or "" for name in wanted}
        try:
            for name, value in wanted.items():
                spark.conf.set(name, value)
            yield spark
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)

    monkeypatch.setattr("heptox.cluster.spark_session", session)
