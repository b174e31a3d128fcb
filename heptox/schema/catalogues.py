"""OASIS XML Catalogs 1.1: which files hold what public and system identifiers name. Nothing is fetched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urljoin, urlsplit

from heptox.errors import Fault, HeptoxError, SchemaError
from heptox.xml import XmlElement, file_name, parse_document, read_bytes, split_name

NAMESPACE: Final = "urn:oasis:names:tc:entity:xmlns:xml:catalog"
CATALOGUE: Final = "catalog.xml"
"""What a catalogue is called that is used without being named."""
MOST_CATALOGUES: Final = 100
"""Catalogues that are read for one schema at most."""
MOST_BYTES: Final = 8 << 20
"""Bytes of a catalogue at most."""
MOST_BESIDE: Final = 1000
"""Files and folders beside a schema among which catalogues are looked for at most."""
_LONGEST_SHOWN: Final = 200
_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"
_PUBLIC_URN: Final = "urn:publicid:"
_NAMED: Final = {"public": "publicId", "system": "systemId", "uri": "name"}
_STARTING: Final = {
    "rewriteSystem": "systemIdStartString",
    "rewriteURI": "uriStartString",
    "delegateSystem": "systemIdStartString",
    "delegatePublic": "publicIdStartString",
    "delegateURI": "uriStartString",
}
_ENDING: Final = {"systemSuffix": "systemIdSuffix", "uriSuffix": "uriSuffix"}
_TARGETS: Final = {"rewriteSystem": "rewritePrefix", "rewriteURI": "rewritePrefix", "nextCatalog": "catalog"}
_KEYS: Final = {**_NAMED, **_STARTING, **_ENDING}


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry: its kind, the identifier or the part of one that it speaks of, and the URI that it leads to."""

    kind: str
    key: str
    target: str
    prefers_public: bool


@dataclass(frozen=True, slots=True)
class ExternalIdentifier:
    """What a declaration says of an external entity; ``base`` is the file in which it stands.

    >>> print(ExternalIdentifier("iso-lat1.ent", "-//EX//ENTITIES Latin 1//EN"))
    "-//EX//ENTITIES Latin 1//EN", iso-lat1.ent
    """

    system: str
    public: str | None = None
    base: Path | None = None

    def __str__(self) -> str:
        system = self.system[:_LONGEST_SHOWN]
        return f'"{self.public[:_LONGEST_SHOWN]}", {system}' if self.public is not None else system


