"""``heptox peer start``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from heptox.cli.choosing import Folder, chosen_peer
from heptox.cli.output import print_result
from heptox.peer import serve


def start(
    folder: Folder = None,
    listen: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Where to listen, such as /ip4/0.0.0.0/tcp/4001.")
    ] = None,
) -> None:
    """Run the daemon of a peer until it is stopped.

    Prints its multiaddress on stdout when it serves. Ends with exit code 0 on SIGINT, SIGTERM or `heptox peer stop`.
    """
    serve(chosen_peer(folder), listen, announce=_announce)


def _announce(address: str) -> None:
    print_result(address)
    sys.stdout.flush()
