"""Schemas in whatever they are written: DTDs, XSDs, and the texts of schema graphs; what was read of XSDs is kept."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, Final, TypeVar, TypeVarTuple

from heptox import __version__
from heptox.bounded import TooCostlyError, WorkLimits, run_bounded
from heptox.errors import Fault, InputError, SchemaError
from heptox.schema.catalogues import Catalogues, beside
from heptox.schema.dtd import Paths, parse_dtd, read_dtd, read_dtd_roots
from heptox.schema.graph_text import VERSION, is_graph_text, parse_graph, write_graph
from heptox.schema.model import SchemaGraph
from heptox.schema.roots import chosen_root, global_candidates, rooted
from heptox.xml import STANDARD_INPUT, decode_dtd, file_name, read_bytes

if TYPE_CHECKING:
    from heptox.schema.xsd_files import SchemaFiles

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_MOST_BYTES: Final = 64 << 20
_MOST_KEPT: Final = 200
"""Schemas that are kept; the oldest ones go."""

_XSD: Final = re.compile(
    r"(?>\ufeff|\s|<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>)*+<(?:[\w.\-]+:)?schema[\s/>]", re.DOTALL
)
_NAMESPACE: Final = "http://www.w3.org/2001/XMLSchema"


def read_schema(path: str | os.PathLike[str], root: str | None = None, catalogues: Paths = ()) -> SchemaGraph:
    """The schema graph of a file: an XSD, the text of a graph, or else a DTD, by what it holds (``"-"``: standard
    input). The root may be an expanded name, a name with a prefix of the schema, or a local name that is unique. The
    ``catalogues`` are those that :func:`read_dtd` says.

    The graph of an XSD has what can stand below its root. What was read of it is kept in the user's cache folder, as
    long as its files are the same.

    Raises :class:`InputError` when the file cannot be read, and :class:`SchemaError` as :func:`read_dtd`,
    :func:`parse_graph` and, for an XSD: HX2005 root missing or not the only candidate, HX2030 malformed, HX2031 a file
    that it names is missing or may not be read, HX2032 declared twice, HX2033 too many files,
    HX2035 too costly.
    """
    data = _read(path)
    name = file_name(path)
    text = _decoded(data)
    if is_xsd(text):
        graph, namespace = _read_xsd(path, data, catalogues)
        found = rooted(graph, chosen_root(graph, root, global_candidates(graph, namespace)))
        return replace(found, text=write_graph(found, documentation=False))
    if is_graph_text(text):
        return parse_schema(text, root, name)
    if path == STANDARD_INPUT:
        return parse_dtd(decode_dtd(data, name), root, name)
    return read_dtd(path, root, catalogues)


def read_schema_roots(path: str | os.PathLike[str], catalogues: Paths = ()) -> Mapping[str, SchemaGraph]:
    """As :func:`read_schema` for a schema whose root is not said: a graph for each that documents may have; raises as
    that, but for a root that is not the only candidate."""
    data = read_xsd(path)
    if data is None:
        return read_dtd_roots(path, catalogues)
    return _Rooted(_read_xsd(path, data, catalogues)[0])


class _Rooted(Mapping[str, SchemaGraph]):
    """A graph with each of its roots; a schema may have thousands of these, and few are asked for."""

    def __init__(self, graph: SchemaGraph) -> None:
        self._graph = graph
        self._roots = dict.fromkeys(graph.roots)

    def __getitem__(self, root: str) -> SchemaGraph:
        if root not in self._roots:
            raise KeyError(root)
        return rooted(self._graph, root)

    def __iter__(self) -> Iterator[str]:
        return iter(self._roots)

    def __len__(self) -> int:
        return len(self._roots)


def parse_schema(text: str, root: str | None = None, file: str | None = None) -> SchemaGraph:
    """The schema graph of a text that needs no other file: a DTD, or what :func:`write_graph` gives.

    Raises :class:`SchemaError` as :func:`parse_dtd`, :func:`parse_graph` (HX2034) and HX2005.

    >>> graph = parse_schema("<!ELEMENT a EMPTY>")
    >>> parse_schema(write_graph(graph)) == graph
    True
    """
    if not is_graph_text(text):
        return parse_dtd(text, root, file)
    graph = parse_graph(text, file)
    return graph if root is None else replace(graph, root=chosen_root(graph, root))


def is_xsd(text: str) -> bool:
    """Whether a text is an XSD, by its first tag.

    >>> is_xsd('<!-- a --><xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"/>'), is_xsd("<!ELEMENT schema EMPTY>")
    (True, False)
    """
    return _XSD.match(text) is not None and _NAMESPACE in text


def _read(path: str | os.PathLike[str]) -> bytes:
    return read_bytes(path, maximum_size=_MOST_BYTES, only_regular=True)


def _decoded(data: bytes) -> str:
    """The text, as far as is needed to see what it is: names and addresses are ASCII."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return data.decode(encoding, "replace")


def read_xsd(path: str | os.PathLike[str]) -> bytes | None:
    """The content of a file that is an XSD; ``None`` for others, and for standard input, which is read only once."""
    data = b"" if path == STANDARD_INPUT else _read(path)
    return data if is_xsd(_decoded(data)) else None


def schema_files(path: str | os.PathLike[str], catalogues: Paths = (), data: bytes | None = None) -> SchemaFiles:
    """The files of an XSD, of which ``data`` is the content, if it has been read; raises as :func:`read_schema`."""
    from heptox.schema.xsd import known_namespaces  # what reads an XSD is loaded only where one has to be read
    from heptox.schema.xsd_files import read_schema_files

    named = tuple(Path(os.fspath(each)) for each in catalogues)
    return read_schema_files(path, known_namespaces(), Catalogues(named, _beside(path)), data)


