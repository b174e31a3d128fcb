"""Where a peer can be dialled: the multiaddresses that heptox speaks, ``/ip4/…/tcp/…/p2p/…``."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

from heptox.errors import Fault, PeerError
from heptox.peer.wire.identity import is_peer_id


@dataclass(frozen=True, slots=True)
class Listening:
    """A TCP endpoint without a peer: ``protocol`` is ``ip4``, ``ip6`` or ``dns4``; port 0 means any free one."""

    protocol: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Listening:
        """Read ``/ip4/127.0.0.1/tcp/4001``; raises :class:`PeerError` (HX7054) for anything else.

        >>> Listening.parse("/ip4/127.0.0.1/tcp/0")
        Listening(protocol='ip4', host='127.0.0.1', port=0)
        """
        found = re.fullmatch(r"/(ip4|ip6|dns4)/([^/\s]{1,253})/tcp/(\d{1,5})", text)
        if not found or not _is_host(found[1], found[2]) or int(found[3]) > 65_535:
            raise PeerError(
                Fault("HX7054", f"{text!r} is no address to use", hint="such as /ip4/127.0.0.1/tcp/4001, over TCP only")
            )
        return cls(found[1], found[2], int(found[3]))

    @property
    def is_loopback(self) -> bool:
        """Whether only this very machine gets there."""
        return self.host == "localhost" if self.protocol == "dns4" else ipaddress.ip_address(self.host).is_loopback

    @property
    def is_unspecified(self) -> bool:
        """Whether it stands for all addresses of a machine: to be listened at, not to be dialled."""
        return self.protocol != "dns4" and ipaddress.ip_address(self.host).is_unspecified

    @property
    def is_here(self) -> bool:
        """Whether it leads from a machine to itself, or nowhere.

        >>> [Listening.parse(f"/ip4/{host}/tcp/1").is_here for host in ("127.0.0.1", "0.0.0.0", "192.0.2.1")]
        [True, True, False]
        """
        return self.is_loopback or self.is_unspecified

    def trouble(self) -> OSError | None:
        """Why nobody can listen there, if so. Where somebody does already, libp2p would share it with them, and each
        would get half of the connections."""
        if self.port == 0:
            return None
        family = socket.AF_INET6 if self.protocol == "ip6" else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as error:
                return error
        return None

    def is_at(self, host: str) -> bool:
        """Whether it is an endpoint of the machine with the IP address ``host``; never for one by name.

        >>> [Listening.parse("/ip4/127.0.0.2/tcp/1").is_at(host) for host in ("127.0.0.1", "192.0.2.1")]
        [True, False]
        """
        if self.protocol == "dns4" and not self.is_loopback:
            return False
        there = ipaddress.ip_address(host)
        mapped = there.ipv4_mapped if isinstance(there, ipaddress.IPv6Address) else None
        there = mapped or there
        return self.is_loopback if there.is_loopback else ipaddress.ip_address(self.host) == there

    def __str__(self) -> str:
        return f"/{self.protocol}/{self.host}/tcp/{self.port}"


@dataclass(frozen=True, slots=True)
class PeerAddress:
    """Where one peer listens, and the peer id that it must prove to have there."""

    endpoint: Listening
    peer_id: str

    @classmethod
    def parse(cls, text: str) -> PeerAddress:
        """Read ``/ip4/127.0.0.1/tcp/4001/p2p/12D3KooW…``; raises :class:`PeerError` (HX7054) for anything else."""
        endpoint, found, peer_id = text.strip().rpartition("/p2p/")
        if not found or not is_peer_id(peer_id):
            raise PeerError(
                Fault(
                    "HX7054",
                    f"{text!r} does not name a peer",
                    hint="the multiaddress that `heptox peer start` prints, /ip4/.../tcp/.../p2p/12D3KooW...",
                )
            )
        parsed = Listening.parse(endpoint)
        if parsed.port == 0:
            raise PeerError(Fault("HX7054", f"{text!r} names no port", hint="port 0 is for listening only"))
        return cls(parsed, peer_id)

    def __str__(self) -> str:
        return f"{self.endpoint}/p2p/{self.peer_id}"


def _is_host(protocol: str, host: str) -> bool:
    if protocol == "dns4":
        return re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", host) is not None
    try:
        return ipaddress.ip_address(host).version == int(protocol[-1])
    except ValueError:
        return False
