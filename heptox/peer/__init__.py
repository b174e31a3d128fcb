"""Peers: messages, the peer as a pure state machine, transports, and the daemon (``peers.md``).

This front door stays light: the transport loads trio and libp2p, and is imported from ``heptox.peer.libp2p`` by the
daemon alone; what needs a heavy library is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from heptox.peer.events import (
    Acquainted,
    Arrived,
    Ask,
    Asked,
    Completed,
    Conclude,
    Deliver,
    Evaluate,
    Evaluated,
    Event,
    Failed,
    Instruction,
    Lost,
    Neighbour,
    Receipt,
    Received,
    Send,
    Stop,
    Tick,
    Translate,
    Translated,
    Untranslated,
    Wake,
)
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
    body_key,
    encode,
    peers_of,
)
from heptox.peer.query_bounds import Limits
from heptox.peer.state import PeerState

if TYPE_CHECKING:
    from heptox.peer.acquainting import Proposal, propose, resolve_peer
    from heptox.peer.administration import (
        Loader,
        add_acquaintance,
        document_loading,
        examine_peer,
        peer_documents,
        peer_status,
        stop_peer,
    )
    from heptox.peer.background import DAEMON_LOG, start_in_background
    from heptox.peer.client import ENVIRONMENT, Client, ControlAddress, find_peer
    from heptox.peer.daemon import serve
    from heptox.peer.faults import fault_from_json
    from heptox.peer.files import write_atomically
    from heptox.peer.folder import Acquaintance, PeerFolder
    from heptox.peer.standing import Side, Standing
    from heptox.peer.subscriptions import Subscriptions, subscriptions_at
    from heptox.peer.translating import translated

_LATER: Final = {
    "acquainting": ("Proposal", "propose", "resolve_peer"),
    "administration": (
        "Loader",
        "add_acquaintance",
        "document_loading",
        "examine_peer",
        "peer_documents",
        "peer_status",
        "stop_peer",
    ),
    "background": ("DAEMON_LOG", "start_in_background"),
    "client": ("ENVIRONMENT", "Client", "ControlAddress", "find_peer"),
    "daemon": ("serve",),
    "faults": ("fault_from_json",),
    "files": ("write_atomically",),
    "folder": ("Acquaintance", "PeerFolder"),
    "standing": ("Side", "Standing"),
    "subscriptions": ("Subscriptions", "subscriptions_at"),
    "translating": ("translated",),
}

__all__ = [
    "DAEMON_LOG",
    "ENVIRONMENT",
    "Acknowledge",
    "Acquaintance",
    "Acquainted",
    "Answers",
    "Arrived",
    "Ask",
    "Asked",
    "Body",
    "Cancel",
    "Client",
    "Completed",
    "Conclude",
    "ControlAddress",
    "Deliver",
    "End",
    "Error",
    "Evaluate",
    "Evaluated",
    "Event",
    "Failed",
    "Hop",
    "HopPath",
    "Instruction",
    "Limits",
    "Loader",
    "Lost",
    "Message",
    "Neighbour",
    "PeerFolder",
    "PeerId",
    "PeerState",
    "Proposal",
    "Query",
    "Receipt",
    "ReceiptLine",
    "Received",
    "Send",
    "Side",
    "Standing",
    "Status",
    "Stop",
    "Subscriptions",
    "Tick",
    "Translate",
    "Translated",
    "Untranslated",
    "Wake",
    "add_acquaintance",
    "body_key",
    "document_loading",
    "encode",
    "examine_peer",
    "fault_from_json",
    "find_peer",
    "peer_documents",
    "peer_status",
    "peers_of",
    "propose",
    "resolve_peer",
    "serve",
    "start_in_background",
    "stop_peer",
    "subscriptions_at",
    "translated",
    "write_atomically",
]


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"heptox.peer.{module}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
