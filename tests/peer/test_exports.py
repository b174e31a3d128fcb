"""What is hidden from whom: no answer to others depends on it, and they are told what they did not see."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from random import Random
from tempfile import TemporaryFile
from typing import Any, Final
from unittest import mock

import pytest
import trio
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from lxml import etree

from heptox.demo import HOSPITAL
from heptox.errors import Fault, HeptoxError, PeerError, StoreError
from heptox.grammar import Expression, decode_query, encode_query, parse_query
from heptox.mapping import load_mapping
from heptox.peer import Client, PeerFolder, document_loading, peer_status, propose, translated
from heptox.peer.acquaintance.acquainting import acquaint as make_acquainted
from heptox.peer.answering import Answering
from heptox.peer.folder.exports import MOST_EXPORTS, Exports, hidden_from, sets_in_force
from heptox.peer.folder.loading import DocumentLoader, open_exports, open_store, update_store
from heptox.peer.models.control import HiddenModel
from heptox.peer.query import translating
from heptox.peer.query.events import (
    Acquainted,
    Arrived,
    Asked,
    Completed,
    Conclude,
    Evaluate,
    Evaluated,
    Failed,
    Hidden,
    Neighbour,
    Received,
    Send,
    Translate,
    Translated,
)
from heptox.peer.query.state import PeerState
from heptox.peer.record import recording
from heptox.peer.wire.messages import Body, End, Hop, Query, ReceiptLine, Status
from heptox.schema import LeafValues, SchemaTree, parse_dtd, random_document, read_dtd
from heptox.settings import Hide, PeerSettings, peer_settings_text, read_peer_settings
from heptox.store import Hiding, Store, evaluate, plan_query, query as ask_store
from heptox.translate import Direction, gathers, translate
from heptox.verification.random_queries import Vocabulary as TreeVocabulary, random_query
from heptox.xml import XmlElement, parse_document, write_document
from tests.peer.daemons import acquaint, ask, daemons, heptox, hospital_peer
from tests.peer.networks import run
from tests.support.budget import tries, usually
from tests.support.queries import Vocabulary, queries

MONTREAL: Final = HOSPITAL / "mongenhosp.dtd"
SCHEMA: Final = read_dtd(MONTREAL)
HIDDEN: Final = "Patient/MedCrNo"
NUMBERS: Final = ("1", "2", "A7", "Ann", "")
NAMES: Final = ("Ann", "Bob", "1")
BUDGET: Final = 1024 * 1024
BOSTON: Final = "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN"


def hide(folder: PeerFolder, *policy: Hide) -> PeerFolder:
    """The peer with an export policy, which may have documents that are not valid."""
    text = peer_settings_text(replace(folder.settings, hide=policy, validation="lax"))
    (folder.path / "peer.toml").write_text(text)
    return PeerFolder.open(folder.path)


def items(store: Store, query: str) -> list[str]:
    return list(ask_store(store, plan_query(parse_query(query), store.catalogue)))


# -- many queries ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer that is asked by a neighbour, or by its own user."""

    store: Store
    exports: Exports
    answering: Answering

    async def told(self, body: Body) -> list[Any]:
        """All that a neighbour hears of its query, from the first message to the receipt."""
        state = PeerState("me", "Me")
        policy = (Hide((HIDDEN,)),)
        state.handle(Acquainted((Neighbour("asker", "asker"),), hidden=hidden_from(policy, {"asker": ["asker"]})), 0)
        path = (Hop("asker", "asker"), Hop("me", "Me"))
        begun = state.handle(Arrived("in-1", "asker", Query("q", "asker", body, path, 0, 1000, BUDGET)), 0)
        (work,) = (instruction for instruction in begun if isinstance(instruction, Evaluate))
        out: list[Any] = []
        event: Completed | Failed
        try:
            event = Completed(work.task, await self.answering.losses(body, work.path, work.hidden))
            answers = self.answering.evaluate(work.query, body, work.path, work.budget, work.hidden)
            async with aclosing(answers) as batches:
                async for batch in batches:
                    out += state.handle(Evaluated(work.task, batch), 0)
        except HeptoxError as error:
            event = Failed(work.task, str(error))
        out += state.handle(event, 0)
        return [instruction for instruction in out if isinstance(instruction, Send)]

    async def own(self, body: Body) -> list[str] | None:
        """What the peer's own user gets, sorted; ``None`` where that is an error."""
        found: list[str] = []
        try:
            async with aclosing(self.answering.evaluate("q", body, (), BUDGET)) as batches:
                async for batch in batches:
                    found += batch
        except HeptoxError:
            return None
        return sorted(found)


@contextmanager
def peer(path: Path, *histories: tuple[str, bytes]) -> Iterator[Peer]:
    """A peer that hides medical records, with documents loaded one after the other."""
    folder = hide(PeerFolder.create(path, MONTREAL), Hide((HIDDEN,)))
    with folder.locked(), open_store(folder) as store, open_exports(folder) as exports:
        loader = DocumentLoader(folder, store, exports)
        for name, data in histories:
            loader.load(name, data, replacing=True)
        yield Peer(store, exports, Answering(2, store, exports))


def hospital(random: Random) -> str:
    """A valid document of the schema about some patients."""
    values: LeafValues = {("Patient", "MedCrNo"): NUMBERS, ("Patient", "Name"): NAMES}
    while True:
        text = random_document(SCHEMA, random, elements=25, values=values, pool=("a", "1", "Asthma"))
        if 3 <= text.count("<Patient") <= 5:
            return text


def with_numbers(text: str, random: Random, *, odd: bool = False) -> str:
    """The same document with other medical records: there or not, with other texts, and several where that is odd."""
    root = etree.fromstring(text)
    for patient in root.iter("Patient"):
        for old in patient.findall("MedCrNo"):
            patient.remove(old)
        for _ in range(random.choice((0, 1, 2)) if odd else random.choice((0, 1, 1))):
            made = etree.Element("MedCrNo")
            made.text = random.choice(NUMBERS)
            made.tail = random.choice(("", "\n    "))
            patient.insert(0, made)
            if odd and random.random() < 0.3:
                made.append(etree.Element("Name"))
    return etree.tostring(root, encoding="unicode")


def without_numbers(text: str) -> str:
    root = etree.fromstring(text, etree.XMLParser(remove_blank_text=True))
    for patient in root.iter("Patient"):
        for old in patient.findall("MedCrNo"):
            old.tail = None
            patient.remove(old)
        patient.text = None
    return etree.tostring(root, encoding="unicode")


