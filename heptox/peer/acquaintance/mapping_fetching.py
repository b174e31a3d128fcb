"""The mappings on the paths to publishers: sent to acquaintances that ask, and asked for where missing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping as Table
from contextlib import suppress
from typing import Final
from weakref import WeakValueDictionary

import trio

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.peer.acquaintance.kept_mappings import KeptMappings
from heptox.peer.acquaintance.register import Known
from heptox.peer.process.workers import Working
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.mapping_requests import (
    MAPPING_LIMIT,
    PROTOCOL,
    Link,
    MappingReply,
    MappingRequest,
    NoMapping,
    decode_mapping,
    decode_request,
    encode_mapping,
    encode_request,
)
from heptox.peer.wire.messages import PATH_LIMIT, PeerId
from heptox.peer.wire.standing import Standing
from heptox.peer.wire.transport import Transport

ASKING: Final = 4
"""Mappings that one neighbour wants and that another one is asked for at a time: so nobody waits for what others want,
nor for a neighbour that is not on its way."""

_log = logging.getLogger(__name__)


def link_with(known: Known) -> Link | None:
    """What is agreed on with an acquaintance, as we announce it; ``None`` where that is nothing, or out of date."""
    if known.acquaintance.standing is not Standing.AGREED or known.mapping is None:
        return None
    return Link(known.acquaintance.side, known.files.digest)


def _try_to_load(files: MappingFiles) -> None:
    """Load a mapping to see what that takes; its faults are for those who use it."""
    with suppress(HeptoxError):
        files.load()


class MappingFetching:
    """The mappings of one peer. ``path`` gives the path from a neighbour to a publisher that is reached, or none.

    ``neighbours`` are the acquaintances in force by peer id; it may be set at any time. What comes of them is read by
    ``workers`` before it is kept.
    """

    def __init__(
        self,
        kept: KeptMappings,
        transport: Transport,
        path: Callable[[PeerId], tuple[PeerId, ...]],
        workers: Working,
    ) -> None:
        self.neighbours: Table[PeerId, Known] = {}
        self._kept = kept
        self._transport = transport
        self._path = path
        self._workers = workers
        self._asking: WeakValueDictionary[tuple[PeerId, PeerId], trio.CapacityLimiter] = WeakValueDictionary()

    def is_reached(self, publisher: PeerId) -> bool:
        """Whether there is a path to a publisher."""
        return bool(self._path(publisher))

    def held(self, digest: str) -> MappingFiles | None:
        """The mapping of a digest, if this peer has it. Called in a thread."""
        for known in tuple(self.neighbours.values()):
            if known.files.digest == digest:
                return known.files
        return self._kept.get(digest)

    def keep(self, files: MappingFiles) -> None:
        """Keep a mapping for as long as it may be needed; raises as :meth:`KeptMappings.keep`. Called in a thread."""
        self._kept.keep(files)

    async def get(self, digest: str, publisher: PeerId, neighbour: PeerId) -> MappingFiles:
        """A mapping on the way to a publisher, from the disk or else from the neighbour on it.

        Raises :class:`PeerError`: HX7085 where it is not to be had, or what comes is another one; HX7010, HX7011 where
        the neighbour does not answer, HX7100 where reading it takes too much, and as :func:`decode_mapping` and
        :meth:`MappingFiles.check_bounds`.
        """
        found = await trio.to_thread.run_sync(self.held, digest)
        if found is not None:
            return found
        reply = await self._ask(neighbour, MappingRequest(digest, publisher, PATH_LIMIT))
        if isinstance(reply, NoMapping):
            raise PeerError(Fault("HX7085", f"the mapping {digest} is not to be had: {reply.reason}"))
        await trio.to_thread.run_sync(reply.check_bounds)
        await self._workers.run(_try_to_load, reply)
        await trio.to_thread.run_sync(self._kept.keep, reply)
        return reply

    async def _ask(self, neighbour: PeerId, request: MappingRequest) -> MappingReply:
        answer = await self._transport.call(neighbour, PROTOCOL, encode_request(request))
        reply = await trio.to_thread.run_sync(decode_mapping, answer)
        if isinstance(reply, MappingFiles) and reply.digest != request.digest:
            reason = f"instead of the mapping {request.digest} comes {reply.digest}"
            raise PeerError(Fault("HX7085", reason))
        return reply

    # -- what others ask for -----------------------------------------------------------------------------------------

    async def answer(self, peer: PeerId, message: bytes) -> bytes:
        """Answer a request of any peer; raises :class:`PeerError` for what is none."""
        if peer not in self.neighbours:  # what others send is not looked at
            return encode_mapping(NoMapping("only acquaintances are told"))
        if len(message) > MAPPING_LIMIT:
            raise PeerError(Fault("HX7004", f"a request of {len(message)} bytes is longer than {MAPPING_LIMIT}"))
        request = decode_request(message)
        try:
            reply = await self._answer(peer, request)
        except HeptoxError as error:
            _log.info("the mapping %s was not found for %s: %s", request.digest, peer, error)
            reply = NoMapping("the next peer on the way does not give it")
        return await trio.to_thread.run_sync(encode_mapping, reply)

    async def _answer(self, peer: PeerId, request: MappingRequest) -> MappingReply:
        found = await trio.to_thread.run_sync(self.held, request.digest)
        if found is not None:
            return found
        path = self._path(request.publisher)
        if not path or path[0] == peer or request.hops == 0:
            return NoMapping("nobody on the way has it")
        async with self._asking.setdefault((peer, path[0]), trio.CapacityLimiter(ASKING)):
            return await self._ask(path[0], MappingRequest(request.digest, request.publisher, request.hops - 1))
