"""The worked example of the paper on matching: what our relations hold is what its figures show.

Our numbers are not those of the paper, but in the same order, and are given its numbers before tables are compared.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest

from heptox.grammar import parse_subscription
from heptox.matching import RelationalMatcher, TagPaths, branches
from heptox.xml import parse_document

FIXTURE: Final = Path(__file__).parent.parent / "fixtures" / "subscriptions" / "worked_example.txt"
SUBSCRIPTION: Final = 5
MESSAGE: Final = 12


def figures() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    name = ""
    for line in FIXTURE.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            name = line[3:]
            found[name] = []
        elif name and line:
            found[name].append(line)
    return found


FIGURES: Final = figures()


class Example:
    """The example carried out, and the paper's numbers for ours."""

    def __init__(self, matcher: RelationalMatcher, tag_paths: TagPaths) -> None:
        self.query = matcher.query
        self.tag_paths = tag_paths
        self.linear_path = self.numbers("SELECT linear_path FROM linear_path", 100)
        self.branching = self.numbers("SELECT branching FROM linear_path_branching", 50)
        self.chain = {0: 0} | self.numbers("SELECT chain_id FROM chain WHERE NOT final", 501)
        self.tag_path = self.numbers("SELECT DISTINCT tag_path FROM path_match", 311)

    def numbers(self, statement: str, first: int) -> dict[int, int]:
        return {own: first + place for place, own in enumerate(sorted(number for (number,) in self.query(statement)))}

    def facts(self) -> list[tuple[int, str, str]]:
        rows = self.query("SELECT v.tag_path, f.id_path, v.text FROM fact AS f JOIN value AS v USING (value)")
        return sorted((tag_path, ".".join(map(str, path)), text) for tag_path, path, text in rows)

    def leaves(self) -> list[list[tuple[int, int, str]]]:
        """For each branch the tag paths, branching information and id paths that fulfil it."""
        rows = self.query(
            "SELECT l.place, l.tag_path, l.branching, f.id_path FROM leaf AS l JOIN fact AS f USING (fact) ORDER BY ALL"
        )
        places = sorted({place for place, *_ in rows})
        return [
            [(tag_path, branching, ".".join(map(str, path))) for at, tag_path, branching, path in rows if at == place]
            for place in places
        ]

    def positions(self) -> dict[tuple[int, int], str]:
        """The paper's ``BP_Position`` by tag path and branching information."""
        depths: dict[int, list[int]] = {0: []}
        above = {
            number: (parent, depth)
            for number, parent, depth in self.query(
                "SELECT DISTINCT p.placement, p.parent, b.depth FROM placement AS p LEFT JOIN tag_path_branching AS b"
                " ON b.placement = p.placement WHERE b.depth IS NOT NULL"
            )
        }
        parents = dict(self.query("SELECT parent, max(parent_depth) FROM placement GROUP BY parent"))
        for number in sorted(above):
            parent, depth = above[number]
            depths[number] = [*([parents[parent]] if parent else []), depth]
        points = dict(self.query("SELECT branching, points FROM linear_path_branching"))
        found: dict[tuple[int, int], list[str]] = {}
        for tag_path, branching, placement in self.query(
            "SELECT tag_path, branching, placement FROM tag_path_branching ORDER BY ALL"
        ):
            found.setdefault((tag_path, branching), []).append(f"{{{','.join(map(str, depths[placement]))}}}")
        return {
            key: ",".join(
                [f"{{{','.join(point.split('=')[0] for point in points[key[1]].split('&'))}}}", *sorted(ways)]
            )
            for key, ways in found.items()
        }


@pytest.fixture(scope="module")
def example() -> Iterator[Example]:
    tag_paths = TagPaths()
    with RelationalMatcher(tag_paths=tag_paths) as matcher:
        matcher.add_texts([(SUBSCRIPTION, FIGURES["3.2 subscription 5"][0])])
        document = parse_document(FIGURES["3.5 message 12"][0])
        assert list(matcher.match([document], "shared")) == [(0, SUBSCRIPTION)]
        yield Example(matcher, tag_paths)


def lines(rows: list[tuple[Any, ...]]) -> list[str]:
    return [" | ".join("null" if value is None else str(value) for value in row) for row in rows]


def test_the_branches() -> None:
    (pattern,) = parse_subscription(FIGURES["3.2 subscription 5"][0])
    assert [str(branch) for branch in branches(pattern)] == FIGURES["3.3 branches"]