def ways(random: Random) -> Iterator[tuple[str, str]]:
    """Queries that certainly depend on the medical records of patients, each by one way."""
    number, name = (repr(random.choice(values)).replace("'", '"') for values in (NUMBERS, NAMES))
    operator = random.choice(("=", "!=", "<", ">="))
    patients = random.choice(("//Patient", "/MonGenHosp/Patient", "/*/Patient", "//*/Patient"))
    given_name = random.choice(("$p/Name", "data($p/Name)", "<n>{$p/Name}</n>", "$p/@ID", "$p/Treat"))
    yield "return", f"for $p in {patients} return {random.choice(('$p/MedCrNo', '<r>{$p/MedCrNo}</r>'))}"
    yield "return", f"for $p in {patients} return <r a='{{data($p/MedCrNo)}}'/>"
    yield "return", f"for $p in {patients}, $m in $p/MedCrNo order by $m return data($m)"
    yield "return", f"{random.choice(('//MedCrNo', patients + '/MedCrNo', '//MedCrNo/text()'))}"
    yield "test", f"for $p in {patients} where $p/MedCrNo {operator} {number} return {given_name}"
    yield "test", f"for $p in {patients}[MedCrNo {operator} {number}] return {given_name}"
    yield "test", f"for $p in {patients} where {random.choice(('exists', 'empty'))}($p/MedCrNo) return {given_name}"
    yield "test", f"for $p in {patients} order by $p/MedCrNo return {given_name}"
    yield "join", f"for $p in {patients}, $q in //Patient where $p/MedCrNo {operator} $q/MedCrNo return {given_name}"
    yield "join", f"for $p in {patients}, $q in //Patient where $p/MedCrNo = $q/Name return {given_name}"
    yield "join", f"for $p in {patients}, $m in //MedCrNo where $m = $p/Name return {given_name}"
    yield "join", f"for $p in {patients}[MedCrNo = //Name] return {given_name}"
    yield "wildcard", f"for $p in {patients} return $p/*"
    yield "wildcard", f"for $p in {patients} where $p/* = {name} return {given_name}"
    yield "wildcard", f"for $p in {patients} return <r>{{$p/(* except (Hist | Treat))}}</r>"
    yield "wildcard", f"for $x in //* where $x = {number} return <x>{{data($x)}}</x>"
    yield "wildcard", f"for $x in {patients}//{random.choice(('*', 'text()'))} return $x"
    yield "whole", f"for $p in {patients} return {random.choice(('$p', '<r>{$p}</r>', 'data($p)', 'text {$p}'))}"
    yield "whole", random.choice(("/MonGenHosp", "for $r in /MonGenHosp return <all>{$r}</all>", "//Patient"))
    yield "whole", f"for $p in {patients}, $q in //Patient where deep-equal($p, $q) return {given_name}"
    yield "whole", f"for $p in {patients} order by $p return {given_name}"


def certain_queries(count: int) -> Iterator[tuple[str, Expression]]:
    random = Random(11)
    made = 0
    while made < count:
        for way, text in ways(random):
            yield way, parse_query(text)
            made += 1


def random_queries(count: int) -> Iterator[tuple[str, Expression]]:
    leaf = ("Patient", "MedCrNo")
    keys = frozenset({leaf, ("Patient", "@ID")})
    vocabulary = TreeVocabulary(SchemaTree(SCHEMA), frozenset({leaf, ("Patient", "Name")}), keys, values=NUMBERS)
    for seed in range(count):
        yield "random", random_query(Random(seed), vocabulary)


def any_queries(count: int) -> list[tuple[str, Expression]]:
    """Queries of the whole fragment, in which the names of the schema stand anywhere."""
    elements = ("MonGenHosp", "Patient", "Patient", "MedCrNo", "MedCrNo", "Name", "Hist", "Treat", "Date")
    vocabulary = Vocabulary(elements, ("ID", "PatRef"), st.sampled_from(NUMBERS), variables=("$a", "$b"))
    found: list[tuple[str, Expression]] = []

    # The same ones each time: what they come to is counted below.
    @settings(max_examples=count, phases=[Phase.generate], suppress_health_check=list(HealthCheck), derandomize=True)
    @given(queries(vocabulary))
    def draw(query: Expression) -> None:
        found.append(("any", query))

    draw()
    return found


def test_no_answer_to_a_neighbour_depends_on_what_is_hidden(tmp_path: Path) -> None:
    """Two peers whose documents differ in medical records only, one by loading them anew, are asked the same."""
    documents = [hospital(Random(seed)) for seed in range(4)]
    documents[2] = documents[2].replace("<Name>", "<Name>Bob</Name><Name>", 1)  # there can be one: it is interpreted
    names = ("fit", "other", "odd", "one")
    one, two = Random(1), Random(2)
    histories = [
        (name, with_numbers(text, one, odd=name == "odd").encode()) for name, text in zip(names, documents, strict=True)
    ]
    again = [
        (name, with_numbers(text, two, odd=name == "odd").encode())
        for (name, _), text in zip(histories, documents, strict=True)
    ]
    asked = [*certain_queries(usually(110, 190)), *random_queries(usually(60, 110)), *any_queries(usually(100, 180))]
    assert len(asked) >= usually(230, 400)
    hiding = Hiding(SCHEMA, [HIDDEN])
    plain = [parse_document(without_numbers(text)) for text in documents]
    counts: Counter[str] = Counter()

    async def test() -> None:
        for way, expression in asked:
            body = encode_query(expression)
            heard = await here.told(body)
            assert heard == await there.told(body), expression
            end = heard[-1].message
            assert isinstance(end, End)
            (line,) = end.receipt
            owns = await here.own(body), await there.own(body)
            differs = None not in owns and owns[0] != owns[1]
            told = (f"{HIDDEN}: hidden",) if hiding.touched(expression) else ()
            if line.status is Status.ANSWERED:
                assert line.losses == told
                expected = [item for document in plain for item in evaluate(expression, [document])]
                came = [item for send in heard[:-1] for item in send.message.items]
                assert came == list(dict.fromkeys(expected)), expression
            assert told or not differs, expression
            counts[f"{way} asked"] += 1
            counts[f"{way} differs"] += differs
            counts[f"{way} answered"] += bool(line.items)
            # Nested answers of which a part is hidden are refused, whatever that part holds.
            counts["errors"] += line.status is not Status.ANSWERED and "HX7107" not in line.reason

    with peer(tmp_path / "one", *histories) as here, peer(tmp_path / "two", *histories, *reversed(again)) as there:
        (export,) = [here.exports.of(frozenset({HIDDEN}))]
        for store in (here.store, export.store):
            assert [document.regular for document in store.documents()] == [True, True, False, True]
        trio.run(test)  # each query ends by its budget
    for way in ("return", "test", "join", "wildcard", "whole", "random", "any"):
        assert counts[f"{way} asked"] >= usually(16, 30), counts
        assert counts[f"{way} differs"] >= (1 if way == "any" else usually(4, 8)), counts
        assert way == "join" or counts[f"{way} answered"] >= usually(4, 8), counts
    assert counts["join answered"] == 0
    assert counts["errors"] < usually(24, 40), counts


# -- the policy ------------------------------------------------------------------------------------------------------


@pytest.fixture
def montreal(tmp_path: Path) -> PeerFolder:
    return PeerFolder.create(tmp_path / "montreal", MONTREAL)


