"""``heptox feed``: what other peers publish, and where documents go."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated

import typer

from heptox.cli.answers import console, print_table, say
from heptox.cli.choosing import PeerOption, chosen_peer
from heptox.cli.inputs import Json
from heptox.cli.output import print_json, print_result
from heptox.peer import Client, FeedsModel, GettingModel
from heptox.xml import file_name, read_bytes


def status(*, peer: PeerOption = None, json: Json = False) -> None:
    """Show the publishers that a running peer reaches, and what its neighbours want.

    A publisher is live when all that it publishes from now on, and that is subscribed to here, comes by itself; its
    position is up to where everything has come. Where there are subscriptions in own words, it is shown how they are
    understood: the publisher has the same schema, or mappings lead there; where they do not, the reason is shown.
    """
    with Client.connect(chosen_peer(peer)) as client:
        found = client.feeds()
    if json:
        print_json(found)
        return
    to = console(sys.stdout)
    for line in _warnings(found):
        say(to, line)
    if not found.neighbours:
        say(to, "there is no link to a neighbour")
        return
    translates = any(one.words for one in found.publishers)
    print_table(
        to,
        ("publisher", "through", "advertises", "interested", "position", "live", *(("words",) if translates else ())),
        (
            (
                one.name,
                " > ".join(one.path),
                one.advertised[:12] if one.advertised else "anything",
                f"{one.interested:,}",
                "" if one.position is None else f"{one.position:,}",
                "yes" if one.live else "" if not one.interested else "no",
                *((one.words or "",) if translates else ()),
            )
            for one in found.publishers
        ),
    )
    for one in found.publishers:
        if one.words_reason:
            say(to, f"{one.name}, for subscriptions in own words: {one.words_reason}")
    print_table(
        to,
        ("neighbour", "wants", "sent", "of"),
        (
            (
                one.name,
                f"{one.wants:,}",
                "everything" if one.everything else f"{one.told:,}",
                f"{one.concern:,}",
            )
            for one in found.neighbours
        ),
    )


def _warnings(found: FeedsModel) -> Iterator[str]:
    for one in found.suspicions:
        which = "is not trusted" if one.distrusted else "is avoided"
        yield f"{one.name} {which} with what {one.publisher_name} publishes: {one.reason}"
    for other in found.unfollowed:
        yield f"{other.name} is not followed: it is no acquaintance, and may publish anything (`follow` in peer.toml)"
    for neighbour in found.outdated:
        yield f"{neighbour.name} speaks only an older protocol of feeds, which is not signed: there is no link to it"


def route(
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="An XML file; - is stdin.")],
    *,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the subscriptions that each neighbour wants it for.")
    ] = False,
    publisher: Annotated[
        str | None, typer.Option("--from", metavar="PEER-ID", help="Who publishes it; else this peer.")
    ] = None,
    peer: PeerOption = None,
    json: Json = False,
) -> None:
    """Show to which neighbours a document would go from a running peer.

    It is not published. A neighbour gets it where the way from the publisher leads there, and something that it wants
    matches; what it wants may stand for much that others want behind it.
    """
    with Client.connect(chosen_peer(peer)) as client:
        found = client.route(read_bytes(document), file_name(document), publisher)
    if json:
        print_json(found)
        return
    here = found.local
    print_result(f"here: {here:,} subscription{'' if here == 1 else 's'}")
    if found.kept:
        print_result(f"it is kept at home: {found.kept}")
    for one in found.neighbours:
        print_result(f"{one.name}: {_outcome(one, found.kept)}")
        if explain:
            for text in one.subscriptions:
                print_result(f"    {text}")
            if more := one.matching - len(one.subscriptions):
                print_result(f"    and {more:,} more")


def _outcome(one: GettingModel, kept: str | None) -> str:
    matching = one.matching
    wanted = f"{matching:,} of what it wants match{'es' if matching == 1 else ''}"
    if not matching:
        return "no: nothing that it wants matches"
    if not one.leads_there:
        return f"no: {wanted}, but the publisher's documents do not come this way"
    return f"no: {wanted}, but it is kept at home" if kept else f"yes: {wanted}"
