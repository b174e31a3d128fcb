"""The control API against its own description: whatever is sent, what comes back is as ``/openapi.json`` says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, Union, cast
from unittest.mock import Mock
from zlib import crc32

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from pydantic import TypeAdapter
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from heptox.demo import HOSPITAL
from heptox.matching import Policy
from heptox.peer import (
    AcquaintanceRequest,
    ControlAddress,
    QuestionRequest,
    ReceiptLast,
    SubscriptionEntry,
    SubscriptionsRequest,
    propose,
)
from heptox.peer.console import SESSIONS
from heptox.peer.control.api import application
from heptox.peer.control.schema import LINES, NDJSON
from tests.peer.daemons import DEADLINE, acquaint, daemon, daemons, hospital_peer, wait_until
from tests.support.budget import tries

MONTREAL_TO_BOSTON: Final = "montreal-boston.arrows"
NAMES: Final = "//Patient/Name"
QUERIES: Final = (NAMES, "//Treat/Doc", "for $p in //Patient return <p>{$p/Name}</p>", "//Patient[Name = 'Ann']/@ID")
EXAMPLES: Final = tries(30)
"""Cases of each operation, beside those that cover each constraint of its description once."""

OPEN: Final = ("/healthz", SESSIONS)
"""What needs no token."""

Case: TypeAlias = schemathesis.Case[Any]

DESCRIPTION: Final[dict[str, Any]] = application(Mock(), "").openapi()
SCHEMA: Final = schemathesis.openapi.from_dict(DESCRIPTION)
CHECKS: Final = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
fuzzed: Final = settings(
    max_examples=EXAMPLES, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """A running peer that holds a document, has an acquaintance, and to which two others are offered."""

    address: ControlAddress
    folder: Path
    names: tuple[str, ...]
    """What is known here by a name: documents, acquaintances, who offers to become one."""
    proposals: tuple[dict[str, Any], ...]

    def http(self, token: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {token or self.address.token}"}
        return httpx.Client(base_url=self.address.url, headers=headers, timeout=DEADLINE, trust_env=False)

    def call(self, case: Case, token: str) -> schemathesis.Response:
        """Send a case, with what it says of names and contents now and then replaced by what means something here."""
        self._mean(case)
        headers = {"Authorization": f"Bearer {token}"}
        return case.call(base_url=self.address.url, headers=headers, timeout=DEADLINE)

    def _mean(self, case: Case) -> None:
        path, method = case.operation.path, case.operation.method.upper()
        for key, value in (case.path_parameters or {}).items():
            case.path_parameters[key] = _replaced(value, self.names)
        if (method, path) == ("POST", "/documents"):
            case.body = _replaced(bytes(case.body) if isinstance(case.body, bytes) else case.body, _DOCUMENTS)
            if "name" in (case.query or {}):
                case.query["name"] = _replaced(case.query["name"], ("records", "one", "two", "three"))
        elif (method, path) == ("POST", "/publications"):
            case.body = _replaced(bytes(case.body) if isinstance(case.body, bytes) else case.body, _DOCUMENTS)
        elif path.endswith("/notifications") and "follow" in (case.query or {}):
            case.query["follow"] = "false"  # else it goes on
        elif isinstance(case.body, dict) and (method, path) == ("POST", "/subscriptions"):
            case.body = {**case.body, "subscriptions": _replaced(case.body.get("subscriptions"), _SUBSCRIPTIONS)}
        elif isinstance(case.body, dict) and (method, path) == ("POST", "/queries"):
            case.body = {**case.body, "query": _replaced(case.body.get("query"), QUERIES)}
        elif isinstance(case.body, dict) and (method, path) == ("POST", "/acquaintances"):
            # of a proposal that can be carried out, one thing or none is what was generated
            number = _number(case.body)
            kept = dict(list(case.body.items())[number % 7 : number % 7 + 1])
            case.body = _replaced(case.body, tuple({**proposal, **kept} for proposal in self.proposals))


_SUBSCRIPTIONS: Final = (
    [{"name": "all", "xpath": "//*"}, {"name": "three", "xpath": "//odd"}],
    [{"name": "all", "xpath": "//other"}],
    [{"name": "bad", "xpath": "//a["}],
)
_DOCUMENTS: Final = (b"<MonGenHosp/>", b"<MonGenHosp><odd/></MonGenHosp>", b"<MonGenHosp>")


def _replaced(value: Any, meaningful: tuple[Any, ...]) -> Any:
    """Two times of three a value that means something, always the same one for the same value."""
    number = _number(value)
    return meaningful[number // 3 % len(meaningful)] if number % 3 else value


def _number(value: Any) -> int:
    shown = repr(value) if isinstance(value, str | bytes | int | float | list | dict) else type(value).__name__
    return crc32(shown.encode(errors="replace"))


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    folder = tmp_path_factory.mktemp("fuzzed")
    paths = [hospital_peer(folder / name, hospital, 5) for name, hospital in _PEERS.items()]
    with ExitStack() as stack:
        fuzzed, agreed, *offering = stack.enter_context(daemons(*paths))
        acquaint(fuzzed.folder, agreed, MONTREAL_TO_BOSTON)
        acquaint(agreed.folder, fuzzed, MONTREAL_TO_BOSTON)
        for one in offering:
            acquaint(one.folder, fuzzed, MONTREAL_TO_BOSTON)
        with fuzzed.client() as client:
            wait_until(lambda: len(client.status().requests) == len(offering))
        address = ControlAddress.read(fuzzed.folder)
        assert address
        proposals = tuple(
            AcquaintanceRequest.of(propose(one.address, HOSPITAL / MONTREAL_TO_BOSTON)).to_json()
            for one in (agreed, *offering, fuzzed)
        )
        names = ("records.xml", "records", "one", "two", *_PEERS, agreed.peer_id, offering[0].peer_id)
        with fuzzed.client() as client:
            for name in ("records", "one", "two"):
                wanted = (SubscriptionEntry(name=name, xpath="//MonGenHosp"),)
                client.subscribe(SubscriptionsRequest(subscriptions=wanted, policy=Policy.DROP_OLDEST, backlog=3))
            for number in range(5):
                client.publish("hospital.xml", b"<MonGenHosp/>", identity=str(number))
        yield Fuzzed(address, fuzzed.folder, names, proposals)
        assert fuzzed.process.poll() is None
        with fuzzed.client() as client:
            assert isinstance(list(client.query(QuestionRequest(query=NAMES)))[-1], ReceiptLast)


_PEERS: Final = {"fuzzed": "montreal", "agreed": "boston", "offering": "boston", "another": "boston"}


def test_the_description_is_what_a_daemon_tells(peer: Fuzzed) -> None:
    with peer.http() as http:
        assert http.get("/openapi.json").json() == json.loads(json.dumps(DESCRIPTION))


def test_each_operation_is_documented_with_its_responses_and_needs_the_token() -> None:
    operations = {
        f"{method} {path}": operation
        for path, methods in DESCRIPTION["paths"].items()
        for method, operation in methods.items()
    }
    names = [operation["operationId"] for operation in operations.values()]
    assert len(set(names)) == len(names)
    for name, operation in operations.items():
        assert operation["description"], name
        assert "content" in operation["responses"]["200"], name
        assert "403" in operation["responses"], name
        if name.partition(" ")[2] not in OPEN:
            assert operation["security"] == [{"token": []}], name
            assert "401" in operation["responses"], name
    assert DESCRIPTION["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


# -- without the token -------------------------------------------------------------------------------------------------


def test_nothing_is_answered_without_the_token(peer: Fuzzed) -> None:
    """Whatever else a request says: the token is looked at first."""
    guarded = [(method, path) for path, found in DESCRIPTION["paths"].items() for method in found if path not in OPEN]
    alone = {"Connection": "close"}  # no stranger keeps a connection
    with httpx.Client(base_url=peer.address.url, headers=alone, timeout=DEADLINE, trust_env=False) as http:
        for method, path in guarded:
            for headers, body in (({}, None), ({"Authorization": "Bearer wrong"}, {"query": NAMES})):
                response = http.request(method, re.sub(r"\{.*?\}", "one", path), headers=headers, json=body)
                assert response.status_code == 401, (method, path)
                assert response.headers["www-authenticate"] == "Bearer"
                SCHEMA[path][method.upper()].validate_response(response)


def test_nothing_is_done_without_the_token(peer: Fuzzed) -> None:
    def state(http: httpx.Client) -> list[Any]:
        told = [http.get(path).json() for path in ("/status", "/documents", "/acquaintances", "/requests")]
        subscriptions = http.get("/subscriptions").text.splitlines()
        told.append([{**json.loads(line), "lag": None} for line in subscriptions])
        return [*told, (peer.folder / "audit.log").read_bytes()]

    requests: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/documents?name=new", {"content": b"<MonGenHosp/>"}),
        ("DELETE", "/documents/records.xml", {}),
        ("POST", "/acquaintances", {"json": peer.proposals[1]}),
        ("DELETE", "/acquaintances/MassGeneral", {}),
        ("POST", "/requests/offering/accept", {}),
        ("POST", "/requests/offering/refuse", {}),
        ("POST", "/queries", {"json": {"query": NAMES}}),
        ("POST", "/subscriptions", {"json": {"subscriptions": [{"name": "new", "xpath": "//a"}]}}),
        ("DELETE", "/subscriptions/one", {}),
        ("POST", "/subscriptions/one/acknowledge?sequence=5", {}),
        ("POST", "/publications?name=new", {"content": b"<MonGenHosp/>"}),
        ("POST", "/stop", {}),
    ]
    with peer.http() as http:
        before = state(http)
        for method, path, content in requests:
            with peer.http("wrong") as stranger:  # an older connection makes room where strangers have too many
                assert stranger.request(method, path, **content).status_code == 401
        assert state(http) == before


# -- with the token ----------------------------------------------------------------------------------------------------


def test_offers_are_decided_as_it_is_described(peer: Fuzzed) -> None:
    for who, decision in (("offering", "accept"), ("another", "refuse")):
        case = SCHEMA[f"/requests/{{who}}/{decision}"]["POST"].Case(path_parameters={"who": who})
        response = case.call(base_url=peer.address.url, headers={"Authorization": f"Bearer {peer.address.token}"})
        assert response.status_code == 200
        case.validate_response(response, checks=CHECKS)


@SCHEMA.exclude(path="/stop").parametrize()
@fuzzed
def test_what_is_answered_is_as_it_is_described(case: Case, peer: Fuzzed) -> None:
    response = peer.call(case, peer.address.token)
    case.validate_response(response, checks=CHECKS)
    if NDJSON in response.headers.get("content-type", []):
        check_lines(case.operation.definition.raw["operationId"], response.text.splitlines())


def check_lines(operation: str, lines: list[str]) -> None:
    """Each line of a stream is as its description says, and the last is the last."""
    line: TypeAdapter[Any] = TypeAdapter(cast(Any, Union[LINES[operation]]))  # noqa: UP007  # of as many as there are
    parsed = [line.validate_json(text, strict=False) for text in lines]
    if operation == "ask":
        assert set(json.loads(lines[-1])) == {"receipt"}
    elif operation == "load":
        assert set(json.loads(lines[-1])) in ({"loaded"}, {"faults"})
    elif operation == "replay":
        assert set(json.loads(lines[-1])) in ({"end"}, {"faults"})
    assert parsed or operation in ("audit", "list_subscriptions", "dead_letters")


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("GET", "/nowhere", {}, 404),
        ("GET", "/documents/", {}, 404),
        ("DELETE", "/documents/a%2Fb", {}, 404),
        ("PUT", "/documents", {}, 405),
        ("DELETE", "/documents/records.xml%00", {}, 422),
        ("DELETE", "/documents/%0A", {}, 422),
        ("DELETE", "/documents/%FF", {}, 422),
        ("DELETE", f"/documents/{'x' * 300}", {}, 422),
        ("DELETE", f"/documents/{'%F0%90%90%80' * 64}", {}, 422),
        ("POST", f"/documents?name={'%F0%90%90%80' * 64}", {"content": b"<MonGenHosp/>"}, 422),
        ("POST", "/queries", {"content": b"{"}, 422),
        ("POST", "/queries", {"content": b"\xff\xfe"}, 422),
        ("POST", "/queries", {"content": b"[" * 100_000}, 422),
        ("POST", "/queries", {"content": b'{"query": "\\ud800"}'}, 422),
        ("POST", "/queries", {"content": b'{"\\ud800": 1}'}, 422),
        ("POST", "/queries", {"content": b'{"query": "//a", "hops": 1e400}'}, 422),
        ("POST", "/queries", {"content": b'{"query": "//a", "hops": %s}' % (b"9" * 4000)}, 422),
        ("POST", "/queries", {"content": b'{"query": "//a", "hops": %s}' % (b"9" * 5000)}, 422),
        (
            "POST",
            "/queries",
            {"content": b"x=1", "headers": {"Content-Type": "application/x-www-form-urlencoded"}},
            422,
        ),
        ("GET", "/audit?since=0001-01-01T00:00:00%2B14:00", {}, 422),
        ("GET", "/audit?since=2026-01-01T00:00:00", {}, 422),
        ("GET", "/audit?since=0.5", {}, 422),
        ("GET", "/audit?last=0", {}, 422),
        ("GET", "/subscriptions/nobody/notifications", {}, 422),
        ("GET", "/subscriptions/one/notifications?from=1&since=2026-01-01T00:00:00Z", {}, 422),
        ("GET", "/subscriptions/one/notifications?since=0001-01-01T00:00:00%2B14:00", {}, 422),
        ("GET", f"/subscriptions/one/notifications?from={1 << 63}", {}, 422),
        ("GET", "/subscriptions/one/notifications/77/document", {}, 422),
        ("POST", "/subscriptions/one/acknowledge?sequence=77", {}, 422),
        (
            "POST",
            "/subscriptions",
            {"content": b'{"subscriptions": [{"name": "n", "xpath": "//a[b = \'\\ud800\']"}]}'},
            422,
        ),
        ("POST", "/subscriptions", {"content": b'{"subscriptions": [{"name": "\\ud800", "xpath": "//a"}]}'}, 422),
        (
            "POST",
            "/subscriptions",
            {"content": b'{"subscriptions": [{"name": "n", "xpath": "//a[b = \'\\u0000\']"}]}'},
            422,
        ),
        ("POST", "/publications?name=a&id=%00", {"content": b"<a/>"}, 422),
        ("POST", "/publications?name=", {"content": b"<a/>"}, 422),
        ("POST", f"/publications?name={'n' * 2000}", {"content": b"<a/>"}, 422),
        ("GET", f"/audit?last={'9' * 5000}", {}, 422),
    ],
)
def test_whatever_is_malformed_is_refused_with_faults(
    peer: Fuzzed, method: str, path: str, content: dict[str, Any], status: int
) -> None:
    with peer.http() as http:
        answer = http.request(method, path, **content)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert {fault["code"][:2] for fault in answer.json()["faults"]} == {"HX"}


def test_methods_that_there_are_not_are_answered_with_those_that_there_are(peer: Fuzzed) -> None:
    with peer.http() as http:
        told = {path: http.options(path).headers["allow"] for path in ("/documents", "/documents/x", "/stop")}
    assert told == {"/documents": "GET, POST", "/documents/x": "DELETE", "/stop": "POST"}


@pytest.mark.parametrize(
    "changed",
    [
        {"mapping": "mapping.txt"},
        {"files": {"mapping.arrows": ""}},
        {"files": {"mapping.arrows": "/w=="}},
        {"files": {"mapping.arrows": "AAAA", "\U00010400" * 64: "AAAA"}},
        {"files": {"mapping.arrows": "no base64"}},
        {"files": {"mapping.arrows": "c291cmNlICJzb3VyY2UuZHRkIg=="}},
        {"files": {"mapping.arrows": "c291cmNlICIuLi8uLi9zY2hlbWEuZHRkIg=="}},
        {"name": "\U00010400" * 64},
        {"name": "a/b"},
        {"side": "target"},
        {"address": "/ip4/127.0.0.1/tcp/1"},
    ],
)
def test_an_acquaintance_that_cannot_be_is_refused_with_faults(peer: Fuzzed, changed: dict[str, Any]) -> None:
    with peer.http() as http:
        answer = http.post("/acquaintances", json={**peer.proposals[1], **changed})
    assert answer.status_code == 422, answer.text
    assert answer.json()["faults"]


# -- the end -----------------------------------------------------------------------------------------------------------


def test_stop_is_answered_as_it_is_described_and_ends_the_daemon(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    with daemon(folder) as running:
        address = ControlAddress.read(folder)
        assert address
        case = SCHEMA["/stop"]["POST"].Case()
        call = partial(case.call, base_url=address.url, timeout=DEADLINE)
        assert call().status_code == 401
        assert httpx.get(f"{address.url}/healthz", trust_env=False).status_code == 200
        response = call(headers={"Authorization": f"Bearer {address.token}"})
        assert response.status_code == 200
        case.validate_response(response, checks=CHECKS)
        assert running.process.wait(DEADLINE) == 0
