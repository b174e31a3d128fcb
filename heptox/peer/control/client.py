"""Talk to the daemon of a peer: the calls of its control API. This stays light: no libp2p, no lxml."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from heptox.doors import without
from heptox.errors import Fault, PeerError
from heptox.matching import Publication
from heptox.peer.control.endpoint import UNIX, ControlAddress
from heptox.peer.folder.files import CONTROL, LOCK, is_locked
from heptox.peer.models.control import (
    AcceptedModel,
    AcquaintanceModel,
    AcquaintanceRequest,
    DocumentModel,
    Faults,
    Finding,
    ItemLine,
    KnownModel,
    Loaded,
    LoadedLast,
    Named,
    QueriesModel,
    QuestionRequest,
    ReadLine,
    ReceiptLast,
    Refused,
    StatusModel,
    TicketModel,
)
from heptox.peer.models.feed import FeedsModel, RouteModel
from heptox.peer.models.subscriptions import (
    DeadLetterModel,
    EndLast,
    NotificationLine,
    NotificationModel,
    PublishedModel,
    ReplayLine,
    SubscriptionModel,
    SubscriptionsAdded,
    SubscriptionsRequest,
)
from heptox.peer.wire.messages import PeerId

with without("click"):  # for its command line
    import httpx

CALL_SECONDS: Final = 60.0
"""How long a call may keep silent before the daemon counts as unreachable; queries have their own deadlines."""
BULK_SECONDS: Final = 600.0
"""The same where very many subscriptions are added at once."""
HEALTH_SECONDS: Final = 10.0
"""How long a daemon may take to say that it lives."""
GRACE_SECONDS: Final = 10.0
"""How much later than a query's deadline its receipt may come."""
_ANSWER_LINES: Final = TypeAdapter[ItemLine | ReceiptLast](ItemLine | ReceiptLast)
_LOAD_LINES: Final = TypeAdapter[ReadLine | LoadedLast](ReadLine | LoadedLast)
_REPLAY_LINES: Final = TypeAdapter[ReplayLine](ReplayLine)

_Value = TypeVar("_Value")


def not_running(folder: Path) -> PeerError:
    """What is said to who needs the daemon of a peer that is not there (HX7055)."""
    hint = f"start it with `heptox peer start {folder}`"
    return PeerError(Fault("HX7055", "its daemon does not run", file=str(folder), hint=hint))


def http_client(address: ControlAddress, headers: dict[str, str] | None = None) -> httpx.Client:
    """An HTTP client that reaches a daemon."""
    socket = address.url.removeprefix(UNIX) if address.url.startswith(UNIX) else None
    with without("anyio", "h2", "trio"):  # this client is neither asynchronous nor for HTTP/2
        transport = httpx.HTTPTransport(uds=socket)
    return httpx.Client(
        base_url="http://localhost" if socket else address.url,
        transport=transport,
        headers=headers,
        timeout=CALL_SECONDS,
        trust_env=False,  # one's own machine is never reached through a proxy
    )


