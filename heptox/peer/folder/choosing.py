"""Which peer's folder is meant. This stays light: the network is loaded after it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from heptox.errors import Fault, PeerError

ENVIRONMENT: Final = "HEPTOX_PEER"


def find_peer(given: Path | None = None) -> Path:
    """The folder of the peer that is meant: the one given, else ``$HEPTOX_PEER``, else the current folder when it is a
    peer's, else the only peer's folder directly in the current folder.

    Raises :class:`PeerError` (HX7064) when that is none or several.
    """
    if given is not None:
        return given
    if os.environ.get(ENVIRONMENT):
        return Path(os.environ[ENVIRONMENT])
    here = Path()
    if (here / "peer.toml").is_file():
        return here
    found = sorted(file.parent for file in here.glob("*/peer.toml"))
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(folder) for folder in found)
    raise PeerError(
        Fault(
            "HX7064",
            f"several peers are here: {names}" if found else "no peer's folder is here",
            hint=f"name one with --peer or ${ENVIRONMENT}",
        )
    )
