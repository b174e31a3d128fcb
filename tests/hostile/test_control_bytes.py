"""Bytes at the port of the control API, by whoever reaches it: it goes on, stays small, and answers its owner."""

from __future__ import annotations

import json
import signal
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

import pytest

from heptox.peer import ControlAddress, SubscriptionEntry, SubscriptionsRequest
from heptox.peer.control.guard import MOST_OPEN
from heptox.peer.control.server import MOST_STRANGERS
from tests.peer.daemons import DEADLINE, Daemon, begun, daemon, daemons, hospital_peer, log_of, memory_of

MEGABYTE: Final = 1024 * 1024
SENT: Final = 200 * MEGABYTE
GROWTH: Final = 20 * MEGABYTE
ENDING: Final = 60.0
"""Seconds in which a daemon has ended on the slowest of machines; without an end to its patience, it never does."""
ROUNDS: Final = 5
FUZZED: Final = 300
HOST: Final = b"Host: localhost\r\n"
HEALTH: Final = b"GET /healthz HTTP/1.1\r\n" + HOST
SESSION: Final = b"POST /console/sessions HTTP/1.1\r\n" + HOST + b"Content-Type: application/json\r\n"
DOCUMENT: Final = b"POST /documents?name=x HTTP/1.1\r\n" + HOST
CHUNKED: Final = b"Transfer-Encoding: chunked\r\n\r\n"
CHUNK: Final = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
UPGRADE: Final = (
    b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n"
)
WEBSOCKET: Final = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
KEY: Final = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

