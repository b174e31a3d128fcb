"""The client in ``tests/foreign``, which is not heptox, asks."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping as Table
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Timer
from typing import Any, Final

from heptox.peer import Status
from tests.peer.daemons import DEADLINE

FOLDER: Final = Path(__file__).parent.parent / "foreign"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the client has printed, without the first hop of paths, which is itself.

    ``asker`` and ``query`` are its peer id and the query id, ``messages`` what it received as it received it,
    and ``reason`` why the answer is not complete.
    """

    asker: str
    query: str
    messages: tuple[dict[str, Any], ...]
    complete: bool
    reason: str

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
                    **{name: value for name, value in line.items() if name != "behind"},
                    "peer": path[-1]["peer"],
                    "name": path[-1]["name"],
                    "path": [hop["name"] for hop in path],
                    "complete": Status(line["status"]).complete and not line["losses"],
                }
            )
        return lines

    @property
    def refusal(self) -> tuple[str, str, str]:
        """The only message, an error: its query id, its status and its reason."""
        (message,) = self.messages
        assert message["kind"] == "error"
        return message["query"], message["status"], message["reason"]


class Client:
    """The client at work: one process that is given one question after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, address: str, query: str, *options: str, fields: Table[str, Any] | None = None) -> Answer:
        """Ask the peer at a multiaddress; ``fields`` replace those of the query's message."""
        arguments = [*options, "--fields", json.dumps(fields or {}), address]
        hanging = Timer(DEADLINE, self._process.kill)
        hanging.start()
        try:
            assert self._process.stdin
            print(json.dumps({"arguments": arguments, "query": query}), file=self._process.stdin, flush=True)
            who, *messages, outcome = self._told()
        finally:
            hanging.cancel()
        return Answer(who["asker"], who["query"], tuple(messages), outcome["complete"], outcome["reason"])

    def _told(self) -> Iterator[dict[str, Any]]:
        assert self._process.stdout
        for line in self._process.stdout:
            told = json.loads(line)
            yield told
            if "complete" in told:
                return


@contextmanager
def client() -> Iterator[Client]:
    """The client, which has to end well and to say nothing else."""
    command, pipe = ["node", str(FOLDER / "client.mjs")], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield Client(process)
            out, err = process.communicate(timeout=DEADLINE)
        except BaseException:
            process.kill()
            raise
    assert (process.returncode, out, err) == (0, "", "")
