"""Routes to publishers: what neighbours announce, and what they are sent of it (``routing.md``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from heptox.feed.advertisements import Advertisements, Conforming
from heptox.feed.events import Agreed, Note, Publishes, Send, Wake
from heptox.feed.holding import AnnouncementLedger, advertisement_bytes
from heptox.feed.links import AgreementError, Links
from heptox.feed.messages import ANYTHING, MOST_HOPS, NO_MAPPING, Announce, FeedDocument, PeerId, Withdraw, Wording
from heptox.feed.reports import AdvertisementsGone, Outputs, RouteChange, TreeChange
from heptox.feed.route_table import RouteTable
from heptox.routing import Advertisement, digest as digest_of

NEWS: Final = 60.0
"""Seconds in which the first announcement of a feed is news for a neighbour that there is a link to only now."""


class OwnFeed:
    """Where the feed of ``peer`` is, once it ``publishes``, and for whom it is news that there is one."""

    def __init__(self, peer: PeerId) -> None:
        self._peer = peer
        self.publishes: Publishes | None = None
        """As it is now: the position, and the digest there, are those of the last document."""
        self.advertised_since = 0
        """Up to this position documents may be of another advertisement."""
        self._digest = ANYTHING
        self._news_since = 0
        self._news_until = 0.0
        self._news_for: frozenset[PeerId] = frozenset()

    def begin(self, publishes: Publishes, known: Iterable[PeerId], now: float) -> Announce:
        """Publish from now on, or with another advertisement; ``known`` are those for whom it is news if it is new. The
        announcement of it."""
        digest = ANYTHING if publishes.advertisement is None else digest_of(publishes.advertisement)
        if self.publishes is None or digest != self._digest:
            self.advertised_since = 0 if digest == ANYTHING else publishes.position
        self.publishes, self._digest = publishes, digest
        announce = self._announcement(publishes)
        if publishes.since is None:  # who has heard of the feed would count from its beginning again
            self._news_until = now
            return announce
        self._news_since, self._news_until = publishes.since, now + NEWS
        # Who becomes an acquaintance later has not been there: what was published before is no news for it.
        self._news_for = frozenset(known)
        return replace(announce, position=publishes.since)

    def advance(self, document: FeedDocument) -> bool:
        """A document was published; whether there is a feed that it is of."""
        if self.publishes is None:
            return False
        if document.sequence > self.publishes.position:
            self.publishes = replace(self.publishes, position=document.sequence, last=document.digest)
        return True

    def announcement(self, neighbour: PeerId, now: float) -> tuple[Announce, bool] | None:
        """What is announced on a new link, with an empty path, and whether that is news; ``None`` where there is no
        feed."""
        if self.publishes is None:
            return None
        announce = self._announcement(self.publishes)
        if now < self._news_until and neighbour in self._news_for:
            return replace(announce, position=self._news_since), True
        return announce, False

    def _announcement(self, own: Publishes) -> Announce:
        return Announce(
            self._peer, own.feed, own.version, own.position, (), self._digest, own.advertisement,
            wording=Wording(own.schema, own.written_since),
        )  # fmt: skip


class Routes:
    """The machine for routes. It owns the route table, the advertisements, the announcement of the own feed, which
    mappings are agreed on, and what each neighbour holds of what it was sent."""

    def __init__(self, peer: PeerId, conformity: Callable[[Advertisement], Conforming], links: Links) -> None:
        self._peer = peer
        self._links = links
        self.table = RouteTable(peer, links.trust)
        """Read by others, as the next two are; changed here only."""
        self.advertisements = Advertisements(conformity)
        self.own = OwnFeed(peer)
        self._agreed: dict[PeerId, str] = {}
        self._ledgers: dict[PeerId, AnnouncementLedger] = {}

    def up(self, neighbour: PeerId, now: float) -> Outputs:
        """There is a link to a neighbour."""
        self._ledgers[neighbour] = AnnouncementLedger()
        yield from self._announce_all(neighbour, now)

    def lose(self, neighbour: PeerId, now: float) -> Outputs:
        """There is a link no more."""
        del self._ledgers[neighbour]
        yield from self._follow(self.table.lose(neighbour, now))

    def forget(self, neighbour: PeerId) -> Outputs:
        """Forget the advertisements of a neighbour that is lost."""
        yield AdvertisementsGone((ANYTHING, *self.advertisements.keep(neighbour, ())))

    def agree(self, agreed: Agreed, now: float) -> Outputs:
        """Announce to a neighbour with the mapping that is agreed on with it from now on."""
        neighbour, before = agreed.neighbour, self._mapping(agreed.neighbour)
        self._agreed[neighbour] = agreed.mapping
        if agreed.mapping == NO_MAPPING:
            del self._agreed[neighbour]
        if neighbour in self._ledgers and before != agreed.mapping:
            yield from self._announce_all(neighbour, now)

    def begin(self, publishes: Publishes, now: float) -> Outputs:
        """This peer publishes from now on, or has another advertisement."""
        own = self.own.begin(publishes, (*self._agreed, *self._ledgers), now)
        for neighbour in self._ledgers:
            yield from self._announce(neighbour, own, news=True)

    def publish(self, document: FeedDocument) -> bool:
        """A document was published here; whether there is a feed that it is of."""
        return self.own.advance(document)

    def offer(self, neighbour: PeerId, announce: Announce, now: float) -> Outputs:
        """A neighbour announces a publisher. Raises :class:`AgreementError`."""
        _check(neighbour, announce)
        self._learn(neighbour, announce)
        known, most = self.table.offered(neighbour, announce.publisher) is not None, self._links.budget.publishers
        if not known and self.table.offers(neighbour) >= most:
            raise AgreementError(f"over {most} publishers are announced")
        change = self.table.offer(replace(announce, advertisement=None), now)
        if change is not None and change.after is not None and change.after.path == announce.path:
            change = replace(change, news=announce.news)
        yield from self._follow([change] if change else [])
        yield TreeChange(announce.publisher)
        yield from self._keep_within_budget(neighbour)

    def withdraw(self, neighbour: PeerId, publisher: PeerId, now: float) -> Outputs:
        """A neighbour no longer reaches a publisher."""
        change = self.table.withdraw(neighbour, publisher, now)
        yield from self._follow([change] if change else [])
        yield TreeChange(publisher)

    def look_again(self, publisher: PeerId | None, now: float) -> Outputs:
        """Other announcements of a publisher may be followed; ``None``: of any publisher."""
        yield from self._follow(self.table.look_again(publisher, now))

    def tick(self, now: float) -> Outputs:
        """Take the paths that were waited with."""
        yield from self._follow(self.table.due(now))

    def _follow(self, changes: Iterable[RouteChange]) -> Outputs:
        """Follow other routes: move subscriptions, announce it to all neighbours, and see what was missed."""
        for change in changes:
            yield TreeChange(change.publisher)
            for neighbour, ledger in self._ledgers.items():
                if change.after is None:
                    ledger.remove(change.publisher)
                    yield Send(neighbour, Withdraw(change.publisher))
                else:
                    yield from self._announce(neighbour, change.after, news=change.news)
            yield change
        if (due := self.table.next_due) is not None:
            yield Wake(due)

    def _mapping(self, neighbour: PeerId) -> str:
        return self._agreed.get(neighbour, NO_MAPPING)

    # what neighbours are sent

    def _announce_all(self, neighbour: PeerId, now: float) -> Outputs:
        if (own := self.own.announcement(neighbour, now)) is not None:
            yield from self._announce(neighbour, own[0], news=own[1])
        for announce in self.table:
            yield from self._announce(neighbour, announce, news=False)

    def _announce(self, neighbour: PeerId, announce: Announce, *, news: bool) -> Outputs:
        path, digest, ledger = (self._peer, *announce.path), announce.digest, self._ledgers[neighbour]
        was_sent, is_new = announce.publisher in ledger, digest != ANYTHING and not ledger.has_advertisement(digest)
        advertisement = self._advertisement(announce) if is_new else None
        size = advertisement_bytes(advertisement) if advertisement else 0
        if not ledger.add(replace(announce, path=path), size, self._links.budget_of(neighbour)):
            yield Note("publisher not announced", {"neighbour": neighbour, "publisher": announce.publisher})
            if was_sent:
                yield Send(neighbour, Withdraw(announce.publisher))
            return
        wording = announce.wording.behind(self._mapping(neighbour))
        yield Send(neighbour, replace(announce, path=path, advertisement=advertisement, news=news, wording=wording))

    def _advertisement(self, announce: Announce) -> Advertisement:
        if announce.advertisement is not None:
            return announce.advertisement
        return self.advertisements[announce.digest].advertisement

    # what neighbours have sent

    def _learn(self, neighbour: PeerId, announce: Announce) -> None:
        """Learn the advertisement of an announcement, which is sent before it is only named."""
        digest = announce.digest
        if digest == ANYTHING:
            return
        if announce.overlaps is not None:
            self.advertisements.add(neighbour, digest, announce.overlaps)
        elif not self.advertisements.knows(neighbour, digest):
            raise AgreementError("an advertisement is named that was not sent")

    def _keep_within_budget(self, neighbour: PeerId) -> Outputs:
        """Keep within the budget what a neighbour has announced: advertisements that nothing names any more are
        forgotten first."""
        budget, routes = self._links.budget.memory, self.table.held(neighbour)
        if routes + self.advertisements.held(neighbour) > budget:
            yield AdvertisementsGone(self.advertisements.keep(neighbour, self.table.digests(neighbour)))
            if routes + self.advertisements.held(neighbour) > budget:
                raise AgreementError(f"what it announces takes more than {budget} bytes")


def _check(neighbour: PeerId, announce: Announce) -> None:
    path = announce.path
    if path[:1] != (neighbour,) or path[-1] != announce.publisher or len(set(path)) < len(path):
        raise AgreementError("the path of an announcement does not lead from its sender to its publisher")
    if len(path) > MOST_HOPS:
        raise AgreementError(f"a path has over {MOST_HOPS} peers")
    if announce.wording.is_known and len(announce.wording.mappings) != len(path):
        raise AgreementError("an announcement does not tell of one mapping for each peer of its path")
