"""Peers: messages, the peer as a pure state machine, transports, and the daemon (``peers.md``).

This front door stays light: the transports load trio and libp2p, and are imported from ``heptox.peer.memory`` and
``heptox.peer.libp2p`` by the daemon alone.
"""

from heptox.peer.events import Conclude, Deliver, Neighbour, Receipt, Translated, Untranslated
from heptox.peer.messages import (
    Acknowledge,
    Answers,
    Body,
    Cancel,
    End,
    Error,
    Hop,
    HopPath,
    Message,
    PeerId,
    Query,
    ReceiptLine,
    Status,
)
from heptox.peer.state import Limits, PeerState

__all__ = [
    "Acknowledge",
    "Answers",
    "Body",
    "Cancel",
    "Conclude",
    "Deliver",
    "End",
    "Error",
    "Hop",
    "HopPath",
    "Limits",
    "Message",
    "Neighbour",
    "PeerId",
    "PeerState",
    "Query",
    "Receipt",
    "ReceiptLine",
    "Status",
    "Translated",
    "Untranslated",
]
