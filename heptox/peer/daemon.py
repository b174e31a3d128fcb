"""The daemon of a peer: one process, in which trio runs the network, the control API, and the work in threads."""

from __future__ import annotations

import errno
import gc
import logging
import os
import shlex
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

import trio

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.answering import Answering
from heptox.peer.control.api import application
from heptox.peer.control.endpoint import UNIX, ControlAddress, kept_token
from heptox.peer.control.server import control_server, leaves
from heptox.peer.control.service import OpenFolder, PeerService, PeerWorkers
from heptox.peer.feed.folder_subscriptions import open_broker, open_feed, open_log
from heptox.peer.folder.files import CONTROL, write_atomically
from heptox.peer.folder.folder import KEPT_ADDRESS, KEPT_CONTROL_PORT, PeerFolder
from heptox.peer.folder.loading import open_audit, open_exports, open_store
from heptox.peer.process.ending import Ending, ended_by_signals
from heptox.peer.process.evaluating import EVALUATING
from heptox.peer.process.workers import Workers, open_workers
from heptox.peer.query.bounds import Limits
from heptox.peer.query.own_evaluation import OwnEvaluation
from heptox.peer.query.state import PeerState
from heptox.peer.record.logs import logged
from heptox.peer.record.metrics import Metrics
from heptox.peer.record.recording import Recorder
from heptox.peer.record.stalls import stalls_watched
from heptox.peer.runner import Runner
from heptox.peer.wire.address import Listening, PeerAddress
from heptox.peer.wire.identity import Ed25519
from heptox.peer.wire.libp2p import Libp2pTransport
from heptox.peer.wire.messages import Hop
from heptox.peer.wire.transport import TransportLimits

CONTROL_SOCKET: Final = "control.sock"
SOCKET_PATH_LIMIT: Final = 107
"""Bytes in the path of a socket, by the system."""
LOOPBACK: Final = "127.0.0.1"
CLOSING_SECONDS: Final = 1.0
"""How long evaluations may take to end when the daemon does."""
SWITCHED: Final = 0.0005
"""Seconds that a thread has Python to itself: the event loop waits for each thread at work whenever it goes on. At the
usual 5 ms, two queries that are interpreted make the owner's take seconds."""

_log = logging.getLogger(__name__)


def serve(path: Path, listen: str | None = None, *, announce: Callable[[str], None]) -> None:
    """Run the peer in the folder ``path`` until SIGINT, SIGTERM, or a request to stop.

    ``announce`` gets each multiaddress when the peer serves; ``listen`` is where to listen this time, instead of the
    peer's settings.

    Raises :class:`PeerError`: HX7051 when another process uses the folder, HX7062 when the address cannot be had, and
    what is wrong with the folder, its documents and mappings.
    """
    folder = PeerFolder.open(path)
    ending = Ending()
    gc.freeze()  # what is loaded stays: to look for garbage among it takes a tenth of the start
    try:
        with logged(folder.settings.log), folder.locked():
            trio.run(_serve, folder, listen, announce, ending, strict_exception_groups=True)
    except BaseExceptionGroup as group:
        raise _plain(group) from group
    finally:
        ending.over()
        gc.unfreeze()  # libraries see at the end what was not given back


@asynccontextmanager
async def running(
    folder: PeerFolder, listen: str | None = None, workers: Workers | None = None
) -> AsyncIterator[PeerService]:
    """One peer at work in the network while the context is open; the caller holds the folder's lock.

    Several may run in one process, and share ``workers``. Raises as :func:`serve`, HX7051 aside.
    """
    with (
        await trio.to_thread.run_sync(open_store, folder) as store,
        await trio.to_thread.run_sync(open_exports, folder) as exports,
        await trio.to_thread.run_sync(open_log, folder) as log,
        ExitStack() as opened,
    ):
        broker = await trio.to_thread.run_sync(opened.enter_context, open_broker(folder, log))
        feed = None
        if folder.settings.feed != "off":
            feed = opened.enter_context(await trio.to_thread.run_sync(open_feed, folder))
        answering = Answering(folder.settings.evaluations, store, exports, seconds=folder.settings.query_seconds)
        try:
            async with (
                nullcontext(workers) if workers else open_workers() as working,
                open_workers(EVALUATING) as evaluating,
                open_workers(EVALUATING) as drawing,
            ):
                with open_audit(folder) as audit:
                    opened_folder = OpenFolder(folder, store, exports, audit, broker, feed)
                    service = _service(opened_folder, answering, listen, PeerWorkers(working, drawing), evaluating)
                    await service.open()
                    try:
                        async with service.serving():
                            _keep_endpoint(folder, service.transport.addresses)
                            await service.recorder.started(service.transport.addresses)
                            yield service
                    finally:
                        await service.recorder.stopped()
        finally:
            with trio.move_on_after(CLOSING_SECONDS, shield=True):
                await answering.ended()


