"""What a peer hides from whom: its export policy, and the stores of what others see.

What is hidden is in no store that a query of others reaches. For each set of hidden paths that can come about, a second
store in the peer's folder has its documents without them (:class:`heptox.store.Hiding`)::

    exports/DIGEST.duckdb    the documents without what is hidden     exports/DIGEST.json    of which files they are
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import TYPE_CHECKING, Final, TypeAlias

from heptox.errors import Fault, HeptoxError, InputError, PeerError
from heptox.peer.folder.files import write_atomically
from heptox.peer.query.events import Hidden
from heptox.peer.wire.identity import is_peer_id
from heptox.peer.wire.messages import PeerId
from heptox.schema import SchemaGraph
from heptox.settings import ALL, Hide
from heptox.store import Hiding, hidden_path, hidden_path_fault

if TYPE_CHECKING:
    from heptox.store import Store

LOG: Final = logging.getLogger(__name__)
EXPORTS: Final = "exports"
"""The folder of the stores of what others see, in a peer's folder."""
MOST_EXPORTS: Final = 32
"""How many different sets of hidden paths may come about: each is a store."""
FORMAT: Final = 1
"""The version of how documents are pruned; stores of another one are made anew."""
_IN_MEMORY: Final = 1 << 23
"""Bytes of a pruned document that are kept in memory."""

Paths: TypeAlias = frozenset[str]


# -- the policy --------------------------------------------------------------------------------------------------


def check_policy(policy: Iterable[Hide], graph: SchemaGraph, acquaintances: Iterable[str], file: Path) -> None:
    """Raise :class:`PeerError` (HX7080) with everything in an export policy that cannot be carried out.

    That is a path which the schema does not have, one of whom it hides something who is neither a peer id nor the name
    of one of the ``acquaintances``, a path that is for counts only in one part and not in another, and more than
    :data:`MOST_EXPORTS` different sets of hidden paths.
    """
    policy, known = tuple(policy), sorted(acquaintances)
    faults = [
        Fault("HX7080", f"hide: {fault[0]}", hint=fault[1], file=str(file))
        for path in dict.fromkeys(path for hide in policy for path in hide.paths)
        if (fault := hidden_path_fault(path, graph))
    ]
    for peer in dict.fromkeys(peer for hide in policy if hide.peers != ALL for peer in hide.peers):
        if peer not in known and not is_peer_id(peer):
            hint = f"acquaintances are {', '.join(known)}" if known else "there are none: give the peer id"
            message = f"hide: {peer!r} is neither a peer id nor the name of an acquaintance"
            faults.append(Fault("HX7080", message, hint=hint, file=str(file)))
    groups: dict[str, set[int]] = {}
    for hide in policy:
        for path in map(hidden_path, hide.paths):
            groups.setdefault(path, set()).add(hide.least)
    for path in (path for path, least in groups.items() if len(least) > 1):
        message = f"hide: {path} is for counts in groups of another size, or not at all, elsewhere"
        faults.append(Fault("HX7080", message, hint="say the same of it wherever it stands", file=str(file)))
    if not faults and sets_in_force(policy) is None:
        message = f"hide: over {MOST_EXPORTS} different sets of paths are hidden from those on a path of a query"
        hint = "each is a store of its own: hide the same from more of them"
        faults.append(Fault("HX7080", message, hint=hint, file=str(file)))
    if faults:
        raise PeerError(faults)


def sets_in_force(policy: Iterable[Hide]) -> frozenset[Paths] | None:
    """The sets of hidden paths that a query can come to, by the peers on its path; ``None`` when they are too many.

    >>> boston, luke = Hide(("a/b",), ("boston",)), Hide(("a/c",), ("luke", "boston"))
    >>> sorted(map(sorted, sets_in_force((boston, luke)) or ()))
    [['a/b', 'a/c'], ['a/c']]
    """
    policy = tuple(policy)
    hidden, counted = _hidden_by_name(policy), frozenset(counted_paths(policy))
    sets = {hidden.everyone}
    for paths in hidden.peers.values():
        sets |= {one | paths for one in sets}
        if len(sets) > MOST_EXPORTS + 1:
            return None
    sets |= {one - counted for one in sets}
    if len(sets) > MOST_EXPORTS + 1:
        return None
    # where all that is hidden is counted, others still see nothing that has no place in the schema
    return frozenset(sets if counted else sets - {frozenset()})


