"""A running peer as its administrator sees it: what the control API offers, without HTTP."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Final

import trio

from heptox import __version__
from heptox.errors import Fault, GrammarError, HeptoxError, PeerError
from heptox.feed import FeedLog
from heptox.grammar import Expression, NameTable, check_names, encode_query, lower, print_query
from heptox.mapping import Mapping
from heptox.matching import Broker
from heptox.peer.acquaintance.acquaintances import Acquaintances
from heptox.peer.acquaintance.acquainting import declared_keys, request_models, worded_trees
from heptox.peer.acquaintance.register import Known
from heptox.peer.answering import Answering
from heptox.peer.console import Drawings
from heptox.peer.control.doctor import examine_folder, known_findings, request_finding, service_findings
from heptox.peer.feed.feeds import FeedDisk, Feeds
from heptox.peer.feed.folder_subscriptions import FolderSubscriptions
from heptox.peer.feed.subscribing import Subscribing
from heptox.peer.folder.audit import AuditLog
from heptox.peer.folder.exports import Exports, counted_paths, hidden_from
from heptox.peer.folder.folder import DRAWINGS, STORE, PeerFolder
from heptox.peer.folder.loading import DocumentLoader, loaded_fields, update_store
from heptox.peer.models.control import (
    DocumentModel,
    Finding,
    KnownModel,
    Loaded,
    OwnQuery,
    QueriesModel,
    QuestionRequest,
    RequestModel,
    StatusModel,
)
from heptox.peer.process.supervision import failures
from heptox.peer.process.workers import Working
from heptox.peer.query.events import Conclude, Deliver, Neighbour
from heptox.peer.query.own_evaluation import OwnEvaluation
from heptox.peer.query.shell_evaluation import ShellEvaluation, ShellQuestion
from heptox.peer.query.translating import read_query
from heptox.peer.record.recording import Recorder
from heptox.peer.runner import Runner
from heptox.peer.wire.mapping_requests import PROTOCOL as MAPPING_PROTOCOL
from heptox.peer.wire.messages import Hop, PeerId
from heptox.peer.wire.offers import PROTOCOL
from heptox.peer.wire.standing import Side
from heptox.peer.wire.transport import OLD_FEED, Transport
from heptox.schema import SchemaTree, constrained_leaves
from heptox.shell import Split, is_ordered, is_wrapped, split, unsplit
from heptox.store import Store, XQuery, external_values

_TOO_LARGE: Final = "HX3009"
_LOWERED: Final = 0.5
"""Seconds for which it is looked whether a query can be translated."""


@dataclass(slots=True)
class InFlight:
    """A query of this peer's own user that has no receipt yet, and how many items have come."""

    text: str
    items: int = 0


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """A peer's folder under its lock, with what is open in it; ``feed`` is ``None`` where the peer takes no part in
    feeds."""

    folder: PeerFolder
    store: Store
    exports: Exports
    audit: AuditLog
    broker: Broker
    feed: FeedLog | None


@dataclass(frozen=True, slots=True)
class PeerWorkers:
    """Who reads what others send, and who examines drawings: not those that evaluate, which can open no file."""

    reading: Working
    drawing: Working


