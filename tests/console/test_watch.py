"""Watching in the browser: who is there, what waits, what goes on, and what can be done about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from heptox.demo import HOSPITAL, MONTREAL, ST_LUKE, Network
from heptox.peer import add_acquaintance, propose
from tests.console.conftest import Opening, answered
from tests.peer.daemons import Daemon, acquaint, frozen, wait_until

NAMES = "//Patient/Name"
ARROWS = "montreal-boston.arrows"


@pytest.fixture
def page(console: Opening, hospitals: Network) -> Iterator[Page]:
    with console(hospitals.path(MONTREAL), "Watch") as page:
        yield page


def part(page: Page, name: str) -> Locator:
    """A part of the room, by its heading."""
    return page.get_by_role("region", name=name).first


def offered(boston: Daemon, montreal: Daemon) -> None:
    """Boston offers Montreal an acquaintance, about which Montreal is asked."""
    acquaint(boston.folder, montreal, ARROWS)
    with montreal.client() as client:
        wait_until(lambda: bool(client.status().requests))


# -- acquaintances ---------------------------------------------------------------------------------------------------


def test_an_offer_is_read_and_accepted_under_a_name(hospitals_apart: tuple[Daemon, Daemon], console: Opening) -> None:
    montreal, boston = hospitals_apart
    with console(montreal.folder, "Watch") as page:
        expect(part(page, "Requests")).to_contain_text("Nobody waits")
        offered(boston, montreal)
        requests = part(page, "Requests")
        expect(requests).to_contain_text(boston.peer_id)
        requests.get_by_text("mapping.arrows").click()
        expect(requests.locator("pre").first).to_contain_text("Patient/Treat/Date")
        requests.get_by_role("button", name="Accept").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("textbox")).to_be_focused()
        dialog.get_by_role("textbox").fill("Our Boston")
        page.keyboard.press("Enter")
        row = part(page, "Acquaintances").get_by_role("row").nth(1)
        expect(row).to_contain_text("Our Boston")
        expect(row).to_contain_text("connected")
        expect(row).to_contain_text("ours is the source")
        expect(requests).to_contain_text("Nobody waits")
        with montreal.client() as client:
            assert [known.name for known in client.status().acquaintances] == ["Our Boston"]


def test_an_offer_that_was_replaced_since_it_was_shown_is_not_accepted(
    hospitals_apart: tuple[Daemon, Daemon], console: Opening, tmp_path: Path
) -> None:
    montreal, boston = hospitals_apart
    text = (HOSPITAL / ARROWS).read_text().replace('"mon', f'"{HOSPITAL}/mon').replace('"mass', f'"{HOSPITAL}/mass')
    (tmp_path / ARROWS).write_text(f"# newer\n{text}")
    offered(boston, montreal)
    with console(montreal.folder, "Watch") as page:
        part(page, "Requests").get_by_role("button", name="Accept").click()
        add_acquaintance(boston.folder, propose(montreal.address, tmp_path / ARROWS))
        page.get_by_role("dialog").get_by_role("button", name="Accept").click()
        expect(page.get_by_role("alert")).to_contain_text("has the digest")
    with montreal.client() as client:
        status = client.status()
        assert (status.acquaintances, len(status.requests)) == ((), 1)


def test_an_offer_is_refused_with_a_reason_that_the_other_side_reads(
    hospitals_apart: tuple[Daemon, Daemon], console: Opening
) -> None:
    montreal, boston = hospitals_apart
    offered(boston, montreal)
    with console(montreal.folder, "Watch") as page:
        part(page, "Requests").get_by_role("button", name="Refuse").click()
        page.get_by_role("dialog").get_by_role("textbox").fill("we do not know you")
        page.get_by_role("dialog").get_by_role("button", name="Refuse").click()
        expect(part(page, "Requests")).to_contain_text("Nobody waits")
    with boston.client() as client:
        wait_until(lambda: client.status().acquaintances[0].standing == "refused")
        assert client.status().acquaintances[0].reason == "we do not know you"


def test_an_acquaintance_is_withdrawn_from_when_that_is_confirmed(
    hospitals_together: tuple[Daemon, Daemon], console: Opening
) -> None:
    montreal, boston = hospitals_together
    with console(montreal.folder, "Watch") as page:
        known = part(page, "Acquaintances")
        button = known.get_by_role("button", name="Withdraw")
        button.click()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(button).to_be_focused()
        button.click()
        page.get_by_role("dialog").get_by_role("textbox").fill("moved")
        page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
        expect(known).to_contain_text("Nobody yet")
        expect(known.get_by_role("heading")).to_be_focused()
    with boston.client() as client:
        wait_until(lambda: client.status().acquaintances[0].standing == "withdrawn")


def test_what_is_refused_is_told_in_the_dialog(page: Page) -> None:
    fault = {
        "code": "HX7055",
        "message": "there is none",
        "position": None,
        "excerpt": None,
        "hint": None,
        "file": None,
    }
    page.route(
        "**/acquaintances/*",
        lambda route: route.fulfill(status=422, content_type="application/json", body=json.dumps({"faults": [fault]})),
    )
    part(page, "Acquaintances").get_by_role("button", name="Withdraw").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("HX7055 there is none")


def test_the_mapping_of_an_acquaintance_is_opened_where_it_is_drawn(page: Page) -> None:
    part(page, "Acquaintances").get_by_role("button", name="Open mapping").click()
    expect(page.get_by_role("tab", name="Arrows", exact=True)).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("toolbar", name="The mapping")).to_contain_text("Massachusetts General")


# -- what goes on ----------------------------------------------------------------------------------------------------


def test_a_query_of_ones_own_is_seen_and_cancelled(page: Page, hospitals: Network) -> None:
    with frozen(hospitals.path(ST_LUKE)):
        page.get_by_role("tab", name="Ask", exact=True).click()
        page.get_by_role("textbox", name="Query").click()
        page.keyboard.insert_text(NAMES)
        page.keyboard.press("Control+Enter")
        page.get_by_role("tab", name="Watch", exact=True).click()
        queries = part(page, "Queries under way")
        expect(queries.get_by_role("row").nth(1)).to_contain_text(NAMES)
        queries.get_by_role("button", name="Cancel").click()
        expect(queries).to_contain_text("None.")
    page.get_by_role("tab", name="Ask", exact=True).click()
    expect(page.locator(".outcome")).to_contain_text("The answer is not complete")


def test_the_newest_audit_line_is_the_first_and_events_can_be_chosen(page: Page) -> None:
    audit = part(page, "Audit")
    expect(audit.locator("tbody tr").last).to_contain_text("loaded")
    audit.get_by_role("combobox", name="Event").select_option("started")
    expect(audit.locator("tbody tr")).to_have_count(1)
    expect(audit.locator("tbody tr")).to_contain_text("started")


def line(number: int) -> dict[str, Any]:
    return {"time": f"2026-01-01T00:00:{number:02}.000000Z", "event": "loaded", "document": f"d{number}.xml"}


def test_the_audit_log_stands_still_while_somebody_reads_it(page: Page) -> None:
    answered(page, "**/audit?*", [line(1), line(2)], lines=True)
    log = page.get_by_role("region", name="Audit log, the newest first")
    expect(log.locator("tbody tr").first).to_contain_text("d2.xml")
    log.focus()
    answered(page, "**/audit?*", [line(1), line(2), line(3), line(4)], lines=True)
    expect(part(page, "Audit").get_by_role("button", name="2 new")).to_be_visible()
    expect(log.locator("tbody tr").first).to_contain_text("d2.xml")
    page.get_by_role("tab", name="Watch", exact=True).focus()
    expect(log.locator("tbody tr").first).to_contain_text("d4.xml")


def subscription(**fields: Any) -> dict[str, Any]:
    return {
        "name": "cheap", "number": 1, "xpath": "//Book[Price < 10]", "words": "own", "deliver": "documents",
        "policy": "block", "most": 100, "most_bytes": 1000, "added": "2026-01-01T00:00:00Z", "first": 1, "last": 9,
        "delivered": 5, "acknowledged": 4, "backlog": 5, "backlog_bytes": 50, "lag": 90.5, "dead_letters": 3,
        "forgotten": 0, "suspended": "its backlog is full", "first_read": None, "publishers": None, **fields,
    }  # fmt: skip


def publisher(**fields: Any) -> dict[str, Any]:
    return {
        "publisher": "12D3KooWB", "name": "Boston", "path": ["Montreal", "Boston"], "advertised": None,
        "interested": 2, "position": 7, "live": True, "words": "mapped", "words_reason": None,
        **fields,
    }  # fmt: skip


def test_how_far_subscriptions_are_and_who_publishes_is_told(page: Page) -> None:
    answered(page, "**/subscriptions", [subscription()], lines=True)
    answered(page, "**/feeds", {"publishers": [publisher()], "neighbours": []})
    row = part(page, "Subscriptions").get_by_role("row").nth(1)
    for text in ("cheap", "//Book[Price < 10]", "in own words", "5", "of 100", "1 min 30 s", "its backlog is full"):
        expect(row).to_contain_text(text)
    row = part(page, "Publishers").get_by_role("row").nth(1)
    for text in ("Boston", "comes by itself", "up to 7", "mappings lead to it", "2"):
        expect(row).to_contain_text(text)


def test_of_very_many_the_first_are_shown(page: Page) -> None:
    answered(page, "**/subscriptions", [subscription(name=f"s{number}") for number in range(2000)], lines=True)
    subscriptions = part(page, "Subscriptions")
    expect(subscriptions).to_contain_text("These are the first 500.")
    assert subscriptions.locator("tbody tr").count() == 500


# -- looking again and again -----------------------------------------------------------------------------------------


def test_it_is_looked_at_only_while_it_is_shown(console: Opening, hospitals: Network) -> None:
    with console(hospitals.path(MONTREAL), "Arrows", is_kept=False) as page:  # whose clock stays as it is set here
        looks: list[str] = []
        page.on("request", lambda request: looks.append(request.url) if "/audit" in request.url else None)
        page.clock.install()
        page.clock.fast_forward(20_000)
        assert looks == []
        with page.expect_response("**/audit?*"):
            page.get_by_role("tab", name="Watch", exact=True).click()
        expect(part(page, "Documents")).to_contain_text("records.xml")
        with page.expect_response("**/audit?*"):
            page.clock.fast_forward(10_000)
        page.get_by_role("tab", name="Ask", exact=True).click()
        expect(page.get_by_role("textbox", name="Query")).to_be_visible()
        page.clock.run_for(100)  # the page's own clock is what it hears of the change by
        seen = len(looks)
        page.clock.fast_forward(60_000)
        assert len(looks) == seen


def test_a_peer_that_goes_away_is_told_and_found_again(page: Page) -> None:
    documents = part(page, "Documents")
    expect(documents).to_contain_text("records.xml")
    page.route("**/documents", lambda route: route.abort("connectionrefused"))
    expect(page.locator(".contact")).to_contain_text("The peer does not answer")
    expect(documents).to_contain_text("records.xml")
    page.unroute("**/documents")
    expect(page.locator(".contact")).to_contain_text("The peer answers again")


def test_the_end_of_a_session_is_told_with_what_to_do(page: Page) -> None:
    expect(part(page, "Documents")).to_contain_text("records.xml")
    page.evaluate("sessionStorage.setItem('heptox-session', 'of another daemon')")
    expect(page.locator(".contact")).to_contain_text("heptox console")
    expect(page.locator(".contact")).to_contain_text("This session has ended")


def test_focus_stays_where_it_is_while_what_is_told_changes(page: Page) -> None:
    button = part(page, "Acquaintances").get_by_role("button", name="Withdraw")
    button.focus()
    page.route("**/acquaintances", changed)
    expect(part(page, "Acquaintances")).to_contain_text("not connected")
    expect(button).to_be_focused()


def changed(route: Route) -> None:
    """What the peer tells, but that everybody has left."""
    answer = route.fetch()
    route.fulfill(response=answer, json=[{**one, "connected": False} for one in answer.json()])
