"""What the control API takes and tells, by shape: requests are checked by these, answers made by them, and
``GET /openapi.json`` describes them."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import FastAPI
from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt
from pydantic.json_schema import models_json_schema

from heptox.matching import (
    MOST_BACKLOG,
    MOST_BACKLOG_BYTES,
    Delivery,
    Options,
    Policy as SubscriptionPolicy,
    Words,
)
from heptox.peer.doctor import Level
from heptox.peer.folder import Outcome
from heptox.peer.messages import Status
from heptox.peer.standing import Side, Standing
from heptox.settings import Policy

NDJSON: Final = "application/x-ndjson"
_OPTIONS: Final = Options()
_REFERENCE: Final = "#/components/schemas/{model}"


class Exact(BaseModel):
    """An object with these members, and no others."""

    model_config = ConfigDict(extra="forbid")


# -- requests --------------------------------------------------------------------------------------------------------


class QuestionRequest(Exact):
    """A query to ask; ``timeout`` in seconds; ``timeout`` and ``hops`` are the peer's own unless given."""

    query: Annotated[str, Field(examples=["//Patient/Name"])]
    file: str | None = None
    timeout: Annotated[StrictFloat, Field(allow_inf_nan=False)] | None = None
    hops: StrictInt | None = None
    explain: StrictBool = False


class AcquaintanceRequest(Exact):
    """A neighbour to know: its multiaddress, and the files of the mapping by name, ``mapping`` the one to load."""

    address: str
    files: dict[str, Base64Bytes]
    mapping: str
    side: Side | None = None
    name: str | None = None


class SubscriptionRequest(Exact):
    """One subscription; ``line`` is where in the ``file`` of all it was read, for messages. Where ``answers`` are to be
    delivered, ``xpath`` is a query."""

    name: Annotated[str, Field(examples=["cheap"])]
    xpath: Annotated[str, Field(examples=["//Book[Price < 10]"])]
    line: Annotated[StrictInt, Field(ge=1, le=1 << 31)] = 1


class SubscriptionsRequest(Exact):
    """Subscriptions to add, all or none, or if ``skipping`` all that can be; the bounds and the policy are of each, and
    so is in whose ``words`` they are, and what to ``deliver``."""

    subscriptions: list[SubscriptionRequest]
    file: str | None = None
    policy: SubscriptionPolicy = _OPTIONS.policy
    backlog: Annotated[StrictInt, Field(ge=1, le=MOST_BACKLOG)] = _OPTIONS.backlog
    backlog_bytes: Annotated[StrictInt, Field(ge=1, le=MOST_BACKLOG_BYTES)] = _OPTIONS.backlog_bytes
    words: Words = _OPTIONS.words
    deliver: Delivery = _OPTIONS.deliver
    skipping: StrictBool = False


# -- what is told ----------------------------------------------------------------------------------------------------


class Position(Exact):
    """Where in a text: line and column from 1."""

    line: int
    column: int
    file: str | None


class FaultModel(Exact):
    """What is wrong; ``code`` stays the same for ever."""

    code: Annotated[str, Field(pattern="^HX[0-9]{4}$")]
    message: str
    position: Position | None
    excerpt: str | None
    hint: str | None
    file: str | None


class Faults(Exact):
    """Why a request was not carried out."""

    faults: Annotated[list[FaultModel], Field(min_length=1)]


class Health(Exact):
    """That the daemon serves, and which peer it is."""

    status: Literal["ok"]
    peer_id: str


class DocumentModel(Exact):
    """A document at rest: its size, when it was written (UTC), and whether all of it has a place in the schema.

    One that does not fit is asked by the interpreter. ``null`` where that is not known.
    """

    name: str
    bytes: Annotated[int, Field(ge=0)]
    fits: bool | None
    loaded: Annotated[str, Field(json_schema_extra={"format": "date-time"})]


class Named(Exact):
    """The document that was removed."""

    name: str


class AcquaintanceModel(Exact):
    """A neighbour; ``side`` is ours of the mapping, ``reason`` what the other side says about its standing."""

    name: str
    peer_id: str
    address: str
    side: Side
    standing: Standing
    reason: str
    version: int


class KnownModel(AcquaintanceModel):
    """An acquaintance, and how it is doing; ``fault`` keeps queries from it."""

    connected: bool
    fault: str


class AcceptedModel(KnownModel):
    """The acquaintance that was made of an offer, and the ``digest`` of that offer."""

    digest: str


class RequestModel(Exact):
    """An offer that waits, as the acquaintance to be; ``files`` are the mapping's, ``mapping`` the one to load.

    ``digest`` identifies the offer: all its files, who makes it, and where it says that it listens.
    """

    name: str
    digest: str
    peer_id: str
    address: str
    side: Side
    standing: Literal["offered"]
    reason: str
    version: int
    connected: bool
    fault: str
    mapping: str
    files: dict[str, str]


class Refused(Exact):
    """Whose offer was refused."""

    peer_id: str


