"""``heptox query``."""

from __future__ import annotations

import math
import sys
from typing import Annotated

import typer

from heptox.cli.answers import console, print_explanation, print_item, print_receipt
from heptox.cli.choosing import PeerOption, chosen_peer
from heptox.cli.following import Following
from heptox.cli.inputs import Bind, QueryFile, bound_values, read_query_text
from heptox.cli.output import ExitCode, print_json_line
from heptox.peer import Client, ItemLine, QuestionRequest, ReceiptLast, ReceiptModel
from heptox.settings import LEAST_TIMEOUT, MOST_BOUNDS, MOST_TIMEOUT


def _number(value: float | None) -> float | None:
    """Refuse what no range refuses."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter(f"{value} is not in the range {LEAST_TIMEOUT}<=x<={MOST_TIMEOUT}.")
    return value


def query(
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="The query, in your own schema; - is stdin.")
    ] = None,
    file: QueryFile = None,
    peer: PeerOption = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the query as each peer got it, on stderr.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict/--partial", help="Exit code 3, or 0, when the answer is incomplete.")
    ] = True,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=LEAST_TIMEOUT,
            max=MOST_TIMEOUT,
            callback=_number,
            help="How long to wait for answers.",
        ),
    ] = None,
    hops: Annotated[
        int | None, typer.Option(min=0, help="How far it may travel, up to the peer's hops; 0 is one's own peer.")
    ] = None,
    bind: Bind = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Items of several peers that speak of one thing, by its key, as one item.")
    ] = False,
    bounds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=MOST_BOUNDS,
            help="How many a peer that is missing holds at most, for bounds of counts.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with the answers on documents that are published, until Ctrl-C.")
    ] = False,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", show_default=False, help="With --follow: what the subscription is called; else by the text."
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="With --follow: end after N documents that have answers."),
    ] = None,
    only_new: Annotated[bool, typer.Option("--only-new", help="With --follow: do not ask first, follow only.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line, the receipt last.")] = False,
) -> None:
    """Ask the network through one's own peer.

    Items are printed on stdout as they come, each once; the receipt, which says what every peer did, comes last, on
    stderr. With --json everything comes on stdout, one object a line: items with their origin (an item that comes
    again, from elsewhere, is repeated), then the receipt.

    Any XQuery 3.1 can be asked. What of it is in heptox's fragment travels; what is around that (counts, sums, order,
    groups, ...) is computed here, by Saxon, of what the peers have answered: --explain shows both. With --hops 0 one's
    own peer answers alone, all by Saxon where the query leaves the fragment. --bind gives external variables values.

    With --follow the query is a durable subscription besides: after the answer come the answers on each document that
    is published at this peer or elsewhere, with --json with the name and id of the document and its publisher. What
    was printed is acknowledged. The same command goes on behind that, and does not ask again.

    With --merge items come once all peers have answered. Those that are of nodes with equal keys, which the schema or a
    mapping declares, are one item with the parts of all; values that contradict stay side by side, and are counted.

    A number that is computed of an incomplete answer is said to be one. With --bounds the receipt says in which bounds
    a count is then, where each peer that is missing, with those behind it, holds N of what is counted at most.
    """
    text, source = read_query_text(query, file)
    values = dict(bound_values(bind))
    if values and follow:
        raise typer.BadParameter("--bind does not go with --follow: it is Saxon that takes values")
    request = QuestionRequest(query=text, file=source, timeout=timeout, hops=hops, explain=explain)
    # daemons of earlier versions refuse what they do not know
    more = {"bind": values or None, "merge": merge or None, "bounds": bounds}
    request = request.model_copy(update={name: value for name, value in more.items() if value is not None})
    if not follow and (name is not None or limit is not None or only_new):
        raise typer.BadParameter("--name, --limit and --only-new go with --follow")
    complete = True
    with Client.connect(chosen_peer(peer)) as client:
        if not follow:
            complete = _ask(client, request, json)
        else:
            following = Following.begin(client, text, source, name)
            if not (only_new or following.has_begun):
                complete = _ask(client, request, json)
            following.print_answers(limit, json)
    if strict and not complete:
        raise typer.Exit(ExitCode.INCOMPLETE)


def _ask(client: Client, request: QuestionRequest, json: bool) -> bool:
    """Print the answer and the receipt; whether the answer is complete."""
    complete = False
    for part in client.query(request):
        if json:
            print_json_line(part)
        elif isinstance(part, ItemLine) and not part.repeated:
            print_item(part.item, part.origin.name)
        if isinstance(part, ReceiptLast):
            complete = part.receipt.complete
            if not json:
                _print_end(part.receipt, request.explain)
    return complete


def _print_end(receipt: ReceiptModel, explain: bool) -> None:
    sys.stdout.flush()
    messages = console(sys.stderr)
    if explain:
        print_explanation(receipt, messages)
    print_receipt(receipt, messages)