class Client:
    """A connection to the control API of a running daemon; a context manager."""

    def __init__(self, address: ControlAddress) -> None:
        self.address = address
        self._http = http_client(address, {"Authorization": f"Bearer {address.token}"})

    @classmethod
    def connect(cls, folder: Path) -> Client:
        """Reach the daemon of the peer in ``folder``.

        Raises :class:`PeerError`: HX7050 when that is no peer's folder, HX7055 when its daemon is not reached.
        """
        client = cls.running(folder)
        if client is not None:
            return client
        file = str(folder)
        if not (folder / "peer.toml").is_file():
            raise PeerError(Fault("HX7050", "is no peer's folder", file=file, hint="make one with `heptox peer init`"))
        if is_locked(folder / LOCK):
            hint = f"it is starting or ending, another command writes, or its {CONTROL} is damaged"
            raise PeerError(Fault("HX7055", "is in use, but no daemon is reached", file=file, hint=hint))
        raise not_running(folder)

    @classmethod
    def running(cls, folder: Path) -> Client | None:
        """Like :meth:`connect`, but ``None`` when the daemon does not run."""
        address = ControlAddress.read(folder)
        # Another program may have got the port after a crash, and everybody knows the peer id: the token, queries and
        # documents go only to a process that lives, while somebody holds the lock that the daemon's end sets free.
        if address is None or not _lives(address.process) or not is_locked(folder / LOCK):
            return None
        try:
            with http_client(address) as http:
                answer = http.get("/healthz", timeout=HEALTH_SECONDS)
            if answer.status_code == 200 and answer.json().get("peer_id") == address.peer_id:
                return cls(address)
        except (httpx.HTTPError, ValueError, AttributeError):
            pass
        return None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    # -- calls -------------------------------------------------------------------------------------------------------

    def status(self) -> StatusModel:
        """Who the peer is, what it holds, whom it knows, and which queries are in flight."""
        return self._call(StatusModel, "GET", "/status")

    def load(
        self,
        name: str,
        data: bytes,
        *,
        replacing: bool = False,
        file: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Loaded:
        """Load one document; raises :class:`PeerError` with the daemon's faults when it is refused.

        ``progress`` is called now and then with how many of its bytes the daemon has loaded.
        """
        parameters: dict[str, str | bool] = {"name": name, "replacing": replacing, "file": file or name}
        loaded: Loaded | None = None
        with self._reached(), self._http.stream("POST", "/documents", params=parameters, content=data) as answer:
            for line in _parsed(answer, _LOAD_LINES):
                if isinstance(line, LoadedLast):
                    loaded = line.loaded
                elif progress is not None:
                    progress(line.read)
        if loaded is None:
            raise self._gone(f"ended before it told what became of {name}; `heptox peer status --documents` tells")
        return loaded

    def documents(self) -> list[DocumentModel]:
        """The documents that are held, by name."""
        return self._call(list[DocumentModel], "GET", "/documents")

    def remove(self, name: str) -> str:
        """Hold a document no longer, and return the name that it went by; raises :class:`PeerError` (HX6015) when there
        is none of that name."""
        return self._call(Named, "DELETE", f"/documents/{quote(name, safe='')}").name

    def acquaint(self, request: AcquaintanceRequest) -> KnownModel:
        """Add an acquaintance, as :func:`heptox.peer.acquaint` does."""
        return self._call(KnownModel, "POST", "/acquaintances", json=request.to_json())

    def accept(self, who: str, name: str | None = None, digest: str | None = None) -> AcceptedModel:
        """Accept the acquaintance that a peer offers, with its ``digest`` no other offer than that.

        Raises :class:`PeerError`: HX7067 when nobody is meant, HX7101 when the offer is another one.
        """
        given = {"name": name, "digest": digest}
        params = {key: value for key, value in given.items() if value is not None}
        return self._call(AcceptedModel, "POST", f"/requests/{_segment(who)}/accept", params=params)

    def refuse(self, who: str, reason: str = "") -> PeerId:
        """Refuse the acquaintance that a peer offers, and return its id; raises as :meth:`accept`."""
        path = f"/requests/{_segment(who)}/refuse"
        return self._call(Refused, "POST", path, params={"reason": reason}).peer_id

    def withdraw(self, who: str, reason: str = "") -> AcquaintanceModel:
        """End an acquaintance; raises as :meth:`accept`."""
        return self._call(AcquaintanceModel, "DELETE", f"/acquaintances/{_segment(who)}", params={"reason": reason})

    def doctor(self) -> list[Finding]:
        """What the daemon finds wrong, and what to do about it."""
        return self._call(list[Finding], "GET", "/doctor")

    def queries(self) -> QueriesModel:
        """The queries in flight: ``own`` ones, and those of ``neighbours`` with the path that they came along."""
        return self._call(QueriesModel, "GET", "/queries")

    def cancel(self, query: str) -> None:
        """End a query that is in flight; raises :class:`PeerError` (HX7069) when it is not."""
        self._request("DELETE", f"/queries/{_segment(query)}")

    def console(self) -> str:
        """The URL that opens the console in a browser, once, and soon.

        Raises :class:`PeerError` (HX7092) when the control API is at a socket, where no browser finds it.
        """
        if self.address.url.startswith(UNIX):
            hint = 'set control = "loopback" in peer.toml, and restart the daemon'
            raise PeerError(Fault("HX7092", "the control API is at a socket, which no browser reaches", hint=hint))
        return f"{self.address.url}/console/#{self._call(TicketModel, 'POST', '/console/tickets').ticket}"

    def stop(self) -> None:
        """Ask the daemon to end."""
        self._request("POST", "/stop", timeout=HEALTH_SECONDS)

    def query(self, request: QuestionRequest) -> Iterator[ItemLine | ReceiptLast]:
        """Ask the network: the items as they come, the receipt last.

        Raises :class:`PeerError` with the faults of a query that cannot be asked, :class:`PeerError` (HX7055) when
        the daemon goes away before the receipt.
        """
        silence = (request.timeout or self.status().timeout) + GRACE_SECONDS
        content = request.to_json()
        complete = False
        with self._reached(), self._http.stream("POST", "/queries", json=content, timeout=silence) as answer:
            for line in _parsed(answer, _ANSWER_LINES):
                complete = isinstance(line, ReceiptLast)
                yield line
        if not complete:
            raise self._gone("ended before the receipt came")

    # -- subscriptions -----------------------------------------------------------------------------------------------

    def subscribe(self, request: SubscriptionsRequest) -> SubscriptionsAdded:
        """Add subscriptions; raises :class:`PeerError` with the faults of all that cannot be added."""
        # in ASCII: what stands for bytes that are not UTF-8 is for the daemon to refuse
        content, headers = json.dumps(request.to_json()), {"Content-Type": "application/json"}
        return self._call(
            SubscriptionsAdded, "POST", "/subscriptions", content=content, headers=headers, timeout=BULK_SECONDS
        )

    def unsubscribe(self, name: str) -> SubscriptionModel:
        """Remove a subscription, and return what it was; raises :class:`PeerError` (HX9061) when there is none."""
        return self._call(SubscriptionModel, "DELETE", f"/subscriptions/{_segment(name)}")

    def subscriptions(self) -> Iterator[SubscriptionModel]:
        """All subscriptions, in the order in which they were added."""
        return self._lines(TypeAdapter(SubscriptionModel), "/subscriptions", {})

    def subscription(self, name: str) -> SubscriptionModel:
        """One subscription; raises as :meth:`unsubscribe`."""
        return self._call(SubscriptionModel, "GET", f"/subscriptions/{_segment(name)}")

    def notifications(
        self,
        name: str,
        start: int | None = None,
        since: str | None = None,
        limit: int | None = None,
        *,
        follow: bool = False,
        content: bool = False,
    ) -> Iterator[NotificationModel]:
        """Notifications from a sequence number or a time on, else those that are not acknowledged, at most ``limit``.

        With ``follow`` they go on as documents are published. Raises as :meth:`unsubscribe`, HX9062 and HX9063 for
        numbers and times of which there are none, HX7055 when the daemon goes away before the end.
        """
        given = {"from": start, "since": since, "limit": limit, "follow": follow, "content": content}
        parameters = {key: value for key, value in given.items() if value is not None}
        ended = False
        for line in self._lines(_REPLAY_LINES, f"/subscriptions/{_segment(name)}/notifications", parameters):
            ended = isinstance(line, EndLast)
            if isinstance(line, NotificationLine):
                yield line.notification
        if not ended:
            raise self._gone("ended before the last notification came")

    def document(self, name: str, sequence: int) -> bytes:
        """The document of a notification, byte for byte; raises as :meth:`notifications`."""
        return self._bytes(f"/subscriptions/{_segment(name)}/notifications/{sequence}/document")

    def acknowledge(self, name: str, sequence: int, reject: str | None = None) -> SubscriptionModel:
        """Acknowledge up to a sequence number, whose notification becomes a dead letter if there is a reason to."""
        given = {"sequence": sequence, **({} if reject is None else {"reject": reject})}
        return self._call(SubscriptionModel, "POST", f"/subscriptions/{_segment(name)}/acknowledge", params=given)

    def dead_letters(self, name: str, after: int = 0) -> Iterator[DeadLetterModel]:
        """The dead letters of a subscription, the oldest first; raises as :meth:`unsubscribe`."""
        return self._lines(
            TypeAdapter(DeadLetterModel), f"/subscriptions/{_segment(name)}/dead-letters", {"after": after}
        )

    def dead_document(self, name: str, letter: int) -> bytes:
        """The document of a dead letter; raises as :meth:`unsubscribe`, HX9062, and HX9063 if it is not kept."""
        return self._bytes(f"/subscriptions/{_segment(name)}/dead-letters/{letter}/document")

    def publish(self, name: str, data: bytes, *, identity: str = "", file: str | None = None) -> PublishedModel:
        """Publish a document; raises :class:`PeerError` with the daemon's faults when it is refused, as
        :class:`~heptox.matching.Publication` what no document can be called."""
        Publication(name, data, identity)  # checks itself
        given = {"name": name, "id": identity, "file": file or name}
        return self._call(PublishedModel, "POST", "/publications", params=given, content=data)

    # -- feeds -------------------------------------------------------------------------------------------------------

    def feeds(self) -> FeedsModel:
        """The ``publishers`` that can be reached, and what the ``neighbours`` want."""
        return self._call(FeedsModel, "GET", "/feeds")

    def route(self, data: bytes, file: str, publisher: str | None = None) -> RouteModel:
        """Where a document would go, which messages call ``file``; raises :class:`PeerError` where it is none."""
        given = {"name": file, **({} if publisher is None else {"publisher": publisher})}
        return self._call(RouteModel, "POST", "/feeds/route", params=given, content=data)

    def _lines(self, kind: TypeAdapter[_Value], path: str, parameters: dict[str, Any]) -> Iterator[_Value]:
        with self._reached(), self._http.stream("GET", path, params=parameters) as answer:
            yield from _parsed(answer, kind)

    def _bytes(self, path: str) -> bytes:
        return self._request("GET", path).content

    def _call(self, kind: type[_Value], method: str, path: str, **arguments: Any) -> _Value:
        with self._reached():
            return _validated(TypeAdapter(kind), self._request(method, path, **arguments).json())

    def _request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        with self._reached():
            answer = self._http.request(method, path, **arguments)
        if answer.status_code != 200:
            raise _refusal(answer)
        return answer

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, json.JSONDecodeError) as error:
            raise self._gone(str(error) or type(error).__name__) from None

    def _gone(self, reason: str) -> PeerError:
        return PeerError(Fault("HX7055", f"the daemon at {self.address.url} went away: {reason}"))