def test_the_linear_paths(example: Example) -> None:
    rows = example.query("SELECT path, linear_path, prefix, postfix, middle FROM linear_path ORDER BY linear_path")
    found = [(path, example.linear_path[number], *pieces) for path, number, *pieces in rows]
    assert lines(found) == FIGURES["3.4 Query_Linear_Path"]


def test_the_chain_of_predicates(example: Example) -> None:
    rows = example.query(
        "SELECT c.pre_id, e.linear_path, k.text, c.chain_id, c.final, s.number FROM chain AS c"
        " JOIN equality AS e USING (equality) JOIN constant AS k USING (constant)"
        " LEFT JOIN conjunction AS s ON c.final AND s.conjunction = c.chain_id ORDER BY e.linear_path"
    )
    found = [
        (
            example.chain[pre],
            example.linear_path[path],
            "=",
            text,
            number if final else example.chain[chain],
            "T" if final else "F",
        )
        for pre, path, text, chain, final, number in rows
    ]
    assert lines(found) == FIGURES["3.4 Query_Predicate"]


def test_the_branching_information(example: Example) -> None:
    rows = example.query(
        "SELECT p.path, b.linear_path, b.points, b.branching FROM linear_path_branching AS b"
        " JOIN linear_path AS p USING (linear_path) ORDER BY b.branching"
    )
    found = [(path, example.linear_path[own], points, example.branching[number]) for path, own, points, number in rows]
    assert lines(found) == FIGURES["3.4 LinearPath_BrInfo"]
    rows = example.query(
        "SELECT k.number, list(p.branching ORDER BY p.place) FROM predicate AS p"
        " JOIN conjunction AS k USING (conjunction) GROUP BY k.number"
    )
    packed = [(number, "&".join(str(example.branching[each]) for each in found)) for number, found in rows]
    assert lines(packed) == FIGURES["3.4 Query_BranchPoint"]


def test_the_message(example: Example) -> None:
    facts = example.facts()
    texts = [(example.tag_paths.text(tag_path), path, text) for tag_path, path, text in facts]
    assert lines(texts) == FIGURES["3.6 SAX parsing result"]
    coded = [(MESSAGE, example.tag_path[tag_path], path, text) for tag_path, path, text in facts]
    assert lines(coded) == FIGURES["3.7 SAX_Parse_Result"]


def test_the_tag_paths(example: Example) -> None:
    found = [
        (example.tag_paths.text(own), example.tag_paths.inverse(own), number)
        for own, number in example.tag_path.items()
    ]
    assert lines(found) == FIGURES["3.7 TagPath_Map"]


def test_which_paths_match(example: Example) -> None:
    rows = example.query("SELECT tag_path, linear_path FROM path_match ORDER BY ALL")
    found = [(example.tag_path[tag_path], example.linear_path[path]) for tag_path, path in rows]
    assert lines(found) == FIGURES["3.8 PathMatch"]


def test_the_positions_of_branching_points(example: Example) -> None:
    found = [
        (example.tag_path[tag_path], example.branching[branching], positions)
        for (tag_path, branching), positions in sorted(example.positions().items())
    ]
    assert lines(found) == FIGURES["3.11 TagPath_BrInfo"]


def test_what_is_looked_at_last(example: Example) -> None:
    combinations = list(product(*example.leaves()))
    found = [
        (MESSAGE, SUBSCRIPTION, " ".join(f"({example.tag_path[tag_path]},{path})" for tag_path, _, path in each))
        for each in combinations
    ]
    assert lines(found) == FIGURES["3.12 Input to Op12"]
    positions = example.positions()
    placed = [
        (
            MESSAGE,
            SUBSCRIPTION,
            " ".join(f"({positions[tag_path, branching]},{path})" for tag_path, branching, path in each),
        )
        for each in combinations
    ]
    assert lines(placed) == FIGURES["3.13 BP_Position"]


def test_the_branching_points_are_found_at_one_place(example: Example) -> None:
    rows = example.query(
        "SELECT DISTINCT p.node, list_extract(f.id_path, w.parent_depth) FROM placed AS p JOIN fact AS f USING (fact)"
        " JOIN placement AS w USING (placement) WHERE p.level = 2"
        " AND (SELECT count(DISTINCT q.part) FROM placed AS q WHERE q.level = 2 AND q.node = p.node) = 2"
    )
    assert [f"{upper}.{lower}" for lower, upper in rows] == FIGURES["3.5.2 natural joins"]
