"""The files of an XSD: all that its includes and imports name, as far as they may be read (``semantics.md`` section 1).

Nothing is fetched. What an OASIS XML catalogue says of a location, or of the namespace of an import, holds. A relative
location names a file below the folder of the schema, or below one of the five folders above that, but not the root of
the file system; a file outside the schema's own folder has to be called ``.xsd``. Of an address on a network, or an
absolute path, the file of that name beside the schema is read instead. Some namespaces are known without a file, such
as that of ``xml:lang``.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from lxml import etree

from heptox.errors import Fault, HeptoxError, InputError, Position, SchemaError
from heptox.schema.catalogues import CATALOGUE, Catalogues, ExternalIdentifier
from heptox.xml import STANDARD_INPUT, XmlElement, expanded_name, file_name, line_of, parse_document, read_bytes

MOST_FILES: Final = 1000
MOST_BYTES: Final = 64 << 20
"""What a schema may come to, with all files that it names."""

XSD: Final = "{http://www.w3.org/2001/XMLSchema}"
_VERSIONING: Final = b"http://www.w3.org/2007/XMLSchema-versioning"
_LEAST_VERSION: Final = f"{{{_VERSIONING.decode()}}}minVersion"
_NEWER: Final = frozenset(
    XSD + name for name in ("assert", "assertion", "alternative", "override", "openContent", "defaultOpenContent")
)
"""What only XSD 1.1 has."""

_FOLDERS_ABOVE: Final = 5
_COMPOSED: Final = frozenset(XSD + name for name in ("include", "import", "redefine", "override"))
_ELSEWHERE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:|/")
_MOST_FAULTS: Final = 20


@dataclass(frozen=True, slots=True, eq=False)
class SchemaFile:
    """A file of a schema. ``location`` is the address by which it is asked for; ``root`` names other files by theirs.

    ``folder`` is where the files may be that it names. ``name`` is what messages call it.
    """

    name: str
    path: Path
    location: str
    folder: Path
    data: bytes
    root: XmlElement

    @property
    def namespace(self) -> str:
        return str(self.root.get("targetNamespace", ""))

    @property
    def text(self) -> bytes:
        """The file as it is given to who asks for it: entities are expanded, and locations are those of the files."""
        return etree.tostring(self.root, encoding="utf-8")

    def fault(self, code: str, message: str, element: XmlElement, hint: str | None = None) -> Fault:
        """A fault of the schema, at one of its elements."""
        return Fault(code, message, Position(line_of(element), 1, self.name), hint=hint)


@dataclass(frozen=True, slots=True)
class SchemaFiles:
    """All files of a schema, by their locations, the main one first; ``missing`` were looked for, too. ``named`` says
    where a catalogue had the files that go by other identifiers than theirs; ``catalogues`` were read."""

    main: SchemaFile
    files: Mapping[str, SchemaFile]
    missing: tuple[Path, ...] = ()
    named: Mapping[str, SchemaFile] = field(default_factory=dict)
    catalogues: tuple[Path, ...] = ()

    @property
    def is_newer(self) -> bool:
        """Whether the schema has what only XSD 1.1 has."""
        roots = [file.root for file in self.files.values()]
        if self.has_versions and any(
            one.get(_LEAST_VERSION, "1.0") > "1.0" for root in roots for one in root.iter("*")
        ):
            return True
        return any(next(root.iter(*_NEWER), None) is not None for root in roots)

    @property
    def has_versions(self) -> bool:
        """Whether some parts may be for some versions of XSD only."""
        return any(_VERSIONING in file.data for file in self.files.values())

    @property
    def has_one_file_for_each_import(self) -> bool:
        """Whether no namespace is imported from several files."""
        imported: dict[str, set[str]] = {}
        for file in self.files.values():
            for child in file.root.iterchildren(XSD + "import"):
                imported.setdefault(child.get("namespace", ""), set()).update(
                    filter(None, [child.get("schemaLocation")])
                )
        return all(len(locations) < 2 for locations in imported.values())


def read_schema_files(
    path: str | os.PathLike[str], known: Mapping[str, Path], catalogues: Catalogues, data: bytes | None = None
) -> SchemaFiles:
    """The files of an XSD, of which ``data`` is the content, if it has been read; ``known`` are files of namespaces
    that need none.

    Raises :class:`InputError` as :func:`read_bytes` and :func:`parse_document`, :class:`SchemaError`: HX2030 no XSD,
    HX2031 a file that is named and cannot be read, or may not be, HX2032 a declaration that stands in two files, HX2033
    beyond :data:`MOST_FILES` or :data:`MOST_BYTES`.
    """
    gathering = _Gathering(known, catalogues)
    main = gathering.main(path, data)
    if main.namespace == XSD[1:-1]:
        message = "this is the schema of XML Schema itself, whose types are known anyhow"
        raise SchemaError(main.fault("HX2030", message, main.root, "read a schema of another namespace"))
    gathering.follow()
    faults = [*gathering.unresolved(), *gathering.faults] or list(_declared_twice(gathering.namespaces))
    if faults:
        raise SchemaError(faults[:_MOST_FAULTS])
    missing = tuple(dict.fromkeys(gathering.missing))
    return SchemaFiles(main, gathering.files, missing, gathering.named, catalogues.known)


@dataclass(slots=True)
class _Gathering:
    """The files so far, and what waits to be looked at."""

    known: Mapping[str, Path]
    catalogues: Catalogues
    named: dict[str, SchemaFile] = field(default_factory=dict)
    files: dict[str, SchemaFile] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    missing: list[Path] = field(default_factory=list)
    namespaces: dict[tuple[str, str], SchemaFile] = field(default_factory=dict)
    """By location and namespace: a file without a target namespace has that of each file that includes it."""
    _waiting: list[tuple[SchemaFile, str]] = field(default_factory=list)
    _unresolved: list[tuple[SchemaFile, XmlElement, str, Fault]] = field(default_factory=list)
    _known_imports: list[XmlElement] = field(default_factory=list)
    _digests: dict[bytes, SchemaFile] = field(default_factory=dict)
    _bytes: int = 0

    def main(self, path: str | os.PathLike[str], data: bytes | None) -> SchemaFile:
        if path == STANDARD_INPUT:
            at, folder = Path("/standard-input/schema.xsd"), Path("/standard-input")
        else:
            at = Path(path).absolute().resolve()
            folder = _outermost(at.parent)
        found = self._added(path, at, folder, data)
        self._wait(found, found.namespace)
        return found

    def follow(self) -> None:
        """Add all files that the files name."""
        while self._waiting:
            file, namespace = self._waiting.pop(0)
            for child in file.root.iterchildren(*_COMPOSED):
                is_import = child.tag == XSD + "import"
                try:
                    found = self._named(file, child, is_import)
                except _NotFoundError as error:
                    if is_import:
                        self._unresolved.append((file, child, child.get("namespace", ""), error.fault))
                    else:
                        self.faults.append(error.fault)
                    continue
                except HeptoxError as error:
                    self.faults += error.faults
                    continue
                if found is not None:
                    self.faults += _misnamed(file, found, child, namespace)
                    child.set("schemaLocation", found.location)
                    self._wait(found, found.namespace if is_import else found.namespace or namespace)

        self._follow_known()

    def _follow_known(self) -> None:
        """Give the imports of known namespaces the file that another import names, or else the known one."""
        brought = {namespace: file for (_, namespace), file in self.namespaces.items()}
        for child in self._known_imports:
            namespace = child.get("namespace", "")
            if namespace not in brought:
                path = self.known[namespace]
                brought[namespace] = self._added(path, path, path.parent.parent)
                self._wait(brought[namespace], namespace)
            child.set("schemaLocation", brought[namespace].location)
        self._known_imports.clear()
        if self._waiting:
            self.follow()

    def unresolved(self) -> Iterator[Fault]:
        """The imports without a file whose namespace no other one brings."""
        found = {namespace for _, namespace in self.namespaces}
        for _, child, namespace, fault in self._unresolved:
            child.attrib.pop("schemaLocation", "")
            if namespace not in found:
                yield fault

    def _wait(self, file: SchemaFile, namespace: str) -> None:
        if (file.location, namespace) not in self.namespaces:
            self.namespaces[file.location, namespace] = file
            self._waiting.append((file, namespace))

    def _named(self, file: SchemaFile, child: XmlElement, is_import: bool) -> SchemaFile | None:
        """The file that an include or import names, ``None`` for an import that names none."""
        location = (child.get("schemaLocation") or "").strip()
        if location in self.files:  # seen before, under another namespace
            return self.files[location]
        namespace = child.get("namespace", "") if is_import else ""
        if (found := self._catalogued(location, file)) is not None:
            return found
        tried = self._candidates(file, child, location) if location else []
        for candidate in tried:
            if _is_file(candidate):
                return self._read(candidate, file, child)
            self.missing.append(candidate)
        if (found := self._catalogued(namespace, file)) is not None:
            return found
        if namespace in self.known:
            self._known_imports.append(child)
            return None
        if not location:
            return None
        looked = " and ".join(dict.fromkeys(file_name(os.path.relpath(one, file.path.parent)) for one in tried))
        what = f"namespace {namespace}" if is_import else "file"
        message = f"the {what} is to be read from {location}, which is not here"
        hint = f"looked for {looked} beside {file.path.name}; nothing is fetched: save the file there, or name it in a"
        hint += f" catalogue, such as {CATALOGUE} beside the schema"
        raise _NotFoundError(file.fault("HX2031", message, child, hint))

    def _catalogued(self, identifier: str, by: SchemaFile) -> SchemaFile | None:
        """The file that a catalogue names for a location or a namespace."""
        path = self.catalogues.find(ExternalIdentifier(identifier, base=by.path)) if identifier else None
        if path is None:
            return None
        if not _is_file(path):
            self.missing.append(path)
            return None
        real = path.resolve()
        self.named[identifier] = found = self._added(path, real, _outermost(real.parent))
        return found

    def _candidates(self, file: SchemaFile, child: XmlElement, location: str) -> list[Path]:
        folder = file.path.parent
        plain = unquote(location.partition("#")[0]).replace("\\", "/")
        if "\0" in plain:
            raise SchemaError(file.fault("HX2031", "a location holds a character that no file has", child))
        if _ELSEWHERE.match(plain):
            last = plain.rstrip("/").rpartition("/")[2].partition("?")[0]
            main = next(iter(self.files.values())).path.parent
            return list(dict.fromkeys(one / last for one in (folder, main))) if last not in ("", "..") else []
        found = Path(os.path.normpath(folder / plain))
        if not _lies_below(found, file.folder):
            hint = f"what lies below {file.folder} is read; move the files of the schema into one folder"
            raise SchemaError(file.fault("HX2031", f"{location} leads too far out of the schema's folder", child, hint))
        return [found]

    def _read(self, path: Path, by: SchemaFile, child: XmlElement) -> SchemaFile:
        real = path.resolve()
        if not _lies_below(real, by.folder):
            hint = f"what lies below {by.folder} is read; put the file itself there"
            message = f"{file_name(path.name)} is a link that leads out of the schema's folder"
            raise SchemaError(by.fault("HX2031", message, child, hint))
        main = next(iter(self.files.values()))
        if not _lies_below(real, main.path.parent) and real.suffix.lower() != ".xsd" and by.folder == main.folder:
            message = f"{file_name(path.name)} is outside the folder of {main.path.name}, and is not called .xsd"
            raise SchemaError(by.fault("HX2031", message, child, "call schemas .xsd, or put them into one folder"))
        return self._added(path, real, by.folder)

    def _added(self, path: str | os.PathLike[str], at: Path, folder: Path, data: bytes | None = None) -> SchemaFile:
        location = at.as_uri()
        if location in self.files:
            return self.files[location]
        name = file_name(path)
        if len(self.files) >= MOST_FILES:
            raise SchemaError(Fault("HX2033", f"the schema has more than {MOST_FILES:,} files", file=name))
        data = _bytes_of(path, name, MOST_BYTES - self._bytes) if data is None else data
        digest = hashlib.sha256(data).digest()
        if digest in self._digests:  # a copy in another folder
            return self._digests[digest]
        self._bytes += len(data)
        root = parse_document(data, name, empty_parameters=True).root
        if root.tag != XSD + "schema":
            message = f"the root element is {root.tag}, so this is no XSD"
            hint = f"an XSD has the root {XSD}schema"
            raise SchemaError(Fault("HX2030", message, Position(line_of(root), 1, name), hint=hint))
        found = SchemaFile(name, at, location, folder, data, root)
        self.files[location] = self._digests[digest] = found
        return found


class _NotFoundError(Exception):
    """A file that is named is not there."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


