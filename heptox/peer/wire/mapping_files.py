"""A mapping with the schemas that it names, as files that travel together and are kept together."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from heptox.codec import MOST_FILES, Contents, Identifier
from heptox.errors import Fault, PeerError
from heptox.mapping import Mapping, load_mapping, load_packed_mapping
from heptox.schema import packed_schema
from heptox.xml import file_name, read_bytes, read_text, unreadable

# In .arrows and .rules alike, a schema is declared by a line that begins so (semantics.md section 2).
_SCHEMA_LINE: Final = re.compile(
    r'^(?P<before>[^\S\n]*(?P<side>source|target)\s*")(?P<file>[^"\n]+)(?=")', re.MULTILINE
)
_FILE_NAME: Final = re.compile(r"\w[\w.-]{0,63}")
FILE_NAME_BYTES: Final = 255
"""Bytes in the name of a file, by most file systems: letters may be of several."""
MOST_DECLARATIONS: Final = 10_000
"""Declarations in a schema that comes from others, and lines in its mapping, at most."""
LONGEST_NAME: Final = 200
"""Bytes of a name in such files at most."""
_WORDS: Final = re.compile(rb"[\w.:\x80-\xff]+")


def is_file_name(file: str) -> bool:
    """Whether a file of a mapping can be called so."""
    return bool(_FILE_NAME.fullmatch(file)) and len(file.encode()) <= FILE_NAME_BYTES


@dataclass(frozen=True, slots=True)
class MappingFiles:
    """The contents of the files by name; ``mapping`` names the one to load.

    Raises :class:`PeerError` (HX7061) for files whose names are none.
    """

    files: Contents
    mapping: Identifier

    def __post_init__(self) -> None:
        named = all(map(is_file_name, self.files))
        if self.mapping not in self.files or not named or len(self.files) > MOST_FILES:
            raise PeerError(Fault("HX7061", "the mapping's files have names that cannot be"))

    def check_bounds(self) -> None:
        """Raise :class:`PeerError` (HX7103) where there is more of the mapping or its schemas than others may send, as
        far as that is seen without reading them."""
        for file, content in self.files.items():
            if max(content.count(b"<!"), content.count(b"\n") * (file == self.mapping)) > MOST_DECLARATIONS:
                raise PeerError(Fault("HX7103", f"more than {MOST_DECLARATIONS} declarations", file=file))
            if any(len(word[0]) > LONGEST_NAME for word in _WORDS.finditer(content)):
                raise PeerError(Fault("HX7103", f"a name of more than {LONGEST_NAME} bytes", file=file))

    @classmethod
    def pack(cls, mapping: Path) -> MappingFiles:
        """Check a mapping file, and pack it with the schemas that it names.

        Raises what :func:`heptox.mapping.load_mapping` raises, with positions in the file.
        """
        loaded = load_mapping(mapping)
        files: dict[str, bytes] = {}

        def packed(found: re.Match[str]) -> str:
            graph = (loaded.source if found["side"] == "source" else loaded.target).graph
            content = packed_schema(mapping.parent / found["file"], graph)
            file = f"{found['side']}.{'graph' if content.startswith(b'{') else 'dtd'}"
            files[file] = content
            return found["before"] + file

        kept = f"mapping{mapping.suffix}"
        files[kept] = _SCHEMA_LINE.sub(packed, read_text(mapping)).encode()
        return cls(files, kept)

    @classmethod
    def read(cls, mapping: Path) -> MappingFiles:
        """What :meth:`write` has put around the mapping file; raises :class:`InputError` (HX1001)."""
        try:
            beside = sorted(mapping.parent.iterdir())
        except OSError as error:
            raise unreadable(file_name(mapping), error) from None
        return cls({file.name: read_bytes(file) for file in {mapping: None, **dict.fromkeys(beside)}}, mapping.name)

    def write(self, folder: Path) -> None:
        """Put the files into a folder; raises ``OSError``."""
        for file, content in self.files.items():
            (folder / file).write_bytes(content)

    def load(self) -> Mapping:
        """The mapping; raises as :func:`heptox.mapping.load_packed_mapping`. Those loaded last are remembered."""
        return _loaded(tuple(sorted(self.files.items())), self.mapping)

    @property
    def digest(self) -> str:
        """What identifies the mapping: two peers agree when they hold the same."""
        hashed = hashlib.blake2b(digest_size=16)
        for file, content in (*sorted(self.files.items()), (self.mapping, b"")):
            hashed.update(f"{file}\n{len(content)}\n".encode())
            hashed.update(content)
        return hashed.hexdigest()


@lru_cache(maxsize=32)
def _loaded(files: tuple[tuple[str, bytes], ...], mapping: str) -> Mapping:
    return load_packed_mapping(dict(files), mapping)
