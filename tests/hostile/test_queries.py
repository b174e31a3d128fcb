"""Queries that reach for what is no document, or for all of the machine, and trees of queries that are large: each is
refused, bounded, or harmless."""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Final

import pytest
import trio

from heptox.errors import HeptoxError, PeerError
from heptox.grammar import decode_query, print_query
from heptox.peer.process.evaluating import EVALUATING, evaluated
from heptox.peer.process.workers import Workers, open_workers
from heptox.peer.wire.messages import MOST_TEXT, MOST_TEXTS, End, Error, Message
from heptox.store import XQuery
from tests.fuzz.handlers.target import QUERY, Target, agree, attacked_daemon, key_of
from tests.hostile.attacks import MEGABYTE, stop
from tests.hostile.test_offers import run as attack_by, stranger
from tests.hostile.trees import SHAPES, Tree, sized
from tests.hostile.victims import Victim, harmless
from tests.peer.daemons import Daemon, ask
from tests.peer.hostile import hostile
from tests.peer.networks import run

SECONDS: Final = 300.0
"""Time enough for what ends by itself, on any machine."""
MOMENT: Final = 0.5
"""The time for what does not."""
SECRET: Final = "the-secret-of-the-test"
DOCUMENT: Final = "<r><a>1</a></r>"


XSLT: Final = "http://www.w3.org/1999/XSL/Transform"


def stylesheet(body: str) -> str:
    """A query that transforms by a stylesheet with such a body."""
    text = f'<xsl:stylesheet version="3.0" xmlns:xsl="{XSLT}">{body}</xsl:stylesheet>'
    return f'transform(map{{"stylesheet-node": {text}, "initial-template": QName("{XSLT}", "initial-template")}})'


def template(body: str) -> str:
    """A query that transforms by such a template."""
    return stylesheet(f'<xsl:template name="xsl:initial-template">{body}</xsl:template>')


BOMB: Final = '<!ENTITY e0 "xxxxxxxxxx">' + "".join(
    f'<!ENTITY e{number} "{f"&amp;e{number - 1};" * 10}">' for number in range(1, 12)
)
ENDLESS: Final = "declare function local:f($n) { local:f($n + 1) }; local:f(1)"

CATALOGUE: Final = "collection('data:application/xml,%3Ccollection%3E%3Cdoc%20href=%22@URI%22/%3E%3C/collection%3E')"
"""What names documents, in a URI that holds it."""

REFUSED: Final = {
    "a document by its name": "doc('@FILE')",
    "a document by its URI": "doc('file://@FILE')",
    "whether there is one": "if (doc-available('file://@FILE')) then error() else doc('file:@FILE')",
    "a text": "unparsed-text('file://@FILE')",
    "lines of a text": "unparsed-text-lines('@FILE')",
    "JSON": "json-doc('file://@FILE')",
    "a collection of files": "collection('file://@FOLDER?select=*')",
    "a collection of an archive": "collection('jar:file://@FOLDER/x.jar!/')",
    "names in a collection": "uri-collection('file://@FOLDER')",
    "the network": "doc('http://127.0.0.1:9/')",
    "the network by TLS": "unparsed-text('https://127.0.0.1:9/')",
    "a resource of Saxon's": "unparsed-text('classpath:net/sf/saxon/data/entities.dtd')",
    "a module": "import module namespace m = 'urn:m' at 'file://@FILE'; 1",
    "a module without its place": "import module namespace m = 'urn:m'; 1",
    "a schema": "import schema 'urn:s' at 'file://@FILE'; 1",
    "a module that is loaded": "load-xquery-module('urn:m', map{'location-hints': 'file://@FILE'})",
    "a function of Java's": "declare namespace r = 'java:java.lang.Runtime'; r:getRuntime()",
    "a function of Java's by its name": "Q{java:java.lang.System}getenv()",
    "an extension that evaluates": "Q{http://saxon.sf.net/}evaluate('1')",
    "an extension that reads": "Q{http://expath.org/ns/file}read-text('@FILE')",
    "an external function": "declare function local:f() external; local:f()",
    "an external entity": "parse-xml('<!DOCTYPE a [<!ENTITY e SYSTEM \"file://@FILE\">]><a>&amp;e;</a>')",
    "a DTD": "parse-xml('<!DOCTYPE a SYSTEM \"file://@FILE\"><a/>')",
    "an external entity in a document in a URI": (
        "doc('data:application/xml,%3C!DOCTYPE%20a%20[%3C!ENTITY%20e%20SYSTEM%20\"file://@FILE\"%3E]%3E%3Ca%3E%26e;%3C/a%3E')"
    ),
    "an inclusion": "transform(map{'stylesheet-location': 'file://@FILE'})",
    "a stylesheet's import": stylesheet("<xsl:import href='file://@FILE'/>"),
    "a stylesheet's document()": template(
        "{{document('file://@FILE')}}".replace("{{", '<xsl:copy-of select="').replace("}}", '"/>')
    ),
    "a stylesheet's stream": template(
        "<xsl:source-document href='file://@FILE'><xsl:copy-of select='.'/></xsl:source-document>"
    ),
    "a catalogue of a file": CATALOGUE.replace("@URI", "file:@FILE"),
    "a catalogue of the environment": CATALOGUE.replace("@URI", "file:/proc/self/environ"),
    "a catalogue of the network": CATALOGUE.replace("@URI", "http://127.0.0.1:9/"),
    "an external entity, behind a catalogue": "parse-xml('<!DOCTYPE a [<!ENTITY e SYSTEM \"@FILE\">]><a>&amp;e;</a>')",
    "a parsed stylesheet": "transform(map{'stylesheet-text': unparsed-text('file://@FILE')})",
}
"""Queries that are an error."""

