"""``heptox peer``: the folder of a peer, its daemon, its documents and its acquaintances."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from heptox.cli.answers import console, print_table
from heptox.cli.choosing import Folder, NewFolder, chosen_peer
from heptox.cli.inputs import CatalogueFiles, Json, document_name
from heptox.cli.output import (
    ExitCode,
    exit_code,
    print_error,
    print_faults,
    print_json,
    print_note,
    print_result,
)
from heptox.cli.progress import progress_bar
from heptox.errors import HeptoxError
from heptox.peer import (
    Client,
    DocumentModel,
    KnownModel,
    Level,
    Loader,
    PeerFolder,
    RequestModel,
    Side,
    Standing,
    StatusModel,
    add_acquaintance,
    create_inferred,
    document_loading,
    examine_peer,
    peer_documents,
    peer_status,
    propose,
    resolve_peer,
    stop_peer,
)
from heptox.xml import file_name, read_bytes


def init(
    folder: NewFolder,
    more: Annotated[list[str] | None, typer.Argument(metavar="[DOCUMENT...]", help="More documents.")] = None,
    *,
    schema: Annotated[
        Path | None,
        typer.Option("--schema", metavar="FILE", help="The schema of its documents, a DTD or an XSD; else inferred."),
    ] = None,
    root: Annotated[str | None, typer.Option(metavar="ELEMENT", help="The root, where the schema has several.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What it is called; else as its folder.")] = None,
    data: Annotated[list[str] | None, typer.Option("--data", metavar="FILE", help="A document; repeatable.")] = None,
    catalogues: CatalogueFiles = None,
) -> None:
    """Make the folder of a new peer.

    It gets a key, which is its identity, and a copy of the schema with all of its files. Prints its peer id. What a
    shell makes of --data records/*.xml is as well: the files after the first are DOCUMENTs.

    Without --schema, an XSD is inferred from the documents, as by `heptox schema infer`: all of them are valid for it.
    """
    documents = [*(data or []), *(more or [])]
    if schema is not None:
        made = PeerFolder.create(folder, schema, name, root, catalogues or ())
    elif not documents or "-" in documents:
        raise typer.BadParameter("give --schema FILE, or files of documents from which it is inferred")
    else:
        made = create_inferred(folder, documents, name, root)
        print_note(f"its schema is inferred from {_count(len(documents), 'document')}: {made.schema_file}")
    print_result(made.identity.peer_id)
    _load_all(folder, documents, replacing=False)
    where = shlex.quote(str(folder))
    first = "" if documents else f"`heptox peer load {where} DOCUMENT...` loads documents, "
    print_note(f"{first}`heptox peer start {where}` starts it")


def stop(folder: Folder = None) -> None:
    """Stop the daemon of a peer.

    The command ends when the daemon has ended.
    """
    stop_peer(chosen_peer(folder))


def status(
    folder: Folder = None,
    running: Annotated[
        bool, typer.Option("--running", help="Exit code 4, and nothing on stdout, unless its daemon runs.")
    ] = False,
    documents: Annotated[bool, typer.Option("--documents", help="List the documents that it holds.")] = False,
    json: Json = False,
) -> None:
    """Show who a peer is, what it holds, and whom it knows."""
    path = chosen_peer(folder)
    if running:
        Client.connect(path).close()
    if documents:
        _list_documents(peer_documents(path), json)
        return
    found = peer_status(path)
    if json:
        print_json(found)
        return
    print_result(f"{found.name}, {found.peer_id}")
    print_result(f"schema {found.root}, {_count(found.documents, 'document')}, policy {found.policy}")
    for hidden in found.hidden:
        whom = hidden.whom if isinstance(hidden.whom, str) else ", ".join(hidden.whom)
        counted = f", but for counts of {hidden.least} and more" if hidden.least else ""
        print_result(f"hidden from {whom}{counted}: {', '.join(hidden.paths)}")
    for address in found.addresses:
        print_result(f"listens at {address}")
    if not found.running:
        print_result("its daemon does not run")
    for query in found.queries:
        print_result(f"in flight: {' '.join(query.text.split())} ({_count(query.items, 'item')})")
    _list_acquaintances(found, json=False)


def load(
    folder: NewFolder,
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="[DOCUMENT...]", help="XML files; - is stdin.")
    ] = None,
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents that are held by that name.")] = False,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call the one document given.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="NAME", help="Remove a document; repeatable.")
    ] = None,
) -> None:
    """Load documents into a peer, or remove some, whether its daemon runs or not.

    A document goes by the name of its file. One that is no XML, has another root element than the peer's schema, or is
    not valid for it, is refused, and the others go on; with validation = "lax" in peer.toml, one that is not valid is
    kept, and reported. Queries go on meanwhile. On a terminal, a long load shows its progress. What is to be removed is
    removed when the others are loaded.
    """
    if not documents and not remove:
        raise typer.BadParameter("give a DOCUMENT to load, or --remove NAME")
    if name is not None and len(documents or ()) > 1:
        raise typer.BadParameter("--name is for one document")
    _load_all(folder, documents or (), replace, name, remove or ())


def acquaint(
    arguments: Annotated[
        list[str],
        typer.Argument(metavar="[FOLDER] MULTIADDRESS", help="The peer's folder, unless it is plain; the other's."),
    ],
    arrows: Annotated[Path, typer.Option("--arrows", metavar="FILE", help="The mapping: FILE.arrows or FILE.rules.")],
    side: Annotated[
        Side | None, typer.Option("--as", help="Our side of the mapping, where both have the peer's schema.")
    ] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call the other; else as its root.")] = None,
) -> None:
    """Make another peer an acquaintance.

    The other side gets the mapping, and accepts it, or its administrator decides. When it is agreed, queries travel
    both ways, translated by the mapping.
    """
    if len(arguments) > 2:
        raise typer.BadParameter("give [FOLDER] MULTIADDRESS")
    path = chosen_peer(Path(arguments[0]) if len(arguments) == 2 else None)
    made = add_acquaintance(path, propose(arguments[-1], arrows, side, name))
    _print_standing(made)
    if made.standing == Standing.PROPOSED:
        ours = shlex.quote(peer_status(path).name)
        print_note(f"it accepts by `heptox peer acquaintances FOLDER --accept {ours}`, with FOLDER its own")


def acquaintances(
    folder: Folder = None,
    accept: Annotated[str | None, typer.Option(metavar="WHO", help="Accept the acquaintance that WHO offers.")] = None,
    refuse: Annotated[str | None, typer.Option(metavar="WHO", help="Refuse the acquaintance that WHO offers.")] = None,
    withdraw: Annotated[str | None, typer.Option(metavar="WHO", help="End the acquaintance with WHO.")] = None,
    show: Annotated[str | None, typer.Option(metavar="WHO", help="Print the mapping that WHO offers.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="With --accept: what to call the other.")] = None,
    digest: Annotated[
        str | None, typer.Option(metavar="DIGEST", help="With --accept: only the offer of that digest, as it is shown.")
    ] = None,
    reason: Annotated[
        str, typer.Option(metavar="TEXT", help="With --refuse, --withdraw: the reason that is sent to the other.")
    ] = "",
    json: Json = False,
) -> None:
    """List the acquaintances of a peer, and who offers to become one; accept, refuse or end one.

    WHO is a peer id, or a name as it is listed. An offer may be replaced by its sender until it is decided: with
    --digest, only the one that was looked at is accepted; else the one that waits, and its digest is printed. What is
    accepted, refused or ended is on the disk when the command ends, and the other side is informed as soon as it is
    reached.
    """
    path = chosen_peer(folder)
    if sum(who is not None for who in (accept, refuse, withdraw, show)) > 1:
        raise typer.BadParameter("give one of --accept, --refuse, --withdraw, --show")
    if name is not None and accept is None:
        raise typer.BadParameter("--name goes with --accept")
    if digest is not None and accept is None:
        raise typer.BadParameter("--digest goes with --accept")
    if reason and refuse is None and withdraw is None:
        raise typer.BadParameter("--reason goes with --refuse or --withdraw")
    if accept is not None:
        with Client.connect(path) as client:
            made = client.accept(accept, name, digest)
        print_note(f"the offer accepted has the digest {made.digest}")
        _print_standing(made)
    elif refuse is not None:
        with Client.connect(path) as client:
            print_result(f"{client.refuse(refuse, reason)}: refused")
    elif withdraw is not None:
        with Client.connect(path) as client:
            print_result(f"{client.withdraw(withdraw, reason).name}: ended")
    elif show is not None:
        _print_offer(peer_status(path).requests, show)
    else:
        _list_acquaintances(peer_status(path), json)


def doctor(folder: Folder = None, json: Json = False) -> None:
    """Find what is wrong with a peer, and say what to do.

    Looks at its settings, key, schema, documents, address, disk and mappings; when its daemon runs, also at whether
    each acquaintance is reached, agrees and has the same time. Exit code 1 when there is a fault.
    """
    found = examine_peer(chosen_peer(folder))
    if json:
        print_json(found)
    else:
        print_table(
            console(sys.stdout),
            ("", "subject", "finding"),
            ((one.level, one.subject, one.message) for one in found),
        )
        for one in found:
            if one.advice:
                print_result(f"{one.subject}: {one.advice}")
    if any(one.level is Level.FAULT for one in found):
        raise typer.Exit(ExitCode.WRONG_INPUT)


# -- what the commands share -----------------------------------------------------------------------------------------


def _load_all(
    folder: Path, documents: Iterable[str], replacing: bool, name: str | None = None, removed: Iterable[str] = ()
) -> None:
    documents, removed = list(documents), list(removed)
    if not documents and not removed:
        return
    with document_loading(folder) as loader:
        refused = sum(_is_refused(partial(_load_one, loader, document, replacing, name)) for document in documents)
        kept = sum(_is_refused(partial(_remove_one, loader, document)) for document in removed)
    if refused:
        print_note(f"{_count(refused, 'document')} of {len(documents)} refused")
    if kept:
        print_note(f"{_count(kept, 'document')} of {len(removed)} not removed")
    if refused or kept:
        raise typer.Exit(ExitCode.WRONG_INPUT)


def _is_refused(step: Callable[[], None]) -> bool:
    """Whether something cannot be done to one document; the others go on then."""
    try:
        step()
    except HeptoxError as error:
        if exit_code(error) is ExitCode.UNREACHABLE:
            raise
        print_faults(error)
        return True
    return False


def _remove_one(loader: Loader, document: str) -> None:
    print_result(f"{loader.remove(document)}: removed")


def _load_one(loader: Loader, document: str, replacing: bool, name: str | None) -> None:
    named = document_name(document, name)
    data = read_bytes(document)
    with progress_bar(named, len(data)) as progress:
        loaded = loader.load(named, data, replacing=replacing, file=file_name(document), progress=progress)
    for fault in loaded.faults:
        print_error(str(fault))
    print_result(f"{loaded.name}: {loaded.outcome}")


def _list_documents(found: list[DocumentModel], json: bool) -> None:
    if json:
        print_json(found)
        return
    fits = {True: "yes", False: "no", None: "?"}
    rows = ((one.name, f"{one.bytes:,}", fits[one.fits], one.loaded) for one in found)
    print_table(console(sys.stdout), ("document", "bytes", "fits", "loaded"), rows)


def _list_acquaintances(found: StatusModel, json: bool) -> None:
    listed: list[KnownModel | RequestModel] = [*found.acquaintances, *found.requests]
    if json:
        print_json(listed)
        return
    rows = ((one.name, one.standing, one.side, "yes" if one.connected else "no", one.address) for one in listed)
    print_table(console(sys.stdout), ("acquaintance", "standing", "our side", "connected", "address"), rows)
    for one in listed:
        if said := one.fault or one.reason:
            print_result(f"{one.name}: {said}")
    for one in found.requests:
        who = shlex.quote(one.name)
        accept = f"--accept {who} --digest {one.digest}"
        print_note(f"{one.name} waits: look with --show {who}, decide with {accept} or --refuse {who}")


def _print_standing(made: KnownModel) -> None:
    """Print how an acquaintance stands after it was made; one that the other side refuses is wrong input."""
    print_result(f"{made.name}: {made.standing}, we are the {made.side} of the mapping")
    if made.reason or made.fault:
        print_note(f"{made.name}: {made.fault or made.reason}")
    elif made.standing == Standing.PROPOSED:
        print_note(f"{made.name} is informed as soon as it is reached")
    if made.standing == Standing.REFUSED:
        raise typer.Exit(ExitCode.WRONG_INPUT)


def _print_offer(requests: Iterable[RequestModel], who: str) -> None:
    offers = {request.peer_id: request for request in requests}
    peer = resolve_peer(who, {peer: request.name for peer, request in offers.items()}, "offers an acquaintance")
    print_result(f"# {peer} at {offers[peer].address}, digest {offers[peer].digest}")
    for file, text in offers[peer].files.items():
        print_result(f"# {file}\n{text}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
