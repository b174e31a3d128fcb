"""The relational matcher decides as embedding does, under each plan, while subscriptions come and go."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from heptox.errors import DisseminationError, GrammarError
from heptox.grammar import parse_subscription
from heptox.matching import PLANS, Plan, RelationalMatcher
from heptox.pattern import TreePattern
from heptox.xml import Document, parse_document
from tests.support.matching.conditions import printed
from tests.support.matching.embedding import document_node, matches
from tests.support.matching.making import random_condition, random_schema, random_text

Subscriptions = dict[int, tuple[TreePattern, ...]]


def drawn(seed: int, documents: int, subscriptions: int) -> tuple[list[Document], dict[int, str], Subscriptions]:
    random = Random(seed)
    schema = random_schema(random)
    found = [parse_document(random_text(random, schema)) for _ in range(documents)]
    nodes = [document_node(document) for document in found]
    texts: dict[int, str] = {}
    patterns: Subscriptions = {}
    while len(texts) < subscriptions:
        text = printed(random_condition(random, nodes), random)
        try:
            patterns[len(texts) + 3] = parse_subscription(text)
        except GrammarError:  # too many alternatives
            continue
        texts[len(texts) + 3] = text
    return found, texts, patterns


def embedded(documents: Iterable[Document], patterns: Subscriptions) -> list[tuple[int, int]]:
    return [
        (place, number)
        for place, node in enumerate(map(document_node, documents))
        for number, alternatives in patterns.items()
        if matches(alternatives, node)
    ]


@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32))
def test_each_plan_decides_as_embedding_does(seed: int) -> None:
    documents, texts, patterns = drawn(seed, 8, 30)
    expected = embedded(documents, patterns)
    with RelationalMatcher() as matcher:
        matcher.add_texts(texts.items())
        for plan in (None, *PLANS):
            assert list(matcher.match(documents, plan)) == expected, plan


@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 1 << 32))
def test_subscriptions_come_and_go(seed: int) -> None:
    random = Random(seed)
    documents, _, patterns = drawn(seed, 6, 30)
    present: Subscriptions = {}
    with RelationalMatcher() as matcher:
        while patterns:
            taken = random.sample(sorted(patterns), min(len(patterns), 10))
            present |= {number: patterns.pop(number) for number in taken}
            matcher.add_many((number, present[number]) for number in taken)
            gone = random.sample(sorted(present), 3)
            assert matcher.remove_many([*gone, 10_000]) == 3
            for number in gone:
                del present[number]
            if random.random() < 0.4:
                matcher.clean()
            ordered = dict(sorted(present.items()))
            assert len(matcher) == len(present)
            assert list(matcher.match(documents, random.choice(PLANS))) == embedded(documents, ordered)


CORNERS = [
    ("/a/b != 5", "<a><b>NaN</b></a>", True),
    ("/a/b != 5", "<a><b>x</b></a>", False),
    ("/a/b != 5", "<a><b>5.0</b><b>5</b></a>", False),
    ("/a/b != 5", "<a><b>5</b><b>6</b></a>", True),
    ("/a/b = 5 and /a/b != 5", "<a><b>5</b><b> 6 </b></a>", True),
    ("/a/b > 1e308", "<a><b>INF</b></a>", True),
    ("/a/b >= 1e999", "<a><b>INF</b></a>", True),
    ("/a/b > 1e999", "<a><b>INF</b></a>", False),
    ("/a/b <= -1e999", "<a><b>-INF</b></a>", True),
    ("/a/b >= -1e999", "<a><b>NaN</b></a>", False),
    ("/a/b = 0", "<a><b>-0</b></a>", True),
    ("/a/b = 1e999", "<a><b>INF</b></a>", True),
    ("/a/b = 'NaN'", "<a><b>NaN</b></a>", True),
    ("/a/b < 'b'", "<a><b>B</b></a>", True),
    ("/a/b < '\U00010000'", "<a><b>\uffee</b></a>", True),
    ("/a/b != ''", "<a><b/></a>", False),
    ("/a/b = ''", "<a><b/></a>", True),
    ("/a/b/text() = ''", "<a><b/></a>", False),
    ("/a = 'xyz'", "<a>x<b>y</b>z</a>", True),
    ("/a/text() = 'z'", "<a>x<b>y</b>z</a>", True),
    ("//b[. > 3 and . < 5]", "<a><b>2</b><b>6</b></a>", False),
    ("//b[. > 3 and . < 5]", "<a><b>2</b><b>4</b></a>", True),
    ("//b[@x = 1][@y = 2]", "<a><b x='1'/><b y='2'/></a>", False),
    ("//b[@x = 1]//c[d = 1]/e = 1", "<a><b x='1'><b><c><d>1</d><e>1</e></c></b></b></a>", True),
    ("//b[@x = 1]//c[d = 1]/e = 1", "<a><b x='1'/><b><c><d>1</d><e>1</e></c></b></a>", False),
    ("//b[c][.//d[e][f]]", "<a><b><b><c/></b><d><e/><f/></d></b></a>", False),
    ("//b[.//c][.//d[e][f]]", "<a><b><b><c/></b><d><e/><f/></d></b></a>", True),
    ("//b[/a/@x]", "<a x='1'><b/></a>", True),
    ("//*/@*", "<a><b y=''/></a>", True),
]


@pytest.mark.parametrize("plan", PLANS)
def test_corners(plan: Plan) -> None:
    with RelationalMatcher() as matcher:
        matcher.add_texts((number, text) for number, (text, _, _) in enumerate(CORNERS))
        documents = [parse_document(document) for _, document, _ in CORNERS]
        found = set(matcher.match(documents, plan))
    wrong = [corner for place, corner in enumerate(CORNERS) if ((place, place) in found) != corner[2]]
    assert not wrong


def test_rows_for_more_linear_paths_than_there_are_columns() -> None:
    """What does not fit into rows is not lost."""
    fields = [f"f{number}" for number in range(40)]
    texts = {
        number: f"/a/k = 'x' and /a/{field} > {number} and /a/{fields[number - 1]} < 60"
        for number, field in enumerate(fields)
    }
    documents = [
        parse_document("<a><k>x</k>" + "".join(f"<{field}>{value}</{field}>" for field in fields) + "</a>")
        for value in (0, 20, 39, 70)
    ]
    patterns = {number: parse_subscription(text) for number, text in texts.items()}
    expected = embedded(documents, patterns)
    with RelationalMatcher() as matcher:
        matcher.add_texts(texts.items())
        assert [list(matcher.match(documents, plan)) for plan in PLANS] == [expected] * len(PLANS)


def test_bounds_come_later_than_the_buckets_were_chosen() -> None:
    documents = [parse_document(f"<a><k>x</k><v>{value}</v><w>{value}</w></a>") for value in (-100, 3, 50, 1000)]
    texts = {number: f"/a/k = 'x' and /a/v > {number}" for number in range(40)}
    with RelationalMatcher() as matcher:
        matcher.add_texts(texts.items())
        matcher.match(documents, "bucketed")
        later = {100: "/a/k = 'x' and /a/v > -500", 101: "/a/k = 'x' and /a/w < 7", 102: "/a/k = 'x' and /a/v > 900"}
        matcher.add_texts(later.items())
        patterns = {number: parse_subscription(text) for number, text in (texts | later).items()}
        assert list(matcher.match(documents, "bucketed")) == embedded(documents, patterns)


def test_what_cannot_be_added_leaves_nothing() -> None:
    document = parse_document("<a><b>1</b></a>")
    with RelationalMatcher() as matcher:
        matcher.add_texts([(1, "/a/b = 1")])
        with pytest.raises(DisseminationError) as told:
            matcher.add_texts([(2, "/a/new"), (1, "/a")])
        assert [fault.code for fault in told.value.faults] == ["HX9024"]
        with pytest.raises(DisseminationError):
            matcher.add_texts([(3, "/a"), (3, "/a")])
        with pytest.raises(GrammarError) as refused:
            matcher.add_texts([(4, "/a/other"), (5, "/a["), (6, "/a/b/..")])
        assert len(refused.value.faults) == 2
        matcher.add_texts([(4, "/a/b")])
        assert list(matcher.match([document])) == [(0, 1), (0, 4)]
        assert matcher.statistics().linear_paths == 1


def test_no_such_plan() -> None:
    with RelationalMatcher() as matcher, pytest.raises(DisseminationError) as told:
        matcher.match([], "fast")  # type: ignore[arg-type]
    assert told.value.faults[0].code == "HX9023"


def test_a_plan_is_explained() -> None:
    with RelationalMatcher() as matcher:
        matcher.add_texts([(1, "/a/b = 1 and /a/c > 5"), (2, "/a[b = 1]//d[e][f]")])
        (told,) = matcher.explain([parse_document("<a><b>1</b><c>6</c></a>")], "bucketed")
    assert told.plan == "bucketed" and told.forced and told.matches == 1
    assert set(told.estimate.seconds) == set(PLANS)
    assert "plan bucketed (as asked)" in str(told) and "1 matches" in str(told)


def test_cleaning_up_forgets_what_is_not_used() -> None:
    documents = [parse_document("<a><b>1</b><c/></a>")]
    with RelationalMatcher() as matcher:
        matcher.add_texts([(1, "/a/b = 1"), (2, "//c[. = 'x']//d"), (3, "/a/c")])
        matcher.match([parse_document("<z><c>x<d/></c></z>")])
        matcher.clean()
        before = matcher.statistics()
        matcher.match(documents)
        matcher.remove(2)
        matcher.clean()
        after = matcher.statistics()
        assert (before.linear_paths, after.linear_paths) == (4, 2)
        assert (before.predicates, after.predicates) == (4, 2)
        assert after.tag_paths == 3  # /a, /a/b, /a/c: the others were not seen any more
        assert list(matcher.match(documents)) == [(0, 1), (0, 3)]


# -- the file ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", PLANS)
def test_a_file_holds_what_it_held(tmp_path: Path, plan: Plan) -> None:
    documents, texts, patterns = drawn(7, 5, 30)
    file = tmp_path / "subscriptions.duckdb"
    with RelationalMatcher(file) as matcher:
        matcher.add_texts(list(texts.items())[:20])
        matcher.match(documents, plan)
    with RelationalMatcher(file) as matcher:
        matcher.add_texts(list(texts.items())[20:])
        assert list(matcher.match(documents, plan)) == embedded(documents, patterns)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    import duckdb

    duckdb.connect(str(tmp_path / "other.duckdb")).execute("CREATE TABLE other (x INTEGER)").close()
    (tmp_path / "text.duckdb").write_text("no database" * 500)
    for name, code in (("other.duckdb", "HX9020"), ("text.duckdb", "HX9021")):
        with pytest.raises(DisseminationError) as told:
            RelationalMatcher(tmp_path / name)
        assert told.value.faults[0].code == code
