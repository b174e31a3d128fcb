"""``heptox demo``."""

from __future__ import annotations

import sys
from typing import Annotated, Final

import typer
from rich.console import Console

from heptox.cli.answers import console, print_explanation, print_receipt, print_table, say
from heptox.cli.output import ExitCode
from heptox.cli.signals import ended_by_signals
from heptox.demo import HOSPITAL, HOSPITALS, QUESTIONS, Network, Question, network
from heptox.peer import ItemLine, ReceiptModel

SHOWN: Final = 10
"""Items of an answer that are shown."""


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave the peers running, and tell how to ask them.")] = False,
    patients: Annotated[int, typer.Option(min=1, max=20_000, help="Patients of each hospital.")] = 300,
    seed: Annotated[int, typer.Option(help="What the generated records depend on.")] = 1,
    plain: Annotated[bool, typer.Option("--plain", help="No colours and lines, also on a terminal.")] = False,
) -> None:
    """Start three hospitals as peers, ask them three questions, live.

    Each peer is a process of its own with generated records under its own schema; they talk over loopback. Shows each
    query, its translation at each hop, the answers with their origin, and the receipt.
    """
    out = console(sys.stdout, plain)
    complete = True
    with ended_by_signals(), network(patients, seed, keep=keep) as running:
        _introduce(running, patients, out)
        for question in QUESTIONS:
            complete = _ask(running, question, out) and complete
        if keep:
            _tell_how_to_go_on(running, out)
    if not complete:
        raise typer.Exit(ExitCode.INCOMPLETE)


def _introduce(running: Network, patients: int, out: Console) -> None:
    say(out, f"Three hospitals, {patients} patients each, three schemas, three processes:", "bold")
    rows = ((one.name, f"{one.schema}.dtd", *running.addresses(one)) for one in HOSPITALS)
    print_table(out, ("hospital", "schema", "listens at"), rows)
    say(out, "Montreal and Boston know each other, Boston and St Luke too; Montreal knows nothing of St Luke.")


def _ask(running: Network, question: Question, out: Console) -> bool:
    """Ask, show what comes, and say whether the answer is complete."""
    say(out, "")
    say(out, f"== {question.title} ==", "bold")
    say(out, question.text.strip(), "cyan")
    origins: dict[str, list[str]] = {}
    receipt: ReceiptModel | None = None
    for part in running.ask(question):
        if isinstance(part, ItemLine):
            origins.setdefault(part.item, []).append(part.origin.name)
        else:
            receipt = part.receipt
    assert receipt is not None  # it always comes
    say(out, "")
    say(out, "As each peer got it:", "bold")
    print_explanation(receipt, out)
    _print_answers(origins, out)
    say(out, "")
    print_receipt(receipt, out)
    return receipt.complete


def _print_answers(origins: dict[str, list[str]], out: Console) -> None:
    """Print the items by where they came from: those that several peers gave stand under all their names."""
    groups: dict[str, list[str]] = {}
    for item, names in origins.items():
        groups.setdefault(", ".join(sorted(names)), []).append(item)
    for name, items in sorted(groups.items()):
        say(out, "")
        say(out, f"from {name}:", "bold")
        for item in items[:SHOWN]:
            say(out, f"  {item}")
        if len(items) > SHOWN:
            say(out, f"  ... and {len(items) - SHOWN} more")


def _tell_how_to_go_on(running: Network, out: Console) -> None:
    folders = " ".join(str(running.path(one)) for one in HOSPITALS)
    say(out, "")
    say(out, "The peers go on. Ask them:", "bold")
    for question in QUESTIONS:
        query = HOSPITAL / "queries" / question.file
        say(out, f"  heptox query --peer {running.path(question.asker)} -f {query}")
    say(out, "Stop them, and remove what they hold:", "bold")
    say(out, f"  for peer in {folders}; do heptox peer stop $peer; done; rm -r {running.folder}")
