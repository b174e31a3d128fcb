"""What peers are measured against: the same bytes over plain streams of libp2p, which relays only pass on.

``python -m benchmarks.network.relay BYTES`` is the end, which sends so many bytes to whoever opens a stream;
``... relay MULTIADDRESS`` passes on what comes from there. Either prints its own multiaddress, and serves until killed.
``... relay BYTES HOPS`` prints the seconds in which so many bytes come over so many hops.
All of libp2p is imported here, which heptox does not do: so this is for processes of its own.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

import trio
from libp2p import new_host
from libp2p.abc import IHost, INetStream
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.custom_types import TProtocol
from libp2p.peer.peerinfo import info_from_p2p_addr
from multiaddr import Multiaddr  # type: ignore[import-untyped]

PROTOCOL: Final = TProtocol("/plain/1")
PIECE: Final = 64 * 1024


def received(size: int, hops: int) -> float:
    """The seconds in which so many bytes come over so many hops, from opening the stream on."""
    with _relays(size, hops) as address:
        return trio.run(_received, address, size)


@contextmanager
def _relays(size: int, hops: int) -> Iterator[str]:
    processes: list[subprocess.Popen[str]] = []
    argument = str(size)
    try:
        for _ in range(hops):
            command = [sys.executable, "-m", "benchmarks.network.relay", argument]
            processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
            stdout = processes[-1].stdout
            assert stdout
            argument = stdout.readline().strip()
            assert argument, "a relay has not started"
        yield argument
    finally:
        for process in processes:
            process.kill()
            process.communicate()


async def _received(address: str, size: int) -> float:
    host = _host()
    async with host.run([Multiaddr("/ip4/127.0.0.1/tcp/0")]):
        await host.connect(info_from_p2p_addr(Multiaddr(address)))
        began = time.perf_counter()
        stream = await _opened(host, address)
        left = size
        while left:
            left -= len(await stream.read(PIECE))
        return time.perf_counter() - began


async def _serve(handler: Callable[[IHost, INetStream], Awaitable[None]], dialled: str | None) -> None:
    host = _host()

    async def handle(stream: INetStream) -> None:
        await handler(host, stream)

    host.set_stream_handler(PROTOCOL, handle)
    async with host.run([Multiaddr("/ip4/127.0.0.1/tcp/0")]):
        if dialled is not None:
            await host.connect(info_from_p2p_addr(Multiaddr(dialled)))
        print(host.get_addrs()[0], flush=True)
        await trio.sleep_forever()


def _host() -> IHost:
    return new_host(key_pair=create_new_key_pair(secrets.token_bytes(32)))


async def _opened(host: IHost, address: str) -> INetStream:
    stream = await host.new_stream(info_from_p2p_addr(Multiaddr(address)).peer_id, [PROTOCOL])
    await stream.write(b"?")
    return stream


async def _send(size: int, stream: INetStream) -> None:
    await stream.read(1)
    piece = secrets.token_bytes(PIECE)
    for start in range(0, size, PIECE):
        await stream.write(piece[: min(PIECE, size - start)])


async def _pass_on(host: IHost, address: str, stream: INetStream) -> None:
    await stream.read(1)
    source = await _opened(host, address)
    while data := await source.read(PIECE):
        await stream.write(data)


if __name__ == "__main__":
    what, *hops = sys.argv[1:]
    if hops:
        print(received(int(what), int(hops[0])))
    elif what.isdigit():
        trio.run(_serve, lambda _, stream: _send(int(what), stream), None)
    else:
        trio.run(_serve, lambda host, stream: _pass_on(host, what, stream), what)