class HiddenModel(BaseModel):
    """Schema paths that are hidden, from all or from some."""

    model_config = ConfigDict(extra="forbid", serialize_by_alias=True)

    paths: list[str]
    whom: Annotated[Literal["all"] | list[str], Field(alias="from")]


class OwnQuery(Exact):
    """A query of the own user that is under way, and how many items have come."""

    query: str
    text: str
    items: int


class NeighboursQuery(Exact):
    """A query of a neighbour that is under way: whose, along which peers it came, and what was sent so far.

    ``asker`` and ``path`` are what the query says; ``neighbour`` has proved who it is.
    """

    query: str
    neighbour: str
    name: str
    asker: str
    path: list[str]
    items: int
    milliseconds: int


class QueriesModel(Exact):
    """All queries under way."""

    own: list[OwnQuery]
    neighbours: list[NeighboursQuery]


class QueryModel(Exact):
    """The query that was ended."""

    query: str


class StatusModel(Exact):
    """Who the peer is, what it holds, whom it knows, and which queries of its own user are under way."""

    name: str
    peer_id: str
    root: str
    schema_key: Annotated[str, Field(alias="schema")]
    policy: Policy
    hidden: list[HiddenModel]
    timeout: float
    running: Literal[True]
    addresses: list[str]
    documents: int
    acquaintances: list[KnownModel]
    requests: list[RequestModel]
    queries: list[OwnQuery]


class RenderingModel(Exact):
    """What a subscription in own words comes to for a publisher: its ``text`` in the publisher's words, whether these
    say it ``exact`` (else what comes is looked through), what is lost on the way, and the ``reason`` why nothing comes.

    ``words``: how the publisher's words are understood, as in the status of feeds.
    """

    publisher: str
    name: str
    words: Literal["same", "mapped", "waiting", "none"]
    text: str | None
    exact: bool
    losses: list[str]
    reason: str | None


class LackingModel(RenderingModel):
    """What a subscription in own words lacks at a publisher."""

    subscription: str


class SubscriptionsAdded(Exact):
    """How many subscriptions were added, and were held before; ``faults`` of those that are skipped.

    ``unconfirmed`` are the ids of peers whose documents may not come yet: they can be reached, and have not answered.
    ``unreached`` are those that are known, and cannot be reached. ``untold`` are the names of those that are too long
    to be told to others, whose documents may not come. ``untranslated``: of subscriptions in own words, the publishers
    from which nothing, or not everything, comes.
    """

    added: int
    held: int
    faults: list[FaultModel]
    unconfirmed: list[str]
    unreached: list[str]
    untold: list[str]
    untranslated: list[LackingModel]


class SubscriptionModel(Exact):
    """A subscription, and how far it is.

    Sequence numbers: the ``first`` one that can be replayed, the ``last`` one given, handed out up to ``delivered``,
    settled up to ``acknowledged``. ``lag``: seconds that what is not acknowledged has waited. ``dead_letters`` are
    listed, those ``forgotten`` are not any more. ``first_read``: when somebody first asked for its notifications.
    ``publishers``: what one in own words comes to for each that is reached, where it is asked for alone.
    """

    name: str
    number: int
    xpath: str
    words: Words
    deliver: Delivery
    policy: SubscriptionPolicy
    most: int
    most_bytes: int
    added: str
    first: int
    last: int
    delivered: int
    acknowledged: int
    backlog: int
    backlog_bytes: int
    lag: float | None
    dead_letters: int
    forgotten: int
    suspended: str | None
    first_read: str | None = None
    publishers: list[RenderingModel] | None = None


class PublishedModel(Exact):
    """What became of a document: how many subscriptions it ``matched``, for how many it is a dead letter.

    It is ``offered`` to others, unless there never were any; where it is ``kept`` at home, this says why.
    """

    document: str
    id: str
    outcome: Literal["new", "held"]
    matched: int
    dead_letters: int
    offered: bool
    kept: str | None


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
    path: list[str]
    advertised: str | None
    interested: int
    position: int | None
    audited: int | None
    live: bool
    words: Literal["same", "mapped", "waiting", "none"] | None
    words_reason: str | None


class NeighbourModel(Exact):
    """A neighbour: how many subscriptions it ``wants`` documents for, how many of those here ``concern`` it and how
    many of them it was ``told``; ``everything``: that it was told instead. Whether it is told of what is covered by
    others later that it is not needed (``withdraws``)."""

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

    publishers: list[PublisherModel]
    neighbours: list[NeighbourModel]
    suspicions: list[SuspicionModel]
    unfollowed: list[UnfollowedModel]
    outdated: list[OutdatedModel]


class GettingModel(Exact):
    """Whether a neighbour ``gets`` a document: if the way from its publisher ``leads_there``, and subscriptions from
    there are ``matching``, of which some are told."""

    neighbour: str
    name: str
    gets: bool
    leads_there: bool
    matching: int
    subscriptions: list[str]


class RouteModel(Exact):
    """Where a document goes: to ``local`` subscriptions, and to neighbours unless it is ``kept`` at home."""

    publisher: str
    kept: str | None
    local: int
    neighbours: list[GettingModel]


