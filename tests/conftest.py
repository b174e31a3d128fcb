"""Fixtures that several rooms' tests share."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final
from unittest import mock

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from heptox.cluster import spark_session
from heptox.demo import Network, network
from heptox.errors import InputError
from heptox.garbage import uncollected
from tests.cluster.scripts import QUICK
from tests.peer.daemons import starting
from tests.support.budget import has_turn, tries
from tests.support.shared import MISSING, tells_missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Whatever the examples, and however busy the machine.
_UNHURRIED: Final = (HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large)
settings.register_profile(
    "search", deadline=None, max_examples=tries(100), print_blob=True, suppress_health_check=_UNHURRIED
)
settings.load_profile("search")

_SPARK: Final = (
    "tests/cli/test_emulate.py",  # starts Spark itself, which it cannot where others share a session
    "tests/cli/test_mapping.py",
    "tests/cli/test_matching.py",
    "tests/cli/test_filtering.py",
    "tests/cluster/test_session.py",
    "tests/cluster/test_relations.py",
    "tests/cluster/test_exchange.py",
    "tests/cluster/test_feed_experiments.py",
    "tests/cluster/test_filtering.py",
    "tests/cluster/test_matching.py",
    "tests/cluster/test_real_peers.py",
    "tests/cluster/test_value_functions.py",
)
"""Files that share one session of Spark, in this order."""
_IN_TURN: Final = (
    (
        "tests/peer/test_faults.py",
        "tests/examples/test_transformations.py",
        "tests/benchmarks/test_rewriting.py",
        "tests/cli/test_matching.py",
        "tests/hostile/test_connections.py",
        "tests/console/test_forms.py",
        "tests/peer/test_libp2p.py",
        "tests/peer/test_course_feeds.py",
        "tests/peer/test_followed_queries.py",
        "tests/schema/inference/test_laws.py",
        "tests/peer/test_subscriptions.py",
    ),
    (
        "tests/test_installation.py",
        "tests/rewriting/test_translated.py",
        "tests/hostile/test_neighbours.py",
        "tests/cluster/test_relations.py",
        "tests/peer/test_network.py",
        "tests/peer/test_acquaintances.py",
        "tests/cluster/test_real_peers.py",
        "tests/peer/test_supervision.py",
        "tests/feed/test_delivery.py",
        "tests/console/test_opening.py",
        "tests/verification/test_verifying.py",
        "tests/hostile/test_history.py",
        "tests/cli/test_subscription.py",
    ),
    (
        "tests/console/test_arrows.py",
        "tests/hostile/test_stalls.py",
        "tests/benchmarks/test_chunking.py",
        "tests/cli/test_acquaintances.py",
        "tests/mapping/suggesting/test_known_mappings.py",
        "tests/console/test_ask.py",
        "tests/hostile/test_written.py",
        "tests/filtering/test_xpath3.py",
        "tests/peer/test_foreign_client.py",
        "tests/cluster/test_experiments.py",
        "tests/peer/test_feed_network.py",
        "tests/rewriting/test_mapping_program.py",
        "tests/fuzz/test_ledger.py",
    ),
    (
        "tests/test_project.py",
        "tests/hostile/test_queries.py",
        "tests/console/test_watch.py",
        "tests/examples/test_courses.py",
        "tests/peer/test_counts.py",
        "tests/benchmarks/test_network.py",
        "tests/cluster/test_matching.py",
        "tests/console/test_late_answers.py",
        "tests/peer/test_feeding.py",
        "tests/cluster/test_filtering.py",
        "tests/console/test_screenshots.py",
        "tests/peer/test_logs.py",
        "tests/schema/test_xsd_laws.py",
        "tests/mapping/test_namespaces.py",
    ),
    (
        "tests/cluster/test_standalone.py",
        "tests/hostile/test_handlers.py",
        "tests/peer/test_namespaced_network.py",
        "tests/peer/test_incomplete.py",
        "tests/cluster/test_session.py",
        "tests/peer/test_earlier_version.py",
        "tests/peer/test_own_words.py",
        "tests/peer/test_feeds.py",
        "tests/support/filtering/test_making.py",
        "tests/feed/test_lying.py",
        "tests/test_tour.py",
        "tests/peer/test_audit.py",
        "tests/peer/test_background.py",
        "tests/peer/test_api_schema.py",
        "tests/cluster/test_documents.py",
    ),
    (
        "tests/console/test_hostile.py",
        "tests/cli/test_emulate.py",
        "tests/peer/test_exports.py",
        "tests/hostile/test_control_bytes.py",
        "tests/cli/test_filtering.py",
        "tests/schema/inference/test_real_documents.py",
        "tests/hostile/test_offers.py",
        "tests/console/test_namespaces.py",
        "tests/peer/test_feed_churn.py",
        "tests/peer/test_control.py",
        "tests/peer/test_feed_kills.py",
        "tests/peer/test_kills.py",
        "tests/peer/console/test_drawings.py",
        "tests/grammar/test_query_parser.py",
        "tests/filtering/test_cleaning.py",
    ),
)
"""Files that take long, in groups that take about as long: one has its turn (``tests/support/budget.py``)."""
_ALWAYS: Final = (
    "tests/translate/test_oracle.py",
    "tests/peer/test_daemon.py",
    "tests/cli/test_evaluate.py",
    "tests/store/test_querying.py",
    "tests/pattern/test_value_functions.py",
    "tests/translate/test_random_mappings.py",
    "tests/mapping/test_stored_exchange.py",
    "tests/peer/test_answering.py",
    "tests/translate/test_definition.py",
    "tests/cli/test_application.py",
    "tests/cluster/test_emulation.py",
    "tests/matching/test_memory.py",
    "tests/matching/test_disk.py",
    "tests/translate/test_scenarios.py",
    "tests/cases/test_cases.py",
    "tests/shell/test_random.py",
    "tests/store/test_shredding.py",
    "tests/cli/test_demo.py",
    "tests/translate/test_counting.py",
)
"""Files that take long, and are part of each run."""
_FIRST: Final = tuple(dict.fromkeys((*_SPARK, *(file for group in _IN_TURN for file in group), *_ALWAYS)))
"""Files in their order: the longest first, so that none is left to the end while other processes have nothing to do."""

_YOUNG, _MIDDLE, _OLD = 700, 10, 1000
"""Python's own thresholds of its collector, but for the last: all objects are looked through a hundredth as often."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that puts the tests in the background lets them ignore interrupts, and all that they begin.
    signal.signal(signal.SIGINT, signal.default_int_handler)


