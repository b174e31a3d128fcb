"""Whole peers of one process that are asked: their documents, acquaintances by mapping files, and answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from heptox.peer import Conclude, QuestionRequest, Side
from heptox.peer.query.events import Receipt
from tests.peer.whole_peers import peers_at_work
from tests.peer.worded_peers import WordedPeer, worded_peer


class Holding(NamedTuple):
    """A peer to be: its schema, the documents that it has, and whether these are valid."""

    schema: Path
    documents: tuple[str, ...] = ()
    validation: str = "strict"


class Knowing(NamedTuple):
    """An acquaintance to be: the peer of the mapping's source, that of its target, and the mapping."""

    source: str
    target: str
    mapping: Path


class Answered(NamedTuple):
    """What came of a question: the items, and the receipt."""

    items: frozenset[str]
    receipt: Receipt


@asynccontextmanager
async def asked_peers(
    folder: Path, holding: dict[str, Holding], knowing: Iterable[Knowing] = ()
) -> AsyncIterator[dict[str, WordedPeer]]:
    """Peers at work by their names."""
    peers = {
        name: worded_peer(folder / name, each.schema, validation=each.validation) for name, each in holding.items()
    }
    async with peers_at_work(*peers.values()):
        for name, each in holding.items():
            for number, text in enumerate(each.documents):
                await peers[name].at_work.load(f"{number}.xml", text.encode())
        for known in knowing:
            await peers[known.source].acquaint_by(peers[known.target], known.mapping, Side.SOURCE)
        yield peers


async def ask(peer: WordedPeer, text: str) -> Answered:
    """Ask a peer, and whoever it reaches."""
    items: set[str] = set()
    receipts: list[Receipt] = []
    async with aclosing(peer.at_work.ask(QuestionRequest(query=text, timeout=60.0))) as parts:
        async for part in parts:
            if isinstance(part, Conclude):
                receipts.append(part.receipt)
            else:
                items |= {*part.items, *part.repeated}
    (receipt,) = receipts
    return Answered(frozenset(items), receipt)
