"""Peers: messages, the peer as a pure state machine, transports, and the daemon (``peers.md``).

This front door stays light: the transport loads trio and libp2p, and is imported from ``heptox.peer.wire.libp2p``
by the daemon alone; what needs a heavy library is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from heptox.garbage import uncollected
from heptox.peer.query.bounds import Limits
from heptox.peer.query.events import (
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
from heptox.peer.query.state import PeerState
from heptox.peer.wire.messages import (
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

if TYPE_CHECKING:
    from heptox.peer.acquaintance.acquainting import Proposal, propose, resolve_peer
    from heptox.peer.control.administration import (
        Loader,
        add_acquaintance,
        document_loading,
        examine_peer,
        peer_documents,
        peer_status,
        stop_peer,
    )
    from heptox.peer.control.background import DAEMON_LOG, start_in_background
    from heptox.peer.control.client import ENVIRONMENT, Client, find_peer
    from heptox.peer.control.endpoint import ControlAddress
    from heptox.peer.control.subscriptions import Subscriptions, subscriptions_at
    from heptox.peer.daemon import serve
    from heptox.peer.folder.files import write_atomically
    from heptox.peer.folder.folder import Acquaintance, PeerFolder
    from heptox.peer.models.control import (
        AcquaintanceRequest,
        DocumentModel,
        Finding,
        ItemLine,
        KnownModel,
        Level,
        Loaded,
        QuestionRequest,
        ReceiptLast,
        ReceiptLineModel,
        ReceiptModel,
        RequestModel,
        StatusModel,
    )
    from heptox.peer.models.feed import (
        FeedsModel,
        GettingModel,
    )
    from heptox.peer.models.subscriptions import (
        DeadLetterModel,
        LackingModel,
        NotificationModel,
        PublishedModel,
        RenderingModel,
        SubscriptionEntry,
        SubscriptionModel,
        SubscriptionsAdded,
        SubscriptionsRequest,
        Understanding,
    )
    from heptox.peer.query.translating import translated
    from heptox.peer.wire.standing import Side, Standing

_LATER: Final = {
    "acquaintance.acquainting": ("Proposal", "propose", "resolve_peer"),
    "control.administration": (
        "Loader",
        "add_acquaintance",
        "document_loading",
        "examine_peer",
        "peer_documents",
        "peer_status",
        "stop_peer",
    ),
    "control.background": ("DAEMON_LOG", "start_in_background"),
    "control.client": ("ENVIRONMENT", "Client", "find_peer"),
    "control.endpoint": ("ControlAddress",),
    "models.control": (
        "AcquaintanceRequest",
        "DocumentModel",
        "Finding",
        "ItemLine",
        "KnownModel",
        "Level",
        "Loaded",
        "QuestionRequest",
        "ReceiptLast",
        "ReceiptLineModel",
        "ReceiptModel",
        "RequestModel",
        "StatusModel",
    ),
    "models.feed": ("FeedsModel", "GettingModel"),
    "models.subscriptions": (
        "DeadLetterModel",
        "LackingModel",
        "NotificationModel",
        "PublishedModel",
        "RenderingModel",
        "SubscriptionModel",
        "SubscriptionEntry",
        "SubscriptionsAdded",
        "SubscriptionsRequest",
        "Understanding",
    ),
    "daemon": ("serve",),
    "folder.files": ("write_atomically",),
    "folder.folder": ("Acquaintance", "PeerFolder"),
    "wire.standing": ("Side", "Standing"),
    "control.subscriptions": ("Subscriptions", "subscriptions_at"),
    "query.translating": ("translated",),
}

__all__ = [
    "DAEMON_LOG",
    "ENVIRONMENT",
    "Acknowledge",
    "Acquaintance",
    "AcquaintanceRequest",
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
    "DeadLetterModel",
    "Deliver",
    "DocumentModel",
    "End",
    "Error",
    "Evaluate",
    "Evaluated",
    "Event",
    "Failed",
    "FeedsModel",
    "Finding",
    "GettingModel",
    "Hop",
    "HopPath",
    "Instruction",
    "ItemLine",
    "KnownModel",
    "LackingModel",
    "Level",
    "Limits",
    "Loaded",
    "Loader",
    "Lost",
    "Message",
    "Neighbour",
    "NotificationModel",
    "PeerFolder",
    "PeerId",
    "PeerState",
    "Proposal",
    "PublishedModel",
    "Query",
    "QuestionRequest",
    "Receipt",
    "ReceiptLast",
    "ReceiptLine",
    "ReceiptLineModel",
    "ReceiptModel",
    "Received",
    "RenderingModel",
    "RequestModel",
    "Send",
    "Side",
    "Standing",
    "Status",
    "StatusModel",
    "Stop",
    "SubscriptionEntry",
    "SubscriptionModel",
    "Subscriptions",
    "SubscriptionsAdded",
    "SubscriptionsRequest",
    "Tick",
    "Translate",
    "Translated",
    "Understanding",
    "Untranslated",
    "Wake",
    "add_acquaintance",
    "body_key",
    "document_loading",
    "encode",
    "examine_peer",
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
            with uncollected():
                return getattr(import_module(f"heptox.peer.{module}"), name)
    raise AttributeError(f"module {__name__} has no attribute {name}")
