"""Peers: messages, the peer as a pure state machine, transports, and the daemon (``peers.md``).

This front door stays light: the transport loads trio and libp2p, and is imported from ``heptox.peer.wire.libp2p``
by the daemon alone; what needs a heavy library is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from heptox.doors import later

if TYPE_CHECKING:
    from heptox.peer.acquaintance.acquainting import (
        Proposal as Proposal,
        propose as propose,
        resolve_peer as resolve_peer,
    )
    from heptox.peer.control.administration import (
        Loader as Loader,
        add_acquaintance as add_acquaintance,
        document_loading as document_loading,
        examine_peer as examine_peer,
        peer_documents as peer_documents,
        peer_status as peer_status,
        stop_peer as stop_peer,
    )
    from heptox.peer.control.background import (
        DAEMON_LOG as DAEMON_LOG,
        start_in_background as start_in_background,
    )
    from heptox.peer.control.client import (
        Client as Client,
    )
    from heptox.peer.control.endpoint import (
        ControlAddress as ControlAddress,
    )
    from heptox.peer.control.subscriptions import (
        Subscriptions as Subscriptions,
        subscriptions_at as subscriptions_at,
    )
    from heptox.peer.daemon import (
        serve as serve,
    )
    from heptox.peer.folder.choosing import (
        find_peer as find_peer,
    )
    from heptox.peer.folder.files import (
        write_atomically as write_atomically,
    )
    from heptox.peer.folder.folder import (
        Acquaintance as Acquaintance,
        PeerFolder as PeerFolder,
    )
    from heptox.peer.folder.inferring import (
        create_inferred as create_inferred,
    )
    from heptox.peer.models.control import (
        AcquaintanceRequest as AcquaintanceRequest,
        BoundsModel as BoundsModel,
        DocumentModel as DocumentModel,
        Finding as Finding,
        ItemLine as ItemLine,
        KnownModel as KnownModel,
        Level as Level,
        Loaded as Loaded,
        QuestionRequest as QuestionRequest,
        ReceiptLast as ReceiptLast,
        ReceiptLineModel as ReceiptLineModel,
        ReceiptModel as ReceiptModel,
        RequestModel as RequestModel,
        ShellModel as ShellModel,
        ShortfallModel as ShortfallModel,
        StatusModel as StatusModel,
    )
    from heptox.peer.models.feed import (
        FeedsModel as FeedsModel,
        GettingModel as GettingModel,
    )
    from heptox.peer.models.subscriptions import (
        DeadLetterModel as DeadLetterModel,
        NotificationModel as NotificationModel,
        PublishedModel as PublishedModel,
        RenderingModel as RenderingModel,
        SubscriptionEntry as SubscriptionEntry,
        SubscriptionModel as SubscriptionModel,
        SubscriptionsAdded as SubscriptionsAdded,
        SubscriptionsRequest as SubscriptionsRequest,
        Understanding as Understanding,
    )
    from heptox.peer.process.evaluating import (
        evaluated_once as evaluated_once,
    )
    from heptox.peer.query.bounds import (
        Limits as Limits,
    )
    from heptox.peer.query.events import (
        Acquainted as Acquainted,
        Arrived as Arrived,
        Ask as Ask,
        Asked as Asked,
        Completed as Completed,
        Conclude as Conclude,
        Deliver as Deliver,
        Evaluate as Evaluate,
        Evaluated as Evaluated,
        Event as Event,
        Failed as Failed,
        Instruction as Instruction,
        Lost as Lost,
        Neighbour as Neighbour,
        Receipt as Receipt,
        Received as Received,
        Send as Send,
        Tick as Tick,
        Translate as Translate,
        Translated as Translated,
        Untranslated as Untranslated,
        Wake as Wake,
    )
    from heptox.peer.query.state import (
        PeerState as PeerState,
    )
    from heptox.peer.query.translating import (
        translated as translated,
    )
    from heptox.peer.wire.messages import (
        Acknowledge as Acknowledge,
        Answers as Answers,
        Body as Body,
        Cancel as Cancel,
        End as End,
        Error as Error,
        Hop as Hop,
        HopPath as HopPath,
        Message as Message,
        Query as Query,
        ReceiptLine as ReceiptLine,
        Status as Status,
        body_key as body_key,
        encode as encode,
        peers_of as peers_of,
    )
    from heptox.peer.wire.standing import (
        Side as Side,
        Standing as Standing,
    )

__getattr__ = later(__name__)