class PeerService:
    """One peer at work. ``stopping`` is set when it is asked to end."""

    def __init__(
        self,
        opened: OpenFolder,
        transport: Transport,
        runner: Runner,
        answering: Answering,
        recorder: Recorder,
        workers: PeerWorkers,
        own: OwnEvaluation,
    ) -> None:
        self.folder = folder = opened.folder
        self.transport = transport
        self.runner = runner
        self.recorder = recorder
        self.stopping = trio.Event()
        self.answering = answering
        self._own = own
        here = Hop(transport.peer, folder.settings.name)
        self._shells = ShellEvaluation(runner.ask, here, own.workers, runner.state.limits.batch)
        self.drawing = workers.drawing
        self._writing = trio.Lock()
        self._store = opened.store
        self._exports = opened.exports
        self._loader = DocumentLoader(folder, opened.store, opened.exports)
        self._documents: set[str] = set()
        self.schema = folder.schema()
        self._name_table = NameTable.of(self.schema)
        self._tree = SchemaTree(self.schema)
        self.drawings = Drawings(folder.path / DRAWINGS)
        broker = opened.broker
        self.subscribing = Subscribing(FolderSubscriptions(folder, broker.log, broker, self.worded), recorder)
        if opened.feed is not None:
            disk = FeedDisk(folder, broker, opened.feed)
            self.subscribing.feeds = Feeds(
                disk, transport, recorder, self.subscribing.wake, answering.translating, workers.reading
            )
        self.acquaintances = Acquaintances(
            folder, transport, self._apply, recorder.administered, recorder.repeated.note, workers.reading
        )
        self._names: dict[PeerId, set[str]] = {}
        self._in_flight: dict[str, InFlight] = {}
        self._watch()

    async def open(self) -> None:
        """Bring the stores up to date and read the mappings; raises what is wrong with any document or mapping."""
        loaded, removed = await trio.to_thread.run_sync(update_store, self._store, self.folder)
        await trio.to_thread.run_sync(self._exports.update, self.folder.document_files())
        if loaded or removed:
            await self.recorder.administered("updated", loaded=loaded, removed=removed)
        self._documents = {document.name for document in self._store.documents()}
        await trio.to_thread.run_sync(self.drawings.mend)
        await self.acquaintances.open()
        self._apply()
        if self.subscribing.feeds is not None:
            await self.subscribing.feeds.open()

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Take part in the network while the context is open; raises what :meth:`Transport.serving` raises."""
        calls = {PROTOCOL: self.acquaintances.answer}
        feeds = self.subscribing.feeds
        feeding = None if feeds is None else feeds.feeding
        if feeds is not None:
            calls[MAPPING_PROTOCOL] = feeds.mappings.answer
            calls[OLD_FEED] = feeds.feeding.links.refuse
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(self.runner.serving(self.acquaintances.lost, calls, feeding))
            if feeds is not None:
                await opened.enter_async_context(feeds.serving())
            await opened.enter_async_context(self.acquaintances.kept())
            yield

    def _apply(self) -> None:
        """Let queries travel to those with whom there is an acquaintance in force, and to nobody else."""
        known = [one for one in self.acquaintances.known if one.acquaintance.standing.in_force]
        for one in self.acquaintances.known:
            # one that is renamed sees no more than before, until the policy is read again
            self._names.setdefault(one.peer, set()).add(one.acquaintance.name)
        self.answering.neighbours = {one.peer: one for one in known}
        self.recorder.names = {one.peer: one.acquaintance.name for one in self.acquaintances.known}
        neighbours = tuple(Neighbour(one.peer, one.acquaintance.name) for one in known)
        settings = self.folder.settings
        hidden = hidden_from(settings.hide, self._names)
        self.answering.counts.least = counted_paths(settings.hide)
        self.runner.acquaint(neighbours, strangers=settings.policy == "open", hidden=hidden)
        if self.subscribing.feeds is not None:
            self.subscribing.feeds.acquaint(known)

    def _watch(self) -> None:
        """Let the metrics look at what is here."""
        metrics, settings = self.recorder.metrics, self.folder.settings
        metrics.info.info({"name": settings.name, "peer_id": self.transport.peer, "version": __version__})
        queries, in_flight = "heptox_queries_in_flight", "Queries under way"
        metrics.watch(queries, in_flight, lambda: len(self._in_flight), asker="own")
        metrics.watch(queries, in_flight, lambda: self.recorder.in_flight, asker="neighbour")
        metrics.watch("heptox_connections", "Peers that are connected", lambda: self.transport.connections)
        metrics.watch("heptox_acquaintances", "Acquaintances", lambda: len(self.acquaintances.known))
        metrics.watch("heptox_documents", "Documents held", lambda: len(self._documents))
        metrics.watch("heptox_store_bytes", "Size of the store's file", lambda: _size(self.folder.path / STORE))
        audit = self.recorder.audit
        metrics.watch("heptox_audit_lines", "Lines that the audit log has taken", lambda: audit.lines)
        metrics.watch("heptox_audit_failures", "Writes of the audit log that have failed", lambda: audit.failures)

    # -- what the administrator does ---------------------------------------------------------------------------------

    async def load(
        self,
        name: str,
        data: bytes,
        *,
        replacing: bool = False,
        file: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Load one document, which messages call ``file``; it is then on the disk, and the next query sees it.

        Queries go on meanwhile. ``progress`` is called by another thread with how many bytes are done.
        """
        async with self._writing:
            loaded = await trio.to_thread.run_sync(
                partial(self._loader.load, name, data, replacing=replacing, file=file, progress=progress)
            )
            self._documents.add(loaded.name)
            await self.recorder.administered("loaded", **loaded_fields(loaded))
        return loaded

    async def written(self) -> None:
        """Wait until what is being loaded or removed is, and its answer is about to be sent."""
        async with self._writing:
            pass

    async def remove(self, name: str) -> str:
        """Hold a document no longer, and give the name that it went by; the next query does not see it.

        Raises as :meth:`DocumentLoader.remove`.
        """
        async with self._writing:
            removed = await trio.to_thread.run_sync(self._loader.remove, name)
            self._documents.discard(removed)
            await self.recorder.administered("removed", document=removed)
        return removed

    async def documents(self) -> list[DocumentModel]:
        """The documents that are held, by name."""
        return await trio.to_thread.run_sync(self._list_documents)

    def _list_documents(self) -> list[DocumentModel]:
        fits = {document.name: document.regular for document in self._store.documents()}
        return [DocumentModel.of(file, fits.get(file.name)) for file in self.folder.document_files()]

    def queries(self) -> QueriesModel:
        """The queries in flight: those of the own user, and those of neighbours."""
        return QueriesModel(own=self._own_queries(), neighbours=self.recorder.queries())

    def _own_queries(self) -> tuple[OwnQuery, ...]:
        flying = self._in_flight.items()
        return tuple(OwnQuery(query=query, text=one.text, items=one.items) for query, one in flying)

    def status(self) -> StatusModel:
        """Who the peer is, what it holds, whom it knows, and which queries of its own user are in flight."""
        return StatusModel.of(
            self.folder.settings,
            peer_id=self.transport.peer,
            schema_key=self.runner.state.schema,
            running=True,
            addresses=self.transport.addresses,
            documents=len(self._documents),
            acquaintances=tuple(map(self.known_model, self.acquaintances.known)),
            requests=self.requests(),
            queries=self._own_queries(),
        )

    def requests(self) -> tuple[RequestModel, ...]:
        """The offers that wait for the administrator."""
        return request_models(self.acquaintances.requests(), self.acquaintances.names(), self.transport.connected)

    def known_model(self, known: Known) -> KnownModel:
        """An acquaintance, with how it is doing."""
        connected = self.transport.connected(known.peer)
        return KnownModel.of(known.acquaintance, connected=connected, fault=known.fault or known.other)

    def cancel(self, query: str) -> None:
        """End a query of the own user early: who asked it gets the receipt of what is there.

        Raises :class:`PeerError` (HX7069) when none of that id is in flight.
        """
        core = self._shells.cancel(query)
        if not (self.runner.cancel(query if core is None else core) or self._own.cancel(query)):
            raise PeerError(Fault("HX7069", f"no query {query} is in flight", hint="`heptox peer status` lists them"))

    async def examine(self) -> list[Finding]:
        """What is wrong with the peer, and what to do; every acquaintance is looked for."""
        findings = await trio.to_thread.run_sync(examine_folder, self.folder.path)
        reached: dict[PeerId, bool] = {}

        async def reach(peer: PeerId) -> None:
            reached[peer] = await self.acquaintances.reach(peer)

        await self.recorder.flush()
        denied = self.recorder.metrics.registry.get_sample_value("heptox_denied_streams_total")
        findings += service_findings(
            audit_failing=self.recorder.audit.failing,
            exports_behind=self._exports.behind,
            failures=failures,
            denied=int(denied or 0),
        )
        async with trio.open_nursery() as nursery:
            for known in self.acquaintances.known:
                if known.acquaintance.standing.in_force:  # to be reached is to be offered it
                    nursery.start_soon(reach, known.peer)
        for known in self.acquaintances.known:
            findings += known_findings(known, reached=reached.get(known.peer, False))
        return [*findings, *map(request_finding, self.acquaintances.names().values())]

    async def ask(self, question: QuestionRequest) -> AsyncGenerator[Deliver | Conclude, None]:
        """Ask the network: items as they come, the receipt last; leaving early cancels the query everywhere.

        Raises :class:`GrammarError` for what is no query, and for one that names what this peer's schema does not have
        (HX3041); :class:`PeerError` for limits out of range; :class:`StoreError` where Saxon answers, as
        :meth:`OwnEvaluation.ask`.
        """
        query, began = secrets.token_hex(16), trio.current_time()
        conclusion: Conclude | None = None
        refusal = ""
        try:
            async with aclosing(self._ask(query, question)) as parts:
                async for part in parts:
                    conclusion = part if isinstance(part, Conclude) else None
                    yield part
        except HeptoxError as error:
            refusal = str(error)
            raise
        finally:
            self.recorder.own(query, question.query, conclusion, trio.current_time() - began, refusal)

    async def _ask(self, query: str, question: QuestionRequest) -> AsyncGenerator[Deliver | Conclude, None]:
        parts = await self._parts(query, question)
        self.recorder.own_asked(query, question.query)
        self._in_flight[query] = flying = InFlight(question.query)
        try:
            async with aclosing(parts):
                async for part in parts:
                    if isinstance(part, Deliver):
                        flying.items += len(part.items)
                    yield part
        finally:
            del self._in_flight[query]

    async def _parts(self, query: str, question: QuestionRequest) -> AsyncGenerator[Deliver | Conclude, None]:
        """What answers a query: peers, with Saxon for what leaves the fragment, or Saxon alone where the query does not
        leave this peer.
        """
        settings = self.folder.settings
        hops = settings.hops if question.hops is None else question.hops
        seconds = settings.timeout if question.timeout is None else question.timeout
        bound = tuple(question.bind.items())
        asked = XQuery(
            question.query, (), question.file, bound, characters=settings.budget, prefixes=self.schema.prefixes
        )
        try:
            reading = partial(read_query, question.query, question.file, names=self._name_table)
            expression = await trio.to_thread.run_sync(reading, abandon_on_cancel=True)
        except GrammarError as error:
            if hops == 0:
                return self._own.ask(query, asked, error, seconds=seconds, explain=question.explain)
            if error.faults[0].code == _TOO_LARGE:
                raise
            return await self._asked_by(query, asked, await self._split(asked, error), question, hops, seconds)
        external_values(asked)  # the fragment has no external variables
        # as it is printed, without the spelling of the report, which no other engine reads
        printed = replace(asked, text=print_query(expression, self.schema.prefixes))
        found = await self._shell_of(expression, printed, travels=hops != 0, merge=question.merge)
        if found is not None:
            return await self._asked_by(query, printed, found, question, hops, seconds)
        await self._check_names(expression)
        return self.runner.ask(
            encode_query(expression),
            printed.text,
            hops=hops,
            seconds=seconds,
            budget=settings.budget,
            explain=question.explain,
            query=query,
        )

    async def _asked_by(
        self, query: str, asked: XQuery, found: Split, question: QuestionRequest, hops: int, seconds: float
    ) -> AsyncGenerator[Deliver | Conclude, None]:
        """What answers a query that is split."""
        for core in found.cores:
            await self._check_names(core.query)
        keys = constrained_leaves(self._tree)[0] | declared_keys(self._mappings())
        asking = ShellQuestion(asked, found, self._tree, keys, hops, seconds, question.explain, question.bounds)
        return self._shells.ask(query, asking)

    async def _split(self, asked: XQuery, refused: GrammarError | None = None) -> Split:
        """What peers are asked, and what is computed of it.

        Raises :class:`GrammarError`: as :func:`split`; ``refused``, why it is none of the fragment, for a query that
        asks for nothing.
        """
        splitting = partial(split, asked.text, asked.file, self._name_table, refusal=self._refusal)
        found = await trio.to_thread.run_sync(splitting, abandon_on_cancel=True)
        if not found.cores and refused is not None:
            raise refused
        return found

    async def _shell_of(self, expression: Expression, printed: XQuery, *, travels: bool, merge: bool) -> Split | None:
        """The shell that an expression of the fragment has all the same, if any: for an order, for an element around
        what peers answer, or for what no mapping can translate.
        """
        if travels and (is_ordered(expression) or is_wrapped(expression)):
            return await self._split(printed)
        if travels and await trio.to_thread.run_sync(self._refusal, expression, abandon_on_cancel=True) is not None:
            with suppress(GrammarError):  # else this peer answers, and others as far as they can
                return await self._split(printed)
        return unsplit(expression) if merge else None

    def _refusal(self, expression: Expression) -> GrammarError | None:
        """Why an expression cannot be translated, whatever the mapping, as far as that is seen without one, soon."""
        if self._tree.types.recursive:  # paths may lead anywhere
            return None
        ends = monotonic() + _LOWERED

        def check() -> None:
            if monotonic() > ends:
                raise TimeoutError

        try:
            lower(expression, self._tree, check=check)
        except GrammarError as error:
            return error
        except TimeoutError:
            pass
        return None

    async def _check_names(self, expression: Expression) -> None:
        await trio.to_thread.run_sync(check_names, expression, self._tree, *self.worded(), abandon_on_cancel=True)

    def worded(self) -> tuple[SchemaTree, ...]:
        """The trees of this peer's schema on which its mappings draw boxes: tags may be there that are not declared."""
        return worded_trees(self._mappings())

    def _mappings(self) -> Iterator[tuple[Mapping, Side]]:
        """The mappings of acquaintances, and the side of each that is this peer's."""
        known = self.acquaintances.known
        return ((one.mapping, one.acquaintance.side) for one in known if one.mapping is not None)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
