"""Where the control API of a running daemon is, and the secret that opens it.

Who may read ``control.json`` in the peer's folder (0600) may use it.
"""

from __future__ import annotations

import json
import re
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from heptox.peer.folder.files import CONTROL, write_atomically

UNIX: Final = "unix:"
TOKEN: Final = "token"
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{32,200}")


@dataclass(frozen=True, slots=True)
class ControlAddress:
    """Where a running daemon listens for its administrator: the base URL, the secret, which peer and process it is.

    The URL is ``http://127.0.0.1:PORT``, or ``unix:`` and the path of a socket.
    """

    url: str
    token: str
    peer_id: str
    process: int

    def write(self, folder: Path) -> None:
        """Tell it in the peer's folder, readable by the owner only."""
        write_atomically(folder / CONTROL, json.dumps(asdict(self)).encode(), mode=0o600)

    @classmethod
    def read(cls, folder: Path) -> ControlAddress | None:
        """What the daemon wrote last, perhaps before it was killed; ``None`` when there is nothing that can be read."""
        try:
            value = json.loads((folder / CONTROL).read_bytes())
            return cls(str(value["url"]), str(value["token"]), str(value["peer_id"]), int(value["process"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None


def kept_token(folder: Path) -> str:
    """The secret of the peer in ``folder``, whose lock the caller holds; it is made when there is none.

    Whoever may read the file (0600, unless its owner changes that) may do everything that the control API does.
    """
    file = folder / TOKEN
    with suppress(OSError, UnicodeDecodeError):
        token = file.read_text(encoding="ascii").strip()
        if _TOKEN.fullmatch(token):
            return token
    token = secrets.token_urlsafe(32)
    write_atomically(file, f"{token}\n".encode(), mode=0o600)
    return token
