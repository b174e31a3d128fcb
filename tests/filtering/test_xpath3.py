"""Filters of XPath 3.1, judged by Saxon: what they give, what is refused, and how they end that have no value."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from random import Random

import pytest

from heptox.errors import DisseminationError, GrammarError
from heptox.filtering.evaluation import Compiled3, Failure, evaluated_tree, fragment
from heptox.filtering.filtering import DocumentFilter
from heptox.filtering.filters import FilterSet
from heptox.filtering.fragments import Fragment, Kind
from heptox.filtering.reading import Version, read_filter
from heptox.filtering.xpath3_evaluation import Limits, Xpath3Process
from heptox.schema import SchemaGraph, parse_dtd
from heptox.xml import parse_document, write_element
from tests.support.filtering.making import random_documents, random_filter, random_filter_3, random_schema
from tests.support.saxon import XQueryError, evaluate

DOCUMENT = (
    "<a x='1' y=' 2 ' z='b'><b>x<c>2</c>t</b>u<b z='q'>1.5</b>v<d/><e>2020-02-29</e><e>-3</e>w"
    "<n>1</n><n>10</n><n> 2 </n>&amp;</a>"
)


EVALUATED = Compiled3(Limits(seconds=0.5, memory=1 << 28))
"""As filters are evaluated, but that those end sooner that would not end."""


def found(text: str, document: str | bytes = DOCUMENT) -> list[Fragment] | Failure:
    root = evaluated_tree(document.encode() if isinstance(document, str) else document)
    items = EVALUATED.select([text], root)[text]
    return items if isinstance(items, Failure) else [fragment(item) for item in items]


def shown(fragments: Sequence[Fragment]) -> str:
    """As :func:`by_saxon`: the names and string values of nodes, and the text of values."""
    return "".join(f"{'' if each.kind is Kind.VALUE else each.name}|{_text(each)};" for each in fragments)


def _text(each: Fragment) -> str:
    if each.kind is not Kind.ELEMENT:
        return each.text
    return "".join(map(str, parse_document(each.text).root.itertext()))


def by_saxon(text: str, document: str = DOCUMENT) -> str:
    name = "if ($item instance of node()) then name($item) else ''"
    nodes = f"({text}\n)[not(. instance of document-node())]"
    (answer,) = evaluate(f"string-join(for $item in {nodes} return concat({name}, '|', $item, ';'))", document)
    return answer[1:-1].replace('""', '"')


def cases(number: int, documents: int) -> Iterator[tuple[Random, SchemaGraph, list[bytes]]]:
    for seed in range(number):
        random = Random(seed)
        schema = random_schema(random)
        yield random, schema, random_documents(random, schema, documents)


def is_read(text: str) -> bool:
    try:
        read_filter(text, Version.THREE)
    except GrammarError:
        return False
    return True


# -- right ---------------------------------------------------------------------------------------------------------


def test_filters_of_xpath_3_give_what_saxon_gives() -> None:
    selected = 0
    for random, schema, documents in cases(60, documents=2):
        filters = [random_filter_3(random, schema) for _ in range(10)]
        for document in documents:
            read = write_element(evaluated_tree(document))
            for text in filters:
                given = found(text, document)
                assert not isinstance(given, Failure), (text, given)
                assert shown(given) == by_saxon(text, read), (text, read)
                selected += bool(given)
    assert selected > 400


def test_filters_of_xpath_1_mean_what_xpath_3_says() -> None:
    told = failed = 0
    for random, schema, documents in cases(40, documents=2):
        filters = [text for _ in range(10) if is_read(text := random_filter(random, schema))]
        for document in documents:
            read = write_element(evaluated_tree(document))
            for text in filters:
                given = found(text, document)
                if isinstance(given, Failure):
                    failed += 1  # whether an operand with an error is looked at is left open
                    continue
                assert shown(given) == by_saxon(text, read), (text, read)
                told += 1
    assert told > 500
    assert 0 < failed < told / 4


RIGHT = [
    "string(/a)", "(//c/ancestor::*)[1]", "//c/ancestor::*[1]", "//text()/following::n", "//@z/following::c",
    "//@z/preceding::c", "//@z/following-sibling::*", "//b/@*/self::node()", "(//n, //b)/.", "//a/(n, ..)/name()",
    "//n[. = 1]", "//n[. < '2']", "//n[. < 2]", "a/@y + 1", "//n ! (. + 1)", "-7 mod 2", "-5.5e0 mod 2", "5.5 mod -2",
    "-7 idiv 2", "1 div 3", "-xs:decimal(0.1e0)", "2 idiv 0.1e0",
    "round(12345678901234567890123456789012.5)", "1e0 div 0", "-0e0", "1e7", "1e-7", "0.1e0 + 0.2e0", "1.10 * 3", "1e6",
    "round(-2.5)", "round(2.5e0)", "round(-0.4e0)", "floor(-0.5e0)", "abs(-1.50)", "string(1.0)", "number('x')",
    "for $i in 1 to 3, $j in $i to 3 return $i * $j", "let $f := function($x) { $x + 1 } return $f(2)",
    "deep-equal(//n[1], //n[1])", "deep-equal(a/b[1], a/b[2])",
    "('B', 'a', 'b') => sort()", "compare('a', 'B')", "max(//n)", "min(('b', 'B', 'a'))", "sum(//n)", "avg((1, 2))",
    "distinct-values((1, 1.0, 1e0, '1', //n[1]))", "index-of((1, 2, 1), 1)", "subsequence(//n, 2, 1)",
    "substring('12345', 1.5, 2.6)", "substring('12345', 0, 3)", "substring('12345', -42, 1 div 0e0)",
    "tokenize(' a  b ')", "tokenize('a1b22c', '\\d+')", "replace('abcd', 'b|c', '-')", "matches('ab', '^[a-b]+$')",
    "matches('abab', '^(ab)+$')", "matches('aé1', '^\\p{L}+\\d$')", "replace('abab', '(a)(b)', '$2$1')",
    "matches('aa', '(a)\\1')",
    "xs:date('2020-01-31') + xs:yearMonthDuration('P1M')", "xs:date('-0044-03-15')",
    "'a' || 1 || ()", "string-join((1, 'a', 2.5), '-')", "translate('abc', 'ab', 'x')", "concat('a', (), 1e3)",
    "xs:date('2020-01-02') gt xs:date('2020-01-01')", "xs:date(a/e[1])", "year-from-date(xs:date(a/e[1]))",
    "xs:dateTime('2020-01-01T12:00:00+02:00') eq xs:dateTime('2020-01-01T10:00:00Z')", "xs:dayTimeDuration('PT36H')",
    "xs:time('10:00:00')", "xs:yearMonthDuration('P14M')", "'5' cast as xs:integer", "'x' castable as xs:integer",
    "//n[2] is //n[. = 10]", "//n[1] << //n[2]", "a/n instance of element(n)+", "3 instance of xs:decimal",
    "//n/path()", "//@z/path()", "path(//text()[. = 't'])", "innermost(//*)", "outermost(//c | //b)", "//n[(2)[1]]",
    "//b[(1)[1]]", "some $n in //n satisfies $n = 10", "every $n in //n, $m in //n satisfies $n = $m",
    "fold-left(//n, 0, function($a, $b) { $a + $b })", "for-each-pair(//n, //n, concat#2)", "//n[position() = last()]",
    "(: a (: b :) c :) a/(: ' :)n[1](: :)", "'(: a :)'", "a/element(n)", "a/attribute(x)", "if (a/q) then 1 else 2",
]  # fmt: skip


@pytest.mark.parametrize("text", RIGHT)
def test_what_saxon_gives(text: str) -> None:
    given = found(text)
    assert not isinstance(given, Failure), given
    assert shown(given) == by_saxon(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 to 2", [("number", "1"), ("number", "2")]),
        ("1.50, 1e7, 1 div 0e0", [("number", "1.5"), ("number", "1.0E7"), ("number", "INF")]),
        ("true(), 'a', data(a/@x)", [("boolean", "true"), ("string", "a"), ("string", "1")]),
        ("xs:date('2020-01-01')", [("date", "2020-01-01")]),
        ("xs:dayTimeDuration('PT36H')", [("dayTimeDuration", "P1DT12H")]),
    ],
)
def test_values_are_written_as_xpath_does(text: str, expected: list[tuple[str, str]]) -> None:
    assert found(text) == [Fragment(Kind.VALUE, name, value) for name, value in expected]


# -- refused, and without a value ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("doc('file:///etc/passwd')", "doc()"), ("a[doc-available('x')]", "doc-available()"),
        ("unparsed-text('/etc/passwd')", "unparsed-text()"), ("collection()", "collection()"),
        ("json-doc('x')", "json-doc()"), ("environment-variable('HOME')", "environment-variable()"),
        ("//n[xs:date(.) < current-date()]", "current-date()"), ("current-dateTime()", "current-dateTime()"),
        ("fn:current-time()", "current-time()"), ("'x' => doc()", "doc()"), ("for-each('x', doc#1)", "doc()"),
        ("id('x')", "id()"), ("parse-xml('<a/>')", "parse-xml()"), ("generate-id(a)", "generate-id()"),
        ("map{'a': 1}", "a map"), ("[1, 2]", "an array"), ("array{1}", "an array"), ("a?b", "a lookup"),
        ("xs:int('1')", "xs:int"), ("a instance of xs:QName", "xs:QName"), ("math:pi()", "math:pi()"),
        ("concat('a', ?)", "a partial function"), ("function($a as xs:string) { $a }", "a function with types"),
        ("a/node()+", "a sign behind node()"),
        ("namespace::a", "namespace"),
        ("1 ! -.", "a sign behind !"), ("/ / n", "a path behind / alone"),
        ("number( , 'x')", "a comma before the first"), ("a = b eq c", "a comparison of a comparison"),
    ],
)  # fmt: skip
def test_constructs_are_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(GrammarError) as raised:
        read_filter(text, Version.THREE)
    (fault,) = raised.value.faults
    assert fault.code == "HX3063"
    assert named in fault.message


@pytest.mark.parametrize("text", ["$x", "for $a in b return $c", "let $a := $a return 1", "function($a) { $b }"])
def test_variables_that_nothing_binds_are_refused(text: str) -> None:
    with pytest.raises(GrammarError) as raised:
        read_filter(text, Version.THREE)
    assert raised.value.faults[0].code in {"HX3062", "HX3001"}


@pytest.mark.parametrize(
    "text", ["", "a b", "a[", "count()", "1 to", "for $x", "((((", "unknown()", "x:a", "'", "a!", "?", "#"]
)
def test_what_is_no_xpath_is_refused(text: str) -> None:
    with pytest.raises(GrammarError):
        read_filter(text, Version.THREE)


@pytest.mark.parametrize(
    "text",
    [
        "a/b = 1", "1 div 0", "'a' + 1", "a/b eq 'x'", "1 = 'a'", "xs:date('x')", "(1, 2)/a", "a/(b, 1)", "-'x'",
        "let $f := function($f) { $f($f) } return $f($f)", "1 to 100000000000", "count#1", "contains(1, 'a')",
        "fold-left(1 to 100, 3, function($a, $b) { $a * $a })", "function($x) { . }(1)", "exactly-one(())",
        "fold-left(1 to 60, 'x', function($a, $b) { concat($a, $a) })", "a treat as xs:string", "sum(a/b)",
        "matches('a', '(')", "replace('a', '', 'b')", "codepoints-to-string(0)", "1e400 cast as xs:integer",
    ],
)  # fmt: skip
def test_what_has_no_value_says_why_on_one_line(text: str) -> None:
    given = found(text)
    assert isinstance(given, Failure)
    assert given.reason and "\n" not in given.reason and "Traceback" not in given.reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("//n ! (1 idiv 0)", "FOAR0001 Integer division by zero, at column 9 of //n ! (1 idiv 0)"),
        ("1 +\n //b[2]/@z", 'FORG0001 Cannot convert string "q" to double, at line 2, column 3 of'),
        ("//c ! xs:date('&' || .)", 'FORG0001 Invalid date "&2"'),
        ("exactly-one(//n)", "FORG0005"),
        ("xs:date('x') ! 1", 'Invalid date "x"'),
        ("let $f := function($x, $f) { 1 + $f($x, $f) } return $f(1, $f)", "its functions call each other without end"),
        ("matches(string-join((1 to 60) ! 'a') || '!', '(a+)+$')", "its evaluation takes more than 1 s"),
        ("count(for $a in 1 to 99999, $b in 1 to 99999 return $a[. = $b])", "its evaluation takes more than 1 s"),
        ("count(reverse(sort((1 to 9000000) ! string(.))))", "its evaluation takes more than"),
    ],
)
def test_why_a_filter_has_no_value(text: str, reason: str) -> None:
    given = found(text)
    assert isinstance(given, Failure) and reason in given.reason


def test_a_filter_that_ends_the_process_of_saxon_leaves_the_others_their_values() -> None:
    process = Xpath3Process(Limits(seconds=0.2))
    endless = "let $f := function($f) { 1 + $f($f) } return $f($f)"
    given = process.selected(
        "<a><b/></a>", ["count(//b)", endless, "//b", "matches('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!', '(a+)+$')", "//a"]
    )
    assert [given[place] for place in (0, 2, 4)] == [[("number", "1")], [("e", 1)], [("e", 0)]]
    assert isinstance(given[1], str) and isinstance(given[3], str)
    assert process.selected("<a/>", ["count(//b)"]) == [[("number", "0")]]


def test_a_process_of_saxon_that_others_end_is_reported() -> None:
    plan = FilterSet(parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b EMPTY>"), Version.THREE)
    plan.add(1, "//b")
    filtering = DocumentFilter(plan.plan(1))
    before = _children()
    assert [result.number for result in filtering.results(BytesIO(b"<a><b/></a>"))] == [1]
    for pid in _children() - before:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(DisseminationError, match="HX9206"):
        list(filtering.results(BytesIO(b"<a><b/></a>"), "a.xml"))
    assert [result.number for result in filtering.results(BytesIO(b"<a><b/></a>"))] == [1]


def _children() -> set[int]:
    """The processes that this one has started."""
    threads = Path("/proc/self/task").glob("*/children")
    return {int(pid) for thread in threads for pid in thread.read_text().split()}


@pytest.mark.parametrize(
    "document",
    [
        "<a>" * 256 + "</a>" * 256,
        "<a " + " ".join(f"x{number}='{number}'" for number in range(1000)) + "/>",
        f"<{'a' * 5000}/>",
        f"<a>{'&amp;' * 300_000}</a>",
    ],
    ids=["deep", "attributes", "name", "references"],
)
def test_documents_at_the_limits_of_documents_are_read(document: str) -> None:
    root = evaluated_tree(document.encode())
    (given,) = EVALUATED.select(["//*, //@*"], root).values()
    assert isinstance(given, list)
    assert len(given) == sum(1 + len(element.attrib) for element in root.iter())


def test_dates_without_a_time_zone_are_in_utc_whatever_the_machine_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    process = Xpath3Process()
    text = "xs:dateTime('2020-01-01T10:00:00') eq xs:dateTime('2020-01-01T10:00:00Z')"
    assert process.selected("<a/>", [text]) == [[("boolean", "true")]]


# -- in chunks -----------------------------------------------------------------------------------------------------


def results(filters: FilterSet, degree: int | None, document: bytes) -> dict[int, list[Fragment] | Failure]:
    given: dict[int, list[Fragment] | Failure] = {}
    for number, fragments, _ in DocumentFilter(filters.plan(degree)).results(BytesIO(document)):
        before = given.setdefault(number, [])
        if isinstance(fragments, Failure) or isinstance(before, Failure):
            given[number] = fragments if isinstance(fragments, Failure) else before
        else:
            before += fragments
    return given


def test_chunks_give_what_saxon_gives_on_the_whole_document() -> None:
    told = cleaned = 0
    for random, schema, documents in cases(25, documents=1):
        made = [random_filter_3(random, schema) for _ in range(6)] + [random_filter(random, schema) for _ in range(12)]
        texts = {number: text for number, text in enumerate(made) if is_read(text)}
        filters = FilterSet(schema, Version.THREE)
        for number, text in texts.items():
            cleaned += filters.add(number, text).branches is not None
        for document in documents:
            read = write_element(evaluated_tree(document))
            wanted = {number: _wanted(text, read) for number, text in texts.items()}
            for degree in (None, 1, 3):
                given = results(filters, degree, document)
                for number, text in texts.items():
                    fragments = given.get(number, [])
                    if isinstance(fragments, Failure) or wanted[number] is None:
                        continue  # whether an operand with an error is looked at is left open
                    assert shown(fragments) == wanted[number], (degree, text, read)
                    told += 1
    assert told > 600 and cleaned > 100


def _wanted(text: str, document: str) -> str | None:
    try:
        return by_saxon(text, document)
    except XQueryError:
        return None


def test_a_number_in_parentheses_is_a_position_in_xpath_3() -> None:
    document = b"<a><b><c>1</c><c>2</c></b><b><c>3</c></b></a>"
    graph = parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (c*)> <!ELEMENT c (#PCDATA)>")
    filters = FilterSet(graph, Version.THREE)
    for number, text in enumerate(["//c[(2)[1]]", "/a/b/c[(1)[. = 1]]", "//*[(2)[1]]/c"]):
        filters.add(number, text)
    for degree in (None, 1, 2):
        given = results(filters, degree, document)
        assert [_given(given, number) for number in range(3)] == ["c|2;", "c|1;c|3;", "c|3;"]


def _given(given: dict[int, list[Fragment] | Failure], number: int) -> str:
    fragments = given.get(number, [])
    assert not isinstance(fragments, Failure)
    return shown(fragments)


@pytest.mark.parametrize(("text", "printed"), [("//b[. < 1e1]", "1e1"), ("//b[. = 0.0000001]", "0.0000001")])
def test_numbers_stay_as_they_are_written(text: str, printed: str) -> None:
    assert printed in str(read_filter(text, Version.THREE))
