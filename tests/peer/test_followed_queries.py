"""Queries that are followed, between whole peers: the answers on documents of others, in the asker's words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from heptox.demo import DTDS, records
from heptox.errors import DisseminationError
from heptox.grammar import parse_query
from heptox.mapping import exchange, load_mapping
from heptox.matching import Answers, Delivery, Options, SubscriptionRequest, Words
from heptox.peer import subscriptions_at
from heptox.peer.feed import feeds
from heptox.translate import Direction, translate
from heptox.xml import parse_document, write_document
from tests.peer.networks import run, until
from tests.peer.whole_peers import peers_at_work
from tests.peer.worded_peers import HOSPITALS, WordedPeer, hospital
from tests.support.saxon import answer_set, evaluate

MONTREAL_BOSTON, STLUKE_BOSTON = (HOSPITALS / f"{name}-boston.arrows" for name in ("montreal", "stluke"))
EXAMPLE_1: Final = (HOSPITALS / "queries" / "example1.xq").read_text()
TREATED: Final = """for $a in //Admission, $p in //Patient[@ID = $a/@PatRef], $t in $p/Treat
where $a/Problem = "Pulmonary"
return <treated><Name>{data($p/Name)}</Name><Desc>{data($t/Desc)}</Desc></treated>"""
NAMES: Final = "//Patient/Name"
SYMPTOMS: Final = """for $y in //Pulmonary, $p in //Progress[@PatRef = $y/@ID], $s in $p/Symptom
return <had><who>{data($y/Patient)}</who>{$s/Desc}</had>"""
ILL: Final = "(//Coronary/Patient, //Pulmonary[Enter >= '12/01/2003']/@ID)"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever subscribes waits until it is confirmed, on slow machines too."""
    monkeypatch.setattr(feeds, "CONFIRMED_WITHIN", 20.0)


def exchanged(mapping: Path, text: str) -> str:
    """What a document is at the other side of a mapping."""
    return write_document(exchange(load_mapping(mapping), parse_document(text)).root)


def in_boston(query: str) -> str:
    """A query of Montreal in the words of Boston."""
    return translate(load_mapping(MONTREAL_BOSTON), parse_query(query), Direction.TARGET).text


def saxon(query: str, document: str) -> frozenset[str]:
    """What Saxon answers; queries in the report's spelling are printed first."""
    return answer_set(
        query.replace("FOR", "for")
        .replace("WHERE", "where")
        .replace("AND", "and")
        .replace("IN //", "in //")
        .replace("RETURN {$P/Name}", "return $P/Name"),
        document,
    )


async def follow(peer: WordedPeer, name: str, query: str) -> None:
    options = Options(words=Words.OWN, deliver=Delivery.ANSWERS)
    told = await peer.at_work.subscribing.subscribe([SubscriptionRequest(name, query, options)], [], skipping=False)
    assert (told.unconfirmed, told.unreached, told.untranslated) == ((), (), ())


def answers(peer: WordedPeer, name: str) -> dict[str, frozenset[str]]:
    """The answers that were delivered, by the names of documents; those on one document are different."""
    found = {}
    for data in peer.documents(name).values():
        told = Answers.from_bytes(data)
        found[told.document] = frozenset(told.items)
        assert len(told.items) == len(found[told.document])
    return found


