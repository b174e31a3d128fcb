"""Which peer is meant: what the commands about one's own peer share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from heptox.cli.output import ExitCode, print_faults
from heptox.errors import PeerError
from heptox.peer import find_peer

NewFolder: TypeAlias = Annotated[Path, typer.Argument(metavar="FOLDER", help="The peer's folder.")]
Folder: TypeAlias = Annotated[
    Path | None, typer.Argument(metavar="[FOLDER]", show_default=False, help="The peer's folder, unless it is plain.")
]
PeerOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--peer",
        metavar="FOLDER",
        show_default=False,
        help="The peer's folder; else $HEPTOX_PEER, the current folder, or the only peer's folder in it.",
    ),
]


def chosen_peer(given: Path | None) -> Path:
    """The peer's folder that is meant; which one is not plain is wrong usage."""
    try:
        return find_peer(given)
    except PeerError as error:
        print_faults(error)
        raise typer.Exit(ExitCode.WRONG_USAGE) from None
