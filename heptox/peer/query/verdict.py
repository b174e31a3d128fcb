"""Whether an answer is complete, and what it lacks otherwise.

An answer is **complete** when every peer within the hop limit that is known was asked, along each path by a translation
without loss, and has answered whole. That a peer is whole along one path excuses no other: what loses a condition, or a
leaf, says something else there, and what loses nothing may speak of fewer nodes. What an answer lacks has a name, and
something that would mend it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from heptox.peer.query.reach import peer_digest
from heptox.peer.wire.messages import HELD_BACK, ReceiptLine, Status

MOST_NAMED: Final = 20
"""Peers, and leaves, that a shortfall names."""


class Lack(StrEnum):
    """Why an answer is not complete."""

    LOST = "lost on the way"
    NOT_ASKED = "not asked"
    HIDDEN = "hidden"
    HOP_LIMIT = "hop limit"
    REFUSED = "refused"
    DENIED = "denied"
    TIMED_OUT = "timed out"
    UNREACHABLE = "unreachable"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """One way in which an answer lacks something: at so many ``peers``, the first of which are ``named``, and with how
    many that are known ``behind`` them and were not asked along other paths; what it ``costs``, and what would ``mend``
    it.
    """

    lack: Lack
    peers: int
    behind: int
    named: tuple[str, ...]
    costs: str
    mend: str


def shortfalls(*receipts: Sequence[ReceiptLine]) -> tuple[Shortfall, ...]:
    """What an answer lacks that is made of those to some queries, by the lines of their receipts; none where it is
    complete.
    """
    found: dict[Lack, list[ReceiptLine]] = {}
    behind: dict[Lack, set[str]] = {}
    for lines in receipts:
        answered = _answered(lines)
        for line in lines:
            for lack in _lacks(line, answered):
                found.setdefault(lack, []).append(line)
                behind.setdefault(lack, set()).update(digest for digest in line.behind if digest not in answered)
    return tuple(_shortfall(lack, found[lack], len(behind[lack])) for lack in Lack if lack in found)


def reached(lines: Sequence[ReceiptLine]) -> tuple[int, int]:
    """How many peers have answered, along some path, and of how many it is known that there are."""
    named = {peer_digest(line.peer) for line in lines}
    return len(_answered(lines)), len(named.union(*(line.behind for line in lines)))


def _answered(lines: Sequence[ReceiptLine]) -> set[str]:
    """The digests of the peers that have answered."""
    return {peer_digest(line.peer) for line in lines if line.status is Status.ANSWERED}


def _lacks(line: ReceiptLine, answered: set[str]) -> Iterator[Lack]:
    """What an answer lacks along one path, where some peers have ``answered``, by digests, along others."""
    if _IS_HELD_BACK.search(line.reason):
        yield Lack.HIDDEN
    elif not line.status.complete:
        yield Lack(line.status.value)
    elif line.status is Status.NOTHING:
        yield from [Lack.NOT_ASKED] if line.losses else []
    else:
        if any(map(HELD_BACK.search, line.losses)):
            yield Lack.HIDDEN
        if not all(map(HELD_BACK.search, line.losses)):
            yield Lack.LOST
        is_cut = line.beyond and len(line.path) > 1  # who asks nobody wants no others
        if is_cut and not (line.behind and answered.issuperset(line.behind)):
            yield Lack.HOP_LIMIT  # nobody is left out behind a path that others lead around


_IS_HELD_BACK: Final = re.compile(r"HX710[789] ")
"""The reason of a peer that refuses a query for what it hides, or counts only."""


def _shortfall(lack: Lack, lines: list[ReceiptLine], behind: int) -> Shortfall:
    names = {line.peer: line.name for line in lines}
    costs, mend = _WORDS[lack]
    return Shortfall(lack, len(names), behind, tuple(names.values())[:MOST_NAMED], costs(lines), mend(lines))


# -- words -----------------------------------------------------------------------------------------------------------


def _losses(lines: list[ReceiptLine], *, held_back: bool) -> str:
    """The losses of lines, each once."""
    several = (loss for line in lines for loss in line.losses if bool(HELD_BACK.search(loss)) is held_back)
    losses = dict.fromkeys(several)
    more = len(losses) - MOST_NAMED
    return "; ".join([*list(losses)[:MOST_NAMED], *([f"and {more} more"] if more > 0 else [])])


def _mappings(lines: list[ReceiptLine]) -> str:
    """Between whom the last hops lead."""
    ends = dict.fromkeys((line.path[-2].name, line.name) for line in lines if len(line.path) > 1)
    several = [f"that of {one} with {other}" for one, other in ends][:MOST_NAMED]
    return ", ".join(several) or "a mapping"


def _names(lines: list[ReceiptLine]) -> str:
    return ", ".join(list(dict.fromkeys(line.name for line in lines))[:MOST_NAMED])


def _reasons(lines: list[ReceiptLine]) -> str:
    reasons = list(dict.fromkeys(line.reason for line in lines if line.reason))[:MOST_NAMED]
    return f" ({'; '.join(reasons)})" if reasons else ""


_Words = Callable[[list[ReceiptLine]], str]

_WORDS: Final[dict[Lack, tuple[_Words, _Words]]] = {
    Lack.LOST: (
        lambda lines: f"parts of items, or items, there and behind: {_losses(lines, held_back=False)}",
        lambda lines: f"an arrow for it in {_mappings(lines)}",
    ),
    Lack.NOT_ASKED: (
        lambda lines: f"all that they and peers behind them have: {_losses(lines, held_back=False)}",
        lambda lines: f"an arrow for it in {_mappings(lines)}, or a query that does not need it",
    ),
    Lack.HIDDEN: (
        lambda lines: f"what they do not show: {_losses(lines, held_back=True)}{_reasons(lines)}",
        lambda lines: f"whoever keeps {_names(lines)} may show it to you",
    ),
    Lack.HOP_LIMIT: (
        lambda _: "all that peers behind them have, as far as no other path leads there",
        lambda _: "more --hops",
    ),
    Lack.REFUSED: (
        lambda lines: f"all that they and peers behind them have{_reasons(lines)}",
        lambda _: "a query that can be translated: for less at a time",
    ),
    Lack.DENIED: (
        lambda _: "all that they and peers behind them have",
        lambda lines: f"whoever keeps {_names(lines)} may let those ask who lead there",
    ),
    Lack.TIMED_OUT: (
        lambda _: "what they, or peers behind them, had not sent yet",
        lambda _: "a longer --timeout",
    ),
    Lack.UNREACHABLE: (
        lambda _: "all that they and peers behind them have",
        lambda lines: f"to ask again when {_names(lines)} can be reached",
    ),
    Lack.FAILED: (
        lambda lines: f"what they, or peers behind them, have besides{_reasons(lines)}",
        lambda lines: f"what the reason says; whoever keeps {_names(lines)} can look into its log",
    ),
    Lack.CANCELLED: (
        lambda _: "what had not come yet",
        lambda _: "to ask again",
    ),
}
"""What an answer lacks, and what would mend it."""