def _service(
    opened: OpenFolder, answering: Answering, listen: str | None, workers: PeerWorkers, evaluating: Workers
) -> PeerService:
    folder = opened.folder
    settings, identity = folder.settings, folder.identity
    kept_alive = TransportLimits(keep_alive=settings.keep_alive)
    transport = Libp2pTransport(
        identity.seed, str(Listening.parse(listen) if listen else folder.endpoint()), limits=kept_alive
    )
    standard = Limits()
    limits = replace(
        standard, hops=settings.hops, budget=settings.budget, seconds=max(standard.seconds, settings.timeout)
    )
    signatures = Ed25519(identity)
    state = PeerState(identity.peer_id, settings.name, limits, schema_key(folder.schema()), signatures)
    recorder = Recorder(identity.peer_id, opened.audit, Metrics())
    runner = Runner(state, transport, answering, recorder)
    own = OwnEvaluation(opened.store, Hop(identity.peer_id, settings.name), evaluating, limits)
    return PeerService(opened, transport, runner, answering, recorder, workers, own)


async def _serve(folder: PeerFolder, listen: str | None, announce: Callable[[str], None], ending: Ending) -> None:
    wanted = trio.Event()
    with ended_by_signals(ending, wanted.set), ExitStack() as watched:
        async with running(folder, listen) as service, _controlled(service) as control, trio.open_nursery() as nursery:
            watched.enter_context(stalls_watched(service.recorder.metrics))
            nursery.start_soon(_stop_on_signal, wanted, service.stopping)
            control.write(folder.path)
            _keep_control_port(folder, control)
            sys.setswitchinterval(SWITCHED)
            gc.freeze()  # what is here stays: to look for garbage among it holds up the event loop
            for address in service.transport.addresses:
                announce(address)
            _log.info("it serves until Ctrl-C, SIGTERM or `heptox peer stop %s`", shlex.quote(str(folder.path)))
            await service.stopping.wait()
            ending.begin()
            await service.written()
            (folder.path / CONTROL).unlink(missing_ok=True)
            nursery.cancel_scope.cancel()


async def _stop_on_signal(wanted: trio.Event, stopping: trio.Event) -> None:
    await wanted.wait()
    stopping.set()


@asynccontextmanager
async def _controlled(service: PeerService) -> AsyncIterator[ControlAddress]:
    """Serve the control API, as the settings say where, while the context is open."""
    token = await trio.to_thread.run_sync(kept_token, service.folder.path)
    async with control_server(application(service, token), _control_binding(service.folder)) as served:
        url = served if served.startswith(UNIX) else f"http://{served}"
        yield ControlAddress(url, token, service.transport.peer, os.getpid())


def _control_binding(folder: PeerFolder) -> str:
    if folder.settings.control == "loopback":
        return f"{LOOPBACK}:{_control_port(folder)}"
    path = folder.path.resolve() / CONTROL_SOCKET
    if len(bytes(path)) > SOCKET_PATH_LIMIT:
        message = f"a socket's path has at most {SOCKET_PATH_LIMIT} bytes"
        hint = 'move the folder, or set control = "loopback" in peer.toml'
        raise PeerError(Fault("HX7062", message, hint=hint, file=str(path)))
    path.unlink(missing_ok=True)  # what is left of a daemon that was killed; we hold the folder's lock
    return f"{UNIX}{path}"


def _control_port(folder: PeerFolder) -> int:
    """Where the control API listens, if that can be: hypercorn would not say what is wrong. Where the settings leave it
    open, that is the port that it had before, or else any free one (0)."""
    port = folder.settings.control_port
    if port == 0:
        kept = folder.kept_control_port()
        return 0 if _taken(kept) else kept
    if trouble := _taken(port):
        reason = f"the control API cannot listen at {LOOPBACK}:{port}: {trouble}"
        raise PeerError(Fault("HX7062", reason, hint="control_port = 0 takes a free one"))
    return port


def _taken(port: int) -> str | None:
    """Why nothing can listen at a port of the loopback interface, if so."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            return "the address is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
    return None


def _keep_control_port(folder: PeerFolder, control: ControlAddress) -> None:
    if not control.url.startswith(UNIX):
        port = control.url.rpartition(":")[2]
        write_atomically(folder.path / KEPT_CONTROL_PORT, f"{port}\n".encode())


def _keep_endpoint(folder: PeerFolder, addresses: tuple[str, ...]) -> None:
    if addresses:
        endpoint = PeerAddress.parse(addresses[0]).endpoint
        write_atomically(folder.path / KEPT_ADDRESS, f"{endpoint}\n".encode())


def _plain(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What a group of exceptions is about: all faults in it, or else its first exception."""
    faults: list[Fault] = []
    others: list[BaseException] = []
    for error in leaves(group):
        if isinstance(error, HeptoxError):
            faults.extend(error.faults)
        else:
            others.append(error)
    return others[0] if others else PeerError(faults)