@dataclass(slots=True)
class Catalogues:
    """Catalogues that are asked one after the other; each is read when it is first needed.

    ``files`` are those that the user names, ``beside`` those that are used where they stand: they may be missing.
    """

    files: tuple[Path, ...] = ()
    beside: tuple[Path, ...] = ()
    looked_at: list[str] = field(default_factory=list)
    _known: dict[Path, tuple[_Entry, ...]] = field(default_factory=dict)

    def find(self, identifier: ExternalIdentifier) -> Path | None:
        """The file that the catalogues name for an identifier, ``None`` where they name none.

        Raises :class:`InputError` for a catalogue of the user that cannot be read, :class:`SchemaError` (HX2015) for
        one that is none, and (HX2014) for too many.
        """
        public, system = identifier.public, identifier.system
        if system.startswith(_PUBLIC_URN):
            public, system = _unwrapped(system), ""
        wanted = _Wanted(" ".join((public or "").split()), _written_and_absolute(system, identifier.base))
        found = self._found((*self.files, *self.beside), wanted, set())
        return None if found is None else path_of(found)

    @property
    def known(self) -> tuple[Path, ...]:
        """The catalogues that were read."""
        return tuple(path for path in self._known if path.is_file())

    def _found(self, catalogues: Iterable[Path], wanted: _Wanted, asked: set[tuple[Path, _Wanted]]) -> str | None:
        for path in catalogues:
            if (path, wanted) in asked:
                continue
            asked.add((path, wanted))
            entries = self._entries(path)
            if (found := wanted.direct(entries)) is not None:
                return found
            if delegates := wanted.delegates(entries):
                # who delegates an identifier leaves all about it to others
                return self._found(_paths(delegates), wanted, asked)
            following = _paths(entry.target for entry in entries if entry.kind == "nextCatalog")
            if (found := self._found(following, wanted, asked)) is not None:
                return found
        return None

    def _entries(self, path: Path) -> tuple[_Entry, ...]:
        if path not in self._known:
            if len(self._known) == MOST_CATALOGUES:
                raise SchemaError(Fault("HX2014", f"more than {MOST_CATALOGUES} catalogues", file=file_name(path)))
            self._known[path] = ()
            if path in self.files or path.is_file():
                self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: Path) -> tuple[_Entry, ...]:
        """The entries of a catalogue; what is none, and not named by the user, may be something else of that name."""
        name = file_name(path)
        try:
            found = tuple(_read(path))
        except HeptoxError as error:
            if path in self.files:
                raise
            self.looked_at.append(f"{name}: {error.reason}")
            return ()
        self.looked_at.append(f"the catalogue {name}")
        return found


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is looked up: a public identifier, ``""`` for none, and the spellings of a system identifier."""

    public: str
    systems: tuple[str, ...]

    def direct(self, entries: tuple[_Entry, ...]) -> str | None:
        """The URI to which the entries lead, the most special first (OASIS XML Catalogs 1.1, section 7.1.2)."""
        for kind, rewriting, ending in (
            ("system", "rewriteSystem", "systemSuffix"),
            ("uri", "rewriteURI", "uriSuffix"),
        ):
            for system in self.systems:
                if (found := next((e.target for e in entries if e.kind == kind and e.key == system), None)) is not None:
                    return found
                started = [e for e in entries if e.kind == rewriting and system.startswith(e.key)]
                if started:
                    longest = max(started, key=lambda entry: len(entry.key))
                    return longest.target + system[len(longest.key) :]
                ended = [e for e in entries if e.kind == ending and system.endswith(e.key)]
                if ended:
                    return max(ended, key=lambda entry: len(entry.key)).target
        public = (e for e in entries if e.kind == "public" and e.key == self.public and self._asks_public(e))
        return next((e.target for e in public), None) if self.public else None

    def delegates(self, entries: tuple[_Entry, ...]) -> list[str]:
        """The catalogues to which the entries delegate, the most special first."""
        found = [
            entry
            for entry in entries
            if (entry.kind in ("delegateSystem", "delegateURI") and any(s.startswith(entry.key) for s in self.systems))
            or (
                entry.kind == "delegatePublic"
                and bool(self.public)
                and self.public.startswith(entry.key)
                and self._asks_public(entry)
            )
        ]
        return list(dict.fromkeys(entry.target for entry in sorted(found, key=lambda entry: -len(entry.key))))

    def _asks_public(self, entry: _Entry) -> bool:
        return entry.prefers_public or not self.systems


def _read(path: Path) -> Iterator[_Entry]:
    name = file_name(path)
    document = parse_document(read_bytes(path, maximum_size=MOST_BYTES, only_regular=True), name)
    if split_name(str(document.root.tag)) != (NAMESPACE, "catalog"):
        hint = f"its root has to be catalog in the namespace {NAMESPACE}"
        raise SchemaError(Fault("HX2015", "this is no XML catalogue", file=name, hint=hint))
    waiting = [(document.root, path.absolute().as_uri(), True)]
    while waiting:
        element, base, prefers = waiting.pop()
        base = urljoin(base, element.get(_BASE) or "")
        prefers = element.get("prefer", "public" if prefers else "system") == "public"
        namespace, kind = split_name(str(element.tag))
        if namespace == NAMESPACE and kind in ("catalog", "group"):
            waiting += [(child, base, prefers) for child in reversed(element)]
        elif namespace == NAMESPACE:
            yield from _entry(element, kind, base, prefers)


def _entry(element: XmlElement, kind: str, base: str, prefers_public: bool) -> Iterator[_Entry]:
    key = element.get(_KEYS[kind], "") if kind in _KEYS else ""
    target = element.get(_TARGETS.get(kind, "catalog" if kind.startswith("delegate") else "uri"))
    if target is not None and (key or kind == "nextCatalog"):
        yield _Entry(kind, " ".join(key.split()), urljoin(base, target), prefers_public)


def _paths(uris: Iterable[str]) -> Iterator[Path]:
    """The files among some URIs: catalogues of the network are not asked."""
    for uri in uris:
        if (path := path_of(uri)) is not None:
            yield path


def path_of(uri: str) -> Path | None:
    """The file that a URI names, ``None`` for one of the network.

    >>> path_of("file:///usr/share/a%20b.dtd"), path_of("http://example.org/a.dtd")
    (PosixPath('/usr/share/a b.dtd'), None)
    """
    parts = _split(uri)
    if parts is None or parts[0] not in ("", "file") or parts[1] not in ("", "localhost") or "\0" in unquote(parts[2]):
        return None
    return Path(unquote(parts[2]))


def _split(uri: str) -> tuple[str, str, str] | None:
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    return parts.scheme, parts.netloc, parts.path


def _written_and_absolute(system: str, base: Path | None) -> tuple[str, ...]:
    """The spellings of a system identifier: as it is written, and from the file in which it is."""
    if not system:
        return ()
    try:
        absolute = urljoin(base.absolute().as_uri(), system) if base else system
    except ValueError:
        return (system,)
    return tuple(dict.fromkeys((system, absolute)))


def _unwrapped(urn: str) -> str:
    """The public identifier that a URN of the namespace ``publicid`` stands for (RFC 3151)."""
    text = urn.removeprefix(_PUBLIC_URN).replace("+", " ").replace(":", "//").replace(";", "::")
    return unquote(text)


def beside(folder: Path | None) -> tuple[Path, ...]:
    """The catalogues that a schema in ``folder`` uses by itself: beside it, then in the folders just below."""
    if folder is None:
        return ()
    found = [folder / CATALOGUE]
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in islice(entries, MOST_BESIDE) if entry.is_dir())
    except OSError:
        return tuple(found)
    return tuple(path for path in (*found, *(folder / name / CATALOGUE for name in names)) if path.is_file())
