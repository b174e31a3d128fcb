"""What a person does in the console, by the mouse or by the keyboard alone."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Final, Literal, TypeAlias

from playwright.sync_api import Locator, Page, expect

Side: TypeAlias = Literal["source", "target"]

MOST_KEYS: Final = 200
"""Presses of a key after which what is looked for is not there."""
_MIDDLE: Final = """(path) => {
  const point = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
  return [point.x, point.y];
}"""
"""Where on the screen the middle of an arrow is."""


def row(page: Page, side: Side, path: str) -> Locator:
    """The row of a node; ``path`` as the tree has it, with boxes in brackets."""
    return page.locator(f"[id={json.dumps(f'{side}:{path}', ensure_ascii=False)}]")


def verdict(page: Page, text: str) -> None:
    """The page says this of the mapping as it is now."""
    expect(page.locator(".mapping-verdict")).to_contain_text(text)


def lines(page: Page) -> list[str]:
    """The text of the mapping."""
    page.get_by_role("tab", name="Text", exact=True).click()
    return page.get_by_label("The text of the mapping").locator(".cm-line").all_inner_texts()


def arrows(page: Page) -> Locator:
    """The arrows that are drawn."""
    return page.locator(".lane .arrow")


class Hand(ABC):
    """Somebody who draws."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def begin(self, source: Path, target: Path, name: str) -> None:
        """A new mapping between two DTD files."""
        self.press(self.page.get_by_role("button", name="New mapping"))
        for side, file in (("source", source), ("target", target)):
            with self.page.expect_file_chooser() as choosing:
                self.press(self.page.locator(f"#file-{side}"))
            choosing.value.set_files(file)
            expect(self.page.get_by_role("group", name=f"The {side} schema")).to_contain_text(file.name)
        self.write(self.page.get_by_label("Name", exact=True), name)
        self.press(self.page.get_by_role("button", name="Begin"))
        expect(row(self.page, "target", "")).to_be_visible()

    @abstractmethod
    def press(self, what: Locator) -> None:
        """Press a button or the like."""

    @abstractmethod
    def write(self, where: Locator, text: str) -> None:
        """Write a text into a field, in place of what is there."""

    @abstractmethod
    def arrow(self, source: str, target: str) -> None:
        """Draw an arrow between two nodes."""

    @abstractmethod
    def box(self, side: Side, members: list[str], name: str) -> None:
        """Draw a box around siblings that follow each other."""

    @abstractmethod
    def erase(self, side: Side, path: str) -> None:
        """Remove the only arrow at a node."""

    @abstractmethod
    def choose(self, tabs: Locator, name: str) -> None:
        """Choose a tab of a list."""

    @abstractmethod
    def focus(self, what: Locator) -> None:
        """Go to where one writes."""

    def undo(self) -> None:
        """Take the last change back."""
        self.press(self.page.get_by_role("button", name="Undo"))

    def redo(self) -> None:
        """Do again what was taken back last."""
        self.press(self.page.get_by_role("button", name="Redo"))


class Mouse(Hand):
    """Draws by pressing, moving and letting go; writes only names."""

    def press(self, what: Locator) -> None:
        if what.get_attribute("type") == "file":
            what = what.locator("xpath=..")
        what.click()

    def write(self, where: Locator, text: str) -> None:
        where.fill(text)

    def choose(self, tabs: Locator, name: str) -> None:
        tabs.get_by_role("tab", name=name).click()

    def focus(self, what: Locator) -> None:
        what.click()

    def arrow(self, source: str, target: str) -> None:
        self._drag(row(self.page, "source", source), row(self.page, "target", target))

    def box(self, side: Side, members: list[str], name: str) -> None:
        self._drag(row(self.page, side, members[0]), row(self.page, side, members[-1]))
        self.write(self.page.get_by_label("Its name"), name)
        self.press(self.page.get_by_role("button", name="Draw the box"))

    def erase(self, side: Side, path: str) -> None:
        place = 0 if side == "source" else -1
        ends = [re.split("[-=]>", line)[place].strip() for line in lines(self.page)]
        number = ends.index(path) + 1
        self.select(number)
        self.press(self.page.get_by_role("button", name="Remove", exact=True))

    def select(self, line: int) -> None:
        """Select the arrow of a line by a click on its middle, unless it is selected."""
        arrow = self.page.locator(f'.lane .arrow[data-line="{line}"]')
        if "selected" not in str(arrow.get_attribute("class")).split():
            x, y = arrow.locator(".near").evaluate(_MIDDLE)
            self.page.mouse.click(x, y)

    def drop(self, side: Side, value: str, node: str) -> None:
        """Drop a value of a leaf on a node of the same tree."""
        self._drag(row(self.page, side, value), row(self.page, side, node))

    def _drag(self, begin: Locator, end: Locator) -> None:
        for place, locator in enumerate((begin, end)):
            locator.scroll_into_view_if_needed()
            area = locator.locator(".label").bounding_box()
            assert area
            self.page.mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2, steps=1 + 5 * place)
            if place == 0:
                self.page.mouse.down()
        self.page.mouse.up()


class Keyboard(Hand):
    """Never touches the mouse, and puts the focus nowhere but by keys."""

    def press(self, what: Locator) -> None:
        self._tab_to(what)
        self.page.keyboard.press("Space" if what.get_attribute("type") == "file" else "Enter")

    def write(self, where: Locator, text: str) -> None:
        self._tab_to(where)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(text)

    def arrow(self, source: str, target: str) -> None:
        self.walk_to("source", source)
        self.page.keyboard.press("Enter")
        self.walk_to("target", target)
        self.page.keyboard.press("Enter")

    def box(self, side: Side, members: list[str], name: str) -> None:
        for member in members:
            self.walk_to(side, member)
            self.page.keyboard.press("Space")
        self.page.keyboard.press("b")
        self.write(self.page.get_by_label("Its name"), name)
        self.page.keyboard.press("Enter")

    def erase(self, side: Side, path: str) -> None:
        self.walk_to(side, path)
        self.page.keyboard.press("Delete")

    def undo(self) -> None:
        self.page.keyboard.press("Control+z")

    def redo(self) -> None:
        self.page.keyboard.press("Control+y")

    def choose(self, tabs: Locator, name: str) -> None:
        self.focus(tabs.get_by_role("tab", selected=True))
        wanted = tabs.get_by_role("tab", name=name)
        for _ in range(MOST_KEYS):
            if wanted.get_attribute("aria-selected") == "true":
                return
            self.page.keyboard.press("ArrowRight")
        raise AssertionError(f"there is no tab {name}")

    def focus(self, what: Locator) -> None:
        self._tab_to(what)

    def _tab_to(self, what: Locator) -> None:
        expect(what).to_be_enabled()
        for _ in range(MOST_KEYS):
            if what.evaluate("(element) => element === document.activeElement"):
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the focus never comes to {what}")

    def walk_to(self, side: Side, path: str) -> None:
        tree = self.page.get_by_role("tree", name=f"The {side} schema")
        self._tab_to(tree)
        self.page.keyboard.press("Home")
        for _ in range(MOST_KEYS):
            if tree.get_attribute("aria-activedescendant") == f"{side}:{path}":
                return
            self.page.keyboard.press("ArrowDown")
        raise AssertionError(f"the {side} tree has no {path}")
