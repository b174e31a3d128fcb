"""What the peer answers late does not replace what was chosen since."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

import pytest
from playwright.sync_api import Page, Route, expect

from heptox.demo import BOSTON, HOSPITAL, MONTREAL, Network
from tests.console.conftest import SECONDS, Opening
from tests.console.drawing import Mouse, row, verdict
from tests.peer.daemons import Daemon

OWN, OTHER = (HOSPITAL / f"{name}.dtd" for name in ("mongenhosp", "massgeneral"))
MAPPING: Final = "**/acquaintances/*/mapping"
DRAWING: Final = "**/drawings/*"
EXAMINE: Final = "**/mappings/examine"


@contextmanager
def held(page: Page, path: str) -> Iterator[list[Route]]:
    """Answers that do not come before the block ends, and then the last one first; what they are to, in their order."""
    waiting: list[Route] = []
    ended = False

    def hold(route: Route) -> None:
        if ended:
            route.continue_()
        else:
            waiting.append(route)

    page.route(path, hold)
    yield waiting
    ended = True
    for route in reversed(waiting):
        with page.expect_response(route.request.url):
            route.continue_()


def arrived(page: Page, waiting: list[Route], count: int = 1) -> None:
    """Wait until so many requests are held."""
    deadline = monotonic() + SECONDS
    while len(waiting) < count and monotonic() < deadline:
        page.wait_for_timeout(10)
    assert len(waiting) == count


@pytest.fixture
def page(hospitals: Network, console: Opening) -> Iterator[Page]:
    """The console of Montreal."""
    with console(hospitals.path(MONTREAL)) as page:
        yield page


def test_the_own_schema_is_the_source_only_until_another_is_chosen(page: Page) -> None:
    with held(page, "**/schema") as waiting:
        page.get_by_role("button", name="New mapping").click()
        arrived(page, waiting)
        page.set_input_files("#file-source", OTHER)
        source = page.get_by_role("group", name="The source schema")
        expect(source).to_contain_text(OTHER.name)
    assert len(waiting) == 1
    page.set_input_files("#file-target", OWN)
    expect(page.get_by_role("group", name="The target schema")).to_contain_text(OWN.name)
    expect(source).to_contain_text(OTHER.name)
    page.get_by_role("button", name="Begin").click()
    expect(row(page, "source", "")).to_contain_text("MassGeneral")


def test_of_two_files_chosen_the_last_one_counts(page: Page) -> None:
    page.get_by_role("button", name="New mapping").click()
    target = page.get_by_role("group", name="The target schema")
    with held(page, "**/schemas") as waiting:
        for file in (OWN, OTHER):
            page.set_input_files("#file-target", file)
        arrived(page, waiting, 2)
    expect(target).to_contain_text("MassGeneral")
    expect(target).to_contain_text(OTHER.name)


def test_a_mapping_that_is_loaded_late_does_not_replace_another(page: Page) -> None:
    with held(page, MAPPING) as waiting:
        page.get_by_role("button", name=BOSTON.name).click()
        arrived(page, waiting)
        Mouse(page).begin(OWN, OTHER, "hospitals")
    assert len(waiting) == 1
    verdict(page, "no faults, 0 rules")
    expect(page.get_by_role("toolbar")).to_contain_text("hospitals")


def test_what_the_peer_could_not_check_is_not_said_to_be_sound(page: Page) -> None:
    page.get_by_role("button", name=BOSTON.name).click()
    verdict(page, "no faults")
    page.route(EXAMINE, lambda route: route.abort("connectionrefused"))
    page.get_by_label("The text of the mapping").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Nonsense -> Foo")
    verdict(page, "not checked")
    expect(page.get_by_role("alert")).to_contain_text("HX7055")
    page.unroute(EXAMINE)
    verdict(page, "2 faults")
    expect(page.get_by_role("alert")).to_have_count(0)


@pytest.fixture
def own_page(montreal: Daemon, console: Opening) -> Iterator[Page]:
    """The console of a peer in whose folder may be written."""
    with console(montreal.folder) as page:
        yield page


def test_what_is_saved_late_does_not_replace_another(own_page: Page, console: Opening) -> None:
    hand = Mouse(own_page)
    hand.begin(OWN, OTHER, "first")
    console.confirming = True  # the first one may be put away
    with held(own_page, DRAWING) as waiting:
        own_page.keyboard.press("Control+s")
        arrived(own_page, waiting)
        own_page.get_by_role("button", name="Open").click()
        hand.begin(OWN, OTHER, "second")
    assert len(waiting) == 1
    expect(own_page.locator("footer")).to_contain_text("first is saved")
    expect(own_page.get_by_role("toolbar")).to_contain_text(re.compile("second.*not saved"))


def test_what_is_saved_twice_at_once_is_saved(own_page: Page) -> None:
    hand = Mouse(own_page)
    hand.begin(OWN, OTHER, "twice")
    with held(own_page, DRAWING) as waiting:
        own_page.keyboard.press("Control+s")
        arrived(own_page, waiting)
        hand.arrow("Patient/Hist/Event/Date", "Progress/Symptom/Date")
        own_page.keyboard.press("Control+s")
    assert len(waiting) == 1
    expect(own_page.get_by_role("toolbar")).not_to_contain_text("not saved")
    expect(own_page.get_by_role("dialog")).to_have_count(0)
