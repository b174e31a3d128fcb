"""Files that commands write: they are there when all of them is written, or not at all."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from tempfile import NamedTemporaryFile

from heptox.errors import Fault, InputError


def write_to(out: str | None, parts: Iterable[bytes]) -> None:
    """Write to a file, which is there only when all is written, or to stdout.

    Raises :class:`InputError` (HX1001) where nothing can be written there.
    """
    if out is None:
        for part in parts:
            sys.stdout.buffer.write(part)
        return
    path = Path(out).resolve()
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as device:
                device.writelines(parts)
            return
        _write_file(path, parts)
    except OSError as error:
        raise InputError(Fault("HX1001", f"cannot be written: {error.strerror or error}", file=out)) from None


def _write_file(path: Path, parts: Iterable[bytes]) -> None:
    with NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        unfinished = Path(file.name)
        try:
            file.writelines(parts)
            mode = path.stat().st_mode if path.exists() else 0o666 & ~_mask()
            unfinished.chmod(stat.S_IMODE(mode))
            unfinished.replace(path)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise


def _mask() -> int:
    """What is taken from the permissions of new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
