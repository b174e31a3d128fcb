"""Peers: messages, the peer as a pure state machine, transports, and the daemon (``peers.md``).

This front door stays light: the transports load trio and libp2p, and are imported from ``heptox.peer.memory`` and
``heptox.peer.libp2p`` by the daemon alone; what needs a heavy library is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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

if TYPE_CHECKING:
    from heptox.peer.acquainting import Proposal, propose
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
    from heptox.peer.folder import Acquaintance, PeerFolder
    from heptox.peer.standing import Side, Standing

_LATER: Final = {
    "acquainting": ("Proposal", "propose"),
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
    "folder": ("Acquaintance", "PeerFolder"),
    "standing": ("Side", "Standing"),
}

__all__ = [
    "DAEMON_LOG",
    "ENVIRONMENT",
    "Acknowledge",
    "Acquaintance",
    "Answers",
    "Body",
    "Cancel",
    "Client",
    "Conclude",
    "ControlAddress",
    "Deliver",
    "End",
    "Error",
    "Hop",
    "HopPath",
    "Limits",
    "Loader",
    "Message",
    "Neighbour",
    "PeerFolder",
    "PeerId",
    "PeerState",
    "Proposal",
    "Query",
    "Receipt",
    "ReceiptLine",
    "Side",
    "Standing",
    "Status",
    "Translated",
    "Untranslated",
    "add_acquaintance",
    "document_loading",
    "examine_peer",
    "fault_from_json",
    "find_peer",
    "peer_documents",
    "peer_status",
    "propose",
    "serve",
    "start_in_background",
    "stop_peer",
]


def __getattr__(name: str) -> Any:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"heptox.peer.{module}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
