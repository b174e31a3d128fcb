"""A running peer as its administrator sees it: what the control API offers, without HTTP."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import trio

from heptox import __version__
from heptox.errors import HeptoxError
from heptox.grammar import encode_query, parse_query, print_query
from heptox.mapping import Mapping, load_mapping
from heptox.peer.acquainting import Proposal, acquaint
from heptox.peer.administration import acquaintance_to_json
from heptox.peer.answering import Answering
from heptox.peer.events import Conclude, Deliver, Neighbour
from heptox.peer.folder import STORE, Acquaintance, PeerFolder
from heptox.peer.loading import DocumentLoader, Loaded, loaded_fields, update_store
from heptox.peer.messages import PeerId
from heptox.peer.recording import Recorder
from heptox.peer.runner import Runner
from heptox.peer.transport import Transport
from heptox.store import Store


@dataclass(frozen=True, slots=True)
class Question:
    """A query for the network; ``file`` is where its text was read, for messages.

    ``seconds`` and ``hops`` are the peer's own settings unless given.
    """

    text: str
    file: str | None = None
    seconds: float | None = None
    hops: int | None = None
    explain: bool = False


@dataclass(slots=True)
class InFlight:
    """A query of this peer's own user that has no receipt yet, and how many items have come."""

    text: str
    items: int = 0


class PeerService:
    """One peer at work. ``stopping`` is set when somebody wants it to end."""

    def __init__(
        self,
        folder: PeerFolder,
        store: Store,
        transport: Transport,
        runner: Runner,
        answering: Answering,
        recorder: Recorder,
    ) -> None:
        self.folder = folder
        self.transport = transport
        self.runner = runner
        self.recorder = recorder
        self.stopping = trio.Event()
        self._answering = answering
        self._writing = trio.Lock()
        self._store = store
        self._loader = DocumentLoader(folder, store)
        self._documents: set[str] = set()
        self._neighbours: dict[PeerId, tuple[Acquaintance, Mapping]] = {}
        self._in_flight: dict[str, InFlight] = {}
        self._watch()

    async def open(self) -> None:
        """Bring the store up to date and read the mappings; raises what is wrong with any document or mapping."""
        loaded, removed = await trio.to_thread.run_sync(update_store, self._store, self.folder)
        if loaded or removed:
            await self.recorder.administered("updated", loaded=loaded, removed=removed)
        self._documents = {document.name for document in self._store.documents()}
        for acquaintance in await trio.to_thread.run_sync(self.folder.acquaintances):
            await self._know(acquaintance)
        self._tell()

    async def _know(self, acquaintance: Acquaintance) -> None:
        mapping = await trio.to_thread.run_sync(load_mapping, acquaintance.mapping)
        self._neighbours[acquaintance.peer_id] = (acquaintance, mapping)

    def _tell(self) -> None:
        self._answering.neighbours = dict(self._neighbours)
        self.recorder.names = {peer: known.name for peer, (known, _) in self._neighbours.items()}
        neighbours = tuple(Neighbour(peer, known.name) for peer, (known, _) in self._neighbours.items())
        self.runner.acquaint(neighbours, strangers=self.folder.settings.policy == "open")

    def _watch(self) -> None:
        """Let the metrics look at what is here."""
        metrics, settings = self.recorder.metrics, self.folder.settings
        metrics.info.info({"name": settings.name, "peer_id": self.transport.peer, "version": __version__})
        queries, in_flight = "heptox_queries_in_flight", "Queries under way"
        metrics.watch(queries, in_flight, lambda: len(self._in_flight), asker="own")
        metrics.watch(queries, in_flight, lambda: self.recorder.in_flight, asker="neighbour")
        metrics.watch("heptox_connections", "Peers that are connected", lambda: self.transport.connections)
        metrics.watch("heptox_acquaintances", "Acquaintances", lambda: len(self._neighbours))
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

        Queries go on meanwhile. ``progress`` is told by another thread how many bytes are done.
        """
        async with self._writing:
            loaded = await trio.to_thread.run_sync(
                partial(self._loader.load, name, data, replacing=replacing, file=file, progress=progress)
            )
            self._documents.add(loaded.name)
            await self.recorder.administered("loaded", **loaded_fields(loaded))
        return loaded

    async def acquaint(self, proposal: Proposal) -> Acquaintance:
        """Add an acquaintance; when this returns it is on the disk, and it may ask and is asked."""
        async with self._writing:
            acquaintance = await trio.to_thread.run_sync(acquaint, self.folder, proposal)
            await self._know(acquaintance)
            self._tell()
            await self.recorder.administered("acquainted", **acquaintance_to_json(acquaintance))
        return acquaintance

    def status(self) -> dict[str, Any]:
        """Who the peer is, what it holds, whom it knows, and which queries of its own user are in flight."""
        settings = self.folder.settings
        return {
            "name": settings.name,
            "peer_id": self.transport.peer,
            "root": settings.root,
            "policy": settings.policy,
            "timeout": settings.timeout,
            "running": True,
            "addresses": list(self.transport.addresses),
            "documents": len(self._documents),
            "acquaintances": [
                {**acquaintance_to_json(acquaintance), "connected": self.transport.connected(peer)}
                for peer, (acquaintance, _) in self._neighbours.items()
            ],
            "queries": [
                {"query": query, "text": flying.text, "items": flying.items}
                for query, flying in self._in_flight.items()
            ],
        }

    async def ask(self, question: Question) -> AsyncGenerator[Deliver | Conclude, None]:
        """Ask the network: items as they come, the receipt last; leaving early cancels the query everywhere.

        Raises :class:`GrammarError` for what is no query, :class:`PeerError` for limits out of range.
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
            self.recorder.own(query, question.text, conclusion, trio.current_time() - began, refusal)

    async def _ask(self, query: str, question: Question) -> AsyncGenerator[Deliver | Conclude, None]:
        settings = self.folder.settings
        expression = await trio.to_thread.run_sync(parse_query, question.text, question.file)
        self.recorder.own_asked(query, question.text)
        parts = self.runner.ask(
            encode_query(expression),
            print_query(expression),
            hops=settings.hops if question.hops is None else question.hops,
            seconds=settings.timeout if question.seconds is None else question.seconds,
            budget=settings.budget,
            explain=question.explain,
            query=query,
        )
        self._in_flight[query] = flying = InFlight(question.text)
        try:
            async with aclosing(parts):
                async for part in parts:
                    if isinstance(part, Deliver):
                        flying.items += len(part.items)
                    yield part
        finally:
            del self._in_flight[query]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0
