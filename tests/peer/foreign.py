"""The client in ``tests/foreign``, which is not heptox, asks."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Mapping as Table
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from heptox.peer import Status
from tests.peer.daemons import DEADLINE

FOLDER: Final = Path(__file__).parent.parent / "foreign"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client has printed, without the first hop of paths, which is itself.

    ``asker`` and ``query`` are its peer id and the query id, ``messages`` what it received as it received it,
    ``reason`` why the answer is not complete, and ``code`` its exit code.
    """

    asker: str
    query: str
    messages: tuple[dict[str, Any], ...]
    complete: bool
    reason: str
    code: int

    @property
    def kinds(self) -> list[str]:
        return [message["kind"] for message in self.messages]

    @property
    def items(self) -> dict[tuple[str, ...], list[str]]:
        """The items by the names along their path."""
        found: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for message in self.messages:
            if message["kind"] == "answers":
                found[tuple(hop["name"] for hop in message["origin"][1:])] += message["items"]
        return dict(found)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of the receipt in the form of ``heptox query --json``."""
        assert self.messages[-1]["kind"] == "end"
        lines = []
        for line in self.messages[-1]["receipt"]:
            path = line["path"][1:]
            lines.append(
                {
                    **line,
                    "peer": path[-1]["peer"],
                    "name": path[-1]["name"],
                    "path": [hop["name"] for hop in path],
                    "complete": Status(line["status"]).complete,
                }
            )
        return lines

    @property
    def refusal(self) -> tuple[str, str, str]:
        """The only message, an error: its query id, its status and its reason."""
        (message,) = self.messages
        assert message["kind"] == "error"
        return message["query"], message["status"], message["reason"]


def ask(address: str, query: str, *options: str, fields: Table[str, Any] | None = None) -> Answer:
    """Ask the peer at a multiaddress; ``fields`` replace those of the query's message."""
    command = ["node", str(FOLDER / "client.mjs"), *options, "--fields", json.dumps(fields or {}), address]
    ended = subprocess.run(command, input=query, capture_output=True, text=True, timeout=DEADLINE)
    assert ended.stderr == "", ended.stderr
    who, *messages, outcome = map(json.loads, ended.stdout.splitlines())
    return Answer(who["asker"], who["query"], tuple(messages), outcome["complete"], outcome["reason"], ended.returncode)
