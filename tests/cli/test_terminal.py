"""What others have said, on a terminal: whatever it is, it is text and moves, hides and turns nothing."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints
from unittest import mock

import pytest
from pydantic import BaseModel

from heptox.cli.application import main
from heptox.errors import Fault
from heptox.peer import (
    DeadLetterModel,
    DocumentModel,
    FeedsModel,
    Finding,
    ItemLine,
    NotificationModel,
    ReceiptLast,
    ReceiptModel,
    StatusModel,
    SubscriptionModel,
    SubscriptionsAdded,
)
from heptox.peer.models.control import AcceptedModel, AcquaintanceModel
from heptox.peer.models.feed import RouteModel

HOSTILE: Final = "a\u202eb\x1b[2Jc\x9b31m\u2028d\x07\U000e0041\ufeff\u061c\udc9b"
"""Bidirectional controls, escape sequences of both kinds, a line separator, a tag character, a lone surrogate."""
STILL_THERE: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)


class Terminal(io.StringIO):
    """What is printed on a terminal."""

    def isatty(self) -> bool:
        return True


def hostile(kind: Any) -> Any:
    """A value of a type of the control API in which every text is :data:`HOSTILE`."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Literal:
        return arguments[0]
    if origin in (Union, UnionType):
        return hostile(next(one for one in arguments if one is not NoneType))
    if origin is dict:
        return {HOSTILE: hostile(arguments[1])}
    if origin is tuple:
        return (hostile(arguments[0]),)
    if hasattr(kind, "__metadata__") or origin is not None:
        return hostile(arguments[0])
    if kind is Fault:
        return Fault("HX1001", HOSTILE, hint=HOSTILE, file=HOSTILE)
    if isinstance(kind, type) and is_dataclass(kind):
        return kind(**{name: hostile(member) for name, member in get_type_hints(kind).items()})
    if issubclass(kind, BaseModel):
        return kind(**{name: hostile(field.annotation) for name, field in kind.model_fields.items()})
    if issubclass(kind, Enum):
        return next(iter(kind))
    return {str: HOSTILE, int: 3, float: 3.0, bool: True}[kind]


def client() -> Any:
    """A client of a daemon that says such things."""
    receipt = ReceiptLast(receipt=hostile(ReceiptModel).model_copy(update={"complete": True}))
    item = hostile(ItemLine).model_copy(update={"repeated": False})
    return SimpleNamespace(
        feeds=lambda: hostile(FeedsModel),
        route=lambda *_: hostile(RouteModel),
        query=lambda _: iter([item, receipt]),
        accept=lambda *_: hostile(AcceptedModel),
        refuse=lambda *_: HOSTILE,
        withdraw=lambda *_: hostile(AcquaintanceModel),
        subscribe=lambda *_: hostile(SubscriptionsAdded),
        subscription=lambda _: hostile(SubscriptionModel),
        info=lambda _: hostile(SubscriptionModel),
        subscriptions=lambda: [hostile(SubscriptionModel)],
        notifications=lambda *_, **__: iter([hostile(NotificationModel)]),
        dead_letters=lambda *_: [hostile(DeadLetterModel)],
        document=lambda *_: HOSTILE.encode(errors="surrogateescape"),
        close=lambda: None,
    )


COMMANDS: Final = (
    "peer status", "peer status --json", "peer status --documents", "peer acquaintances", "peer acquaintances --json",
    "peer acquaintances --accept x", "peer acquaintances --refuse x", "peer acquaintances --withdraw x",
    "peer acquaintances --show WHO", "peer doctor", "feed status", "feed status --json",
    "feed route --explain DOCUMENT", "query //a --explain", "query //a --json", "subscription list",
    "subscription info x",
    "subscription replay x",
    "subscription replay x --json", "subscription replay x --document 1", "subscription dlq x",
    "subscription dlq x --json",
)  # fmt: skip


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[Path]:
    document = tmp_path / "document.xml"
    document.write_text("<a/>")
    status = lambda _: hostile(StatusModel)  # noqa: E731
    connect: Callable[..., Any] = lambda *_: nullcontext(client())  # noqa: E731
    with contextlib.ExitStack() as patches:
        for name, value in {
            "peer.peer_status": status,
            "peer.peer_documents": lambda _: [hostile(DocumentModel)],
            "peer.examine_peer": lambda _: [hostile(Finding)],
            "subscription.subscriptions_at": connect,
        }.items():
            patches.enter_context(mock.patch(f"heptox.cli.{name}", value))
        for module in ("peer", "feed", "query", "subscription"):
            patches.enter_context(mock.patch(f"heptox.cli.{module}.chosen_peer", return_value=tmp_path))
        for module in ("peer", "feed", "query"):
            patches.enter_context(mock.patch(f"heptox.cli.{module}.Client", SimpleNamespace(connect=connect)))
        yield document


def printed(command: str, document: Path, stream: Callable[[], io.StringIO]) -> tuple[str, str]:
    """What a command prints on stdout and stderr."""
    words = [{"WHO": HOSTILE, "DOCUMENT": str(document)}.get(word, word) for word in command.split()]
    out, err = stream(), stream()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.suppress(SystemExit):
        main(words)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
def test_what_others_say_moves_no_terminal(command: str, peer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("HEPTOX_TRACEBACK", "1")
    out, err = printed(command, peer, Terminal)
    text = re.sub("\x1b\\[[0-9;]*m", "", f"{out}{err}")
    assert not STILL_THERE.search(text.replace("\r\n", "\n"))
    assert "\\u202e" in text
    if "--json" in command:
        for line in [out] if "query" not in command and "subscription" not in command else out.splitlines():
            json.loads(line)


def test_what_is_read_by_programs_is_as_it_was_said(peer: Path) -> None:
    out, _ = printed("query //a", peer, io.StringIO)
    assert out == f"{HOSTILE}\n"
    out, _ = printed("query //a --json", peer, io.StringIO)
    assert json.loads(out.split("\n")[0])["item"] == HOSTILE
    assert "\u202e" in out
