"""The console's page and its files: who gets them, with which headers, and that there is nothing else beside them."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator

import httpx
import pytest

from heptox.demo import MONTREAL, Network
from heptox.peer import ControlAddress
from heptox.peer.console.pages import ASSETS
from tests.peer.daemons import DEADLINE

KINDS = {".css": "text/css", ".js": "text/javascript", ".txt": "text/plain"}
NOT_SERVED = ("index.html", "libraries.d.ts")
"""The page itself, which has a path of its own, and types for editors."""
FILES = sorted(file.relative_to(ASSETS).as_posix() for file in ASSETS.rglob("*") if file.is_file())


@pytest.fixture
def browser(hospitals: Network) -> Iterator[httpx.Client]:
    """Somebody without a token."""
    address = ControlAddress.read(hospitals.path(MONTREAL))
    assert address
    with httpx.Client(base_url=address.url, timeout=DEADLINE, trust_env=False) as client:
        yield client


def test_the_page_has_a_nonce_of_its_own_each_time(browser: httpx.Client) -> None:
    nonces = set()
    for _ in range(2):
        page = browser.get("/console/")
        found = re.search(r"style-src 'self' 'nonce-([\w-]{20,})';", page.headers["content-security-policy"])
        assert found
        assert f'nonce="{found[1]}"' in page.text
        assert "{{" not in page.text
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        nonces.add(found[1])
    assert len(nonces) == 2


def test_the_short_path_leads_to_the_page(browser: httpx.Client) -> None:
    answer = browser.get("/console")
    assert (answer.status_code, answer.headers["location"]) == (307, "/console/")


@pytest.mark.parametrize("path", ["/console/", "/console/assets/main.js", "/console/assets/style.css"])
def test_the_page_and_its_files_may_load_and_run_only_what_is_the_peers(browser: httpx.Client, path: str) -> None:
    headers = browser.get(path).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy.pop("style-src").startswith("'self' 'nonce-")
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "'none'",
    }
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-cache"


def test_every_file_of_the_page_is_served_as_what_it_is(browser: httpx.Client) -> None:
    served = [name for name in FILES if name not in NOT_SERVED]
    assert {"main.js", "arrows/room.js", "libraries.js"} <= set(served)
    for name in served:
        answer = browser.get(f"/console/assets/{name}")
        assert (answer.status_code, answer.content) == (200, (ASSETS / name).read_bytes())
        kind = KINDS["." + name.rpartition(".")[2]]
        assert answer.headers["content-type"] == f"{kind}; charset=utf-8"


@pytest.mark.parametrize(
    "path",
    [
        "",
        *NOT_SERVED,
        "nothing.js",
        "arrows",
        "arrows/",
        "/main.js",
        "./main.js",
        "../pages.py",
        "%2e%2e/pages.py",
        "..%2fpages.py",
        "%2e%2e%2fpages.py",
        "arrows/../main.js",
        "arrows/%2e%2e/%2e%2e/pages.py",
        "%2fetc%2fpasswd",
        "/etc/passwd",
        "..%5cpages.py",
        "main.js%00",
        "main.js%00.css",
        "%ff",
        "%252e%252e/pages.py",
        "__init__.py",
        "x" * 5000,
    ],
)
def test_beside_the_files_of_the_page_there_is_nothing(hospitals: Network, path: str) -> None:
    address = ControlAddress.read(hospitals.path(MONTREAL))
    assert address
    answer = raw(address, f"/console/assets/{path}")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"HX7060" in answer


def test_by_a_path_under_the_page_no_operation_is_reached_without_the_token(hospitals: Network) -> None:
    address = ControlAddress.read(hospitals.path(MONTREAL))
    assert address
    for path in ("/console/assets/../../status", "/console/assets/%2e%2e/%2e%2e/status", "/console/../status"):
        assert raw(address, path).split()[1] in (b"401", b"404")


def raw(address: ControlAddress, path: str) -> bytes:
    """The answer to a path that no client has tidied up."""
    host, _, port = address.url.removeprefix("http://").partition(":")
    request = f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode()
    with socket.create_connection((host, int(port)), DEADLINE) as connection:
        connection.sendall(request)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer
