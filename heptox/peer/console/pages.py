"""The console's page and what it is made of: the files in ``assets``, each with headers that let it do little."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Final

import trio
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

ASSETS: Final = Path(__file__).parent / "assets"
PAGE: Final = "/console/"
_SHORT: Final = "/console"
_FILES: Final = "/console/assets/"
_INDEX: Final = "index.html"
_NONCE: Final = b"{{nonce}}"
"""What stands in the page for the nonce of its styles."""
_KINDS: Final = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
"""Media types by suffix; files of others are not served."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


def is_page(path: str) -> bool:
    """Whether a path is that of the page or of what it is made of, which need no token."""
    return path in (PAGE, _SHORT) or path.startswith(_FILES)


def add_pages(app: FastAPI) -> None:
    """Add the page to an application."""
    served = {
        file.relative_to(ASSETS).as_posix(): file
        for file in ASSETS.rglob("*")
        if file.is_file() and file.suffix in _KINDS
    }

    @app.get(_SHORT, include_in_schema=False)
    async def console() -> Response:
        return RedirectResponse(PAGE)

    @app.get(PAGE, include_in_schema=False)
    async def page() -> Response:
        nonce = secrets.token_urlsafe(16)
        text = await trio.to_thread.run_sync((ASSETS / _INDEX).read_bytes)
        return Response(text.replace(_NONCE, nonce.encode()), media_type="text/html", headers=_headers(nonce))

    @app.get(_FILES + "{file:path}", include_in_schema=False)
    async def asset(file: str) -> Response:
        found = served.get(file)
        if found is None:
            raise HTTPException(404)
        content = await trio.to_thread.run_sync(found.read_bytes)
        return Response(content, media_type=_KINDS[found.suffix], headers=_headers(secrets.token_urlsafe(16)))


def _headers(nonce: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": _POLICY.format(nonce=nonce),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-cache",
    }
