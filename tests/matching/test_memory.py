"""The matcher in memory decides as embedding every pattern by trial does, while subscriptions come and go."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest

from heptox.errors import GrammarError
from heptox.grammar import parse_subscription
from heptox.matching import MemoryMatcher, TagPaths, document_tests, element_sets, path_tests, pattern_table
from heptox.xml import Document, parse_document
from tests.support.matching.conditions import printed
from tests.support.matching.embedding import Node, document_node, matches
from tests.support.matching.making import random_condition, random_schema, random_text


def matched(matcher: MemoryMatcher, text: str) -> list[int]:
    found: list[int] = matcher.match(parse_document(text)).tolist()
    return found


def matcher_of(*subscriptions: str) -> MemoryMatcher:
    matcher = MemoryMatcher()
    for number, text in enumerate(subscriptions):
        matcher.add(number, parse_subscription(text))
    return matcher


@pytest.fixture(params=["as it is", "small", "small and climbed"])
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With small limits, what happens rarely happens all the time: indexing, compacting, forgetting, wide sets."""
    if request.param != "as it is":
        monkeypatch.setattr(pattern_table, "_LEAST_TAIL", 5)
        monkeypatch.setattr(pattern_table, "_LEAST_DEAD", 5)
        monkeypatch.setattr(document_tests, "MOST_TAG_PATHS", 12)
        monkeypatch.setattr(path_tests, "_FEW_CHANGES", 2)
        monkeypatch.setattr(element_sets, "_MOST_LOOKED_UP", 0)
        monkeypatch.setattr(element_sets, "_CELLS", 200)
        monkeypatch.setattr(element_sets, "_FEW", 1)
        if request.param == "small and climbed":
            monkeypatch.setattr(element_sets, "_SPARSE", 0)
    return str(request.param)


@pytest.mark.parametrize("seed", range(12))
def test_random_subscriptions_come_and_go(seed: int, limits: str) -> None:
    random = Random(f"{seed} {limits}")
    schema = random_schema(random)
    documents: list[tuple[Document, Node]] = []
    for _ in range(8):
        document = parse_document(random_text(random, schema))
        documents.append((document, document_node(document)))
    matcher = MemoryMatcher()
    held = {}
    decisions = found = 0
    for number in range(160):
        text = printed(random_condition(random, [node for _, node in documents]), random)
        try:
            patterns = parse_subscription(text)
        except GrammarError:  # too many alternatives: another will do
            continue
        matcher.add(number, patterns)
        held[number] = patterns
        if random.random() < 0.45 and held:
            gone = random.choice(list(held))
            matcher.remove(gone)
            del held[gone]
        if number % 4 == 0:
            document, node = random.choice(documents)
            wanted = [one for one in sorted(held) if matches(held[one], node)]
            assert matcher.match(document).tolist() == wanted
            decisions += len(held)
            found += len(wanted)
    assert len(matcher) == len(held)
    assert 0.03 < found / decisions < 0.97


