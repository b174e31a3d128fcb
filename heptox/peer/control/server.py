"""The server of the control API: hypercorn's own, connection by connection, so that a client ends its own one only.

hypercorn alone lets what fails in one connection end all of them, takes any number of connections, and waits at its end
for clients that do not read.
"""

from __future__ import annotations

import json
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from starlette.types import ASGIApp, Scope

from heptox.errors import Fault, PeerError
from heptox.peer.models.control import Faults
from heptox.peer.process.supervision import supervised

MOST_STRANGERS: Final = 64
"""Connections on which no token has come; of more, the oldest makes room."""
MOST_CONNECTIONS: Final = 512
"""Connections in all; where there are more, one on which no token has come is refused."""
HEAD_SECONDS: Final = 5.0
"""How long a connection may be without a whole head of a request, when none is being answered."""
MOST_HEAD: Final = 16 * 1024
"""Bytes that may come of a head that is not whole; with more, it is refused (431)."""
GRACE_SECONDS: Final = 2.0
"""How long answers under way may go on when the server ends."""
_REFUSING_SECONDS: Final = 1.0
_CONNECTION: Final = "heptox.connection"

_log = logging.getLogger(__name__)


@asynccontextmanager
async def control_server(app: ASGIApp, binding: str) -> AsyncIterator[str]:
    """Serve an application at ``HOST:PORT`` or ``unix:PATH`` while the context is open; where it is, ``HOST:PORT`` too.

    What an application does at startup and shutdown (the lifespan protocol) is not asked for: ours does nothing there.
    Raises ``OSError`` when the binding cannot be had.
    """
    config = _config(binding)
    server = ControlServer(app, config)
    async with trio.open_nursery() as connections, trio.open_nursery() as accepting:
        listeners = _listeners(config)
        address = listeners[0].socket.getsockname()
        accept = partial(trio.serve_listeners, server.serve, listeners, handler_nursery=connections)
        accepting.start_soon(supervised, "control API", accept)
        try:
            yield binding if isinstance(address, str) else f"{address[0]}:{address[1]}"
        finally:
            accepting.cancel_scope.cancel()
            with trio.CancelScope(shield=True):
                await server.end()


class Connection:
    """A connection of a client, as the stream that hypercorn reads and writes; ``trusted`` once a token has come on it.

    It lets hypercorn end its side while another task of hypercorn's is writing, which trio's streams do not. It has a
    context of its own, by which hypercorn does not wait for further requests of a client that has sent its last.
    """

    def __init__(self, stream: trio.SocketStream) -> None:
        self.socket = stream.socket
        self.address = _address(stream)
        self.trusted = False
        self.cancel_scope = trio.CancelScope()
        self._stream = stream
        self._writing = self._written = self._ended = False
        self._context = WorkerContext(max_requests=None)
        self._server: TCPServer | None = None

    async def serve(self, app: ASGIWrapper, config: Config) -> None:
        """Let hypercorn serve it."""
        state = ConnectionState({_CONNECTION: self})
        self._server = TCPServer(app, config, self._context, state, self)  # type: ignore[arg-type]  # what it needs
        with self.cancel_scope:
            await self._server.run()

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        data = b""
        try:
            if self._server is not None:
                # Before the first bytes of it are read: what comes with a change to HTTP/2 is served at once.
                self._server.protocol.protocol._check_protocol = _keep_to_http_1  # type: ignore[method-assign,union-attr]
            data = bytes(await self._stream.receive_some(max_bytes))
        finally:
            if not data:
                await self.finish()
        return data

    async def send_all(self, data: bytes) -> None:
        if self._ended or self._writing:
            raise trio.ClosedResourceError
        self._writing = self._written = True
        try:
            await self._stream.send_all(data)
        finally:
            self._writing = False

    async def send_eof(self) -> None:
        self._ended = True
        if not self._writing:
            await self._stream.send_eof()

    async def aclose(self) -> None:
        self._ended = True
        await self._stream.aclose()

    async def finish(self) -> None:
        """End it when what is being answered is, if anything."""
        await self._context.terminated.set()

    async def refuse(self) -> None:
        """End it, and say why where nothing has been said yet."""
        if not (self._ended or self._written):
            self._ended = True
            with trio.move_on_after(_REFUSING_SECONDS), suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await self._stream.send_all(_CROWDED)
                await self._stream.send_eof()
        self.end()

    def end(self) -> None:
        """End it at once: what hypercorn shields from being cancelled fails, for its socket is closed under it."""
        self._ended = True
        self.cancel_scope.cancel()
        self.socket.close()