def refused(folder: PeerFolder, *policy: Hide) -> tuple[Fault, ...]:
    with pytest.raises(PeerError) as raised:
        hide(folder, *policy)
    assert {fault.code for fault in raised.value.faults} == {"HX7080"}
    assert {fault.file for fault in raised.value.faults} == {str(folder.path / "peer.toml")}
    return raised.value.faults


def test_a_policy_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "peer.toml"
    policy = (Hide(("Patient/MedCrNo", '//"'), "all"), Hide(("/a/@b",), ("St Luke's", "all")))
    file.write_text(peer_settings_text(PeerSettings("a", "r", hide=policy)))
    assert read_peer_settings(file).hide == policy
    for nothing in (Hide(()), Hide(("a",), ())):
        with pytest.raises(PeerError, match="nobody to hide them from"):
            PeerSettings("a", "r", hide=(nothing,))
    file.write_text(
        'name = "a"\nroot = "r"\n[[hide]]\npaths = []\n[[hide]]\npaths = ["x"]\nfrom = "some"\ncolour = 1\n'
    )
    with pytest.raises(PeerError) as raised:
        read_peer_settings(file)
    assert [fault.message for fault in raised.value.faults] == [
        "hide no. 1: paths = [] is no list of strings, at least one",
        "hide no. 1: from is missing",
        "hide no. 2: colour is no setting",
        "hide no. 2: from = 'some' is no list of strings, at least one",
    ]


def test_all_that_is_wrong_with_a_policy_is_told_with_what_would_have_worked(montreal: PeerFolder) -> None:
    faults = refused(
        montreal,
        Hide(("Patient/MedCrNr", "Patient/@Id", "Pateint", "/Patient/Name", "MedCrNo", "a//b", "@ID/Name", "")),
        Hide(("/MonGenHosp", "MonGenHosp/Patient"), ("Boston", BOSTON)),
    )
    told = [(fault.message.removeprefix("hide: "), fault.hint) for fault in faults]
    assert told == [
        ("'Patient/MedCrNr' is no path of the schema", "such as Patient/MedCrNo, Patient/Name, Patient/Treat"),
        ("'Patient/@Id' is no path of the schema", told[1][1]),
        ("'Pateint' is no path of the schema", "such as Patient, @PatRef, Date"),
        ("'/Patient/Name' is no path of the schema", told[3][1]),
        ("'a//b' is no path", told[4][1]),
        ("'@ID/Name' is no path", told[5][1]),
        ("'' is no path", told[6][1]),
        ("'/MonGenHosp' is the root, without which nothing is left", "hide what stands below it"),
        ("'Boston' is neither a peer id nor the name of an acquaintance", "there are none: give the peer id"),
    ]
    assert "Patient/@ID" in str(told[1][1])
    assert "Patient/Name" in str(told[3][1])


def test_an_acquaintance_is_known_by_its_name_or_its_peer_id(montreal: PeerFolder) -> None:
    with montreal.locked():
        address = f"/ip4/127.0.0.1/tcp/4001/p2p/{BOSTON}"
        make_acquainted(
            montreal, montreal.requests(), propose(address, HOSPITAL / "montreal-boston.arrows", name="Boston")
        )
    for policy in (Hide((HIDDEN,), ("Boston",)), Hide((HIDDEN,), (BOSTON,))):
        opened = hide(montreal, policy)
        hidden = hidden_from(opened.settings.hide, {BOSTON: ["Boston"]})
        assert hidden.along(("other", BOSTON, "me"), "me") == {HIDDEN}
        assert hidden.along(("Boston", "me"), "me") == (set() if BOSTON in policy.peers else {HIDDEN})
    assert "acquaintances are Boston" in str(refused(montreal, Hide((HIDDEN,), ("boston",)))[0])


def test_what_is_hidden_along_a_path_is_what_is_hidden_from_anybody_on_it_but_us() -> None:
    policy = (Hide(("a",)), Hide(("//b", "a"), ("n",)), Hide(("c",), ("m", "o")), Hide(("d",), ("me",)))
    hidden = hidden_from(policy, {"n": ["n"], "p": ["m"], "o": ["another name"]})
    assert hidden.along(("me",), "me") == set()
    assert hidden.along(("x", "me"), "me") == {"a"}
    assert hidden.along(("n", "x", "me"), "me") == {"a", "b"}
    assert hidden.along(("p", "me"), "me") == {"a", "c"}
    assert hidden.along(("n", "o", "me"), "me") == {"a", "b", "c"}
    renamed = hidden_from(policy, {"p": ["m", "another name"]})
    assert renamed.along(("p", "me"), "me") == {"a", "c"}
    sets = sets_in_force(policy)
    assert sets is not None
    assert {frozenset("a"), frozenset("ab"), frozenset("ac"), frozenset("abc")} <= sets


def test_too_many_different_sets_are_refused(montreal: PeerFolder) -> None:
    paths = ("MedCrNo", "Name", "Hist", "Treat", "Admission", "@ID")
    few = tuple(Hide((path,), (f"{number}",)) for number, path in enumerate(paths[:5]))
    assert len(sets_in_force(few) or ()) == MOST_EXPORTS - 1
    ids = [BOSTON, *(PeerFolder.create(montreal.path.parent / f"{n}", MONTREAL).identity.peer_id for n in range(5))]
    (fault,) = refused(montreal, *(Hide((path,), (peer,)) for path, peer in zip(paths, ids, strict=True)))
    assert f"over {MOST_EXPORTS}" in fault.message


# -- pruning ---------------------------------------------------------------------------------------------------------


def pruned(dtd: str, paths: list[str], document: str, root: str | None = None) -> list[str]:
    """What is left of a document, as its store has it."""
    hiding = Hiding(parse_dtd(dtd, root), paths)
    with Store.open(None, hiding.graph) as store, TemporaryFile() as file:
        if not hiding.prune(BytesIO(document.encode()), file):
            return []
        file.seek(0)
        store.load("one", file)
        (held,) = store.documents()
        return [store.text(held.doc, 0, held.length)]


LIBRARY: Final = """
<!ELEMENT lib (book*, shelf*)> <!ELEMENT shelf (book*)> <!ELEMENT book (title, note?, book*)>
<!ELEMENT title (#PCDATA)> <!ELEMENT note (#PCDATA | title)*>
<!ATTLIST book id ID #REQUIRED lent (yes | no) "no" of IDREF #IMPLIED> <!ATTLIST shelf lent CDATA "no">
"""


