"""A peer's folder: its settings, key, schema, documents and acquaintances, safe against ``kill -9`` at any moment.

::

    peer.toml                settings            identity.key        the private key, 0600
    schema.dtd               the peer's schema   documents/*.xml     its documents, as they were loaded
    store.duckdb             the documents once more, as they are asked; made anew from documents/ when it is gone
    subscriptions.sqlite     subscriptions, what was published, notifications and acknowledgements, 0600
    acquaintances/NAME.toml  one neighbour       acquaintances/NAME/ the mapping to it: .arrows or .rules with both DTDs
    requests/PEER.offer      an acquaintance that somebody offers, until the administrator has decided
    mappings/DIGEST.mapping  mappings on the way to publishers, between schemas of others
    drawings/NAME/           a mapping in work in the console: NAME.arrows with the schemas that it names
    exports/                 the documents without what is hidden, as others ask them; made from documents/ as well
    audit.log                who asked what, and what was sent (audit.py)
    token                    the secret of the control API, 0600
    control.json             where the running daemon takes requests, with the token, 0600
    reserve                  4 MiB of room, by which a document can be removed from a full disk
    lock                     held by the one process that may write
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pydantic import ConfigDict, StrictInt, model_validator
from pydantic.dataclasses import dataclass as model

from heptox.errors import Fault, HeptoxError, PeerError
from heptox.peer.folder.exports import check_policy
from heptox.peer.folder.files import (
    CONTROL,
    LOCK,
    lock,
    remove_left_over,
    removed_durably,
    removed_on_failure,
    sync_folder,
    write_atomically,
    write_synced,
    written_atomically,
)
from heptox.peer.folder.requests import Requests
from heptox.peer.models.control import Outcome
from heptox.peer.wire.address import Listening, PeerAddress
from heptox.peer.wire.identity import Identity, is_peer_id
from heptox.peer.wire.mapping_files import MappingFiles
from heptox.peer.wire.standing import Side, Standing
from heptox.schema import SchemaGraph, copy_schema, read_schema
from heptox.settings import (
    ALL,
    NAME,
    PeerSettings,
    checked,
    in_file,
    name_fault,
    peer_settings_text,
    read_peer_settings,
    read_toml,
    toml_text,
)

SETTINGS: Final = "peer.toml"
KEY: Final = "identity.key"
DOCUMENTS: Final = "documents"
STORE: Final = "store.duckdb"
SUBSCRIPTIONS: Final = "subscriptions.sqlite"
MATCHER: Final = "subscriptions.duckdb"
FEED: Final = "feed.sqlite"
ACQUAINTANCES: Final = "acquaintances"
REQUESTS: Final = "requests"
MAPPINGS: Final = "mappings"
DRAWINGS: Final = "drawings"
KEPT_ADDRESS: Final = "address"
"""The file that keeps the address which a free port made, so that acquaintances find the peer again."""
KEPT_CONTROL_PORT: Final = "control_port"
"""The file that keeps the free port of the control API, so that an open page of the console finds the peer again."""
LOCK_SECONDS: Final = 0.5
"""How long a lock is waited for: others hold it for a moment, to see whether it is held."""
_SOME: Final = 5
"""Documents that are named where one is not found."""


@dataclass(frozen=True, slots=True)
class Acquaintance:
    """A neighbour: what we call it, where it listens, and the mapping file; ``side`` is which side of it is ours.

    ``standing`` is how far it is agreed on, ``reason`` what the other side says about that; ``version`` counts the
    mappings that the two have had.
    """

    name: str
    address: PeerAddress
    side: Side
    mapping: Path
    standing: Standing = Standing.PROPOSED
    version: int = 1
    reason: str = ""

    @property
    def peer_id(self) -> str:
        return self.address.peer_id


@model(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class _Entry:
    """What a file ``acquaintances/NAME.toml`` says; raises :class:`PeerError` (HX7052)."""

    address: str
    side: Side
    mapping: str
    standing: Standing = Standing.PROPOSED
    version: StrictInt = 1
    reason: str = ""

    @model_validator(mode="wrap")
    @classmethod
    def _checked(cls, values: Any, handler: Callable[[Any], _Entry]) -> _Entry:
        return checked(_Entry, values, handler)


@dataclass(frozen=True, slots=True)
class PeerFolder:
    """The folder of a peer, opened. Reading needs no lock; a writer holds :meth:`locked`."""

    path: Path
    settings: PeerSettings
    identity: Identity

    @classmethod
    def create(
        cls,
        path: Path,
        schema: Path,
        name: str | None = None,
        root: str | None = None,
        catalogues: Sequence[str | os.PathLike[str]] = (),
    ) -> PeerFolder:
        """Make ``path`` the folder of a new peer with the schema of a file: complete, or not there at all.

        ``name`` is the folder's own name unless given; ``root`` is needed where the schema has several possible roots.

        Raises :class:`PeerError` (HX7050) where something stands at ``path``, (HX7052) for a name that cannot be, and
        what :func:`heptox.schema.read_schema` raises.
        """
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            is_peer = (path / SETTINGS).is_file()
            hint = "it is a peer: `heptox peer load` adds documents" if is_peer else "name a new folder"
            raise PeerError(Fault("HX7050", "there is something already", file=str(path), hint=hint))
        copied = copy_schema(schema, root, catalogues)
        called = path.resolve().name if name is None else name
        settings = PeerSettings(name=called, root=copied.graph.root, schema=copied.main)
        identity = Identity.generate()
        try:
            _make_folder(path, settings, identity, copied.files)
        except OSError as error:
            raise _unusable(path, error) from None
        return cls(path, settings, identity)

    @classmethod
    def open(cls, path: Path) -> PeerFolder:
        """The peer in ``path``; raises :class:`PeerError` (HX7050, HX7052, HX7053) when it is none, (HX7080) when its
        export policy cannot be carried out."""
        if not (path / SETTINGS).is_file():
            raise PeerError(
                Fault("HX7050", "is no peer's folder", file=str(path), hint="make one with `heptox peer init`")
            )
        try:
            key = (path / KEY).read_bytes()
        except OSError as error:
            raise _unusable(path / KEY, error, "HX7053") from None
        settings = read_peer_settings(path / SETTINGS)
        _check_addresses(settings, path / SETTINGS)
        folder = cls(path, settings, Identity.from_pem(key, path / KEY))
        if settings.hide:
            names = [acquaintance.name for acquaintance in folder.acquaintances()]
            check_policy(settings.hide, folder.schema(), names, path / SETTINGS)
        return folder

    def endpoint(self) -> Listening:
        """Where the peer listens by its settings, with the free port that was found before."""
        endpoint = Listening.parse(self.settings.listen)
        if endpoint.port == 0:
            with suppress(OSError, HeptoxError, UnicodeDecodeError):
                kept = Listening.parse((self.path / KEPT_ADDRESS).read_text(encoding="utf-8").strip())
                if kept == replace(endpoint, port=kept.port):
                    return kept
        return endpoint

    def kept_control_port(self) -> int:
        """The free port at which the control API listened before; 0 where none is kept."""
        with suppress(OSError, ValueError):
            kept = int((self.path / KEPT_CONTROL_PORT).read_text(encoding="ascii"))
            if 0 < kept < 2**16:
                return kept
        return 0

    def schema(self) -> SchemaGraph:
        """The peer's schema graph."""
        return read_schema(self.schema_file, self.settings.root)

    @property
    def schema_file(self) -> Path:
        """The file of the peer's schema."""
        return self.path / self.settings.schema

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only process that writes here; raises :class:`PeerError` (HX7051) soon when there is another.

        The system drops the lock with the process, however that ends. Files that are made meanwhile, by whatever
        library, are for their owner only.
        """
        try:
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise _unusable(self.path, error) from None
        try:
            if not lock(descriptor, LOCK_SECONDS):
                raise PeerError(
                    Fault(
                        "HX7051",
                        "is in use: its daemon runs, or another command writes",
                        file=str(self.path),
                        hint="look with `heptox peer status`",
                    )
                )
            before = os.umask(0o077)
            try:
                self._sweep()
                yield
            finally:
                os.umask(before)
        finally:
            os.close(descriptor)

    def _sweep(self) -> None:
        """Remove what a crash left: what is half written, and where a daemon was reached that runs no more."""
        (self.path / CONTROL).unlink(missing_ok=True)
        (self.path / ACQUAINTANCES).mkdir(exist_ok=True)  # empty folders are what some backups leave out
        for folder in (self.path, *(self.path / name for name in (DOCUMENTS, ACQUAINTANCES, REQUESTS, MAPPINGS))):
            remove_left_over(folder)
        known = {acquaintance.mapping.parent for acquaintance in self.acquaintances()}
        for folder in (self.path / ACQUAINTANCES).iterdir():
            if folder.is_dir() and folder not in known:
                shutil.rmtree(folder, ignore_errors=True)

    # -- documents ---------------------------------------------------------------------------------------------------

    def check_documents(self, held: int) -> None:
        """Raise :class:`PeerError` (HX7050) where the documents' folder is gone, though ``held`` of them are known."""
        folder = self.path / DOCUMENTS
        if not folder.is_dir():
            if held:
                hint = f"restore it from a backup; an empty {DOCUMENTS} means that there are none any more"
                raise PeerError(Fault("HX7050", f"is gone, with {held} documents", file=str(folder), hint=hint))
            folder.mkdir()

    def document_files(self) -> tuple[Path, ...]:
        """The documents at rest, by name."""
        return tuple(sorted((self.path / DOCUMENTS).glob("*.xml")))

    def document_file(self, name: str) -> Path:
        """Where a document is kept that goes by ``name``."""
        return self.path / DOCUMENTS / name

    @contextmanager
    def keep_document(self, name: str, data: bytes, *, replacing: bool = False) -> Iterator[tuple[str, Outcome]]:
        """Put a document that was checked on the disk under ``name``; when the block ends, no crash loses it.

        When the block fails, the document is not there, or the one before is there again. Gives the name that it goes
        by from now on, ending in ``.xml``, and its outcome.
        ``held`` means that the very same document was there before. Raises :class:`PeerError` (HX6011) when a different
        one of that name is held and ``replacing`` is not set, (HX7052) for a name that cannot be a file's.
        """
        file = self._file_of(name)
        with _as_peer_error(file):
            before = file.read_bytes() if file.exists() else None
            if before == data:
                yield file.name, "held"
                return
            if before is not None and not replacing:
                raise PeerError(
                    Fault(
                        "HX6011",
                        f"another document named {file.name} is held",
                        hint="load it under another name, or with --replace",
                        file=name,
                    )
                )
            outcome: Outcome = "new" if before is None else "replaced"
            del before  # it may be large, and what comes in the block too
            with written_atomically(file, data):
                yield file.name, outcome

    @contextmanager
    def drop_document(self, name: str) -> Iterator[str]:
        """Take a document off the disk, and give the name that it went by; when the block ends, no crash brings it
        back.

        When the block fails, it is there again. Raises :class:`PeerError` (HX6015) when none of that name is held,
        (HX7052) for a name that cannot be a file's.
        """
        file = self._file_of(name)
        with _as_peer_error(file):
            if not file.exists():
                held = [held.name for held in self.document_files()]
                some = ", ".join(held[:_SOME]) + (f", and {len(held) - _SOME} more" if len(held) > _SOME else "")
                raise PeerError(
                    Fault("HX6015", f"no document named {file.name} is held", hint=some or "there are none")
                )
            with removed_durably(file):
                yield file.name

    def _file_of(self, name: str) -> Path:
        stem = name.removesuffix(".xml")
        if not NAME.fullmatch(stem):
            raise PeerError(name_fault(stem))
        return self.path / DOCUMENTS / f"{stem}.xml"

    # -- acquaintances -----------------------------------------------------------------------------------------------

    def acquaintances(self) -> tuple[Acquaintance, ...]:
        """The neighbours, by name; raises :class:`PeerError` (HX7052, HX7054) with the faults of all broken files."""
        found: list[Acquaintance] = []
        faults: list[Fault] = []
        for file in sorted((self.path / ACQUAINTANCES).glob("*.toml")):
            try:
                found.append(self._acquaintance(file))
            except HeptoxError as error:
                faults.extend(error.faults)
        if faults:
            raise PeerError(faults)
        return tuple(found)

    def _acquaintance(self, file: Path) -> Acquaintance:
        with in_file(file):
            entry = _Entry(**read_toml(file))
            mapping = file.parent / entry.mapping
            if not mapping.resolve().is_relative_to(file.parent.resolve()):
                raise PeerError(Fault("HX7052", "mapping lies outside the peer's folder"))
            address = PeerAddress.parse(entry.address)
        return Acquaintance(file.stem, address, entry.side, mapping, entry.standing, entry.version, entry.reason)

    def keep_acquaintance(
        self, name: str, address: PeerAddress, side: Side, files: MappingFiles, standing: Standing = Standing.PROPOSED
    ) -> Acquaintance:
        """Put an acquaintance on the disk; one that has the same peer id is replaced.

        Raises :class:`PeerError` (HX7061) when another peer has the name.
        """
        if not NAME.fullmatch(name):
            raise PeerError(name_fault(name))
        folder = self.path / ACQUAINTANCES
        known = self.acquaintances()
        before = [one for one in known if one.peer_id == address.peer_id]
        if any(one.name == name and one not in before for one in known):
            raise PeerError(Fault("HX7061", f"another acquaintance is named {name!r}", hint="give a --name"))
        for one in before:
            if one.name != name:
                self.check_not_hidden_by_name(one)
        # The folder's name identifies its content, so that a mapping that is replaced is never half old and half new.
        kept = folder / f"{name} {files.digest[:8]}"
        changed = [one for one in before if one.mapping.parent != kept]
        version = max((one.version for one in before), default=0) + (not before or bool(changed))
        made = Acquaintance(name, address, side, kept / files.mapping, standing, version)
        with _as_peer_error(folder):
            if not kept.exists():
                written = Path(tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=folder))
                for file, content in files.files.items():
                    write_synced(written / file, content)
                sync_folder(written)
                written.rename(kept)
            self._write_acquaintance(made)
            for old in before:
                if old.name != name:
                    (folder / f"{old.name}.toml").unlink()
            for old in changed:
                shutil.rmtree(old.mapping.parent, ignore_errors=True)
            sync_folder(folder)
        return made

    def check_not_hidden_by_name(self, acquaintance: Acquaintance) -> None:
        """Raise :class:`PeerError` (HX7080) for one whose name the export policy needs."""
        if any(acquaintance.name in hide.peers for hide in self.settings.hide if hide.peers != ALL):
            message = (
                f"the export policy names {acquaintance.name!r}: without an acquaintance of that name it means nobody"
            )
            hint = f"put {acquaintance.peer_id} in its place in {SETTINGS}, and restart the daemon"
            raise PeerError(Fault("HX7080", message, hint=hint))

    def change_acquaintance(self, changed: Acquaintance) -> None:
        """Put on the disk what has changed of an acquaintance that keeps its name and mapping."""
        with _as_peer_error(self.path / ACQUAINTANCES):
            self._write_acquaintance(changed)

    def _write_acquaintance(self, acquaintance: Acquaintance) -> None:
        folder = self.path / ACQUAINTANCES
        table = {
            "address": str(acquaintance.address),
            "side": acquaintance.side.value,
            "mapping": str(acquaintance.mapping.relative_to(folder)),
            "standing": acquaintance.standing.value,
            "version": acquaintance.version,
            "reason": acquaintance.reason,
        }
        write_atomically(folder / f"{acquaintance.name}.toml", toml_text(table).encode())

    def drop_acquaintance(self, acquaintance: Acquaintance) -> None:
        """Remove an acquaintance from the disk; raises as :meth:`check_not_hidden_by_name`."""
        self.check_not_hidden_by_name(acquaintance)
        folder = self.path / ACQUAINTANCES
        with _as_peer_error(folder):
            (folder / f"{acquaintance.name}.toml").unlink(missing_ok=True)
            sync_folder(folder)
        shutil.rmtree(acquaintance.mapping.parent, ignore_errors=True)

    def requests(self) -> Requests:
        """The offers of others that wait for the administrator."""
        return Requests(self.path / REQUESTS)


