"""Drawings: mappings in work, kept in a peer's folder as ``drawings/NAME/NAME.arrows`` beside the schemas they name.

A drawing is kept whole or not at all, also when it has faults; ``heptox map check`` reads it like any mapping.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping as Table
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from heptox.codec import MOST_FILES
from heptox.errors import Fault, PeerError
from heptox.peer.folder.files import remove_left_over, removed_on_failure, sync_folder, write_atomically, write_synced
from heptox.peer.wire.mapping_files import FILE_NAME_BYTES, is_file_name
from heptox.settings import NAME
from heptox.xml import read_dtd_text, read_text

MOST_BYTES: Final = 4 * 1024 * 1024
"""Bytes of a drawing at most, its schemas among them, and of the text of one schema."""
_SUFFIX: Final = ".arrows"
_BEFORE: Final = ".before"
_ENCODING: Final = re.compile(r"""\A(<\?xml\s[^>]*?encoding\s*=\s*["'])[A-Za-z0-9._-]+""")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A mapping in work: its text, and those of the schemas that it names, by file.

    Raises :class:`PeerError` (HX7093) for a name, files or a size that it cannot have.
    """

    name: str
    text: str
    files: Table[str, str]

    def __post_init__(self) -> None:
        check_name(self.name)
        for file in self.files:
            if not is_file_name(file) or file == f"{self.name}{_SUFFIX}":
                raise PeerError(Fault("HX7093", f"{file!r} cannot be a schema's file", hint="such as hospital.dtd"))
        if len(self.files) >= MOST_FILES:
            raise PeerError(Fault("HX7093", f"it has {len(self.files)} schemas, and may have {MOST_FILES - 1}"))
        check_texts(self.text, *self.files.values())


def check_name(name: str) -> None:
    """Raise :class:`PeerError` (HX7093) for what no drawing can be called."""
    if not NAME.fullmatch(name) or len(f".{name}{_BEFORE}".encode()) > FILE_NAME_BYTES:
        hint = "up to 64 letters, digits, spaces and _ . ' -, and no path"
        raise PeerError(Fault("HX7093", f"{name!r} is no name", hint=hint))


def check_texts(*texts: str) -> None:
    """Raise :class:`PeerError` (HX7093) for texts that are too long together, or cannot be in a file."""
    try:
        size = sum(len(text.encode()) for text in texts)
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        raise PeerError(Fault("HX7093", f"U+{code:04X}, which is in the text, is no character")) from None
    if size > MOST_BYTES:
        raise PeerError(Fault("HX7093", f"it has {size} bytes, and may have {MOST_BYTES}"))


def as_utf8(text: str) -> str:
    """The text of a DTD that says nothing else of its encoding than that it is UTF-8.

    >>> as_utf8("<?xml version='1.0' encoding='latin1'?><!ELEMENT a EMPTY>")
    "<?xml version='1.0' encoding='UTF-8'?><!ELEMENT a EMPTY>"
    """
    return _ENCODING.sub(r"\1UTF-8", text)


class Drawings:
    """The drawings in the folder ``path``, for several threads of the one process that writes there.

    All methods raise :class:`PeerError`: HX7093 as :class:`Drawing`, HX7094 where none of that name is kept, HX7095
    where the disk refuses.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def mend(self) -> None:
        """Bring to its end, or back, what a crash interrupted."""
        with self._kept(self._path):
            if not self._path.is_dir():
                return
            for left in list(self._path.glob(".*")):
                if left.name.endswith(_BEFORE):
                    _restore(left, self._path / left.name[1 : -len(_BEFORE)])
                elif left.name.endswith(".tmp") and left.is_dir():
                    shutil.rmtree(left)
            for folder in self._path.iterdir():
                remove_left_over(folder)

    def all(self) -> list[tuple[str, datetime]]:
        """The names, in order, and when each was kept last (UTC)."""
        with self._kept(self._path):
            folders = sorted(self._path.iterdir()) if self._path.is_dir() else []
            found = [(folder.name, _arrows(folder)) for folder in folders if NAME.fullmatch(folder.name)]
            return [(name, datetime.fromtimestamp(file.stat().st_mtime, UTC)) for name, file in found if file.is_file()]

    def read(self, name: str) -> Drawing:
        """The drawing of that name; raises :class:`InputError` (HX1001, HX1003, HX1006) for a file that is none."""
        with self._found(name) as folder:
            return Drawing(name, read_text(_arrows(folder), maximum_size=MOST_BYTES), _files(folder))

    def keep(self, drawing: Drawing, *, new: bool = False, before: str | None = None) -> Drawing:
        """Put a drawing on the disk: no crash loses it when this returns, and what it is then.

        Raises HX7096 where another would be lost: one of that name if this is ``new``, or one whose text is not the one
        ``before``.
        """
        folder = self._path / drawing.name
        files = {file: as_utf8(text) for file, text in drawing.files.items()}
        with self._kept(folder):
            self._check_unchanged(folder, new, before)
            if not self._path.is_dir():
                self._path.mkdir(mode=0o700)
                sync_folder(self._path.parent)
            if folder.is_dir() and _files(folder) == files:
                write_atomically(_arrows(folder), drawing.text.encode())
            else:
                self._replace(folder, {**files, _arrows(folder).name: drawing.text})
        return self.read(drawing.name)

    def drop(self, name: str) -> None:
        """Keep a drawing no longer; no crash brings it back when this returns."""
        with self._found(name) as folder:
            gone = Path(tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=self._path))
            folder.rename(gone / folder.name)
            sync_folder(self._path)
            shutil.rmtree(gone)

    def _check_unchanged(self, folder: Path, new: bool, before: str | None) -> None:
        file = _arrows(folder)
        if not file.is_file():
            return
        if new:
            raise PeerError(Fault("HX7096", f"there is a drawing named {folder.name}"))
        if before is not None and read_text(file, maximum_size=MOST_BYTES) != before:
            raise PeerError(Fault("HX7096", f"the drawing {folder.name} was changed by somebody else"))

    def _replace(self, folder: Path, files: Table[str, str]) -> None:
        """Put a folder with these files in the place of another, with what else that holds."""
        made = Path(tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=self._path))
        with removed_on_failure(made):
            if folder.is_dir():
                shutil.copytree(folder, made, symlinks=True, dirs_exist_ok=True)
                for file in (*_file_names(made), _arrows(folder).name):
                    (made / file).unlink(missing_ok=True)
            for file, text in files.items():
                write_synced(made / file, text.encode())
            sync_folder(made)
            self._exchange(folder, made)

    def _exchange(self, folder: Path, made: Path) -> None:
        before = self._path / f".{folder.name}{_BEFORE}"
        if before.is_dir():
            _restore(before, folder)
        if folder.is_dir():
            folder.rename(before)
        try:
            made.rename(folder)
            sync_folder(self._path)
        finally:
            if before.is_dir():
                _restore(before, folder)

    @contextmanager
    def _found(self, name: str) -> Iterator[Path]:
        check_name(name)
        folder = self._path / name
        with self._kept(folder):
            if not _arrows(folder).is_file():
                raise PeerError(Fault("HX7094", f"no drawing named {name} is kept"))
            yield folder

    @contextmanager
    def _kept(self, folder: Path) -> Iterator[None]:
        try:
            with self._lock:
                yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise PeerError(Fault("HX7095", f"the disk refuses: {reason}", file=str(folder))) from None


def _restore(before: Path, folder: Path) -> None:
    """Let the folder that was there before take its place again, unless another has."""
    if folder.is_dir():
        shutil.rmtree(before)
    else:
        before.rename(folder)


def _arrows(folder: Path) -> Path:
    return folder / f"{folder.name}{_SUFFIX}"


def _files(folder: Path) -> dict[str, str]:
    """The schemas of a drawing, by file."""
    return {
        file: as_utf8(read_dtd_text(folder / file, maximum_size=MOST_BYTES))
        for file in _file_names(folder)
        if file != _arrows(folder).name
    }


def _file_names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if is_file_name(file.name) and file.is_file())
