"""What commands read: a query from the command line, a file, or standard input."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from heptox.errors import Fault, InputError, Position
from heptox.xml import NO_PREFIXES, Prefixes, file_name, read_text

STANDARD_INPUT: Final = "-"
_BLANKS: Final = " \t\r"
_BINDING: Final = re.compile(r"((?:Q\{[^{}]*\})?[^={}]+)=(.*)", re.DOTALL)
_NOT_UTF8: Final = re.compile("[\ud800-\udfff]")

QueryFile: TypeAlias = Annotated[
    str | None, typer.Option("-f", "--file", metavar="FILE", help="Read the query from a file, instead of QUERY.")
]
"""The option ``-f`` of every command that takes a query."""

MappingFile: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help="A mapping: FILE.arrows or FILE.rules.")]
"""The mapping of every command that takes one."""

Bind: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", show_default=False, help="The value of an external variable; =@FILE: a file's text."
    ),
]
"""The option ``--bind``; :func:`bound_values` reads it."""

CatalogueFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--catalog",
        metavar="FILE",
        show_default=False,
        help="An OASIS XML catalogue that names files of the schema; repeatable.",
    ),
]
"""The option ``--catalog`` of every command that reads a DTD file."""

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON.")]
"""The option ``--json``."""


Namespace: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PREFIX=URI",
        show_default=False,
        help="What a prefix of the XPaths stands for; =URI: the namespace of elements without one.",
    ),
]
"""The option ``--namespace`` of commands that take XPaths; :func:`bound_prefixes` reads it."""


def bound_prefixes(arguments: list[str] | None) -> Prefixes:
    """The prefixes that ``--namespace`` binds; raises :class:`typer.BadParameter`."""
    if not arguments:
        return NO_PREFIXES
    from heptox import grammar  # which takes long to load

    try:
        return Prefixes.of(dict(map(grammar.bound_prefix, arguments)))
    except ValueError as error:
        raise typer.BadParameter(f"--namespace {error}") from None


def document_name(document: str, name: str | None) -> str:
    """What a document is called: the ``name`` given, else that of its file.

    Raises :class:`InputError` (HX1001) for standard input without a name.
    """
    if document == STANDARD_INPUT and name is None:
        raise InputError(Fault("HX1001", "has no name", file=file_name(document), hint="give it one with --name"))
    return name or Path(document).name


def read_query_text(argument: str | None, file: str | None) -> tuple[str, str | None]:
    """The text of a query and the name of its file, if any, from an argument (``-``: standard input) or a file.

    Raises :class:`typer.BadParameter` when both or neither are given, :class:`InputError` when it cannot be read.
    """
    if (argument is None) == (file is None):
        raise typer.BadParameter("give either QUERY or -f FILE")
    path = file if argument is None else STANDARD_INPUT if argument == STANDARD_INPUT else None
    if path is not None:
        return read_text(path), file_name(path)
    text = argument or ""
    if _NOT_UTF8.search(text):
        raise InputError(Fault("HX1003", "the query is not UTF-8", hint="give it as UTF-8, or in a file"))
    return text, None


def bound_values(arguments: list[str] | None) -> tuple[tuple[str, str], ...]:
    """The names and values of external variables; raises as :func:`read_text`, and :class:`typer.BadParameter`."""
    return tuple(map(_bound_value, arguments or ()))


def _bound_value(argument: str) -> tuple[str, str]:
    found = _BINDING.fullmatch(argument)
    if found is None:
        raise typer.BadParameter(f"--bind {argument}: write NAME=VALUE")
    value = found[2]
    return found[1].removeprefix("$"), read_text(value[1:]) if value.startswith("@") else value


def subscription_lines(file: str) -> tuple[Prefixes, Sequence[tuple[int, str]]]:
    """The prefixes that a file of subscriptions declares, and its other lines, one XPath a line, with their numbers;
    empty lines and those that begin with ``#`` are left out. Lone surrogates stand for what is not UTF-8, so that each
    such line can be reported by itself.

    Raises :class:`InputError` when it cannot be read, :class:`GrammarError` for a wrong declaration.
    """
    from heptox import grammar  # which takes long to load

    text = read_text(file, errors="surrogateescape")
    lines = ((number, line.rstrip(_BLANKS)) for number, line in enumerate(text.split("\n"), 1))
    kept = [(number, line) for number, line in lines if line and not line.lstrip(_BLANKS).startswith("#")]
    return grammar.declared_prefixes(kept, file_name(file))


def check_line(line: str, file: str, number: int) -> None:
    """Raise :class:`InputError` (HX1003) for one of :func:`subscription_lines` that is not UTF-8."""
    if found := _NOT_UTF8.search(line):
        position = Position(number, found.start() + 1, file)
        raise InputError(Fault("HX1003", "the line is not UTF-8", position, hint="save it as UTF-8"))
