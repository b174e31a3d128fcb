"""The swarm of libp2p 0.8.1 with what heptox needs of it, and nothing else: TCP, noise, yamux, bounded."""

from __future__ import annotations

import logging
from ipaddress import IPv6Address, ip_address, ip_network
from math import inf
from typing import Any, Final

import trio
from libp2p.crypto.ed25519 import create_new_key_pair
from libp2p.crypto.x25519 import create_new_key_pair as create_new_x25519_key_pair
from libp2p.io.abc import ReadWriteCloser
from libp2p.network.auto_connector import AutoConnector
from libp2p.network.config import ConnectionConfig, RetryConfig
from libp2p.network.connection.raw_connection import RawConnection
from libp2p.network.swarm import Swarm
from libp2p.peer.id import ID
from libp2p.peer.peerstore import PeerStore
from libp2p.security.noise.transport import PROTOCOL_ID as NOISE, Transport as Noise
from libp2p.stream_muxer.yamux.yamux import PROTOCOL_ID as YAMUX, Yamux
from libp2p.transport.tcp.tcp import TCP
from libp2p.transport.upgrader import TransportUpgrader
from multiaddr import Multiaddr  # type: ignore[import-untyped]

from heptox.errors import Fault, PeerError
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.muxer import BoundedMuxers
from heptox.peer.wire.places import Places
from heptox.peer.wire.transport import Admission, OpenToStrangers, TransportLimits

SEED: Final = 32
"""Bytes of an Ed25519 private key."""
_NEVER: Final = 1_000_000
"""Connections that are never reached: libp2p's own limit would refuse acquaintances for what strangers hold."""

_log = logging.getLogger(__name__)


class _NoConnector(AutoConnector):
    """Whom to dial is the administrator's: libp2p would dial every peer that it knows of."""

    async def run_background_task(self, nursery: trio.Nursery) -> None:
        pass

    async def maybe_connect(self) -> None:
        pass


class BoundedSwarm(Swarm):
    """A swarm whose inbound connections have places by who makes them, and give them back when they end.

    Who makes a connection is known only after the handshake: until then it has one of few places, for
    ``TransportLimits.dial`` seconds. Then strangers share places, and acquaintances have their own, so
    that nothing a stranger does keeps an acquaintance out. A newcomer always gets in (:class:`Places`). ``admission``
    says who is an acquaintance.
    """

    def __init__(self, peer: ID, store: PeerStore, upgrader: TransportUpgrader, limits: TransportLimits) -> None:
        config = ConnectionConfig(
            max_connections=_NEVER,
            min_connections=0,
            low_watermark=0,
            high_watermark=_NEVER,
            inbound_upgrade_timeout=limits.dial,
            outbound_upgrade_timeout=limits.dial,
        )
        super().__init__(peer, store, upgrader, [TCP()], RetryConfig(max_retries=0), config)
        self.auto_connector = _NoConnector(self)
        self.admission: Admission = OpenToStrangers()
        self._handshakes = Places(limits.handshakes, limits.handshakes_per_address)
        self._strangers = Places(limits.connections, limits.connections_per_address)
        self._acquaintances = Places(inf, limits.connections_per_acquaintance)

    @property
    def inbound(self) -> int:
        """How many inbound connections there are, those that are still in the handshake among them."""
        return len(self._handshakes) + len(self._strangers) + len(self._acquaintances)

    async def _handle_inbound_connection(self, read_write_closer: ReadWriteCloser, maddr: Multiaddr) -> None:
        """Serve one inbound connection until it ends or has to make room; libp2p's own waits until the swarm ends, and
        takes a place before it knows whose."""
        host, scope = _host(read_write_closer), trio.CancelScope()
        self._handshakes.enter(scope, host)
        try:
            with scope:
                connection: Any = await self.upgrade_inbound_raw_conn(RawConnection(read_write_closer, False), maddr)
                self._handshakes.leave(scope)
                self._place(scope, host, connection.peer_id.to_base58())
                await connection.event_closed.wait()
        except Exception as error:  # whatever a stranger does to a connection ends that connection and nothing else
            _log.info("an inbound connection from %s has ended: %s", host, error)
        finally:
            for places in (self._handshakes, self._strangers, self._acquaintances):
                places.leave(scope)
            with trio.CancelScope(shield=True):
                await _close(read_write_closer)

    def _place(self, scope: trio.CancelScope, host: str, peer: PeerId) -> None:
        if self.admission.acquainted(peer):
            self._acquaintances.enter(scope, peer)
        else:
            self._strangers.enter(scope, host, peer)


async def _close(stream: ReadWriteCloser) -> None:
    try:
        await stream.close()
    except Exception:  # closing what is broken already
        return


def _host(stream: Any) -> str:
    """The address at the other end, as one machine has it: of IPv6 the network, in which each has 2^64 addresses."""
    try:
        address = ip_address(stream.stream.socket.getpeername()[0])
    except (OSError, ValueError):
        return ""
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return str(ip_network((address.packed, 64), strict=False))
    return str(address)


def new_swarm(seed: bytes, limits: TransportLimits) -> BoundedSwarm:
    """A swarm for the peer whose Ed25519 private key is ``seed``; raises :class:`PeerError` (HX7053) if it is no
    key."""
    if len(seed) != SEED:
        raise PeerError(Fault("HX7053", f"a key of {len(seed)} bytes is no Ed25519 private key", hint=f"{SEED} bytes"))
    key_pair = create_new_key_pair(seed)
    peer = ID.from_pubkey(key_pair.public_key)
    # Noise alone: libp2p offers plain text by default, and a neighbour could choose it.
    noise = Noise(key_pair, noise_privkey=create_new_x25519_key_pair().private_key)
    upgrader = TransportUpgrader({NOISE: noise}, {YAMUX: Yamux})  # type: ignore[dict-item]
    upgrader.muxer_multistream = BoundedMuxers(limits)
    store = PeerStore()
    store.add_key_pair(peer, key_pair)
    return BoundedSwarm(peer, store, upgrader, limits)
