"""Translations of subscriptions in own words along one way to a publisher, and documents in the subscriber's words.

Everything here takes its time, and belongs into threads.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from heptox import matching
from heptox.checks import Check, no_check
from heptox.errors import DisseminationError, Fault, HeptoxError, PeerError, TranslationError
from heptox.feed import TEXT_LIMIT, Wording
from heptox.grammar import NameTable
from heptox.mapping import exchange
from heptox.matching import Delivery, Followed, FollowedAnswers, ask_document, of_one_document, parse_followed
from heptox.pattern import TreePattern
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.query.result_cache import BODY_COST, KEY_BYTES, ResultCache
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.mapping_requests import Link
from heptox.peer.wire.standing import Side
from heptox.rewriting import (
    TranslatedQuery,
    patterns_as_written,
    translate_query,
    translate_subscription,
    untranslated_query,
)
from heptox.schema import SchemaGraph, as_declared, conform
from heptox.translate import Direction, Hop
from heptox.xml import Document, has_namespaces, write_document, write_named

MOST_SECONDS: Final = 60.0
"""Seconds that the translation of one subscription may take: mappings come from strangers, and others wait."""
MOST_ADDED: Final = 64 * 1024 * 1024
"""Characters that the defaults of a publisher's schema may add to one document, with what each attribute counts."""
REMEMBERED: Final = 16 * 1024 * 1024
"""Bytes of translations, about, that are kept for when a way is taken again."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwnSubscription:
    """A subscription in own words, as the log has it."""

    number: int
    name: str
    text: str
    deliver: Delivery = Delivery.ORIGINAL


@dataclass(frozen=True, slots=True)
class Rendering:
    """A subscription translated for a publisher: ``patterns`` in its words, none where nothing can come, and the
    ``reason`` for that. They are for documents as they are written; ``translated`` judges these as their schema
    declares them, and is ``None`` where the patterns are the subscription itself, or there are none.
    """

    patterns: tuple[TreePattern, ...] = ()
    text: str = ""
    exact: bool = True
    losses: tuple[str, ...] = ()
    reason: str = ""
    translated: TranslatedQuery | None = None

    def matches(self, document: Document) -> bool:
        """Whether a document that one of the patterns matches is meant, given as its schema declares it; raises
        :class:`HeptoxError` where that cannot be decided."""
        return self.translated is None or self.translated.matches(document, of_one_document())


@dataclass(frozen=True, slots=True)
class Chain:
    """The mappings between this peer's schema and a publisher's, ``hops`` from here to there; none where both schemas
    are the same. ``key`` identifies them."""

    key: tuple[str, ...]
    hops: tuple[Hop, ...]
    schema: SchemaGraph

    def rewritten(self, document: Document) -> bytes:
        """A document of the publisher in this peer's words: exchanged hop by hop.

        Raises :class:`SchemaError` (HX2007) for one that is not valid for the publisher's schema,
        :class:`DisseminationError` (HX9022) where it takes too much, and as :func:`heptox.mapping.exchange`.
        """
        document = conform(document, self.schema)
        for hop in reversed(self.hops):
            document = exchange(hop.to.answered_by(hop.mapping), document, check=of_one_document())
        root = document.root
        return write_named(root) if has_namespaces(root) else write_document(root).encode()


def chain_of(own: SchemaGraph, wording: Wording, files: Sequence[MappingFiles], check: Check = no_check) -> Chain:
    """The chain of a wording, with the mappings that it names, from here on.

    Raises :class:`PeerError` (HX7085) where they do not lead from this peer's schema to the publisher's, and what
    ``check`` does, which is called before each is read.
    """
    hops = []
    at = schema_key(own)
    for number, (text, packed) in enumerate(zip(wording.mappings, files, strict=True), start=1):
        check()
        to = Direction.SOURCE if Link.parse(text).side is Side.SOURCE else Direction.TARGET
        hop = Hop(packed.load(), to)
        if schema_key(hop.start) != at:
            reason = f"mapping {number} of {len(files)} on the way does not begin where the one before it ends"
            raise PeerError(Fault("HX7085", reason if number > 1 else f"{reason}, at this peer's schema"))
        at = schema_key(hop.end)
        hops.append(hop)
    if at != wording.schema:
        raise PeerError(Fault("HX7085", "the mappings on the way do not lead to the schema of the publisher"))
    return Chain((wording.schema, *wording.mappings), tuple(hops), hops[-1].end)


class Renderer:
    """Translates subscriptions; what it has translated it remembers. For several threads."""

    def __init__(self) -> None:
        self._remembered = ResultCache[Rendering](REMEMBERED)

    def render(self, chain: Chain, one: OwnSubscription, check: Check) -> Rendering:
        """A subscription translated along a chain; raises what ``check`` does, if it is no fault of the
        subscription's."""
        key = (one.text, one.deliver is Delivery.ANSWERS, chain.key if chain.hops else ())
        found = self._remembered.get(key)
        if found is None:
            found = _rendering(chain, one, _in_time(check))
            size = len(one.text) + len(found.text) + sum(map(len, found.losses))
            self._remembered.put(key, found, KEY_BYTES + BODY_COST * size)
        return found


def _rendering(chain: Chain, one: OwnSubscription, check: Check) -> Rendering:
    try:
        translated = _translated(chain, one, check)
    except HeptoxError as error:
        if is_interruption(error):
            raise
        return Rendering(reason=error.reason)
    losses = tuple(map(str, translated.losses))
    if not translated.patterns:
        return Rendering(losses=losses, reason="nothing of it can be said in the publisher's words")
    asked = patterns_as_written(translated.patterns, chain.schema, check)
    alike = set(asked) == set(translated.patterns)
    itself = alike and not chain.hops and one.deliver is not Delivery.ANSWERS
    said = one.text if itself else " or ".join(map(str, asked))
    if len(said) > TEXT_LIMIT:
        return Rendering(losses=losses, reason=_too_long(said))
    return Rendering(asked, said, translated.exact and alike, losses, "", None if itself else translated)


