"""How two peers stand to each other, and what is answered to an offer: decided here, without I/O."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from heptox.settings import Policy


class Side(StrEnum):
    """Which side of a mapping a schema is."""

    SOURCE = "source"
    TARGET = "target"

    @property
    def other(self) -> Side:
        return Side.TARGET if self is Side.SOURCE else Side.SOURCE


class Standing(StrEnum):
    """How far an acquaintance is agreed on."""

    PROPOSED = "proposed"
    """One side wants it; the other has not decided, or was not reached."""
    AGREED = "agreed"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    """The other side has ended it."""

    @property
    def in_force(self) -> bool:
        """Whether queries travel: what is proposed is tried, so that its receipt says what is missing."""
        return self in (Standing.PROPOSED, Standing.AGREED)


class Step(StrEnum):
    """What is done about an offer."""

    CONFIRM = "confirm"
    """It is what we hold: both agree from now on."""
    ACCEPT = "accept"
    """It becomes an acquaintance without asking anybody."""
    ASK = "ask"
    """It waits for the administrator."""
    WAIT = "wait"
    """It is the old agreement, while our own offer of a new one waits for the other side."""
    REFUSE = "refuse"
    END = "end"
    """The other side takes for agreed what was ended here."""


@dataclass(frozen=True, slots=True)
class CurrentMapping:
    """The mapping that we have with the peer that makes an offer: its digest, and our side of it."""

    digest: str
    side: Side


@dataclass(frozen=True, slots=True)
class OfferedMapping:
    """The mapping of an offer: its digest, the sender's side, whether the sender takes it for agreed."""

    digest: str
    side: Side
    agreed: bool


def step(
    offered: OfferedMapping, current: CurrentMapping | None, policy: Policy, *, listed: bool, refused: str | None
) -> Step:
    """What to do about an offer, before its mapping is looked at.

    ``listed``: the administrator trusts the peer by its id. ``refused`` is the digest of the last offer of that peer
    that was refused.

    >>> offered = OfferedMapping("new", Side.SOURCE, agreed=False)
    >>> step(offered, None, "ask", listed=False, refused=None)
    <Step.ASK: 'ask'>
    >>> step(offered, CurrentMapping("new", Side.TARGET), "ask", listed=False, refused=None)
    <Step.CONFIRM: 'confirm'>
    """
    if current and current.digest == offered.digest and current.side is offered.side.other:
        return Step.CONFIRM
    if offered.agreed:
        return Step.WAIT if current else Step.END
    if refused == offered.digest:
        return Step.REFUSE
    if listed or (policy == "open" and current is None):
        return Step.ACCEPT
    return Step.REFUSE if policy == "listed" and current is None else Step.ASK
