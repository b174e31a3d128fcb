"""The part of the control API that is about feeds: what is published elsewhere, and where documents go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import FastAPI, Query, Request

from heptox.errors import Fault, PeerError
from heptox.peer.control.http import GUARDED, XML
from heptox.peer.control.schema import REFUSED
from heptox.peer.models.feed import FeedsModel, RouteModel

if TYPE_CHECKING:
    from heptox.peer.control.service import PeerService
    from heptox.peer.feed.feeds import Feeds


def add_feeds(app: FastAPI, service: PeerService) -> None:
    """Add the operations to an application."""

    @app.get("/feeds", dependencies=GUARDED, responses=REFUSED)
    async def feeds() -> FeedsModel:
        """The publishers that can be reached and how far this peer is with their feeds, and what neighbours want."""
        return _feeds(service).view.status()

    @app.post("/feeds/route", dependencies=GUARDED, responses=REFUSED, openapi_extra=XML)
    async def route(
        request: Request,
        name: Annotated[str, Query(description="What messages call the document.")],
        publisher: Annotated[str | None, Query(description="Who publishes it; else this peer.")] = None,
    ) -> RouteModel:
        """Where a document would go from here, and why. It is not published."""
        data = await request.body()
        return await _feeds(service).view.route(data, name, publisher)


def _feeds(service: PeerService) -> Feeds:
    feeds = service.subscribing.feeds
    if feeds is None:
        raise PeerError(Fault("HX7083", "it takes no part in feeds", hint='feed = "schema" in peer.toml'))
    return feeds