BOUNDED: Final = {
    "recursion": "declare function local:f($n) { 1 + local:f($n + 1) }; local:f(1)",
    "a long range": "1 to 10000000000",
    "a range of items": "(1 to 2000000000) ! <a/>",
    "a text that doubles": "string-length(fold-left(1 to 60, 'ab', function($s, $n) { $s || $s }))",
    "an array": "array:size(array:join((1 to 400000000) ! [string(.)]))",
    "entities": f"string-length(parse-xml('<!DOCTYPE a [{BOMB}]><a>&amp;e11;</a>'))",
    "a large element": "<a>{(1 to 500000000) ! <b>{.}</b>}</a>",
    "a large answer": "(1 to 20000) ! string-join((1 to 1000) ! 'abc')",
}
"""Queries that are an error, or for which the process ends."""

ENDLESS_ONES: Final = {
    "a loop": ENDLESS,
    "a product": "count(for $a in 1 to 1000000, $b in 1 to 1000000 where $a * $b = -1 return $a)",
    "a pattern": "every $n in 1 to 1000000 satisfies not(matches(string-join((1 to $n) ! 'a') || '!', '^(a|aa)+$'))",
    "a stylesheet's loop": template(
        "<xsl:for-each select='1 to 2000000000'><xsl:if test='. = -1'>x</xsl:if></xsl:for-each>"
    ),
}
"""Queries that are given up."""

HARMLESS: Final = {
    "the environment": ("available-environment-variables(), environment-variable('HEPTOX_SECRET')", ()),
    "the working directory": ("static-base-uri()", ('"http://query.invalid/"',)),
    "a trace": ("trace('spoken', 'spoken')", ('"spoken"',)),
    "a message": (template("<xsl:message>spoken</xsl:message>") + " ! 1", ("1",)),
    "a text in a URI": ("unparsed-text('data:text/plain,abc')", ('"abc"',)),
    "whether a file is there": (
        "doc-available('file://@FILE'), unparsed-text-available('@FILE')",
        ("false()", "false()"),
    ),
    "a result that is written": (
        template("<xsl:result-document href='file://@FOLDER/written'><b/></xsl:result-document>") + " ! 'done'",
        ('"done"',),
    ),
}
"""Queries that are answered, and have reached nothing."""


SMALL: Final = replace(EVALUATING, memory=192 * 2**20)
"""As a peer has it, but that the memory is soon used up."""


def asked(texts: dict[str, str], folder: Path, check: Callable[[Workers, str, str], Awaitable[None]]) -> None:
    """Let one warm worker answer all of them."""
    file = folder / "secret.xml"
    file.write_text(f"<secret>{SECRET}</secret>")

    async def all_of_them() -> None:
        async with open_workers(SMALL) as workers:
            for name, text in texts.items():
                await check(workers, name, text.replace("@FILE", str(file)).replace("@FOLDER", str(folder)))

    run(all_of_them)
    assert [each.name for each in folder.iterdir()] == ["secret.xml"]


async def answer(workers: Workers, text: str, seconds: float = SECONDS) -> tuple[str, ...] | str:
    """The items, or the code of the error."""
    try:
        return await evaluated(workers, XQuery(text, (DOCUMENT,), characters=1_000_000), seconds)
    except HeptoxError as error:
        assert SECRET not in str(error)
        return error.faults[0].code


def test_nothing_is_reached_but_documents(tmp_path: Path) -> None:
    async def check(workers: Workers, name: str, text: str) -> None:
        assert await answer(workers, text) in ("HX3007", "HX6017"), name
        assert await answer(workers, "count(//a)") == ("1",), name

    asked(REFUSED, tmp_path, check)