@pytest.mark.parametrize(
    ("paths", "document", "left"),
    [
        (["note"], "<lib><book id='a'><title>x</title> <note>y<title/></note></book></lib>",
         '<lib><book id="a" lent="no"><title>x</title></book></lib>'),
        (["/lib/book/note"], "<lib><shelf><book id='a'><title/><note>y</note></book></shelf></lib>",
         '<lib><shelf lent="no"><book id="a" lent="no"><title/><note>y</note></book></shelf></lib>'),
        (["shelf/book/title"],
         "<lib><book id='a'><title>x</title></book><shelf><book id='b'><title>y</title></book></shelf></lib>",
         '<lib><book id="a" lent="no"><title>x</title></book><shelf lent="no"><book id="b" lent="no"/></shelf></lib>'),
        (["book/book"], "<lib><book id='a'><title/><book id='b'><title/><book id='c'/></book></book></lib>",
         '<lib><book id="a" lent="no"><title/></book></lib>'),
        (["book/book/title"],
         "<lib><book id='a'><title/><book id='b'><title/><book id='c'><title/></book></book></book></lib>",
         '<lib><book id="a" lent="no"><title/><book id="b" lent="no"><book id="c" lent="no"/></book></book></lib>'),
        (["note/title"], "<lib><book id='a'><title>x</title><note>y <title>z</title> w &amp; &#13;</note></book></lib>",
         '<lib><book id="a" lent="no"><title>x</title><note>y  w &amp; &#xD;</note></book></lib>'),
        (["@id", "book/@of"], "<lib><book id='a' of='a'><title/></book></lib>",
         '<lib><book lent="no"><title/></book></lib>'),
        (["book/@lent"], "<lib><book id='a'/><book id='b' lent='yes'/><shelf/><shelf lent='yes'/></lib>",
         '<lib><book id="a"/><book id="b"/><shelf lent="no"/><shelf lent="yes"/></lib>'),
        (["/lib/book/@lent"],
         "<lib><book id='b' lent='yes'/><shelf><book id='c'/><book id='d' lent='yes'/></shelf></lib>",
         '<lib><book id="b"/><shelf lent="no"><book id="c" lent="no"/><book id="d" lent="yes"/></shelf></lib>'),
        (["note"],
         "<lib>\n 12 <odd><title>x</title></odd><book id='a' odd='1'><title/><notes>z</notes><shelf/></book></lib>",
         '<lib><book id="a" lent="no"><title/></book></lib>'),
    ],
)  # fmt: skip
def test_what_is_hidden_is_not_in_the_store_nor_what_has_no_place(paths: list[str], document: str, left: str) -> None:
    assert pruned(LIBRARY, paths, document) == [left]


def test_a_document_with_another_root_is_not_seen() -> None:
    assert pruned(LIBRARY, ["book/note"], "<note>secret</note>") == []
    assert pruned(LIBRARY, ["book/note"], "<book id='a'><title/></book>") == []


MAY: Final = "it may show what is hidden: line 1: "
BOOK: Final = "<lib><book id='a'><title>x</title></book></lib>"


@pytest.mark.parametrize(
    ("paths", "document", "shown"),
    [
        (["note"], "<lib><book id='a'><title>x</title><note/></book></lib>", "note"),
        (["note"], "<lib>\n<book id='note'>\t<title>note</title>\r\n</book></lib>", None),
        (["/lib/book/note"], "<lib><shelf><book id='a'><note>y</note></book></shelf></lib>", None),
        (["/lib/book/note"], "<lib><book id='a'/><book id='b'><note>y</note></book></lib>", "/lib/book/note"),
        (["book/book/title"], "<lib><book><book/><title/></book></lib>", None),
        (["book/book/title"], "<lib><book><book><book><title/></book></book></book></lib>", "book/book/title"),
        (["book / @of"], "<lib><book id='a' of=''/></lib>", "book / @of"),
        (["@lent"], "<lib><book id='a'/></lib>", None),
        (["title", "note", "book/title"], "<lib><book><note/><title/></book></lib>", "note"),
        (["title", "book/title"], "<lib><book><title/></book></lib>", "book/title"),
        (["note/title"], "<lib><book><note>y<![CDATA[<title>]]>&#13;</note></book></lib>", None),
    ],
)
def test_a_document_shows_what_is_hidden(paths: list[str], document: str, shown: str | None) -> None:
    why = None if shown is None else f"it shows {shown}, which is hidden from others"
    assert Hiding(parse_dtd(LIBRARY), paths).shown(document.encode()) == why


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ("<note/>", "the root note"),
        ("<lib><notes>y</notes></lib>", "notes in lib"),
        ("<lib><book id='a' odd='y'/></lib>", "the attribute odd of book"),
        ("<lib xmlns:y='secret'/>", "the declaration of the namespace secret"),
        ("<lib><book xmlns='secret'/></lib>", "the declaration of a namespace below the root"),
        ("<lib xml:base='secret'/>", "the attribute xml:base of lib"),
        ("<lib> secret </lib>", "text in lib"),
        ("<lib><book id='a'/><![CDATA[secret]]></lib>", "text in lib"),
        ("<lib>&#115;</lib>", "text in lib"),
        ("<lib>\u00a0\u2003</lib>", "text in lib"),
        ("<!-- y --><lib/>", "a comment"),
        ("<lib><book id='a'><title>x<!-- y --></title></book></lib>", "a comment"),
        ("<lib/><!-- y -->", "a comment"),
        ("<?y secret?><lib/>", "a processing instruction"),
        ("<lib/><?y secret?>", "a processing instruction"),
        ("<!DOCTYPE lib SYSTEM 'secret'><lib/>", "a DOCTYPE"),
        ("<!DOCTYPE lib [<!ATTLIST lib lent CDATA 'secret'>]><lib/>", "a DOCTYPE"),
        ("<!DOCTYPE lib [<!ENTITY y 'secret'>]><lib/>", "a DOCTYPE"),
        ("<?xml version='1.1'?><lib/>", "an XML declaration of another version or encoding than most read"),
        ("<?xml version='1.0' encoding='utf-7'?><lib/>", "an XML declaration of another version or encoding"),
        ("<?xml version='1.0' encoding='cp037'?><lib/>", "an XML declaration of another version or encoding"),
        ("<lib/>secret", "what is not well-formed"),
        ("<lib/>\0secret", "what is not well-formed"),
    ],
)
def test_what_has_no_place_may_show_what_is_hidden(document: str, where: str) -> None:
    shown = Hiding(parse_dtd(LIBRARY), ["note"]).shown(document.encode())
    assert shown is not None
    assert shown.startswith(MAY + where)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "us-ascii"])
def test_in_every_encoding_the_same_is_seen(encoding: str) -> None:
    hiding = Hiding(parse_dtd(LIBRARY), ["note"])
    declared = f"<?xml version='1.0' encoding='{encoding.removesuffix('-sig')}' standalone='yes'?>"
    assert hiding.shown((declared + BOOK).encode(encoding)) is None
    hidden = BOOK.replace("</title>", "</title><note>y</note>")
    assert hiding.shown((declared + hidden).encode(encoding)) == "it shows note, which is hidden from others"
    assert hiding.shown((declared + BOOK + "<!-- y -->").encode(encoding)) == MAY + "a comment"


