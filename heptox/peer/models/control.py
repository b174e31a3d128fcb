"""What the control API takes and says about a peer, its acquaintances, documents and queries, each thing one model: the
service makes it, the server sends it, the client reads it into the same model, and commands print from it.

``GET /openapi.json`` describes them. This stays light: who only speaks to a daemon starts with it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

from pydantic import Base64Bytes, BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from heptox.codec import MOST_FILES
from heptox.errors import Fault, HeptoxError
from heptox.peer.query.verdict import Lack
from heptox.peer.wire.messages import HopPath, PeerId, ReceiptLine, Status
from heptox.peer.wire.standing import Side, Standing
from heptox.settings import COUNT_AT_LEAST, MOST_BOUNDS, Policy

if TYPE_CHECKING:
    from heptox.peer.acquaintance.acquainting import Proposal
    from heptox.peer.folder.folder import Acquaintance
    from heptox.peer.query.events import Deliver, Receipt, Shell
    from heptox.peer.wire.address import PeerAddress
    from heptox.peer.wire.offers import Offer
    from heptox.settings import Hide, PeerSettings


class Exact(BaseModel):
    """An object with these members, and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @classmethod
    def made_of(cls, value: object, **more: Any) -> Self:
        """The object whose members are the attributes of these names of a value, but for those that are given."""
        return cls(**{name: getattr(value, name) for name in cls.model_fields.keys() - more.keys()}, **more)

    def to_json(self) -> dict[str, Any]:
        """The JSON object that is sent, with the members that were given."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


def _few(files: object) -> object:
    """Files of a mapping, before they are looked at one by one: thousands would hold the event loop."""
    if isinstance(files, dict) and len(files) > MOST_FILES:
        raise ValueError(f"a mapping has {MOST_FILES} files at most")
    return files


class QuestionRequest(Exact):
    """A query to ask; ``timeout`` in seconds; ``timeout`` and ``hops`` are the peer's own unless given; ``bind`` gives
    external variables values; with ``merge`` items of several peers are one that speak of nodes with equal keys;
    ``bounds`` is how many of what is counted a peer that is missing holds at most.
    """

    query: Annotated[str, Field(examples=["//Patient/Name"])]
    file: str | None = None
    timeout: Annotated[StrictFloat, Field(allow_inf_nan=False)] | None = None
    hops: StrictInt | None = None
    explain: StrictBool = False
    bind: dict[str, str] = Field(default_factory=dict)
    merge: StrictBool = False
    bounds: Annotated[StrictInt, Field(ge=0, le=MOST_BOUNDS)] | None = None


class AcquaintanceRequest(Exact):
    """A neighbour to know: its multiaddress, and the files of the mapping by name, ``mapping`` the one to load."""

    address: str
    files: Annotated[dict[str, Base64Bytes], BeforeValidator(_few)]
    mapping: str
    side: Side | None = None
    name: str | None = None

    @classmethod
    def of(cls, proposal: Proposal) -> Self:
        """The request for a proposal."""
        files = {file: b64encode(content) for file, content in proposal.files.files.items()}
        return cls(
            address=str(proposal.address),
            files=files,
            mapping=proposal.files.mapping,
            side=proposal.side,
            name=proposal.name,
        )


class Faults(Exact):
    """Why a request was not carried out."""

    faults: Annotated[tuple[Fault, ...], Field(min_length=1)]

    @classmethod
    def of(cls, error: HeptoxError) -> Self:
        """All faults of an error."""
        return cls(faults=error.faults)


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

    @classmethod
    def of(cls, file: Path, fits: bool | None) -> Self:
        """The document in a file."""
        found = file.stat()
        loaded = datetime.fromtimestamp(found.st_mtime, UTC).isoformat(timespec="seconds")
        return cls(name=file.name, bytes=found.st_size, fits=fits, loaded=loaded)


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

    @classmethod
    def of(cls, acquaintance: Acquaintance, **more: Any) -> Self:
        """An acquaintance as the folder has it, and ``more`` members of a model that has more."""
        return cls.made_of(acquaintance, address=str(acquaintance.address), **more)


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

    @classmethod
    def of(
        cls, peer: PeerId, offer: Offer, name: str, addresses: Iterable[PeerAddress], *, connected: bool = False
    ) -> Self:
        """An offer of a peer, which goes by ``name`` and says that it listens at ``addresses``."""
        return cls(
            name=name,
            digest=offer.digest(peer),
            peer_id=peer,
            address=str(next(iter(addresses), "")),
            side=offer.side.other,
            standing="offered",
            reason="",
            version=offer.version,
            connected=connected,
            fault="",
            mapping=offer.files.mapping,
            files={file: content.decode(errors="replace") for file, content in offer.files.files.items()},
        )


class Refused(Exact):
    """Whose offer was refused."""

    peer_id: str


class HiddenModel(Exact):
    """Schema paths that are hidden, from all or from some; or that are only counted, in groups of at least so many."""

    model_config = ConfigDict(serialize_by_alias=True)

    paths: tuple[str, ...]
    whom: Annotated[Literal["all"] | tuple[str, ...], Field(alias="from")]
    least: Annotated[int, Field(alias=COUNT_AT_LEAST, exclude_if=lambda least: not least)] = 0

    @classmethod
    def all_of(cls, policy: Iterable[Hide]) -> tuple[Self, ...]:
        """An export policy, as in ``peer.toml``."""
        return tuple(cls(paths=hide.paths, whom=hide.peers, least=hide.least) for hide in policy)


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
    path: tuple[str, ...]
    items: int
    milliseconds: int


class QueriesModel(Exact):
    """All queries under way."""

    own: tuple[OwnQuery, ...]
    neighbours: tuple[NeighboursQuery, ...]


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
    hidden: tuple[HiddenModel, ...]
    timeout: float
    running: bool
    addresses: tuple[str, ...]
    documents: int
    acquaintances: tuple[KnownModel, ...]
    requests: tuple[RequestModel, ...]
    queries: tuple[OwnQuery, ...]

    @classmethod
    def of(
        cls,
        settings: PeerSettings,
        *,
        running: bool = False,
        addresses: tuple[str, ...] = (),
        queries: tuple[OwnQuery, ...] = (),
        **more: Any,
    ) -> Self:
        """A peer of these settings, what its daemon says if it is ``running``, and ``more`` members."""
        more |= {"running": running, "addresses": addresses, "queries": queries}
        return cls.made_of(settings, hidden=HiddenModel.all_of(settings.hide), **more)


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found about one ``subject``; ``advice`` says what to do."""

    subject: str
    level: Level
    message: str
    advice: str = ""

    def to_json(self) -> dict[str, Any]:
        """The JSON object that is sent."""
        return asdict(self)


