"""Random filters on random documents, cut in every way: ``python -m tests.fuzz --of chunking`` tries more."""

from __future__ import annotations

from random import Random

import pytest

from tests.support.checking import Outcome
from tests.support.filtering.checking import check_cleaning, check_filtering


@pytest.mark.parametrize("seed", range(4))
def test_filters_give_on_parts_of_documents_what_they_give_on_the_whole(seed: int) -> None:
    outcome = Outcome()
    check_filtering(Random(seed), 12, 3, outcome)
    assert outcome.broken == []
    assert outcome.counts["cases"] > 500
    assert outcome.counts["selecting"] > 100


def test_cleaned_filters_select_what_filters_select() -> None:
    outcome = Outcome()
    for seed in range(40):
        check_cleaning(Random(seed), 20, 5, outcome)
    assert outcome.broken == []
    assert outcome.counts["recursive"] > 300
    assert min(outcome.counts[name] for name in ("selecting", "with branches", "without branches", "empty")) > 30