class ControlServer:
    """The connections that are open, in the order in which they came."""

    def __init__(self, app: ASGIApp, config: Config) -> None:
        self._app = ASGIWrapper(app)  # type: ignore[arg-type]  # an ASGI application by any other type
        self._config = config
        self._connections: dict[Connection, None] = {}
        self._left = trio.Event()

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one connection to its end; whatever goes wrong with it is its own end only."""
        connection = Connection(stream)
        self._connections[connection] = None
        try:
            if surplus := self._surplus():
                del self._connections[surplus]
                await surplus.refuse()
            if surplus is not connection:
                await connection.serve(self._app, self._config)
        except* Exception as errors:
            reasons = ", ".join(repr(error) for error in leaves(errors))
            _log.warning("the connection of %s to the control API is ended: %s", connection.address, reasons)
        finally:
            connection.end()
            self._connections.pop(connection, None)
            self._left.set()
            self._left = trio.Event()

    def _surplus(self) -> Connection | None:
        """Which connection makes room, if there are too many: the owner's never do for others."""
        strangers = [connection for connection in self._connections if not connection.trusted]
        if len(strangers) > MOST_STRANGERS or len(self._connections) > MOST_CONNECTIONS:
            return strangers[0]
        return None

    async def end(self) -> None:
        """End all connections; those that are being answered have :data:`GRACE_SECONDS` for it."""
        for connection in tuple(self._connections):
            await connection.finish()
        with trio.move_on_after(GRACE_SECONDS):
            while self._connections:
                await self._left.wait()
        for connection in tuple(self._connections):
            connection.end()


async def _keep_to_http_1(request: Any) -> None:
    """Refuse HTTP/2, by which one connection is many, and a byte a header; an offer to change to it is passed over."""
    if request.http_version == b"2.0":
        raise trio.BrokenResourceError("HTTP/2, by which one connection is many")


def trust(scope: Scope) -> None:
    """Remember that the connection on which a request came has carried a token."""
    connection = scope.get("state", {}).get(_CONNECTION)
    if isinstance(connection, Connection):
        connection.trusted = True


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in a group of them, or the one that is none."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [error]


def _address(stream: trio.SocketStream) -> str:
    """Who is at the other end, as far as is known."""
    try:
        name = stream.socket.getpeername()
    except OSError:
        return "a client that is gone"
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "a client of the socket"


def _config(binding: str) -> Config:
    config = Config()
    config.bind = [binding]
    config.umask = 0o077  # a socket is its owner's only
    config.accesslog = config.errorlog = None
    config.keep_alive_timeout = HEAD_SECONDS
    config.h11_max_incomplete_size = MOST_HEAD
    return config


def _listeners(config: Config) -> list[trio.SocketListener]:
    sockets: list[socket.socket] = config.create_sockets().insecure_sockets
    for listening in sockets:
        listening.listen(config.backlog)
    return [trio.SocketListener(trio.socket.from_stdlib_socket(listening)) for listening in sockets]


def _crowded() -> bytes:
    fault = Fault("HX7099", "it has as many connections as it takes", hint="once more in a second")
    body = json.dumps(Faults.of(PeerError(fault)).to_json()).encode()
    head = (
        "HTTP/1.1 503 Service Unavailable",
        "retry-after: 1",
        "content-type: application/json",
        f"content-length: {len(body)}",
        "connection: close",
    )
    return "".join(f"{line}\r\n" for line in (*head, "")).encode() + body


_CROWDED: Final = _crowded()
