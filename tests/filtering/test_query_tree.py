"""The query tree, whose weights are those of the paper's Figure 5, and the sizes of what stands at its nodes."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, strategies as st

from heptox.filtering import QueryTree, Sizes, TagPath

PATHS = st.lists(st.text("abc", min_size=1, max_size=4).map(lambda text: ("r", *text)), max_size=12)


def tree_of(paths: Iterable[TagPath]) -> QueryTree:
    tree = QueryTree()
    tree.add(paths)
    return tree


def weights(tree: QueryTree) -> list[tuple[str, int, int]]:
    return [("/".join(node.path), node.passing, node.ending) for node in tree.root.walk()]


def test_the_weights_of_figure_5() -> None:
    tree = tree_of([("a", "b", "c"), ("a", "b", "d"), ("a", "b", "c")])
    assert weights(tree) == [("", 3, 0), ("a", 3, 0), ("a/b", 3, 0), ("a/b/c", 2, 2), ("a/b/d", 1, 1)]


@given(PATHS, PATHS)
def test_what_was_put_in_and_taken_out_leaves_no_trace(paths: list[TagPath], others: list[TagPath]) -> None:
    tree = tree_of([*others, *paths])
    tree.remove(others)
    assert sorted(weights(tree)) == sorted(weights(tree_of(paths)))


@given(PATHS)
def test_weights_count_branches(paths: list[TagPath]) -> None:
    tree = tree_of(paths)
    for node in tree.root.walk():
        depth = len(node.path)
        assert node.passing == sum(path[:depth] == node.path for path in paths)
        assert node.ending == sum(path == node.path for path in paths)
        assert tree.node(node.path) is node
    assert tree.node(("r", "z")) is None


def test_sizes_that_are_not_known_are_equal_shares() -> None:
    assert Sizes().of(("a", "b"), 4) == 0.25
    assert Sizes(100.0).of(("a",)) == 100.0


def test_a_path_that_was_not_seen_has_no_bytes() -> None:
    sizes = Sizes(100.0, {("a", "b"): 60.0})
    assert sizes.of(("a", "b"), 7) == 60.0
    assert sizes.of(("a", "c"), 7) == 0.0