@pytest.mark.parametrize(
    ("subscription", "document", "wanted"),
    [
        ("/a[b[x][y]]", "<a><b><x/></b><b><y/></b></a>", False),
        ("/a[b[x][y]]", "<a><b><x/></b><b><y/><x/></b></a>", True),
        ("/a[b/x and b/y]", "<a><b><x/></b><b><y/></b></a>", True),
        ("//b[. > 3 and . < 5]", "<a><b>2</b><b>6</b></a>", False),
        ("//b[. > 3][. < 5]", "<a><b>2</b><b>4</b></a>", True),
        ("//b > 3", "<a><b>x</b></a>", False),
        ("//b > 3", "<a><b>INF</b></a>", True),
        ("//b < 3", "<a><b>NaN</b></a>", False),
        ("//b != 3", "<a><b>NaN</b></a>", True),
        ("//b < 1e999", "<a><b>INF</b></a>", False),
        ("//b <= 1e999", "<a><b>INF</b></a>", True),
        ("//b > -1e999", "<a><b>-INF</b></a>", False),
        ("//b >= 0", "<a><b>-0</b></a>", True),
        ("//b > 0", "<a><b>-0</b></a>", False),
        ("//b = 0", "<a><b>-0.0</b></a>", True),
        ("//b = '0'", "<a><b>-0.0</b></a>", False),
        ("//b = 5", "<a><b>05</b></a>", True),
        ("//b != 'x'", "<a><b>x</b></a>", False),
        ("//b != 'x'", "<a><b>x</b><b/></a>", True),
        ("//b >= 'b'", "<a><b>a</b></a>", False),
        ("/a = 'xyz'", "<a>x<b>y</b>z</a>", True),
        ("/a/text() = 'z'", "<a>x<b>y</b>z</a>", True),
        ("/a/text() = 'xz'", "<a>x<b>y</b>z</a>", False),
        ("/a[text() = 'x'][b]", "<a>x<b>y</b>z</a>", True),
        ("/text()", "<a>x</a>", False),
        ("//text()", "<a>x</a>", True),
        ("//@x", "<a x=''/>", True),
        ("/a//@x", "<a x=''/>", True),
        ("/@x", "<a x=''/>", False),
        ("/*[@*]", "<a x=''/>", True),
        ("/*/*", "<a x=''>y</a>", False),
        ("//b[@x = 1][@x = 2]", "<a><b x='1'/><b x='2'/></a>", False),
        ("//b[@* = 1][@* = 2]", "<a><b x='1' y='2'/></a>", True),
        ("//b[@*[. > 1][. < 2]]", "<a><b x='1' y='2'/></a>", False),
        ("/a/b or /a/c or //c", "<a><b/><c/></a>", True),
        ("/a[b = 1 and b = 2 and b = 3 and b = 4 and b = 5]", "<a><b>1</b><b>2</b><b>3</b><b>4</b></a>", False),
        ("/a[b = 1 and b = 2 and b = 3 and b = 4 and b = 5]", "<a><b>1</b><b>2</b><b>3</b><b>4</b><b>5</b></a>", True),
        ("/a[b > 1 and b > 2 and b > 9 and c < 1]", "<a><b>3</b><c>0</c></a>", False),
        ("//a[b][c][d][e]", "<a><b/><c/><d/><a><e/></a></a>", False),
        ("//a[b][c][d][e]", "<x><a><b/><c/><d/><e/></a></x>", True),
        ("/a[//b[c][d]]", "<a><b><c/><d/></b></a>", True),
    ],
)
def test_corners(subscription: str, document: str, wanted: bool) -> None:
    assert matched(matcher_of(subscription), document) == [0] * wanted
    parsed = parse_document(document)
    assert matches(parse_subscription(subscription), document_node(parsed)) == wanted


def test_each_subscription_once_in_order() -> None:
    matcher = MemoryMatcher()
    for number in (7, 3, 5):
        matcher.add(number, parse_subscription("/a/b or /a//b or //b[x][y] or /a/*"))
    assert matched(matcher, "<a><b><x/><y/></b></a>") == [3, 5, 7]
    assert matched(matcher, "<b/>") == []


def test_numbers_are_taken_once() -> None:
    matcher = matcher_of("/a")
    for number in (0, -1):
        with pytest.raises(ValueError, match=r"number|subscription 0"):
            matcher.add(number, parse_subscription("/b"))
    with pytest.raises(ValueError, match="pattern"):
        matcher.add(1, ())
    assert (len(matcher), 0 in matcher, 1 in matcher) == (1, True, False)
    matcher.remove(0)
    with pytest.raises(KeyError):
        matcher.remove(0)
    matcher.add(0, parse_subscription("/b"))
    assert (matched(matcher, "<a/>"), matched(matcher, "<b/>")) == ([], [0])


def test_names_that_nobody_asks_for_are_not_kept() -> None:
    matcher = matcher_of("/a/*/@*", "//b[c]/@x")
    for number in range(2000):
        text = f"<a><n{number} a{number}='1'><m{number}/></n{number}></a>"
        assert matched(matcher, text) == [0]
    assert matcher.statistics().tag_paths < 12
    assert matched(matcher, "<a><n1><b x=''><c/></b></n1></a>") == [1]
    matcher.add(2, parse_subscription("//n7"))
    assert matched(matcher, "<a><n7 z=''/></a>") == [0, 2]
    assert matched(matcher, "<a><n8 z=''/></a>") == [0]


def test_tag_paths_of_known_names_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_tests, "MOST_TAG_PATHS", 100)
    random = Random(1)
    matcher = matcher_of("//a[b]//c", "//d/@x", "/a/b", "//c//d", "//b = 'v'")
    for _ in range(300):
        names = [random.choice("abcd") for _ in range(12)]
        text = "".join(f"<{name}>" for name in names) + "v" + "".join(f"</{name}>" for name in reversed(names))
        document = parse_document(text)
        wanted = matched(matcher_of("//a[b]//c", "//d/@x", "/a/b", "//c//d", "//b = 'v'"), text)
        assert matcher.match(document).tolist() == wanted
        assert matcher.statistics().tag_paths <= 100 + 12


