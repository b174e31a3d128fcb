"""A peer's decisions: the answer of the network does not depend on what comes first, and no loss is silent."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import permutations
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from heptox.errors import PeerError
from heptox.peer import Answers, Cancel, End, Error, Hop, Limits, Neighbour, PeerState, Query, ReceiptLine, Status
from heptox.peer.query.events import (
    Acquainted,
    Arrived,
    Ask,
    Asked,
    Cancelled,
    Completed,
    Conclude,
    Deliver,
    Evaluate,
    Evaluated,
    Failed,
    Lost,
    Received,
    Send,
    Stop,
    Tick,
    Translate,
    Translated,
    Wake,
)
from heptox.peer.wire.messages import ITEM_COST, ITEM_LIMIT, UNREAD, peers_of
from tests.peer.simulation import Choose, Peers, Simulation, World, answer, lacking
from tests.support.budget import tries

SYMBOLS = (1, 2, 3)
NAMES = "ABCDE"


MAPPINGS: tuple[dict[int, int] | None, ...] = (
    {1: 1, 2: 2, 3: 3},
    {1: 1, 2: 2, 3: 3},
    {1: 2, 2: 3, 3: 1},
    {1: 1, 2: 1},
    {3: 3},
    {},
    None,
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Networks in which queries travel far: most of the possible acquaintances are there, most mappings keep much."""
    peers = tuple(NAMES[: draw(st.sampled_from([4, 5, 3, 2, 1]))])
    random = Random(draw(st.integers(0, 2**32)))
    edges = {pair: random.choice(MAPPINGS) for pair in permutations(peers, 2) if random.random() < 0.7}
    documents = {peer: {symbol: tuple(random.choices("uvwxyz", k=3)) for symbol in SYMBOLS} for peer in peers}
    return World(peers, edges, documents)


chooses: st.SearchStrategy[Choose] = st.integers(0, 2**32).map(lambda seed: Random(seed).randrange)


def first(count: int) -> int:
    """Choose the first channel, and batches of one item."""
    return min(0, count)


def assert_right(simulation: Simulation, expected: dict[Peers, Any]) -> None:
    """Everything delivered belongs to the answer, and whatever is missing of it, the receipt says."""
    assert len(simulation.receipts) == 1
    receipt = simulation.receipts[0]
    lines = {peers_of(line.path): line for line in receipt.lines}
    assert len(lines) == len(receipt.lines)
    assert len(simulation.fresh) == len(set(simulation.fresh)) == receipt.items
    for path, came in simulation.delivered.items():
        assert set(came) <= expected[path][1]
        assert lines[path].items == len(came) == len(set(came))
    for path, (status, items) in expected.items():
        above = [lines[path[:length]] for length in range(1, len(path) + 1) if path[:length] in lines]
        if all(line.status.complete for line in above):
            assert lines[path].status is status
            assert set(simulation.delivered.get(path, ())) == items


