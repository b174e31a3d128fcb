"""``heptox query``."""

from __future__ import annotations

import json as json_format
import math
import sys
from typing import Annotated, Any

import typer

from heptox.cli.answers import console, print_explanation, print_item, print_receipt, shown
from heptox.cli.choosing import PeerOption, chosen_peer
from heptox.cli.inputs import QueryFile, read_query_text
from heptox.cli.output import ExitCode, on_terminal, print_result
from heptox.peer import Client
from heptox.settings import LEAST_TIMEOUT, MOST_TIMEOUT


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
    json: Annotated[bool, typer.Option("--json", help="Print a JSON object a line, the receipt last.")] = False,
) -> None:
    """Ask the network through one's own peer.

    Items are printed on stdout as they come, each once; the receipt, which says what every peer did, comes last, on
    stderr. With --json everything comes on stdout, one object a line: items with their origin (an item that comes
    again, from elsewhere, is repeated), then the receipt.
    """
    text, name = read_query_text(query, file)
    request = {"query": text, "file": name, "timeout": timeout, "hops": hops, "explain": explain}
    with Client.connect(chosen_peer(peer)) as client:
        receipt: dict[str, Any] = {}
        for part in client.query(request):
            receipt = part.get("receipt", receipt)
            _print_part(part, json)
    if not json:
        _print_end(receipt, explain)
    if strict and not receipt["complete"]:
        raise typer.Exit(ExitCode.INCOMPLETE)


def _print_part(part: dict[str, Any], json: bool) -> None:
    if json:
        line = json_format.dumps(part, ensure_ascii=False)
        print_result(shown(line) if on_terminal() else line)
        sys.stdout.flush()
    elif "item" in part and not part["repeated"]:
        print_item(part)


def _print_end(receipt: dict[str, Any], explain: bool) -> None:
    sys.stdout.flush()
    messages = console(sys.stderr)
    if explain:
        print_explanation(receipt, messages)
    print_receipt(receipt, messages)