HIDDEN_PATHS: Final = st.sets(
    st.sampled_from(
        ("note", "/lib/book/note", "book/note", "book/book", "book/book/title", "shelf/book/@id", "@of", "note/title",
         "/lib/shelf", "/lib/shelf/@lent", "book/book/book/note", "/lib/book/book/@of", "shelf/book/book")
    ),
    min_size=1,
    max_size=3,
)  # fmt: skip


@settings(max_examples=tries(100), deadline=None)
@given(st.integers(0, 1 << 32), HIDDEN_PATHS)
def test_pruning_leaves_what_shows_nothing_as_it_is_and_nothing_that_shows(seed: int, paths: set[str]) -> None:
    schema = parse_dtd(LIBRARY)
    text = random_document(schema, Random(seed), elements=25)
    left = BytesIO()
    assert Hiding(schema, paths).prune(BytesIO(text.encode()), left)
    document, seen = parse_document(text), parse_document(left.getvalue())
    hiding = Hiding(schema, paths)
    assert hiding.shown(left.getvalue()) is None
    told = hiding.shown(text.encode())
    shown = told and told.removeprefix("it shows ").removesuffix(", which is hidden from others")
    assert (shown is None) == (write_document(document.root) == write_document(seen.root))
    assert shown is None or any(_is_at(shown, path) for path in _paths(document.root, ()))
    assert shown is not None or not any(_is_at(hidden, path) for hidden in paths for path in _paths(document.root, ()))


def _is_at(hidden: str, path: tuple[str, ...]) -> bool:
    """Whether a hidden path is that of a node, with all names from the root, by definition."""
    text = "/".join(("", *path))
    return text == hidden if hidden.startswith("/") else text.endswith(f"/{hidden}")


