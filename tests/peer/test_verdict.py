"""When an answer is complete: by the lines of receipts."""

from __future__ import annotations

from typing import Any

import pytest

from heptox.peer.query.reach import KEPT_SECONDS, MOST_BEHIND, Reach, peer_digest
from heptox.peer.query.verdict import Lack, reached, shortfalls
from heptox.peer.wire.messages import Hop, HopPath, ReceiptLine, Status


def path(names: str) -> HopPath:
    """A path of peers that are known by letters, from the asker on."""
    return tuple(Hop(name.lower(), name) for name in names)


def line(names: str, status: Status = Status.ANSWERED, *losses: str, **more: Any) -> ReceiptLine:
    return ReceiptLine(path(names), status, losses=losses, **more)


def behind(*names: str) -> dict[str, Any]:
    """What a line says of peers that are known behind it, and were not asked along its path."""
    return {"beyond": True, "behind": tuple(peer_digest(name.lower()) for name in names)}


def lacks(*lines: ReceiptLine) -> list[str]:
    return [found.lack.value for found in shortfalls(lines)]


OWN = line("A")
NO_ARROW = "x: no arrow supplies it"


def test_it_is_complete_where_all_have_answered_whole() -> None:
    assert lacks(OWN, line("AB"), line("ABC")) == []


@pytest.mark.parametrize("status", [status for status in Status if not status.complete])
def test_who_has_not_answered_is_missing_whatever_other_paths_bring(status: Status) -> None:
    assert lacks(OWN, line("AB", status), line("AC"), line("ACB")) == [status.value]


@pytest.mark.parametrize(
    ("of_peer", "named"),
    [
        (line("AB", Status.ANSWERED, NO_ARROW), ["lost on the way"]),
        (line("AB", Status.ANSWERED, "x: hidden"), ["hidden"]),
        (line("AB", Status.ANSWERED, "x: not in groups of fewer than 10"), ["hidden"]),
        (line("AB", Status.ANSWERED, NO_ARROW, "x: hidden"), ["lost on the way", "hidden"]),
        (line("AB", Status.NOTHING, NO_ARROW, beyond=True), ["not asked"]),
        (line("AB", beyond=True), ["hop limit"]),
        (line("AB", **behind("C")), ["hop limit"]),
        (line("AB", Status.ANSWERED, NO_ARROW, **behind("C")), ["lost on the way", "hop limit"]),
    ],
)
def test_what_is_lost_hidden_or_left_out_is_missing(of_peer: ReceiptLine, named: list[str]) -> None:
    assert lacks(OWN, of_peer) == named
    assert lacks(OWN, of_peer, line("AD")) == named


def test_what_contradicts_itself_on_the_way_has_no_answers_to_lack() -> None:
    assert lacks(OWN, line("AB", Status.NOTHING, reason="its conditions contradict each other", beyond=True)) == []


def test_who_asks_only_itself_lacks_nothing() -> None:
    assert lacks(line("A", **behind("B"))) == []
    assert lacks(line("A", Status.ANSWERED, "x: hidden")) == ["hidden"]


@pytest.mark.parametrize(
    ("detour", "named"),
    [
        (line("ACB", Status.ANSWERED, NO_ARROW), "lost on the way"),
        (line("ACB", Status.NOTHING, NO_ARROW, beyond=True), "not asked"),
        (line("ACB", Status.ANSWERED, "x: hidden"), "hidden"),
    ],
)
def test_what_a_detour_loses_is_missing_also_where_the_peer_has_answered_whole(detour: ReceiptLine, named: str) -> None:
    """It says something else there, or the way that loses nothing speaks of fewer nodes."""
    assert lacks(OWN, line("AB"), line("AC"), detour) == [named]


@pytest.mark.parametrize("code", ["HX7107", "HX7108", "HX7109"])
def test_who_refuses_for_what_it_hides_does_not_fail(code: str) -> None:
    assert lacks(OWN, line("AB", Status.FAILED, reason=f"{code} it is hidden")) == ["hidden"]


def test_the_hop_limit_cuts_off_nobody_who_was_asked_along_another_path() -> None:
    assert lacks(OWN, line("AB", **behind("C")), line("AC", **behind("B"))) == []
    assert lacks(OWN, line("AB", **behind("C", "D")), line("AC", **behind("B"))) == ["hop limit"]
    assert lacks(OWN, line("AB", **behind("C")), line("AC", Status.DENIED)) == ["hop limit", "denied"]


def test_a_part_that_is_whole_makes_no_other_part_so() -> None:
    """Of several queries, as the cores of a shell are."""
    lossy = line("AB", Status.ANSWERED, NO_ARROW)
    assert [found.lack for found in shortfalls((OWN, line("AB")), (OWN, lossy))] == [Lack.LOST]


def test_shortfalls_say_where_what_it_costs_and_what_would_mend_it() -> None:
    several = [
        line(f"AB{name}", Status.NOTHING, f"{name}: no arrow", beyond=True) for name in "CDEFGHIJKLMNOPQRSTUVWXYZ"
    ]
    (found,) = shortfalls((OWN, line("AB"), *several, *several))
    assert (found.lack, found.peers, len(found.named), found.named[:2]) == (Lack.NOT_ASKED, 24, 20, ("C", "D"))
    assert "C: no arrow; D: no arrow" in found.costs
    assert "and 4 more" in found.costs
    assert "an arrow for it in that of B with C, that of B with D" in found.mend


# -- who is known ------------------------------------------------------------------------------------------------------


def test_peers_are_known_that_stand_behind_others_whom_nobody_asks() -> None:
    lines = (OWN, line("AB", Status.UNREACHABLE, **behind("C", "D")), line("AD"))
    assert reached(lines) == (2, 4)
    (found,) = shortfalls(lines)
    assert (found.lack, found.peers, found.behind, found.named) == (Lack.UNREACHABLE, 1, 1, ("B",))


def test_what_a_receipt_told_of_peers_behind_a_neighbour_is_known_for_some_time() -> None:
    reach = Reach()
    told = (line("AB"), line("ABC"), line("ABCD", **behind("E", "A")), line("ABF", Status.DENIED))
    reach.learn("b", told, 1, now=0.0)
    assert reach.behind("b", path("AB"), 1.0) == tuple(sorted(map(peer_digest, "cdef")))
    assert reach.behind("b", path("AFB"), 1.0) == tuple(sorted(map(peer_digest, "cde")))
    assert reach.behind("c", path("AC"), 1.0) == ()
    reach.learn("b", (line("AB"), line("ABC")), 1, now=10.0)
    assert reach.behind("b", path("AB"), KEPT_SECONDS + 5.0) == (peer_digest("c"),)
    assert reach.with_behind(["b", "g"], path("AB"), 1.0) == tuple(sorted(map(peer_digest, "bcdefg")))


def test_a_neighbour_makes_nobody_remember_more_peers_than_some() -> None:
    reach = Reach()
    for number in range(3):
        several = tuple(f"{number} {digest}" for digest in range(MOST_BEHIND))
        reach.learn("b", (line("AB", beyond=True, behind=several),), 1, now=float(number))
        assert set(reach.behind("b", path("AB"), 5.0)) == set(several)
    assert reach.with_behind(["b"], path("AB"), 5.0) == (), "not all can be told, so none are"