def _beside(path: str | os.PathLike[str]) -> tuple[Path, ...]:
    return beside(None if path == STANDARD_INPUT else Path(path).absolute().resolve().parent)


def _read_xsd(path: str | os.PathLike[str], data: bytes, catalogues: Paths) -> tuple[SchemaGraph, str]:
    """The graph of an XSD, in which any of its roots is the root, and its target namespace."""
    asked = [Path(each).absolute() for each in catalogues]
    kept = None if path == STANDARD_INPUT else _Kept(Path(path).absolute().resolve(), [*asked, *_beside(path)])
    if kept is not None and (found := kept.found()) is not None:
        with suppress(SchemaError):  # damaged: read anew
            return _graph(found, path)
    made = bounded(READING, path, "to read the schema", _made, path, data, tuple(catalogues))
    if kept is not None:
        kept.keep(made)
    return _graph(made, path)


def _graph(made: _Made, path: str | os.PathLike[str]) -> tuple[SchemaGraph, str]:
    return replace(parse_graph(made.text, file_name(path)), text=made.text), made.namespace


# -- what is made of XSDs --------------------------------------------------------------------------------------------

READING: Final = WorkLimits(processor_seconds=20, clock_seconds=200.0, memory=2**31, result_bytes=2**28)
"""What it may cost to read an XSD."""


@dataclass(frozen=True, slots=True)
class _Made:
    """The text of the graph of an XSD, its target namespace, its files with their digests, and what was missing."""

    text: str
    namespace: str
    files: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()


def _made(path: str | os.PathLike[str], data: bytes, catalogues: Paths) -> _Made:
    from heptox.schema.xsd import graph_of  # as above

    files = schema_files(path, catalogues, data)
    digests = [(str(file.path), _digest(file.data)) for file in files.files.values()]
    digests += [(str(path), _digest(_read(path))) for path in files.catalogues]
    return _Made(write_graph(graph_of(files)), files.main.namespace, tuple(digests), tuple(map(str, files.missing)))


def bounded(
    limits: WorkLimits,
    path: str | os.PathLike[str],
    what: str,
    function: Callable[[*Ts], T],
    *arguments: *Ts,
) -> T:
    """What a function returns, or raises, that works on the file at ``path``, in another process that has limits:
    schemas of a few lines can take libraries any time and memory. Raises :class:`SchemaError` (HX2035), too.
    """
    try:
        return run_bounded(limits, function, *arguments)
    except TooCostlyError:
        message = f"{what} takes more than {limits}, or it is nested too deeply"
        hint = "what grows so fast are patterns and assertions that try again and again, and long or nested references"
    except OSError as error:
        message = f"{what}, no process can be started: {error.strerror}"
        hint = "end other programs"
    raise SchemaError(Fault("HX2035", message, file=file_name(path), hint=hint))


# -- what is kept ----------------------------------------------------------------------------------------------------


class _Kept:
    """What is kept of one XSD: whose it is, its namespace, its files with their digests, and the text of its graph.

    A folder that cannot be written keeps nothing; what cannot be read, or is another user's, was not kept.
    """

    def __init__(self, main: Path, catalogues: Sequence[Path]) -> None:
        self._folder = _folder()
        # what is made of the same files may change from one version to the next
        self._key = json.dumps([str(main), *map(str, catalogues), VERSION, __version__, _readers()])
        self._name = hashlib.sha256(self._key.encode(errors="surrogatepass")).hexdigest()[:32]

    def _list(self, folder: Path) -> Path:
        return folder / f"{self._name}.files"

    def found(self) -> _Made | None:
        """What is kept, if all files are as they were."""
        if self._folder is None:
            return None
        try:
            if self._list(self._folder).stat().st_uid != os.getuid():
                return None
            listed = json.loads(_read(self._list(self._folder)))
            same = listed["of"] == self._key and all(_digest(_read(path)) == digest for path, digest in listed["files"])
            if not same or any(Path(path).exists() for path in listed["missing"]):
                return None
            data = _read(self._folder / f"{self._name}.graph")
            return _Made(data.decode(), str(listed["namespace"])) if _digest(data) == listed["graph"] else None
        except (InputError, OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def keep(self, made: _Made) -> None:
        folder = self._folder
        if folder is None:
            return
        with suppress(OSError, ValueError):  # the next one reads the files
            data = made.text.encode()
            listed = {
                "of": self._key,
                "namespace": made.namespace,
                "files": made.files,
                "missing": made.missing,
                "graph": _digest(data),
            }
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(folder / f"{self._name}.graph", data)
            _write(self._list(folder), json.dumps(listed).encode())
            for old in sorted(folder.glob("*.files"), key=lambda one: one.stat().st_mtime)[:-_MOST_KEPT]:
                old.unlink(missing_ok=True)
                old.with_suffix(".graph").unlink(missing_ok=True)


def _readers() -> list[tuple[str, int, int]]:
    """What tells one state of the modules that read XSDs from another, while somebody works on them."""
    modules = sorted(Path(__file__).parent.glob("xsd*.py"))
    return [(one.name, one.stat().st_size, one.stat().st_mtime_ns) for one in modules]


def _folder() -> Path | None:
    """Where schemas are kept; ``None`` for a user without a home."""
    chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (chosen if chosen.is_absolute() else Path.home() / ".cache") / "heptox" / "schemas"
    except RuntimeError:
        return None


def _write(path: Path, data: bytes) -> None:
    """Write a file so that nobody reads half of it."""
    # once it has its name, there is none any more to be removed
    with suppress(FileNotFoundError), NamedTemporaryFile(dir=path.parent) as file:
        file.write(data)
        file.flush()
        Path(file.name).replace(path)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
