"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest import mock

import pytest
from hypothesis import settings

from heptox.cluster import spark_session
from heptox.demo import Network, network
from heptox.errors import InputError
from tests.cluster.scripts import QUICK
from tests.peer.daemons import starting
from tests.support.budget import LONG, tries
from tests.support.shared import MISSING, SHARED, may_be_missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The same examples in every run, however busy the machine; long runs look for new ones, and keep those that fail.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=tries(100))
settings.register_profile("search", deadline=None, max_examples=tries(100), print_blob=True)
settings.load_profile("search" if LONG else "same")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that puts the tests in the background lets them ignore interrupts, and all that they begin.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Reports go from process to process as UTF-8, which has no place for what some tests write on purpose."""
    report = yield
    report.sections = [(name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """Tests that read what lies beside the project are skipped where it is not there."""
    with _skipping():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    with _skipping():
        yield


@contextmanager
def _skipping() -> Iterator[None]:
    try:
        yield
    except (InputError, OSError) as error:
        if may_be_missing() and str(SHARED) in str(error):
            pytest.skip(MISSING)
        raise


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A session of Spark on two cores of this machine. Tests that use it leave no view and no setting behind.

    A process can have one: tests that start others do so in other processes, or are before those that use it.
    """
    with spark_session("local[2]", name="tests", settings=QUICK, memory="2g") as session:
        yield session


@pytest.fixture(scope="session")
def hospitals() -> Iterator[Network]:
    """The three hospitals of the demonstration as running peers. Tests that use them leave them as they are."""
    with mock.patch("heptox.demo.network._start", starting), network(patients=60, seed=7) as running:
        yield running
