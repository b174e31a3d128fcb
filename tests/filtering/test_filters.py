"""Filters that come and go, and their plans."""

from __future__ import annotations

import pickle

import pytest

from heptox.errors import GrammarError, Position
from heptox.filtering import POTPOURRI, WHOLE, FilterSet, Part, Situation
from heptox.schema import read_dtd
from tests.support.fixtures import FIXTURES

NEWS = read_dtd(FIXTURES / "chunking" / "news.dtd", "news")


def filters(*texts: str) -> FilterSet:
    made = FilterSet(NEWS)
    for number, text in enumerate(texts, 1):
        made.add(number, text)
    return made


def told(parts: tuple[Part, ...]) -> list[tuple[str, list[int]]]:
    return [(part.name, [query.number for query in part.queries]) for part in parts]


def test_filters_are_in_chunks_the_potpourri_or_on_the_whole_document() -> None:
    given = filters(
        "/news/item/title", "/news/part/title", "//title", "/news[head/by]", "count(//by)", "id('i1')", "/news/zz"
    )
    assert len(given) == 7
    assert told(given.plan(2).parts()) == [("chunk 1", [1, 3]), ("chunk 2", [2, 3]), (POTPOURRI, [4, 5]), (WHOLE, [6])]
    assert told(given.plan(None).parts()) == [(WHOLE, [1, 2, 3, 4, 5, 6])]


def test_what_has_to_see_all_of_a_document_is_not_in_pieces_of_it() -> None:
    given = filters("/news/item[2]/title", "/news/item[by]/title")
    assert told(given.plan(1).parts()) == [("chunk 1", [1, 2])]
    assert told(given.plan(1).parts(Situation(cut=True))) == [("chunk 1", [2]), (POTPOURRI, [1])]


def test_what_relies_on_the_schema_is_on_the_whole_of_a_document_outside_it() -> None:
    given = filters("/news/item/title", "//title", "/news/zz")
    assert given.plan(1).relies_on_schema
    assert not filters("/news/item/title").plan(1).relies_on_schema
    assert told(given.plan(1).parts(Situation(outside=True))) == [("chunk 1", [1]), (WHOLE, [2, 3])]
    assert told(given.plan(None).parts(Situation(outside=True))) == [(WHOLE, [1, 2, 3])]
    (part,) = given.plan(None).parts(Situation(outside=True))
    assert [query.text for query in part.queries] == ["/news/item/title", "//title", "/news/zz"]


def test_the_results_of_branches_in_several_chunks_are_merged() -> None:
    parts = filters("/news/*/title", "/news/head/title", "/news/item/title", "/news/part/title").plan(3).parts()
    assert {number for part in parts for number in part.merged} == {1}
    assert all(part.projection is not None and part.projection.marked for part in parts if part.merged)


def test_filters_of_higher_priority_come_first_in_a_part() -> None:
    given = FilterSet(NEWS)
    for number, priority in ((1, 0), (2, 5), (3, -1), (4, 5)):
        given.add(number, "/news/item/title", priority=priority)
    (part,) = given.plan(1).parts()
    assert ([query.number for query in part.queries], part.priority) == ([2, 4, 1, 3], 5)


def test_filters_come_and_go() -> None:
    given = filters("/news/item/title", "/news/part/title")
    with pytest.raises(ValueError, match="there is a filter 1"):
        given.add(1, "/news")
    given.remove(1)
    with pytest.raises(KeyError):
        given.remove(1)
    assert told(given.plan(2).parts()) == [("chunk 1", [2])]
    given.remove(2)
    assert (len(given), given.plan(2).parts(), given.plan(None).parts()) == (0, (), ())
    assert [node.path for node in given.tree.root.walk()] == [()]
    given.add(1, "/news/head/title")
    assert told(given.plan(2).parts()) == [("chunk 1", [1])]


def test_a_filter_that_is_refused_is_not_there() -> None:
    given = filters()
    with pytest.raises(GrammarError) as caught:
        given.add(1, "/news[", position=Position(7, 3, "filters.txt"))
    assert str(caught.value).startswith("filters.txt:7:9: HX3001")
    assert len(given) == 0


def test_a_plan_may_be_sent_to_others() -> None:
    plan = filters("/news/item[by = 'Ann']/title", "//title", "count(//by)").plan(2)
    assert pickle.loads(pickle.dumps(plan)).parts() == plan.parts()
