"""The offers of others that wait for the administrator, and those that were refused, in a peer's folder.

``requests/PEER.offer`` is the offer as it came, ``requests/PEER.refused`` what was refused last, and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.peer.folder.files import sync_folder, write_atomically
from heptox.peer.wire.identity import is_peer_id
from heptox.peer.wire.messages import PeerId
from heptox.peer.wire.offers import Offer, decode_call, encode_call

MOST_WAITING: Final = 64
"""Offers that wait at most, one of each peer: strangers fill no disk."""
MOST_BYTES: Final = 2 * 1024 * 1024
"""Bytes of the files of all of them, above which none is taken any more: they are listed with their files."""
MOST_REFUSED: Final = 1000
"""Refusals that are remembered at most; the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An offer that was refused: its mapping's digest, and the reason that was given."""

    digest: str
    reason: str


class Requests:
    """The requests in the folder ``path``; a writer holds the lock of the peer's folder."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._waiting = dict(_kept(path))

    def waiting(self) -> dict[PeerId, Offer]:
        """The offers that wait, by who makes them."""
        return dict(self._waiting)

    def keep(self, peer: PeerId, offer: Offer) -> None:
        """Let an offer wait; one of the same peer is replaced. Raises :class:`PeerError` (HX7061) when too many
        do, or too large ones."""
        if peer not in self._waiting and len(self._waiting) >= MOST_WAITING:
            raise PeerError(Fault("HX7061", f"{MOST_WAITING} offers wait for the administrator already"))
        others = (
            len(content) for one, kept in self._waiting.items() if one != peer for content in kept.files.files.values()
        )
        if sum(others) > MOST_BYTES:
            raise PeerError(Fault("HX7061", f"offers of more than {MOST_BYTES:,} bytes wait for the administrator"))
        self._path.mkdir(exist_ok=True)
        write_atomically(self._path / f"{peer}.offer", encode_call(offer))
        self._waiting[peer] = offer

    def drop(self, peer: PeerId) -> None:
        """The offer of a peer does not wait any more."""
        if self._waiting.pop(peer, None) is not None:
            (self._path / f"{peer}.offer").unlink(missing_ok=True)
            sync_folder(self._path)

    def refuse(self, peer: PeerId, refusal: Refusal) -> None:
        """Remember what was refused, so that it is not asked again."""
        refused = sorted(self._path.glob("*.refused"), key=lambda file: file.stat().st_mtime)
        for old in refused[: max(0, len(refused) + 1 - MOST_REFUSED)]:
            old.unlink()
        value = {"digest": refusal.digest, "reason": refusal.reason}
        write_atomically(self._path / f"{peer}.refused", json.dumps(value).encode())
        self.drop(peer)

    def refused(self, peer: PeerId) -> Refusal | None:
        """What was refused of a peer last."""
        try:
            value = json.loads((self._path / f"{peer}.refused").read_bytes())
            return Refusal(str(value["digest"]), str(value["reason"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def forgive(self, peer: PeerId) -> None:
        """Forget what was refused of a peer."""
        (self._path / f"{peer}.refused").unlink(missing_ok=True)


def _kept(path: Path) -> Iterator[tuple[PeerId, Offer]]:
    """The offers in a folder; what cannot be read is left out."""
    for file in sorted(path.glob("*.offer")):
        try:
            offer = decode_call(file.read_bytes())
        except (OSError, HeptoxError):
            continue
        if isinstance(offer, Offer) and is_peer_id(file.stem):
            yield file.stem, offer
