"""Peers in a row, each in a daemon of its own: each knows the next one by a mapping, the last one holds most."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heptox.peer import AcquaintanceRequest, Client, PeerFolder, propose
from tools.daemons import Daemon, daemons

PEERS: Final = 4
ITEM: Final = 1000
"""Characters of an item of the large answer, about."""
_BUDGET: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Chain:
    """The running peers, the asker first."""

    peers: tuple[Daemon, ...]

    @property
    def asker(self) -> Client:
        return self.peers[0].client()


def point(number: int) -> str:
    """A query at the asker with one small item from each peer.

    >>> point(7)
    'for $e in //entry0 where $e/@key0 = "7" return <found>{$e/text0}</found>'
    """
    return f'for $e in //entry0 where $e/@key0 = "{number}" return <found>{{$e/text0}}</found>'


LARGE: Final = "for $e in //entry0, $b in $e/bulk0 return <large>{$e/@key0}{data($b)}</large>"
"""A query with an item of about :data:`ITEM` characters for each large entry, all of which the last peer holds."""


@contextmanager
def chain(folder: Path, small: int, large: int) -> Iterator[Chain]:
    """Peers at work, each with so many small entries, and the last one with so many large ones besides."""
    mappings = [_mapping(folder, number) for number in range(PEERS - 1)]
    folders = [_peer(folder, number, small, large if number == PEERS - 1 else 0) for number in range(PEERS)]
    with daemons(*folders) as running:
        for near, (one, other, mapping) in enumerate(zip(running, running[1:], mappings, strict=False)):
            for here, there in ((one, other), (other, one)):
                name = f"peer {near + 1 if there is other else near}"
                with here.client() as client:
                    client.acquaint(AcquaintanceRequest.of(propose(there.address, mapping, name=name)))
        yield Chain(running)


def _mapping(folder: Path, number: int) -> Path:
    for one in (number, number + 1):
        (folder / f"{one}.dtd").write_text(_schema(one), encoding="utf-8")
    here, there = f"entry{number}", f"entry{number + 1}"
    file = folder / f"{number}.arrows"
    file.write_text(
        f'source "{number}.dtd" root log{number}\n'
        f'target "{number + 1}.dtd" root log{number + 1}\n'
        f"{here}/@key{number} -> {there}/@key{number + 1}\n"
        f"{here}/text{number} -> {there}/text{number + 1}\n"
        f"{here}/bulk{number} -> {there}/bulk{number + 1}\n",
        encoding="utf-8",
    )
    return file


def _schema(number: int) -> str:
    return (
        f"<!ELEMENT log{number} (entry{number}*)>\n"
        f"<!ELEMENT entry{number} (text{number}?, bulk{number}?)>\n"
        f"<!ATTLIST entry{number} key{number} CDATA #REQUIRED>\n"
        f"<!ELEMENT text{number} (#PCDATA)>\n<!ELEMENT bulk{number} (#PCDATA)>\n"
    )


def _peer(folder: Path, number: int, small: int, large: int) -> Path:
    path = folder / f"peer-{number}"
    PeerFolder.create(path, folder / f"{number}.dtd", name=f"peer {number}", root=f"log{number}")
    settings = path / "peer.toml"
    text = settings.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("budget")]
    settings.write_text("\n".join([*lines, f"budget = {_BUDGET}", ""]), encoding="utf-8")
    with (path / "documents" / "log.xml").open("w", encoding="utf-8") as file:
        file.write(f"<log{number}>\n")
        for key in range(small):
            file.write(
                f'<entry{number} key{number}="{key}"><text{number}>{key} at {number}</text{number}></entry{number}>\n'
            )
        for key in range(large):
            bulk = (f"{key} " * ITEM)[:ITEM]
            file.write(
                f'<entry{number} key{number}="large {key}"><bulk{number}>{bulk}</bulk{number}></entry{number}>\n'
            )
        file.write(f"</log{number}>\n")
    return path