def test_a_tree_of_tag_paths_serves_several_matchers(limits: str) -> None:
    tree = TagPaths()
    one, two = MemoryMatcher(tree), MemoryMatcher(tree)
    for number in range(30):
        one.add(number, parse_subscription(f"//a{number}"))
        two.add(number, parse_subscription(f"/r/a{number}/b"))
        text = f"<r><a{number}><b/></a{number}></r>"
        assert matched(one, text) == matched(two, text) == [number], limits
    assert matched(one, "<r><a3><b/></a3><a5/></r>") == [3, 5]
    assert matched(two, "<r><a3><b/></a3><a5/></r>") == [3]


def test_deep_recursion_takes_polynomial_time() -> None:
    """Each of these has more embeddings than could be tried."""
    deep = "<a x='1'>" * 250 + "</a>" * 250
    matcher = matcher_of(
        "//a" * 60,
        "//a" * 60 + "/b",
        "//a[.//a[.//a[.//a[.//a[@x = 1]/a[@x = 1]]//a[@x > 0]]]]//a[@x < 2][.//a]",
        "".join("//a[.//a]" for _ in range(40)) + "[@x = 2]",
        "".join("//a[.//a]" for _ in range(40)) + "[@x = 1]",
    )
    assert matched(matcher, deep) == [0, 2, 4]


@pytest.mark.parametrize("elements", [62, 63, 64, 65, 127, 128, 255, 256, 300, 2000])
def test_documents_of_any_size(elements: int) -> None:
    matcher = matcher_of("//c[d][@x]", "//c[d][@y]", "//b[c/d]/c/@x", "/a[b[.//@x][.//@y]]")
    last = "<c x=''><d/></c>"
    text = f"<a><b>{'<e/>' * (elements - 4)}{last}</b></a>"
    assert matched(matcher, text) == [0, 2]
    assert matched(matcher, text.replace("<e/>", "<c y=''/>")) == ([0, 2, 3])


def test_many_subscriptions_are_found_through_the_index() -> None:
    matcher = MemoryMatcher()
    for number in range(9000):
        matcher.add(number, parse_subscription(f"/a/b{number % 300}[c{number % 7} = {number % 11}]/@x"))
    text = "<a><b5 x='1'><c5>5</c5></b5><b305 x='1'/><b7 x=''><c0>7</c0></b7></a>"
    wanted = [number for number in range(9000) if (number % 300, number % 7, number % 11) in ((5, 5, 5), (7, 0, 7))]
    assert matched(matcher, text) == wanted
    for number in range(0, 9000, 2):
        matcher.remove(number)
    assert matched(matcher, text) == [number for number in wanted if number % 2]
    for number in range(1, 9000, 2):
        matcher.remove(number)
    assert matched(matcher, text) == []
    assert matcher.statistics().linear_paths == 0


def test_patterns_with_many_tests_in_common() -> None:
    """What is learnt about how often tests hold changes the order in which they are checked, and no decision."""
    matcher = matcher_of(*(f"/a[b{one}][c{two}][d = {one}]" for one in range(10) for two in range(10)))
    for number in range(200):
        one, two = number % 10, number // 10 % 10
        assert matched(matcher, f"<a><b{one}/><c{two}/><d>{one}</d><d>99</d></a>") == [10 * one + two]


def test_memory_grows_with_a_document_and_not_with_its_square() -> None:
    matcher = matcher_of("//a[b][@x = 7]", "/r[a[@x = 7]/b = 0][z]", "//a[b != 3][. = '0t']", "//a[b > 5][@x < 6]")
    peaks = []
    for siblings in (4_000, 16_000):
        content = "".join(f"<a x='{number}'><b>{number % 7}</b>t</a>" for number in range(siblings))
        document = parse_document(f"<r>{content}<z/></r>")
        tracemalloc.start()
        try:
            assert matcher.match(document).tolist() == [0, 1, 2]
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 6 * peaks[0]


def test_the_largest_of_open_patterns_are_not_decided_and_match() -> None:
    """Where documents ask for more work than is allowed; what tests decide, or smaller patterns, is exact still."""
    small = "//b[x][y]"
    large = f"//b[x][{' and '.join(f'. != {number}' for number in range(200))}]"
    plain = "/a/c"
    text = f"<a>{'<b><x/></b><b><y/></b>' * 50}</a>"
    for decided, wanted in ((None, []), (10**6, []), (20_000, [1]), (100, [0, 1])):
        matcher = MemoryMatcher(decided=decided)
        for number, subscription in enumerate((small, large, plain)):
            matcher.add(number, parse_subscription(subscription))
        for number in range(3, 40):
            matcher.add(number, parse_subscription(f"//no[a{number}]" if number % 2 else "//b[x][no]"))
            matcher.remove(number)
        assert matched(matcher, text) == wanted
        small_document = "<a><c/><b>0<x/></b></a>"
        assert matched(matcher, small_document) == ([1, 2] if decided == 100 else [2])
