"""How answers, receipts and explanations look, for the commands that ask."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TextIO

from rich.console import Console
from rich.table import Table
from rich.text import Text

from heptox.cli.output import on_terminal, print_result
from heptox.peer import BoundsModel, ReceiptLineModel, ReceiptModel, ShellModel, ShortfallModel
from heptox.printable import shown

UNLIMITED = 100_000
"""The width of a console that is no terminal: plain text is never folded."""


def console(file: TextIO, plain: bool = False) -> Console:
    """A console on ``file``: as wide as the terminal and in colour there, plain text elsewhere or when wanted."""
    if file.isatty() and not plain:
        return Console(file=file, highlight=False)
    return Console(file=file, highlight=False, width=UNLIMITED, no_color=True, force_terminal=False)


def say(to: Console, text: str | Text, style: str = "") -> None:
    """Print text for people, a string as it is :func:`shown`.

    A terminal folds it, so that what is copied from there has no more line ends than it.
    """
    to.print(Text(shown(text), style) if isinstance(text, str) else text, soft_wrap=True)


def print_table(to: Console, columns: Iterable[str], rows: Iterable[tuple[str, ...]]) -> None:
    """Print a table: with lines and colours on a terminal, aligned text elsewhere."""
    table = Table(box=None, pad_edge=False) if not to.is_terminal else Table()
    for column in columns:
        table.add_column(column, justify="right" if column in ("items", "ms") else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    with to.capture() as captured:
        to.print(table)
    to.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    to.file.flush()


def print_item(item: str, origin: str) -> None:
    """Print one item on a line of its own as it comes, on a terminal after what it came from."""
    if on_terminal():
        say(console(sys.stdout), Text(f"{shown(origin):<16} ", "cyan").append(shown(item), "default"))
    else:
        print_result(item)
        sys.stdout.flush()


def print_receipt(receipt: ReceiptModel, to: Console) -> None:
    """Print what every peer that was asked, or left out, did for a query."""
    say(to, Text(summary(receipt), "green" if receipt.complete else "bold red"))
    rows = ((_way(line), line.status, str(line.items), remark(line)) for line in receipt.lines)
    print_table(to, ("peer", "status", "items", "remark"), rows)
    if not receipt.complete:
        say(to, f"{receipt.answered} of {receipt.known} known peers have answered")
    for shortfall in receipt.missing:
        say(to, _missing(shortfall))
    for remark_on in () if receipt.shell is None else _how_it_counts(receipt.shell):
        say(to, remark_on)


def _missing(shortfall: ShortfallModel) -> str:
    """What an answer lacks, and what would mend it."""
    more = shortfall.peers - len(shortfall.named)
    several = ", ".join([*shortfall.named, *([f"{more} more"] if more > 0 else [])])
    behind = f", and {shortfall.behind} known behind" if shortfall.behind else ""
    return (
        f"{shortfall.lack} at {several}{behind}; this may cost {shortfall.costs}; what would mend it: {shortfall.mend}"
    )


def _how_it_counts(shell: ShellModel) -> Iterator[str]:
    """What there is to know of numbers over several peers."""
    if shell.overlapping:
        several = ", ".join(shell.overlapping)
        yield f"added up over {several}: no key tells whether two of them speak of one thing"
    if shell.merged:
        said = "was one with another" if shell.merged == 1 else "were one with others"
        yield f"{shell.merged} item{'' if shell.merged == 1 else 's'} {said} by a key"
    if shell.conflicts:
        said = "value contradicts another" if shell.conflicts == 1 else "values contradict others"
        yield f"{shell.conflicts} {said}: they stand side by side"
    if shell.bounds is not None:
        yield _bounds(shell.bounds)


def _bounds(bounds: BoundsModel) -> str:
    """What numbers may be where peers are missing."""
    missing = "1 peer is missing" if bounds.missing == 1 else f"{bounds.missing} peers are missing"
    if bounds.least and bounds.most:
        return f"{missing}: the number is from {bounds.least} to {bounds.most}"
    if bounds.least or bounds.most:
        return f"{missing}: the number is {bounds.least or bounds.most} {'at least' if bounds.least else 'at most'}"
    return missing


def summary(receipt: ReceiptModel) -> str:
    """A receipt in one line.

    >>> from heptox.peer import ReceiptModel
    >>> summary(ReceiptModel(query="", complete=True, items=1, lines=()))
    'the answer is complete: 1 item'
    """
    items = f"{receipt.items} item{'' if receipt.items == 1 else 's'}"
    if receipt.complete:
        return f"the answer is complete: {items}"
    return f"the answer is INCOMPLETE: {items}{', computed from an incomplete answer' if receipt.shell else ''}"


def remark(line: ReceiptLineModel) -> str:
    """What a line of a receipt says beside its status: why, what was lost on the last hop, what lies behind."""
    parts = [line.reason, *(f"lost: {loss}" for loss in line.losses)]
    if line.beyond:
        parts.append("peers behind it were not asked along this path")
    if line.items and not line.signed:
        parts.append("not signed")
    return "; ".join(part for part in parts if part)


def print_explanation(receipt: ReceiptModel, to: Console) -> None:
    """Print the tree of hops with the query as each peer got it, what each translation lost, and how long each took; of
    a query that was split before that what peers were asked, and what is computed of their answers.
    """
    if receipt.shell is not None:
        for number, core in enumerate(receipt.shell.cores, 1):
            say(to, f"$heptox-core{number} is asked of peers:", "bold")
            _say_all(to, core)
        say(to, "computed here:", "bold")
        _say_all(to, receipt.shell.text)
    for line in receipt.lines:
        indent = "  " * (len(line.path) - 1)
        say(to, f"{indent}{line.name}: {line.status}, {line.milliseconds} ms", "bold")
        for text in _explained(line):
            say(to, f"{indent}    {text}")


def _say_all(to: Console, text: str) -> None:
    for line in text.splitlines():
        say(to, f"    {line}")


def _explained(line: ReceiptLineModel) -> Iterator[str]:
    yield from line.text.splitlines()
    if said := remark(line):
        yield f"({said})"


def _way(line: ReceiptLineModel) -> str:
    return " > ".join(line.path)
