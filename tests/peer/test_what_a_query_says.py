"""What a query says to those whom it reaches: its translation, and nothing of how the asker has put it."""

from __future__ import annotations

from collections import defaultdict
from contextlib import aclosing
from pathlib import Path
from random import Random
from typing import Final

import cbor2
import pytest

from heptox.errors import HeptoxError
from heptox.grammar import encode_query, parse_query
from heptox.peer import QuestionRequest
from heptox.peer.query.events import Conclude, Translated
from heptox.peer.query.translating import translated
from heptox.peer.wire.muxer import MuxedBytes
from heptox.schema import Path as SchemaPath
from heptox.translate import Direction
from tests.peer.asked_peers import Holding, Knowing, asked_peers
from tests.peer.networks import run
from tests.support.random_mappings import Problem, QueryMaker, random_problem

SCHEMAS: Final = {
    "a": "<!ELEMENT a (p*)> <!ELEMENT p (name, ward, note)> <!ELEMENT name (#PCDATA)> <!ELEMENT ward (#PCDATA)>"
    " <!ELEMENT note (#PCDATA)>",
    "b": "<!ELEMENT b (q*)> <!ELEMENT q (label, room)> <!ELEMENT label (#PCDATA)> <!ELEMENT room (#PCDATA)>",
    "c": "<!ELEMENT c (r*)> <!ELEMENT r (title)> <!ELEMENT title (#PCDATA)>",
}
ARROWS: Final = {"a-b": "p/name -> q/label\np/ward -> q/room\n", "b-c": "q/label -> r/title\n"}
QUERY: Final = """(
  for $askers-word in //p where $askers-word/name = "carried" return <shell>{data($askers-word/name)}</shell>,
  //p[ward = "to-b-only"]/name, //p[note = "to-nobody"]/name, //p[name = "x" or note = "to-nobody"]/name)"""
SECRETS: Final = (b"askers-word", b"to-nobody")


def test_who_is_asked_gets_the_translation_and_no_text_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every byte is looked at that three peers in a row send each other, whoever asks for an explanation."""
    for name, text in SCHEMAS.items():
        (tmp_path / f"{name}.dtd").write_text(text)
    for name, text in ARROWS.items():
        source, target = name.split("-")
        head = f'source "{source}.dtd" root {source}\ntarget "{target}.dtd" root {target}\n'
        (tmp_path / f"{name}.arrows").write_text(head + text)
    written: defaultdict[str, bytearray] = defaultdict(bytearray)
    write = MuxedBytes.write

    async def recorded(self: MuxedBytes, data: bytes) -> None:
        written[self._neighbour] += data
        await write(self, data)

    monkeypatch.setattr(MuxedBytes, "write", recorded)
    holding = {name: Holding(tmp_path / f"{name}.dtd") for name in "abc"}
    holding["c"] = Holding(tmp_path / "c.dtd", ("<c><r><title>carried</title></r></c>",))
    knowing = [Knowing("a", "b", tmp_path / "a-b.arrows"), Knowing("b", "c", tmp_path / "b-c.arrows")]

    async def test() -> None:
        async with asked_peers(tmp_path / "peers", holding, knowing) as peers:
            for explain in (False, True):
                written.clear()
                texts: dict[str, str] = {}
                items: set[str] = set()
                question = QuestionRequest(query=QUERY, timeout=60.0, explain=explain)
                async with aclosing(peers["a"].at_work.ask(question)) as parts:
                    async for part in parts:
                        if isinstance(part, Conclude):
                            texts = {line.path[-1].peer: line.text for line in part.receipt.lines}
                        else:
                            items |= {*part.items}
                a, b, c = (peers[name].peer_id for name in "abc")
                assert "<shell>carried</shell>" in items
                assert b"carried" in written[b]
                assert b"to-b-only" in written[b]
                assert b"carried" in written[c]
                assert b"to-b-only" not in written[c]
                for secret in SECRETS:
                    assert not [peer for peer in (a, b, c) if secret in written[peer]]
                # the texts of translations are in receipts, where they are wanted
                assert (b"for $" in written[a]) == explain
                if explain:
                    assert (texts[a].count("to-nobody"), "room" in texts[b], "title" in texts[c]) == (2, True, True)
                    assert b"room" not in written[c]
                else:
                    assert set(texts.values()) == {""}

    run(test)


FORMS: Final = (
    'for $asker in {kept} for $other in {lost} where $other/{leaf} = "SECRET" return <a>{{data($asker/{name})}}</a>',
    '(for $asker in {kept} return $asker/{name}, for $other in {lost} where $other/{leaf} != "SECRET" return $other)',
    'for $asker in {kept} return <a>{{$asker/{name}, for $b in {lost} where $b/{leaf} = "SECRET" return <b/>}}</a>',
    'for $asker in {kept} where $asker/{name} = "1" or {lost}/{leaf} = "SECRET" return $asker/{name}',
    'for $asker in {kept} where empty({lost}[{leaf} = "SECRET"]) return $asker/{name}',
    '{kept}[{name} = "1" or exists({lost}[{leaf} != "SECRET"])]/{name}',
    'for $asker in {lost} where $asker/{leaf} = "SECRET" or {kept}/{name} != "9" return <a>{{data($asker/{leaf})}}</a>',
)
"""Queries with a condition on a leaf that is lost, beside what is not."""


def test_a_condition_on_a_leaf_that_no_arrow_carries_is_not_sent() -> None:
    sent = 0
    for seed in range(12):
        random = Random(f"what is said {seed}")
        given = random_problem(random)
        for to in Direction:
            for text in _asked(random, given, to):
                found = translated(given.mapping, to, encode_query(parse_query(text)))
                if isinstance(found, Translated):
                    sent += 1
                    said = cbor2.dumps(found.body)
                    assert [word for word in (b"SECRET", b"asker") if word in said] == [], f"{given}\n{text}"
    assert sent > 20


def _asked(random: Random, given: Problem, to: Direction) -> list[str]:
    """Queries about a leaf that no arrow carries, and one that an arrow carries; none where there are not both."""
    maker = QueryMaker.asking(random, given, to)
    tree = maker.tree
    leaves = [path for path in tree.walk() if len(path) > 1 and tree.is_leaf(path) and _is_plain(path)]
    kept, lost = ([path for path in leaves if (path in maker.carried) is side] for side in (True, False))
    if not kept or not lost:
        return []
    found = []
    for form in FORMS:
        one, other = random.choice(kept), random.choice(lost)
        way = {which: "/".join(("", tree.graph.root, *path[:-1])) for which, path in (("kept", one), ("lost", other))}
        text = form.format(**way, name=one[-1], leaf=other[-1])
        try:
            parse_query(text)
        except HeptoxError:
            continue  # a constructor around what a choice has left open
        found.append(text)
    return found


def _is_plain(path: SchemaPath) -> bool:
    """Whether a leaf can be written in a query as it is, and is part of nothing that is taken whole."""
    return not any(step[0] in "[/" or step == "z" for step in path)