def _bytes_of(path: str | os.PathLike[str], name: str, most: int) -> bytes:
    try:
        return read_bytes(path, maximum_size=most, only_regular=True)
    except InputError as error:
        if error.faults[0].code != "HX1006":
            raise
        message = f"the files of the schema have more than {MOST_BYTES >> 20} MiB"
        raise SchemaError(Fault("HX2033", message, file=name)) from None


def _outermost(folder: Path) -> Path:
    """The outermost folder below which a schema in ``folder`` may name files."""
    for _ in range(_FOLDERS_ABOVE):
        if folder.parent.parent == folder.parent:
            break
        folder = folder.parent
    return folder


def _lies_below(path: Path, folder: Path) -> bool:
    return path.is_relative_to(folder)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # such as for a name that is too long
        return False


def _misnamed(file: SchemaFile, found: SchemaFile, child: XmlElement, namespace: str) -> Iterator[Fault]:
    """That an include or import names a file of another namespace than it has to."""
    is_import = child.tag == XSD + "import"
    wanted = child.get("namespace", "") if is_import else namespace
    if found.namespace != wanted and (is_import or found.namespace):
        own, other = (f"the namespace {one}" if one else "no namespace" for one in (found.namespace, wanted))
        hint = "import what has another namespace" if not is_import else f"import {own} from it"
        yield file.fault("HX2030", f"{found.path.name} has {own}, not {other}", child, hint)


