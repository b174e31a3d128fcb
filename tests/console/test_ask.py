"""Asking in the browser: the editor, the answers, the receipt, and the way of the query."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st
from lxml import etree
from playwright.sync_api import Browser, Locator, Page, Route, expect

from heptox.demo import HOSPITAL, MONTREAL, ST_LUKE, Network
from heptox.peer import Client, ItemLine, ReceiptModel
from tests.console.conftest import Opening
from tests.peer.daemons import ask as peer_answer, frozen
from tests.support.budget import tries

EXAMPLE = (HOSPITAL / "queries/example1.xq").read_text()
NAMES = "//Patient/Name"
WAY = ["Montreal General", "Massachusetts General", "St Luke"]


@pytest.fixture
def page(console: Opening, hospitals: Network) -> Iterator[Page]:
    with console(hospitals.path(MONTREAL), "Ask") as page:
        yield page


@pytest.fixture(scope="module")
def modules(browser: Browser, hospitals: Network) -> Iterator[Page]:
    """A page whose modules are called, and in which nothing is clicked."""
    opening = Opening(browser)
    with opening(hospitals.path(MONTREAL)) as page:
        yield page
    assert opening.troubles == []


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Query")


def write(page: Page, query: str) -> None:
    """Put a query in the place of what is in the editor."""
    editor(page).click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(query)


def ask(page: Page, query: str) -> None:
    write(page, query)
    page.keyboard.press("Control+Enter")


def told_by_the_peer(folder: Path, query: str) -> tuple[list[ItemLine], ReceiptModel]:
    return peer_answer(folder, query)


def outcome(page: Page) -> Locator:
    return page.locator(".outcome")


def tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Answers as a table").locator("tbody tr:not(.space)")


# -- answers ---------------------------------------------------------------------------------------------------------


def test_the_answers_of_all_hospitals_come_as_a_table_with_where_they_are_from(page: Page, hospitals: Network) -> None:
    items, receipt = told_by_the_peer(hospitals.path(MONTREAL), EXAMPLE)
    ask(page, EXAMPLE)
    expect(outcome(page)).to_contain_text(f"The answer is complete: {receipt.items} item")
    expect(rows(page)).to_have_count(len(items))
    found = [(row.locator("bdi").first.inner_text(), row.locator("bdi").last.inner_text()) for row in rows(page).all()]
    assert sorted(found) == sorted((item.origin.name, re.sub("</?Name>", "", item.item)) for item in items)


def test_the_same_answers_are_there_as_xml(page: Page, hospitals: Network) -> None:
    query = 'for $p in //Patient[@ID = "m1002"] return $p'
    items, _ = told_by_the_peer(hospitals.path(MONTREAL), query)
    ask(page, query)
    expect(outcome(page)).to_be_visible()
    page.get_by_role("radio", name="XML").check()
    lines = page.get_by_role("region", name="Answers as XML").locator(".xml-line code").all_text_contents()
    shown = etree.fromstring("\n".join(lines))
    whole = etree.fromstring(items[0].item)
    assert leaves(shown) == leaves(whole) and shown.get("ID") == "m1002"


def leaves(element: etree._Element) -> list[tuple[str, str]]:
    return [(str(node.tag), (node.text or "").strip()) for node in element.iter() if not len(node)]


def test_what_is_downloaded_is_one_document_that_says_where_each_item_is_from(page: Page, hospitals: Network) -> None:
    items, _ = told_by_the_peer(hospitals.path(MONTREAL), NAMES)
    ask(page, NAMES)
    expect(outcome(page)).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    root = etree.parse(download.value.path()).getroot()
    assert root.get("query") == NAMES
    found = sorted((node.get("peer"), etree.tostring(node[0], encoding="unicode", with_tail=False)) for node in root)
    assert found == sorted((item.origin.peer, item.item) for item in items)


def test_items_are_copied_as_they_came(console: Opening, hospitals: Network) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with console(hospitals.path(MONTREAL), "Ask", permissions=permissions) as page:
        ask(page, NAMES)
        expect(outcome(page)).to_be_visible()
        page.get_by_role("button", name="Copy").click()
        expect(page.locator("footer")).to_contain_text("copied")
        copied = page.evaluate("navigator.clipboard.readText()").splitlines()
        items, _ = told_by_the_peer(hospitals.path(MONTREAL), NAMES)
        assert sorted(copied) == sorted(item.item for item in items)


def many(count: int) -> list[dict[str, Any]]:
    """An answer of so many items; every tenth came before from elsewhere."""
    origins = [{"peer": f"P{place}", "name": name, "path": WAY[: place + 1]} for place, name in enumerate(WAY)]
    items = [
        {"item": f"<Name>n{number}</Name>", "origin": origins[number % 3], "repeated": number % 10 == 9}
        for number in range(count)
    ]
    lines = [
        {**origin, "status": "answered", "complete": True, "items": count // 3, "losses": [], "reason": "", "text": "",
         "milliseconds": 5, "beyond": False}
        for origin in origins
    ]  # fmt: skip
    return [
        *items,
        {"receipt": {"query": "q", "complete": True, "items": count * 9 // 10, "lines": lines, "missing": []}},
    ]


def instead(page: Page, lines: list[dict[str, Any]]) -> None:
    """Answer queries by these lines, in place of the peer."""
    answer = "".join(f"{json.dumps(line)}\n" for line in lines)
    nothing = '{"own": [], "neighbours": []}'

    def fulfil(route: Route) -> None:
        body = answer if route.request.method == "POST" else nothing
        route.fulfill(content_type="application/x-ndjson", body=body)

    page.route("**/queries", fulfil)


def test_of_very_many_items_only_those_that_are_seen_are_made(page: Page) -> None:
    instead(page, many(30_000))
    ask(page, NAMES)
    expect(outcome(page)).to_contain_text("27,000 items from 3 peers")
    table = page.get_by_role("region", name="Answers as a table")
    expect(table.get_by_role("table")).to_have_attribute("aria-rowcount", "30001")
    assert rows(page).count() < 100
    table.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    expect(rows(page).last).to_contain_text("n29999")
    assert rows(page).count() < 100
    expect(rows(page).last).to_contain_text("again")
    page.get_by_role("checkbox", name="Without what came again (3,000)").check()
    expect(table.get_by_role("table")).to_have_attribute("aria-rowcount", "27001")
    page.get_by_role("radio", name="XML").check()
    written = page.get_by_role("region", name="Answers as XML")
    written.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
    expect(written.locator(".xml-line").last).to_contain_text("n29998")
    assert written.locator(".xml-line").count() < 120


# -- the receipt -----------------------------------------------------------------------------------------------------


def test_the_receipt_is_a_table_of_all_paths(page: Page) -> None:
    ask(page, EXAMPLE)
    expect(outcome(page)).to_be_visible()
    tab(page, "Receipt")
    receipt = page.get_by_role("region", name="Receipt")
    assert receipt.locator("tbody th .badge").all_inner_texts() == ["A", "B", "C"]
    assert receipt.locator("tbody th bdi").all_inner_texts() == WAY
    expect(receipt.get_by_role("row").nth(3)).to_contain_text(
        " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} ".join(WAY)
    )
    expect(receipt.get_by_role("row").nth(1)).to_contain_text("answered")


def test_an_answer_that_is_not_complete_says_so_and_who_is_missing(page: Page) -> None:
    ask(page, "for $p in //Patient return string-join($p/Treat/Desc, ' ')")
    expect(outcome(page)).to_contain_text("The answer is not complete")
    expect(outcome(page)).to_contain_text("refused at Massachusetts General")
    tab(page, "Receipt")
    expect(page.get_by_role("region", name="Receipt")).to_contain_text("HX5017")


def test_a_query_that_is_cancelled_keeps_its_receipt(page: Page, hospitals: Network) -> None:
    with frozen(hospitals.path(ST_LUKE)):
        ask(page, NAMES)
        expect(rows(page).first).to_be_visible()
        page.keyboard.press("Escape")
        expect(outcome(page)).to_contain_text("The answer is not complete")
        tab(page, "Receipt")
        expect(page.get_by_role("region", name="Receipt")).to_contain_text("cancelled")
    with Client.connect(hospitals.path(MONTREAL)) as client:
        assert client.status().queries == ()


def test_how_far_and_how_long_is_asked_for_is_sent(page: Page) -> None:
    page.get_by_role("spinbutton", name="Hops").fill("0")
    page.get_by_role("spinbutton", name="Timeout").fill("7.5")
    page.get_by_role("checkbox", name="Explain").uncheck()
    write(page, NAMES)
    with page.expect_request(lambda request: request.method == "POST" and request.url.endswith("/queries")) as sent:
        page.get_by_role("button", name="Ask Ctrl Enter").click()
    assert sent.value.post_data_json == {"query": NAMES, "explain": False, "timeout": 7.5, "hops": 0}
    expect(outcome(page)).to_contain_text("from 1 peer")


# -- the way of the query --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1000, 1400])
def test_the_hops_are_a_drawing_that_is_walked_by_keyboard(console: Opening, hospitals: Network, width: int) -> None:
    with console(hospitals.path(MONTREAL), "Ask", viewport={"width": width, "height": 800}) as page:
        ask(page, EXAMPLE)
        expect(outcome(page)).to_be_visible()
        tab(page, "Hops")
        cards = page.get_by_role("treeitem")
        assert [card.locator("b").inner_text() for card in cards.all()] == WAY
        expect(cards.nth(1)).to_contain_text("for $c in //Coronary")
        box = page.locator(".hops").evaluate("(box) => [box.scrollWidth, box.clientWidth]")
        assert box[0] <= box[1]
        cards.first.focus()
        page.keyboard.press("ArrowRight")
        expect(cards.nth(1)).to_be_focused()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        panel = page.get_by_role("dialog")
        expect(panel).to_contain_text("return <Name>{data($c/Patient)}</Name>")
        expect(panel.get_by_text("stitch")).to_be_visible()
        page.keyboard.press("Escape")
        expect(panel).to_have_count(0)
        expect(cards.nth(1)).to_be_focused()


def test_a_loss_leads_to_the_mapping_that_would_carry_it(page: Page) -> None:
    ask(page, "//Treat/Doc")
    expect(outcome(page)).to_be_visible()
    tab(page, "Receipt")
    receipt = page.get_by_role("region", name="Receipt")
    expect(receipt).to_contain_text("Patient/Treat/Doc: no arrow supplies it")
    receipt.get_by_role("button", name="Mend this").click()
    expect(page.get_by_role("tab", name="Arrows", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.locator(".mending")).to_contain_text("Patient/Treat/Doc was lost")
    tree = page.get_by_role("tree", name="The source schema")
    expect(tree).to_have_attribute("aria-activedescendant", "source:Patient/Treat/Doc")
    expect(tree).to_be_focused()


def test_whose_a_mapping_is_that_lost_something_farther_away_is_told(page: Page) -> None:
    *items, last = many(3)
    last["receipt"]["lines"][2]["losses"] = ["a/b: no arrow supplies it"]
    instead(page, [*items, last])
    ask(page, NAMES)
    tab(page, "Receipt")
    row = page.get_by_role("region", name="Receipt").get_by_role("row").nth(3)
    expect(row).to_contain_text("The mapping between Massachusetts General and St Luke is theirs")
    expect(row.get_by_role("button")).to_have_count(0)


# -- the editor ------------------------------------------------------------------------------------------------------


def test_a_fault_is_told_where_it_is_and_gone_when_it_is_mended(page: Page) -> None:
    write(page, "for $p in //Patient return $p/Nam")
    expect(page.locator(".cm-lintRange-error")).to_have_text("Nam")
    expect(page.get_by_role("list", name="Faults")).to_contain_text("1:31")
    page.keyboard.type("e")
    expect(page.locator(".cm-lintRange-error")).to_have_count(0)
    expect(page.get_by_role("list", name="Faults")).to_have_count(0)


def test_what_peers_do_not_have_is_refused_by_name(page: Page) -> None:
    ask(page, "//Patient/..")
    expect(outcome(page)).to_contain_text("The query was refused")
    expect(page.get_by_role("list", name="Faults")).to_contain_text("HX3070")


@pytest.mark.parametrize(
    ("query", "offered", "missing"),
    [
        ("//Adm", {"Admission", "AdmDate"}, {"Patient"}),
        ("/", {"MonGenHosp"}, {"Patient"}),
        ("//Patient/", {"Name", "Hist", "Treat", "@ID", "MedCrNo"}, {"Doc", "Admission", "@PatRef"}),
        ("for $a in //Admission return $a/", {"Problem", "@PatRef"}, {"Name", "@ID"}),
        ("for $a in //Admission, $p in //Patient[@ID = $a/@", {"@PatRef"}, {"@ID"}),
        ("for $a in //Admission, $p in //Patient[", {"@ID", "Name", "$a"}, {"Problem", "$p"}),
        ("for $p in //Patient return <x y='{$p/", {"Name"}, {"Doc"}),
        ("for $p in //Patient let $t := $p/Treat return $t/", {"Date", "Desc", "Doc"}, {"Name"}),
        ("for $h in //Patient/(Hist | Treat) return $h/", {"Event", "Doc"}, {"Name"}),
        ("for $p in //Patient where $", {"$p"}, {"Patient"}),
        ("//Patient/Name/", {"text()"}, {"Name"}),
        ("//Patient//", {"Doc", "Event", "Problem"}, {"Admission"}),
        ("for $p in //Patient wh", {"where"}, {"Name"}),
        ('//Patient[Name = "', set(), {"Name"}),
        ("(: //Patient/", set(), {"Name"}),
        ("<found>Pat", set(), {"Patient"}),
    ],
)
def test_what_can_stand_at_the_end_of_a_query(modules: Page, query: str, offered: set[str], missing: set[str]) -> None:
    script = """async (query) => {
        const { Steps, choices, placeOf } = await import("/console/assets/ask/completing.js");
        const { call } = await import("/console/assets/api.js");
        const steps = new Steps(await call("GET", "/schema"));
        const place = placeOf(query, steps);
        const begun = query.slice(place.from);
        return choices(place, steps).map(({ label }) => label).filter((label) => label.startsWith(begun));
    }"""
    found = set(modules.evaluate(script, query))
    assert offered <= found and not missing & found


def test_steps_are_completed_as_one_types(page: Page) -> None:
    write(page, "for $a in //Admission return $a/")
    page.keyboard.type("Pro")
    page.get_by_role("option", name="Problem").click()
    expect(editor(page)).to_have_text("for $a in //Admission return $a/Problem")


def test_a_tab_remembers_what_was_asked_in_it(page: Page) -> None:
    ask(page, NAMES)
    expect(outcome(page)).to_be_visible()
    write(page, "//Treat/Date")
    page.reload()
    tab(page, "Ask")
    expect(editor(page)).to_have_text("//Treat/Date")
    page.get_by_role("button", name="Ask again").click()
    expect(outcome(page)).to_be_visible()
    expect(editor(page)).to_have_text(NAMES)


# -- laws ------------------------------------------------------------------------------------------------------------

TEXT = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="\ufffe\uffff"), max_size=12
)
NAME = st.from_regex(re.compile(r"[A-Za-zé_][A-Za-z0-9_.é-]{0,6}"), fullmatch=True).filter(
    lambda name: not name.lower().startswith("xml")
)
LAW = settings(max_examples=tries(60))


def element(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(NAME, st.dictionaries(NAME, TEXT, max_size=3), st.lists(children, max_size=4))


TREE = element(st.recursive(TEXT, element, max_leaves=8))


def built(tree: tuple[str, dict[str, str], list[Any]]) -> etree._Element:
    name, attributes, content = tree
    made = etree.Element(name, attributes)
    last = None
    for part in content:
        if isinstance(part, tuple):
            last = built(part)
            made.append(last)
        elif last is None:
            made.text = (made.text or "") + part
        else:
            last.tail = (last.tail or "") + part
    return made


def as_lists(node: etree._Element) -> list[Any]:
    content: list[Any] = [node.text] if node.text else []
    for child in node:
        content += [as_lists(child), *([child.tail] if child.tail else [])]
    return [node.tag, sorted(map(list, node.items())), content]


READ = """async (item) => {
    const { elementOf } = await import("/console/assets/ask/items.js");
    const told = (part) => typeof part === "string"
        ? part : [part.name, part.attributes.toSorted(), part.content.map(told)];
    const found = elementOf(item);
    return found && told(found);
}"""


@LAW
@given(TREE)
def test_items_are_read_as_a_parser_reads_them(modules: Page, tree: tuple[str, dict[str, str], list[Any]]) -> None:
    item = etree.tostring(built(tree), encoding="unicode")
    found = modules.evaluate(READ, item)
    expected = as_lists(etree.fromstring(item))
    assert found == [expected[0], sorted(expected[1], key=lambda pair: [ord(c) for c in pair[0]]), expected[2]]


@LAW
@given(st.text(alphabet="<>/&;ab=\"' x#1!-?[]", max_size=24).map(lambda text: f"<a{text}"))
def test_what_no_parser_reads_is_no_element(modules: Page, item: str) -> None:
    try:
        etree.fromstring(item)
    except etree.XMLSyntaxError:
        assert modules.evaluate(READ, item) is None


@LAW
@given(st.text(alphabet="for let$ab/[]()@={}<>\"':,.|* \nreturn", max_size=60))
def test_every_text_is_the_sum_of_its_tokens(modules: Page, query: str) -> None:
    script = """async (query) => (await import("/console/assets/ask/language.js")).tokens(query)
        .map((line) => line.map(({ text }) => text).join("")).join("\\n")"""
    assert modules.evaluate(script, query) == query
