"""What comes from documents and other peers is text, whatever it says: nothing of it runs, moves or hides anything."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from lxml import etree
from playwright.sync_api import Locator, Page, Route, expect

from heptox.demo import BOSTON, MONTREAL, Network
from heptox.peer import ControlAddress, QuestionRequest, document_loading
from tests.console.conftest import Opening, answered
from tests.peer.daemons import Daemon, acquaint, wait_until

RUN: Final = "window.harm = 1; alert(1)"
MARKUP: Final = [
    f'<img src=x onerror="{RUN}">',
    f"<script>{RUN}</script>",
    f'"><svg onload="{RUN}">',
    f"'><svg/onload='{RUN}'>",
    "</bdi></td></table></section><h1>outside</h1>",
    f"javascript:{RUN}",
    f"${{{RUN}}}",
    f"{{{{constructor.constructor('{RUN}')()}}}}",
    "&lt;b&gt;&amp;amp;",
    "__proto__",
    "constructor",
]
"""What would run, or be something else than text, if it were taken for markup or a name of the program."""
UNSEEN: Final = [
    "left\u202eright\u2066",
    "bell\x07 escape\x1b[31m next\x85",
    "zero\u200bwidth\ufeff",
    "half\ud800",
    "tag\U000e0041 filler\u3164 blank\u2800 none\u034f",
]
"""What would turn the direction of what follows, or cannot be seen."""
LONG: Final = "l" + "o" * 9_998 + "g"
HOSTILE: Final = [*MARKUP, *UNSEEN, LONG]
XML: Final = [text for text in HOSTILE if not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", text)]
"""Those that can stand in a document."""
_NUMBERED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\u034f\u2800\u3164\U000e0000-\U000e007f]"
)
ELEMENTS: Final = (
    "img:not(.cm-widgetBuffer), script, iframe, object, embed, style, "
    "a[href]:not([href^='blob:']), h1:text('outside'), [onerror], [onload]"
)


def shown(text: str) -> str:
    """How a text is shown; of a long one, how it begins."""
    return _NUMBERED.sub(lambda found: f"U+{ord(found[0]):04X}", text[:30] if len(text) > 1000 else text)


def expect_shown(place: Locator, *texts: str) -> None:
    """All texts are there, as text."""
    for text in texts or HOSTILE:
        expect(place).to_contain_text(shown(text))


def expect_harmless(page: Page) -> None:
    """Nothing has run, nothing of theirs became an element, and nothing unseen is in any text or attribute."""
    assert page.evaluate("window.harm ?? null") is None
    assert page.locator("#console").locator(ELEMENTS).count() == 0
    texts = page.evaluate(
        """() => [...document.querySelectorAll("#console *:not(.cm-editor *)")].flatMap((element) => [
            ...["title", "aria-label"].map((name) => element.getAttribute(name) ?? ""),
            ...[...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE).map((node) => node.data)])"""
    )
    assert [text for text in texts if _NUMBERED.search(text)] == []
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


@pytest.fixture
def page(console: Opening, hospitals: Network) -> Iterator[Page]:
    with console(hospitals.path(MONTREAL), "Ask") as page:
        yield page
        expect_harmless(page)


# -- answers that only a hostile peer would give ---------------------------------------------------------------------


def origin(number: int, text: str) -> dict[str, Any]:
    return {"peer": f"{number} {text}", "name": text, "path": ["Montreal General", text]}


def item(text: str, number: int, item: str) -> dict[str, Any]:
    return {"item": item, "origin": origin(number, text), "repeated": False}


def items() -> list[dict[str, Any]]:
    """Hostile items: in content and attributes, as elements of hostile names, and as no XML at all."""
    elements = ['<img src="x" onerror="alert(1)"/>', "<script>alert(1)</script>", "<style>* {display: none}</style>"]
    written = [f'<v a="{escape(text)}">{escape(text)}</v>' for text in XML]
    texts = [*HOSTILE, *(f"<v>{text}</v>" for text in UNSEEN), *elements, *written, "<a>" * 100_000]
    return [item(HOSTILE[number % len(HOSTILE)], number, text) for number, text in enumerate(texts)]


def receipt() -> dict[str, Any]:
    own = {"peer": "A", "name": "Montreal General", "path": ["Montreal General"]}
    lines = [
        {**place, "status": text, "complete": False, "items": 1, "losses": [text, f"a/b: {text}"], "reason": text,
         "text": text, "milliseconds": 1, "beyond": True}
        for place, text in [(own, "x"), *((origin(number, text), text) for number, text in enumerate(HOSTILE))]
    ]  # fmt: skip
    missing = [
        {"lack": text, "peers": 2, "behind": 1, "named": [text], "costs": text, "mend": text} for text in HOSTILE
    ]
    return {"query": LONG, "complete": False, "items": 1, "lines": lines, "missing": missing}


def translated() -> dict[str, Any]:
    return {
        "text": LONG,
        "losses": [{"path": ["a", "b"], "effect": text, "arrow": text} for text in HOSTILE],
        "steps": [{"name": text, "members": [{"tree": text, "text": text}]} for text in HOSTILE],
        "faults": [fault(text) for text in HOSTILE],
    }


def fault(text: str) -> dict[str, Any]:
    place = {"line": 1, "column": 1, "file": text}
    return {"code": "HX3001", "message": text, "position": place, "excerpt": text, "hint": text, "file": text}


def answer(route: Route, *, found: Sequence[dict[str, Any]] = ()) -> None:
    """What is under way, or an answer: hostile items, unless others are found."""
    lines = [*(found or items()), {"receipt": receipt()}]
    if route.request.method != "POST":
        lines = [{"own": [], "neighbours": []}]
    body = "".join(f"{json.dumps(line)}\n" for line in lines)
    route.fulfill(content_type="application/x-ndjson", body=body)


def ask(page: Page, query: str) -> None:
    page.get_by_role("textbox", name="Query").click()
    page.keyboard.insert_text(query)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".outcome")).to_be_visible()


def test_hostile_answers_are_text_in_the_table_and_in_the_xml(page: Page) -> None:
    page.route("**/queries", answer)
    ask(page, "//Patient")
    expect_shown(page.locator(".outcome"), *HOSTILE[:4])
    for name, begins in (("Answers as a table", "<a><a>"), ("Answers as XML", "<a><a>")):
        region = page.get_by_role("region", name=name)
        expect_shown(region, *HOSTILE[:-1])
        expect_harmless(page)
        region.evaluate("(box) => { box.scrollTop = box.scrollHeight; }")
        expect(region).to_contain_text(begins)
        expect_harmless(page)
        page.get_by_role("radio", name="XML").check()


def test_an_item_that_is_very_large_is_shown_as_its_text_and_downloaded_as_it_is(page: Page) -> None:
    large = f"<a>{'<b/>' * 100_000}</a>"
    page.route("**/queries", lambda route: answer(route, found=[item("x", 0, large)]))
    ask(page, "//a")
    for name in ("Answers as a table", "Answers as XML"):
        expect(page.get_by_role("region", name=name)).to_contain_text("<a><b/><b/>")
        page.get_by_role("radio", name="XML").check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    assert large in download.value.path().read_text(encoding="utf-8")


def test_the_document_of_hostile_answers_is_well_formed(page: Page) -> None:
    page.route("**/queries", answer)
    ask(page, "//Patient")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    root = etree.parse(download.value.path(), etree.XMLParser(huge_tree=True)).getroot()
    assert len(root) == len(items())
    assert [node[0].text for node in root if len(node) and node[0].tag == "v"][-len(XML) :] == XML


def test_hostile_receipts_are_text(page: Page) -> None:
    page.route("**/queries", answer)
    answered(page, "**/acquaintances", [known(number, text) for number, text in enumerate(HOSTILE)])
    answered(page, "**/translation", translated())
    ask(page, "//Patient")
    page.get_by_role("tab", name="Receipt").click()
    receipt = page.get_by_role("region", name="Receipt")
    expect_shown(receipt)
    expect(receipt.get_by_role("button", name="Mend this").first).to_be_visible()
    expect_shown(receipt.locator(".proposal").first, HOSTILE[0])


def test_hostile_hops_are_text(page: Page) -> None:
    page.route("**/queries", answer)
    answered(page, "**/acquaintances", [])
    answered(page, "**/translation", translated())
    ask(page, "//Patient")
    page.get_by_role("tab", name="Hops").click()
    expect_shown(page.get_by_role("tree"))
    expect_harmless(page)
    for place in range(1, len(HOSTILE) + 1, 5):
        page.locator(f"#hop-{place}").press("Enter")
        panel = page.get_by_role("dialog")
        expect_shown(panel)
        for summary in panel.locator("summary").all():
            summary.click()
        expect_harmless(page)
        page.keyboard.press("Escape")


def test_hostile_faults_are_text(page: Page) -> None:
    answered(page, "**/queries/check", {"faults": [fault(text) for text in HOSTILE]})
    page.get_by_role("textbox", name="Query").click()
    page.keyboard.insert_text("//Patient")
    expect_shown(page.get_by_role("list", name="Faults"))
    page.locator(".cm-lintRange-error").first.hover()
    expect(page.locator(".cm-tooltip-lint")).to_contain_text(MARKUP[0])


# -- what is watched -------------------------------------------------------------------------------------------------


def known(number: int, text: str) -> dict[str, Any]:
    return {
        "name": text, "peer_id": f"{number} {text}", "address": text, "side": "source", "standing": text,
        "reason": text, "version": 1, "connected": True, "fault": text,
    }  # fmt: skip


def watched() -> dict[str, tuple[Any, bool]]:
    """Hostile answers of all that is watched, by path; and whether they come one a line."""
    each = list(enumerate(HOSTILE))
    own = [{"query": f"{number}", "text": text, "items": 1} for number, text in each]
    neighbours = [
        {"query": text, "neighbour": f"{number} {text}", "name": text, "asker": text, "path": [text], "items": 1,
         "milliseconds": 1}
        for number, text in each
    ]  # fmt: skip
    subscriptions = [
        {"name": text, "number": 1, "xpath": text, "words": "own", "deliver": "documents", "policy": "block", "most": 1,
         "most_bytes": 1, "added": text, "first": 1, "last": 1, "delivered": 1, "acknowledged": 1, "backlog": 1,
         "backlog_bytes": 1, "lag": 1.0, "dead_letters": 1, "forgotten": 1, "suspended": text}
        for text in HOSTILE
    ]  # fmt: skip
    publishers = [
        {"publisher": f"{number} {text}", "name": text, "path": [text], "advertised": text, "interested": 1,
         "position": 1, "live": True, "words": text, "words_reason": text}
        for number, text in each
    ]  # fmt: skip
    offers = [{**known(number, text), "digest": text, "mapping": text, "files": {text: text}} for number, text in each]
    audit = [{"time": text, "event": text, "text": text, text: {"more": text}} for text in HOSTILE]
    return {
        "**/acquaintances": ([known(number, text) for number, text in each], False),
        "**/requests": (offers, False),
        "**/queries": ({"own": own, "neighbours": neighbours}, False),
        "**/subscriptions": (subscriptions, True),
        "**/feeds": ({"publishers": publishers, "neighbours": []}, False),
        "**/documents": ([{"name": text, "bytes": 1, "fits": True, "loaded": text} for text in HOSTILE], False),
        "**/audit?*": (audit, True),
    }  # fmt: skip


@pytest.mark.parametrize("width", [1000, 1400])
def test_whatever_is_watched_is_text(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    for path, (value, lines) in watched().items():
        answered(page, path, value, lines=lines)
    page.get_by_role("tab", name="Watch", exact=True).click()
    for name in ("acquaintances", "requests", "queries", "subscriptions", "feeds", "documents", "audit"):
        expect_shown(page.locator(f"section.watched-{name}"))
    expect_harmless(page)
    for details in page.locator(".watch summary").all():
        details.evaluate("(summary) => { summary.parentElement.open = true; }")
    expect_harmless(page)
    for place in range(0, len(HOSTILE), 5):
        page.locator(".watched-acquaintances").get_by_role("button", name="Withdraw").nth(place).click()
        expect_shown(page.get_by_role("dialog"), HOSTILE[place])
        expect_harmless(page)
        page.keyboard.press("Escape")


# -- what is drawn ---------------------------------------------------------------------------------------------------


def examined(text: str) -> dict[str, Any]:
    """What a peer would say of a mapping if all its names and values were hostile."""
    children = [{"name": name, "type": "", "cardinality": "*"} for name in HOSTILE]
    typed = {"type": "", "open": False, "value_type": text, "values": HOSTILE, "documentation": text}
    prefixes = {"": text, text: text}
    side = {
        "file": "a.dtd", "root": text, "prefixes": prefixes,
        "boxes": [{"name": text, "parent": [], "members": HOSTILE, "line": 1}],
        "selections": [
            {"path": [f"{text}[. = {one}]"], "name": text, "tests": [{"test": "=", "leaf": [], "values": [one]}]}
            for one in HOSTILE
        ],
        "own": True, "keys": [[text]],
        "references": [{"source": [name], "target": [text], "inferred": False} for name in HOSTILE],
    }  # fmt: skip
    values = [{"name": one, "value": one, "arrows": [1]} for one in HOSTILE]
    inner = [{"tag": one, "arrows": [1], "attributes": values, "content": values} for one in HOSTILE]
    element = {"tag": text, "arrows": [], "attributes": values, "content": inner}
    schema = {
        "file": "a.dtd", "root": text, "roots": [text], "type": text, "text": text, "prefixes": prefixes,
        "elements": [
            {"name": text, "text": True, "children": [] if text in HOSTILE[1:] else children, **typed, "attributes": [
                {**typed, "name": one, "type": one, "cardinality": "1", "default": one, "fixed": False}
                for one in HOSTILE]},
            *({"name": one, "text": True, "children": [], "attributes": [], **typed} for one in HOSTILE if one != text),
        ],
    }  # fmt: skip
    parts = [{"kind": "value", "begin": 0, "end": 9, "node": ""}]
    parts += [{"kind": "conditions", "begin": 0, "end": 9, "node": one} for one in HOSTILE]
    ends = {"line": 1, "kind": "value", "reading": "both", "sound": False, "parts": parts, "carried": 0}
    arrows = [{**ends, "sources": [[one]], "target": [one]} for one in HOSTILE]
    mapping = {
        "source": side, "target": side, "statements": [{"line": 1, "kind": "arrow", "text": "a"}], "arrows": arrows,
        "faults": [{**fault(one), "position": {"line": 1, "column": 1, "file": None}} for one in HOSTILE],
        "rules": [{"text": one, "arrows": [1]} for one in HOSTILE],
        "against": [{"text": one, "arrows": [1]} for one in HOSTILE],
        "remarks": [{"direction": "along", "text": one, "hint": one, "code": None, "line": 1} for one in HOSTILE],
        "example": {
            "text": text, "tried": 1, "held": 2, "source": element, "target": element,
            "faults": [fault(one) for one in HOSTILE],
        },
    }  # fmt: skip
    suggestions = [
        {"arrow": one, "source": [one], "target": [one], "copies": False, "confidence": 0.5,
         "reasons": [{"kind": one, "text": one}]}
        for one in HOSTILE
    ]  # fmt: skip
    return {
        "**/mappings/examine": mapping,
        "**/mappings/suggest": {"suggestions": suggestions},
        "**/mappings/functions": [{"name": one, "before": one, "after": one, "meaning": one} for one in HOSTILE],
        "**/mappings/values": {
            "values": [{"value": one, "count": 1} for one in HOSTILE], "different": 20, "documents": 1, "held": 2,
        },
        "**/schemas": schema,
    }  # fmt: skip


def offers() -> list[dict[str, Any]]:
    files = {"mapping.arrows": "\n".join(f"# {text}" for text in XML), "a.dtd": "<!ELEMENT a EMPTY>"}
    made = {"digest": "0", "mapping": "mapping.arrows", "files": files}
    return [{**known(number, text), **made} for number, text in enumerate(HOSTILE)]


def test_mappings_of_hostile_names_are_listed_as_text(page: Page) -> None:
    answered(page, "**/drawings", [{"name": text, "modified": text} for text in HOSTILE])
    answered(page, "**/acquaintances", [known(number, text) for number, text in enumerate(HOSTILE)])
    answered(page, "**/requests", offers())
    page.reload()
    page.get_by_role("tab", name="Arrows", exact=True).click()
    expect_shown(page.get_by_role("tabpanel", name="Arrows"))


@pytest.mark.parametrize("text", [MARKUP[0], UNSEEN[0], LONG], ids=["markup", "unseen", "long"])
def test_whatever_is_drawn_is_text(page: Page, text: str) -> None:
    for path, value in examined(text).items():
        answered(page, path, value)
    answered(page, "**/drawings", [])
    answered(page, "**/acquaintances", [])
    answered(page, "**/requests", offers())
    page.reload()
    page.get_by_role("tab", name="Arrows", exact=True).click()
    page.locator(".choosing .plain button").nth(HOSTILE.index(text)).click()
    room = page.get_by_role("tabpanel", name="Arrows")
    expect_shown(page.get_by_role("list", name="Faults of the mapping"))
    expect_shown(page.get_by_role("tree", name="The source schema"), HOSTILE[0])
    expect_shown(page.get_by_label("The text of the mapping"), *MARKUP)
    expect_harmless(page)
    page.get_by_role("list", name="Faults of the mapping").get_by_role("button").first.click()
    for name in ("Form", "Rules", "Example", "Suggestions"):
        page.get_by_role("tab", name=name).click()
        if name == "Suggestions":
            page.get_by_role("button", name="Suggest arrows").click()
        expect_shown(page.get_by_role("tabpanel", name=name))
        expect_harmless(page)
    page.get_by_role("tree", name="The source schema").press("Enter")
    page.get_by_role("button", name="Propose").click()
    expect_shown(page.get_by_role("dialog"), text[:40])
    expect_harmless(page)
    page.keyboard.press("Escape")
    assert room.is_visible()


def test_a_refusal_to_save_is_text(page: Page) -> None:
    page.reload()
    page.get_by_role("tab", name="Arrows", exact=True).click()
    page.get_by_role("button", name=BOSTON.name).click()
    refusal = json.dumps({"faults": [fault(text) for text in HOSTILE]})
    page.route("**/drawings/*", lambda route: route.fulfill(status=422, body=refusal))
    page.get_by_role("button", name="Save", exact=True).click()
    expect_shown(page.get_by_role("alert"))


# -- real peers ------------------------------------------------------------------------------------------------------


def hostile_document() -> bytes:
    """A document of Montreal whose patients are called what is hostile."""
    patients = [
        f'<Patient ID="p{number}"><Name>{escape(text)}</Name><Hist/></Patient>' for number, text in enumerate(XML)
    ]
    return f"<MonGenHosp>{''.join(patients)}</MonGenHosp>".encode()


def posted(folder: Path, path: str, value: Any) -> None:
    address = ControlAddress.read(folder)
    assert address
    headers = {"Authorization": f"Bearer {address.token}"}
    httpx.post(f"{address.url}{path}", headers=headers, json=value, trust_env=False).raise_for_status()


def test_a_document_full_of_markup_is_shown_as_it_is(montreal: Daemon, console: Opening) -> None:
    with document_loading(montreal.folder) as loader:
        loader.load("hostile.xml", hostile_document())
    with console(montreal.folder, "Ask", viewport={"width": 1000, "height": 2200}) as page:
        ask(page, "//Patient/Name")
        region = page.get_by_role("region", name="Answers as a table")
        expect_shown(region, *XML)
        expect_harmless(page)


def test_reasons_queries_and_subscriptions_of_others_are_shown_as_they_are(
    hospitals_apart: tuple[Daemon, Daemon], console: Opening
) -> None:
    montreal, boston = hospitals_apart
    hostile = MARKUP[0]
    acquaint(montreal.folder, boston, "montreal-boston.arrows")
    with boston.client() as client:
        wait_until(lambda: bool(client.status().requests))
    posted(boston.folder, f"/requests/{montreal.peer_id}/refuse?reason={MARKUP[2].replace(' ', '%20')}", None)
    literal = f"'{hostile}'"
    xpath = f"//Patient[Name = {literal}]"
    posted(montreal.folder, "/subscriptions", {"subscriptions": [{"name": "hostile", "xpath": xpath}]})
    with montreal.client() as client:
        list(client.query(QuestionRequest(query=f"for $p in {xpath} return $p/Name")))
        wait_until(lambda: client.status().acquaintances[0].standing == "refused")
    with console(montreal.folder, "Watch") as page:
        expect_shown(page.locator(".watched-acquaintances"), MARKUP[2])
        expect_shown(page.locator(".watched-subscriptions"), hostile)
        expect_shown(page.locator(".watched-audit"), hostile[:40])
        expect_harmless(page)