def _segment(text: str) -> str:
    """A text in a path; full stops too, for the path may not be shortened where it is ``..``."""
    return quote(text, safe="").replace(".", "%2E")


def _lives(process: int) -> bool:
    """Whether a process of ours lives."""
    try:
        os.kill(max(process, 1), 0)
    except (OSError, OverflowError):
        return False
    return process > 0


def _parsed(answer: httpx.Response, kind: TypeAdapter[_Value]) -> Iterator[_Value]:
    """The lines of a stream; raises :class:`PeerError` with the faults that are the whole answer, or its last line."""
    if answer.status_code != 200:
        answer.read()
        raise _refusal(answer)
    for line in answer.iter_lines():
        value = json.loads(line)
        if "faults" in value:
            raise _error(value)
        yield _validated(kind, value)


def _validated(kind: TypeAdapter[_Value], value: object) -> _Value:
    """What the daemon answers, without what only a newer one says; raises :class:`PeerError` (HX7060) for what is no
    answer."""
    try:
        return kind.validate_python(value, extra="ignore")
    except ValidationError:
        raise PeerError(Fault("HX7060", f"the peer answers what is no answer: {str(value)[:200]!r}")) from None


def _error(value: object) -> PeerError:
    """The faults of a request that was refused."""
    try:
        return PeerError(_validated(TypeAdapter(Faults), value).faults)
    except PeerError as error:
        return error


def _refusal(answer: httpx.Response) -> PeerError:
    try:
        return _error(answer.json())
    except ValueError:
        text = re.sub(r"\s+", " ", answer.text)[:200]
        return PeerError(Fault("HX7060", f"the peer answers with status {answer.status_code}: {text}"))
