"""Decisions of routing, judged by automata and by enumeration of small documents."""

from __future__ import annotations

from random import Random

from tests.support.checking import Outcome
from tests.support.routing.checking import check_advertised, check_covering, check_overlap
from tests.support.xsd_streams import judge_xsd_routing


def judge_routing(random: Random, number: int, generals: int, specials: int, outcome: Outcome) -> None:
    """Covering over all documents and overlap in each trial; covering over what is advertised in one of ten; what an
    XSD advertises in three."""
    check_covering(random, generals, specials, outcome)
    check_overlap(random, specials, outcome)
    if number % 10 == 0:
        check_advertised(random, 4, 10, outcome)
    if number % 10 in (1, 4, 7):
        judge_xsd_routing(random, 12, 6, outcome)
