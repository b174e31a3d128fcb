"""The console in a browser: Debian's chromium without a window, and whatever goes wrong in a page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urljoin

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Route,
    ViewportSize,
    expect,
    sync_playwright,
)

from heptox.peer import Client
from tests.peer.daemons import Daemon, acquaint, daemon, daemons, hospital_peer, wait_until

CHROMIUM: Final = shutil.which("chromium")
MISSING: Final = "chromium is missing; install it (Debian: apt install chromium)"
SECONDS: Final = 90
SIZE: Final[ViewportSize] = {"width": 1400, "height": 900}
_OPTIONS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_VIOLATIONS: Final = """
addEventListener("securitypolicyviolation", (event) =>
  console.error(`violates ${event.effectiveDirective}: ${event.blockedURI}`));
"""
"""Makes what violates the policy a line of the browser's console."""
_SETTLE: Final = "new Promise((settled) => setTimeout(settled))"
"""Waits for what a page is about to tell."""
_REFUSED: Final = "Failed to load resource: "
"""How the browser begins to say that the peer refuses something, which the page then shows."""


class Opening:
    """Opens pages in a browser, and lists the ``troubles`` that they had: errors, and violations of their policy.
    Questions are such a trouble too, unless somebody is ``confirming`` them."""

    def __init__(self, browser: Browser) -> None:
        self.troubles: list[str] = []
        self.confirming = False
        self._browser = browser
        self._empty: list[Page] = []

    @contextmanager
    def __call__(
        self,
        folder: Path,
        room: str = "Arrows",
        *,
        viewport: ViewportSize = SIZE,
        color_scheme: Literal["light", "dark", "null"] = "null",
        permissions: Sequence[str] = (),
        is_kept: bool = True,
    ) -> Iterator[Page]:
        """The console of the peer in ``folder``, as its administrator opens it.

        To begin a page takes three times as long as to go on in one that another test has left, with nothing in it:
        ``is_kept`` says whether another may go on in this one.
        """
        page = self._empty.pop() if self._empty else self._profile().new_page()
        try:
            page.set_viewport_size(viewport)
            page.emulate_media(color_scheme=color_scheme)
            page.context.grant_permissions(permissions)
            with Client.connect(folder) as client:
                page.goto(client.console())
            page.get_by_role("tab", name=room, exact=True).click()
            yield page
            page.evaluate(_SETTLE)
            _empty(page)
        except BaseException:
            page.context.close()
            raise
        if is_kept:
            self._empty.append(page)
        else:
            page.context.close()

    @contextmanager
    def context(self, **options: Any) -> Iterator[BrowserContext]:
        """A profile, whose pages are listened to."""
        context = self._profile(**options)
        try:
            yield context
            for page in context.pages:
                page.evaluate(_SETTLE)
        finally:
            context.close()

    def _profile(self, **options: Any) -> BrowserContext:
        context = self._browser.new_context(**{"viewport": SIZE, **options})
        context.set_default_timeout(SECONDS * 1000)
        context.add_init_script(_VIOLATIONS)
        context.on("page", self._listen)
        return context

    def _listen(self, page: Page) -> None:
        def refuse(dialog: Dialog) -> None:
            if dialog.type == "beforeunload" or self.confirming:  # whoever leaves work behind is asked
                dialog.accept()
                return
            self.troubles.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("console", lambda message: self.troubles.extend(_trouble(message)))
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("crash", lambda _: self.troubles.append("the page crashed"))
        page.on("dialog", refuse)


def _empty(page: Page) -> None:
    """Leave the console for an empty page in its place, whether the peer still lives, and forget what it kept."""
    page.unroute_all(behavior="ignoreErrors")
    page.route("**/empty", lambda route: route.fulfill(body="", content_type="text/html"))
    page.goto(urljoin(page.url, "/empty"))
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.unroute_all()
    page.context.clear_cookies()
    page.context.clear_permissions()


def _trouble(message: ConsoleMessage) -> list[str]:
    refused = message.text.startswith(_REFUSED) and "/console/assets/" not in message.location["url"]
    return [] if message.type not in ("error", "warning") or refused else [f"{message.type}: {message.text}"]


# Not of the session: playwright runs an event loop in this thread, which belongs to no other test.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, without a window; where it is missing, tests that want it say so."""
    if CHROMIUM is None:
        pytest.skip(MISSING)
    expect.set_options(timeout=SECONDS * 1000)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=_OPTIONS)
        yield running
        running.close()


@pytest.fixture(scope="module")
def opening(browser: Browser) -> Opening:
    """Opens the console for all tests of a file."""
    return Opening(browser)


@pytest.fixture
def console(opening: Opening) -> Iterator[Opening]:
    """Opens the console; the test fails when a page has had an error, or has violated its policy."""
    opening.troubles, opening.confirming = [], False
    yield opening
    assert opening.troubles == []


def answered(page: Page, path: str, value: Any, *, lines: bool = False) -> None:
    """Answer an operation with a value, or with values one a line, in place of the peer."""
    text = "".join(f"{json.dumps(line)}\n" for line in value) if lines else json.dumps(value)
    kind = "application/x-ndjson" if lines else "application/json"

    def fulfil(route: Route) -> None:
        route.fulfill(status=200, content_type=kind, body=text)

    page.route(path, fulfil)


@pytest.fixture
def montreal(tmp_path: Path) -> Iterator[Daemon]:
    """Montreal, which knows nobody, and in whose folder may be written."""
    with daemon(hospital_peer(tmp_path / "montreal", "montreal", 60, 7)) as running:
        yield running


@pytest.fixture
def hospitals_apart(tmp_path: Path) -> Iterator[tuple[Daemon, Daemon]]:
    """Montreal and Boston, which run and have not met."""
    folders = [hospital_peer(tmp_path / name, name, 60, 7) for name in ("montreal", "boston")]
    with daemons(*folders) as (montreal, boston):
        yield montreal, boston


@pytest.fixture
def hospitals_together(hospitals_apart: tuple[Daemon, Daemon]) -> tuple[Daemon, Daemon]:
    """Montreal and Boston, which are acquainted by the mapping of the examples."""
    montreal, boston = hospitals_apart
    acquaint(montreal.folder, boston, "montreal-boston.arrows")
    acquaint(boston.folder, montreal, "montreal-boston.arrows")
    with montreal.client() as client:
        wait_until(lambda: client.status().acquaintances[0].standing == "agreed")
    return montreal, boston