def _translated(chain: Chain, one: OwnSubscription, check: Check) -> TranslatedQuery:
    if one.deliver is not Delivery.ANSWERS:
        return translate_subscription(chain.hops, one.text, check)
    names = NameTable.of(chain.hops[0].start if chain.hops else chain.schema)
    query = parse_followed(one.text, names=names)
    return translate_query(chain.hops, query, check) if chain.hops else untranslated_query(chain.schema, query, check)


def is_interruption(error: HeptoxError) -> bool:
    """Whether work was stopped, or put off, for no fault of its own."""
    return any(fault.code in ("HX7063", "HX7106") for fault in error.faults)


def _in_time(check: Check) -> Check:
    """A check that ends what takes too long, too."""
    began = time.monotonic()

    def checked() -> None:
        check()
        if time.monotonic() > began + MOST_SECONDS:
            reason = f"to translate it takes longer than {MOST_SECONDS:g} seconds"
            raise TranslationError(Fault("HX5009", reason))

    return checked


def _too_long(text: str) -> str:
    return f"in the publisher's words it has {len(text):,} characters, and others are told {TEXT_LIMIT:,} at most"


@dataclass(slots=True)
class Version:
    """The words of a publisher since a position, with the translations of the subscriptions. For several threads."""

    feed: str
    wording: Wording
    chain: Chain
    renderings: dict[int, Rendering] = field(default_factory=dict)
    _matcher: matching.MemoryMatcher = field(default_factory=lambda: matching.MemoryMatcher())
    _lock: Lock = field(default_factory=Lock)

    def add(self, one: OwnSubscription, rendering: Rendering) -> None:
        """Match with a subscription from now on; one that is known stays."""
        with self._lock:
            if one.number not in self.renderings:
                self.renderings[one.number] = rendering
                if rendering.patterns:
                    self._matcher.add(one.number, rendering.patterns)

    def remove(self, number: int) -> None:
        """Match with a subscription no longer."""
        with self._lock:
            rendering = self.renderings.pop(number, None)
            if rendering is not None and rendering.patterns:
                self._matcher.remove(number)

    def matching(self, document: Document) -> list[int]:
        """The numbers of the subscriptions of which a pattern matches a document, ascending."""
        with self._lock:
            return list(map(int, self._matcher.match(document)))


@dataclass(frozen=True, slots=True)
class Judged:
    """To which subscriptions a document goes as it is, to which one ``rewritten``, what those that follow queries have
    ``asked`` it, and for which it is a dead letter besides, with the reasons."""

    originals: tuple[int, ...]
    own: tuple[int, ...]
    rewritten: bytes
    asked: FollowedAnswers
    dead: dict[int, str]


def judged(version: Version, document: Document, wanted: Iterable[OwnSubscription]) -> Judged:
    """Judge a document by subscriptions that it may match, as its publisher's schema declares it."""
    wanted = tuple(wanted)
    try:
        document = as_declared(document, version.chain.schema, _spending()) if wanted else document
    except HeptoxError as error:
        reason = f"it cannot be told whether it matches: {error.summary}"
        return Judged((), (), b"", FollowedAnswers(), {one.number: reason for one in wanted})
    matching: list[OwnSubscription] = []
    dead: dict[int, str] = {}
    asked = ask_document(document, _followed(version, wanted))
    for one in wanted:
        rendering = version.renderings.get(one.number)
        if rendering is None or one.deliver is Delivery.ANSWERS:  # it was removed meanwhile, or it is asked
            continue
        try:
            if rendering.matches(document):
                matching.append(one)
        except HeptoxError as error:
            dead[one.number] = f"it cannot be told whether it matches: {error.summary}"
        except Exception as error:
            _log.exception("%s was not matched", document.file)
            dead[one.number] = f"to match it met a defect of heptox: {type(error).__name__}"
    rewriting = [one.number for one in matching if one.deliver is Delivery.OWN and version.chain.hops]
    originals = tuple(one.number for one in matching if one.number not in rewriting)
    if not rewriting:
        return Judged(originals, (), b"", asked, dead)
    try:
        return Judged(originals, tuple(rewriting), version.chain.rewritten(document), asked, dead)
    except HeptoxError as error:
        reason = f"it cannot be rewritten: {error.summary}"
    except Exception as error:
        _log.exception("%s was not rewritten", document.file)
        reason = f"to rewrite it met a defect of heptox: {type(error).__name__}"
    return Judged(originals, (), b"", asked, {**dead, **dict.fromkeys(rewriting, reason)})


def _spending() -> Callable[[int], None]:
    """What bounds what a publisher's schema adds to one document."""
    check, left = of_one_document(), MOST_ADDED

    def spend(characters: int) -> None:
        nonlocal left
        check()
        left -= characters
        if left < 0:
            message = f"attributes that its schema adds to it have more than {MOST_ADDED:,} characters"
            raise DisseminationError(Fault("HX9022", message))

    return spend


def _followed(version: Version, wanted: Iterable[OwnSubscription]) -> Iterator[Followed]:
    """The queries among the subscriptions, in the publisher's words."""
    for one in wanted:
        rendering = version.renderings.get(one.number)
        if one.deliver is Delivery.ANSWERS and rendering is not None and rendering.translated is not None:
            yield Followed(one.number, one.text, rendering.translated.query)
