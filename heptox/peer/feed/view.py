"""What people see of a peer's feeds: publishers, neighbours, own words, and where a document would go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from heptox.errors import Fault, PeerError
from heptox.feed import FeedDocument, Published, PublisherStatus, Router
from heptox.matching import Broker
from heptox.peer.feed.links import FeedLinks
from heptox.peer.feed.own_words import OwnWords
from heptox.peer.feed.publishing import Publisher
from heptox.peer.models.feed import (
    FeedsModel,
    GettingModel,
    NeighbourModel,
    OutdatedModel,
    PublisherModel,
    RouteModel,
    SuspicionModel,
    UnfollowedModel,
)
from heptox.peer.models.subscriptions import LackingModel, RenderingModel
from heptox.peer.wire.messages import PeerId

_SHOWN: Final = 10
"""Subscriptions that are shown as the reason why a neighbour gets a document."""


class FeedView:
    """Looks at the parts of one peer's feeds; ``name`` gives what a peer is called here."""

    def __init__(
        self,
        router: Router,
        links: FeedLinks,
        own_words: OwnWords,
        publisher: Publisher,
        broker: Broker,
        name: Callable[[PeerId], str],
    ) -> None:
        self._router = router
        self._links = links
        self._own_words = own_words
        self._publisher = publisher
        self._broker = broker
        self._name = name

    def status(self) -> FeedsModel:
        """The publishers that can be reached, and the neighbours."""
        name = self._name
        return FeedsModel(
            publishers=tuple(map(self._publisher_model, self._router.publishers)),
            neighbours=tuple(
                NeighbourModel.made_of(seen, name=name(seen.neighbour), concern=seen.members, told=seen.sent)
                for seen in self._router.neighbours
            ),
            suspicions=tuple(
                SuspicionModel.made_of(one, name=name(one.neighbour), publisher_name=name(one.publisher))
                for one in self._router.suspicions
            ),
            unfollowed=tuple(UnfollowedModel(publisher=one, name=name(one)) for one in self._router.unfollowed),
            outdated=tuple(OutdatedModel(neighbour=one, name=name(one)) for one in self._links.outdated),
        )

    def _publisher_model(self, seen: PublisherStatus) -> PublisherModel:
        understood = self._own_words.status(seen.publisher)
        return PublisherModel.made_of(
            seen,
            name=self._name(seen.publisher),
            path=tuple(map(self._name, seen.path)),
            advertised=seen.digest or None,
            words=understood.standing if understood else None,
            words_reason=(understood.reason or None) if understood else None,
        )

    def renderings(self, number: int) -> tuple[RenderingModel, ...]:
        """What a subscription in own words is for each publisher that is reached."""
        return self._own_words.renderings(number, (seen.publisher for seen in self._router.publishers))

    def lacking(self, number: int, name: str) -> tuple[LackingModel, ...]:
        """Of a subscription in own words the publishers from which nothing, or not all, comes."""
        if number not in self._own_words.numbers:
            return ()
        found = self.renderings(number)
        return tuple(LackingModel(subscription=name, **dict(one)) for one in found if one.reason or one.losses)

    async def route(self, data: bytes, file: str, who: str | None) -> RouteModel:
        """Where a document goes from here, and why; ``who`` has published it, by id or name: else it is one of this
        peer.

        Raises :class:`InputError` where it is none, :class:`PeerError` (HX7084) where no publisher is called so.
        """
        publisher = None if who is None else self._publisher_called(who)
        document = FeedDocument(publisher or self._router.peer, "", 0, file, "", data)
        kept = await trio.to_thread.run_sync(self._kept_at_home, document)
        local = await trio.to_thread.run_sync(self._matching, document, publisher)
        await trio.to_thread.run_sync(self._router.prepare, Published(document))
        neighbours = tuple(
            GettingModel(
                neighbour=one.neighbour,
                name=self._name(one.neighbour),
                gets=one.gets and kept is None,
                leads_there=one.is_child,
                matching=len(one.subscriptions),
                subscriptions=tuple(one.subscriptions[:_SHOWN]),
            )
            for one in self._router.explain(document)
        )
        return RouteModel(publisher=document.publisher, kept=kept, local=local, neighbours=neighbours)

    def _kept_at_home(self, document: FeedDocument) -> str | None:
        """Why a document stays here, if so. Called in a thread; raises :class:`InputError` where it is none."""
        parsed = document.parsed
        return self._publisher.kept(parsed, document.data) if document.publisher == self._router.peer else None

    def _matching(self, document: FeedDocument, publisher: PeerId | None) -> int:
        """How many subscriptions here a document of a publisher matches, or one of this peer. Called in a thread."""
        matching = self._broker.match(document.data, document.name)
        if publisher is None:
            return len(matching)
        plain = [number for number in matching if number not in self._own_words.numbers]
        return len(plain) + self._own_words.matching(publisher, document.parsed)

    def _publisher_called(self, who: str) -> PeerId | None:
        """The publisher of an id or a name; ``None`` for this peer."""
        if who == self._router.peer:
            return None
        known = {seen.publisher: self._name(seen.publisher) for seen in self._router.publishers}
        found = [publisher for publisher, name in known.items() if who in (publisher, name)]
        if len(found) != 1:
            message = f"{who!r} is {'no publisher' if not found else 'the name of several publishers'} that is reached"
            hint = f"these are: {', '.join(known)}" if known else "none is; `heptox feed status` shows them"
            raise PeerError(Fault("HX7084", message, hint=hint))
        return found[0]
