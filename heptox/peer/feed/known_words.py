"""The words that publishers have written in, as far as they are kept: each with the mappings that lead to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from heptox.checks import Check, no_check
from heptox.errors import Fault, PeerError
from heptox.feed import FeedDocument, FeedLog, PeerId, Wording
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.feed.renderings import Chain, Version, chain_of
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.mapping_requests import Link
from heptox.schema import SchemaGraph


class KnownWords:
    """The words of publishers, kept in the feed log, at a peer whose schema is ``schema``.

    ``keep`` puts a mapping on the disk, ``kept`` reads it from there by its digest.
    """

    def __init__(
        self,
        schema: SchemaGraph,
        log: FeedLog,
        keep: Callable[[MappingFiles], None],
        kept: Callable[[str], MappingFiles | None],
    ) -> None:
        self.key = schema_key(schema)
        self._schema = schema
        self._log = log
        self._keep_files = keep
        self._files_kept = kept
        self._wordings: dict[PeerId, dict[int, tuple[str, Wording]]] = {}
        self._versions: dict[tuple[PeerId, str, Wording], Version] = {}

    def open(self) -> None:
        """Read what is on the disk. Called in a thread."""
        for publisher, feed, wording in self._log.wordings():
            self._wordings.setdefault(publisher, {})[wording.since] = feed, wording

    @property
    def versions(self) -> tuple[Version, ...]:
        """All that are in use."""
        return tuple(self._versions.values())

    def of(self, publisher: PeerId, feed: str, wording: Wording) -> Version | None:
        """The version of some words, if they are in use."""
        return self._versions.get((publisher, feed, wording))

    def made(self, feed: str, wording: Wording, files: Sequence[MappingFiles], check: Check = no_check) -> Version:
        """The version of some words, by the mappings that lead to them. Raises :class:`HeptoxError` where they do not,
        and what ``check`` does, which is called before each."""
        if wording.schema == self.key:
            return Version(feed, wording, Chain((), (), self._schema))
        return Version(feed, wording, chain_of(self._schema, wording, files, check))

    def keep(
        self, publisher: PeerId, version: Version, files: Iterable[MappingFiles]
    ) -> dict[int, tuple[str, Wording]]:
        """Put the words of a publisher on the disk; all that are kept of it. Called in a thread."""
        for one in files:
            self._keep_files(one)
        self._log.keep_wording(publisher, version.feed, version.wording)
        return {wording.since: (feed, wording) for _, feed, wording in self._log.wordings(publisher)}

    def use(self, publisher: PeerId, version: Version, kept: dict[int, tuple[str, Wording]]) -> None:
        """A publisher has these words now; those that are not ``kept`` are forgotten."""
        self._wordings[publisher] = kept
        self._versions[publisher, version.feed, version.wording] = version
        for key in [key for key in self._versions if key[0] == publisher and (key[1], key[2]) not in kept.values()]:
            del self._versions[key]

    def leave(self, publisher: PeerId) -> None:
        """A publisher is not reached any more: what is on the disk of its words is enough."""
        for key in [key for key in self._versions if key[0] == publisher]:
            del self._versions[key]

    def at(self, document: FeedDocument) -> Version | None:
        """The words that the publisher of a document had when it published that; ``None`` where they are not kept.

        Raises :class:`HeptoxError` where their mappings are not to be had.
        """
        publisher = document.publisher
        known = self._wordings.get(publisher, {})
        before = [since for since, (feed, _) in known.items() if since < document.sequence and feed == document.feed]
        if not before:
            return None
        feed, wording = known[max(before)]
        version = self.of(publisher, feed, wording)
        if version is None:  # of before the last start
            files = [] if wording.schema == self.key else [self._kept(text) for text in wording.mappings]
            version = self._versions[publisher, feed, wording] = self.made(feed, wording, files)
        return version

    def _kept(self, text: str) -> MappingFiles:
        digest = Link.parse(text).digest
        files = self._files_kept(digest)
        if files is None:
            raise PeerError(Fault("HX7085", f"the mapping {digest} was kept, and is gone"))
        return files
