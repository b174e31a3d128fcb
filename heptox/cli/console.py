"""``heptox console``."""

from __future__ import annotations

import sys
import webbrowser
from typing import Annotated

import typer

from heptox.cli.choosing import Folder, chosen_peer
from heptox.cli.output import print_note, print_result
from heptox.peer import Client


def console(
    folder: Folder = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the URL, and open no browser.")] = False,
) -> None:
    """Open the console of a running peer in the browser: draw arrows, ask, watch.

    Prints its URL. It can be opened once, within a minute: whoever opens it may do what the administrator does.
    """
    with Client.connect(chosen_peer(folder)) as client:
        url = client.console()
    print_result(url)
    sys.stdout.flush()
    if not only_print and not webbrowser.open(url):
        print_note("no browser was found: open the URL in one")
