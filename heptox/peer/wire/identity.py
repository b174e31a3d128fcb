"""Who a peer is: an Ed25519 key pair, kept as PEM (PKCS 8), and the peer id that libp2p derives from its public half.

This stays free of libp2p, so that making a peer's folder, and asking a running peer, start fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

import base58
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
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


class Ed25519:
    """Signatures by the keys of peers: an id is its peer's public key, so that nobody's key has to be asked for.

    >>> ours = Ed25519(Identity(bytes(32)))
    >>> peer, signature = Identity(bytes(32)).peer_id, ours.sign(b"text")
    >>> ours.verify(peer, signature, b"text"), ours.verify(peer, signature, b"other"), ours.verify("x", signature, b"")
    (True, False, False)
    """

    def __init__(self, identity: Identity) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(identity.seed)

    def sign(self, data: bytes) -> bytes:
        """The signature of the identity: 64 bytes."""
        return self._key.sign(data)

    def verify(self, peer: str, signature: bytes, data: bytes) -> bool:
        """Whether a peer has signed some bytes; ``False`` also for an id that is none."""
        key = _public_key(peer)
        if key is None:
            return False
        try:
            key.verify(signature, data)
        except InvalidSignature:
            return False
        return True


@lru_cache(maxsize=1 << 12)
def _public_key(peer: str) -> Ed25519PublicKey | None:
    try:
        data = base58.b58decode(peer)
    except ValueError:
        return None
    if not data.startswith(_PEER_ID_PREFIX) or len(data) != len(_PEER_ID_PREFIX) + 32:
        return None
    if base58.b58encode(data).decode() != peer:  # each peer has one id
        return None
    return Ed25519PublicKey.from_public_bytes(data[len(_PEER_ID_PREFIX) :])


def is_peer_id(text: str) -> bool:
    """Whether ``text`` is the peer id of an Ed25519 key."""
    return _public_key(text) is not None
