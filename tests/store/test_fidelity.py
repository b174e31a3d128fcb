"""What is given back whole is what was loaded: names with their prefixes, comments, instructions, mixed content."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree

from heptox.grammar import parse_query
from heptox.peer.query.bounds import digest_of
from heptox.schema import parse_dtd
from heptox.store import Hiding, Store, plan_query, query, texts
from heptox.xml import XmlElement

SCHEMA = """
<!ELEMENT a:a (a:b*, a:c?, d*, a:m?)> <!ATTLIST a:a xmlns:a CDATA #FIXED "urn:a" x CDATA #IMPLIED a:x CDATA #IMPLIED>
<!ELEMENT a:b (#PCDATA)> <!ELEMENT a:c (a:b+)> <!ELEMENT d (#PCDATA)> <!ATTLIST d x CDATA #IMPLIED>
<!ELEMENT a:m (#PCDATA | a:b | d)*>
"""
SAME = 'xmlns:a="urn:a"'


def canonical(text: str) -> str:
    return str(etree.canonicalize(text, with_comments=True))


def of(element: XmlElement) -> str:
    return canonical(etree.tostring(element, with_tail=False, encoding="unicode"))


def found(store: Store, text: str) -> list[str]:
    return list(query(store, plan_query(parse_query(f"declare namespace a = 'urn:a'; {text}"), store.catalogue)))


# -- random documents ----------------------------------------------------------------------------------------------

WORDS = st.sampled_from(["x", "&lt;", "é", " ", "\n", "<![CDATA[y]]>", "/", "p:q", "&#13;", "1"])
BESIDE = st.sampled_from(["<!--c-->", "<!-- <a:b xmlns='u'> -->", "<?p?>", "<?p q > r?>", "<!---->", "<!--Q{u}é-->"])


def contents(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(st.one_of(*parts), max_size=5).map("".join)


@st.composite
def elements(draw: st.DrawFn, name: str, scope: str, content: st.SearchStrategy[str], attributes: str = "") -> str:
    """An element with one of the prefixes that its namespace may have; ``scope`` is what is declared around it."""
    local = name.rpartition(":")[2]
    if ":" not in name:
        start, end = f'{local} xmlns=""', local
    else:
        start, end = draw(
            st.sampled_from(
                [
                    (f"a:{local} {scope}", f"a:{local}"),
                    (f'{local} xmlns="urn:a" xmlns:a="urn:a"', local),
                    (f'z:{local} xmlns:z="urn:a" xmlns:a="urn:a"', f"z:{local}"),
                    (f'{local} xmlns="urn:a" xmlns:a="urn:a" xmlns:unused="u"', local),
                ]
            )
        )
    inside = draw(content)
    closed = draw(st.booleans()) and not inside
    return f"<{start}{attributes}/>" if closed else f"<{start}{attributes}>{inside}</{end}>"


@st.composite
def documents(draw: st.DrawFn) -> str:
    b = elements("a:b", "", contents(WORDS, BESIDE))
    d = elements("d", "", contents(WORDS, BESIDE), draw(st.sampled_from(["", " x='&quot; >'"])))
    between = contents(st.just("\n"), BESIDE)
    several = st.lists(st.tuples(b, between).map("".join), min_size=1, max_size=3).map("".join)
    c = elements("a:c", "", st.tuples(between, several).map("".join))
    m = elements("a:m", "", contents(WORDS, BESIDE, b, d))
    parts = [between, st.one_of(st.just(""), several), between, st.one_of(st.just(""), c), between]
    body = st.tuples(*parts, contents(d, BESIDE), st.one_of(st.just(""), m), between).map("".join)
    attributes = draw(st.sampled_from(["", ' a:x="1"', ' z:x="1" xmlns:z="urn:a" x="2"', ' xml:lang="e"']))
    root = draw(elements("a:a", SAME, body, attributes if "xmlns:z" not in attributes else ' x="2"'))
    return draw(contents(BESIDE)) + root + draw(contents(BESIDE, st.just("\n")))


@settings(max_examples=20)
@given(documents())
def test_what_was_loaded_is_given_back(text: str) -> None:
    root = etree.fromstring(text)
    with Store.open(None, parse_dtd(SCHEMA, "a:a")) as store:
        store.load("x", text.encode())
        assert [canonical(each) for each in texts(store, splitting=True)] == [canonical(text)]
        assert [canonical(each) for each in found(store, "/*")] == [of(root)]
        for name in ("a:b", "a:c", "a:m", "d"):
            wanted = [of(element) for element in root.iterfind(f".//{name}", {"a": "urn:a"})]
            assert [canonical(each) for each in found(store, f"//{name}")] == wanted, name
            copies = found(store, f"for $e in //{name} return <a:copy>{{$e}}</a:copy>")
            assert [of(copy[0]) for copy in map(etree.fromstring, copies)] == wanted, name


@settings(max_examples=8)
@given(documents())
def test_values_have_nothing_of_it(text: str) -> None:
    plain = etree.fromstring(text, etree.XMLParser(remove_comments=True, remove_pis=True))
    graph = parse_dtd(SCHEMA, "a:a")
    with Store.open(None, graph) as store, Store.open(None, graph) as other:
        store.load("x", text.encode())
        other.load("x", etree.tostring(plain))
        for asked in _asked():
            assert found(store, asked) == found(other, asked), asked


def _asked() -> Iterator[str]:
    for name in ("a:b", "d", "a:m"):
        yield f"//{name}/text()"
        yield f"for $e in //{name} return data($e)"
        yield f"for $e in //{name}, $f in //a:b where $e = $f return <e>{{data($e)}}</e>"
        yield f"for $e in //{name}, $f in //a:m where deep-equal($e, $f) return <e/>"


@pytest.mark.parametrize("dtd", ["<!ELEMENT a ANY>", "<!ELEMENT a (b?)> <!ELEMENT b EMPTY>"])
def test_what_the_schema_does_not_know_is_asked_and_given_back(dtd: str) -> None:
    text = (
        '<a>é<!--1--><x xmlns="urn:x" k="1" xmlns:q="urn:q" q:k="&lt;2">u<!--c--><q:y/></x><p:x xmlns:p="urn:x"/></a>'
    )
    inner = [of(element) for element in etree.fromstring(text).iter("{urn:x}x")]
    with Store.open(None, parse_dtd(dtd, "a")) as store:
        store.load("x", text.encode())
        assert [canonical(item) for item in found(store, "//Q{urn:x}x")] == inner
        assert found(store, "//Q{urn:x}x[@k = 1]/text()") == ["u"]
        assert found(store, "data(//@Q{urn:q}k)") == ['"<2"']
        assert [canonical(item) for item in found(store, "/*")] == [canonical(text)]


def test_nothing_that_splits_a_text_is_there_where_text_is_asked_for() -> None:
    with Store.open(None, parse_dtd(SCHEMA, "a:a")) as store:
        store.load("x", b'<a:a xmlns:a="urn:a"><!--1--><a:b>x<!--2-->y<!--3--></a:b></a:a>')
        assert texts(store, splitting=False) == ('<a:a xmlns:a="urn:a"><!--1--><a:b>xy<!--3--></a:b></a:a>',)


def test_nothing_beside_leaves_with_what_is_shown() -> None:
    hiding = Hiding(parse_dtd(SCHEMA, "a:a"), ["a:a/d"])
    pruned = BytesIO()
    text = "<z:a xmlns:z='urn:a'><!--1--><z:b>x<?p?></z:b><d>2<!--2--></d></z:a><!--3-->"
    assert hiding.prune(BytesIO(text.encode()), pruned)
    assert pruned.getvalue() == b'<a:a xmlns:a="urn:a"><a:b>x</a:b></a:a>'


def test_items_that_differ_in_nothing_else_are_one() -> None:
    first = '<p:a xmlns:p="u" p:x="&quot;">x<!-- c -->y<b></b></p:a>'
    assert digest_of(first) == digest_of('<q:a xmlns:q="u" q:x="&#34;">xy<b/></q:a>')
    assert len({digest_of(text) for text in (first, '<a x="&quot;">xy<b/></a>', "<a>xy</a>", "<a>x<!--", "xy")}) == 5


@pytest.mark.parametrize("text", ["<!DOCTYPE a:a [<!-- no --><?no no?>]><a:a xmlns:a='urn:a'/>"])
def test_comments_of_a_doctype_are_none_of_the_document(text: str) -> None:
    with Store.open(None, parse_dtd(SCHEMA, "a:a")) as store:
        store.load("x", text.encode())
        assert texts(store, splitting=True) == ('<a:a xmlns:a="urn:a"/>',)