class _Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """A file's tests run in one process, one after the other; so do all of the files that share a session of Spark."""

    def _split_scope(self, nodeid: str) -> str:
        file: str = super()._split_scope(nodeid)
        return _SPARK[0] if file in _SPARK else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _Scheduling:
    return _Scheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected is garbage."""
    with uncollected():
        return (yield)


def pytest_collection_finish() -> None:
    """Nor is what tests keep for others, through which Python would look once for every quarter that is added."""
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _OLD)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    order = {file: number for number, file in enumerate(_FIRST)}
    waiting = {file for number, group in enumerate(_IN_TURN) if not has_turn(number, len(_IN_TURN)) for file in group}
    left = [item for item in items if _file_of(item) in waiting]
    if left:
        config.hook.pytest_deselected(items=left)
    items[:] = sorted(
        (item for item in items if _file_of(item) not in waiting),
        key=lambda item: order.get(_file_of(item), len(order)),
    )


def _file_of(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


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
        if tells_missing(error):
            pytest.skip(MISSING)
        raise


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep what tests read in no user's cache, but in one that all processes of this run share."""
    own = tmp_path_factory.getbasetemp()
    cache = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "cache"
    with mock.patch.dict("os.environ", {"XDG_CACHE_HOME": str(cache)}):
        yield


@pytest.fixture(scope="session", autouse=True)
def _unhurried_translation() -> Iterator[None]:
    """What a translation may take in this process is bounded so that it ends, not by how fast the machine is."""
    with mock.patch("heptox.translate.model.MOST_SECONDS", 60.0):
        yield


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
