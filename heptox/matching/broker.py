"""The broker: subscriptions go into the log and into a matcher, documents through the matcher into the log.

The log is the truth. The matcher is made from it when the broker is opened, and follows it; a subscription counts from
the moment its addition is acknowledged, and until its removal is.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, Protocol

from heptox.errors import DisseminationError, Fault, GrammarError, HeptoxError, SchemaError
from heptox.grammar import NO_NAMES, Expression, NameTable, parse_subscription, without_prefixes
from heptox.matching.followed import Followed, FollowedAnswers, FollowedQueries, parse_followed
from heptox.matching.log import SubscriptionLog
from heptox.matching.subscriptions import (
    MOST_NODES,
    Added,
    Delivery,
    Matched,
    Publication,
    Published,
    Subscription,
    SubscriptionRequest,
    Words,
)
from heptox.pattern import TreePattern
from heptox.schema import SchemaGraph, as_declared, other_schema_fault
from heptox.xml import NO_PREFIXES, Document, Prefixes, parse_document

_BATCH: Final = 100
"""Subscriptions that the matcher takes in at once, before a document may come in between."""


class Matcher(Protocol):
    """Finds the subscriptions that a document matches, as :class:`~heptox.matching.MemoryMatcher` does.

    Only one thread uses it at a time.
    """

    def add(self, number: int, patterns: tuple[TreePattern, ...]) -> None:
        """Take in a subscription, which matches a document if one of its patterns does."""
        ...

    def remove(self, number: int) -> None:
        """Know a subscription no longer."""
        ...

    def match(self, document: Document) -> Iterable[int]:
        """The numbers of the subscriptions that match, ascending, each once."""
        ...


@dataclass(frozen=True, slots=True)
class AllAdded:
    """What became of many subscriptions: those that are there now, and the faults of those that are not."""

    added: tuple[Added, ...]
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Readable:
    """Subscriptions that were read: what is to be added, with its patterns by name, or the query that is followed, and
    the faults of the others."""

    wanted: tuple[SubscriptionRequest, ...]
    patterns: dict[str, tuple[TreePattern, ...]]
    queries: dict[str, Expression]
    faults: tuple[Fault, ...]
    skipping: bool

    def add_to(self, log: SubscriptionLog) -> AllAdded:
        """Put them into a log; raises as :meth:`SubscriptionLog.add_all`."""
        added, refused = log.add_all(self.wanted, skipping=self.skipping)
        return AllAdded(tuple(added), (*self.faults, *refused))


def named_requests(
    wanted: Sequence[SubscriptionRequest], prefixes: Prefixes
) -> tuple[list[SubscriptionRequest], list[Fault]]:
    """Subscriptions to add, with texts that mean the same everywhere: they need no prefixes, of which there are some
    besides those that are said with each. Also the faults of those that are none.

    >>> requests = [SubscriptionRequest("one", "//p:a", prefixes=Prefixes.of({"p": "urn:p"}))]
    >>> [one.text for one in named_requests(requests, Prefixes())[0]]
    ['//Q{urn:p}a']
    """
    named: list[SubscriptionRequest] = []
    faults: list[Fault] = []
    for one in wanted:
        if one.options.deliver is Delivery.ANSWERS:
            named.append(one)  # what a query means is said by its prolog, and by the schema of the peer
            continue
        known = prefixes.with_more(dict(one.prefixes.bound))
        try:
            text = without_prefixes(one.text, known, one.file, one.line)
            named.append(one if text == one.text else replace(one, text=text, prefixes=NO_PREFIXES))
        except (GrammarError, DisseminationError) as error:
            faults.extend(error.faults)
    return named, faults


def read_subscriptions(
    wanted: Sequence[SubscriptionRequest],
    *,
    skipping: bool = False,
    faults: Iterable[Fault] = (),
    names: NameTable = NO_NAMES,
) -> Readable:
    """What subscriptions that are to be added mean, ``names`` those of queries; raises as :meth:`Broker.add`."""
    found = list(faults)
    patterns: dict[str, tuple[TreePattern, ...]] = {}
    queries: dict[str, Expression] = {}
    readable: list[SubscriptionRequest] = []
    for one in wanted:
        try:
            if one.options.deliver is Delivery.ANSWERS:
                queries.setdefault(one.name, parse_followed(one.text, one.file, one.line, names))
            else:
                patterns.setdefault(one.name, parse_subscription(one.text, one.file, one.line))
            readable.append(one)
        except GrammarError as error:
            found.extend(error.faults)
    if found and not skipping:
        raise DisseminationError(found)
    return Readable(tuple(readable), patterns, queries, tuple(found), skipping)


@dataclass(frozen=True, slots=True)
class PublishOutcome:
    """A published document, and if it is new the numbers of the subscriptions that it matched, and it as a tree."""

    published: Published
    numbers: tuple[int, ...] = ()
    document: Document | None = None


class Broker:
    """A log with its matcher; any number of threads may use it."""

    def __init__(
        self,
        log: SubscriptionLog,
        matcher: Matcher,
        *,
        filled: bool = False,
        peer: str = "",
        root: str | None = None,
        schema: SchemaGraph | None = None,
    ) -> None:
        """Make the matcher from the log; raises :class:`DisseminationError` (HX9050) where it cannot be read, also for
        a subscription that is none any more. One that is ``filled`` has what the log has. ``peer`` is the id of whoever
        publishes here, ``root`` the root element that published documents have; ``None``: any. ``schema`` is that in
        whose words subscriptions in own words are: documents match them as it declares them."""
        self.log = log
        self._matcher = matcher
        self._peer = peer
        self._root = root
        self._schema = schema
        self._names = NO_NAMES if schema is None else NameTable.of(schema)
        self._own = {number for number, *_ in log.in_own_words()}
        self._followed = FollowedQueries(
            [Followed(number, text, kept_query(name, text, self._names)) for number, name, text in log.queries()]
        )
        self._matching = threading.Lock()
        self._adding: set[str] = set()
        self._added = threading.Condition()
        for number, name, text in () if filled else log.texts():
            matcher.add(number, kept_patterns(name, text))

    def add(
        self, wanted: Sequence[SubscriptionRequest], *, skipping: bool = False, faults: Iterable[Fault] = ()
    ) -> AllAdded:
        """Add subscriptions: all, or none, or if ``skipping`` all that can be.

        They are on the disk, and the next document meets them, when this returns. ``faults`` are those of others that
        were to be added with them, and could not even be ``wanted``. Raises :class:`HeptoxError` with the
        faults of all that cannot be added, unless ``skipping``: as :func:`~heptox.grammar.parse_subscription` and
        :meth:`SubscriptionLog.add`, with their places.
        """
        read = read_subscriptions(wanted, skipping=skipping, faults=faults, names=self._names)
        with self._being_added([*read.patterns, *read.queries]):
            added = read.add_to(self.log)
            texts = {one.name: one.text for one in read.wanted}
            words = {one.name: one.options.words for one in read.wanted}
            arrived = [one for one in added.added if one.outcome == "new"]
            self._own |= {one.number for one in arrived if words[one.name] is Words.OWN}
            for one in arrived:
                if one.name in read.queries:
                    self._followed.add(Followed(one.number, texts[one.name], read.queries[one.name]))
            new = [(one.number, read.patterns[one.name]) for one in arrived if one.name not in read.queries]
            for begin in range(0, len(new), _BATCH):
                with self._matching:
                    for number, patterns in new[begin : begin + _BATCH]:
                        self._matcher.add(number, patterns)
        return added

    @contextmanager
    def _being_added(self, names: Iterable[str]) -> Iterator[None]:
        """Keep others from removing, or finding held, what is in the log but not yet in the matcher."""
        names = set(names)
        with self._added:
            self._added.wait_for(lambda: not self._adding & names)
            self._adding |= names
        try:
            yield
        finally:
            with self._added:
                self._adding -= names
                self._added.notify_all()

    def remove(self, name: str) -> Subscription:
        """Remove a subscription with its backlog and dead letters; raises as :meth:`SubscriptionLog.remove`."""
        with self._being_added([name]):
            removed = self.log.remove(name)
            if removed.options.deliver is Delivery.ANSWERS:
                self._followed.remove(removed.number)
            else:
                with self._matching:
                    self._matcher.remove(removed.number)
            self._own.discard(removed.number)
        return removed

    def match(self, data: bytes, file: str | None = None) -> tuple[int, ...]:
        """The numbers of the subscriptions that a document of this peer matches; raises :class:`InputError` as
        :func:`~heptox.xml.parse_document`."""
        document = parse_document(data, file, most_nodes=MOST_NODES)
        numbers, asked = self._judge(document)
        return tuple(sorted((*numbers, *asked.numbers)))

    def _judge(self, document: Document) -> tuple[tuple[int, ...], FollowedAnswers]:
        """The subscriptions that a document of this peer matches, and what those that are queries have asked it."""
        numbers = self._match(document)
        declared = as_declared(document, self._schema) if self._schema is not None and self._own else document
        if declared is not document:
            own = {number for number in self._match(declared) if number in self._own}
            numbers = tuple(sorted(own.union(number for number in numbers if number not in self._own)))
        return numbers, self._followed.ask(declared)

    def _match(self, document: Document) -> tuple[int, ...]:
        with self._matching:
            return tuple(map(int, self._matcher.match(document)))  # of whatever kind its numbers are

    def publish(self, publication: Publication, file: str | None = None) -> PublishOutcome:
        """Publish a document, which messages call ``file``; it and its notifications are on the disk then.

        It meets every subscription that was added before this is called, and none that was removed before. Raises
        :class:`InputError` as :func:`~heptox.xml.parse_document`, :class:`SchemaError` (HX2013) for a root element
        that is not the one that documents shall have, if any is said, :class:`DisseminationError` as
        :meth:`SubscriptionLog.publish`; nothing is done then.
        """
        file = file or publication.name
        try:
            before = self.log.published(publication)
            if before is not None:
                return PublishOutcome(before)
            document = parse_document(publication.data, file, most_nodes=MOST_NODES)
            if self._root is not None and (other := other_schema_fault(document, self._root)) is not None:
                raise SchemaError(other)
            numbers, asked = self._judge(document)
            answers, dead = asked.matched(publication.name, publication.identity, self._peer)
            published = self.log.publish_all([*answers, Matched(publication, numbers, dead)])[-1]
        except DisseminationError as error:
            raise DisseminationError(_of_document(fault, publication, file) for fault in error.faults) from error
        return PublishOutcome(published, (*numbers, *asked.numbers) if published.outcome == "new" else (), document)

    def deliver(
        self, publication: Publication, document: Document, number: int, *, without: Container[int] = ()
    ) -> PublishOutcome | None:
        """Notify the subscriptions up to ``number``, ``without`` some, of a ``document`` that was published elsewhere;
        ``None`` if it matches none of them, and is not kept then.

        It and its notifications are on the disk when this returns. Raises as :meth:`SubscriptionLog.publish`.
        """
        before = self.log.published(publication)
        if before is not None:
            return PublishOutcome(before)
        matching = self._match(document)
        numbers = tuple(one for one in matching if one <= number and one not in without)
        return PublishOutcome(self.log.publish(publication, numbers), numbers) if numbers else None


def _of_document(fault: Fault, publication: Publication, file: str) -> Fault:
    """A fault that kept a document from being published, telling which: by its place, unless it has another one."""
    if fault.position is None and fault.file in (None, publication.name):
        return replace(fault, file=file)
    return replace(fault, message=f"{fault.message}; {file} was refused")


def kept_patterns(name: str, text: str) -> tuple[TreePattern, ...]:
    """The patterns of a subscription of the log; raises :class:`DisseminationError` (HX9050) for one that is none."""
    try:
        return parse_subscription(text, f"subscription {name}")
    except HeptoxError as error:
        raise _not_kept(error) from None


def kept_query(name: str, text: str, names: NameTable = NO_NAMES) -> Expression:
    """A followed query of the log; raises :class:`DisseminationError` (HX9050) for one that is none."""
    try:
        return parse_followed(text, f"subscription {name}", names=names)
    except HeptoxError as error:
        raise _not_kept(error) from None


def _not_kept(error: HeptoxError) -> DisseminationError:
    return DisseminationError(
        Fault("HX9050", f"{fault.message} (a newer heptox may have written it)", fault.position)
        for fault in error.faults
    )
