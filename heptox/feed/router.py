"""A broker's decisions about feeds, without I/O: :meth:`Router.handle` takes an event and the time, and returns
instructions.

Four machines decide, each about its own: :class:`~heptox.feed.links.Links`, :class:`~heptox.feed.routes.Routes`,
:class:`~heptox.feed.subscriptions.Subscriptions` and :class:`~heptox.feed.catch_up.Recovery`. A machine may read what
those before it own, and changes only what it owns; what concerns the others it reports
(:mod:`~heptox.feed.reports`), and the router hands that on.

Source: section 3 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks", whose
overlay is one tree that never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from heptox.errors import HeptoxError
from heptox.feed import events, messages, reports
from heptox.feed.advertisements import Conforming
from heptox.feed.catch_up import Recovery
from heptox.feed.documents import Explained
from heptox.feed.forwarding import Method
from heptox.feed.links import AgreementError, Links
from heptox.feed.messages import Budget, FeedDocument, PeerId
from heptox.feed.receptions import PublisherStatus
from heptox.feed.reports import Suspicion
from heptox.feed.routes import Routes
from heptox.feed.subscriptions import NeighbourStatus, Subscriptions
from heptox.feed.table import read_patterns
from heptox.feed.trust import EVERYBODY, Following
from heptox.matching import Matcher
from heptox.routing import Advertisement, Conformity

FULL: Final = Method()
STANDARD: Final = Budget()


class Router:
    """One broker. Times are seconds of one monotonic clock, whichever the caller uses.

    ``matcher`` is an empty one, for what neighbours want; ``budget`` is what each of them may ask this peer to keep.
    ``conformity`` makes what says of a document why it is not as advertised, if it is not: it goes no further then.
    ``following`` says which publishers are followed. Questions have numbers from ``first_request`` on, which should be
    drawn by chance: the answer to a question of before must not be one to a question of now.

    All that comes of others is taken for signed: a :class:`~heptox.feed.Gate` sees to that.

    >>> from heptox.matching import MemoryMatcher
    >>> from heptox.grammar import parse_subscription
    >>> from heptox.feed import Announce, Hello, LinkUp, Received, Send, Subscribed
    >>> router = Router("b", MemoryMatcher())
    >>> events = (
    ...     LinkUp("a"), Subscribed(1, "//x", parse_subscription("//x")), Received("a", Hello()),
    ...     Received("a", Announce("a", "feed", 1, 0, ("a",))),
    ... )
    >>> for instruction in [one for event in events for one in router.handle(event, 0.0)]:
    ...     print(type(instruction.message if isinstance(instruction, Send) else instruction).__name__)
    Hello
    Subscribe
    Announce
    Keep
    CatchUp
    Wake
    """

    def __init__(
        self,
        peer: PeerId,
        matcher: Matcher,
        method: Method = FULL,
        budget: Budget = STANDARD,
        conformity: Callable[[Advertisement], Conforming] = Conformity,
        following: Following = EVERYBODY,
        first_request: int = 1,
    ) -> None:
        self.peer = peer
        self.method = method
        self._links = Links(budget, following)
        self._routes = Routes(peer, conformity, self._links)
        self._subscriptions = Subscriptions(matcher, method, self._links, self._routes)
        self._documents = self._subscriptions.documents
        self._recovery = Recovery(peer, self._links, self._routes, self._subscriptions, first_request)
        self._receptions, self._replays = self._recovery.receptions, self._recovery.replays
        self._now = 0.0
        self._out: list[events.Instruction] = []

    def handle(self, event: events.Event, now: float) -> tuple[events.Instruction, ...]:
        """Take in one event and say what to do about it, in order. Events about what is over are ignored."""
        self._now = max(now, self._now)
        self._take(event, self._now)
        out, self._out = tuple(self._out), []
        return out

    def prepare(self, event: events.Event) -> None:
        """Do beforehand what is costly about an event, which :meth:`handle` then does not. May be called in another
        thread."""
        match event:
            case events.Received(message=messages.Announce() as announce):
                _ = announce.overlaps
            case events.Received(message=messages.Subscribe() as wanted):
                with suppress(HeptoxError):  # which is raised again where it is asked for
                    read_patterns(wanted.text)
                self._subscriptions.learn()
            case events.Received(message=messages.Publish(document=document)) | events.Published(document=document):
                self._documents.examine(document)
            case events.Received(message=messages.Replay() as replay) if len(replay.route) == 1:
                self._documents.examine(replay.document)

    # -- events ------------------------------------------------------------------------------------------------------

    def _take(self, event: events.Event, now: float) -> None:
        match event:
            case events.LinkUp():
                self._link_up(event.neighbour)
            case events.LinkDown():
                self._link_down(event.neighbour)
            case events.Acquaintances():
                self._run(self._links.trust.acquaint(event.peers))
            case events.Forged():
                suspicion = Suspicion(event.neighbour, event.publisher, event.reason, distrusted=True)
                self._run(self._links.trust.suspect(suspicion))
            case events.Distrusted():
                self._run(self._links.trust.distrust(event))
            case events.Agreed():
                self._run(self._routes.agree(event, now))
            case events.Received():
                self._receive(event.neighbour, event.message)
            case events.Publishes():
                self._run(self._routes.begin(event, now))
            case events.Published():
                if self._routes.publish(event.document):
                    self._run(self._documents.pass_on(event.document))
            case events.Subscribed():
                self._run(self._subscriptions.subscribe(event, now))
                self._run(self._recovery.subscribe(event, now))
            case events.Unsubscribed():
                self._run(self._subscriptions.unsubscribe(event.number, now))
            case events.Translated():
                self._run(self._subscriptions.take_translations(event, now))
            case events.Reached():
                self._receptions.restore(event)
            case events.Stored():
                self._run(self._recovery.stored(event, now))
            case events.NotStored():
                self._run(self._recovery.not_stored(event, now))
            case events.Acknowledged():
                self._run(self._recovery.acknowledged(now))
            case events.Fetched():
                self._run(self._replays.fetched(event, now))
            case events.NotFetched():
                self._replays.drop(event.task)
            case events.Recorded():
                self._run(self._replays.recorded(event.task))
            case events.Tick():
                self._run(self._routes.tick(now))
                self._run(self._subscriptions.tick(now))
                self._run(self._recovery.tick(now))

    def _link_up(self, neighbour: PeerId) -> None:
        self._link_down(neighbour)
        self._subscriptions.up(neighbour)
        self._run(self._links.up(neighbour))
        self._run(self._routes.up(neighbour, self._now))

    def _link_down(self, neighbour: PeerId) -> None:
        if neighbour not in self._links:
            return
        announced = self._routes.table.publishers(neighbour)
        self._links.down(neighbour)
        self._recovery.lose(neighbour)
        rest = self._subscriptions.lose(neighbour, self._now)
        self._run(self._routes.lose(neighbour, self._now))
        self._run(rest)
        self._run(self._routes.forget(neighbour))
        self._leave(announced)

    def _leave(self, publishers: Iterable[PeerId]) -> None:
        """Forget those publishers that no neighbour announces any more."""
        for publisher in publishers:
            if not self._routes.table.is_offered(publisher):
                self._run(self._subscriptions.leave(publisher, self._now))
                self._receptions.leave(publisher)

    def _receive(self, neighbour: PeerId, message: messages.Message) -> None:
        if neighbour not in self._links:
            return
        try:
            self._links.check(neighbour, message)
            self._hear(neighbour, message, self._now)
        except AgreementError as error:
            self._link_down(neighbour)
            self._out.append(events.Break(neighbour, str(error)))
            self._out.append(events.Note("link broken", {"neighbour": neighbour, "reason": str(error)}))

    def _hear(self, neighbour: PeerId, message: messages.Message, now: float) -> None:
        match message:
            case messages.Hello():
                self._subscriptions.greet(neighbour, message)
            case messages.Announce():
                self._run(self._routes.offer(neighbour, message, now))
            case messages.Withdraw():
                self._recovery.withdraw(neighbour, message.publisher)
                self._run(self._routes.withdraw(neighbour, message.publisher, now))
                self._leave((message.publisher,))
            case messages.Subscribe():
                self._run(self._subscriptions.want(neighbour, message, now))
            case messages.Unsubscribe():
                self._run(self._subscriptions.want_no_more(neighbour, message, now))
            case messages.Publish():
                self._run(self._documents.arrive(neighbour, message.document))
            case messages.CatchUp():
                self._run(self._recovery.ask(neighbour, message, now))
            case messages.Replay() | messages.CaughtUp():
                self._run(self._recovery.answer(neighbour, message, now))

    def _run(self, outputs: Iterable[reports.Output]) -> None:
        """Let a machine go on, step by step: its instructions are for the caller, its reports for other machines."""
        now = self._now
        for output in outputs:
            match output:
                case events.Send():
                    if output.neighbour in self._links:
                        self._out.append(output)
                case reports.TrustChange():
                    self._run(self._routes.look_again(output.publisher, now))
                case reports.RouteChange():
                    self._run(self._recovery.reroute(output, now))
                case reports.TreeChange():
                    self._run(self._subscriptions.rearrange(output.publisher, now))
                case reports.AdvertisementsGone():
                    self._subscriptions.forget(output.digests)
                case reports.Arrival():
                    self._run(self._recovery.arrive(output.document, now))
                case reports.TranslationChange():
                    self._run(self._recovery.take_words(output, now))
                case reports.NoSubscriptions():
                    self._leave({reception.publisher for reception in self._receptions})
                case Suspicion():
                    self._run(self._links.trust.suspect(output))
                case reports.Answered():
                    self._run(self._links.trust.forget_silence(output))
                case reports.Fork():
                    self._run(self._links.trust.fork(output))
                case reports.TranslationNeed():
                    self._run(self._subscriptions.translate(output.announce))
                case _:
                    self._out.append(output)

    # -- looking -----------------------------------------------------------------------------------------------------

    @property
    def refused(self) -> int:
        """How many documents were refused, of all publishers."""
        return self._documents.refused

    @property
    def publishers(self) -> tuple[PublisherStatus, ...]:
        """The publishers that can be reached."""
        return tuple(self._receptions.seen())

    @property
    def neighbours(self) -> tuple[NeighbourStatus, ...]:
        """The neighbours that there is a link to."""
        return tuple(self._subscriptions.seen())

    @property
    def suspicions(self) -> tuple[Suspicion, ...]:
        """What is held against neighbours, and publishers."""
        return self._links.trust.suspicions

    @property
    def unfollowed(self) -> tuple[PeerId, ...]:
        """The publishers that are announced and, as it is set, not followed."""
        return self._routes.table.unfollowed

    @property
    def waits(self) -> bool:
        """Whether there are documents that were not stored, and are to be asked for again."""
        return any(reception.waits for reception in self._receptions)

    @property
    def unreached(self) -> tuple[PeerId, ...]:
        """The publishers of which this peer has had documents, or a confirmation, and that cannot be reached now."""
        known = dict.fromkeys(one.publisher for one in self._receptions if one.position is not None)
        return tuple(publisher for publisher in known if self._routes.table.followed(publisher) is None)

    def way(self, publisher: PeerId) -> tuple[PeerId, ...]:
        """The path from a neighbour to a publisher; empty where it is not reached."""
        route = self._routes.table.followed(publisher)
        return route.path if route is not None else ()

    def unconfirmed(self, number: int) -> tuple[PeerId, ...]:
        """The publishers that can be reached, may publish what a local subscription asks for, and have not confirmed it
        yet."""
        return tuple(publisher for publisher in self.concerned(number) if not self.counts(publisher, number))

    def concerned(self, number: int) -> tuple[PeerId, ...]:
        """The publishers that can be reached, and may publish what a local subscription asks for."""
        routes = self._routes.table
        return tuple(route.publisher for route in routes if self._subscriptions.concerns(route, number))

    def counts(self, publisher: PeerId, number: int) -> bool:
        """Whether a publisher has confirmed a local subscription, and all that it asks for comes down the tree."""
        reception = self._receptions.get(publisher, own=number in self._subscriptions.numbers(own=True))
        return reception is not None and reception.live and number <= reception.number

    def explain(self, document: FeedDocument) -> tuple[Explained, ...]:
        """For each neighbour, whether a document goes there, and why: the subscriptions that it matches. Raises as
        :attr:`FeedDocument.parsed`."""
        return self._documents.explain(document, self._links)
