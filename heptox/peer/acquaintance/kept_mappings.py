"""Mappings of others, kept in a peer's folder by their digests: ``mappings/DIGEST.mapping``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.peer.folder.files import write_atomically
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.mapping_requests import NoMapping, decode_mapping, encode_mapping

MOST_KEPT: Final = 1000
MOST_BYTES: Final = 64 * 1024 * 1024
"""Mappings that are kept at most, and bytes of them: those that were not used for longest make room."""


class KeptMappings:
    """The mappings in the folder ``path``; a writer holds the lock of the peer's folder."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, digest: str) -> MappingFiles | None:
        """The mapping of that digest, if it is kept; what cannot be read is not."""
        file = self._file(digest)
        try:
            found = decode_mapping(file.read_bytes())
            if isinstance(found, NoMapping) or found.digest != digest:
                return None
            file.touch()
        except (OSError, HeptoxError):
            return None
        return found

    def keep(self, files: MappingFiles) -> None:
        """Put a mapping on the disk; raises :class:`PeerError` (HX7085) when it does not take it."""
        file = self._file(files.digest)
        try:
            if file.exists():
                file.touch()
                return
            self._path.mkdir(exist_ok=True)
            write_atomically(file, encode_mapping(files))
            self._forget()
        except OSError as error:
            reason = f"the mapping {files.digest} cannot be kept: {error.strerror or error}"
            raise PeerError(Fault("HX7085", reason, file=str(file))) from None

    def _forget(self) -> None:
        kept = sorted(self._path.glob("*.mapping"), key=lambda file: file.stat().st_mtime)
        size = sum(file.stat().st_size for file in kept)
        for number, file in enumerate(kept[:-1]):
            if len(kept) - number <= MOST_KEPT and size <= MOST_BYTES:
                break
            size -= file.stat().st_size
            file.unlink(missing_ok=True)

    def _file(self, digest: str) -> Path:
        return self._path / f"{digest}.mapping"