class FindingModel(Exact):
    """What was found of one subject, and what to do."""

    subject: str
    level: Level
    message: str
    advice: str


class Stopping(Exact):
    """That the daemon ends."""

    status: Literal["stopping"]


# -- lines of streams ------------------------------------------------------------------------------------------------


class Origin(Exact):
    """Where an item came from: the peer, and the names along the path to it."""

    peer: str
    name: str
    path: list[str]


class ReceiptLineModel(Origin):
    """What became of a query along one path."""

    status: Status
    complete: bool
    items: int
    losses: list[str]
    reason: str
    text: str
    milliseconds: int
    beyond: bool


class ReceiptModel(Exact):
    """What became of a query in all."""

    query: str
    complete: bool
    items: int
    lines: list[ReceiptLineModel]


class ItemLine(Exact):
    """An item, and where it came from; ``repeated`` when an equal one came before."""

    item: str
    origin: Origin
    repeated: bool


class ReceiptLast(Exact):
    """The last line of every answer."""

    receipt: ReceiptModel


class ReadLine(Exact):
    """How many bytes of a document are done."""

    read: int


class LoadedModel(Exact):
    """What became of a document; ``faults`` say why it is not valid for the schema, although it is kept."""

    name: str
    outcome: Outcome
    faults: list[FaultModel]


class LoadedLast(Exact):
    """The last line of a load."""

    loaded: LoadedModel


class NotificationModel(Exact):
    """That a document matches; with its bytes if they are wanted: ``content``, or ``base64`` where it is not UTF-8."""

    sequence: int
    document: str
    id: str
    bytes: int
    sha256: str
    published: str
    acknowledged: bool
    redelivered: bool
    content: str | None = None
    base64: str | None = None


class NotificationLine(Exact):
    """A notification."""

    notification: NotificationModel


class WaitingLine(Exact):
    """All that is there was told; the next one will have this number."""

    waiting: int | None


class EndLast(Exact):
    """The last line of a replay."""

    end: SubscriptionModel


class DeadLetterModel(Exact):
    """A match that is not delivered, and why; ``sequence`` is ``null`` when it never was a notification."""

    letter: int
    sequence: int | None
    document: str
    id: str
    bytes: int
    reason: str
    time: str
    kept: bool


class AuditLine(BaseModel):
    """An event, and what belongs to it; ``time`` is ``null`` for a line that cannot be read."""

    model_config = ConfigDict(extra="allow")

    time: str | None
    event: str


LINES: Final[dict[str, tuple[type[BaseModel], ...]]] = {
    "ask": (ItemLine, ReceiptLast, Faults),
    "load": (ReadLine, LoadedLast, Faults),
    "audit": (AuditLine,),
    "list_subscriptions": (SubscriptionModel, Faults),
    "replay": (NotificationLine, WaitingLine, EndLast, Faults),
    "dead_letters": (DeadLetterModel, Faults),
}
"""What the lines of a stream may be, by the operation that tells it."""


# -- the description -------------------------------------------------------------------------------------------------

_FAULTS: Final[dict[str, Any]] = {"application/json": {"schema": {"$ref": _REFERENCE.format(model="Faults")}}}
FOREIGN: Final[dict[int | str, dict[str, Any]]] = {
    403: {"description": "A page of another site seems to make the request; nothing was done.", "content": _FAULTS},
    408: {"description": "The request did not come to its end in time; nothing was done.", "content": _FAULTS},
    413: {"description": "The request carries more than it may; nothing was done.", "content": _FAULTS},
    503: {"description": "There are too many connections; nothing was done.", "content": _FAULTS},
}
UNAUTHORISED: Final[dict[int | str, dict[str, Any]]] = {
    **FOREIGN,
    401: {
        "description": "The request does not carry the token; nothing was done.",
        "content": _FAULTS,
        "headers": {"WWW-Authenticate": {"schema": {"type": "string"}}},
    },
}
REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    **UNAUTHORISED,
    422: {"description": "It is not carried out, and why.", "content": _FAULTS},
}
NAMED: Final[dict[int | str, dict[str, Any]]] = {
    **REFUSED,
    404: {"description": "There is nothing at this path: a name in it has a slash or is empty.", "content": _FAULTS},
}


def streamed(operation: str, description: str) -> dict[int | str, dict[str, Any]]:
    """The responses of an operation that tells JSON objects, one a line."""
    lines = [{"$ref": _REFERENCE.format(model=model.__name__)} for model in LINES[operation]]
    content = {NDJSON: {"schema": {"anyOf": lines} if len(lines) > 1 else lines[0]}}
    return {**REFUSED, 200: {"description": f"One JSON object a line. {description}", "content": content}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of the control API ``app``, with the shapes of what it tells otherwise than as one JSON value."""
    description = FastAPI.openapi(app)
    told: list[type[BaseModel]] = [Faults]
    for models in LINES.values():
        told += models
    _, shapes = models_json_schema([(model, "serialization") for model in told], ref_template=_REFERENCE)
    description["components"]["schemas"] |= shapes["$defs"]
    return description
