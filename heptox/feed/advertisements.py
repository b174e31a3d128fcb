"""The advertisements that neighbours have sent, each held once, for as long as some neighbour is answerable for it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Protocol

from heptox.feed.holding import advertisement_bytes
from heptox.feed.messages import PeerId
from heptox.routing import Advertisement, Overlaps, Remembered
from heptox.xml import Document


class Conforming(Protocol):
    """Knows which documents are as advertised, as :class:`~heptox.routing.Conformity` does."""

    def first_misfit(self, document: Document) -> str | None:
        """Why a document is not as advertised; ``None`` for one that is."""
        ...


class Advertisements(Mapping[str, Overlaps]):
    """By their digests, what overlaps each advertisement. All share one memory of steps, which is bounded.

    ``conformity`` makes what says of a document why it is not as advertised.

    >>> from heptox.routing import Conformity, Overlaps, advertised
    >>> from heptox.schema import parse_dtd
    >>> advertisements = Advertisements(Conformity)
    >>> advertisements.add("north", "d", Overlaps(advertised(parse_dtd("<!ELEMENT a EMPTY>"))))
    >>> advertisements.knows("north", "d"), advertisements.keep("north", ()), len(advertisements)
    (True, ('d',), 0)
    """

    def __init__(self, conformity: Callable[[Advertisement], Conforming]) -> None:
        self._conformity = conformity
        self._overlaps: dict[str, Overlaps] = {}
        self._conforming: dict[str, Conforming] = {}
        self._bytes: dict[str, int] = {}
        self._holders: dict[str, set[PeerId]] = {}
        self._sent: dict[PeerId, dict[str, None]] = {}
        self._remembered = Remembered()

    def __getitem__(self, digest: str) -> Overlaps:
        return self._overlaps[digest]

    def __iter__(self) -> Iterator[str]:
        return iter(self._overlaps)

    def __len__(self) -> int:
        return len(self._overlaps)

    def knows(self, neighbour: PeerId, digest: str) -> bool:
        """Whether a neighbour has sent the advertisement of that digest."""
        return digest in self._sent.get(neighbour, ())

    def held(self, neighbour: PeerId) -> int:
        """Bytes of memory that are held for what a neighbour has sent; what others have sent too counts in full."""
        return sum(self._bytes[digest] for digest in self._sent.get(neighbour, ()))

    def add(self, neighbour: PeerId, digest: str, overlaps: Overlaps) -> None:
        """A neighbour has sent an advertisement, of which is known what overlaps it."""
        self._sent.setdefault(neighbour, {})[digest] = None
        self._holders.setdefault(digest, set()).add(neighbour)
        if digest not in self._overlaps:
            overlaps.remember_in(self._remembered)
            self._overlaps[digest] = overlaps
            self._bytes[digest] = advertisement_bytes(overlaps.advertisement)

    def keep(self, neighbour: PeerId, named: Container[str]) -> tuple[str, ...]:
        """Forget what a neighbour has sent, except what is ``named``; the digests that nobody is answerable for now."""
        sent = self._sent.get(neighbour, {})
        for digest in [one for one in sent if one not in named]:
            del sent[digest]
            self._holders[digest].discard(neighbour)
        if not sent:
            self._sent.pop(neighbour, None)
        gone = tuple(digest for digest, holders in self._holders.items() if not holders)
        for digest in gone:
            del self._holders[digest], self._overlaps[digest], self._bytes[digest]
            self._conforming.pop(digest, None)
        return gone

    def conforming(self, digest: str) -> Conforming | None:
        """What knows which documents are as advertised under a digest, if that is known. May be called in another
        thread than all else."""
        found, overlaps = self._conforming.get(digest), self._overlaps.get(digest)
        if found is None and overlaps is not None:
            found = self._conforming[digest] = self._conformity(overlaps.advertisement)
        return found
