"""Parsers whose tables are computed once for a user, and kept among what may be deleted at any time."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile

import lark
from lark import Lark


def kept_parser(grammar: str, start: str) -> Lark:
    """The LALR parser of a grammar, from ``$XDG_CACHE_HOME/heptox`` (``~/.cache/heptox``) if it is there.

    A file that is damaged, or another user's, is made anew; without a folder that can be written to, every process
    computes its tables.
    """
    made_by = (grammar, start, lark.__version__, sys.version)
    name = f"grammar-{sha256(repr(made_by).encode()).hexdigest()[:32]}"
    with suppress(Exception):  # whatever is wrong with it
        file = _folder() / name
        if file.stat().st_uid == os.getuid():
            return Lark.load(BytesIO(file.read_bytes()))
    parser = Lark(grammar, parser="lalr", start=start, propagate_positions=True, maybe_placeholders=False)
    with suppress(OSError, RuntimeError):  # no folder, or none that can be written to
        _keep(parser, _folder() / name)
    return parser


def _folder() -> Path:
    """Raises ``RuntimeError`` for a user without a home."""
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (chosen if chosen.is_absolute() else Path.home() / ".cache") / "heptox"


def _keep(parser: Lark, file: Path) -> None:
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Once it has its name, there is none any more to be removed.
    with suppress(FileNotFoundError), NamedTemporaryFile(dir=file.parent) as made:
        parser.save(made)
        made.flush()
        Path(made.name).replace(file)
