"""Subscriptions in own words at a running peer: translated for each publisher that is reached, and matched with what it
publishes.

For each publisher a task gets the mappings on the way, translates, and hands in the translations; it does
so again when the way or the mappings change. Documents are judged by the words that their publisher had when it
published them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeVar

import trio

from heptox.checks import Check, no_check
from heptox.errors import HeptoxError
from heptox.feed import (
    NO_MAPPING,
    FeedDocument,
    FeedLog,
    InWords,
    PeerId,
    Translate,
    Translated,
)
from heptox.matching import Matched, Publication, Published, SubscriptionLog
from heptox.peer.acquaintance.mapping_fetching import MappingFetching, link_with
from heptox.peer.feed.known_words import KnownWords
from heptox.peer.feed.renderings import OwnSubscription, Renderer, Rendering, Version, is_interruption, judged
from heptox.peer.models.subscriptions import RenderingModel, Understanding
from heptox.peer.process.retry import Retry
from heptox.peer.process.supervision import supervised_for_one
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.mapping_requests import Link
from heptox.schema import SchemaGraph
from heptox.xml import Document

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 60.0
"""Seconds before a mapping that was not to be had is asked for again; each failure doubles them."""
MOST_BEHIND: Final = 1000
"""Publishers behind one neighbour whose words are understood: each has translations, and what matches them."""

_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


class Translating(Protocol):
    """Does work in a thread, among the other translations that a neighbour causes."""

    async def __call__(self, work: Callable[[Check], _Result], asker: PeerId) -> _Result: ...


class WordsUser(Protocol):
    """Who takes the translations."""

    async def hand_in(self, *events: Translated) -> None:
        """Hand in translations."""
        ...

    def name(self, peer: PeerId) -> str:
        """What a peer is called here."""
        ...

    def note(self, event: str, fields: Mapping[str, str | int]) -> None:
        """Report to the administrator. Does not wait."""
        ...


@dataclass(frozen=True, slots=True)
class WordsStatus:
    """How the words of a publisher are understood, and the ``reason`` where they are not, or not yet."""

    standing: Understanding
    reason: str = ""


_CROWDED: Final = WordsStatus(
    Understanding.NONE, f"the words of {MOST_BEHIND:,} publishers behind one neighbour are understood, and no more"
)


class _NoWayError(Exception):
    """The words of a publisher are not understood, whatever is asked for."""


@dataclass(slots=True)
class _Publisher:
    """A publisher: the last task for it, ``changed`` when there is another one, or other mappings; whether somebody is
    ``at_work`` on it."""

    task: Translate
    changed: trio.Event = field(default_factory=trio.Event)
    at_work: bool = False
    status: WordsStatus = WordsStatus(Understanding.WAITING, "its words are looked at")
    version: Version | None = None


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The outcome of a document: what was published of it here, and the numbers of those who were notified."""

    published: tuple[Published, ...]
    numbers: tuple[int, ...]