PIECES: Final = {
    "closing, then more": HEALTH + b"Connection: close\r\n\r\nGET /x",
    "closing, then zeros": HEALTH + b"Connection: close\r\n\r\n" + bytes(100_000),
    "closing, then another": HEALTH + b"Connection: close\r\n\r\n" + HEALTH + b"\r\n",
    "closing, with a body": HEALTH + b"Connection: close\r\nContent-Length: 5\r\n\r\n12345678",
    "closing, with half a body": HEALTH + b"Connection: close\r\nContent-Length: 5\r\n\r\n123",
    "pipelined": (HEALTH + b"\r\n") * 50,
    "pipelined, then garbage": (HEALTH + b"\r\n") * 3 + b"\x00\xff\r\n\r\n",
    "pipelined, then closing": (HEALTH + b"\r\n") * 3 + HEALTH + b"Connection: close\r\n\r\n" + b"x" * 70_000,
    "garbage": bytes(range(256)) * 10,
    "of version 1.0": b"GET /healthz HTTP/1.0\r\n" + HOST + b"\r\nmore",
    "of no version": b"GET /healthz\r\n\r\n",
    "two lengths": HEALTH + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
    "a length of many digits": HEALTH + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
    "a negative length": HEALTH + b"Content-Length: -1\r\n\r\n",
    "a length and chunks": HEALTH + b"Content-Length: 5\r\n" + CHUNKED + b"0\r\n\r\n",
    "chunks that are none": SESSION + CHUNKED + b"zz\r\n",
    "many small chunks": SESSION + CHUNKED + b"1\r\nx\r\n" * 5000,
    "many small chunks, refused": DOCUMENT + CHUNKED + b"1\r\nx\r\n" * 5000,
    "chunks and closing": SESSION + b"Connection: close\r\n" + CHUNKED + b"1\r\nx\r\n0\r\n\r\nGET",
    "a wait for 100": SESSION + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    "a preface of HTTP/2": PREFACE,
    "a preface and frames": PREFACE + bytes(9) * 1000,
    "an upgrade to HTTP/2": HEALTH + UPGRADE + PREFACE + bytes(9) * 100,
    "an upgrade and no preface": HEALTH + UPGRADE + HEALTH + b"\r\n",
    "an upgrade to a websocket": HEALTH + WEBSOCKET + KEY + b"\x81\x05hello",
    "an upgrade to half a websocket": HEALTH + WEBSOCKET + b"\r\n" + bytes(1000),
    "a tunnel": b"CONNECT localhost:1 HTTP/1.1\r\n" + HOST + b"\r\n" + bytes(100),
    "a path that is no text": b"GET /%ff%00\xff HTTP/1.1\r\n" + HOST + b"\r\n",
    "headers that are no text": HEALTH + b"Authorization: Bearer \xff\xfe\r\nOrigin: \xff\r\n\r\n",
    "nothing": b"",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A running daemon, and how it is reached."""

    daemon: Daemon
    address: ControlAddress

    def connect(self, kept: int | None = None) -> socket.socket:
        """A connection, which keeps so many bytes that nobody has read."""
        made = socket.socket()
        made.settimeout(DEADLINE)
        if kept is not None:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, kept)
        made.connect(("127.0.0.1", int(self.address.url.rpartition(":")[2])))
        return made

    @property
    def token(self) -> bytes:
        return f"Authorization: Bearer {self.address.token}\r\n".encode()

    def memory(self) -> int:
        return memory_of(self.daemon.process.pid)

    def serves(self) -> bool:
        """Whether the same process answers everybody, and its owner."""
        head, body = answer(self.connect(), HEALTH + b"Connection: close\r\n\r\n")
        assert (head[9:12], json.loads(body)["peer_id"]) == (b"200", self.address.peer_id)
        with self.daemon.client() as client:
            assert client.status().peer_id == self.address.peer_id
        return self.daemon.process.poll() is None


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    folder = hospital_peer(tmp_path_factory.mktemp("hostile") / "one", "montreal", 3)
    with daemon(folder) as running:
        yield reached(running)
        assert running.process.poll() is None
        assert "Traceback" not in log_of(folder).read_text()


def reached(running: Daemon) -> Target:
    address = ControlAddress.read(running.folder)
    assert address
    return Target(running, address)


def answer(connection: socket.socket, request: bytes) -> tuple[bytes, bytes]:
    """The head and the body of the answer to a request, after which the server closes."""
    with connection:
        connection.sendall(request)
        head, _, body = everything(connection).partition(b"\r\n\r\n")
    return head, body


def http_2_frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + content


def test_http_2_is_refused_before_any_of_it_is_read(target: Target) -> None:
    """A byte of its headers may stand for one that was there before: 60 KB are 57,000 of them, in 95 requests."""
    host = target.address.url.removeprefix("http://").partition("/")[0].encode()
    head = b"\x82\x86\x04\x08/healthz\x01" + bytes([len(host)]) + host
    frames = [http_2_frame(4, 0, 0), http_2_frame(1, 5, 1, head + b"\x40\x01a\x01b" + b"\xbe" * 600)]
    frames += [http_2_frame(1, 5, number, head + b"\xbe" * 600) for number in range(3, 191, 2)]
    for _ in range(30):
        with target.connect() as connection:
            with suppress(ConnectionError):  # it may be closed before all is sent
                connection.sendall(PREFACE + b"".join(frames))
            assert everything(connection) == b""
    assert target.serves()


def test_an_offer_to_change_to_http_2_is_passed_over(target: Target) -> None:
    offer = UPGRADE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    head, body = answer(target.connect(), HEALTH + offer)
    assert (head[9:12], json.loads(body)["peer_id"]) == (b"200", target.address.peer_id)


def everything(connection: socket.socket) -> bytes:
    """What comes until the other side ends the connection, however it does."""
    data = bytearray()
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            data += piece
    return bytes(data)


def pour(connection: socket.socket, pieces: Callable[[], Iterator[bytes]], look: Callable[[], None]) -> bytes:
    """Send until the other side has ended the connection, or all is sent; what it has answered."""
    with connection:
        with suppress(ConnectionError):
            for piece in pieces():
                connection.sendall(piece)
                look()
        return everything(connection)


def half_close(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side has ended it
        connection.shutdown(socket.SHUT_WR)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


# -- one piece of bytes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_no_bytes_end_the_daemon_however_the_connection_ends(target: Target, piece: bytes) -> None:
    for _ in range(ROUNDS):
        for ending in (half_closed, hung_up, reset_at_once, reset_in_the_answer):
            with suppress(ConnectionError):
                ending(target.connect(), piece)
    assert target.serves()


def half_closed(connection: socket.socket, piece: bytes) -> None:
    with connection:
        connection.sendall(piece)
        half_close(connection)
        everything(connection)


def hung_up(connection: socket.socket, piece: bytes) -> None:
    with connection:
        connection.sendall(piece)


def reset_at_once(connection: socket.socket, piece: bytes) -> None:
    with connection:
        connection.sendall(piece)
        reset(connection)


def reset_in_the_answer(connection: socket.socket, piece: bytes) -> None:
    with connection:
        connection.sendall(piece)
        connection.settimeout(0.05)  # there may be none
        with suppress(TimeoutError):
            connection.recv(1)
        reset(connection)


def test_random_bytes_do_not_end_the_daemon(target: Target) -> None:
    random = Random(20)
    seeds = [
        *PIECES.values(),
        HEALTH + b"Connection: close\r\n\r\n",
        HEALTH + target.token + b"\r\n",
        b"GET /status HTTP/1.1\r\n" + HOST + target.token + b"\r\n",
        b"GET /console/ HTTP/1.1\r\n" + HOST + b"\r\n",
        b"POST /queries/check HTTP/1.1\r\n" + HOST + target.token + b'Content-Length: 13\r\n\r\n{"query":"//"}',
        SESSION + b'Content-Length: 14\r\n\r\n{"ticket":"x"}',
    ]
    for number in range(FUZZED):
        with suppress(ConnectionError), target.connect() as connection:
            for piece in cut(mutated(random.choice(seeds), random), random):
                connection.sendall(piece)
            if random.random() < 0.3:
                reset(connection)
            elif random.random() < 0.5:
                half_close(connection)
        if number % 100 == 99:
            assert target.serves()


def mutated(data: bytes, random: Random) -> bytes:
    """Bytes changed, left out, put twice, or added somewhere."""
    changed = bytearray(data)
    for _ in range(random.randint(0, 6)):
        begin = random.randrange(len(changed) + 1)
        end = min(len(changed), begin + random.choice((1, 1, 4, 40)))
        match random.randrange(5):
            case 0:
                del changed[begin:end]
            case 1:
                changed[begin:begin] = changed[begin:end]
            case 2:
                changed[begin:end] = random.randbytes(end - begin)
            case 3:
                changed[begin:begin] = random.choice((b"\r\n", b"\n", b"\r\n\r\n", b"\0", b":", b" ", b"9" * 30))
            case 4:
                changed += random.choice((data, HEALTH + b"\r\n", PREFACE, random.randbytes(100)))
    return bytes(changed)


def cut(data: bytes, random: Random) -> Iterator[bytes]:
    """A text in one to three pieces."""
    cuts = sorted(random.choices(range(len(data) + 1), k=random.randrange(3)))
    for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        yield data[begin:end]


# -- too much --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "piece", "status", "code"),
    [
        (SESSION + b"Content-Length: %d\r\n\r\n" % SENT, bytes(0x10000), b"413", "HX7097"),
        (SESSION + CHUNKED, CHUNK, b"413", "HX7097"),
        (SESSION + CHUNKED, b"1\r\nx\r\n" * 1000, b"4", None),  # too much, or on a slow machine too slow
        (DOCUMENT + b"Content-Length: %d\r\n\r\n" % SENT, bytes(0x10000), b"401", "HX7060"),
        (DOCUMENT + CHUNKED, CHUNK, b"401", "HX7060"),
        (HEALTH + b"Content-Length: %d\r\n\r\n" % SENT, bytes(0x10000), b"413", "HX7097"),
        (HEALTH, b"x: " + b"y" * 1000 + b"\r\n", b"431", None),
        (HEALTH, b"x" * 0x10000, b"431", None),
        (b"GET /" + b"x" * 0x10000, b"x" * 0x10000, b"431", None),
    ],
)
def test_what_strangers_send_takes_no_memory_and_is_refused(
    target: Target, head: bytes, piece: bytes, status: bytes, code: str | None
) -> None:
    target.serves()
    before, most = target.memory(), 0

    def pieces() -> Iterator[bytes]:
        yield head
        for _ in range(SENT // len(piece)):
            yield piece

    def look() -> None:
        nonlocal most
        most = max(most, target.memory())

    told = pour(target.connect(), pieces, look)
    look()
    assert most - before < GROWTH
    if told:  # what is sent to who goes on sending may be lost
        assert told[9:].startswith(status)
        if code is not None:
            assert json.loads(told.partition(b"\r\n\r\n")[2])["faults"][0]["code"] == code
    assert target.serves()


@pytest.mark.parametrize(
    ("request_head", "status", "code"),
    [
        (SESSION + b"Content-Length: %d\r\n\r\n" % (MOST_OPEN + 1), b"413", "HX7097"),
        (DOCUMENT + b"Content-Length: 99999999999\r\n\r\n", b"401", "HX7060"),
    ],
)
def test_a_request_is_refused_by_its_head_alone(target: Target, request_head: bytes, status: bytes, code: str) -> None:
    head, body = answer(target.connect(), request_head)
    assert (head[9:12], json.loads(body)["faults"][0]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("path", "length", "code"),
    [
        ("/documents?name=x", (1 << 30) + 1, "HX1006"),
        ("/publications?name=x", 64 * MEGABYTE + 1, "HX9066"),
        ("/feeds/route?name=x", 64 * MEGABYTE + 1, "HX9066"),
        ("/subscriptions", 256 * MEGABYTE + 1, "HX7097"),
    ],
)
def test_the_owner_is_told_what_is_too_large_before_it_is_sent(
    target: Target, path: str, length: int, code: str
) -> None:
    request = f"POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n".encode() + HOST + target.token + b"\r\n"
    head, body = answer(target.connect(), request)
    assert (head[9:12], json.loads(body)["faults"][0]["code"]) == (b"413", code)


# -- too slow, and too many ------------------------------------------------------------------------------------------


def test_heads_and_bodies_that_do_not_end_are_given_up(target: Target) -> None:
    beginnings = {
        b"": b"",
        HEALTH: b"",
        HEALTH + b"\r\n" + HEALTH: b"200",
        SESSION + b"Content-Length: 10\r\n\r\n{": b"408",
        SESSION + CHUNKED + b"1\r\n{\r\n": b"408",
    }
    with ExitStack() as stack:
        connections = [stack.enter_context(target.connect()) for _ in beginnings]
        for connection, beginning in zip(connections, beginnings, strict=True):
            connection.sendall(beginning)
        assert [everything(connection)[9:12] for connection in connections] == list(beginnings.values())
    assert target.serves()


def test_the_owner_is_answered_beside_strangers_that_say_nothing(target: Target) -> None:
    with ExitStack() as stack, target.daemon.client() as client:
        client.status()
        silent = [stack.enter_context(target.connect()) for _ in range(300)]
        assert client.status().peer_id == target.address.peer_id
        assert target.serves()
        refused = [everything(connection) for connection in silent[: len(silent) - MOST_STRANGERS]]
        assert all(one.startswith(b"HTTP/1.1 503 ") and b"retry-after: 1\r\n" in one for one in refused)
        assert all(json.loads(one.partition(b"\r\n\r\n")[2])["faults"][0]["code"] == "HX7099" for one in refused)


def test_strangers_that_read_nothing_make_room(target: Target) -> None:
    with ExitStack() as stack:
        for _ in range(3 * MOST_STRANGERS):
            connection = stack.enter_context(target.connect(kept=4096))
            with suppress(ConnectionError):
                connection.sendall((HEALTH + b"\r\n") * 200)
        assert target.serves()


# -- the end ---------------------------------------------------------------------------------------------------------


@contextmanager
def standing_clients(target: Target) -> Iterator[None]:
    """Clients in the way of an end: they send half of something, read nothing, or wait for what comes."""
    whole = b"GET /openapi.json HTTP/1.1\r\n" + HOST + target.token + b"\r\n"
    follow = b"GET /subscriptions/all/notifications?follow=true HTTP/1.1\r\n" + HOST + target.token + b"\r\n"
    with target.daemon.client() as client:
        client.subscribe(SubscriptionsRequest(subscriptions=(SubscriptionEntry(name="all", xpath="//Patient"),)))
    with ExitStack() as stack:
        for beginning in (b"", HEALTH, DOCUMENT + target.token + b"Content-Length: 100\r\n\r\n<", follow, SESSION):
            stack.enter_context(target.connect()).sendall(beginning)
        for _ in range(3):
            unread = stack.enter_context(target.connect(kept=4096))
            unread.settimeout(1)
            with suppress(TimeoutError):
                unread.sendall(whole * 2000)
        yield


def test_the_daemon_ends_beside_clients_that_do_not_read(tmp_path: Path) -> None:
    folders = [hospital_peer(tmp_path / name, "montreal", 0) for name in ("one", "two")]
    with daemons(*folders) as running, ExitStack() as stack:
        for each in running:
            stack.enter_context(standing_clients(reached(each)))
        running[0].process.send_signal(signal.SIGTERM)
        stopping = begun("peer", "stop", folders[1])
        assert [each.process.wait(ENDING) for each in running] == [0, 0]
        assert stopping.wait(ENDING) == 0
        assert all("Traceback" not in log_of(folder).read_text() for folder in folders)
