"""Queries of the own user of which peers answer the cores, and Saxon here the shell (``semantics.md`` section 7)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import trio

from heptox.errors import StoreError
from heptox.grammar import encode_query, print_query, syntax
from heptox.peer.process.evaluating import evaluated
from heptox.peer.process.workers import Working
from heptox.peer.query.bounds import batches, cost_of, digest_of
from heptox.peer.query.events import Bounds, Conclude, Deliver, Receipt, Shell
from heptox.peer.query.verdict import Lack, Shortfall, shortfalls
from heptox.peer.wire.messages import Body, Hop, ReceiptLine, Status
from heptox.schema import Path, SchemaTree
from heptox.settings import LEAST_TIMEOUT
from heptox.shell import Core, CoreAnswers, Gathered, Split, answers_document, with_schema
from heptox.store import XQuery

_NOTHING: Final = "<heptox-nothing/>"
_CHECKED: Final = 2.0
"""Seconds in which a query is checked, which is evaluated where there is nothing."""
_LEAST: Final = 0.1
"""Which part of its time a query has at least for what is left of it."""


class Asking(Protocol):
    """As :meth:`heptox.peer.runner.Runner.ask`."""

    def __call__(
        self, body: Body, text: str, *, hops: int, seconds: float, budget: int, explain: bool = ..., query: str = ...
    ) -> AsyncGenerator[Deliver | Conclude, None]: ...


@dataclass(frozen=True, slots=True)
class ShellQuestion:
    """A query as it was ``written``, and split; how far, and for how long in all, peers are asked; the ``keys`` by
    which nodes of the own schema are one; and the ``bound``, if it is known, of what a peer holds that is missing.
    """

    written: XQuery
    split: Split
    tree: SchemaTree
    keys: frozenset[Path]
    hops: int
    seconds: float
    explain: bool
    bound: int | None = None


@dataclass(slots=True)
class _Asked:
    """What the cores have brought so far; ``core`` is the id of the one under way, ``left`` how many bytes of items may
    come yet.
    """

    left: int
    core: str = ""
    is_cancelled: bool = False
    answers: dict[str, CoreAnswers] = field(default_factory=dict)
    receipts: list[list[ReceiptLine]] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)

    def gathered(self) -> dict[str, Gathered]:
        """The items of each core."""
        return {variable: core.gathered(variable) for variable, core in self.answers.items()}


class ShellEvaluation:
    """Asks cores by ``asking``, and has shells evaluated by ``workers``; ``own`` is this peer, whose messages have
    ``batch`` bytes of items.
    """

    def __init__(self, asking: Asking, own: Hop, workers: Working, batch: int) -> None:
        self._asking = asking
        self._own = own
        self._workers = workers
        self._batch = batch
        self._under_way: dict[str, _Asked] = {}

    def cancel(self, query: str) -> str | None:
        """Let a query end with what is there; the id of the core that is to be cancelled, ``None`` where there is no
        such query.
        """
        asked = self._under_way.get(query)
        if asked is None:
            return None
        asked.is_cancelled = True
        return asked.core

    async def ask(self, query: str, question: ShellQuestion) -> AsyncGenerator[Deliver | Conclude, None]:
        """The items of the shell, each once, and the receipt last, with the lines of all cores.

        Raises as :meth:`heptox.peer.runner.Runner.ask` and :func:`evaluated`.
        """
        ends = trio.current_time() + question.seconds
        await self._check(question)
        asked = self._under_way[query] = _Asked(question.written.characters)
        try:
            for number, core in enumerate(question.split.cores, 1):
                asked.core = f"{query[:-2]}{number:02x}"
                await self._gather(core, question, _left(ends, question), asked)
        finally:
            del self._under_way[query]
        gathered = await trio.to_thread.run_sync(asked.gathered)
        try:
            items = await self._computed(question, gathered, _left(ends, question))
        except StoreError as error:
            if error.faults[0].code != "HX6018":
                raise
            items = []
            asked.receipts.append([ReceiptLine((self._own,), Status.TIMED_OUT, reason=str(error))])
        for batch in batches(items, self._batch):
            yield Deliver(query, (self._own,), batch)
        garbled = {peer for core in gathered.values() for peer in core.garbled}
        receipts = [[_failed(line) if line.peer in garbled else line for line in lines] for lines in asked.receipts]
        lines = tuple(line for lines in receipts for line in lines)
        missing = shortfalls(*receipts)
        bounds = _bounds(question, lines, missing, items)
        yield Conclude(Receipt(query, lines, len(items), missing, _report(question, asked, gathered, bounds)))

    async def _check(self, question: ShellQuestion) -> None:
        """Raise what is wrong with the query as it was written (HX3007, HX3008) before peers are asked."""
        with suppress(StoreError):  # what it comes to where there is nothing
            written = replace(question.written, documents=(_NOTHING,))
            await evaluated(self._workers, written, min(question.seconds, _CHECKED))

    async def _gather(self, core: Core, question: ShellQuestion, seconds: float, asked: _Asked) -> None:
        """Ask the network for the items of a core."""
        written = question.written
        expression = with_schema(core.counted, question.tree, question.keys)
        answers = asked.answers[core.variable] = CoreAnswers(core.brings_rows)
        if asked.is_cancelled:
            asked.receipts.append([ReceiptLine((self._own,), Status.CANCELLED, reason="it was stopped")])
            return
        asking = self._asking(
            encode_query(expression),
            print_query(expression, written.prefixes),
            hops=question.hops,
            seconds=seconds,
            budget=max(asked.left, 1),
            explain=question.explain,
            query=asked.core,
        )
        async with aclosing(asking) as parts:
            async for part in parts:
                if isinstance(part, Conclude):
                    asked.receipts.append(list(part.receipt.lines))
                else:
                    items = (*part.items, *part.repeated)
                    asked.left -= sum(map(cost_of, items))
                    answers.add(tuple(hop.peer for hop in part.origin), items)
                    asked.names[part.origin[-1].peer] = part.origin[-1].name

    async def _computed(self, question: ShellQuestion, gathered: Mapping[str, Gathered], seconds: float) -> list[str]:
        """The items of the shell over what the cores have brought."""
        document = await trio.to_thread.run_sync(answers_document, gathered)
        shell = replace(question.written, text=question.split.text, documents=(document,))
        shell.parts()  # which are not too large
        try:
            found = await evaluated(self._workers, shell, question.seconds, left=seconds)
        except StoreError as error:  # at a place of the shell, which is not where it was written
            raise StoreError([replace(fault, position=None, excerpt=None) for fault in error.faults]) from None
        return list({digest_of(item): item for item in found}.values())


def _left(ends: float, question: ShellQuestion) -> float:
    return max(ends - trio.current_time(), question.seconds * _LEAST, LEAST_TIMEOUT)


def _failed(line: ReceiptLine) -> ReceiptLine:
    return replace(line, status=Status.FAILED, reason="items came that are none of what was asked")


def _denies(split: Split) -> bool:
    """Whether a core asks for nodes that have no others."""
    asked = (syntax.Empty, syntax.DeepEqual, syntax.Conditional)
    return any(isinstance(node, asked) for core in split.cores for node in syntax.nodes(core.query))


def _bounds(
    question: ShellQuestion, lines: Sequence[ReceiptLine], missing: Sequence[Shortfall], items: Sequence[str]
) -> Bounds | None:
    """What is known of the number of an incomplete answer: a count, or a maximum, is not lower where peers are not
    missing, and a minimum not higher. Nothing is known of sums, which may be of what is negative; where something was
    lost, or nodes are asked for that have no others: what is not heard of may be there; or where the shell does more.
    """
    if not missing:
        return None
    cut = sum(one.behind or one.peers for one in missing if one.lack is Lack.HOP_LIMIT)
    peers, lacks = cut + len({line.peer for line in lines if not line.complete}), {one.lack for one in missing}
    is_lost = not lacks.isdisjoint((Lack.LOST, Lack.NOT_ASKED, Lack.HIDDEN))
    aggregate = "" if is_lost or _denies(question.split) else question.split.aggregate
    number = items[0] if len(items) == 1 else ""
    most = number if aggregate == "min" else ""
    if aggregate == "count" and question.bound is not None and number and Lack.HOP_LIMIT not in lacks:
        most = str(int(number) + peers * question.bound)
    return Bounds(peers, number if aggregate in ("count", "max") else "", most)


def _report(question: ShellQuestion, asked: _Asked, gathered: Mapping[str, Gathered], bounds: Bounds | None) -> Shell:
    overlapping = {asked.names[peer] for core in gathered.values() for peer in core.overlapping}
    return Shell(
        question.split.shell,
        tuple(print_query(core.query, question.written.prefixes) for core in question.split.cores),
        tuple(sorted(overlapping)),
        sum(core.merged for core in gathered.values()),
        sum(core.conflicts for core in gathered.values()),
        bounds,
    )
