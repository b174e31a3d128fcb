"""What comes to the control API: requests to every route of its description, with and without the token, and bytes."""

from __future__ import annotations

import json
import struct
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any, Final
from urllib.parse import quote

import trio

from heptox.peer import ControlAddress
from tests.fuzz.handlers.mutation import mutated_value, pieces_of
from tests.fuzz.handlers.target import Target
from tests.hostile.test_control_bytes import HEALTH, HOST, PIECES, mutated

_TEXTS: Final = (
    "fuzz0", "fuzz1", "//Patient", "//*", "", "\0", "../x", "x" * 3000, "\ud800", "\u202e", "é", "-1", "1e999",
    "for $x in //Patient return <a>{$x}</a>", "collection()", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00+23:59",
    "/ip4/127.0.0.1/tcp/1/p2p/12D3KooWGvCUZ1ASXyYUvGhGGGUGRSkzJbZnBqXEUKNwGkPLvKUm", "true", "fuzz2.xml", "a\r\nb: c",
)  # fmt: skip
_BODIES: Final = (
    b"", b"{", b"null", b"[" * 100_000, b'{"a":' * 50_000, b'"\\ud800"', b"NaN", b"1" * 10_000, b"\xff\xfe",
    b"<a/>", b"<r>" + b"<a/>" * 1000 + b"</r>", b"<!DOCTYPE a [<!ENTITY a 'x'>]><a>&a;</a>", b"<a>" * 100_000,
)  # fmt: skip
NEVER: Final = (("post", "/stop"),)
"""What the owner does not do meanwhile."""
_KEPT: Final = ("records", "records.xml", "friend", "kept")
"""Names of what the watch needs."""


async def one_request(target: Target, description: dict[str, Any], random: Random, counts: Counter[str]) -> None:
    """A request at random, or bytes that are none, on a connection of its own."""
    address = ControlAddress.read(target.folder)
    assert address
    owner = random.random() < 0.5
    data = random_request(description, random, address.token if owner else None)
    if random.random() < 0.3 and not owner:  # what is changed might be what is never done
        data = mutated(random.choice((data, *PIECES.values())), random)
    if random.random() < 0.1:
        data += HEALTH + b"\r\n"
    counts["requests of the owner" if owner else "requests without token"] += 1
    stream = await trio.open_tcp_stream("127.0.0.1", int(address.url.rpartition(":")[2]))
    async with stream:
        for piece in pieces_of(data, random):
            await stream.send_all(piece)
            if random.random() < 0.05:
                await trio.sleep(random.random())
        await _finish(stream, random, counts)


async def _finish(stream: trio.SocketStream, random: Random, counts: Counter[str]) -> None:
    match random.randrange(5):
        case 0:
            stream.setsockopt(*_RESETTING)
        case 1:
            await stream.send_eof()
        case 2:
            await trio.sleep(random.random())
        case _:
            with trio.move_on_after(3):
                answer = await stream.receive_some()
                counts[f"answers {bytes(answer[9:12]).decode('latin-1')}"] += 1
                while await stream.receive_some():
                    pass


_RESETTING: Final = (trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, struct.pack("ii", 1, 0))


def random_request(description: dict[str, Any], random: Random, token: str | None) -> bytes:
    """The bytes of a request to some route."""
    operations = [(method, path) for path, methods in description["paths"].items() for method in methods]
    method, path = random.choice([one for one in operations if token is None or one not in NEVER])
    operation = description["paths"][path][method]
    query = []
    for parameter in operation.get("parameters", ()):
        value = _parameter(description, parameter, random)
        if parameter["in"] == "path":
            path = path.replace(f"{{{parameter['name']}}}", value)
        elif random.random() < 0.8:
            query.append(f"{parameter['name']}={value}")
    path = path.replace("{who}", quote(random.choice(_TEXTS), errors="replace")) + "?" * bool(query) + "&".join(query)
    body = _body(description, operation, random) if random.random() < 0.9 else random.choice(_BODIES)
    head = f"{method.upper()} {path} HTTP/1.1\r\n".encode() + HOST
    if token is not None:
        head += f"Authorization: Bearer {token}\r\n".encode()
    return head + _framed(body, random)


def _parameter(description: dict[str, Any], parameter: dict[str, Any], random: Random) -> str:
    value = random_json(description, parameter.get("schema", {}), random)
    text = value if isinstance(value, str) else json.dumps(value)
    return quote(text if text not in _KEPT else "fuzz0", safe=random.choice(("", "/")), errors="replace")


def _body(description: dict[str, Any], operation: dict[str, Any], random: Random) -> bytes:
    contents = operation.get("requestBody", {}).get("content", {})
    if "application/json" not in contents:
        return random.choice(_BODIES) if contents else b""
    value = random_json(description, contents["application/json"].get("schema", {}), random)
    if random.random() < 0.4:
        value = mutated_value(value, random)
    with suppress(TypeError, ValueError, RecursionError):
        return json.dumps(value).encode()
    return b"{}"


def _framed(body: bytes, random: Random) -> bytes:
    """The rest of a request: its body, by its length, in chunks, or by a length that is not its."""
    head = b"Content-Type: application/json\r\n" + random.choice((b"", b"Connection: close\r\n"))
    match random.randrange(8):
        case 0:
            chunks = (b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces_of(body, random))
            return head + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(chunks) + b"0\r\n\r\n"
        case 1:
            return head + b"Content-Length: %d\r\n\r\n%s" % (max(0, len(body) + random.choice((-1, 1, 100))), body)
        case _:
            return head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def random_json(description: dict[str, Any], schema: dict[str, Any], random: Random, depth: int = 0) -> Any:
    """A value that a schema of the description allows, nearly always."""
    if "$ref" in schema:
        return random_json(description, _referred(description, schema["$ref"]), random, depth)
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    if choices := schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf"):
        return random_json(description, random.choice(choices), random, depth)
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            required = schema.get("required", ())
            return {
                name: random_json(description, one, random, depth + 1)
                for name, one in properties.items()
                if name in required or random.random() < 0.5
            }
        case "array":
            number = random.choice((0, 1, 2, 20)) if depth < 3 else 1
            return [random_json(description, schema.get("items", {}), random, depth + 1) for _ in range(number)]
        case "integer":
            return random.choice((0, 1, 2, 10, 100, 2**31, 2**63, 2**64, -1, 10**30))
        case "number":
            return random.choice((0, 0.5, 1.5, 1e308, float("inf"), float("nan"), -1))
        case "boolean":
            return random.random() < 0.5
        case "null":
            return None
    return random.choice(_TEXTS)


def _referred(description: dict[str, Any], reference: str) -> dict[str, Any]:
    found: Any = description
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    assert isinstance(found, dict)
    return found