def _check_addresses(settings: PeerSettings, file: Path) -> None:
    """Raise :class:`PeerError` (HX7052) with a fault for each setting that is no address or no peer id."""
    faults = [
        Fault("HX7052", f"{peer!r} in listed is no peer id", hint="such as 12D3KooW...", file=str(file))
        for peer in settings.listed
        if not is_peer_id(peer)
    ]
    for key, address in (("listen", settings.listen), ("announce", settings.announce)):
        try:
            if address or key == "listen":
                Listening.parse(address)
        except PeerError as error:
            faults += [Fault("HX7052", f"{key}: {one.message}", hint=one.hint, file=str(file)) for one in error.faults]
    if faults:
        raise PeerError(faults)


def _unusable(path: Path, error: OSError, code: str = "HX7050") -> PeerError:
    return PeerError(Fault(code, f"cannot be used: {error.strerror or error}", file=str(path)))


@contextmanager
def _as_peer_error(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unusable(path, error) from None


def _make_folder(path: Path, settings: PeerSettings, identity: Identity, schema: Mapping[str, bytes]) -> None:
    """Make the folder of a new peer, with the files of its schema: complete, or not at all; raises ``OSError``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(prefix=".", suffix=".tmp", dir=path.parent))
    with removed_on_failure(made):
        for folder in (DOCUMENTS, ACQUAINTANCES):
            (made / folder).mkdir()
        write_synced(made / SETTINGS, peer_settings_text(settings).encode())
        write_synced(made / KEY, identity.to_pem())
        for file, content in schema.items():
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            write_synced(made / file, content)
        sync_folder(made)
        made.rename(path)
        sync_folder(path.parent)
