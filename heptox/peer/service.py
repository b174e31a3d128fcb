"""A running peer as its administrator sees it: what the control API offers, without HTTP."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any

import trio

from heptox.grammar import encode_query, parse_query, print_query
from heptox.mapping import Mapping, load_mapping
from heptox.peer.acquainting import Proposal, acquaint
from heptox.peer.administration import acquaintance_to_json
from heptox.peer.answering import Answering
from heptox.peer.events import Conclude, Deliver, Neighbour
from heptox.peer.folder import Acquaintance, PeerFolder
from heptox.peer.loading import DocumentLoader, Loaded, update_store
from heptox.peer.messages import PeerId
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
        self, folder: PeerFolder, store: Store, transport: Transport, runner: Runner, answering: Answering
    ) -> None:
        self.folder = folder
        self.transport = transport
        self.runner = runner
        self.stopping = trio.Event()
        self._answering = answering
        self._writing = trio.Lock()
        self._store = store
        self._loader = DocumentLoader(folder, store)
        self._documents: set[str] = set()
        self._neighbours: dict[PeerId, tuple[Acquaintance, Mapping]] = {}
        self._in_flight: dict[str, InFlight] = {}

    async def open(self) -> None:
        """Bring the store up to date and read the mappings; raises what is wrong with any document or mapping."""
        await trio.to_thread.run_sync(update_store, self._store, self.folder)
        self._documents = {document.name for document in self._store.documents()}
        for acquaintance in await trio.to_thread.run_sync(self.folder.acquaintances):
            await self._know(acquaintance)
        self._tell()

    async def _know(self, acquaintance: Acquaintance) -> None:
        mapping = await trio.to_thread.run_sync(load_mapping, acquaintance.mapping)
        self._neighbours[acquaintance.peer_id] = (acquaintance, mapping)

    def _tell(self) -> None:
        self._answering.neighbours = dict(self._neighbours)
        neighbours = tuple(Neighbour(peer, known.name) for peer, (known, _) in self._neighbours.items())
        self.runner.acquaint(neighbours, strangers=self.folder.settings.policy == "open")

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
        return loaded

    async def acquaint(self, proposal: Proposal) -> Acquaintance:
        """Add an acquaintance; when this returns it is on the disk, and it may ask and is asked."""
        async with self._writing:
            acquaintance = await trio.to_thread.run_sync(acquaint, self.folder, proposal)
            await self._know(acquaintance)
            self._tell()
        return acquaintance

    def status(self) -> dict[str, Any]:
        """Who the peer is, what it holds, whom it knows, and which queries of its own user are in flight."""
        settings = self.folder.settings
        return {
            "name": settings.name,
            "peer_id": self.transport.peer,
            "root": settings.root,
            "schema": self.runner.state.schema,
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
        settings = self.folder.settings
        expression = await trio.to_thread.run_sync(parse_query, question.text, question.file)
        query = secrets.token_hex(16)
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
