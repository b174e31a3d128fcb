"""Feeds: documents come to the peers that have subscribed to them, from broker to broker (``routing.md``).

Every peer is a broker. What it does about subscriptions, routes and documents is decided here, without I/O.
"""

from heptox.feed.documents import Explained as Explained
from heptox.feed.events import (
    Acknowledged as Acknowledged,
    Acquaintances as Acquaintances,
    Agreed as Agreed,
    Break as Break,
    Distrusted as Distrusted,
    Event as Event,
    Fetch as Fetch,
    Fetched as Fetched,
    Forged as Forged,
    Instruction as Instruction,
    InWords as InWords,
    Keep as Keep,
    KeepDistrusted as KeepDistrusted,
    LinkDown as LinkDown,
    LinkUp as LinkUp,
    Note as Note,
    NotFetched as NotFetched,
    NotStored as NotStored,
    Published as Published,
    Publishes as Publishes,
    Reached as Reached,
    Received as Received,
    Record as Record,
    Recorded as Recorded,
    Send as Send,
    Store as Store,
    Stored as Stored,
    Subscribed as Subscribed,
    Tick as Tick,
    Translate as Translate,
    Translated as Translated,
    Unsubscribed as Unsubscribed,
    Wake as Wake,
)
from heptox.feed.forwarding import Method as Method
from heptox.feed.log import FeedLog as FeedLog
from heptox.feed.messages import (
    ANYTHING as ANYTHING,
    MOST_HELD as MOST_HELD,
    MOST_HOPS as MOST_HOPS,
    MOST_WANTED as MOST_WANTED,
    NO_MAPPING as NO_MAPPING,
    TEXT_LIMIT as TEXT_LIMIT,
    UNKNOWN as UNKNOWN,
    Announce as Announce,
    Budget as Budget,
    CatchUp as CatchUp,
    CaughtUp as CaughtUp,
    FeedDocument as FeedDocument,
    Hello as Hello,
    Message as Message,
    PeerId as PeerId,
    Publish as Publish,
    Replay as Replay,
    Subscribe as Subscribe,
    Unsubscribe as Unsubscribe,
    Withdraw as Withdraw,
    Wording as Wording,
)
from heptox.feed.questions import wanted as wanted
from heptox.feed.receptions import PublisherStatus as PublisherStatus
from heptox.feed.reports import Suspicion as Suspicion
from heptox.feed.router import Router as Router
from heptox.feed.routes import NEWS as NEWS
from heptox.feed.signing import (
    Gate as Gate,
    UnverifiedError as UnverifiedError,
)
from heptox.feed.table import MOST_DECIDED as MOST_DECIDED
from heptox.feed.trust import Following as Following
from heptox.signatures import (
    Signatures as Signatures,
    Unsigned as Unsigned,
)
