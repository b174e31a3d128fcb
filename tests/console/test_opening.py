"""The console's page in a browser: who gets in, and what the page may not do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Error, Page, expect

from heptox.demo import MONTREAL, Network
from tests.console.conftest import Opening
from tests.peer.daemons import Daemon, heptox


def banner(page: Page) -> None:
    """The page shows whose console it is."""
    expect(page.get_by_role("banner")).to_contain_text(MONTREAL.name)


def closed(page: Page) -> None:
    """The page shows nothing but how it is opened."""
    expect(page.get_by_role("alert")).to_contain_text("heptox console")
    assert MONTREAL.name not in page.content()


def url_of(hospitals: Network) -> str:
    return heptox("console", hospitals.path(MONTREAL), "--print").stdout.strip()


def test_the_command_lets_the_administrator_in_and_the_ticket_is_gone(hospitals: Network, console: Opening) -> None:
    with console.context() as context:
        page = context.new_page()
        page.goto(url_of(hospitals))
        banner(page)
        assert page.evaluate("location.hash") == ""
        page.reload()
        banner(page)
        other = context.new_page()
        other.goto(page.url)
        closed(other)


def test_a_ticket_opens_one_session_only(hospitals: Network, console: Opening) -> None:
    url = url_of(hospitals)
    with console.context() as context:
        first, second = context.new_page(), context.new_page()
        first.goto(url)
        banner(first)
        second.goto(url)
        closed(second)


def test_a_page_outlives_no_daemon(montreal: Daemon, console: Opening) -> None:
    with console(montreal.folder) as page:
        montreal.process.terminate()
        montreal.process.wait()
        assert page.evaluate("fetch('/status').then(() => 'served', () => 'gone')") == "gone"


RUNNING = {
    "markup": "document.body.innerHTML = '<img src=x onerror=\"window.ran = true\">'",
    "script": "document.createElement('script').text = 'window.ran = true'",
    "handler": "document.body.setAttribute('onclick', 'window.ran = true')",
    "policy": "trustedTypes.createPolicy('own', { createHTML: (text) => text })",
    "worker": "new Worker('data:text/javascript,0')",
}


@pytest.mark.parametrize("code", RUNNING.values(), ids=RUNNING)
def test_texts_do_not_run_in_the_page(hospitals: Network, console: Opening, code: str) -> None:
    with console(hospitals.path(MONTREAL)) as page:
        with pytest.raises(Error, match=r"Trusted|Content Security Policy"):
            page.evaluate(f"() => {{ {code}; }}")
        assert page.evaluate("window.ran") is None
    assert any("violates " in trouble for trouble in console.troubles)
    console.troubles.clear()


LOADING = {
    "fetch": ("connect-src", "fetch('http://127.0.0.1:1/').catch(() => {})"),
    "image": ("img-src", "new Image().src = 'http://127.0.0.1:1/a.png'"),
    "frame": (
        "frame-src",
        "document.body.append(Object.assign(document.createElement('iframe'), { src: '/console/' }))",
    ),
    "style": (
        "style-src-elem",
        "document.head.append(Object.assign(document.createElement('style'), { textContent: 'a {}' }))",
    ),
    "form": ("form-action", "document.body.appendChild(document.createElement('form')).submit()"),
}


@pytest.mark.parametrize(("directive", "code"), LOADING.values(), ids=LOADING)
def test_the_page_loads_and_sends_nothing_elsewhere(
    hospitals: Network, console: Opening, directive: str, code: str
) -> None:
    with console(hospitals.path(MONTREAL)) as page:
        violates = page.expect_console_message(lambda message: message.text.startswith(f"violates {directive}: "))
        with violates:
            page.evaluate(f"() => {{ {code}; }}")
    assert console.troubles
    console.troubles.clear()


class Evil(BaseHTTPRequestHandler):
    """A page of another program of this machine."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><link rel=icon href=data:,>")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def evil() -> Iterator[int]:
    """The port at which there is another page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Evil) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_page_of_another_program_reaches_nothing(hospitals: Network, console: Opening, evil: int, host: str) -> None:
    address, _, ticket = url_of(hospitals).partition("/console/#")
    with console.context() as context:
        page = context.new_page()
        page.goto(f"http://{host}:{evil}/")
        for method, operation in (
            ("GET", "/status"),
            ("GET", "/console/"),
            ("POST", "/console/sessions"),
            ("POST", "/stop"),
        ):
            body = "undefined" if method == "GET" else f"JSON.stringify({{ ticket: '{ticket}' }})"
            sent = f"fetch('{address}{operation}', {{ method: '{method}', mode: 'no-cors', body: {body} }})"
            with page.expect_response(f"{address}{operation}") as answer:
                page.evaluate(f"() => {{ {sent}.catch(() => {{}}); }}")
            assert answer.value.status == 403, operation
        framing = (
            f"document.body.append(Object.assign(document.createElement('iframe'), {{ src: '{address}/console/' }}))"
        )
        with page.expect_response(f"{address}/console/") as answer:
            page.evaluate(f"() => {{ {framing}; }}")
        assert answer.value.status == 403
        own = context.new_page()
        own.goto(f"{address}/console/#{ticket}")
        banner(own)  # the ticket was not used
    console.troubles.clear()
