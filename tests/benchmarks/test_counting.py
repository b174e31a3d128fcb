"""What is counted over hospitals under four schemas is what a list of all patients says."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from random import Random

import pytest

from benchmarks.counting.__main__ import LEAST, Network, patients, silent, small, travelling


@pytest.fixture(scope="module")
def saxon() -> Iterator[Executor]:
    with ProcessPoolExecutor(1, get_context("spawn")) as made:
        yield made


def network(folder: Path, count: int) -> Network:
    return Network(folder, patients(Random(3), 8, count))


def test_numbers_are_exact_where_all_reply(saxon: Executor, tmp_path: Path) -> None:
    with closing(network(tmp_path, 240)) as made:
        _, *lines = travelling(made, saxon)
    assert len(lines) == 6
    assert all(line.endswith("exact") for line in lines), lines


def test_bounds_hold_the_truth_where_some_are_silent(saxon: Executor, tmp_path: Path) -> None:
    with closing(network(tmp_path, 80)) as made:
        assert silent(made, saxon, 20, Random(4)).endswith("in 20 of 20 runs")


def test_no_small_group_is_sent(tmp_path: Path) -> None:
    with closing(network(tmp_path, 400)) as made:
        *_, sent, least = small(made).replace(" were sent, the smallest of", "").split()
    assert int(sent) > 0
    assert int(least) >= LEAST
