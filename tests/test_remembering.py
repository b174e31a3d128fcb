"""What is remembered, also where several threads ask and Python compares what they ask for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from heptox.remembering import remembered


@dataclass(frozen=True, slots=True)
class _Number:
    """A value whose hash says nothing."""

    value: int

    def __hash__(self) -> int:
        return 0


@pytest.fixture
def switched_often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("switched_often")
def test_threads_that_compare_keys_at_once_get_what_is_theirs() -> None:
    @remembered(8)
    def doubled(number: _Number) -> int:
        return 2 * number.value

    def asked(first: int) -> bool:
        return all(doubled(_Number(one % 12)) == 2 * (one % 12) for one in range(first, first + 1_000))

    with ThreadPoolExecutor(3) as threads:
        assert all(threads.map(asked, range(3)))


def test_the_result_that_was_not_used_for_longest_is_forgotten() -> None:
    worked: list[str] = []

    @remembered(2)
    def upper(text: str, *, ending: str = "") -> str:
        worked.append(text)
        return text.upper() + ending

    assert [upper(text) for text in "abacab"] == list("ABACAB")
    assert worked == ["a", "b", "c", "b"]
    assert (upper("b", ending="!"), upper("b", ending="?")) == ("B!", "B?")
