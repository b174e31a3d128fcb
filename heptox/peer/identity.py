"""Who a peer is: an Ed25519 key pair, kept as PEM (PKCS 8), and the peer id that libp2p derives from its public half.

This stays free of libp2p, so that making a peer's folder, and asking a running peer, start fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import base58
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from heptox.errors import Fault, PeerError

# A peer id is the identity multihash (0x00, length 36) of the key's protobuf: type Ed25519 (08 01), 32 bytes (12 20).
_PEER_ID_PREFIX: Final = bytes.fromhex("002408011220")


@dataclass(frozen=True, slots=True, repr=False)
class Identity:
    """A peer's key: ``seed`` is the private key, 32 bytes; it is never printed."""

    seed: bytes

    @classmethod
    def generate(cls) -> Identity:
        """A new key from the system's randomness."""
        return cls(Ed25519PrivateKey.generate().private_bytes_raw())

    @classmethod
    def from_pem(cls, data: bytes, file: Path) -> Identity:
        """The key in a PEM text; raises :class:`PeerError` (HX7053) when it holds no Ed25519 private key."""
        try:
            key = load_pem_private_key(data, password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            raise PeerError(Fault("HX7053", "holds no Ed25519 private key in PEM", file=str(file)))
        return cls(key.private_bytes_raw())

    def to_pem(self) -> bytes:
        """The private key as PEM (PKCS 8, not encrypted)."""
        key = Ed25519PrivateKey.from_private_bytes(self.seed)
        return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())

    @property
    def peer_id(self) -> str:
        """The peer id in base58, as in the last part of a multiaddress.

        >>> Identity(bytes(32)).peer_id
        '12D3KooWDpJ7As7BWAwRMfu1VU2WCqNjvq387JEYKDBj4kx6nXTN'
        """
        public = Ed25519PrivateKey.from_private_bytes(self.seed).public_key()
        return base58.b58encode(_PEER_ID_PREFIX + public.public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()

    def __repr__(self) -> str:
        return f"Identity({self.peer_id})"


def is_peer_id(text: str) -> bool:
    """Whether ``text`` is the peer id of an Ed25519 key."""
    try:
        data = base58.b58decode(text)
    except ValueError:
        return False
    return data.startswith(_PEER_ID_PREFIX) and len(data) == len(_PEER_ID_PREFIX) + 32