class TicketModel(Exact):
    """A ticket for one session of the console, and for how many seconds it is good."""

    ticket: str
    seconds: int


class Stopping(Exact):
    """That the daemon ends."""

    status: Literal["stopping"]


class Origin(Exact):
    """Where an item came from: the peer, and the names along the path to it."""

    peer: str
    name: str
    path: tuple[str, ...]

    @classmethod
    def of(cls, path: HopPath) -> Self:
        """The last peer of a path, and the names along it from the asker."""
        return cls(peer=path[-1].peer, name=path[-1].name, path=tuple(hop.name for hop in path))


class ReceiptLineModel(Origin):
    """The outcome of a query along one path."""

    status: Status
    complete: bool
    items: int
    losses: tuple[str, ...]
    reason: str
    text: str
    milliseconds: int
    beyond: bool
    signed: bool = False

    @classmethod
    def of_line(cls, line: ReceiptLine) -> Self:
        """The line of a receipt: its peer has ``signed`` it, or is the asker."""
        path = tuple(hop.name for hop in line.path)
        return cls.made_of(line, path=path, signed=bool(line.signature) or len(path) == 1)


class BoundsModel(Exact):
    """What is known of a number that is computed of an incomplete answer: how many peers are ``missing``, and the
    ``least`` and the ``most`` that it is (empty where that is not known).
    """

    missing: int
    least: str
    most: str


class ShellModel(Exact):
    """What was computed around the cores that peers were asked; ``overlapping`` peers may have the same nodes,
    ``merged`` nodes were one with others by their keys, and ``conflicts`` of their values contradict those of others;
    ``bounds`` are there where peers are missing.
    """

    text: str
    cores: tuple[str, ...]
    overlapping: tuple[str, ...]
    merged: int
    conflicts: int
    bounds: Annotated[BoundsModel | None, Field(exclude_if=lambda bounds: bounds is None)] = None

    @classmethod
    def of(cls, shell: Shell) -> Self:
        """What was computed."""
        bounds = None if shell.bounds is None else BoundsModel.made_of(shell.bounds)
        return cls.made_of(shell, bounds=bounds)


class ShortfallModel(Exact):
    """One way in which an answer lacks something: its name (``lack``), at how many ``peers``, the first of which are
    ``named``, with how many that are known ``behind`` them and were not asked, what it ``costs``, and what would
    ``mend`` it.
    """

    lack: Lack
    peers: int
    behind: int
    named: tuple[str, ...]
    costs: str
    mend: str


class ReceiptModel(Exact):
    """The outcome of a query in all, with what is ``missing``; of one that was split with its ``shell``. So many peers
    have ``answered`` of those that are ``known``.
    """

    query: str
    complete: bool
    items: int
    answered: int = 0
    known: int = 0
    lines: tuple[ReceiptLineModel, ...]
    missing: tuple[ShortfallModel, ...] = ()
    shell: ShellModel | None = None

    @classmethod
    def of(cls, receipt: Receipt) -> Self:
        """A receipt."""
        lines = tuple(map(ReceiptLineModel.of_line, receipt.lines))
        missing = tuple(map(ShortfallModel.made_of, receipt.missing))
        answered, known = receipt.reached
        shell = {} if receipt.shell is None else {"shell": ShellModel.of(receipt.shell)}
        return cls(
            query=receipt.query,
            complete=receipt.complete,
            items=receipt.items,
            answered=answered,
            known=known,
            lines=lines,
            missing=missing,
            **shell,
        )


class ItemLine(Exact):
    """An item, and where it came from; ``repeated`` when an equal one came before."""

    item: str
    origin: Origin
    repeated: bool

    @classmethod
    def all_of(cls, part: Deliver) -> list[Self]:
        """The items of one part of an answer."""
        origin = Origin.of(part.origin)
        new = [cls(item=item, origin=origin, repeated=False) for item in part.items]
        return new + [cls(item=item, origin=origin, repeated=True) for item in part.repeated]


class ReceiptLast(Exact):
    """The last line of every answer."""

    receipt: ReceiptModel


class ReadLine(Exact):
    """How many bytes of a document are done."""

    read: int


Outcome: TypeAlias = Literal["new", "held", "replaced"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A document that is on the disk: its name, and whether it is ``new``, was ``held`` before or ``replaced`` another.

    ``faults`` (HX2007) say why it is not valid for the peer's schema, whose validation is lax.
    """

    name: str
    outcome: Outcome
    faults: tuple[Fault, ...] = ()


class LoadedLast(Exact):
    """The last line of a load."""

    loaded: Loaded


class AuditLine(BaseModel):
    """An event, and what belongs to it; ``time`` is ``null`` for a line that cannot be read."""

    model_config = ConfigDict(extra="allow")

    time: str | None
    event: str
