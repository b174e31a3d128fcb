"""What the control API says about feeds: publishers that are reached, neighbours, and where documents go, as
:mod:`heptox.peer.models.control`."""

from __future__ import annotations

from heptox.peer.models.control import Exact
from heptox.peer.models.subscriptions import Understanding


class PublisherModel(Exact):
    """A publisher that can be reached: the ``path`` to it, how many own subscriptions are ``interested`` in what it has
    ``advertised`` (a digest; null: it may be anything), up to which ``position`` of its feed documents have come, and
    whether what follows comes by itself (``live``). The publisher has signed that up to the position ``audited`` all
    have.

    ``words``: how its words are understood for subscriptions in own words: it has the ``same`` schema, mappings lead to
    it (``mapped``), they are ``waiting`` for what is on its way, or there is ``none``; null where there are no such
    subscriptions. ``words_reason`` says why.
    """

    publisher: str
    name: str
    path: tuple[str, ...]
    advertised: str | None
    interested: int
    position: int | None
    audited: int | None
    live: bool
    words: Understanding | None
    words_reason: str | None


class NeighbourModel(Exact):
    """A neighbour: how many subscriptions it ``wants`` documents for, how many of those here ``concern`` it and how
    many of them were announced to it (``told``); ``everything``: that was announced instead. Whether it hears of what
    is covered by others later that it is not needed (``withdraws``)."""

    neighbour: str
    name: str
    wants: int
    concern: int
    told: int
    everything: bool
    withdraws: bool


class SuspicionModel(Exact):
    """What is held against a ``neighbour``, about the feed of a ``publisher``: nothing of that is taken from there any
    more (``distrusted``), or only where there is no other path. A publisher that says different things is its own
    neighbour."""

    neighbour: str
    name: str
    publisher: str
    publisher_name: str
    reason: str
    distrusted: bool


class UnfollowedModel(Exact):
    """A publisher that is not followed, as the settings say."""

    publisher: str
    name: str


class OutdatedModel(Exact):
    """An acquaintance that speaks only the protocol of before feeds were signed."""

    neighbour: str
    name: str


class FeedsModel(Exact):
    """What is published elsewhere, and what neighbours want; what is wrong with some of them."""

    publishers: tuple[PublisherModel, ...]
    neighbours: tuple[NeighbourModel, ...]
    suspicions: tuple[SuspicionModel, ...]
    unfollowed: tuple[UnfollowedModel, ...]
    outdated: tuple[OutdatedModel, ...]


class GettingModel(Exact):
    """Whether a neighbour ``gets`` a document: if the way from its publisher ``leads_there``, and subscriptions from
    there are ``matching``, of which some are listed."""

    neighbour: str
    name: str
    gets: bool
    leads_there: bool
    matching: int
    subscriptions: tuple[str, ...]


class RouteModel(Exact):
    """Where a document goes: to ``local`` subscriptions, and to neighbours unless it is ``kept`` at home."""

    publisher: str
    kept: str | None
    local: int
    neighbours: tuple[GettingModel, ...]