def meant(judged: dict[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """Of what a judge has found, the documents with answers: some have none, some have."""
    found = {name: items for name, items in judged.items() if items}
    assert found
    return found


def answering(one: str, judge: Callable[[str], frozenset[str]]) -> str:
    """Records of a hospital in which a judge finds something."""
    return next(text for text in (records(one, 30, seed) for seed in range(100)) if judge(text))


async def answered(peer: WordedPeer, names: Sequence[str], last: str) -> None:
    """Wait until the answers on the last document have come, that every query has."""
    for name in names:
        await until(lambda: last in peer.documents(name))  # noqa: B023


def test_boston_follows_queries_and_gets_the_answers_on_what_montreal_publishes_in_its_own_words(
    tmp_path: Path,
) -> None:
    montreal, boston = hospital(tmp_path, "montreal", "mongenhosp"), hospital(tmp_path, "boston", "massgeneral")
    published = {f"{seed}.xml": records("montreal", 1 + seed % 3, seed) for seed in range(16)}
    published["last.xml"] = records("montreal", 40, 3)
    queries = {"symptoms": SYMPTOMS, "ill": ILL}

    async def test() -> None:
        async with peers_at_work(montreal, boston):
            await montreal.acquaint_by(boston, MONTREAL_BOSTON)
            await montreal.publish("first.xml", records("montreal", 20, 1))
            await until(lambda: boston.reaches(montreal))
            for name, query in queries.items():
                await follow(boston, name, query)
            for name, text in published.items():
                assert not (await montreal.publish(name, text)).kept
            await answered(boston, tuple(queries), "last.xml")
            for name, query in queries.items():
                judged = {one: saxon(query, exchanged(MONTREAL_BOSTON, text)) for one, text in published.items()}
                assert answers(boston, name) == meant(judged) and len(meant(judged)) < len(published)
                assert not boston.dead(name)

    run(test)


def test_montreal_follows_queries_over_boston_and_st_lukes(tmp_path: Path) -> None:
    montreal = hospital(tmp_path, "montreal", "mongenhosp")
    boston, stluke = hospital(tmp_path, "boston", "massgeneral"), hospital(tmp_path, "stluke", "stluke")
    here = {f"montreal-{seed}.xml": records("montreal", 2 + seed % 3, seed) for seed in range(6)}
    there = {f"boston-{seed}.xml": records("boston", 2 + seed % 3, seed) for seed in range(6)}
    stays = {f"stluke-{seed}.xml": records("stluke", 3, seed) for seed in range(6)}
    queries = {"example 1": EXAMPLE_1, "treated": TREATED, "names": NAMES}

    def judge(query: str, name: str, text: str) -> frozenset[str]:
        if "montreal" in name:
            return saxon(query, text)
        return saxon(in_boston(query), exchanged(STLUKE_BOSTON, text) if "stluke" in name else text)

    last = {f"last-{one}.xml": answering(one, partial(judge, EXAMPLE_1, one)) for one in DTDS}

    async def test() -> None:
        async with peers_at_work(montreal, boston, stluke):
            await montreal.acquaint_by(boston, MONTREAL_BOSTON)
            await stluke.acquaint_by(boston, STLUKE_BOSTON)
            await boston.publish("first.xml", there["boston-0.xml"])
            await stluke.publish("first.xml", stays["stluke-0.xml"])
            await until(lambda: montreal.reaches(boston) and montreal.reaches(stluke))
            for name, query in queries.items():
                await follow(montreal, name, query)
            for peer, documents in ((montreal, here), (boston, there), (stluke, stays)):
                for name, text in (documents | {f"last-{peer.name}.xml": last[f"last-{peer.name}.xml"]}).items():
                    assert not (await peer.publish(name, text)).kept
            for one in last:
                await answered(montreal, tuple(queries), one)
            for name, query in queries.items():
                everything = here | there | stays | last
                judged = {one: judge(query, one, text) for one, text in everything.items()}
                assert answers(montreal, name) == meant(judged)
            publishers = {Answers.from_bytes(data).publisher for data in montreal.documents("names").values()}
            assert publishers == {peer.peer_id for peer in (montreal, boston, stluke)}

    run(test)


def test_items_of_a_document_come_in_the_order_in_which_they_first_appear(tmp_path: Path) -> None:
    montreal = hospital(tmp_path, "montreal", "mongenhosp")
    query = "(//Treat/Desc, //Patient/Name, //Treat/Desc)"
    text = records("montreal", 9, 4)

    async def test() -> None:
        async with peers_at_work(montreal):
            await follow(montreal, "all", query)
            await follow(montreal, "the same", query)
            await montreal.publish("one.xml", text)
            (data,) = montreal.documents("all").values()
            assert Answers.from_bytes(data).items == tuple(dict.fromkeys(evaluate(query, text)))
            assert montreal.documents("the same") == {"one.xml": data}

    run(test)


def test_own_publications_are_asked_whether_the_daemon_runs_or_not_also_those_that_are_not_of_the_schema(
    tmp_path: Path,
) -> None:
    montreal = hospital(tmp_path, "montreal", "mongenhosp")
    odd = "<MonGenHosp><odd/><Patient><Name>Ann</Name></Patient></MonGenHosp>"

    async def test() -> None:
        async with peers_at_work(montreal):
            await follow(montreal, "names", NAMES)
            assert (await montreal.publish("odd.xml", odd)).kept is not None
            await montreal.publish("none.xml", "<MonGenHosp><odd/></MonGenHosp>")
        with subscriptions_at(montreal.folder) as there:
            told = there.publish("again.xml", odd.encode())
            assert (told.outcome, told.matched) == ("new", 1)
            assert there.publish("again.xml", odd.encode()) == told.model_copy(update={"outcome": "held"})
            assert there.subscription("names").last == 2
            told = json.loads(there.document("names", 2))
        assert (told["document"], told["publisher"], told["items"]) == (
            "again.xml", montreal.peer_id, ["<Name>Ann</Name>"]
        )  # fmt: skip

    run(test)


def test_whoever_starts_anew_loses_no_answers_and_gets_again_what_was_not_acknowledged(tmp_path: Path) -> None:
    montreal, boston = hospital(tmp_path, "montreal", "mongenhosp"), hospital(tmp_path, "boston", "massgeneral")
    texts = {f"{seed}.xml": records("montreal", 20, seed) for seed in range(6)}
    given = iter(texts.items())

    async def test() -> None:
        async with peers_at_work(montreal, boston) as nursery:
            await montreal.acquaint_by(boston, MONTREAL_BOSTON)
            await montreal.publish("first.xml", records("montreal", 20, 9))
            await until(lambda: boston.reaches(montreal))
            await follow(boston, "ill", ILL)
            for peer in (boston, montreal):
                await montreal.publish(*next(given))
                await until(lambda: boston.delivered("ill"))
                await boston.at_work.subscribing.acknowledge("ill", 1, None)
                await peer.stop()
                if peer is boston:
                    await montreal.publish(*next(given))
                await nursery.start(peer.run)
                await montreal.publish(*next(given))
            await until(lambda: len(boston.delivered("ill")) == 5)
            assert set(boston.delivered("ill").values()) == {1}
            log = boston.at_work.subscribing.log
            assert [one.sequence for one in log.fetch("ill")] == [2, 3, 4, 5]
            before = boston.documents("ill")
            assert answers(boston, "ill") == {
                name: saxon(ILL, exchanged(MONTREAL_BOSTON, texts[name])) for name in before
            }
            await boston.stop()
            await nursery.start(boston.run)
            assert boston.documents("ill") == before

    run(test)


def test_what_cannot_be_asked_of_a_document_is_a_dead_letter(tmp_path: Path) -> None:
    montreal = hospital(tmp_path, "montreal", "mongenhosp")
    text = records("montreal", 3, 4)

    async def test() -> None:
        async with peers_at_work(montreal):
            await follow(montreal, "broken", "for $p in //Patient where 'x' < 5 return $p/Name")
            await montreal.publish("one.xml", text)
            assert montreal.documents("broken") == {}
            (reason,) = montreal.dead("broken").values()
            assert "the query cannot be asked of it: " in reason and "HX6003" in reason
            assert montreal.at_work.subscribing.log.dead_content("broken", 1) == text.encode()

    run(test)


@pytest.mark.parametrize(
    ("query", "code", "place"),
    [
        ("for $p in //Patient\n order by $p/Name return $p/Name", "HX9071", (2, 11)),
        ("for $p in //Patient\n where $p/Name = collection()//Name return $p/Name", "HX9071", (2, 18)),
        ("//Doctor", "HX9070", (1, 3)),
        ("//Patient/Namen", "HX9070", (1, 11)),
        ("()", "HX9070", None),
        ("count(//Patient)", "HX3002", (1, 1)),
        ("//Patient[", "HX3001", (1, 11)),
    ],
)
def test_what_cannot_be_followed_is_refused_by_name(
    tmp_path: Path, query: str, code: str, place: tuple[int, int] | None
) -> None:
    montreal = hospital(tmp_path, "montreal", "mongenhosp")
    wanted = SubscriptionRequest("name", query, Options(words=Words.OWN, deliver=Delivery.ANSWERS), "q.xq", 5)
    moved = None if place is None else (place[0] + 4, place[1])

    async def test() -> None:
        async with peers_at_work(montreal):
            for one, where in ((SubscriptionRequest("name", query, wanted.options), place), (wanted, moved)):
                with pytest.raises(DisseminationError) as error:
                    await montreal.at_work.subscribing.subscribe([one], [], skipping=False)
                (fault,) = error.value.faults
                position = fault.position
                assert fault.code == code
                assert where is None or (position and (position.line, position.column)) == where

    run(test)


def test_a_query_that_has_no_translation_says_so_for_each_publisher(tmp_path: Path) -> None:
    montreal, boston = hospital(tmp_path, "montreal", "mongenhosp"), hospital(tmp_path, "boston", "massgeneral")

    async def test() -> None:
        async with peers_at_work(montreal, boston):
            await montreal.acquaint_by(boston, MONTREAL_BOSTON)
            await montreal.publish("first.xml", records("montreal", 1, 9))
            await until(lambda: boston.reaches(montreal))
            options = Options(words=Words.OWN, deliver=Delivery.ANSWERS)
            for name, query, why in (
                ("whole", "data(//Progress)", "is an inner element"),
                ("lost", "//InsName", "nothing of it can be said in the publisher's words"),
            ):
                told = await boston.at_work.subscribing.subscribe(
                    [SubscriptionRequest(name, query, options)], [], skipping=False
                )
                (lacking,) = told.untranslated
                assert (lacking.subscription, lacking.publisher) == (name, montreal.peer_id)
                assert why in (lacking.reason or "")

    run(test)


def test_publishers_with_the_same_schema_are_asked_as_it_stands(tmp_path: Path) -> None:
    here, other = hospital(tmp_path, "here", "mongenhosp"), hospital(tmp_path, "other", "mongenhosp")
    boston = hospital(tmp_path, "boston", "massgeneral")
    queries = {"example 1": EXAMPLE_1, "whole": "//Patient[Treat/Desc = 'Heparin']"}
    published = {f"{seed}.xml": records("montreal", 1 + seed % 4, seed) for seed in range(12)}
    published["last.xml"] = answering("montreal", partial(saxon, EXAMPLE_1))

    async def test() -> None:
        async with peers_at_work(here, boston, other):
            await here.acquaint_by(boston, MONTREAL_BOSTON)
            await other.acquaint_by(boston, MONTREAL_BOSTON)
            await other.publish("first.xml", records("montreal", 1, 9))
            await until(lambda: here.reaches(other))
            for name, query in queries.items():
                await follow(here, name, query)
            for name, text in published.items():
                await other.publish(name, text)
            await answered(here, tuple(queries), "last.xml")
            for name, query in queries.items():
                assert answers(here, name) == meant({one: saxon(query, text) for one, text in published.items()})

    run(test)
