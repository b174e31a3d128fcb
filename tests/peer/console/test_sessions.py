"""Sessions of the console: tickets, tokens, and who is let in from which page."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from heptox.demo import MONTREAL, Network
from heptox.errors import PeerError
from heptox.peer import ControlAddress
from heptox.peer.console import Sessions
from heptox.peer.console.sessions import MOST, TICKET_SECONDS
from heptox.peer.control.client import http_client
from tests.peer.daemons import DEADLINE, daemon, heptox, hospital_peer


@pytest.fixture
def address(hospitals: Network) -> ControlAddress:
    found = ControlAddress.read(hospitals.path(MONTREAL))
    assert found
    return found


def http(address: ControlAddress, token: str | None = None, **headers: str) -> httpx.Client:
    """A client with headers of its own, and a token unless there is none."""
    carried = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=address.url, headers=carried | headers, timeout=DEADLINE, trust_env=False)


def codes(answer: httpx.Response) -> list[str]:
    return [fault["code"] for fault in answer.json()["faults"]]


# -- tickets and tokens ------------------------------------------------------------------------------------------------


def test_a_ticket_becomes_a_token_once(address: ControlAddress) -> None:
    with http(address, address.token) as owner:
        ticket = owner.post("/console/tickets").json()
    assert ticket["seconds"] == TICKET_SECONDS
    with http(address) as browser:
        token = browser.post("/console/sessions", json={"ticket": ticket["ticket"]}).json()["token"]
        again = browser.post("/console/sessions", json={"ticket": ticket["ticket"]})
    assert (again.status_code, codes(again), again.headers["www-authenticate"]) == (401, ["HX7091"], "Bearer")
    assert token not in (address.token, ticket["ticket"])
    with http(address, token) as session:
        assert session.get("/status").json()["name"] == MONTREAL.name
        assert session.post("/console/tickets").status_code == 200


@pytest.mark.parametrize("ticket", ["", "x" * 43, "\u00e9", "\ud800"])
def test_what_is_no_ticket_opens_nothing(address: ControlAddress, ticket: str) -> None:
    with http(address) as browser:
        content = json.dumps({"ticket": ticket}).encode()
        answer = browser.post("/console/sessions", content=content, headers={"Content-Type": "application/json"})
    assert answer.status_code in (401, 422)
    assert set(codes(answer)) <= {"HX7060", "HX7091"}


def test_a_ticket_is_none_without_the_token_and_is_no_token(address: ControlAddress) -> None:
    with http(address) as stranger:
        assert stranger.post("/console/tickets").status_code == 401
    with http(address, address.token) as owner:
        ticket = owner.post("/console/tickets").json()["ticket"]
    with http(address, ticket) as early:
        assert early.get("/status").status_code == 401


def test_a_ticket_that_is_too_old_is_none() -> None:
    now = [0.0]
    sessions = Sessions(lambda: now[0])
    in_time, late = sessions.ticket(), sessions.ticket()
    now[0] = TICKET_SECONDS - 0.1
    assert sessions.holds(sessions.redeem(in_time).encode())
    now[0] = float(TICKET_SECONDS)
    for _ in range(2):
        with pytest.raises(PeerError, match="HX7091"):
            sessions.redeem(late)


def test_the_oldest_tickets_and_sessions_make_room() -> None:
    sessions = Sessions()
    tickets = [sessions.ticket() for _ in range(MOST + 1)]
    with pytest.raises(PeerError):
        sessions.redeem(tickets[0])
    tokens = [sessions.redeem(ticket) for ticket in tickets[1:]]
    tokens.append(sessions.redeem(sessions.ticket()))
    assert [sessions.holds(token.encode()) for token in tokens] == [False] + [True] * MOST


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_prints_a_url_that_opens_a_session(hospitals: Network, address: ControlAddress) -> None:
    printed = heptox("console", hospitals.path(MONTREAL), "--print")
    assert (printed.returncode, printed.stderr) == (0, "")
    page, _, ticket = printed.stdout.strip().partition("#")
    assert page == f"{address.url}/console/"
    with http(address) as browser:
        assert browser.get(page).status_code == 200
        assert browser.post("/console/sessions", json={"ticket": ticket}).status_code == 200


def test_the_command_opens_the_browser(hospitals: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{seen}"\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    ended = heptox("console", hospitals.path(MONTREAL))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert seen.read_text() == ended.stdout.strip()


def test_the_command_says_where_no_browser_is(hospitals: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "false %s")
    monkeypatch.setenv("PATH", "/nowhere")
    ended = heptox("console", hospitals.path(MONTREAL))
    assert ended.returncode == 0
    assert ended.stderr == "no browser was found: open the URL in one\n"


def test_without_a_daemon_the_command_ends_with_the_code_for_it(tmp_path: Path) -> None:
    ended = heptox("console", hospital_peer(tmp_path / "peer", "montreal", 0))
    assert (ended.returncode, ended.stdout) == (4, "")
    assert "heptox peer start" in ended.stderr


def test_over_a_socket_there_is_no_console_but_everything_else_whatever_the_host_is_called(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    settings = folder / "peer.toml"
    settings.write_text(settings.read_text().replace('control = "loopback"', 'control = "unix"'))
    with daemon(folder):
        ended = heptox("console", folder)
        found = ControlAddress.read(folder)
        assert found
        token = {"Authorization": f"Bearer {found.token}"}
        with http_client(found, {**token, "Host": "peer.example"}) as client:
            assert client.get("/status").status_code == 200
            assert client.get("/status", headers={"Origin": "http://evil.example"}).status_code == 403
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "HX7092" in ended.stderr
    assert "loopback" in ended.stderr


# -- pages of other sites ----------------------------------------------------------------------------------------------

EVIL = "http://evil.example"
OPERATIONS = [
    ("GET", "/status"),
    ("GET", "/healthz"),
    ("GET", "/console/"),
    ("POST", "/console/sessions"),
    ("GET", "/no"),
]


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:80"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost@evil.example"},
        {"Host": "127.0.0.2"},
        {"Host": ""},
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": ""},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "http://localhost"},
        {"Origin": "https://127.0.0.1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_pages_of_other_sites_are_refused_even_with_the_token(
    address: ControlAddress, method: str, path: str, headers: dict[str, str]
) -> None:
    with http(address, address.token) as browser:
        answer = browser.request(method, path, headers=headers)
    assert (answer.status_code, codes(answer)) == (403, ["HX7090"])
    assert not {name for name in answer.headers if name.startswith("access-control-")}


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
@pytest.mark.parametrize("site", ["same-origin", "none"])
def test_the_own_page_and_the_user_are_let_in(address: ControlAddress, name: str, site: str) -> None:
    for host in (name, f"{name}:{address.url.rpartition(':')[2]}"):
        headers = {"Host": host, "Origin": f"http://{host.lower()}", "Sec-Fetch-Site": site}
        with http(address, address.token, **headers) as browser:
            assert browser.get("/status").status_code == 200


def test_other_sites_are_not_told_what_they_might_do(address: ControlAddress) -> None:
    asked = {"Origin": EVIL, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with http(address) as browser:
        answer = browser.options("/queries", headers=asked)
    assert answer.status_code == 403
    assert not {name for name in answer.headers if name.startswith("access-control-")}
