"""Writes what is generated in ``docs/``: every command with its options, and every error code, setting and function of
values with its meaning.

``python -m tools.reference`` writes them, ``--check`` fails when they are not what it would write.
"""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final

import typer

from heptox import settings
from heptox.cli.application import application
from heptox.cli.commands import COMMANDS
from heptox.cli.output import ExitCode
from heptox.errors import CODES, RETIRED, HeptoxError
from heptox.pattern import VALUE_FUNCTIONS, ValueFunction
from heptox.settings import PeerSettings, model_fields

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


ABOUT_FUNCTIONS: Final = """\
Values of an arrow can be computed: `concat(first, " ", last) -> name`. These are the functions, which mean what XPath
3.1 says. A value is absent where a leaf that it needs is absent, and where a function has none for its arguments, such
as `xs:decimal("abc")`; that is never an error. A condition that compares or tests what is absent is false.

A decimal has at most 18 digits before its point (12 where it is multiplied or divided) and 12 after it, and a date a
year of four digits; what has more is absent. A string where a number or a date is wanted is cast to one, and
`price * 2` is exact. A number that is written out, or computed, is compared with a leaf as a number, two leaves as
strings. Regular expressions have characters, `.`, classes, `\\d`, `\\s`, groups, `|`, `^`, `$` and quantifiers: what
all engines take for the same."""


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


def functions_page() -> str:
    """The page of all functions that values can be computed by."""
    lines = [GENERATED, "", "# Functions of values", "", *ABOUT_FUNCTIONS.splitlines(), ""]
    lines += ["| function | gives | meaning |", "|---|---|---|"]
    for forms in VALUE_FUNCTIONS.values():
        shown = {form.summary: form for form in reversed(forms)}
        lines += [
            f"| `{_signature(form)}` | {form.result.value} | {form.summary} |" for form in reversed(shown.values())
        ]
    return "\n".join([*lines, ""])


def _signature(form: ValueFunction) -> str:
    kinds = [kind.value for kind in form.parameters] + ["..."] * form.repeats
    return form.shown(kinds).replace("|", "\\|")


def peers_page(page: str) -> str:
    """The page about peers, with the table of the settings made anew."""
    begin, end = (f"<!-- settings: {what}; generated by `make docs` -->\n" for what in ("begin", "end"))
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return "".join([before, begin, *(f"{line}\n" for line in _settings()), end, after])


def _settings() -> Iterator[str]:
    (model,) = (
        one
        for one in ast.parse(inspect.getsource(settings)).body
        if isinstance(one, ast.ClassDef) and one.name == PeerSettings.__name__
    )
    said = {
        field.target.id: " ".join(text.value.value.split()).removesuffix(".")
        for field, text in pairwise(model.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }
    yield "| setting | default | meaning |"
    yield "|---|---|---|"
    for name, field in model_fields(PeerSettings).items():
        shown = field.default if isinstance(field.default, str) else json.dumps(field.default, default=str)
        default = "" if field.is_required() or not shown or name == "hide" else f"`{shown}`"
        bounds = {type(one).__name__: one for one in field.metadata}
        numbers = f"; from {bounds['Ge'].ge} to {bounds['Le'].le}" if "Ge" in bounds else ""
        yield f"| `{name}` | {default} | {said[name]}{numbers} |"


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
    peers = peers_page((DOCS / "peers.md").read_text(encoding="utf-8"))
    for name, page in (
        ("commands.md", commands_page()),
        ("errors.md", errors_page()),
        ("functions.md", functions_page()),
        ("peers.md", peers),
    ):
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
