"""``heptox publish``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from heptox.cli.choosing import PeerOption, chosen_peer
from heptox.cli.inputs import Json, document_name
from heptox.cli.output import ExitCode, exit_code, print_faults, print_json, print_note, print_result
from heptox.errors import DisseminationError, HeptoxError
from heptox.peer import PublishedModel, Subscriptions, subscriptions_at
from heptox.xml import file_name, read_bytes


def publish(
    documents: Annotated[list[str], typer.Argument(metavar="DOCUMENT...", help="XML files; - is stdin.")],
    *,
    name: Annotated[str | None, typer.Option(metavar="NAME", help="What to call the one document given.")] = None,
    id: Annotated[  # noqa: A002  # the option is --id
        str | None,
        typer.Option("--id", metavar="ID", help="The id of the one document given; else its name and digest."),
    ] = None,
    peer: PeerOption = None,
    json: Json = False,
) -> None:
    """Publish documents at one's own peer.

    Each subscription that a document matches gets one notification of it; all are on the disk when the command ends. A
    document that was published before, by its id, is held, and changes nothing: so it is safe to publish again after
    a failure. One that is refused is reported, and the others go on.
    """
    if (name is not None or id is not None) and len(documents) > 1:
        raise typer.BadParameter("--name and --id are for one document")
    if "" in (name, id):
        raise typer.BadParameter("a name and an id have a character at least")
    published: list[PublishedModel] = []
    refused = 0
    with subscriptions_at(chosen_peer(peer)) as subscriptions:
        for document in documents:
            try:
                one = _publish_one(subscriptions, document, name, id or "")
            except HeptoxError as error:
                if exit_code(error) is ExitCode.UNREACHABLE:
                    raise
                print_faults(error)
                refused += 1
            else:
                published.append(one)
                if not json:
                    _print_one(one)
    if json:
        print_json(published)
    if refused:
        print_note(f"{refused} of {len(documents)} refused")
        raise typer.Exit(ExitCode.WRONG_INPUT)


def _publish_one(subscriptions: Subscriptions, document: str, name: str | None, identity: str) -> PublishedModel:
    called = document_name(document, name)
    data, file = read_bytes(document), file_name(document)
    try:
        return subscriptions.publish(called, data, identity=identity, file=file)
    except DisseminationError as error:
        raise DisseminationError(replace(fault, file=fault.file or file) for fault in error.faults) from None


def _print_one(one: PublishedModel) -> None:
    if one.outcome == "held":
        print_result(f"{one.document}: held")
        return
    delivered = one.matched - one.dead_letters
    dead = f", {one.dead_letters:,} dead" if one.dead_letters else ""
    if one.kept:
        print_note(f"{one.document} is kept at home: {one.kept}")
    print_result(f"{one.document}: {one.outcome}, {delivered:,} notified{dead}")