@settings(max_examples=tries(100), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(worlds(), chooses, st.lists(st.sampled_from(SYMBOLS), min_size=1, unique=True), st.sampled_from([2, 3, 4, 1, 0]))
def test_the_answer_is_that_of_the_network_in_any_order(
    world: World, choose: Choose, symbols: list[int], hops: int
) -> None:
    expected = answer(world, ("A",), symbols, hops)
    simulation = Simulation(world, choose)
    simulation.ask("A", symbols, hops)
    simulation.run()
    assert_right(simulation, expected)
    receipt = simulation.receipts[0]
    assert {peers_of(line.path): line.status for line in receipt.lines} == {
        path: status for path, (status, _) in expected.items()
    }
    assert set(simulation.fresh) == {item for _, items in expected.values() for item in items}
    assert {str(found.lack) for found in receipt.missing} == lacking(world, "A", symbols, hops)
    for budgets in simulation.evaluations.values():
        assert budgets == sorted(set(budgets)), "equal bodies are evaluated once for a neighbour, and again for more"
    assert simulation.idle


@settings(max_examples=tries(200), suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(worlds(), chooses, st.sampled_from([2, 3, 4, 1, 0]), st.data())
def test_no_loss_is_silent_and_nothing_hangs(world: World, choose: Choose, hops: int, data: st.DataObject) -> None:
    symbols = list(SYMBOLS)
    expected = answer(world, ("A",), symbols, hops)
    simulation = Simulation(world, choose, Limits(kept=data.draw(st.sampled_from([0, 3, 10**6]))))
    simulation.ask("A", symbols, hops, budget=data.draw(st.sampled_from([20, 5000, 10**6])))
    for _ in range(data.draw(st.integers(0, 4))):
        for _ in range(data.draw(st.integers(0, 40))):
            simulation.step()
        fate = data.draw(st.sampled_from(["kill", "freeze", "late", "cut", "cancel"]))
        victim = data.draw(st.sampled_from(world.peers))
        if fate == "kill" and victim != "A":
            simulation.kill(victim)
        elif fate == "freeze" and victim != "A":
            simulation.frozen.add(victim)
        elif fate == "late":
            simulation.now += data.draw(st.sampled_from([1.0, 5.0, 9.5]))
        elif fate == "cut" and simulation.links:
            near = sorted(simulation.links)[choose(len(simulation.links))]
            far = simulation.links[near]
            simulation.cut(*near, far[0])
            simulation.cut(*far, near[0])
        elif fate == "cancel":
            simulation.hand_in("A", Cancelled("q"))
    simulation.run()
    assert_right(simulation, expected)
    assert simulation.now <= 10.0 + 9.5 * 4
    assert simulation.idle


TRIANGLE = World(
    ("A", "B", "C"),
    {pair: {1: 1} for pair in permutations("ABC", 2)},
    {"A": {1: ("a", "x")}, "B": {1: ("b", "x")}, "C": {1: ("c", "x")}},
)


def test_items_come_with_their_whole_way_and_equal_ones_count_once() -> None:
    simulation = Simulation(TRIANGLE, first)
    simulation.ask("A", [1], hops=2)
    simulation.run()
    assert set(simulation.delivered) == {("A",), ("A", "B"), ("A", "C"), ("A", "B", "C"), ("A", "C", "B")}
    assert all("x" in items for items in simulation.delivered.values())
    assert simulation.receipts[0].items == 4


def test_a_query_is_never_sent_back_along_its_way() -> None:
    simulation = Simulation(TRIANGLE, first)
    simulation.ask("A", [1], hops=8)
    simulation.run()
    paths = [message.path for _, _, message in simulation.messages if isinstance(message, Query)]
    assert len(paths) == 4
    assert all(len({hop.peer for hop in path}) == len(path) for path in paths)


def test_deadline_budget_and_hops_shrink_on_every_hop() -> None:
    world = World(("A", "B", "C"), {("A", "B"): {1: 1}, ("B", "C"): {1: 1}}, {"A": {}, "B": {}, "C": {}})
    simulation = Simulation(world, first)
    simulation.ask("A", [1], hops=3, seconds=10, budget=50_000)
    simulation.run()
    there, further = (message for _, _, message in simulation.messages if isinstance(message, Query))
    assert 10_000 > there.milliseconds > further.milliseconds > 0
    assert 50_000 > there.budget > further.budget > 0
    assert (3, there.hops, further.hops) == (3, 2, 1)


def test_the_translation_of_each_hop_is_in_the_receipt_and_not_in_the_way() -> None:
    simulation = Simulation(TRIANGLE, first)
    simulation.ask("A", [1], hops=1)
    simulation.run()
    queries = [message for _, _, message in simulation.messages if isinstance(message, Query)]
    assert queries[0].path == (Hop("A", "peer A"), Hop("B", "peer B"))
    assert [line.text for line in simulation.receipts[0].lines] == ["[1]", "B:[1]", "C:[1]"]


def test_an_empty_translation_says_what_was_lost_and_that_nobody_behind_was_asked() -> None:
    world = World(("A", "B", "C"), {("A", "B"): {}, ("B", "C"): {1: 1}}, {"A": {}, "B": {}, "C": {}})
    simulation = Simulation(world, first)
    simulation.ask("A", [1], hops=3)
    simulation.run()
    _, line = simulation.receipts[0].lines
    assert (line.name, line.status, line.losses, line.beyond) == ("peer B", Status.NOTHING, ("1 has no arrow",), True)
    assert [found.lack.value for found in simulation.receipts[0].missing] == ["not asked"]


def test_who_stands_behind_a_peer_that_is_gone_is_known_by_what_was_told_before() -> None:
    world = World(("A", "B", "C"), {("A", "B"): {1: 1}, ("B", "C"): {1: 1}}, {"A": {}, "B": {}, "C": {}})
    simulation = Simulation(world, first)
    simulation.ask("A", [1], hops=3)
    simulation.run()
    simulation.kill("B")
    simulation.ask("A", [1], hops=3)
    simulation.run()
    whole, less = simulation.receipts
    assert (whole.complete, whole.reached) == (True, (3, 3))
    assert [(found.lack.value, found.named, found.behind) for found in less.missing] == [
        ("unreachable", ("peer B",), 1)
    ]
    assert less.reached == (1, 3)


def test_the_hop_limit_is_told() -> None:
    simulation = Simulation(TRIANGLE, first)
    simulation.ask("A", [1], hops=0)
    simulation.run()
    (line,) = simulation.receipts[0].lines
    assert (line.status, line.reason, line.beyond) == (Status.ANSWERED, "the hop limit ends here", True)


CHAIN = World(
    ("A", "B", "C"),
    {("A", "B"): {1: 1}, ("B", "C"): {1: 1}},
    {"A": {1: ("a",)}, "B": {1: ("b",)}, "C": {1: ("c",)}},
)


def test_a_neighbour_killed_leaves_what_came_and_is_told() -> None:
    simulation = Simulation(CHAIN, first)
    simulation.ask("A", [1], hops=2)
    while ("A", "B") not in simulation.delivered:
        simulation.step()
    simulation.kill("B")
    simulation.run()
    assert {"a", "b"} <= set(simulation.fresh)
    mine, lost, *_ = simulation.receipts[0].lines
    assert (mine.status, mine.items) == (Status.ANSWERED, 1)
    assert (lost.name, lost.status, lost.items, lost.beyond) == ("peer B", Status.UNREACHABLE, 1, True)
    assert not simulation.receipts[0].complete


def test_an_inner_hop_gives_up_before_the_outer_one() -> None:
    simulation = Simulation(CHAIN, first)
    simulation.frozen.add("C")
    simulation.ask("A", [1], hops=2, seconds=10)
    while not simulation.receipts:
        assert simulation.step()
    assert set(simulation.fresh) == {"a", "b"}
    assert [(line.name, line.status) for line in simulation.receipts[0].lines] == [
        ("peer A", Status.ANSWERED),
        ("peer B", Status.ANSWERED),
        ("peer C", Status.TIMED_OUT),
    ]
    assert simulation.now < 10


# -- one peer alone --------------------------------------------------------------------------------------------------


def peer(limits: Limits | None = None, **known: bool) -> PeerState:
    """The peer ``me``; ``known`` are its acquaintances, and whether they may ask."""
    state = PeerState("me", "Me", limits)
    state.handle(Acquainted(tuple(Neighbour(name, name, may_ask) for name, may_ask in known.items())), 0.0)
    return state


def query(*path: str, hops: int = 3, milliseconds: int = 1000, budget: int = 10_000, name: str = "q") -> Query:
    return Query(name, path[0], [1], tuple(Hop(hop, hop) for hop in path), hops, milliseconds, budget)


def error_of(instructions: tuple[Any, ...]) -> Error:
    (send,) = instructions
    assert isinstance(send, Send)
    assert isinstance(send.message, Error)
    return send.message


def only(kind: type[Any], instructions: tuple[Any, ...]) -> Any:
    (found,) = (instruction for instruction in instructions if isinstance(instruction, kind))
    return found


def sent_by(instructions: tuple[Any, ...]) -> list[Any]:
    return [instruction.message for instruction in instructions if isinstance(instruction, Send)]


def asked(state: PeerState, neighbour: str = "n", **settings: Any) -> str:
    """Let ``state`` ask one neighbour for its own user; the name of the exchange."""
    begun = state.handle(Asked("q", [1], "[1]", **{"hops": 1, "seconds": 1, "budget": 10_000, **settings}), 0.0)
    translate = only(Translate, begun)
    state.handle(Completed(only(Evaluate, begun).task), 0.0)
    ask = only(Ask, state.handle(Translated(translate.task, [2], "[2]"), 0.0))
    assert ask.neighbour == neighbour
    return str(ask.exchange)


def test_strangers_and_the_unwelcome_are_denied() -> None:
    state = peer(n=True, m=False)
    for stranger in ("m", "s"):
        assert error_of(state.handle(Arrived("in-1", stranger, query(stranger, "me")), 0)).status is Status.DENIED
    assert only(Evaluate, state.handle(Arrived("in-2", "n", query("n", "me")), 0)).path[-1].peer == "me"


@pytest.mark.parametrize(
    "path", [("me",), ("n",), ("n", "x"), ("x", "n"), ("x", "y", "me"), ("me", "n", "me"), ("n", "n", "me")]
)
def test_a_way_that_does_not_lead_here_is_refused(path: tuple[str, ...]) -> None:
    refused = error_of(peer(n=True).handle(Arrived("in-1", "n", query(*path)), 0))
    assert (refused.status, "path" in refused.reason) == (Status.FAILED, True)


def test_what_asks_for_too_much_is_refused() -> None:
    state = peer(Limits(queries=1, arrivals=2, hops=4), n=True)
    assert "hops" in error_of(state.handle(Arrived("in-1", "n", query("n", "me", hops=5)), 0)).reason
    state.handle(Arrived("in-2", "n", query("n", "me")), 0)
    assert "under way" in error_of(state.handle(Arrived("in-3", "n", query("n", "me")), 0)).reason
    assert "too many" in error_of(state.handle(Arrived("in-4", "n", query("n", "me", name="r")), 0)).reason
    state.handle(Arrived("in-5", "n", query("x", "n", "me")), 0)
    assert "too many" in error_of(state.handle(Arrived("in-6", "n", query("y", "n", "me")), 0)).reason


@pytest.mark.parametrize(
    "wrong", [{"hops": 99}, {"hops": -1}, {"seconds": 0}, {"seconds": 1e9}, {"seconds": float("nan")}, {"budget": 0}]
)
def test_an_own_query_out_of_range_is_refused(wrong: dict[str, Any]) -> None:
    asked = Asked("q", [1], "", **{"hops": 1, "seconds": 1, "budget": 1, **wrong})
    with pytest.raises(PeerError, match="HX7021"):
        peer().handle(asked, 0)


def test_a_query_id_in_use_is_refused() -> None:
    state = peer()
    state.handle(Asked("q", [1], "", 1, 1, 1), 0)
    with pytest.raises(PeerError, match="HX7020"):
        state.handle(Asked("q", [1], "", 1, 1, 1), 0)


def conclusion(instructions: tuple[Any, ...]) -> list[tuple[str, Status, int]]:
    receipt = only(Conclude, instructions).receipt
    return [(line.name, line.status, line.items) for line in receipt.lines]


ME_AND_N = (Hop("me", "Me"), Hop("n", "n"))


@pytest.mark.parametrize(
    "message",
    [
        End("another", ()),
        End("q", ()),
        End("q", (ReceiptLine((Hop("me", "Me"),), Status.ANSWERED),)),
        End("q", (ReceiptLine(ME_AND_N, Status.ANSWERED), ReceiptLine((*ME_AND_N, Hop("x", "x")), Status.ANSWERED))),
        End("q", (ReceiptLine(ME_AND_N, Status.ANSWERED), ReceiptLine(ME_AND_N, Status.ANSWERED))),
        Answers("q", (Hop("me", "Me"),), ("<a/>",)),
        Answers("q", (*ME_AND_N, Hop("x", "x")), ("<a/>",)),
        Answers("another", ME_AND_N, ("<a/>",)),
        Answers("q", ME_AND_N, ("x" * (ITEM_LIMIT + 1),)),
        Cancel("q"),
        Error("q", Status.ANSWERED, "all is well"),
    ],
)
def test_a_neighbour_that_breaks_the_protocol_has_failed(message: Any) -> None:
    state = peer(n=True)
    exchange = asked(state)
    done = state.handle(Received(exchange, message), 0.1)
    assert conclusion(done) == [("Me", Status.ANSWERED, 0), ("n", Status.FAILED, 0)]
    assert not [instruction for instruction in done if isinstance(instruction, Deliver)]


@pytest.mark.parametrize("announced", [0, 1, 3])
def test_a_receipt_that_does_not_agree_with_what_came_is_not_believed(announced: int) -> None:
    state = peer(n=True)
    exchange = asked(state)
    state.handle(Received(exchange, Answers("q", ME_AND_N, ("<a/>", "<b/>"))), 0.1)
    done = state.handle(Received(exchange, End("q", (ReceiptLine(ME_AND_N, Status.ANSWERED, announced),))), 0.1)
    assert conclusion(done) == [("Me", Status.ANSWERED, 0), ("n", Status.FAILED, 2)]


@pytest.mark.parametrize("status", [status for status in Status if not status.complete])
def test_an_error_of_a_neighbour_is_told_with_its_reason(status: Status) -> None:
    state = peer(n=True)
    done = state.handle(Received(asked(state), Error("q", status, "so it is")), 0.1)
    assert conclusion(done) == [("Me", Status.ANSWERED, 0), ("n", status, 0)]
    assert only(Conclude, done).receipt.lines[1].reason == "so it is"


def test_what_came_from_behind_a_lost_neighbour_is_told_too() -> None:
    state = peer(n=True)
    exchange = asked(state, hops=2)
    behind = (*ME_AND_N, Hop("x", "x"))
    delivered = state.handle(Received(exchange, Answers("q", behind, ("<a/>",))), 0.1)
    assert only(Deliver, delivered).items == ("<a/>",)
    done = state.handle(Lost(exchange, "reset"), 0.2)
    unreachable = Status.UNREACHABLE
    assert conclusion(done) == [("Me", Status.ANSWERED, 0), ("n", unreachable, 0), ("x", unreachable, 1)]


def test_a_used_up_budget_ends_the_query_and_is_told() -> None:
    state = peer(n=True)
    exchange = asked(state, budget=2000)
    done = state.handle(Received(exchange, Answers("q", ME_AND_N, ("x" * 1500, "y" * 1500))), 0.1)
    assert only(Deliver, done).items == ("x" * 1500,)
    assert only(Send, done) == Send(exchange, Cancel("q"))
    assert conclusion(done) == [("Me", Status.ANSWERED, 0), ("n", Status.FAILED, 1)]


def test_a_failed_evaluation_is_told_beside_the_items_that_came() -> None:
    state = peer()
    begun = state.handle(Asked("q", [1], "", 1, 1, 1000), 0)
    task = only(Evaluate, begun).task
    state.handle(Evaluated(task, ("<a/>",)), 0)
    assert conclusion(state.handle(Failed(task, "a number too large"), 0)) == [("Me", Status.FAILED, 1)]


def test_an_item_that_is_too_long_to_send_is_told() -> None:
    state = peer(n=True)
    begun = state.handle(Arrived("in-1", "n", query("n", "me", budget=10**8)), 0)
    task = only(Evaluate, begun).task
    state.handle(Evaluated(task, ("x" * (ITEM_LIMIT + 1), "<a/>")), 0)
    end = only(Send, state.handle(Completed(task), 0)).message
    assert isinstance(end, End)
    assert (end.receipt[0].status, end.receipt[0].items) == (Status.FAILED, 1)


def test_a_receipt_that_is_too_long_becomes_an_error() -> None:
    state = peer(Limits(lines=1), n=True, m=True)
    begun = state.handle(Arrived("in-1", "n", query("n", "me")), 0)
    ask = only(Ask, state.handle(Translated(only(Translate, begun).task, [1], ""), 0))
    state.handle(Completed(only(Evaluate, begun).task), 0)
    line = ReceiptLine((Hop("n", "n"), Hop("me", "Me"), Hop("m", "m")), Status.ANSWERED)
    error = only(Send, state.handle(Received(ask.exchange, End("q", (line,))), 0)).message
    assert (error.status, "too long" in error.reason) == (Status.FAILED, True)


def test_what_a_neighbour_sends_takes_no_more_memory_than_the_budget() -> None:
    budget = 1_000_000
    for item in ("", "{:07}"):
        state = peer(n=True)
        exchange = asked(state, budget=budget)
        tracemalloc.start()
        try:
            for number in range(1_000):
                items = tuple(item.format(1_000 * number + place) for place in range(1_000))
                done = state.handle(Received(exchange, Answers("q", ME_AND_N, items)), 0.1)
                if any(isinstance(instruction, Conclude) for instruction in done):
                    break
            assert tracemalloc.get_traced_memory()[1] < 2 * budget
        finally:
            tracemalloc.stop()
        receipt = only(Conclude, done).receipt
        assert (receipt.lines[1].status, receipt.lines[1].reason) == (
            Status.FAILED,
            "the byte budget of the query is used up",
        )
        assert 0.9 * budget < receipt.lines[1].items * (ITEM_COST + len(items[-1])) <= budget


def test_items_of_one_query_are_bounded_in_number() -> None:
    state = peer(Limits(items=3), n=True)
    exchange = asked(state)
    state.handle(Received(exchange, Answers("q", ME_AND_N, ("<a/>", "<b/>"))), 0.1)
    done = state.handle(Received(exchange, Answers("q", ME_AND_N, ("<b/>", "<c/>"))), 0.1)
    assert only(Deliver, done).items == ()
    assert only(Deliver, done).repeated == ("<b/>",)
    assert conclusion(done) == [("Me", Status.ANSWERED, 0), ("n", Status.FAILED, 3)]
    assert "3 items" in only(Conclude, done).receipt.lines[1].reason


def test_what_origins_hold_is_taken_off_the_budget() -> None:
    state = peer(n=True)
    exchange = asked(state, hops=8, budget=100_000)
    done: tuple[Any, ...] = ()
    for number in range(4_000):
        way = (*ME_AND_N, *(Hop(f"{number}-{place}".ljust(200, "x"), "y" * 200) for place in range(7)))
        done = state.handle(Received(exchange, Answers("q", way, ())), 0.1)
        if done:
            break
    assert number < 100
    assert conclusion(done)[1] == ("n", Status.FAILED, 0)


def test_an_evaluation_is_told_what_it_may_bring() -> None:
    state = peer(n=True)
    assert only(Evaluate, state.handle(Asked("q", [1], "", 1, 1, 5000), 0)).budget == 5000
    assert only(Evaluate, state.handle(Arrived("in-1", "n", query("n", "me", budget=4000)), 0)).budget == 4000


def test_what_is_said_of_a_peer_can_be_printed() -> None:
    state = peer(n=True)
    begun = state.handle(Asked("q", [1], "for\x1b", 1, 1, 10_000, explain=True), 0)
    ask = only(Ask, state.handle(Translated(only(Translate, begun).task, [2], "a\nb\r\x9b", ("lost\x07",)), 0))
    state.handle(Lost(ask.exchange, "HX1 one\nHX2 \x1b]0;x\x07"), 0.1)
    mine, other = only(Conclude, state.handle(Failed(only(Evaluate, begun).task, "\u202e"), 0.2)).receipt.lines
    assert (mine.text, mine.reason) == ("for\\u001b", "\\u202e")
    assert (other.text, other.reason) == ("a\nb\n\\u009b", "HX1 one HX2 \\u001b]0;x\\u0007")
    assert other.losses == ("lost\\u0007",)


def test_a_query_in_the_words_of_another_schema_is_refused() -> None:
    state = PeerState("me", "Me", schema="ours")
    state.handle(Acquainted((Neighbour("n", "n"),)), 0)
    for schema in ("", "theirs"):
        refused = error_of(state.handle(Arrived("in-1", "n", replace(query("n", "me"), schema=schema)), 0))
        assert (refused.status, "another schema" in refused.reason) == (Status.FAILED, True)
    begun = state.handle(Arrived("in-1", "n", replace(query("x", "n", "me"), schema="ours")), 0)
    assert only(Evaluate, begun)
    begun = state.handle(Asked("q", [1], "[1]", 1, 1, 10_000), 0)
    ask = only(Ask, state.handle(Translated(only(Translate, begun).task, [2], "[2]", schema="its"), 0))
    assert ask.message.schema == "its"


def test_a_refusal_of_what_was_not_read_is_an_answer_to_the_query() -> None:
    state = peer(n=True)
    done = state.handle(Received(asked(state), Error(UNREAD, Status.DENIED, "no")), 0.1)
    assert conclusion(done) == [("Me", Status.ANSWERED, 0), ("n", Status.DENIED, 0)]


def test_who_may_ask_is_known_before_a_query_is_read() -> None:
    state = peer(n=True, m=False)
    assert state.admission.denial("n") is None
    assert [state.admission.denial(other) for other in ("m", "s")] == [
        Error(UNREAD, Status.DENIED, f"{other} is no acquaintance of Me that may ask") for other in ("m", "s")
    ]
    state.handle(Acquainted((), strangers=True), 0)
    assert state.admission.denial("s") is None


def test_an_item_that_is_no_xml_is_not_sent_and_told() -> None:
    state = peer(n=True)
    task = only(Evaluate, state.handle(Arrived("in-1", "n", query("n", "me")), 0)).task
    (answers,) = sent_by(state.handle(Evaluated(task, ("\x1b", "<a/>")), 0))
    assert answers.items == ("<a/>",)
    end = only(Send, state.handle(Completed(task), 0)).message
    assert (end.receipt[0].status, end.receipt[0].items) == (Status.FAILED, 1)


def test_items_travel_in_bounded_batches() -> None:
    state = peer(Limits(batch=2 * (40 + ITEM_COST)), n=True)
    begun = state.handle(Arrived("in-1", "n", query("n", "me")), 0)
    items = tuple(f"{number:040}" for number in range(10))
    sent = state.handle(Evaluated(only(Evaluate, begun).task, items), 0)
    batches = [message.items for message in sent_by(sent) if isinstance(message, Answers)]
    assert [len(batch) for batch in batches] == [2, 2, 2, 2, 2]
    assert sum(batches, ()) == items


@pytest.mark.parametrize("event", [Received("in-1", Cancel("q")), Lost("in-1", "reset")])
def test_an_asker_that_leaves_stops_everything(event: Any) -> None:
    state = peer(n=True, m=True)
    begun = state.handle(Arrived("in-1", "n", query("n", "me")), 0)
    ask = only(Ask, state.handle(Translated(only(Translate, begun).task, [1], ""), 0))
    stopped = state.handle(event, 0.1)
    assert set(stopped) == {Send(ask.exchange, Cancel("q")), Stop(only(Evaluate, begun).task)}
    assert state.in_flight == ()


def test_an_asker_that_talks_out_of_turn_is_told_and_left() -> None:
    state = peer(n=True)
    state.handle(Arrived("in-1", "n", query("n", "me")), 0)
    stopped = state.handle(Received("in-1", Answers("q", (Hop("n", "n"),), ())), 0.1)
    assert only(Send, stopped).message.status is Status.FAILED
    assert state.in_flight == ()


def test_a_later_arrival_of_an_equal_query_gets_the_items_again_without_a_second_evaluation() -> None:
    state = peer(n=True)
    task = only(Evaluate, state.handle(Arrived("in-1", "n", query("x", "n", "me")), 0)).task
    state.handle(Evaluated(task, ("<a/>", "<a/>", "<b/>")), 0)
    state.handle(Completed(task), 0)
    again = state.handle(Arrived("in-2", "n", query("x", "y", "n", "me")), 0.5)
    line = ReceiptLine(tuple(Hop(name, name) for name in ("x", "y", "n", "me")), Status.ANSWERED, 2)
    assert sent_by(again) == [Answers("q", line.path, ("<a/>", "<b/>")), End("q", (line,))]
    assert not [instruction for instruction in again if isinstance(instruction, Evaluate)]
    state.handle(Tick(), 2.0)
    assert only(Evaluate, state.handle(Arrived("in-3", "n", query("x", "y", "n", "me")), 2.0)).task != task


def test_nobody_waits_for_what_another_neighbour_does_with_an_equal_query() -> None:
    state = peer(n=True, m=True)
    slow = only(Evaluate, state.handle(Arrived("in-1", "m", query("x", "m", "me", hops=0, budget=1)), 0)).task
    begun = only(Evaluate, state.handle(Arrived("in-2", "n", query("x", "n", "me", hops=0, budget=9000)), 0))
    assert begun.budget == 9000
    came = state.handle(Evaluated(begun.task, ("<a/>", "<b/>")), 0)
    assert [send.exchange for send in came if isinstance(send, Send)] == ["in-2"]
    ended = state.handle(Completed(begun.task), 0)
    assert only(Send, ended).message.receipt[0].items == 2
    assert only(Send, state.handle(Failed(slow, "it was too much"), 0)).exchange == "in-1"
    (answers, end) = sent_by(state.handle(Arrived("in-3", "m", query("x", "n", "m", "me", hops=0)), 0))
    assert (answers.items, end.receipt[0].items) == (("<a/>", "<b/>"), 2), "what has ended is for all"
    state.handle(Tick(), 2.0)
    assert state.is_empty


def test_an_evaluation_is_shared_by_those_who_want_no_more_than_the_first() -> None:
    state = peer(n=True)
    first = only(Evaluate, state.handle(Arrived("in-1", "n", query("x", "n", "me", budget=1)), 0)).task
    larger = only(Evaluate, state.handle(Arrived("in-2", "n", query("x", "y", "n", "me", budget=9000)), 0))
    assert larger.budget == 9000
    begun = state.handle(Arrived("in-3", "n", query("x", "z", "n", "me", budget=8000)), 0)
    assert not [instruction for instruction in begun if isinstance(instruction, Evaluate)]
    came = state.handle(Evaluated(larger.task, ("<a/>",)), 0)
    assert [send.exchange for send in came if isinstance(send, Send)] == ["in-2", "in-3"]
    assert only(Send, state.handle(Failed(first, "it was too much"), 0)).exchange == "in-1"
    assert len(sent_by(state.handle(Completed(larger.task), 0))) == 2


def test_items_that_are_too_many_to_keep_are_evaluated_again() -> None:
    state = peer(Limits(kept=10), n=True)
    task = only(Evaluate, state.handle(Arrived("in-1", "n", query("x", "n", "me")), 0)).task
    state.handle(Evaluated(task, ("<a/>", "<b/>", "<c/>")), 0)
    again = only(Evaluate, state.handle(Arrived("in-2", "n", query("x", "y", "n", "me")), 0)).task
    (answers,) = sent_by(state.handle(Evaluated(again, ("<a/>", "<b/>", "<c/>")), 0))
    assert answers.items == ("<a/>", "<b/>", "<c/>")
    for ended in (task, again):
        (end,) = sent_by(state.handle(Completed(ended), 0))
        assert end.receipt[0].items == 3


def test_queries_under_way_can_be_seen() -> None:
    state = peer(n=True)
    asked(state)
    assert [(name, peers_of(path), waiting) for name, path, waiting in state.in_flight] == [("q", ("me",), ("n",))]


def test_the_clock_is_asked_for_and_never_runs_back() -> None:
    state = peer()
    begun = state.handle(Asked("q", [1], "", 1, 1, 1000), 5.0)
    assert only(Wake, begun).at == 6.0
    state.handle(Tick(), 5.9)
    assert state.in_flight
    assert conclusion(state.handle(Tick(), 6.0)) == [("Me", Status.TIMED_OUT, 0)]