def counted_paths(policy: Iterable[Hide]) -> dict[str, int]:
    """The hidden paths that are counted all the same, and of how many a group is at least."""
    return {path: hide.least for hide in policy if hide.least for path in map(hidden_path, hide.paths)}


def hidden_from(policy: Iterable[Hide], names: Mapping[PeerId, Iterable[str]]) -> Hidden:
    """What is hidden from whom, by peer ids; ``names`` are those that each acquaintance goes by."""
    named = _hidden_by_name(policy)
    peers = dict(named.peers)
    for peer, known in names.items():
        peers[peer] = frozenset[str]().union(*(named.peers.get(name, ()) for name in (peer, *known)))
    return Hidden(named.everyone, peers)


def _hidden_by_name(policy: Iterable[Hide]) -> Hidden:
    everyone: Paths = frozenset()
    peers: dict[str, Paths] = {}
    for hide in policy:
        paths = frozenset(map(hidden_path, hide.paths))
        if hide.peers == ALL:
            everyone |= paths
        else:
            for peer in hide.peers:
                peers[peer] = peers.get(peer, frozenset()) | paths
    return Hidden(everyone, peers)


# -- the stores --------------------------------------------------------------------------------------------------


def digest_of(data: bytes) -> str:
    """What a document's bytes are known by."""
    return hashlib.sha256(data).hexdigest()


