"""What is asked of every engine: documents of the auction schema, and six queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from heptox.cluster import QUERIES as AUCTION_QUERIES, auction_document, query

PEOPLE_PER_MB: Final = 580
"""How many people make a megabyte of ``auction.dtd``."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and at most how much of the time of the fastest rival it is to take.

    ``with_maps`` is the same query for processors that look through one side of a join for each element of the other:
    one side is put into a map first, which makes it a hash join. A query without a join has none.
    """

    shape: str
    text: str
    target: float
    with_maps: str | None = None


PATH: Final = Asked(AUCTION_QUERIES["Q1"], query("Q1"), 0.5)
POINT: Final = Asked("a point by id", query("Q2"), 1.5)

QUERIES: Final = (
    PATH,
    POINT,
    Asked(
        AUCTION_QUERIES["Q3"],
        query("Q3"),
        0.33,
        """let $people := map:merge(for $p in //person group by $k := string($p/@id) return map:entry($k, $p))
        for $o in //open_auction, $p in $people($o/seller/@person)
        where $o/type = "Featured"
        return <seller auction="{$o/@id}">{$p/name}</seller>""",
    ),
    Asked(
        AUCTION_QUERIES["Q4"],
        query("Q4"),
        0.33,
        """let $people := map:merge(for $p in //person group by $k := string($p/@id) return map:entry($k, $p))
        for $c in //closed_auction[price >= 40], $p in $people($c/buyer/@person)
        where $p/address/country = "Germany"
        return <purchase>{$p/name}{$c/price}</purchase>""",
    ),
    Asked(
        AUCTION_QUERIES["Q6"],
        query("Q6"),
        0.33,
        """let $people := map:merge(for $p in //person group by $k := string($p/@id) return map:entry($k, $p))
        let $items := map:merge(for $i in //item group by $k := string($i/@id) return map:entry($k, $i))
        for $o in //open_auction, $i in $items($o/itemref/@item), $p in $people($o/seller/@person)
        return <offer><what>{data($i/name)}</what><who>{data($p/name)}</who>{$o/current}</offer>""",
    ),
    Asked(
        "a value join without ids",
        """for $c in //closed_auction, $o in //open_auction
        where $c/price = $o/current
        return <same>{$c/itemref/@item}{data($o/@id)}</same>""",
        0.4,
        """let $open := map:merge(for $o in //open_auction group by $k := string($o/current) return map:entry($k, $o))
        for $c in //closed_auction, $o in $open($c/price)
        return <same>{$c/itemref/@item}{data($o/@id)}</same>""",
    ),
)


def document(folder: Path, megabytes: int) -> Path:
    """A document of about that size in a folder; one that is there already is taken."""
    path = folder / f"auction-{megabytes}.xml"
    if not path.exists():
        unfinished = path.with_suffix(".part")
        with unfinished.open("w", encoding="utf-8") as file:
            file.writelines(auction_document("auction", PEOPLE_PER_MB * megabytes))
        unfinished.rename(path)
    return path


def runs(megabytes: int) -> int:
    """How often each engine answers a query; the first half of the runs is not counted."""
    return 100 if megabytes <= 1 else 40 if megabytes <= 10 else 16 if megabytes <= 100 else 6


def counted(times: Sequence[float]) -> Sequence[float]:
    """The runs that count: the second half, for the first ones warm the engine up."""
    return times[len(times) // 2 :]