class OwnWords:
    """The subscriptions in own words of one running peer, whose schema is ``schema``."""

    def __init__(
        self,
        schema: SchemaGraph,
        subscriptions: SubscriptionLog,
        log: FeedLog,
        mappings: MappingFetching,
        translating: Translating,
        user: WordsUser,
    ) -> None:
        self._words = KnownWords(schema, log, mappings.keep, mappings.held)
        self._subscriptions = subscriptions
        self._mappings = mappings
        self._translating = translating
        self._user = user
        self._lost: Counter[PeerId] = Counter()
        self._known: dict[int, OwnSubscription] = {}
        self._renderer = Renderer()
        self._publishers: dict[PeerId, _Publisher] = {}
        self._nursery: trio.Nursery | None = None

    def open(self) -> None:
        """Read what is on the disk. Called in a thread, before anything else."""
        self._words.open()
        for one in self._subscriptions.in_own_words():
            self._known[one[0]] = OwnSubscription(*one)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Translate while the context is open."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self.look_again()
            try:
                yield
            finally:
                self._nursery = None
                nursery.cancel_scope.cancel()

    @property
    def numbers(self) -> Mapping[int, OwnSubscription]:
        """The subscriptions by number."""
        return self._known

    def add(self, one: OwnSubscription) -> None:
        """There is such a subscription."""
        self._known[one.number] = one

    def remove(self, number: int) -> None:
        """There is no such subscription any more."""
        if self._known.pop(number, None) is not None:
            for version in self._words.versions:
                version.remove(number)

    # -- translating -------------------------------------------------------------------------------------------------

    def translate(self, task: Translate) -> None:
        """Have the subscriptions translated for a publisher, unless there are too many. Does not wait."""
        known = self._publishers.get(task.publisher)
        if (known is None or known.task.path[0] != task.path[0]) and not self._has_room(task.path[0]):
            self._leave(task.publisher)
            if self._nursery is not None:
                nothing = Translated(task.task, task.publisher)
                self._nursery.start_soon(supervised_for_one, "words", partial(self._user.hand_in, nothing))
            return
        if known is None:
            known = self._publishers[task.publisher] = _Publisher(task)
        known.task = task
        self._wake(known)

    def _has_room(self, neighbour: PeerId) -> bool:
        """Whether one more publisher behind a neighbour is understood; those that are not reached now make room."""
        behind = [publisher for publisher, known in self._publishers.items() if known.task.path[0] == neighbour]
        if len(behind) < MOST_BEHIND:
            return True
        gone = [publisher for publisher in behind if not self._mappings.is_reached(publisher)]
        for publisher in gone:
            self._leave(publisher)
        return bool(gone)

    def _leave(self, publisher: PeerId) -> None:
        self._publishers.pop(publisher, None)
        self._lost.pop(publisher, None)
        self._words.leave(publisher)

    def look_again(self) -> None:
        """Mappings that this peer has agreed on have changed."""
        for known in self._publishers.values():
            self._wake(known)

    def _wake(self, known: _Publisher) -> None:
        known.changed.set()
        if not known.at_work and self._nursery is not None:
            known.at_work = True
            self._nursery.start_soon(supervised_for_one, "words", partial(self._follow, known))

    async def _follow(self, known: _Publisher) -> None:
        """Translate for a publisher until there is nothing to do."""
        retry = Retry(FIRST_PAUSE, LONGEST_PAUSE)
        tries_again = False
        while known.changed.is_set() or tries_again:
            known.changed = trio.Event()
            try:
                tries_again = await self._translate_for(known, known.task)
            except Exception:
                known.changed.set()  # for the next time
                raise
            if tries_again:
                with trio.move_on_after(retry.pause()):
                    await known.changed.wait()
        known.at_work = False

    async def _translate_for(self, known: _Publisher, task: Translate) -> bool:
        """Hand in the translations; whether it is to be tried again soon."""
        try:
            version = await self._version_now(task)
            translated = await self._render_all(task, version)
        except _NoWayError as error:
            known.status, known.version = WordsStatus(Understanding.NONE, str(error)), None
            await self._user.hand_in(Translated(task.task, task.publisher))
            return False
        except HeptoxError as error:
            reason = error.reason
            known.status, known.version = WordsStatus(Understanding.WAITING, reason), None
            _log.info("the words of %s are not understood: %s", task.publisher, reason)
            await self._user.hand_in(Translated(task.task, task.publisher))
            return True
        standing = Understanding.MAPPED if version.chain.hops else Understanding.SAME
        known.status, known.version = WordsStatus(standing), version
        await self._user.hand_in(translated)
        return False

    async def _version_now(self, task: Translate) -> Version:
        """The words of a publisher now; they are on the disk, with the mappings.

        Raises :class:`_NoWayError` where there is no way to understand them, :class:`HeptoxError` where there is none
        yet.
        """
        publisher, feed, wording = task.publisher, task.feed, task.wording
        self._check_way(task)
        version = self._words.of(publisher, feed, wording)
        if version is not None:
            return version
        files = await self._files(task) if wording.schema != self._words.key else []
        try:
            version = await self._translating(lambda check: self._words.made(feed, wording, files, check), task.path[0])
        except HeptoxError as error:
            if is_interruption(error):
                raise
            raise _NoWayError(error.reason) from error
        kept = await trio.to_thread.run_sync(self._words.keep, publisher, version, files)
        self._words.use(publisher, version, kept)
        return version

    async def _files(self, task: Translate) -> list[MappingFiles]:
        """The mappings on the way, each once."""
        digests = [Link.parse(text).digest for text in task.wording.mappings]
        found: dict[str, MappingFiles] = {}
        for digest in dict.fromkeys(digests):
            found[digest] = await self._mappings.get(digest, task.publisher, task.path[0])
        return [found[digest] for digest in digests]

    def _check_way(self, task: Translate) -> None:
        wording = task.wording
        if not wording.is_known:
            raise _NoWayError("some peer on the way to it does not tell its mappings")
        if wording.schema == self._words.key:
            return
        for place, text in enumerate(wording.mappings):
            if text == NO_MAPPING:
                one = self._user.name(task.path[place - 1]) if place else "this peer"
                raise _NoWayError(f"{one} and {self._user.name(task.path[place])} have not agreed on a mapping")
        neighbour = self._mappings.neighbours.get(task.path[0])
        agreed = link_with(neighbour) if neighbour else None
        link = Link.parse(wording.mappings[0])
        if agreed is None or (agreed.digest, agreed.side.other) != (link.digest, link.side):
            raise _NoWayError(f"this peer and {self._user.name(task.path[0])} have not agreed on a mapping")

    async def _render_all(self, task: Translate, version: Version) -> Translated:
        """The translations of all subscriptions: those that are new are translated one after the other."""
        for one in tuple(self._known.values()):
            if one.number not in version.renderings:
                rendering = await self._translating(
                    lambda check: self._render(version, one, check),  # noqa: B023
                    task.path[0],
                )
                if one.number in self._known:
                    version.add(one, rendering)
        renderings = sorted(version.renderings.items())
        there = tuple(InWords(number, found.text, found.patterns) for number, found in renderings)
        return Translated(task.task, task.publisher, available=True, subscriptions=there)

    def _render(self, version: Version, one: OwnSubscription, check: Check) -> Rendering:
        return self._renderer.render(version.chain, one, check)

    # -- documents ---------------------------------------------------------------------------------------------------

    def deliver(self, document: FeedDocument, number: int) -> DeliveryResult:
        """Notify the subscriptions up to ``number`` of a document of another peer, if it matches; it is on the disk
        then. Called in a thread. Raises :class:`HeptoxError` where it cannot be now.
        """
        version = self._version_of(document)
        if version is None:
            return DeliveryResult((), ())
        wanted = [self._known[one] for one in version.matching(document.parsed) if one <= number and one in self._known]
        found = judged(version, document.parsed, wanted)
        identity = f"{document.publisher}/{document.feed}/{document.sequence}"
        answers, unanswered = found.asked.matched(document.name, identity, document.publisher)
        original = Publication(document.name, document.data, f"{identity}/original")
        own = Publication(document.name, found.rewritten, f"{identity}/own")
        published: list[Published] = []
        numbers: list[int] = []
        for one in (
            Matched(original, found.originals, {**found.dead, **unanswered}),
            Matched(own, found.own),
            *answers,
        ):
            # What was made by other mappings before a crash stays as it was.
            some, dead = one.numbers, one.undeliverable
            if (some or dead) and not self._subscriptions.has_published(one.publication.identity):
                published.append(self._subscriptions.publish(one.publication, some, dead))
                numbers += some
        return DeliveryResult(tuple(published), tuple(numbers))

    def _version_of(self, document: FeedDocument) -> Version | None:
        """The words in which a document was published; ``None`` where they are not understood here."""
        try:
            version = self._words.at(document)
        except HeptoxError as error:
            self._lose(document, error.reason)
            return None
        if version is None:
            self._lose(document, "its publisher had another schema then, to which no mappings have led")
            return None
        for one in tuple(self._known.values()):
            if one.number not in version.renderings:
                version.add(one, self._render(version, one, no_check))
        return version

    def _lose(self, document: FeedDocument, why: str) -> None:
        """Report a document that cannot be understood any more, now and then: a publisher shall not fill the log."""
        publisher = document.publisher
        self._lost[publisher] += 1
        if self._lost[publisher].bit_count() == 1:  # 1, 2, 4, 8, ...
            fields: dict[str, str | int] = {
                "publisher": publisher, "document": document.name, "position": document.sequence, "why": why,
                "lost": self._lost[publisher],
            }  # fmt: skip
            trio.from_thread.run_sync(self._user.note, "document not understood", fields)

    # -- looking -----------------------------------------------------------------------------------------------------

    def matching(self, publisher: PeerId, document: Document) -> int:
        """How many subscriptions a document of a publisher would match now. Called in a thread."""
        known = self._publishers.get(publisher)
        version = known.version if known else None
        if version is None:
            return 0
        wanted = [self._known[number] for number in version.matching(document) if number in self._known]
        found = judged(version, document, wanted)
        return len(found.originals) + len(found.own) + len(found.asked.numbers)

    def status(self, publisher: PeerId) -> WordsStatus | None:
        """How the words of a publisher are understood; ``None`` where nobody wants to know."""
        if not self._known:
            return None
        known = self._publishers.get(publisher)
        return _CROWDED if known is None else known.status

    def renderings(self, number: int, publishers: Iterable[PeerId]) -> tuple[RenderingModel, ...]:
        """The translations of a subscription for publishers."""
        return tuple(self._rendering(number, publisher) for publisher in publishers)

    def _rendering(self, number: int, publisher: PeerId) -> RenderingModel:
        known = self._publishers.get(publisher)
        rendering = known.version.renderings.get(number) if known and known.version else None
        understood = known.status if known else _CROWDED
        found = rendering or Rendering(reason=understood.reason or "it is being translated")
        return RenderingModel(
            publisher=publisher,
            name=self._user.name(publisher),
            words=understood.standing,
            text=found.text or None,
            exact=found.exact,
            losses=found.losses,
            reason=found.reason or None,
        )
