"""Frames of the console's drawing between two large schemas: ``python -m benchmarks.console [--arrows N]``.

Both sides are NITF with thousands of rows unfolded. Frames are measured in the browser while both trees scroll, beside
those of an empty page and of the same rows as plain texts that are all there; then how long it takes until what a
gesture changes is drawn, and until the peer has said what it means.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright
from rich.console import Console
from rich.table import Table

from heptox.peer import PeerFolder
from heptox.schema import SchemaTree, read_dtd
from tools.daemons import daemon

NITF: Final = Path(__file__).parents[2] / "shared" / "data" / "nitf" / "nitf-2-5.dtd"
SIZE: Final[ViewportSize] = {"width": 1400, "height": 900}
STEPS: Final = 240
"""Frames of one run of scrolling."""
REPEATS: Final = 15
_SCROLL: Final = """async ([panes, steps]) => {
  const areas = panes ? [...document.querySelectorAll(panes)] : [];
  const times = [];
  let last = await new Promise(requestAnimationFrame);
  for (let step = 0; step < steps; step += 1) {
    for (const [place, area] of areas.entries()) area.scrollTop += 60 - 15 * place;
    const now = await new Promise(requestAnimationFrame);
    times.push(now - last);
    last = now;
  }
  for (const area of areas) area.scrollTop = 0;
  return times;
}"""
_DRAWN: Final = """async (press) => {
  const element = document.querySelector(press);
  const begin = performance.now();
  element.click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""
_PLAIN: Final = """async (rows) => {
  const begin = performance.now();
  document.body.replaceChildren(...[0, 1].map(() => {
    const pane = Object.assign(document.createElement("div"), { className: "plain" });
    Object.assign(pane.style, { height: "100%", overflow: "auto", width: "50%", float: "left" });
    pane.append(...rows.map((text) => Object.assign(document.createElement("div"), { textContent: text })));
    return pane;
  }));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Milliseconds of one kind, as often as they were measured."""

    what: str
    times: Sequence[float]

    def cells(self) -> Iterator[str]:
        ordered = sorted(self.times)
        yield self.what
        for value in (median(ordered), ordered[int(0.95 * (len(ordered) - 1))], ordered[-1]):
            yield f"{value:.1f}"


@contextmanager
def drawing(arrows: int) -> Iterator[tuple[Browser, Page]]:
    """The console with a mapping from NITF to itself, and so many arrows."""
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = Path(temporary) / "nitf"
        PeerFolder.create(folder, NITF, root="nitf")
        with daemon(folder) as running, running.client() as client:
            kept(folder, arrows)
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_context(viewport=SIZE).new_page()
            page.goto(client.console())
            page.get_by_role("button", name="nitf", exact=True).click()
            page.locator(".mapping-verdict[data-state=sound]").wait_for()
            yield browser, page
            browser.close()


def kept(folder: Path, arrows: int) -> None:
    """A drawing from NITF to itself, with arrows between leaves that are spread over it."""
    tree = SchemaTree(read_dtd(str(NITF), "nitf"))
    leaves = [path for path in tree.walk() if path and path[-1].startswith("@")]
    chosen = ["/".join(path) for path in leaves[: arrows * 7 : 7]]
    lines = [f'{side} "nitf.dtd" root nitf' for side in ("source", "target")] + [f"{path} -> {path}" for path in chosen]
    place = folder / "drawings" / "nitf"
    place.mkdir(parents=True)
    (place / "nitf.arrows").write_text("\n".join(lines) + "\n")
    (place / "nitf.dtd").write_bytes(NITF.read_bytes())


def unfolded(page: Page) -> int:
    """Unfold both trees, and tell how many rows they have in all."""
    for side in ("source", "target"):
        page.get_by_role("button", name=f"Unfold the {side} schema").click()
    heights = page.locator(".rows").evaluate_all("(all) => all.map((one) => one.clientHeight)")
    return int(sum(heights) / 24)


def gestures(page: Page) -> Iterator[Measured]:
    """How long it takes until a gesture is drawn, and until what it means is known."""
    fold, unfold = '[aria-label="Fold the source schema"]', '[aria-label="Unfold the source schema"]'
    opened = []
    for _ in range(REPEATS):
        page.evaluate(_DRAWN, fold)
        opened.append(float(page.evaluate(_DRAWN, unfold)))
    yield Measured("a tree is unfolded, until it is drawn", opened)
    page.locator(".lane .arrow .near").first.click(force=True)
    taken, told = [], []
    for _ in range(REPEATS):
        for button in ("Remove", "Undo"):
            found: Any = page.evaluate(
                """async (name) => {
                  const count = () => document.querySelectorAll(".lane .arrow").length;
                  const state = () => document.querySelector(".mapping-verdict").dataset.state;
                  const frame = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                  const before = count(), begin = performance.now();
                  [...document.querySelectorAll("button")].find((one) => one.textContent === name).click();
                  await frame();
                  const drawn = count() === before ? null : performance.now() - begin;
                  while (state() === "checking") await frame();
                  return [drawn, performance.now() - begin];
                }""",
                button,
            )
            if found[0] is not None:
                taken.append(float(found[0]))
            told.append(float(found[1]))
        page.locator(".lane .arrow .near").first.click(force=True)
    yield Measured("an arrow is removed, until it is drawn", taken)
    yield Measured("an arrow is removed or comes back, until its meaning is shown", told)


def measure(arrows: int) -> Iterator[Measured]:
    """All rows of the table."""
    with drawing(arrows) as (browser, page):
        rows = unfolded(page)
        scrolled = page.evaluate(_SCROLL, [".tree", STEPS])
        yield from gestures(page)
        yield Measured(f"{rows:,} rows, {arrows} arrows, frames while both trees scroll", scrolled)
        plain = browser.new_page(viewport=SIZE)
        yield Measured("an empty page, frames", plain.evaluate(_SCROLL, ["", STEPS]))
        texts = [f"row {number}" for number in range(rows // 2)]
        made = [float(plain.evaluate(_PLAIN, texts)) for _ in range(REPEATS)]
        yield Measured("the same rows as plain texts, until they are drawn", made)
        yield Measured(
            "the same rows as plain texts, frames while they scroll", plain.evaluate(_SCROLL, [".plain", STEPS])
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrows", type=int, default=300)
    wanted = parser.parse_args()
    table = Table("milliseconds", "median", "95 %", "most", title="the console, NITF to NITF")
    for one in measure(wanted.arrows):
        table.add_row(*one.cells())
    Console().print(table)


if __name__ == "__main__":
    main()
