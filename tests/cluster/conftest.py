"""The Spark session that tests share. A process can have one: tests that start others do so in other processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from heptox.cluster import spark_session
from tests.cluster.scripts import QUICK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session on two cores of this machine. Tests that use it leave no view and no setting behind."""
    with spark_session("local[2]", name="tests", settings=QUICK, memory="2g") as session:
        yield session
