"""The description of the control API, ``GET /openapi.json``: which responses each operation has, and the lines of
streams."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from heptox.peer.models.control import AuditLine, Faults, ItemLine, LoadedLast, ReadLine, ReceiptLast
from heptox.peer.models.subscriptions import (
    DeadLetterModel,
    EndLast,
    NotificationLine,
    SubscriptionModel,
    WaitingLine,
)

NDJSON: Final = "application/x-ndjson"
_REFERENCE: Final = "#/components/schemas/{model}"

LINES: Final[dict[str, tuple[type[BaseModel], ...]]] = {
    "ask": (ItemLine, ReceiptLast, Faults),
    "load": (ReadLine, LoadedLast, Faults),
    "audit": (AuditLine,),
    "list_subscriptions": (SubscriptionModel, Faults),
    "replay": (NotificationLine, WaitingLine, EndLast, Faults),
    "dead_letters": (DeadLetterModel, Faults),
}
"""What the lines of a stream may be, by the operation that sends it."""


# -- the description -------------------------------------------------------------------------------------------------

_FAULTS: Final[dict[str, Any]] = {"application/json": {"schema": {"$ref": _REFERENCE.format(model="Faults")}}}
FOREIGN: Final[dict[int | str, dict[str, Any]]] = {
    403: {"description": "A page of another site seems to make the request; nothing was done.", "content": _FAULTS},
    408: {"description": "The request did not come to its end in time; nothing was done.", "content": _FAULTS},
    413: {"description": "The request carries more than it may; nothing was done.", "content": _FAULTS},
    503: {"description": "There are too many connections; nothing was done.", "content": _FAULTS},
}
UNAUTHORISED: Final[dict[int | str, dict[str, Any]]] = {
    **FOREIGN,
    401: {
        "description": "The request does not carry the token; nothing was done.",
        "content": _FAULTS,
        "headers": {"WWW-Authenticate": {"schema": {"type": "string"}}},
    },
}
REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    **UNAUTHORISED,
    422: {"description": "It is not carried out, and why.", "content": _FAULTS},
}
NAMED: Final[dict[int | str, dict[str, Any]]] = {
    **REFUSED,
    404: {"description": "There is nothing at this path: a name in it has a slash or is empty.", "content": _FAULTS},
}


def streamed(operation: str, description: str) -> dict[int | str, dict[str, Any]]:
    """The responses of an operation that sends JSON objects, one a line."""
    lines = [{"$ref": _REFERENCE.format(model=model.__name__)} for model in LINES[operation]]
    content = {NDJSON: {"schema": {"anyOf": lines} if len(lines) > 1 else lines[0]}}
    return {**REFUSED, 200: {"description": f"One JSON object a line. {description}", "content": content}}


def describe(app: FastAPI) -> dict[str, Any]:
    """The description of the control API ``app``, with the shapes of what it sends otherwise than as one JSON value."""
    description = FastAPI.openapi(app)
    sent: list[type[BaseModel]] = [Faults]
    for models in LINES.values():
        sent += models
    _, shapes = models_json_schema([(model, "serialization") for model in sent], ref_template=_REFERENCE)
    description["components"]["schemas"] |= shapes["$defs"]
    return description
