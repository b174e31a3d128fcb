"""A mapping with the schemas and tables of codes that it names, as files that travel together and are kept together."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from heptox.codec import MESSAGE_LIMIT, MOST_FILES, Contents, Identifier
from heptox.errors import Fault, PeerError
from heptox.mapping import Mapping, load_mapping, load_packed_mapping
from heptox.peer.wire.frames import FRAME_LIMIT
from heptox.schema import packed_schema
from heptox.xml import file_name, read_bytes, read_text, unreadable

# In .arrows and .rules alike, a schema is declared by a line that begins so (semantics.md section 2).
_SCHEMA_LINE: Final = re.compile(
    r'^(?P<before>[^\S\n]*(?P<side>source|target)\s*")(?P<file>[^"\n]+)(?=")', re.MULTILINE
)
# In them, a table of codes is named where a value is looked up in it; what stands in strings and comments names none.
_TABLE: Final = re.compile(
    r'"(?:[^"]|"")*"|Q\{[^{}\n]*\}|#[^\n]*'
    r'|(?P<before>(?<![\w.:-])(?:lookup|code-of)\s*\(\s*")(?P<file>(?:[^"\n]|"")+)"'
)
_FILE_NAME: Final = re.compile(r"\w[\w.-]{0,63}")
FILE_NAME_BYTES: Final = 255
"""Bytes in the name of a file, by most file systems: letters may be of several."""
MOST_DECLARATIONS: Final = 10_000
"""Declarations in a schema that comes from others, and lines in its mapping, at most."""
LONGEST_NAME: Final = 200
"""Bytes of a name in such files at most."""
MOST_LOOKED_UP: Final = 20_000_000
"""Bytes of tables in all functions of a mapping that comes from others at most: each has those of its table."""
MOST_BYTES: Final = MESSAGE_LIMIT - 2 * FRAME_LIMIT
"""Bytes of a mapping's files at most, which travel in one message."""
TABLE_SUFFIX: Final = ".csv"
"""What the names of tables of codes end with; the other files hold names."""
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
        largest = max((len(content) for file, content in self.files.items() if file.endswith(TABLE_SUFFIX)), default=0)
        looked_up = sum(self.files[self.mapping].count(name) for name in (b"lookup", b"code-of"))
        if largest * looked_up > MOST_LOOKED_UP:
            found = f"{looked_up} look-ups, and a table of {largest:,} bytes"
            message = f"more than {MOST_LOOKED_UP:,} bytes of tables in all functions: {found}"
            hint = "look up in fewer places, or leave out codes that documents do not have"
            raise PeerError(Fault("HX7103", message, file=self.mapping, hint=hint))
        for file, content in self.files.items():
            if max(content.count(b"<!"), content.count(b"\n") * (file == self.mapping)) > MOST_DECLARATIONS:
                raise PeerError(Fault("HX7103", f"more than {MOST_DECLARATIONS} declarations", file=file))
            if file.endswith(TABLE_SUFFIX):
                continue  # its values are no names
            if any(len(word[0]) > LONGEST_NAME for word in _WORDS.finditer(content)):
                raise PeerError(Fault("HX7103", f"a name of more than {LONGEST_NAME} bytes", file=file))

    @classmethod
    def pack(cls, mapping: Path) -> MappingFiles:
        """Check a mapping file, and pack it with the schemas and tables of codes that it names.

        Raises what :func:`heptox.mapping.load_mapping` raises, with positions in the file, and :class:`PeerError`
        (HX7103) for more than travels together.
        """
        loaded = load_mapping(mapping)
        files: dict[str, bytes] = {}

        def packed(found: re.Match[str]) -> str:
            graph = (loaded.source if found["side"] == "source" else loaded.target).graph
            content = packed_schema(mapping.parent / found["file"], graph)
            file = f"{found['side']}.{'graph' if content.startswith(b'{') else 'dtd'}"
            files[file] = content
            return found["before"] + file

        def with_table(found: re.Match[str]) -> str:
            if found["file"] is None:
                return found[0]
            name = found["file"].replace('""', '"')
            table = tables.setdefault(name, f"codes{len(tables) + 1}{TABLE_SUFFIX}")
            return f'{found["before"]}{table}"'

        tables: dict[str, str] = {}
        kept = f"mapping{mapping.suffix}"
        schemas = _SCHEMA_LINE.sub(packed, read_text(mapping))
        text = _TABLE.sub(with_table, schemas).encode()
        if len(files) + len(tables) >= MOST_FILES:
            hint = "join tables: the codes of one may stand in another"
            message = f"{len(tables)} tables of codes; {MOST_FILES} files travel together at most"
            raise PeerError(Fault("HX7103", message, hint=hint))
        folder = mapping.parent.resolve()
        for name in tables:
            if not (folder / name).resolve().is_relative_to(folder):
                hint = "only what stands beside the mapping, or in folders there, is sent to others"
                raise PeerError(Fault("HX7103", f"the table {name} stands elsewhere", file=str(mapping), hint=hint))
        files |= {table: read_text(mapping.parent / name).encode() for name, table in tables.items()}
        found = cls({**files, kept: text}, kept)
        found.check_bounds()
        called = {table: name for name, table in tables.items()}
        sizes = {called.get(file, file): len(content) for file, content in found.files.items()}
        if sum(sizes.values()) > MOST_BYTES:
            largest = max(sizes, key=sizes.__getitem__)
            message = f"{sum(sizes.values()):,} bytes of files, {sizes[largest]:,} of them in {largest}"
            hint = f"{MOST_BYTES:,} bytes travel together at most: leave out what the mapping does not need"
            raise PeerError(Fault("HX7103", message, file=str(mapping), hint=hint))
        return found

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
