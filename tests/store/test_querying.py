"""Queries on a store against Saxon: equal answers, as lists, on random schemas, valid documents and random queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Final
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings, strategies as st

from heptox.errors import StoreError
from heptox.grammar import Expression, parse_query, print_query, syntax
from heptox.grammar.tag_value import tag_value_form
from heptox.schema import SchemaGraph, parse_dtd
from heptox.store import Store, evaluate, plan_once, plan_query, query, query_once, read_for_query
from heptox.store.querying import ROWS, _watched, rows_of
from heptox.xml import parse_document
from tests.store.stored import answer_once, answers
from tests.support import random_document, saxon
from tests.support.budget import tries
from tests.support.documents import Values
from tests.support.queries import Vocabulary, queries

DTD: Final = """
<!ELEMENT r (t?, i?, a*, c*{m})> <!ATTLIST r k CDATA #IMPLIED> <!ELEMENT t (#PCDATA)>
<!ELEMENT i (a?, n*, c?)>
<!ELEMENT a (t, n?, b*)> <!ATTLIST a k CDATA #REQUIRED m CDATA #IMPLIED>
<!ELEMENT b (n*, t?, d*)> <!ATTLIST b k CDATA #IMPLIED n CDATA #IMPLIED>
<!ELEMENT d EMPTY> <!ATTLIST d m CDATA #IMPLIED>
<!ELEMENT n (#PCDATA)> <!ELEMENT c (#PCDATA)> <!ATTLIST c k CDATA #IMPLIED>
"""
REGULAR: Final = parse_dtd(DTD.replace("{m}", ""), "r")
MIXED: Final = parse_dtd(DTD.replace("{m}", ", m*") + "<!ELEMENT m (#PCDATA | t | m)*>", "r")
VALUES: Final = ("x", "y", "1", "2", "", " ", "<&>", 'q"', "\\", "é", "\t\n", "\x7f\x85\u2028\r")
NUMBERS: Final = ("1", "2", "2.0", " 10 ", "-2", "1e1", "INF", "-INF", "0.5")
VOCABULARY: Final = Vocabulary(
    elements=("r", "t", "i", "a", "b", "c", "d", "n", "m"),
    attributes=("k", "m", "n"),
    strings=st.sampled_from(VALUES),
    numeric=("n", "@n"),
    numbers=("1", "2", "-2", "2.0", "1e1", ".5", "3"),
)


def document(graph: SchemaGraph, seed: int) -> str:
    values: Values = {**dict.fromkeys(("n", "@n"), NUMBERS)}
    return random_document(graph, Random(seed), repeats=3, elements=25, values=values, pool=VALUES)


def answer(graph: SchemaGraph, expression: Expression, *documents: str) -> list[str]:
    with Store.open(None, graph) as store:
        for number, text in enumerate(documents):
            store.load(f"document {number}", text.encode())
        return answers(store, plan_query(expression, store.catalogue))


@given(queries(VOCABULARY), st.sampled_from((REGULAR, REGULAR, MIXED)), st.integers(0, 1_000_000))
@settings(max_examples=tries(80))
def test_answers_are_saxons(expression: Expression, graph: SchemaGraph, seed: int) -> None:
    documents = [document(graph, seed), document(graph, seed + 1)]
    try:
        expected = [item for text in documents for item in saxon.evaluate(print_query(expression), text)]
    except saxon.XQueryError:
        assume(False)
    assert answer(graph, expression, *documents) == expected
    once = [answer_once(expression, text) for text in documents]
    assert [item for found in once if found for item in found] == [
        item
        for found, text in zip(once, documents, strict=True)
        if found is not None
        for item in saxon.evaluate(print_query(expression), text)
    ]


@given(queries(VOCABULARY), st.sampled_from((REGULAR, MIXED)), st.integers(0, 1_000_000), st.integers(0, 30))
@settings(max_examples=tries(30))
def test_answers_are_saxons_where_a_schema_has_too_many_paths(
    expression: Expression, graph: SchemaGraph, seed: int, most: int
) -> None:
    text = document(graph, seed)
    try:
        expected = saxon.evaluate(print_query(expression), text)
    except saxon.XQueryError:
        assume(False)
    with patch("heptox.store.relations.MOST_PATHS", most):
        assert answer(graph, expression, text) == expected


SHOP: Final = parse_dtd(
    """<!ELEMENT shop (title, hall*, item*)> <!ELEMENT title (#PCDATA)>
    <!ELEMENT hall (shelf*)> <!ATTLIST hall no CDATA #REQUIRED> <!ELEMENT shelf (item*)>
    <!ELEMENT item (name, price?, maker?, note*)> <!ATTLIST item id CDATA #REQUIRED of CDATA #IMPLIED>
    <!ELEMENT name (#PCDATA)> <!ELEMENT price (#PCDATA)> <!ELEMENT maker (name, town?)> <!ELEMENT town (#PCDATA)>
    <!ELEMENT note (#PCDATA | b)*> <!ELEMENT b (#PCDATA)>""",
    "shop",
)
FIRST: Final = """<shop><title>A &amp; B</title><hall no="1"><shelf><item id="1" of="2"><name>pen</name>
<price>2.5</price><maker>
<name>Ann</name><town/></maker><note>so <b>good</b>!</note><note/></item></shelf><shelf/></hall><hall no="2">
<shelf><item id="2"><name>ink</name><price>10</price></item></shelf></hall>
<item id="3" of="1"><name>cap</name><maker><name>Bo</name></maker></item></shop>"""
SECOND: Final = '<shop><title/><item id="1"><name>pen</name><price>7</price></item></shop>'
STRANGE: Final = (
    '<shop odd="1"><title>C</title><item id="9"><name>odd</name></item><thing><name>else</name></thing></shop>'
)


ASKED: Final = (
    "//item/name",
    "//item[@id = '2']",
    "for $i in //item order by $i/name descending return <i n='{$i/name}'>{$i/@id}{$i/price}</i>",
    "for $i in //item order by $i/price, $i/name return data($i/name)",
    "for $h in //hall return <h>{$h/@no}{for $s in $h/shelf return <s>{$s/item/name}</s>}{data($h//item/@id)}</h>",
    "for $i in //item, $j in //item where $i/@of = $j/@id return <p>{data($i/name)}-{data($j/name)}</p>",
    "for $i in //item where empty($i/price) or $i/price > 5 return $i/name",
    "for $i in //item where $i/price != 10 return ($i/@id, data($i/name))",
    "(//title, <all>{//name}</all>, for $m in //maker where empty($m/town) return $m)",
    "for $s in /shop return <s>{$s/title/text()}</s>",
    "for $s in /shop order by $s/title return <s>{$s/title}</s>",
    "for $s in /shop return <s>{for $i in $s/item order by $s/title descending return $i/name}</s>",
    "let $n := //item/name for $i in //item where $i/name = $n return $i/@id",
    "//note",
    "//note/b",
    "for $i in //item return <i>{(data($i/note), data($i/price), $i/note)}</i>",
    "for $i in //item return <i>{(data($i/note), 1)}</i>",
    "for $i in //item return <i a='{(data($i/maker), 'x')}'>{data($i/note)}</i>",
    "//hall/text()",
    "//text()",
    "for $s in /shop where $s/text() return <y>{$s/title}</y>",
    "for $h in //hall order by $h/@no return $h/shelf/text()",
    "for $i in //item where $i/note/b = 'good' return $i/name",
    "//hall[shelf/item]/@no",
    "/shop/*",
    "<r>{for $m in //maker[town] return attribute town {$m/town}}</r>",
    "for $i in //item return <i a='x{data($i/price)} {$i/name}'>-{(data($i/@of), data($i/price), 'k&amp;')}</i>",
    "for $i in //item return (<i>{(data($i/@of), $i/name, data($i/price))}</i>, 'a', 2.50, text {$i/price})",
    "for $i in //item return <i>{$i/price}x</i>",
    "for $i in //item return <i id='0'>{($i/@of, $i/price/text())}</i>",
    "for $i in //item return <i>{attribute k {($i/price, $i/name)}}{text {($i/price, 'z')}}</i>",
    "for $i in //shelf/item return ($i/@id, $i/name/text(), data($i/maker/town))",
    "for $i in //item, $j in //item[@of] where deep-equal(data($i/price), data($j/price)) return data($i/@id)",
    "for $i in //item where deep-equal(data($i/@of), data(/shop/title)) return $i/name",
    "for $i in //item, $j in //item[@of] where deep-equal($i/maker/town, $j/maker/town) return data($i/@id)",
    "for $i in //item where deep-equal(data($i/note), data($i/price)) return $i/@id",
    f"for $i in //item, $j in //* where deep-equal(data($i/name), {tag_value_form('$j')}) return $i/@id",
    "for $i in //item where starts-with($i/name, 'pe') and starts-with($i/@of, '2') return $i/@id",
    "for $h in //hall where $h/shelf/item[starts-with(name, 'in')] return $h/@no",
    f"for $i in /shop/* where starts-with({tag_value_form('$i')}, 'ha') return $i/@no",
    "for $i in //item where empty(//item[@of = $i/@id]) return $i/name",
    "for $i in //item where empty(//item[@of = $i/@id][price]) and empty($i/maker) return $i/name",
    f"for $i in /shop/* return <t>{{{tag_value_form('$i')}}}{{data($i/@no)}}</t>",
    f"for $i in //item/@id return <t>{{{tag_value_form('$i')}}}</t>",
    f"for $i in //item/name/text() return <t>{{{tag_value_form('$i')}}}</t>",
)


@pytest.fixture(scope="module")
def shops() -> Iterator[Store]:
    """A store with all three documents, which tests only ask."""
    with Store.open(None, SHOP) as store:
        for number, text in enumerate((FIRST, STRANGE, SECOND)):
            store.load(f"document {number}", text.encode())
        yield store


@pytest.mark.parametrize("text", ASKED)
def test_documents_of_a_store(shops: Store, text: str) -> None:
    expression = parse_query(text)
    expected = [item for given in (FIRST, STRANGE, SECOND) for item in saxon.evaluate(print_query(expression), given)]
    assert answers(shops, plan_query(expression, shops.catalogue)) == expected


TOGETHER: Final = (
    "collection()//item/name",
    "for $i in collection()//item, $j in collection()//item where $i/@of = $j/@id return <p>{$i/name}{$j/name}</p>",
    "for $i in //item, $j in collection()//item[name = $i/name] return <p>{data($i/@id)}{$j/price}</p>",
    "for $i in collection()//item where empty(collection()//item[@of = $i/@id]) return $i/@id",
    "for $i in //item where empty(collection()//item[@of = $i/@id]) return $i/@id",
    "let $n := collection()//hall for $i in //item where $n//name = $i/name return $i",
    "(//title, collection()/shop/title, <all>{collection()//hall}</all>)",
    "for $s in /shop, $m in collection()//maker return <r>{$s/title}{$m/name}{for $i in $s/item return $i/name}</r>",
    "collection()//note",
    "collection()//text()",
    "for $m in collection()//maker return <m>{$m/name}{for $i in collection()//item[name = $m/name] return $i}</m>",
)


@pytest.mark.parametrize("text", TOGETHER)
@pytest.mark.parametrize("given", [(FIRST, SECOND), (FIRST, STRANGE, SECOND), (SECOND,), ()])
def test_documents_that_are_asked_together(given: tuple[str, ...], text: str) -> None:
    expression = parse_query(text)
    expected = saxon.answer_set_together(print_query(expression), given) if given else None
    found = frozenset(answer(SHOP, expression, *given))
    interpreted = frozenset(evaluate(expression, map(parse_document, given)))
    assert found == interpreted
    assert expected is None or found == expected


@given(
    queries(replace(VOCABULARY, starts=("/", syntax.COLLECTION, syntax.COLLECTION))),
    st.sampled_from((REGULAR, REGULAR, MIXED)),
    st.integers(0, 1_000_000),
)
@settings(max_examples=tries(40))
def test_answers_together_are_saxons(expression: Expression, graph: SchemaGraph, seed: int) -> None:
    documents = [document(graph, seed), document(graph, seed + 1)]
    try:
        expected = saxon.answer_set_together(print_query(expression), documents)
    except saxon.XQueryError:
        assume(False)
    assert frozenset(answer(graph, expression, *documents)) == expected
    assert frozenset(evaluate(expression, map(parse_document, documents))) == expected


PLANNED_FOR_LONG: Final = {
    "subqueries in subqueries": "//*[//*[//*[//* = 'pen']]]",
    "subqueries beside each other": f"//item[{' or '.join(['. = //*/@*'] * 12)}]",
    "loops": f"({', '.join(['//item/name'] * 301)})",
    "loops in loops": "".join(f"for $l{level} in /shop/* return (" for level in range(6)) + "//title" + ")" * 6,
    "what is bound again and again": "let $b0 := //item "
    + " ".join(f"let $b{level + 1} := //item[@id = $b{level}/@id or @of = $b{level}/@id]" for level in range(7))
    + " for $i in $b7 return $i",
    "alternatives": "//item[" + " and ".join(["(name = 'pen' or name)"] * 101) + "]/name",
    "variables": " ".join(f"let $b{number} := //item" for number in range(501)) + " return $b500/name",
    "literals": "//item/name[" + " or ".join(map(". = '{}'".format, range(6_000))) + " or . = 'pen']",
}


@pytest.mark.parametrize("text", PLANNED_FOR_LONG.values(), ids=PLANNED_FOR_LONG)
def test_what_a_database_would_plan_for_long_is_interpreted(text: str) -> None:
    """Planning is not interrupted: three predicates in each other took 10 GB, and minutes beyond the deadline."""
    expression = parse_query(text)
    with Store.open(None, SHOP) as store:
        store.load("one", FIRST.encode())
        plan = plan_query(expression, store.catalogue)
        assert plan.plan is None, len(plan.sql or "")
        assert frozenset(query(store, plan)) == saxon.answer_set(print_query(expression), FIRST)


LONG: Final = "x" * 20_000
MADE_LONG: Final = {
    "a constant": f"for $i in //item return '{LONG}'",
    "content": f"for $i in //item return <i>{{data($i/@id)}}{LONG}</i>",
    "an attribute": f"for $i in //item return <i k='{LONG}'/>",
    "a value many times": f"for $i in //item, $t in //title return <i>{'{$t}' * 20}</i>",
}


@pytest.mark.parametrize("text", MADE_LONG.values(), ids=MADE_LONG)
def test_long_items_are_made_a_few_at_a_time(text: str) -> None:
    """A query of 20,000 characters made 80 MB for each batch of rows."""
    items = "".join(f"<item id='{number}'/>" for number in range(4_500))
    given = f"<shop><title>{'t' * 1_000}</title>{items}</shop>"
    expression = parse_query(text)
    expected = evaluate(expression, [parse_document(given)])
    with Store.open(None, SHOP) as store:
        store.load("one", given.encode())
        plan = plan_query(expression, store.catalogue)
        assert plan.plan is not None
        taken = pa.total_allocated_bytes()
        for number, (item, wanted) in enumerate(zip(query(store, plan), expected, strict=True)):
            assert item == wanted
            if not number % 100:
                assert pa.total_allocated_bytes() - taken < 48_000_000


def test_documents_that_are_interpreted_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heptox.store.querying.MOST_IN_MEMORY", len(SECOND) + 10)
    stated, not_stated = (parse_query(text) for text in ("collection()//item/name", "collection()//note/b"))
    assert answer(SHOP, stated, SECOND, SECOND) == ["<name>pen</name>"] * 2
    assert answer(SHOP, not_stated, SECOND) == []
    with pytest.raises(StoreError, match=r"HX6008 the query reads over \d+ bytes of 2 documents together"):
        answer(SHOP, not_stated, SECOND, SECOND)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("text", ASKED)
def test_a_document_that_is_asked_once(text: str) -> None:
    expression = parse_query(text)
    answered = [answer_once(expression, asked) for asked in (FIRST, STRANGE, SECOND)]
    assert any(found is not None for found in answered)
    for found, asked in zip(answered, (FIRST, STRANGE, SECOND), strict=True):
        assert found in (None, saxon.evaluate(print_query(expression), asked))


@pytest.mark.usefixtures("small_blocks")
def test_what_a_document_shows() -> None:
    text = "<a>\n<b k='1'/><b l='2'>x</b><c> <b/></c><d>y<a/></d> <c/></a>"
    read = read_for_query(text.encode(), "d.xml")
    assert read is not None
    elements = read.catalogue.graph.elements
    shown = {name: [f"{child.name}{child.cardinality}" for child in kind.children] for name, kind in elements.items()}
    assert shown == {"a": ["b*", "c*", "d?"], "b": [], "c": ["b?"], "d": ["a?"]}
    assert [name for name, kind in elements.items() if kind.text] == ["b", "d"]
    assert [each.name for each in elements["b"].attributes] == ["k", "l"]
    assert read.has_white_space
    assert plan_once(parse_query("/a/text()"), read).plan is None


def test_of_a_large_document_only_what_a_query_needs_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    items = "".join(
        f'<item id="{number}"><name>n</name><note>x<b>{number % 7}</b></note></item>' for number in range(90)
    )
    asked = parse_query("for $i in //item where $i/note/b = '3' return data($i/@id)")
    monkeypatch.setattr("heptox.store.database.MOST_IN_MEMORY", 5_000)
    with Store.open(None, SHOP) as store:
        store.load("a", f"<shop><title>t</title>{items}</shop>".encode())
        plan = plan_query(asked, store.catalogue)
        assert plan.plan is None
        assert list(query(store, plan)) == [f'"{number}"' for number in range(3, 90, 7)]
        with pytest.raises(StoreError) as raised:
            list(query(store, plan_query(parse_query("//note[b = '3']/*"), store.catalogue)))
        assert [fault.code for fault in raised.value.faults] == ["HX6008"]
        store.load("b", f"<shop><title>t</title><item id='1'><name>{'x' * 6_000}</name></item></shop>".encode())
        with pytest.raises(StoreError) as raised:
            list(query(store, plan_query(parse_query("//item[note/b]/name"), store.catalogue)))
    assert [fault.code for fault in raised.value.faults] == ["HX6008"]


def test_a_relation_that_only_mixed_content_has_elements_for_is_empty() -> None:
    text = "<r><x>so <b><t>1</t><t>2</t></b></x><b/><b/></r>"
    assert answer_once(parse_query("for $b in /r/b, $t in $b/t return $t"), text) == []
    assert answer_once(parse_query("/r/b"), text) == ["<b/>", "<b/>"]


def test_of_a_document_with_very_many_names_no_relations_are_made() -> None:
    assert read_for_query(f"<a>{''.join(f'<t{number}/>' for number in range(20_000))}</a>".encode(), "d.xml") is None


def test_what_is_an_error_on_the_way_is_one_here() -> None:
    for text, code in (
        ("for $i in //item return <r>{$i/name, $i/@id}</r>", "HX6005"),
        ("for $i in //item order by $i/note return $i", "HX6004"),
        ("//item['x' = 5]", "HX6003"),
    ):
        with pytest.raises(StoreError) as raised:
            answer(SHOP, parse_query(text), FIRST)
        assert raised.value.faults[0].code == code


def test_what_fails_while_rows_come_is_told() -> None:
    with Store.open(None, SHOP) as store:
        statement = "SELECT CAST(CASE WHEN i = 99999 THEN 'x' ELSE '1' END AS INT) FROM range(100000) t(i)"
        rows = rows_of(store.batches(store.cursor(), statement, ROWS))
        with pytest.raises(StoreError) as raised:
            list(rows)
    assert [fault.code for fault in raised.value.faults] == ["HX6009"]
    assert "Could not convert string 'x'" in raised.value.faults[0].message


@pytest.mark.parametrize(
    ("query", "numbers"),
    [("//b[. != 1]", 2), ("//b[1 != .]", 2), ("//b[. = 1]", 1), ("//b[. < 2]", 1), ("//a[empty(b[. != 1])]", 0)],
)
def test_what_is_no_number_by_its_name_is_unlike_every_number(query: str, numbers: int) -> None:
    text = "<a><b>1</b><b>NaN</b><b>x</b><b>\n NaN </b></a>"
    with Store.open(None, parse_dtd("<!ELEMENT a (b*)><!ELEMENT b (#PCDATA)>")) as store:
        store.load("one", text.encode())
        plan = plan_query(parse_query(query), store.catalogue)
        assert plan.sql
        found = answers(store, plan)
    assert len(found) == numbers
    assert found == list(evaluate(parse_query(query), [parse_document(text)]))


@pytest.mark.parametrize("path", ["items.store", None])
def test_a_statement_has_few_rows_and_then_many(tmp_path: Path, path: str | None) -> None:
    graph = parse_dtd("<!ELEMENT r (a*)><!ELEMENT a (#PCDATA)>")
    with Store.open(tmp_path / path if path else None, graph) as store:
        plan = plan_query(parse_query("//a"), store.catalogue)
        for count in (3, 63, 64, 300, 2, 0, 70, 1):
            items = [f"<a>{number}</a>" for number in range(count)]
            store.load("one", f"<r>{''.join(items)}</r>".encode(), replace=True)
            for _ in range(3):
                assert list(query(store, plan)) == items


def test_an_answer_that_is_left_unfinished_keeps_nothing_open() -> None:
    text = "<shop><title/>" + '<item id="1"><name>pen</name></item>' * 10_000 + "</shop>"
    names = parse_query("//item/name")
    with Store.open(None, SHOP) as store:
        store.load("a", text.encode())
        for _ in range(3):
            assert next(query(store, plan_query(names, store.catalogue))) == "<name>pen</name>"
        store.remove("a")
        assert list(query(store, plan_query(names, store.catalogue))) == []


def test_a_store_is_closed_with_the_answers_that_are_unfinished(tmp_path: Path) -> None:
    names = parse_query("//item/name")
    store = Store.open(tmp_path / "s", SHOP)
    store.load("a", ("<shop><title/>" + '<item id="1"><name>pen</name></item>' * 10_000 + "</shop>").encode())
    unfinished = query(store, plan_query(names, store.catalogue))
    next(unfinished)
    store.close()
    with pytest.raises(StoreError) as raised:
        list(unfinished)
    assert [fault.code for fault in raised.value.faults] == ["HX6009"]
    with Store.open(tmp_path / "s", SHOP) as again:
        assert len(list(query(again, plan_query(names, again.catalogue)))) == 10_000


def test_a_store_is_closed_while_another_thread_asks(tmp_path: Path) -> None:
    text = "<shop><title/>" + "".join(f'<item id="{n % 70}"><name>n</name></item>' for n in range(20_000)) + "</shop>"
    asked = parse_query("for $i in //item, $j in //item where $i/@id = $j/@id order by $j/name return $i/name")
    store = Store.open(tmp_path / "s", SHOP)
    store.load("a", text.encode())
    ended: list[str] = []

    def ask() -> None:
        try:
            ended.append(f"{len(list(query(store, plan_query(asked, store.catalogue))))} items")
        except StoreError as error:
            ended.append(error.faults[0].code)

    thread = Thread(target=ask)
    thread.start()
    thread.join(0.3)
    store.close()
    thread.join(240)
    assert ended
    with Store.open(tmp_path / "s", SHOP) as again:
        assert [document.name for document in again.documents()] == ["a"]


def test_a_document_that_was_read_once_is_let_go() -> None:
    text = "<shop><title/>" + '<item id="1"><name>pen</name></item>' * 10_000 + "</shop>"
    names = parse_query("//item/name")
    read = read_for_query(text.encode(), "d.xml")
    assert read is not None
    assert next(query_once(read, plan_once(names, read))) == "<name>pen</name>"


def test_a_statement_is_shown_or_why_there_is_none() -> None:
    with Store.open(None, SHOP) as store:
        plan = plan_query(parse_query("//item[@id = '2']/name"), store.catalogue)
        assert plan.sql is not None
        assert plan.sql.startswith("SELECT")
        assert (
            plan_query(parse_query("//note/b"), store.catalogue).reason
            == "it looks into the mixed or recursive content of note"
        )


def test_what_nobody_waits_for_ends() -> None:
    class UnwantedError(Exception):
        pass

    def unwanted() -> None:
        raise UnwantedError

    with Store.open(None, SHOP) as store:
        store.load("one", FIRST.encode())
        plan = plan_query(parse_query("//item/name"), store.catalogue)
        with pytest.raises(UnwantedError):
            list(query(store, plan, unwanted))
        assert len(list(query(store, plan))) == 3


def test_a_statement_that_does_not_hear_that_it_is_to_stop_is_told_again() -> None:
    class Deaf:
        """A cursor between two steps of its statement, when it is first interrupted: nothing is left of that."""

        def __init__(self) -> None:
            self.told = 0
            self.ended = Event()

        def interrupt(self) -> None:
            self.told += 1
            if self.told == 3:
                self.ended.set()

    class StopError(Exception):
        pass

    def check() -> None:
        raise StopError

    cursor = Deaf()
    with pytest.raises(StopError), _watched(cursor, check):  # type: ignore[arg-type]
        cursor.ended.wait(240)
    assert cursor.told >= 3
