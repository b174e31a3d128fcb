"""Large subscriptions of neighbours: the matcher learns of them where nobody waits for it, and always in time."""

from __future__ import annotations

from heptox.feed.table import MOST_WAITING, PublicationTable
from heptox.matching import MemoryMatcher
from heptox.xml import parse_document

LARGE = "//a" + "".join(f"[b{number}]" for number in range(500))
DOCUMENT = parse_document("<a>" + "".join(f"<b{number}/>" for number in range(500)) + "</a>")


def test_of_what_is_large_the_matcher_learns_later_but_before_a_document() -> None:
    matcher = MemoryMatcher()
    table = PublicationTable(matcher)
    table.add("north", 1, "//a")
    assert len(matcher) == 1
    table.add("north", 2, LARGE)
    table.add("north", 3, "//a[b1]")
    assert len(matcher) == 1
    assert [entry.text for entry in table.matching(table.match(DOCUMENT))] == ["//a", LARGE, "//a[b1]"]
    table.remove("north", 2)
    assert len(matcher) == 3
    table.learn_all()
    assert len(matcher) == 2
    table.add("north", 4, LARGE)
    for _ in range(MOST_WAITING):
        table.add("north", 5, "//c")
        table.remove("north", 5)
    assert len(matcher) == 3, "so many changes do not wait for a large one"