def test_what_needs_too_much_is_an_error_and_the_next_query_is_answered(tmp_path: Path) -> None:
    async def check(workers: Workers, name: str, text: str) -> None:
        assert await answer(workers, text) in ("HX6007", "HX6017", "HX6019"), name
        assert await answer(workers, "count(//a)") == ("1",), name

    asked(BOUNDED, tmp_path, check)


def test_what_does_not_end_is_ended(tmp_path: Path) -> None:
    async def check(workers: Workers, name: str, text: str) -> None:
        assert await answer(workers, text, MOMENT) == "HX6018", name

    asked(ENDLESS_ONES, tmp_path, check)


def test_what_is_answered_has_reached_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEPTOX_SECRET", SECRET)

    async def check(workers: Workers, name: str, text: str) -> None:
        assert await answer(workers, text) == HARMLESS[name][1], name

    asked({name: text for name, (text, _) in HARMLESS.items()}, tmp_path, check)
    assert capfd.readouterr() == ("", "")


# -- large trees -----------------------------------------------------------------------------------------------------

PATIENCE: Final = 500
"""Milliseconds after which nobody waits for the answer to a tree any more."""
BEYOND: Final = 2.0
"""Seconds of the processor that a thread may go on then."""
THREADS: Final = 4
"""How many threads evaluate and translate for one neighbour."""
BUSY: Final = 0.5
"""The share of a processor from which on a daemon is at work."""
OWN: Final = ("many names in a step", "a long or", "variables of variables")
"""Shapes in which the owner asks, too."""


@asynccontextmanager
async def asking(to: Daemon, target: Target) -> AsyncIterator[Callable[[Tree], Awaitable[Message]]]:
    """A new acquaintance, whose trees the daemon evaluates, and translates for others; each gets its last message."""
    seed = key_of(secrets.token_hex(), target)
    async with stranger(to, seed) as made:
        assert await agree(made, target, "asker")
    async with hostile(0, seed=seed) as neighbour:
        await neighbour.reach(to.address)

        async def ask_tree(tree: Tree) -> Message:
            query = neighbour.query(target.peer_id, QUERY, target.schema, body=tree, hops=1, milliseconds=PATIENCE)
            return (await neighbour.ask(query))[-1]

        yield ask_tree


def spent(process: int) -> float:
    """Seconds of the processor that a process has had."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spent_until_idle(process: int) -> float:
    """Seconds of the processor that a process still takes until it is not at work any more."""
    began = now = spent(process)
    last = -inf
    while now > last + BUSY:
        time.sleep(1)
        last, now = now, spent(process)
    return now - began


def code_of_own(victim: Victim, text: str) -> str:
    """The code with which the owner's query is refused, if it is."""
    try:
        ask(victim.target.folder, text, hops=1, timeout=120.0)
    except HeptoxError as error:
        return error.faults[0].code
    return ""


def test_trees_of_all_shapes_cost_who_sends_them_and_end_when_nobody_waits(victim: Victim) -> None:
    async def attack() -> None:
        async with asking(victim.daemon, victim.target) as ask_tree:
            for name, shape in SHAPES.items():
                assert isinstance(await ask_tree(sized(shape, MOST_TEXTS // 2)), End | Error), name
            for tree in (sized(SHAPES["a wide sequence"], 3 * MOST_TEXTS), ["StringLiteral", "a" * (MOST_TEXT + 1)]):
                refused = await ask_tree(tree)
                assert isinstance(refused, Error)
                assert refused.reason.startswith("HX3009")
        for name in OWN:
            text = print_query(decode_query(sized(SHAPES[name], MOST_TEXTS // 10)))
            assert await trio.to_thread.run_sync(code_of_own, victim, text) == "", name
        assert await trio.to_thread.run_sync(code_of_own, victim, "//a" * (MOST_TEXT // 2)) == "HX3009"

    harmless(victim, lambda: attack_by(attack), growth=400 * MEGABYTE)
    assert spent_until_idle(victim.daemon.process.pid) < THREADS * BEYOND


def test_a_daemon_ends_while_trees_are_read(tmp_path: Path) -> None:
    with attacked_daemon(tmp_path) as (running, target, _):

        async def attack() -> None:
            async with asking(running, target) as ask_tree, trio.open_nursery() as nursery:
                for shape in SHAPES.values():
                    nursery.start_soon(until_ended, ask_tree, sized(shape))
                began = spent(running.process.pid)
                while spent(running.process.pid) < began + 1:
                    await trio.sleep(0.1)
                seconds = await trio.to_thread.run_sync(stop, running)
                logging.getLogger(__name__).info("it has ended after %.1f s", seconds)
                nursery.cancel_scope.cancel()

        attack_by(attack)


async def until_ended(ask_tree: Callable[[Tree], Awaitable[Message]], tree: Tree) -> None:
    """Send a tree again and again."""
    with suppress(PeerError):  # the daemon has ended
        while True:
            await ask_tree(tree)
