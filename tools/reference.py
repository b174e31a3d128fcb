"""Writes the generated pages of ``docs/``: every command with its options, every error code with its meaning.

``python -m tools.reference`` writes them, ``--check`` fails when they are not what it would write.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import typer

from heptox.cli.application import application
from heptox.cli.commands import COMMANDS
from heptox.cli.output import ExitCode
from heptox.errors import CODES, RETIRED, HeptoxError

DOCS: Final = Path(__file__).parent.parent / "docs"
WIDTH: Final = 100
GENERATED: Final = "<!-- Generated from the code by `make docs`. -->"

EXIT_CODES: Final = {
    ExitCode.DONE: "done",
    ExitCode.WRONG_INPUT: "wrong input; each fault is a line on stderr",
    ExitCode.WRONG_USAGE: "wrong usage of the command line",
    ExitCode.INCOMPLETE: "the answer is incomplete; the receipt says what is missing",
    ExitCode.UNREACHABLE: "one's own peer, or the cluster, cannot be reached",
    ExitCode.DEFECT: "a defect of heptox; `HEPTOX_TRACEBACK=1` shows where",
}


def commands_page() -> str:
    """The page of all commands, each with what ``--help`` prints."""
    return "\n".join([GENERATED, "", "# Commands", "", *_exit_codes(), *_commands()])


def _exit_codes() -> Iterator[str]:
    yield "Results are on stdout, everything else on stderr. A `-` for a file is standard input. Exit codes:"
    yield ""
    yield from _table(("code", "meaning"), [(str(code.value), meaning) for code, meaning in EXIT_CODES.items()])
    yield ""


def _commands() -> Iterator[str]:
    top = typer.main.get_command(application(*COMMANDS))
    for key in COMMANDS:
        command, context = top, typer.Context(top, info_name="heptox", terminal_width=WIDTH)
        for word in key.split():
            found = command.get_command(context, word) if hasattr(command, "get_command") else None
            if found is None:
                raise LookupError(f"heptox {key} is not among the commands")
            command = found
            context = typer.Context(command, info_name=word, parent=context, terminal_width=WIDTH)
        yield from (f"## heptox {key}", "", "```text", command.get_help(context).strip(), "```", "")


def errors_page() -> str:
    """The page of all error codes, by stage."""
    stages = {f"HX{number}": kind for number, kind in _stages()}
    lines = [GENERATED, "", "# Error codes", "", "A code never changes its meaning.", ""]
    for prefix, kind in stages.items():
        codes = sorted((code, meaning) for code, meaning in CODES.items() if code.startswith(prefix))
        summary = (kind.__doc__ or "").partition(" (")[0]
        lines += [f"## {prefix}xxx: {summary[0].lower()}{summary[1:]}", "", *_table(("code", "meaning"), codes), ""]
    retired = [(code, now or "") for code, now in RETIRED.items()]
    lines += ["## Codes of earlier versions", "", *_table(("code", "now"), retired), ""]
    return "\n".join(lines)


def _stages() -> Iterator[tuple[str, type[HeptoxError]]]:
    for kind in HeptoxError.__subclasses__():
        yield (kind.__doc__ or "").partition("(HX")[2][0], kind


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> Iterator[str]:
    yield f"| {head[0]} | {head[1]} |"
    yield "|---|---|"
    yield from (f"| {first} | {second} |" for first, second in rows)


def main() -> int:
    """Write the pages, or check them."""
    check = sys.argv[1:] == ["--check"]
    stale = []
    for name, page in (("commands.md", commands_page()), ("errors.md", errors_page())):
        file = DOCS / name
        if check:
            stale += [name] * (not file.exists() or file.read_text(encoding="utf-8") != page)
        else:
            file.write_text(page, encoding="utf-8")
    if stale:
        print(f"docs/{' and docs/'.join(stale)}: not up to date; run make docs", file=sys.stderr)
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main())
