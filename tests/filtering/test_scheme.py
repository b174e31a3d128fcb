"""Chunking schemes: the situation of the paper's Figure 7 as corrected, and laws of all schemes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from heptox.filtering import (
    Chunk,
    ChunkingScheme,
    QueryTree,
    Sizes,
    TagPath,
    adapted,
    chunking_scheme,
)
from heptox.schema import SchemaGraph, parse_dtd
from tests.support.budget import tries
from tests.support.filtering.making import random_schema

FIGURE_7 = parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (c*, d*)> <!ELEMENT c EMPTY> <!ELEMENT d EMPTY>", "a")


def tree_of(*paths: TagPath) -> QueryTree:
    tree = QueryTree()
    tree.add(paths)
    return tree


def split(*texts: str) -> list[TagPath]:
    return [tuple(text.split("/")) for text in texts]


def prefixes(scheme: ChunkingScheme) -> list[list[str]]:
    return [["/".join(prefix) for prefix in chunk.prefixes] for chunk in scheme.chunks]


def flat(children: int) -> SchemaGraph:
    names = [f"e{number}" for number in range(children)]
    models = "".join(f"<!ELEMENT {name} (x*)>" for name in names)
    return parse_dtd(f"<!ELEMENT r ({', '.join(f'{name}*' for name in names)})> {models} <!ELEMENT x EMPTY>", "r")


# -- the paper -----------------------------------------------------------------------------------------------------


def test_figure_7_as_corrected() -> None:
    tree = tree_of(*split("a/b/c", "a/b/d", "a/b/c"))
    assert prefixes(chunking_scheme(tree, 2, FIGURE_7)) == [["a/b/c"], ["a/b/d"]]
    assert prefixes(chunking_scheme(tree, 1, FIGURE_7)) == [["a/b"]]
    assert prefixes(chunking_scheme(tree, 5, FIGURE_7)) == [["a/b/c"], ["a/b/d"]]


def test_no_node_is_split_in_which_a_branch_ends() -> None:
    tree = tree_of(*split("a/b", "a/b/c", "a/b/d", "a/b/c"))
    assert prefixes(chunking_scheme(tree, 3, FIGURE_7)) == [["a/b"]]


def test_what_ends_in_the_root_is_in_the_potpourri() -> None:
    scheme = chunking_scheme(tree_of(*split("a", "a/b/c")), 2, FIGURE_7)
    assert scheme.places(split("a")) is None
    assert scheme.places(split("a", "a/b/c")) is None
    assert scheme.places(split("a/b/c")) == frozenset({0})


# -- balance -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("degree", range(1, 13))
def test_equal_nodes_are_spread_evenly(degree: int) -> None:
    tree = tree_of(*((("r", f"e{number}", "x")) for number in range(12) for _ in range(3)))
    weights = [chunk.weight for chunk in chunking_scheme(tree, degree, flat(12)).chunks]
    assert len(weights) == degree
    assert sum(weights) == 36
    assert max(weights) - min(weights) <= 3


def test_nodes_are_weighed_by_branches_and_bytes() -> None:
    tree = tree_of(*split("r/e0", "r/e1", "r/e2", "r/e2", "r/e2"))
    sizes = Sizes(100.0, {("r", "e0"): 90.0, ("r", "e1"): 5.0, ("r", "e2"): 5.0})
    assert prefixes(chunking_scheme(tree, 2, flat(3), sizes)) == [["r/e0"], ["r/e2", "r/e1"]]
    even = Sizes(100.0, {("r", "e0"): 33.0, ("r", "e1"): 33.0, ("r", "e2"): 33.0})
    assert prefixes(chunking_scheme(tree, 2, flat(3), even)) == [["r/e2"], ["r/e0", "r/e1"]]


def test_heavy_nodes_are_split() -> None:
    graph = parse_dtd(
        "<!ELEMENT r (s*, t*)> <!ELEMENT s (u*, v*, w*)> <!ELEMENT t EMPTY>"
        "<!ELEMENT u EMPTY> <!ELEMENT v EMPTY> <!ELEMENT w EMPTY>",
        "r",
    )
    tree = tree_of(*split("r/t", *("r/s/u", "r/s/v", "r/s/w") * 5))
    assert prefixes(chunking_scheme(tree, 3, graph)) == [["r/s/u", "r/t"], ["r/s/v"], ["r/s/w"]]


def test_a_scheme_has_no_more_chunks_than_its_degree() -> None:
    with pytest.raises(ValueError, match="2 chunks in a scheme of degree 1"):
        ChunkingScheme(1, (Chunk((("a",),), 1, 1.0), Chunk((("b",),), 1, 1.0)))


# -- laws ----------------------------------------------------------------------------------------------------------

seeds = st.integers(0, 1 << 32)
degrees = st.integers(1, 8)


def random_paths(random: Random, graph: SchemaGraph, number: int) -> list[TagPath]:
    """Tag paths of a schema, some of which begin others."""
    return [_random_path(random, graph) for _ in range(number)]


def _random_path(random: Random, graph: SchemaGraph) -> TagPath:
    path = [graph.root]
    while (children := graph.elements[path[-1]].children) and random.random() < 0.75 and len(path) < 8:
        path.append(random.choice(children).name)
    return tuple(path)


def random_sizes(random: Random, paths: Sequence[TagPath]) -> Sizes:
    seen = {path[:depth]: random.choice((0.0, 1.0, 60.0)) for path in paths for depth in range(1, len(path) + 1)}
    return random.choice((Sizes(), Sizes(100.0, seen)))


@given(seeds, degrees)
@settings(max_examples=tries(200))
def test_laws_of_schemes(seed: int, degree: int) -> None:
    random = Random(seed)
    graph = random_schema(random)
    paths = random_paths(random, graph, random.randint(0, 30))
    scheme = chunking_scheme(tree_of(*paths), degree, graph, random_sizes(random, paths))
    check_chunks(scheme, paths, degree)
    for path in paths:
        assert (scheme.places([path]) is None) == (len(path) == 1)


def check_chunks(scheme: ChunkingScheme, paths: Sequence[TagPath], degree: int) -> None:
    given = [prefix for chunk in scheme.chunks for prefix in chunk.prefixes]
    assert len(scheme.chunks) <= degree
    for one, other in combinations(given, 2):
        assert one[: len(other)] != other[: len(one)]
    assert all(len(prefix) > 1 for prefix in given)
    for number, chunk in enumerate(scheme.chunks):
        begun = [path for path in paths if any(path[: len(prefix)] == prefix for prefix in chunk.prefixes)]
        assert chunk.weight == len(begun) > 0
        assert all(scheme.places([path]) == frozenset({number}) for path in begun)


@given(seeds, degrees)
@settings(max_examples=tries(200))
def test_laws_of_schemes_that_are_adapted(seed: int, degree: int) -> None:
    random = Random(seed)
    graph = random_schema(random)
    paths = random_paths(random, graph, random.randint(1, 20))
    sizes = random_sizes(random, paths)
    before = chunking_scheme(tree_of(*paths), degree, graph, sizes)
    later = [path for path in paths if random.random() < 0.7] + random_paths(random, graph, random.randint(0, 10))
    fresh = chunking_scheme(tree_of(*later), degree, graph, sizes)
    made = adapted(before, tree_of(*later), graph, sizes)
    check_chunks(made, later, degree)
    for path in later:
        is_above = any(prefix[: len(path)] == path for chunk in made.chunks for prefix in chunk.prefixes)
        assert made.places([path]) is not None or len(path) == 1 or is_above
    assert cost(made, later, sizes) <= 1.25 * cost(fresh, later, sizes) + 1e-9
    assert made == fresh or stays(before, made)


def cost(scheme: ChunkingScheme, paths: Sequence[TagPath], sizes: Sizes) -> float:
    """The dearest chunk, and the potpourri on the whole document."""
    potpourri = sum(scheme.places([path]) is None for path in paths)
    return max((chunk.weight * chunk.size for chunk in scheme.chunks), default=0.0) + potpourri * sizes.total


def stays(before: ChunkingScheme, after: ChunkingScheme) -> bool:
    """Whether prefixes that were together are together still, and those that were apart are apart."""
    were = {prefix: number for number, chunk in enumerate(before.chunks) for prefix in chunk.prefixes}
    are = {prefix: number for number, chunk in enumerate(after.chunks) for prefix in chunk.prefixes}
    kept = were.keys() & are.keys()
    return all((were[one] == were[other]) == (are[one] == are[other]) for one, other in combinations(kept, 2))


def test_prefixes_stay_where_they_were() -> None:
    graph = flat(4)
    before = chunking_scheme(tree_of(*split("r/e0", "r/e0", "r/e1")), 2, graph)
    assert prefixes(before) == [["r/e0"], ["r/e1"]]
    more = tree_of(*split("r/e0", "r/e0", "r/e1", "r/e2"))
    assert prefixes(adapted(before, more, graph)) == [["r/e0"], ["r/e1", "r/e2"]]
    less = tree_of(*split("r/e1"))
    assert prefixes(adapted(before, less, graph)) == [["r/e1"]]


def test_a_scheme_is_made_anew_where_that_is_worth_it() -> None:
    graph = flat(4)
    before = ChunkingScheme(2, (Chunk((("r", "e0"), ("r", "e1")), 2, 0.5), Chunk((("r", "e2"),), 1, 0.25)))
    heavy = tree_of(*split(*["r/e0"] * 10, *["r/e1"] * 10, "r/e2"))
    assert prefixes(adapted(before, heavy, graph)) == [["r/e0", "r/e2"], ["r/e1"]]