def file_digest(file: Path) -> str:
    """What a file's bytes are known by."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def export_file(folder: Path, paths: Paths) -> Path:
    """The store of the peer in a folder without some paths."""
    text = json.dumps([FORMAT, sorted(paths)])
    return folder / EXPORTS / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.duckdb"


def remove_stale(folder: Path, sets: Iterable[Paths]) -> None:
    """Remove the stores of sets of paths that are not hidden any more, and what a crash left."""
    kept = {file.name for paths in sets for file in _files(export_file(folder, paths))}
    directory = folder / EXPORTS
    if not kept:
        shutil.rmtree(directory, ignore_errors=True)
        return
    directory.mkdir(exist_ok=True, mode=0o700)
    for file in directory.iterdir():
        if file.name not in kept:
            if file.is_dir():
                shutil.rmtree(file, ignore_errors=True)
            else:
                file.unlink()


def _files(store: Path) -> tuple[Path, Path, Path]:
    return store, store.with_name(f"{store.name}.wal"), store.with_suffix(".json")


@dataclass(frozen=True, slots=True)
class _Held:
    """Of what bytes a document was made, and which came of them; these are empty when nothing was left."""

    source: str
    pruned: str


@dataclass(slots=True)
class Export:
    """The store of a peer's documents without some paths; ``behind`` when it may not be up to date.

    It is written by one thread at a time.
    """

    hiding: Hiding
    store: Store
    behind: bool = False
    _held: dict[str, _Held] = field(default_factory=dict)

    def __post_init__(self) -> None:
        pruned = {document.name: document.digest for document in self.store.documents()}
        for name, held in _read_held(self._notes).items():
            # what is not in the store as it was noted is loaded again
            if pruned.get(name, "") == held.pruned:
                self._held[name] = held

    @property
    def _notes(self) -> Path:
        assert self.store.path is not None  # it is made of a file
        return self.store.path.with_suffix(".json")

    def is_of(self, name: str, digest: str) -> bool:
        """Whether a document is held as it comes of some bytes."""
        return name in self._held and self._held[name].source == digest

    def load(self, name: str, data: bytes, digest: str) -> None:
        """Hold a document without what is hidden; where that is as before, nothing is changed, its place included.

        Raises as :meth:`heptox.store.Store.load`.
        """
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as pruned:
            left = self.hiding.prune(BytesIO(data), pruned, name)
            pruned.seek(0)
            if left:
                made = self.store.load(name, pruned, replace=True).document.digest
            else:
                self._drop(name)
                made = ""
        self._held[name] = _Held(digest, made)

    def remove(self, name: str) -> None:
        """Hold a document no longer."""
        self._drop(name)
        self._held.pop(name, None)

    def _drop(self, name: str) -> None:
        if any(document.name == name for document in self.store.documents()):
            self.store.remove(name)

    def names(self) -> frozenset[str]:
        """The documents that are held, or are known to have nothing left."""
        return frozenset(self._held) | {document.name for document in self.store.documents()}

    def note(self) -> None:
        """Write down of which files the documents are, so that they need not be read again; a loss of it is none."""
        table = {name: [held.source, held.pruned] for name, held in self._held.items()}
        with suppress(OSError):
            write_atomically(self._notes, json.dumps(table).encode())


def _read_held(file: Path) -> dict[str, _Held]:
    try:
        return {name: _Held(source, pruned) for name, (source, pruned) in json.loads(file.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


class Exports:
    """The stores of what others see, by the set of what is hidden from them. A context manager that closes them."""

    def __init__(self, exports: Mapping[Paths, Export]) -> None:
        self._exports = dict(exports)

    def __enter__(self) -> Exports:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for export in self._exports.values():
            export.store.close()

    @property
    def behind(self) -> bool:
        """Whether one of them answers no more until the peer is started anew."""
        return any(export.behind for export in self._exports.values())

    def of(self, paths: Paths) -> Export:
        """What is seen without some paths; raises :class:`PeerError` (HX7081) where that is not known for sure."""
        export = self._exports.get(paths)
        if export is None or export.behind:
            raise PeerError(
                Fault("HX7081", "what may be seen is not up to date", hint="its administrator starts it anew")
            )
        return export

    def update(self, files: Iterable[Path]) -> None:
        """Bring the stores up to date with a peer's documents: those of the same bytes are not read again.

        Raises :class:`InputError` with the faults of all that cannot be read.
        """
        files = tuple(files)
        faults: list[Fault] = []
        if not self._exports:
            return
        digests: dict[Path, str] = {}
        for file in files:
            try:
                digests[file] = file_digest(file)
            except OSError as error:
                faults.append(Fault("HX1001", f"cannot be read: {error.strerror or error}", file=str(file)))
        for export in self._exports.values():
            changed = False
            for name in sorted(export.names() - {file.name for file in files}):
                export.remove(name)
                changed = True
            for file, digest in digests.items():
                if not export.is_of(file.name, digest):
                    changed = True
                    try:
                        export.load(file.name, file.read_bytes(), digest)
                    except OSError as error:
                        faults.append(Fault("HX1001", f"cannot be read: {error.strerror or error}", file=str(file)))
                    except HeptoxError as error:
                        faults.extend(error.faults)
            if changed:
                export.note()
        if faults:
            raise InputError(dict.fromkeys(faults))

    def load(self, name: str, data: bytes) -> None:
        """Load a document into all of them, or replace it; raises as :meth:`Export.load`, then :meth:`follow`."""
        if not self._exports:
            return
        digest = digest_of(data)
        for export in self._exports.values():
            if not export.is_of(name, digest):
                export.load(name, data, digest)
                export.note()

    def follow(self, file: Path) -> None:
        """After a failure, hold a document again as its file is; a store in which that fails is used no more."""
        for export in self._exports.values():
            try:
                if not file.exists():
                    export.remove(file.name)
                elif not export.is_of(file.name, file_digest(file)):
                    data = file.read_bytes()
                    export.load(file.name, data, digest_of(data))
            except (HeptoxError, OSError):
                LOG.exception("what others see of %s cannot be brought up to date", file.name)
                export.behind = True
            export.note()
