"""The pictures of the console in the README and the documentation, as they are now.

``make screenshots`` keeps them in ``docs/images``; otherwise they are only made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final, Literal, TypeAlias

import pytest
from matplotlib.image import imread
from playwright.sync_api import Page, expect

from heptox.demo import BOSTON, HOSPITAL, MONTREAL, Network
from tests.console.conftest import SIZE, Opening
from tests.console.drawing import Mouse, lines, verdict

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = "HEPTOX_SCREENSHOTS"
"""The variable that names the folder to keep the pictures in."""
QUESTION: Final = (HOSPITAL / "queries" / "example1.xq").read_text(encoding="utf-8")


Scheme: TypeAlias = Literal["light", "dark"]


@pytest.fixture(params=["light", "dark"])
def scheme(request: pytest.FixtureRequest) -> Scheme:
    """Whether it is by day or by night."""
    chosen: Scheme = request.param
    return chosen


@pytest.fixture
def page(scheme: Scheme, hospitals: Network, console: Opening) -> Iterator[Page]:
    with console(hospitals.path(MONTREAL), color_scheme=scheme) as page:
        yield page


def test_the_room_of_arrows(page: Page, scheme: Scheme) -> None:
    page.get_by_role("button", name=BOSTON.name).click()
    verdict(page, "no faults, 4 rules")
    Mouse(page).select(next(number for number, line in enumerate(lines(page), 1) if line.startswith("Patient/Name")))
    page.get_by_role("tab", name="Example").click()
    expect(page.locator(".carried.selected").first).to_be_visible()
    kept(page, f"console-arrows-{scheme}")


def test_the_room_in_which_one_asks(page: Page, scheme: Scheme) -> None:
    page.keyboard.press("Alt+2")
    page.get_by_role("textbox", name="Query").click()
    page.keyboard.insert_text(QUESTION)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".outcome")).to_contain_text("The answer is complete")
    page.get_by_role("tab", name="Hops").click()
    expect(page.get_by_role("treeitem")).to_have_count(3)
    kept(page, f"console-hops-{scheme}")


def test_the_room_in_which_one_watches(page: Page, scheme: Scheme) -> None:
    page.keyboard.press("Alt+3")
    expect(page.get_by_role("tabpanel", name="Watch")).to_contain_text(BOSTON.name)
    kept(page, f"console-watch-{scheme}")


def kept(page: Page, name: str) -> None:
    """A picture of the page, kept where that is wanted; it shows something."""
    page.mouse.move(0, 0)
    picture = page.screenshot(animations="disabled", caret="hide")
    pixels = imread(BytesIO(picture), format="png")
    assert pixels.shape[:2] == (SIZE["height"], SIZE["width"])
    assert len({tuple(pixel) for pixel in pixels[::7, ::7].reshape(-1, pixels.shape[2]).tolist()}) > 20
    if folder := os.environ.get(FOLDER):
        (Path(folder) / f"{name}.png").write_bytes(picture)


def test_all_pictures_that_pages_show_are_there_and_no_others() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        (file.parent / name).resolve()
        for file in pages
        for name in re.findall(r'(?:src|srcset)="([^"]+\.png)"', file.read_text(encoding="utf-8"))
    }
    assert shown == set((ROOT / "docs" / "images").resolve().glob("console-*.png"))
