"""``heptox peer``: the folder of a peer, its daemon, its documents and its acquaintances."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from heptox.cli.answers import console, print_table
from heptox.cli.choosing import Folder, NewFolder, chosen_peer
from heptox.cli.inputs import STANDARD_INPUT, Json
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
from heptox.errors import Fault, HeptoxError, InputError
from heptox.peer import (
    Loader,
    PeerFolder,
    Side,
    add_acquaintance,
    document_loading,
    fault_from_json,
    peer_status,
    propose,
    stop_peer,
)
from heptox.xmlio import file_name, read_bytes


def init(
    folder: NewFolder,
    schema: Annotated[Path, typer.Option("--schema", metavar="FILE.dtd", help="The schema of its documents.")],
    root: Annotated[str | None, typer.Option(metavar="ELEMENT", help="The root, where the DTD has several.")] = None,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What it is called; else as its folder.")] = None,
    data: Annotated[list[str] | None, typer.Option("--data", metavar="FILE", help="A document; repeatable.")] = None,
) -> None:
    """Make the folder of a new peer.

    It gets a key, which is its identity, and a copy of the schema. Prints its peer id.
    """
    made = PeerFolder.create(folder, schema, name, root)
    print_result(made.identity.peer_id)
    _load_all(folder, data or [], replacing=False)


def stop(folder: Folder = None) -> None:
    """Stop the daemon of a peer.

    The command ends when the daemon has ended.
    """
    stop_peer(chosen_peer(folder))


def status(folder: Folder = None, json: Json = False) -> None:
    """Show who a peer is, what it holds, and whom it knows."""
    found = peer_status(chosen_peer(folder))
    if json:
        print_json(found)
        return
    print_result(f"{found['name']}, {found['peer_id']}")
    print_result(f"schema {found['root']}, {_count(found['documents'], 'document')}, policy {found['policy']}")
    for hidden in found["hidden"]:
        whom = hidden["from"] if isinstance(hidden["from"], str) else ", ".join(hidden["from"])
        print_result(f"hidden from {whom}: {', '.join(hidden['paths'])}")
    for address in found["addresses"]:
        print_result(f"listens at {address}")
    if not found["running"]:
        print_result("its daemon does not run")
    for query in found["queries"]:
        print_result(f"in flight: {' '.join(query['text'].split())} ({_count(query['items'], 'item')})")
    _print_acquaintances(found["acquaintances"])


def load(
    folder: NewFolder,
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT...", help="XML files; - is stdin.")],
    replace: Annotated[bool, typer.Option("--replace", help="Replace documents that are held by that name.")] = False,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call the one document given.")] = None,
) -> None:
    """Load documents into a peer, whether its daemon runs or not.

    A document goes by the name of its file. One that is no XML is refused, and the others go on; one that is not valid
    for the peer's schema is kept, and reported. Queries go on meanwhile. On a terminal, a long load shows its progress.
    """
    if name is not None and len(documents) > 1:
        raise typer.BadParameter("--name is for one document")
    _load_all(folder, documents, replace, name)


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

    Queries then travel to it, translated by the mapping, and it may ask. The other side's administrator does the same.
    """
    if len(arguments) > 2:
        raise typer.BadParameter("give [FOLDER] MULTIADDRESS")
    path = chosen_peer(Path(arguments[0]) if len(arguments) == 2 else None)
    made = add_acquaintance(path, propose(arguments[-1], arrows, side, name))
    print_result(f"{made['name']}: we are the {made['side']} of the mapping")


def acquaintances(folder: Folder = None, json: Json = False) -> None:
    """List the acquaintances of a peer."""
    found = peer_status(chosen_peer(folder))["acquaintances"]
    if json:
        print_json(found)
    else:
        _print_acquaintances(found)


# -- what the commands share -----------------------------------------------------------------------------------------


def _load_all(folder: Path, documents: Iterable[str], replacing: bool, name: str | None = None) -> None:
    documents = list(documents)
    if not documents:
        return
    refused = 0
    with document_loading(folder) as loader:
        for document in documents:
            try:
                _load_one(loader, document, replacing, name)
            except HeptoxError as error:
                if exit_code(error) is ExitCode.UNREACHABLE:
                    raise
                print_faults(error)
                refused += 1
    if refused:
        print_note(f"{_count(refused, 'document')} of {len(documents)} refused")
        raise typer.Exit(ExitCode.WRONG_INPUT)


def _load_one(loader: Loader, document: str, replacing: bool, name: str | None) -> None:
    if document == STANDARD_INPUT and name is None:
        raise InputError(Fault("HX1001", "has no name", file=file_name(document), hint="give it one with --name"))
    named = name or Path(document).name
    data = read_bytes(document)
    with progress_bar(named, len(data)) as progress:
        loaded = loader.load(named, data, replacing=replacing, file=file_name(document), progress=progress)
    for fault in loaded["faults"]:
        print_error(str(fault_from_json(fault)))
    print_result(f"{loaded['name']}: {loaded['outcome']}")


def _print_acquaintances(found: list[dict[str, Any]]) -> None:
    rows = ((one["name"], one["side"], "yes" if one["connected"] else "no", one["address"]) for one in found)
    print_table(console(sys.stdout), ("acquaintance", "our side", "connected", "address"), rows)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
