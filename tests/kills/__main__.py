"""``python -m tests.kills``: kills of a peer under load, as many as asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import StrEnum
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated, Final, Protocol

import typer
from rich.console import Console

from tests.kills.attack import LostError
from tests.kills.feeds import Feeds
from tests.kills.siege import Siege
from tests.kills.subscribers import Subscribers


class Of(StrEnum):
    """What loads the peer: documents, acquaintances and queries, or subscribers and publishers; or a network of peers
    where documents are published for those who have subscribed elsewhere."""

    PEER = "peer"
    SUBSCRIPTIONS = "subscriptions"
    FEEDS = "feeds"


class Killed(Protocol):
    """What is killed: ``figures`` tell what was done to it."""

    figures: Counter[str]

    def laid(self) -> AbstractContextManager[None]:
        """Make what has to be there for as long as the block lasts."""
        ...

    def run(self, kills: int, told: Callable[[int], None]) -> None:
        """Kill so many times, and look a last time; raises :class:`LostError`."""
        ...


KILLED: Final[dict[Of, Callable[[Path, int], Killed]]] = {
    Of.PEER: Siege,
    Of.SUBSCRIPTIONS: Subscribers,
    Of.FEEDS: Feeds,
}


def main(
    kills: Annotated[int, typer.Option(help="How many times to kill it.")] = 100,
    of: Annotated[Of, typer.Option(help="What loads it.")] = Of.PEER,
    seed: Annotated[int, typer.Option(help="What the load and the moments are drawn from.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="A new folder for the peers, which is kept.  [default: a temporary one]")
    ] = None,
) -> None:
    """Kill a peer under load with SIGKILL at random moments; exit code 1 if it has lost what it acknowledged."""
    console = Console(stderr=True)
    kept = folder or Path(mkdtemp(prefix="kills-"))
    siege = KILLED[of](kept, seed)
    lost: LostError | None = None
    with console.status("begun") as status, siege.laid():
        try:
            siege.run(kills, lambda done: status.update(f"{done} of {kills} kills"))
        except LostError as error:
            lost = error
    for what, number in sorted(siege.figures.items()):
        print(f"{number:>9,} {what}")
    if lost is not None:
        print(f"LOST, in {kept}:\n{lost}")
        raise typer.Exit(1)
    print("        0 losses")


if __name__ == "__main__":
    typer.run(main)