def _declared_twice(namespaces: Mapping[tuple[str, str], SchemaFile]) -> Iterator[Fault]:
    """The declarations of one name in two files: two schemas of one namespace that are not parts of one."""
    declared: dict[tuple[str, str, str], SchemaFile] = {}
    for (_, namespace), file in namespaces.items():
        for child in file.root.iterchildren("{*}*"):
            name = child.get("name")
            if name is None:
                continue
            kind = str(child.tag)
            kind = XSD + "type" if kind.endswith("Type") else kind
            other = declared.setdefault((kind, namespace, name), file)
            if other is not file:
                message = f"{name} is declared in {other.name} as well"
                hint = (
                    f"the namespace {namespace or 'without a name'} has two schemas here; include or import one of them"
                )
                yield file.fault("HX2032", message, child, hint)


def global_elements(files: SchemaFiles) -> Iterator[str]:
    """What the roots of documents may be called, and perhaps more: a file without a target namespace has that of each
    file that includes it."""
    namespaces = {file.namespace for file in files.files.values()}
    for file in files.files.values():
        declared = [*file.root.iterchildren(XSD + "element")]
        for overriding in file.root.iterchildren(XSD + "override"):
            declared += overriding.iterchildren(XSD + "element")
        for child in declared:
            for namespace in (file.namespace,) if file.namespace else namespaces:
                yield expanded_name(namespace, child.get("name", ""))
