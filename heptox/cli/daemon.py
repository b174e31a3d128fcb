"""``heptox peer start``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from heptox import peer as peers  # not its names: the network is loaded when a daemon runs in this process
from heptox.cli.choosing import Folder, chosen_peer
from heptox.cli.output import print_note, print_result


def start(
    folder: Folder = None,
    listen: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Where to listen, such as /ip4/0.0.0.0/tcp/4001.")
    ] = None,
    background: Annotated[
        bool,
        typer.Option("--background", help="Return when it serves; it goes on, and logs to daemon.log in its folder."),
    ] = False,
) -> None:
    """Run the daemon of a peer until it is stopped.

    Prints its multiaddress on stdout when it serves, and its log on stderr. Ends with exit code 0 on Ctrl-C (SIGINT),
    SIGTERM or `heptox peer stop`.
    """
    path = chosen_peer(folder)
    if not background:
        peers.serve(path, listen, announce=_announce)
        return
    for address in peers.start_in_background(path, listen):
        _announce(address)
    print_note(f"it serves, and logs to {path / peers.DAEMON_LOG}; `heptox peer stop {path}` ends it")


def _announce(address: str) -> None:
    print_result(address)
    sys.stdout.flush()
