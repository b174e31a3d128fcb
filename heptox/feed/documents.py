"""Documents on their way down the tree of their publisher: which are refused, and to which neighbours others go."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass

from heptox.errors import HeptoxError
from heptox.feed.advertisements import Advertisements
from heptox.feed.events import Note, Send
from heptox.feed.messages import ANYTHING, Announce, FeedDocument, Matched, PeerId, Publish
from heptox.feed.reports import Arrival, Output, Outputs
from heptox.feed.route_table import RouteTable
from heptox.feed.table import PublicationTable


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a neighbour gets a document, or does not: whether the publisher's tree leads there, and what it asks for."""

    neighbour: PeerId
    is_child: bool
    subscriptions: tuple[str, ...]

    @property
    def gets(self) -> bool:
        """Whether it gets the document."""
        return self.is_child and bool(self.subscriptions)


class Documents:
    """The part of the machine for subscriptions that sees to documents. It owns how far each feed was passed on, and
    how many documents were refused."""

    def __init__(self, table: PublicationTable, routes: RouteTable, advertisements: Advertisements) -> None:
        self._table = table
        self._routes = routes
        self._advertisements = advertisements
        self._passed: dict[PeerId, tuple[str, int]] = {}
        self.refused = 0
        """How many documents were refused, of all publishers."""

    def examine(self, document: FeedDocument) -> None:
        """Do beforehand what is costly about a document. May be called in another thread."""
        try:
            _, parsed = document.digest, document.parsed
        except HeptoxError:  # which is raised again where it is asked for
            return
        route = self._routes.followed(document.publisher)
        conforming = self._advertisements.conforming(route.digest) if route and len(route.path) == 1 else None
        if route is not None and conforming is not None:
            document.misfits[route.digest] = conforming.first_misfit(parsed)
        document.examined(self._table.match(parsed))

    def arrive(self, neighbour: PeerId, document: FeedDocument) -> Outputs:
        """A document comes down the tree; what comes from elsewhere, or again, was or will be asked for."""
        route = self._routes.followed(document.publisher)
        if route is None or route.path[0] != neighbour or route.feed != document.feed:
            return
        feed, passed = self._passed.get(document.publisher, ("", 0))
        if feed == document.feed and document.sequence <= passed:
            return
        if (yield from self.refuses(route, document)):
            return
        self._passed[document.publisher] = document.feed, document.sequence
        yield from self.pass_on(document, without=neighbour)
        yield Arrival(document)

    def refuses(self, route: Announce, document: FeedDocument) -> Generator[Output, None, bool]:
        """Whether a document is none, or not what its publisher, a neighbour, has advertised."""
        why = None
        try:
            is_direct = len(route.path) == 1 and route.digest != ANYTHING and document.sequence > route.position
            if document.matched(self._table) is None or (is_direct and route.digest not in document.misfits):
                self.examine(document)
                _ = document.parsed
            if is_direct:
                why = document.misfits[route.digest]
        except HeptoxError as error:
            why = str(error)
        if why is None:
            return False
        self.refused += 1
        publisher, name, position = document.publisher, document.name, document.sequence
        yield Note("document refused", {"publisher": publisher, "document": name, "position": position, "why": why})
        return True

    def pass_on(self, document: FeedDocument, without: PeerId | None = None) -> Outputs:
        """Send a document to the neighbours that want it, behind which its tree leads on."""
        children = [child for child in self._routes.children(document.publisher) if child != without]
        for neighbour in self._table.wanted_by(self._matched(document), children) if children else ():
            yield Send(neighbour, Publish(document))

    def leave(self, publisher: PeerId) -> None:
        """A publisher is gone."""
        self._passed.pop(publisher, None)

    def explain(self, document: FeedDocument, neighbours: Iterable[PeerId]) -> tuple[Explained, ...]:
        """For each neighbour, whether a document goes there, and why. Raises as :attr:`FeedDocument.parsed`."""
        matching = list(self._table.matching(self._matched(document)))
        found = []
        for name in neighbours:
            texts = tuple(entry.text for entry in matching if name in entry.neighbours)
            found.append(Explained(name, self._routes.is_child(name, document.publisher), texts))
        return tuple(found)

    def _matched(self, document: FeedDocument) -> Matched:
        return document.matched(self._table) or self._table.match(document.parsed)
