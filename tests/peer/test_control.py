"""The control API over HTTP: who may use it, what it refuses, and how answers stream."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest
import trio

from heptox.codec import MOST_FILES
from heptox.demo import BOSTON, MONTREAL, Network
from heptox.errors import Fault, InputError, PeerError
from heptox.peer import Client, ControlAddress, ItemLine, Loaded, PeerFolder, QuestionRequest, ReceiptLast
from heptox.peer.control.api import MOST_FAULTS, LoadStream
from heptox.peer.models.control import QueriesModel
from tests.peer.daemons import (
    DEADLINE,
    Daemon,
    acquaint,
    ask,
    daemon,
    daemons,
    frozen,
    heptox,
    hospital_peer,
    received,
    wait_until,
)
from tests.peer.networks import run, until

NAMES = "//Patient/Name"


@pytest.fixture
def address(hospitals: Network) -> ControlAddress:
    found = ControlAddress.read(hospitals.path(MONTREAL))
    assert found
    return found


@pytest.fixture
def http(address: ControlAddress) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {address.token}"}
    with httpx.Client(base_url=address.url, headers=headers, timeout=DEADLINE, trust_env=False) as client:
        yield client


def test_the_address_is_told_to_the_owner_only_and_is_on_loopback(hospitals: Network, address: ControlAddress) -> None:
    control, key = hospitals.path(MONTREAL) / "control.json", hospitals.path(MONTREAL) / "identity.key"
    assert [stat.S_IMODE(file.stat().st_mode) for file in (control, key)] == [0o600, 0o600]
    assert address.url.startswith("http://127.0.0.1:")
    assert len(address.token) >= 32


@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer wrong", "Basic wrong", "Bearer \u00e9"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/status"),
        ("GET", "/audit"),
        ("GET", "/metrics"),
        ("POST", "/documents?name=x"),
        ("POST", "/acquaintances"),
        ("GET", "/feeds"),
        ("POST", "/feeds/route?name=x"),
        ("POST", "/queries"),
        ("POST", "/stop"),
        ("DELETE", "/documents/records.xml"),
        ("GET", "/openapi.json"),
        ("GET", "/nowhere"),
        ("POST", "/healthz/"),
    ],
)
def test_nothing_is_done_or_told_without_the_token(
    address: ControlAddress, token: str | None, method: str, path: str
) -> None:
    headers = [] if token is None else [(b"Authorization", token.encode("latin-1"))]
    answer = httpx.request(method, f"{address.url}{path}", headers=headers, json={}, trust_env=False)
    assert (answer.status_code, [fault["code"] for fault in answer.json()["faults"]]) == (401, ["HX7060"])


def test_health_needs_no_token_and_says_which_peer_it_is(address: ControlAddress) -> None:
    answer = httpx.get(f"{address.url}/healthz", trust_env=False)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "peer_id": address.peer_id})


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/queries/check", b'{"query": "\\ud800"}'),
        ("/queries", b'{"query": "\\uDFFF"}'),
        ("/subscriptions", b'{"subscriptions": [{"name": "\\ud800", "xpath": "/*"}]}'),
        ("/subscriptions", b'{"\\ud800": 1}'),
    ],
)
def test_half_a_character_in_a_request_is_refused(http: httpx.Client, path: str, body: bytes) -> None:
    answer = http.post(path, content=body, headers={"Content-Type": "application/json"})
    (fault,) = answer.json()["faults"]
    assert (answer.status_code, fault["code"]) == (422, "HX7060")
    assert "alone, which is half a character" in fault["message"]
    whole = http.post("/queries/check", json={"query": '//Patient[Name = "\N{GRINNING FACE}"]'})
    assert whole.status_code == 200


def test_not_all_of_very_many_faults_are_told(http: httpx.Client) -> None:
    answer = http.post("/subscriptions", json={"subscriptions": [5] * 20_000})
    faults = answer.json()["faults"]
    assert (answer.status_code, len(faults)) == (422, MOST_FAULTS + 1)
    assert faults[-1]["message"] == f"and {20_000 - MOST_FAULTS} more like these"


def test_of_a_mapping_with_thousands_of_files_none_is_looked_at(http: httpx.Client) -> None:
    wanted = {"address": "", "mapping": "", "files": {f"{number}": "no base64" for number in range(20_000)}}
    answer = http.post("/acquaintances", json=wanted)
    (fault,) = answer.json()["faults"]
    assert (answer.status_code, fault["code"]) == (422, "HX7060")
    assert fault["message"].endswith(f"a mapping has {MOST_FILES} files at most")


def test_the_api_describes_itself(http: httpx.Client) -> None:
    assert set(http.get("/openapi.json").json()["paths"]) == {
        "/acquaintances",
        "/acquaintances/{who}",
        "/acquaintances/{who}/mapping",
        "/acquaintances/{who}/translation",
        "/audit",
        "/console/sessions",
        "/console/tickets",
        "/doctor",
        "/documents",
        "/documents/{name}",
        "/drawings",
        "/drawings/{name}",
        "/feeds",
        "/feeds/route",
        "/healthz",
        "/mappings/examine",
        "/mappings/functions",
        "/mappings/suggest",
        "/mappings/values",
        "/metrics",
        "/publications",
        "/queries",
        "/queries/check",
        "/queries/{query}",
        "/requests",
        "/requests/{who}/accept",
        "/requests/{who}/refuse",
        "/schema",
        "/schemas",
        "/status",
        "/stop",
        "/subscriptions",
        "/subscriptions/{name}",
        "/subscriptions/{name}/acknowledge",
        "/subscriptions/{name}/dead-letters",
        "/subscriptions/{name}/dead-letters/{letter}/document",
        "/subscriptions/{name}/notifications",
        "/subscriptions/{name}/notifications/{sequence}/document",
    }


def test_answers_are_json_lines_and_the_receipt_is_the_last(http: httpx.Client) -> None:
    with http.stream("POST", "/queries", json={"query": NAMES}) as answer:
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
        parts = [json.loads(line) for line in answer.iter_lines()]
    assert all(part.keys() == {"item", "origin", "repeated"} for part in parts[:-1])
    assert parts[-1].keys() == {"receipt"}
    assert parts[-1]["receipt"]["items"] == len({part["item"] for part in parts[:-1]}) > 0


@pytest.mark.parametrize(
    ("request_body", "code"),
    [
        ({"query": "//Patient/"}, "HX3001"),
        ({"query": "//Patient/.."}, "HX3070"),
        ({"query": "count(//Patient) + cout(//Patient)"}, "HX3007"),
        ({"query": "sum((1, 2))"}, "HX3002"),
        ({"query": NAMES, "hops": 1000}, "HX7021"),
        ({"query": NAMES, "hops": -1}, "HX7021"),
        ({"query": NAMES, "hops": "x"}, "HX7060"),
        ({"query": NAMES, "hops": "1"}, "HX7060"),
        ({"query": NAMES, "timeout": "1"}, "HX7060"),
        ({"query": NAMES, "explain": 0}, "HX7060"),
        ({"query": NAMES, "timeout": 0}, "HX7021"),
        ({"query": NAMES, "timeout": 0.19}, "HX7021"),
        ({"query": NAMES, "timeout": 1e9}, "HX7021"),
        ({"query": NAMES, "timeout": "inf"}, "HX7060"),
        ({"query": NAMES, "unknown": 1}, "HX7060"),
        ({"query": 5}, "HX7060"),
        ({}, "HX7060"),
        ([], "HX7060"),
    ],
)
def test_a_query_that_cannot_be_asked_is_refused_by_name(http: httpx.Client, request_body: Any, code: str) -> None:
    answer = http.post("/queries", json=request_body)
    assert (answer.status_code, [fault["code"] for fault in answer.json()["faults"]]) == (422, [code])


def test_the_fault_of_a_query_keeps_its_file_and_position(hospitals: Network) -> None:
    with Client.connect(hospitals.path(MONTREAL)) as client, pytest.raises(PeerError) as raised:
        list(client.query(QuestionRequest(query="\n//Patient[", file="mine.xq")))
    position = raised.value.faults[0].position
    assert position is not None
    assert (position.file, position.line) == ("mine.xq", 2)


def test_a_client_that_goes_away_cancels_its_query(hospitals: Network, http: httpx.Client) -> None:
    def in_flight() -> list[str]:
        return [query["text"] for query in http.get("/status").json()["queries"]]

    with frozen(hospitals.path(BOSTON)):
        with http.stream("POST", "/queries", json={"query": NAMES, "timeout": 500}) as answer:
            lines = answer.iter_lines()
            assert "item" in json.loads(next(lines))
            assert in_flight() == [NAMES]
        wait_until(lambda: in_flight() == [])
    wait_until(lambda: received(list(_query(hospitals))).complete)


def _query(hospitals: Network) -> Iterator[ItemLine | ReceiptLast]:
    with Client.connect(hospitals.path(MONTREAL)) as client:
        yield from client.query(QuestionRequest(query=NAMES))


def test_documents_loaded_while_it_runs_are_seen_and_bad_ones_change_nothing(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    ann = b"<MonGenHosp><Patient ID='a'><Name>Ann</Name><Hist/></Patient></MonGenHosp>"
    with daemon(folder) as running, running.client() as client:

        def names() -> list[str]:
            return [part.item for part in client.query(QuestionRequest(query=NAMES)) if isinstance(part, ItemLine)]

        assert names() == []
        assert client.load("one.xml", ann) == Loaded("one.xml", "new")
        assert client.load("one", ann).outcome == "held"
        for name, data, code in (
            ("bad.xml", b"<MonGenHosp>", "HX1002"),
            ("one.xml", b"<MonGenHosp/>", "HX6011"),
            ("../evil.xml", ann, "HX7052"),
            ("bomb.xml", b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]><a>&x;</a>', "HX1004"),
        ):
            with pytest.raises(PeerError) as raised:
                client.load(name, data)
            assert [fault.code for fault in raised.value.faults] == [code]
        assert names() == ["<Name>Ann</Name>"]
        assert [file.name for file in folder.glob("documents/*")] == ["one.xml"]
        with pytest.raises(PeerError) as raised:
            client.load("odd.xml", b"<MonGenHosp><Patient ID='b'><Name>Bob</Name></Patient></MonGenHosp>")
        assert [fault.code for fault in raised.value.faults] == ["HX2007", "HX7111"]
        assert "MonGenHosp/Patient: Hist was required, now optional" in str(raised.value.faults[1])
        bob = b"<MonGenHosp><Patient ID='b'><Name>Bob</Name><Hist/></Patient></MonGenHosp>"
        assert client.load("odd.xml", bob).outcome == "new"
        assert sorted(names()) == ["<Name>Ann</Name>", "<Name>Bob</Name>"]
        assert client.load("one.xml", b"<MonGenHosp/>", replacing=True).outcome == "replaced"
        assert names() == ["<Name>Bob</Name>"]


def test_a_long_load_tells_how_far_it_is_and_then_what_became_of_it() -> None:
    fault = Fault("HX1002", "no document")

    async def lines(error: InputError | None) -> list[dict[str, Any]]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def load(progress: Callable[[int], None]) -> Loaded:
            progress(7)
            await until(lambda: len(sent) > 2)
            if error is not None:
                raise error
            return Loaded("one.xml", "new")

        async def receive() -> Any:
            await trio.sleep_forever()

        await LoadStream(load)({"type": "http"}, receive, send)
        assert (sent[0]["status"], sent[-1]["more_body"]) == (200, False)
        return [json.loads(line) for line in b"".join(part["body"] for part in sent[1:]).splitlines()]

    async def test() -> None:
        *progress, end = await lines(None)
        assert progress
        assert all(part == {"read": 7} for part in progress)
        assert end == {"loaded": {"name": "one.xml", "outcome": "new", "faults": []}}
        *progress, end = await lines(InputError(fault))
        assert progress
        assert [fault["code"] for fault in end["faults"]] == ["HX1002"]

    run(test)


class Impostor(BaseHTTPRequestHandler):
    """A program of somebody else, at the port that a daemon had: it says what everybody can know."""

    peer_id: ClassVar[str]
    requests: ClassVar[list[str]]

    def do_GET(self) -> None:
        self.requests.append(f"{self.path} {self.headers.get('Authorization', '')}".strip())
        body = json.dumps({"status": "ok", "peer_id": self.peer_id}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def impostor(peer_id: str) -> Iterator[tuple[str, list[str]]]:
    """Where an impostor listens, and what it is asked."""
    requests: list[str] = []
    handler = type("Handler", (Impostor,), {"peer_id": peer_id, "requests": requests})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def refused_codes(folder: Path) -> list[str]:
    with pytest.raises(PeerError) as raised:
        Client.connect(folder)
    return [fault.code for fault in raised.value.faults]


def test_nobody_else_at_the_port_of_a_daemon_that_is_gone_is_sent_anything(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    peer_id = PeerFolder.open(folder).identity.peer_id
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    with impostor(peer_id) as (url, requests):
        with _held(folder):
            for process in (gone.pid, 0, -1, 2**80):
                ControlAddress(url, "secret", peer_id, process).write(folder)
                assert refused_codes(folder) == ["HX7055"], "no process of ours is there"
        ControlAddress(url, "secret", peer_id, os.getpid()).write(folder)
        assert refused_codes(folder) == ["HX7055"], "nobody holds the lock"
        assert requests == []
        with _held(folder), Client.connect(folder):
            assert requests == ["/healthz"], "what a daemon does is all that is missing"


def test_who_gets_the_lock_removes_the_address_of_a_daemon_that_is_gone(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    ControlAddress("http://127.0.0.1:1", "secret", "x", os.getpid()).write(folder)
    with PeerFolder.open(folder).locked():
        assert ControlAddress.read(folder) is None


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The lock of a folder held, as by a daemon, without what else happens then."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def test_a_stale_address_is_not_taken_for_a_running_daemon(hospitals: Network, tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    assert Client.running(folder) is None
    running = ControlAddress.read(hospitals.path(MONTREAL))
    assert running
    ControlAddress(running.url, "secret", "12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN", 1).write(folder)
    assert Client.running(folder) is None
    with pytest.raises(PeerError) as raised:
        Client.connect(folder)
    assert [fault.code for fault in raised.value.faults] == ["HX7055"]
    (folder / "control.json").write_text("{")
    assert Client.running(folder) is None
    with _held(folder), pytest.raises(PeerError, match="is in use, but no daemon is reached"):
        Client.connect(folder)


def test_documents_are_listed_and_removed_while_it_runs(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 3)
    odd = b"<MonGenHosp><Patient ID='b'><Name>Bob</Name></Patient><odd/></MonGenHosp>"
    settings = folder / "peer.toml"
    settings.write_text(settings.read_text("utf-8").replace('"strict"', '"lax"'), "utf-8")
    with daemon(folder) as running, running.client() as client:
        client.load("odd.xml", odd)
        held = client.documents()
        assert [(one.name, one.fits) for one in held] == [("odd.xml", False), ("records.xml", True)]
        assert held[0].bytes == len(odd)
        assert all(datetime.fromisoformat(one.loaded).tzinfo for one in held)
        assert client.remove("odd") == "odd.xml"
        assert client.status().documents == 1
        found = [part.item for part in client.query(QuestionRequest(query=NAMES)) if isinstance(part, ItemLine)]
        assert len(found) == 3
        assert "<Name>Bob</Name>" not in found
        with pytest.raises(PeerError, match="HX6015"):
            client.remove("odd")
    events = [json.loads(line) for line in (folder / "audit.log").read_text().splitlines()]
    assert [event["document"] for event in events if event["event"] == "removed"] == ["odd.xml"]


def test_queries_of_neighbours_are_told_while_they_are_under_way(tmp_path: Path) -> None:
    one, other, third = (hospital_peer(tmp_path / name, name, 3) for name in ("montreal", "boston", "stluke"))
    with daemons(one, other, third) as (asker, asked, last):
        acquaint(one, asked, "montreal-boston.arrows")
        acquaint(other, asker, "montreal-boston.arrows")
        acquaint(other, last, "stluke-boston.arrows")
        with frozen(third), Client.connect(one) as client, Client.connect(other) as there:
            thread = threading.Thread(target=lambda: list(client.query(QuestionRequest(query=NAMES, timeout=DEADLINE))))
            thread.start()
            wait_until(lambda: bool(there.queries().neighbours))
            with Client.connect(one) as second:
                (own,) = second.queries().own
                (neighbours,) = there.queries().neighbours
                assert (neighbours.query, neighbours.neighbour) == (own.query, asker.peer_id)
                assert neighbours.path == ("montreal", "boston")
                assert there.queries().own == ()
                second.cancel(own.query)
            thread.join(DEADLINE)
            wait_until(lambda: there.queries() == QueriesModel(own=(), neighbours=()))


def test_a_query_can_be_ended_from_elsewhere_and_its_receipt_says_so(tmp_path: Path) -> None:
    one, other = (hospital_peer(tmp_path / name, name, 3) for name in ("montreal", "boston"))
    endless = "declare function local:f($n) { local:f($n + 1) }; local:f(1)"
    with daemons(one, other) as (_, asked):
        acquaint(one, asked, "montreal-boston.arrows")
        with frozen(other), Client.connect(one) as client:
            for question, statuses in (
                (QuestionRequest(query=NAMES, timeout=DEADLINE), {"answered", "cancelled"}),
                (QuestionRequest(query=endless, hops=0, timeout=DEADLINE), {"cancelled"}),
                (QuestionRequest(query="count(//Name) + count(//Hist)", timeout=DEADLINE), {"answered", "cancelled"}),
            ):
                parts = ended_from_elsewhere(one, client, question)
                assert {line.status for line in received(parts).lines} <= statuses


def ended_from_elsewhere(folder: Path, client: Client, question: QuestionRequest) -> list[ItemLine | ReceiptLast]:
    parts: list[ItemLine | ReceiptLast] = []
    thread = threading.Thread(target=lambda: parts.extend(client.query(question)))
    thread.start()
    with Client.connect(folder) as second:
        wait_until(lambda: bool(second.status().queries))
        (flying,) = second.status().queries
        wait_until(lambda: ended(second, flying.query))
        with pytest.raises(PeerError) as raised:
            second.cancel("none")
    thread.join(DEADLINE)
    assert [fault.code for fault in raised.value.faults] == ["HX7069"]
    return parts


def ended(client: Client, query: str) -> bool:
    """Whether a query was ended: that it is shown, and that it is under way, is not the same moment."""
    try:
        client.cancel(query)
    except PeerError:
        return False
    return True


def test_the_control_api_may_be_a_socket_in_the_folder(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "one", "montreal", 3)
    settings = folder / "peer.toml"
    settings.write_text(settings.read_text().replace('control = "loopback"', 'control = "unix"'))
    for _ in range(2):  # the second after a kill -9, which leaves the socket there
        with daemon(folder) as running:
            found = ControlAddress.read(folder)
            assert found
            assert found.url == f"unix:{folder.resolve() / 'control.sock'}"
            assert stat.S_IMODE((folder / "control.sock").stat().st_mode) & 0o077 == 0
            assert ended_well(running)
    deep = tmp_path / ("x" * 100)
    folder.rename(deep)
    refused = heptox("peer", "start", deep)
    assert (refused.returncode, "HX7062" in refused.stderr, "Traceback" in refused.stderr) == (1, True, False)


def test_the_control_api_has_its_free_port_again_unless_another_has_it(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "one", "montreal", 0)
    with daemon(folder):
        first = control_port(folder)
    with daemon(folder):
        assert control_port(folder) == first
    with socket.create_server(("127.0.0.1", first)), daemon(folder):
        second = control_port(folder)
        assert second != first
    for damaged in (b"\xff", b"0", b"65536", b"-1", b""):
        (folder / "control_port").write_bytes(damaged)
        assert PeerFolder.open(folder).kept_control_port() == 0
    with daemon(folder), Client.connect(folder) as client:
        assert client.status().name == "one"


def control_port(folder: Path) -> int:
    """Where the daemon of a folder is told what to do."""
    found = ControlAddress.read(folder)
    assert found
    return int(found.url.rpartition(":")[2])


def ended_well(running: Daemon) -> bool:
    """Whether a daemon answers its own user."""
    parts, receipt = ask(running.folder, NAMES)
    return bool(receipt.complete) and any("<Name>" in part.item for part in parts)
