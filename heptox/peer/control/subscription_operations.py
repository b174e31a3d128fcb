"""The part of the control API that is about subscriptions and documents published."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final

import trio
from fastapi import FastAPI, Path, Query, Request
from starlette.responses import Response

from heptox.errors import Fault, PeerError
from heptox.matching import MOST_BATCH, Publication
from heptox.peer.control import schema as described
from heptox.peer.control.http import GUARDED, XML, LineStream, Time
from heptox.peer.feed.folder_subscriptions import Replay, all_dead_letters, requested
from heptox.peer.models import subscriptions as models
from heptox.peer.models.control import Exact

if TYPE_CHECKING:
    from heptox.peer.control.service import PeerService

MOST_SEQUENCE: Final = (1 << 63) - 1
_PAGE: Final = 500
Name = Annotated[str, Path(min_length=1, description="The name of a subscription.")]
Sequence = Annotated[int, Path(ge=0, le=MOST_SEQUENCE)]
_BYTES: Final[dict[int | str, dict[str, Any]]] = {
    **described.NAMED,
    200: {
        "description": "The document, byte for byte.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    },
}


def add_subscriptions(app: FastAPI, service: PeerService) -> None:
    """Add the operations to an application."""
    _add_changes(app, service)
    _add_reading(app, service)
    _add_dead_letters(app, service)

    @app.post("/publications", dependencies=GUARDED, responses=described.REFUSED, openapi_extra=XML)
    async def publish(
        request: Request,
        name: Annotated[str, Query(description="What the document is called.")],
        id: Annotated[str, Query(description="One document is published under an id; else its name and digest.")] = "",  # noqa: A002
        file: Annotated[str | None, Query(description="What messages call it.")] = None,
    ) -> models.PublishedModel:
        """Publish a document: when this is answered, it and its notifications are on the disk.

        The same once more changes nothing, and is `held`.
        """
        data = await request.body()
        published, offer = await service.subscribing.publish(Publication(name, data, id), file)
        return models.PublishedModel.of(published, offer)


def _add_changes(app: FastAPI, service: PeerService) -> None:
    @app.post("/subscriptions", dependencies=GUARDED, responses=described.REFUSED)
    async def subscribe(wanted: models.SubscriptionsRequest) -> models.SubscriptionsAdded:
        """Add subscriptions: when this is answered, they are on the disk, and the next document meets them."""
        checked, faults = await trio.to_thread.run_sync(requested, wanted)
        became = await service.subscribing.subscribe(checked, faults, skipping=wanted.skipping)
        return models.SubscriptionsAdded.of(
            became.added,
            unconfirmed=became.unconfirmed,
            unreached=became.unreached,
            untold=became.untold,
            untranslated=became.untranslated,
        )

    @app.delete("/subscriptions/{name}", dependencies=GUARDED, responses=described.NAMED)
    async def unsubscribe(name: Name) -> models.SubscriptionModel:
        """Remove a subscription, with its backlog and its dead letters; what it was."""
        return models.SubscriptionModel.of(await service.subscribing.unsubscribe(name))

    @app.post("/subscriptions/{name}/acknowledge", dependencies=GUARDED, responses=described.NAMED)
    async def acknowledge(
        name: Name,
        sequence: Annotated[int, Query(ge=0, le=MOST_SEQUENCE, description="Up to which number.")],
        reject: Annotated[str | None, Query(description="Why that one becomes a dead letter.", max_length=1000)] = None,
    ) -> models.SubscriptionModel:
        """Acknowledge all notifications up to a sequence number; it is on the disk when this is answered."""
        return models.SubscriptionModel.of(await service.subscribing.acknowledge(name, sequence, reject))


def _add_reading(app: FastAPI, service: PeerService) -> None:
    log = service.subscribing.log

    @app.get(
        "/subscriptions",
        dependencies=GUARDED,
        response_class=Response,
        responses=described.streamed("list_subscriptions", "In the order in which they were added."),
    )
    async def list_subscriptions() -> Response:
        """The subscriptions, and how far each is."""
        return LineStream(_lines(map(models.SubscriptionModel.of, log.subscriptions())))

    @app.get("/subscriptions/{name}", dependencies=GUARDED, responses=described.NAMED)
    async def subscription(name: Name) -> models.SubscriptionModel:
        """One subscription, and how far it is; of one in own words, its translation for each publisher."""
        found = await trio.to_thread.run_sync(log.subscription, name)
        return service.subscribing.model(found)

    @app.get(
        "/subscriptions/{name}/notifications",
        dependencies=GUARDED,
        response_class=Response,
        responses={
            **described.NAMED,
            **described.streamed(
                "replay", "`waiting` now and then while there are no more yet; `end` or `faults` last."
            ),
        },
    )
    async def replay(
        name: Name,
        start: Annotated[int | None, Query(alias="from", ge=0, le=MOST_SEQUENCE)] = None,
        since: Time | None = None,
        limit: Annotated[int | None, Query(ge=1, le=MOST_BATCH)] = None,
        follow: bool = False,
        content: bool = False,
    ) -> Response:
        """Notifications from a sequence number or a time on, else those that are not acknowledged.

        With `follow` they go on as documents are published, until the client goes away, or there were `limit` of them.
        """
        return LineStream(service.subscribing.replay(Replay(name, start, _utc(since), limit, follow, content)))

    @app.get(
        "/subscriptions/{name}/notifications/{sequence}/document",
        dependencies=GUARDED,
        response_class=Response,
        responses=_BYTES,
    )
    async def document(name: Name, sequence: Sequence) -> Response:
        """The document of a notification."""
        _, data = await trio.to_thread.run_sync(log.content, name, sequence)
        return Response(data, media_type="application/octet-stream")


def _add_dead_letters(app: FastAPI, service: PeerService) -> None:
    log = service.subscribing.log

    @app.get(
        "/subscriptions/{name}/dead-letters",
        dependencies=GUARDED,
        response_class=Response,
        responses={**described.NAMED, **described.streamed("dead_letters", "The oldest first.")},
    )
    async def dead_letters(name: Name, after: Annotated[int, Query(ge=0, le=MOST_SEQUENCE)] = 0) -> Response:
        """What is not delivered, and why; from the dead letter that follows the number `after` on."""
        return LineStream(_lines(map(models.DeadLetterModel.of, all_dead_letters(log, name, after))))

    @app.get(
        "/subscriptions/{name}/dead-letters/{letter}/document",
        dependencies=GUARDED,
        response_class=Response,
        responses=_BYTES,
    )
    async def dead_document(name: Name, letter: Sequence) -> Response:
        """The document of a dead letter, if it is still kept."""
        return Response(
            await trio.to_thread.run_sync(log.dead_content, name, letter), media_type="application/octet-stream"
        )


async def _lines(values: Iterator[Exact]) -> AsyncGenerator[list[Exact], None]:
    """Models that a file is read for, many at a time."""
    while page := await trio.to_thread.run_sync(lambda: list(islice(values, _PAGE))):
        yield page


def _utc(since: datetime | None) -> datetime | None:
    try:
        return since and since.astimezone(UTC)
    except OverflowError:
        raise PeerError(Fault("HX7060", "the request's query.since: no time of the years 1 to 9999")) from None