def _paths(element: XmlElement, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """The names from the root to each element and attribute."""
    path = (*above, element.tag)
    yield path
    yield from ((*path, f"@{name!s}") for name in element.attrib)
    for child in element:
        yield from _paths(child, path)


@pytest.mark.parametrize(
    ("query", "touched"),
    [
        ("//note", ["book/note"]),
        ("//title", ["book/note"]),
        ("/lib/book/title", []),
        ("/lib/*/title", []),
        ("for $b in /lib/book return $b/(* except (note | book))", []),
        ("for $b in //book return $b/@id", []),
        ("for $b in //book return data($b)", ["book/note"]),
        ("for $b in //book return $b", ["@lent", "book/note"]),
        ("for $b in //book where exists($b) return $b/title", []),
        ("for $b in //book[note = 'x'] return $b/title", ["book/note"]),
        ("for $b in //book let $x := $b/note return <a/>", ["book/note"]),
        ("for $b in //book, $c in //book where deep-equal($b, $c) return <a/>", ["@lent", "book/note"]),
        ("for $b in //book where $b/@* = 'x' return <a/>", ["@lent"]),
        ("//@lent", ["@lent"]),
        ("//text()", ["book/note"]),
        ("for $b in //book order by $b return <a/>", ["book/note"]),
        ("collection()//book", ["@lent", "book/note"]),
        ("for $b in //book where $b/title = collection()//book/note return <a/>", ["book/note"]),
        ("for $b in //shelf return <a x='{$b/@lent}'/>", ["@lent"]),
        ("//notes", []),
    ],
)
def test_a_query_is_told_what_it_asks_for_by_its_paths_alone(query: str, touched: list[str]) -> None:
    hiding = Hiding(parse_dtd(LIBRARY), ["book/note", "@lent"])
    assert list(hiding.touched(parse_query(query))) == touched


# -- the stores ------------------------------------------------------------------------------------------------------


def record(*patients: tuple[str, str]) -> bytes:
    parts = (
        f"<Patient ID='{name}'><MedCrNo>{number}</MedCrNo><Name>{name}</Name><Hist/></Patient>"
        for name, number in patients
    )
    return f"<MonGenHosp>{''.join(parts)}</MonGenHosp>".encode()


NUMBERS_OF_ALL: Final = frozenset({HIDDEN})
NAMES_OF_ALL: Final = frozenset({"Patient/Name"})


@contextmanager
def started(folder: PeerFolder) -> Iterator[tuple[DocumentLoader, Store, Exports]]:
    """What a daemon has after its start."""
    with folder.locked(), open_store(folder) as store, open_exports(folder) as exports:
        update_store(store, folder)
        exports.update(folder.document_files())
        yield DocumentLoader(folder, store, exports), store, exports


def numbers(exports: Exports, paths: frozenset[str] = NUMBERS_OF_ALL) -> list[str]:
    return items(exports.of(paths).store, "for $n in //MedCrNo return data($n)")


def names(exports: Exports, paths: frozenset[str] = NUMBERS_OF_ALL) -> list[str]:
    return items(exports.of(paths).store, "for $n in //Name return data($n)")


def quoted(*texts: str) -> list[str]:
    return [f'"{text}"' for text in texts]


def test_without_a_policy_there_is_one_store(montreal: PeerFolder) -> None:
    with started(montreal) as (loader, store, exports):
        loader.load("one", record(("Ann", "1")))
        assert items(store, "//MedCrNo") == ["<MedCrNo>1</MedCrNo>"]
        with pytest.raises(PeerError, match="HX7081"):
            exports.of(NUMBERS_OF_ALL)
    assert not (montreal.path / "exports").exists()


def test_what_others_see_follows_the_documents(montreal: PeerFolder) -> None:
    folder = hide(montreal, Hide((HIDDEN,)), Hide(("//Patient/Name",), (BOSTON,)))
    both = NUMBERS_OF_ALL | NAMES_OF_ALL
    with document_loading(folder.path) as offline:
        offline.load("one", record(("Ann", "1")))
    with started(folder) as (loader, store, exports):
        loader.load("two", record(("Bob", "2")))
        assert (names(exports), numbers(exports)) == (quoted("Ann", "Bob"), [])
        assert (names(exports, both), numbers(exports, both)) == ([], [])
        loader.load("one", record(("Cid", "3")), replacing=True)
        assert (names(exports), names(exports, both)) == (quoted("Bob", "Cid"), [])
        assert len(items(store, "//MedCrNo")) == 2
        with pytest.raises(PeerError):
            exports.of(NAMES_OF_ALL)
        loader.load("three", record(("Eve", "5")))
        loader.remove("three")
        assert names(exports) == quoted("Bob", "Cid")
        full = StoreError(Fault("HX6016", "the disk is full"))
        with mock.patch.object(Store, "remove", side_effect=full), pytest.raises(StoreError):
            loader.remove("one")
        assert (names(exports), names(exports, both)) == (quoted("Bob", "Cid"), [])
    (folder.path / "documents" / "one.xml").unlink()
    (folder.path / "documents" / "two.xml").write_bytes(record(("Dan", "4")))
    with started(folder) as (_, _, exports):
        assert (names(exports), numbers(exports)) == (quoted("Dan"), [])


def test_documents_that_are_as_they_were_are_not_pruned_again(montreal: PeerFolder) -> None:
    folder = hide(montreal, Hide((HIDDEN,)))
    with started(folder) as (loader, _, _):
        loader.load("one", record(("Ann", "1")))
        loader.load("none", b"<MonGenHosp/>")
    again = AssertionError("it is read again")
    with mock.patch.object(Hiding, "prune", side_effect=again), started(folder) as (_, _, exports):
        assert names(exports) == quoted("Ann")


def test_a_change_of_what_is_hidden_changes_nothing_that_others_see(montreal: PeerFolder) -> None:
    folder = hide(montreal, Hide((HIDDEN,)))
    with started(folder) as (loader, store, exports):
        for name in ("one", "two"):
            loader.load(name, record((name, "1")))
        before = exports.of(NUMBERS_OF_ALL).store.documents()
        loader.load("one", record(("one", "another")), replacing=True)
        assert exports.of(NUMBERS_OF_ALL).store.documents() == before
        assert items(store, "//Name") == ["<Name>two</Name>", "<Name>one</Name>"]
        assert names(exports) == quoted("one", "two")


@pytest.mark.parametrize("damage", ["store gone", "store garbage", "notes gone", "notes garbage", "notes of others"])
def test_what_is_damaged_is_made_anew(montreal: PeerFolder, damage: str) -> None:
    folder = hide(montreal, Hide((HIDDEN,)))
    with started(folder) as (loader, _, _):
        loader.load("one", record(("Ann", "1")))
    store, notes = sorted((folder.path / "exports").iterdir(), key=lambda file: file.suffix != ".duckdb")
    match damage:
        case "store gone":
            store.unlink()
        case "store garbage":
            store.write_text("no database" * 10_000)
        case "notes gone":
            notes.unlink()
        case "notes garbage":
            notes.write_text('{"one.xml": 3}')
        case "notes of others":
            held = json.loads(notes.read_text())
            held["one.xml"][1] = "0" * 64
            held["two.xml"] = ["1" * 64, "2" * 64]
            notes.write_text(json.dumps(held))
    with started(folder) as (_, _, exports):
        assert (names(exports), numbers(exports)) == (quoted("Ann"), [])
    with mock.patch.object(Hiding, "prune", side_effect=AssertionError), started(folder) as (_, _, exports):
        assert names(exports) == quoted("Ann")


def test_another_policy_makes_other_stores_and_those_before_are_removed(montreal: PeerFolder) -> None:
    def files() -> set[str]:
        return {file.name for file in (montreal.path / "exports").glob("*.duckdb")}

    folder = hide(montreal, Hide((HIDDEN,)))
    with started(folder) as (loader, _, _):
        loader.load("one", record(("Ann", "1")))
    before = files()
    folder = hide(folder, Hide((HIDDEN, "Patient/Name")))
    (folder.path / "exports" / "left").mkdir()
    with started(folder) as (_, _, exports):
        assert names(exports, NUMBERS_OF_ALL | NAMES_OF_ALL) == []
        with pytest.raises(PeerError):
            exports.of(NUMBERS_OF_ALL)
    assert len(before) == len(files()) == 1
    assert not before & files()
    assert not (folder.path / "exports" / "left").exists()
    with started(hide(folder)):
        pass
    assert not (folder.path / "exports").exists()


def test_another_schema_makes_the_stores_anew(montreal: PeerFolder) -> None:
    folder = hide(montreal, Hide((HIDDEN,)))
    with started(folder) as (loader, _, _):
        loader.load("one", record(("Ann", "1")))
    schema = folder.path / "schema.dtd"
    schema.write_text(schema.read_text() + '<!ATTLIST Patient Town CDATA "Montreal">')
    with started(folder) as (_, _, exports):
        towns = items(exports.of(NUMBERS_OF_ALL).store, "for $p in //Patient return $p/@Town")
        assert (towns, numbers(exports)) == (['Town="Montreal"'], [])
    with started(hide(folder, Hide(("@Town",)))) as (_, _, exports):
        assert items(exports.of(frozenset({"@Town"})).store, "for $p in //Patient return $p/@Town") == []


def test_what_cannot_be_taken_leaves_all_as_it_was(montreal: PeerFolder) -> None:
    folder = hide(montreal, Hide((HIDDEN,)), Hide(("Patient/Name",), (BOSTON,)))
    both = NUMBERS_OF_ALL | NAMES_OF_ALL
    full = StoreError(Fault("HX6016", "the disk is full"))
    load = Store.load
    for failing in range(3):
        with started(folder) as (loader, store, exports):
            loader.load("one", record(("Ann", "1")), replacing=True)
            for name in ("one", "two"):
                told = iter([*[None] * failing, full])

                def sometimes(self: Store, *given: Any, told: Iterator[Any] = told, **more: Any) -> Any:
                    if fault := next(told, None):
                        raise fault
                    return load(self, *given, **more)

                with mock.patch.object(Store, "load", sometimes), pytest.raises(StoreError):
                    loader.load(name, record(("Bob", "2")), replacing=True)
                assert items(store, "for $n in //Name return data($n)") == quoted("Ann")
                assert names(exports) == quoted("Ann")
                assert [document.name for document in exports.of(both).store.documents()] == ["one.xml"]
        assert [file.name for file in folder.document_files()] == ["one.xml"]


def test_what_may_be_behind_is_not_asked(montreal: PeerFolder) -> None:
    folder = hide(montreal, Hide((HIDDEN,)))
    with started(folder) as (loader, store, exports):
        loader.load("one", record(("Ann", "1")))
        load = Store.load

        def once(self: Store, *given: Any, **more: Any) -> Any:
            if self is store:
                load(self, *given, **more)  # what others see has been loaded too
                raise StoreError(Fault("HX6016", "the disk is full"))
            return load(self, *given, **more)

        with (
            mock.patch.object(Store, "load", once),
            mock.patch("heptox.peer.folder.exports.file_digest", side_effect=OSError(5, "Input/output error")),
            pytest.raises(StoreError),
        ):
            loader.load("one", record(("Bob", "2")), replacing=True)
        with pytest.raises(PeerError, match="HX7081"):
            exports.of(NUMBERS_OF_ALL)
    with started(folder) as (_, _, exports):
        assert names(exports) == quoted("Ann")


LOADER: Final = """
import sys
from pathlib import Path
from heptox.peer import PeerFolder
from heptox.peer.folder.loading import DocumentLoader, open_exports, open_store

folder = PeerFolder.open(Path(sys.argv[1]))
with folder.locked(), open_store(folder) as store, open_exports(folder) as exports:
    loader = DocumentLoader(folder, store, exports)
    for number in range(1000):
        patient = f"<Patient ID='p'><MedCrNo>{number}</MedCrNo><Name>{number % 7}</Name><Hist/></Patient>"
        data = f"<MonGenHosp>{patient * 500}</MonGenHosp>".encode()
        loader.load(f"d{number % 7}", data, replacing=True)
        print("loaded", number, flush=True)
"""


def test_a_peer_that_is_killed_while_it_loads_shows_nothing_hidden_and_nothing_twice(montreal: PeerFolder) -> None:
    folder = hide(montreal, Hide((HIDDEN,)))
    random = Random(4)
    for _ in range(2):
        command = [sys.executable, "-c", LOADER, str(folder.path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(random.randint(3, 12)):
            assert process.stdout.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        with started(folder) as (_, store, exports):
            counts = Counter(names(exports))
            assert numbers(exports) == []
            assert set(counts.values()) == {500}
            assert counts == Counter(items(store, "for $n in //Name return data($n)"))


# -- who is told what ------------------------------------------------------------------------------------------------


def arrived(*path: str, body: Any = "body") -> Arrived:
    query = Query("q", path[0], body, (*(Hop(peer, peer) for peer in path), Hop("me", "Me")), 0, 1000, BUDGET)
    return Arrived(f"in {'-'.join(path)}", path[-1], query)


def state(hidden: Hidden) -> PeerState:
    made = PeerState("me", "Me")
    made.handle(Acquainted((), strangers=True, hidden=hidden), 0)
    return made


def evaluations(instructions: tuple[Any, ...]) -> list[Evaluate]:
    return [instruction for instruction in instructions if isinstance(instruction, Evaluate)]


def test_an_evaluation_is_shared_only_where_the_same_is_hidden() -> None:
    """One query that comes along several ways: what is evaluated for one of them is not given to who sees less."""
    hidden = Hidden(peers={"n": frozenset({"a"}), "m": frozenset({"b"})})
    me = state(hidden)
    (free,) = evaluations(me.handle(arrived("x"), 0))
    (one,) = evaluations(me.handle(arrived("x", "n"), 0))
    (other,) = evaluations(me.handle(arrived("x", "m"), 0))
    (both,) = evaluations(me.handle(arrived("x", "n", "m"), 0))
    assert [work.hidden for work in (free, one, other, both)] == [set(), {"a"}, {"b"}, {"a", "b"}]
    assert len({work.task for work in (free, one, other, both)}) == 4
    (free_again,) = evaluations(me.handle(arrived("x", "y"), 0))  # by another neighbour, which may take its time
    assert not evaluations(me.handle(arrived("x", "y", "n"), 0))
    (both_again,) = evaluations(me.handle(arrived("x", "m", "n"), 0))
    assert [work.hidden for work in (free_again, both_again)] == [set(), {"a", "b"}]
    for work, item, told in (
        (free, "<secret/>", "in x"),
        (free_again, "<secret/>", "in x-y"),
        (both, "<seen/>", "in x-n-m"),
        (both_again, "<seen/>", "in x-m-n"),
    ):
        sent = me.handle(Evaluated(work.task, (item,)), 0)
        assert {send.exchange for send in sent if isinstance(send, Send)} == {told}
    ends = {}
    for work in (free, free_again, one, other, both, both_again):
        losses = tuple(f"{path}: hidden" for path in sorted(work.hidden))
        for send in me.handle(Completed(work.task, losses), 0):
            assert isinstance(send, Send) and isinstance(send.message, End)
            (ends[send.exchange],) = send.message.receipt
    assert {exchange: (line.items, line.losses) for exchange, line in ends.items()} == {
        "in x": (1, ()),
        "in x-y": (1, ()),
        "in x-n": (0, ("a: hidden",)),
        "in x-y-n": (0, ("a: hidden",)),
        "in x-m": (0, ("b: hidden",)),
        "in x-n-m": (1, ("a: hidden", "b: hidden")),
        "in x-m-n": (1, ("a: hidden", "b: hidden")),
    }
    assert all(line.complete == (not line.losses) for line in ends.values())


def test_a_later_arrival_is_not_given_what_was_kept_for_who_sees_more() -> None:
    me = state(Hidden(peers={"n": frozenset({"a"})}))
    (free,) = evaluations(me.handle(arrived("x"), 0))
    me.handle(Evaluated(free.task, ("<secret/>",)), 0)
    me.handle(Completed(free.task), 0)
    began = me.handle(arrived("x", "n"), 0)
    assert len(evaluations(began)) == 1
    assert not any(isinstance(instruction, Send) for instruction in began)
    assert not evaluations(me.handle(arrived("x", "y"), 0))


def test_what_is_hidden_changes_with_the_acquaintances_from_the_next_query_on() -> None:
    me = state(Hidden())
    assert evaluations(me.handle(arrived("x"), 0))[0].hidden == set()
    me.handle(Acquainted((), strangers=True, hidden=Hidden(frozenset({"a"}))), 0)
    assert evaluations(me.handle(arrived("x", "n"), 0))[0].hidden == {"a"}
    own = me.handle(Asked("own", "body", "body", 0, 1.0, BUDGET), 0)
    assert evaluations(own)[0].hidden == set()


def test_a_receipt_has_the_losses_of_the_translation_and_those_of_the_neighbour() -> None:
    me = PeerState("me", "Me")
    me.handle(Acquainted((Neighbour("n", "their name"),)), 0)
    begun = me.handle(Asked("q", "body", "body", 1, 1.0, BUDGET), 0)
    (work,) = evaluations(begun)
    me.handle(Completed(work.task), 0)
    (translate,) = (instruction for instruction in begun if isinstance(instruction, Translate))
    (ask_n,) = me.handle(Translated(translate.task, "other", "other", ("x: no\narrow",)), 0)
    line = ReceiptLine((Hop("me", "Me"), Hop("n", "n")), Status.ANSWERED, losses=("a/b: hidden",))
    (done,) = me.handle(Received(ask_n.exchange, End("q", (line,))), 0)  # type: ignore[union-attr]
    assert isinstance(done, Conclude)
    assert done.receipt.lines[1].losses == ("x: no arrow", "a/b: hidden")
    assert [found.lack for found in done.receipt.missing] == ["lost on the way", "hidden"]


# -- daemons ---------------------------------------------------------------------------------------------------------


def seen_in_boston(folder: Path, query: str, arrows: str, *hidden: str) -> set[str]:
    """What Boston has to say to a query of a neighbour, by its documents without the elements of some names."""
    found: set[str] = set()
    mapping, asked = load_mapping(HOSPITAL / arrows), parse_query(query)
    in_parts = not gathers(mapping, asked, Direction.TARGET)
    translation = translate(mapping, asked, "target", in_parts=in_parts)
    for file in (folder / "documents").iterdir():
        root = etree.parse(file).getroot()
        for element in list(root.iter(*hidden)) if hidden else []:
            parent = element.getparent()
            assert parent is not None
            parent.remove(element)
        found.update(evaluate(translation.query, [parse_document(etree.tostring(root))]))
    return found


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Boston, which hides policies from everybody, and who has a coronary disease from Montreal; its neighbours."""
    path = tmp_path_factory.mktemp("exports")
    folders = {name: hospital_peer(path / name, name) for name in ("boston", "montreal", "stluke")}
    montreal_id = PeerFolder.open(folders["montreal"]).identity.peer_id
    hide(PeerFolder.open(folders["boston"]), Hide(("//PolicyNo",)), Hide(("Admission/Coronary",), (montreal_id,)))
    with daemons(*folders.values()) as (boston, montreal, st_luke):
        for arrows, neighbour in (("montreal-boston.arrows", montreal), ("stluke-boston.arrows", st_luke)):
            acquaint(neighbour.folder, boston, arrows)
            acquaint(boston.folder, neighbour, arrows)
        yield folders


@pytest.mark.parametrize(
    ("asker", "query", "hidden", "losses"),
    [
        ("montreal", "for $p in //Patient return <p>{$p/Name}{$p/MedCrNo}</p>", ["PolicyNo", "Coronary"],
         ["Admission/Coronary: hidden", "PolicyNo: hidden"]),
        ("montreal", 'for $a in //Admission where $a/Problem = "Coronary" return data($a/AdmDate)', ["Coronary"],
         ["Admission/Coronary: hidden"]),
        ("montreal", "for $e in //Event return data($e/Date)", ["Coronary"], ["Admission/Coronary: hidden"]),
        ("stluke", "for $s in //Stay return <p>{$s/Name}<n>{data($s/Insurance/Number)}</n></p>", ["PolicyNo"],
         ["PolicyNo: hidden"]),
        ("stluke", 'for $s in //Stay where $s/Diagnosis = "Coronary" return $s/Name', [], []),
    ],
)  # fmt: skip
def test_neighbours_get_what_they_may_see_and_are_told(
    network: dict[str, Path], asker: str, query: str, hidden: list[str], losses: list[str]
) -> None:
    arrows = f"{asker}-boston.arrows"
    expected = seen_in_boston(network["boston"], query, arrows, *hidden)
    everything = seen_in_boston(network["boston"], query, arrows)
    parts, receipt = ask(network[asker], query, hops=1)
    assert {part.item for part in parts if part.origin.name == "boston"} == expected
    assert (expected != everything) == bool(losses)
    (line,) = (line for line in receipt.lines if line.name == "boston")
    assert (line.status, line.complete, line.items) == ("answered", not losses, len(expected))
    assert [loss for loss in line.losses if loss.endswith(": hidden")] == losses
    assert [found.lack for found in receipt.missing] == ["hidden"] * bool(losses) + ["hop limit"]


def test_what_gathers_parts_of_nodes_is_answered_whole_or_not_at_all(network: dict[str, Path]) -> None:
    parts, receipt = ask(network["stluke"], "//Stay", hops=1)
    (line,) = (line for line in receipt.lines if line.name == "boston")
    assert (line.status, line.items, receipt.complete) == ("failed", 0, False)
    assert "HX7107" in line.reason and "PolicyNo" in line.reason
    alike = "for $o in //Stay where $o/Diagnosis = $s/Diagnosis return $o/Name"
    query = f"for $s in //Stay return <stay>{{$s/Name}}{{{alike}}}</stay>"
    expected = seen_in_boston(network["boston"], query, "stluke-boston.arrows")
    parts, receipt = ask(network["stluke"], query, hops=1)
    assert {part.item for part in parts if part.origin.name == "boston"} == expected != set()
    assert [found.lack for found in receipt.missing] == ["hop limit"]


def test_the_own_user_gets_everything_and_documents_loaded_meanwhile_are_hidden_too(network: dict[str, Path]) -> None:
    boston, montreal = network["boston"], network["montreal"]
    own, receipt = ask(boston, "//PolicyNo", hops=0)
    assert len(own) == receipt.items > 5
    assert receipt.lines[0].losses == ()
    query = "for $p in //Patient return <p>{$p/Name}{$p/MedCrNo}</p>"
    for number in ("N1", "N2"):
        loaded = (
            "<MassGeneral><Admission><Pulmonary ID='x'><PolicyNo>" + number + "</PolicyNo><Enter>1</Enter>"
            "<Patient>Zoe</Patient></Pulmonary></Admission></MassGeneral>"
        )
        with Client.connect(boston) as client:
            client.load("new.xml", loaded.encode(), replacing=True)
        assert f"<PolicyNo>{number}</PolicyNo>" in {part.item for part in ask(boston, "//PolicyNo", hops=0)[0]}
        zoe = [part.item for part in ask(montreal, query, hops=1)[0] if "Zoe" in part.item]
        assert zoe == ["<p><Name>Zoe</Name></p>"]


def test_the_status_shows_what_is_hidden_from_whom(network: dict[str, Path], montreal: PeerFolder) -> None:
    with Client.connect(network["boston"]) as client:
        running = client.status()
    montreal_id = PeerFolder.open(network["montreal"]).identity.peer_id
    assert [hidden.to_json() for hidden in running.hidden] == [
        {"paths": ["//PolicyNo"], "from": "all"},
        {"paths": ["Admission/Coronary"], "from": [montreal_id]},
    ]
    shown = heptox("peer", "status", network["boston"]).stdout.splitlines()
    assert "hidden from all: //PolicyNo" in shown
    assert f"hidden from {montreal_id}: Admission/Coronary" in shown
    assert peer_status(montreal.path).hidden == ()
    hide(montreal, Hide((HIDDEN, "//Doc")))
    assert peer_status(montreal.path).hidden == (HiddenModel(paths=(HIDDEN, "//Doc"), whom="all"),)
    assert "hidden from all: Patient/MedCrNo, //Doc" in heptox("peer", "status", montreal.path).stdout.splitlines()


def test_a_peer_with_a_policy_that_cannot_be_carried_out_does_not_start(montreal: PeerFolder) -> None:
    settings = montreal.path / "peer.toml"
    settings.write_text(settings.read_text() + '\n[[hide]]\npaths = ["Patient/Nam"]\nfrom = "all"\n')
    started = heptox("peer", "start", montreal.path)
    assert (started.returncode, started.stdout) == (1, "")
    assert "HX7080" in started.stderr and "such as Patient/Name" in started.stderr


def test_a_query_that_arrives_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For the audit log, what is hidden, the evaluation, and each neighbour that it is translated for."""
    read: list[object] = []

    def counting(body: Any, *more: Any) -> Expression:
        read.append(body)
        return decode_query(body, *more)

    monkeypatch.setattr(translating, "decode_query", counting)
    text = f'//Patient[Name = "{tmp_path.name} of this test"]/Name'
    body, path = encode_query(parse_query(text)), (Hop("asker", "a"), Hop("own", "o"))
    mapping = load_mapping(HOSPITAL / "montreal-boston.arrows")
    with peer(tmp_path / "own") as found:

        async def test() -> None:
            assert recording.text_of(body)
            await found.answering.losses(body, path, frozenset({HIDDEN}))
            async for _ in found.answering.evaluate("q", body, path, 1_000_000, frozenset({HIDDEN})):
                pass
            for direction in (Direction.TARGET, Direction.SOURCE):
                translated(mapping, direction, body)

        run(test)
    assert read == [body]
