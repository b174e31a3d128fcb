"""Three libraries ask each other in their own words, and get what a person expects: one hop, two hops, over peers."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from typing import Final

import pytest

from heptox.errors import HeptoxError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, load_mapping
from heptox.peer import Status
from heptox.schema import read_dtd, validity_faults
from heptox.store import evaluate
from heptox.translate import Direction, Hop, PathTranslation, translate_path
from heptox.xml import parse_document
from tests.libraries.making import PEERS, document, read
from tests.libraries.questions import QUESTIONS, Question
from tests.peer.asked_peers import Holding, Knowing, ask, asked_peers
from tests.peer.networks import run
from tests.support.definition import same_items

FOLDER: Final = Path(__file__).parent
STEPS: Final = 3000
"""How often a translation may ask whether to go on."""

ASKED: Final = [
    pytest.param(asker, other, question, id=f"{asker}-{other}-{question.query}")
    for asker in PEERS
    for other in PEERS
    for question in QUESTIONS[asker]
]


@cache
def mapping(name: str) -> Mapping:
    return load_mapping(FOLDER / name)


def hop(asker: str, other: str) -> Hop:
    """How a query gets from a library to the next one; codes of a catalogue are read by rules with conditions."""
    match asker, other:
        case "stock", "shelves":
            return Hop(mapping("stock-shelves.arrows"), Direction.TARGET)
        case "shelves", "stock":
            return Hop(mapping("stock-shelves.arrows"), Direction.SOURCE)
        case "catalogue", "shelves":
            return Hop(mapping("shelves-catalogue.arrows"), Direction.SOURCE)
        case "shelves", "catalogue":
            return Hop(mapping("catalogue-shelves.rules"), Direction.SOURCE)
    raise ValueError((asker, other))


def hops(asker: str, other: str) -> list[Hop]:
    """Stock and catalogue know each other only through shelves."""
    way = {"stock": 0, "shelves": 1, "catalogue": 2}
    step = 1 if way[asker] < way[other] else -1
    places = [PEERS[place] for place in range(way[asker], way[other] + step, step)]
    return [hop(*pair) for pair in pairwise(places)]


@cache
def translated(asker: str, other: str, query: str) -> PathTranslation | HeptoxError:
    asked = count(1)

    def check() -> None:
        assert next(asked) <= STEPS, "the translation takes too long"

    try:
        return translate_path(hops(asker, other), parse_query(query), check)
    except HeptoxError as error:
        return error


@pytest.mark.parametrize("peer", PEERS)
def test_documents_are_valid_and_not_easy(peer: str) -> None:
    graph = read_dtd(FOLDER / f"{peer}.dtd")
    assert validity_faults(parse_document(document(peer)), graph) == ()
    works = read(peer).works
    assert len(works) == 40 or peer == "shelves"
    assert len({work.number for work in works}) == len(works)
    assert len({work.heading for work in works}) < len(works)
    for missing in ("printed", "subjects", "outs"):
        assert {bool(getattr(work, missing)) for work in works} == {True, False}, missing
    assert all(sign in document(peer) for sign in ("&amp;", '"', "ü", "'"))


@pytest.mark.parametrize(("asker", "other", "question"), ASKED)
def test_answers_are_what_a_person_expects(asker: str, other: str, question: Question) -> None:
    expected = frozenset(question.expected(read(other)))
    if asker == other:
        found = parse_query(question.query)
    else:
        translation = translated(asker, other, question.query)
        if isinstance(translation, HeptoxError):
            assert (asker, other, question.query) in REFUSED, translation
            return
        found = translation.query
    answer = frozenset(evaluate(found, [parse_document(document(other))]))
    assert same_items(answer, expected), sorted(answer ^ expected)


REFUSED: Final[frozenset[tuple[str, str, str]]] = frozenset()
"""What is refused by name."""


@pytest.mark.parametrize("asker", PEERS)
def test_questions_are_no_easy_ones(asker: str) -> None:
    """Most have an answer everywhere, and no two have the same."""
    assert len(QUESTIONS[asker]) == 25
    answers = Counter(
        bool(frozenset(question.expected(read(other)))) for other in PEERS for question in QUESTIONS[asker]
    )
    assert answers[True] > 3 * 20, answers


@pytest.mark.parametrize("other", ["shelves", "catalogue"])
def test_what_only_the_asker_has_is_named_as_lost(other: str) -> None:
    for query in ("//item/tongue", "for $i in //item return <r>{$i/code}{$i/tongue}</r>"):
        translation = translated("stock", other, query)
        assert isinstance(translation, PathTranslation)
        losses = [loss for each in translation.hops for loss in each.translation.losses]
        assert any(loss.path[-1:] == ("tongue",) for loss in losses), losses


def test_what_is_carried_loses_nothing() -> None:
    for query in ("//item/title", "//item[year = '1990']/title", "//loan/who"):
        translation = translated("stock", "shelves", query)
        assert isinstance(translation, PathTranslation)
        assert [each.translation.losses for each in translation.hops] == [()]


OVER_PEERS: Final = {"stock": (0, 4, 5, 8, 11), "shelves": (1, 8, 10, 13, 24), "catalogue": (1, 4, 14)}
"""Some questions of each library."""


def test_over_peers_every_answer_is_that_of_all_libraries_that_do_not_refuse(tmp_path: Path) -> None:
    holding = {peer: Holding(FOLDER / f"{peer}.dtd", (document(peer),)) for peer in PEERS}
    knowing = [
        Knowing("stock", "shelves", FOLDER / "stock-shelves.arrows"),
        Knowing("shelves", "catalogue", FOLDER / "shelves-catalogue.arrows"),
    ]
    different: list[str] = []
    reached: Counter[str] = Counter()

    async def test() -> None:
        async with asked_peers(tmp_path, holding, knowing) as peers:
            for asker, numbers in OVER_PEERS.items():
                for question in (QUESTIONS[asker][number] for number in numbers):
                    answer = await ask(peers[asker], question.query)
                    told = [line.name for line in answer.receipt.lines if line.status is Status.ANSWERED]
                    assert all(line.reason for line in answer.receipt.lines if line.status is Status.REFUSED)
                    expected = {item for other in told for item in question.expected(read(other))}
                    reached.update(told)
                    if not same_items(answer.items, frozenset(expected)):
                        lines = [(line.name, line.status, line.reason, line.losses) for line in answer.receipt.lines]
                        different.append(f"{asker}: {question.query}\n{sorted(answer.items ^ expected)}\n{lines}")

    run(test)
    assert different == []
    assert min(reached[peer] for peer in PEERS) > 5, reached
