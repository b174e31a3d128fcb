"""Talk to the daemon of a peer: where it is told what to do, and the calls of its control API.

Whoever may read ``control.json`` in the peer's folder (0600) may use it. This stays light: no libp2p, no lxml.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx

from heptox.errors import Fault, PeerError
from heptox.matching import Publication
from heptox.peer.faults import faults_from_json
from heptox.peer.files import CONTROL, LOCK, is_locked, write_atomically

UNIX: Final = "unix:"
ENVIRONMENT: Final = "HEPTOX_PEER"
TOKEN: Final = "token"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{32,200}")
CALL_SECONDS: Final = 60.0
"""How long a call may keep silent before the daemon counts as unreachable; queries have their own deadlines."""
BULK_SECONDS: Final = 600.0
"""The same where very many subscriptions are added at once."""
HEALTH_SECONDS: Final = 10.0
"""How long a daemon may take to say that it lives."""
GRACE_SECONDS: Final = 10.0
"""How much later than a query's deadline its receipt may come."""


@dataclass(frozen=True, slots=True)
class ControlAddress:
    """Where a running daemon listens for its administrator: the base URL, the secret, which peer and process it is.

    The URL is ``http://127.0.0.1:PORT``, or ``unix:`` and the path of a socket.
    """

    url: str
    token: str
    peer_id: str
    process: int

    def write(self, folder: Path) -> None:
        """Tell it in the peer's folder, readable by the owner only."""
        write_atomically(folder / CONTROL, json.dumps(asdict(self)).encode(), mode=0o600)

    def connect(self, headers: dict[str, str] | None = None) -> httpx.Client:
        """An HTTP client that reaches it."""
        socket = self.url.removeprefix(UNIX) if self.url.startswith(UNIX) else None
        return httpx.Client(
            base_url="http://localhost" if socket else self.url,
            transport=httpx.HTTPTransport(uds=socket),
            headers=headers,
            timeout=CALL_SECONDS,
            trust_env=False,  # one's own machine is never reached through a proxy
        )

    @classmethod
    def read(cls, folder: Path) -> ControlAddress | None:
        """What the daemon told last, perhaps before it was killed; ``None`` when it told nothing that can be read."""
        try:
            value = json.loads((folder / CONTROL).read_bytes())
            return cls(str(value["url"]), str(value["token"]), str(value["peer_id"]), int(value["process"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def kept_token(folder: Path) -> str:
    """The secret of the peer in ``folder``, whose lock the caller holds; it is made when there is none.

    Whoever may read the file (0600, unless its owner changes that) may do everything that the control API does.
    """
    file = folder / TOKEN
    with suppress(OSError, UnicodeDecodeError):
        token = file.read_text(encoding="ascii").strip()
        if _TOKEN.fullmatch(token):
            return token
    token = secrets.token_urlsafe(32)
    write_atomically(file, f"{token}\n".encode(), mode=0o600)
    return token


def not_running(folder: Path) -> PeerError:
    """What is said to who needs the daemon of a peer that is not there (HX7055)."""
    hint = f"start it with `heptox peer start {folder}`"
    return PeerError(Fault("HX7055", "its daemon does not run", file=str(folder), hint=hint))


def find_peer(given: Path | None = None) -> Path:
    """The folder of the peer that is meant: the one given, else ``$HEPTOX_PEER``, else the current folder when it is a
    peer's, else the only peer's folder directly in the current folder.

    Raises :class:`PeerError` (HX7064) when that is none or several.
    """
    if given is not None:
        return given
    if os.environ.get(ENVIRONMENT):
        return Path(os.environ[ENVIRONMENT])
    here = Path()
    if (here / "peer.toml").is_file():
        return here
    found = sorted(file.parent for file in here.glob("*/peer.toml"))
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(folder) for folder in found)
    raise PeerError(
        Fault(
            "HX7064",
            f"several peers are here: {names}" if found else "no peer's folder is here",
            hint=f"name one with --peer or ${ENVIRONMENT}",
        )
    )


class Client:
    """A connection to the control API of a running daemon; a context manager."""

    def __init__(self, address: ControlAddress) -> None:
        self.address = address
        self._http = address.connect({"Authorization": f"Bearer {address.token}"})

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
            with address.connect() as http:
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

    def status(self) -> dict[str, Any]:
        """Who the peer is, what it holds, whom it knows, and which queries are in flight."""
        told: dict[str, Any] = self._call("GET", "/status")
        return told

    def load(
        self,
        name: str,
        data: bytes,
        *,
        replacing: bool = False,
        file: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> dict[str, Any]:
        """Load one document; raises :class:`PeerError` with the daemon's faults when it is refused.

        ``progress`` is told now and then how many of its bytes the daemon has loaded.
        """
        parameters: dict[str, str | bool] = {"name": name, "replacing": replacing, "file": file or name}
        part: dict[str, Any] = {}
        with self._reached(), self._http.stream("POST", "/documents", params=parameters, content=data) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refusal(answer)
            for line in answer.iter_lines():
                part = json.loads(line)
                if progress is not None and "read" in part:
                    progress(part["read"])
        if "faults" in part:
            raise faults_from_json(part)
        if "loaded" not in part:
            raise self._gone(f"ended before it told what became of {name}; `heptox peer status --documents` tells")
        loaded: dict[str, Any] = part["loaded"]
        return loaded

    def documents(self) -> list[dict[str, Any]]:
        """The documents that are held: ``name``, ``bytes``, whether it ``fits`` the schema, when it was ``loaded``."""
        held: list[dict[str, Any]] = self._call("GET", "/documents")
        return held

    def remove(self, name: str) -> dict[str, Any]:
        """Hold a document no longer; raises :class:`PeerError` (HX6015) when there is none of that name."""
        told: dict[str, Any] = self._call("DELETE", f"/documents/{quote(name, safe='')}")
        return told

    def acquaint(self, request: dict[str, Any]) -> dict[str, Any]:
        """Add an acquaintance, as :func:`heptox.peer.acquaint` does."""
        told: dict[str, Any] = self._call("POST", "/acquaintances", json=request)
        return told

    def accept(self, who: str, name: str | None = None, digest: str | None = None) -> dict[str, Any]:
        """Accept the acquaintance that a peer offers, with its ``digest`` no other offer than that.

        Raises :class:`PeerError`: HX7067 when nobody is meant, HX7101 when the offer is another one.
        """
        given = {"name": name, "digest": digest}
        params = {key: value for key, value in given.items() if value is not None}
        told: dict[str, Any] = self._call("POST", f"/requests/{_segment(who)}/accept", params=params)
        return told

    def refuse(self, who: str, reason: str = "") -> dict[str, Any]:
        """Refuse the acquaintance that a peer offers; raises as :meth:`accept`."""
        told: dict[str, Any] = self._call("POST", f"/requests/{_segment(who)}/refuse", params={"reason": reason})
        return told

    def withdraw(self, who: str, reason: str = "") -> dict[str, Any]:
        """End an acquaintance; raises as :meth:`accept`."""
        told: dict[str, Any] = self._call("DELETE", f"/acquaintances/{_segment(who)}", params={"reason": reason})
        return told

    def doctor(self) -> list[dict[str, Any]]:
        """What the daemon finds wrong, and what to do about it."""
        found: list[dict[str, Any]] = self._call("GET", "/doctor")
        return found

    def queries(self) -> dict[str, Any]:
        """The queries in flight: ``own`` ones, and those of ``neighbours`` with the path that they came along."""
        flying: dict[str, Any] = self._call("GET", "/queries")
        return flying

    def cancel(self, query: str) -> None:
        """End a query that is in flight; raises :class:`PeerError` (HX7069) when it is not."""
        self._call("DELETE", f"/queries/{_segment(query)}")

    def console(self) -> str:
        """The URL that opens the console in a browser, once, and soon.

        Raises :class:`PeerError` (HX7092) when the control API is at a socket, where no browser finds it.
        """
        if self.address.url.startswith(UNIX):
            hint = 'set control = "loopback" in peer.toml, and restart the daemon'
            raise PeerError(Fault("HX7092", "the control API is at a socket, which no browser reaches", hint=hint))
        return f"{self.address.url}/console/#{self._call('POST', '/console/tickets')['ticket']}"

    def stop(self) -> None:
        """Ask the daemon to end."""
        self._call("POST", "/stop", timeout=HEALTH_SECONDS)

    def query(self, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Ask the network: a JSON object for each answer as it comes, the receipt last.

        Raises :class:`PeerError` with the faults of a query that cannot be asked, :class:`PeerError` (HX7055) when
        the daemon goes away before the receipt.
        """
        seconds = request.get("timeout") or self.status()["timeout"]
        silence = float(seconds) + GRACE_SECONDS
        with self._reached(), self._http.stream("POST", "/queries", json=request, timeout=silence) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refusal(answer)
            complete = False
            for line in answer.iter_lines():
                value = json.loads(line)
                complete = "receipt" in value
                yield value
        if not complete:
            raise self._gone("ended before the receipt came")

    # -- subscriptions -----------------------------------------------------------------------------------------------

    def subscribe(self, request: dict[str, Any]) -> dict[str, Any]:
        """Add subscriptions; raises :class:`PeerError` with the faults of all that cannot be added."""
        told: dict[str, Any] = self._call("POST", "/subscriptions", **_as_json(request), timeout=BULK_SECONDS)
        return told

    def unsubscribe(self, name: str) -> dict[str, Any]:
        """Remove a subscription, and tell what it was; raises :class:`PeerError` (HX9061) when there is none."""
        told: dict[str, Any] = self._call("DELETE", f"/subscriptions/{_segment(name)}")
        return told

    def subscriptions(self) -> Iterator[dict[str, Any]]:
        """All subscriptions, in the order in which they were added."""
        return self._lines("/subscriptions", {})

    def subscription(self, name: str) -> dict[str, Any]:
        """One subscription; raises as :meth:`unsubscribe`."""
        told: dict[str, Any] = self._call("GET", f"/subscriptions/{_segment(name)}")
        return told

    def notifications(
        self,
        name: str,
        start: int | None = None,
        since: str | None = None,
        limit: int | None = None,
        *,
        follow: bool = False,
        content: bool = False,
    ) -> Iterator[dict[str, Any]]:
        """Notifications from a sequence number or a time on, else those that are not acknowledged, at most ``limit``.

        With ``follow`` they go on as documents are published. Raises as :meth:`unsubscribe`, HX9062 and HX9063 for
        numbers and times of which there are none, HX7055 when the daemon goes away before the end.
        """
        given = {"from": start, "since": since, "limit": limit, "follow": follow, "content": content}
        parameters = {key: value for key, value in given.items() if value is not None}
        ended = False
        for part in self._lines(f"/subscriptions/{_segment(name)}/notifications", parameters):
            ended = "end" in part
            if "notification" in part:
                yield part["notification"]
        if not ended:
            raise self._gone("ended before the last notification came")

    def document(self, name: str, sequence: int) -> bytes:
        """The document of a notification, byte for byte; raises as :meth:`notifications`."""
        return self._bytes(f"/subscriptions/{_segment(name)}/notifications/{sequence}/document")

    def acknowledge(self, name: str, sequence: int, reject: str | None = None) -> dict[str, Any]:
        """Acknowledge up to a sequence number, whose notification becomes a dead letter if there is a reason to."""
        given = {"sequence": sequence, **({} if reject is None else {"reject": reject})}
        told: dict[str, Any] = self._call("POST", f"/subscriptions/{_segment(name)}/acknowledge", params=given)
        return told

    def dead_letters(self, name: str, after: int = 0) -> Iterator[dict[str, Any]]:
        """The dead letters of a subscription, the oldest first; raises as :meth:`unsubscribe`."""
        return self._lines(f"/subscriptions/{_segment(name)}/dead-letters", {"after": after})

    def dead_document(self, name: str, letter: int) -> bytes:
        """The document of a dead letter; raises as :meth:`unsubscribe`, HX9062, and HX9063 if it is not kept."""
        return self._bytes(f"/subscriptions/{_segment(name)}/dead-letters/{letter}/document")

    def publish(self, name: str, data: bytes, *, identity: str = "", file: str | None = None) -> dict[str, Any]:
        """Publish a document; raises :class:`PeerError` with the daemon's faults when it is refused, as
        :class:`~heptox.matching.Publication` what no document can be called."""
        Publication(name, data, identity)  # checks itself
        given = {"name": name, "id": identity, "file": file or name}
        told: dict[str, Any] = self._call("POST", "/publications", params=given, content=data)
        return told

    # -- feeds -------------------------------------------------------------------------------------------------------

    def feeds(self) -> dict[str, Any]:
        """The ``publishers`` that can be reached, and what the ``neighbours`` want."""
        told: dict[str, Any] = self._call("GET", "/feeds")
        return told

    def route(self, data: bytes, file: str, publisher: str | None = None) -> dict[str, Any]:
        """Where a document would go, which messages call ``file``; raises :class:`PeerError` where it is none."""
        given = {"name": file, **({} if publisher is None else {"publisher": publisher})}
        told: dict[str, Any] = self._call("POST", "/feeds/route", params=given, content=data)
        return told

    def _lines(self, path: str, parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
        with self._reached(), self._http.stream("GET", path, params=parameters) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refusal(answer)
            for line in answer.iter_lines():
                part = json.loads(line)
                if "faults" in part:
                    raise faults_from_json(part)
                yield part

    def _bytes(self, path: str) -> bytes:
        with self._reached():
            answer = self._http.get(path)
        if answer.status_code != 200:
            raise _refusal(answer)
        return answer.content

    def _call(self, method: str, path: str, **arguments: Any) -> Any:
        with self._reached():
            answer = self._http.request(method, path, **arguments)
        if answer.status_code != 200:
            raise _refusal(answer)
        return answer.json()

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except (httpx.HTTPError, json.JSONDecodeError) as error:
            raise self._gone(str(error) or type(error).__name__) from None

    def _gone(self, reason: str) -> PeerError:
        return PeerError(Fault("HX7055", f"the daemon at {self.address.url} went away: {reason}"))


def _as_json(value: object) -> dict[str, Any]:
    """A request's content in ASCII: what stands for bytes that are not UTF-8 is for the daemon to refuse."""
    return {"content": json.dumps(value), "headers": {"Content-Type": "application/json"}}


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


def _refusal(answer: httpx.Response) -> PeerError:
    try:
        return faults_from_json(answer.json())
    except ValueError:
        text = re.sub(r"\s+", " ", answer.text)[:200]
        return PeerError(Fault("HX7060", f"the peer answers with status {answer.status_code}: {text}"))
