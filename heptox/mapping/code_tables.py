"""Tables of codes that mappings look values up in: ``lookup("codes.csv", code)`` (``semantics.md`` section 2)."""

from __future__ import annotations

import csv
from collections.abc import Callable
from io import StringIO
from typing import Final, TypeAlias

from heptox.errors import Fault, MappingError, Position
from heptox.xml import NO_CHARACTER

MOST_CODES: Final = 10_000
"""Rows of a table at most."""

ReadTable: TypeAlias = Callable[[str], str]
"""Gives the text of a table by the name that a mapping has for it; raises :class:`HeptoxError` where there is none."""

Codes: TypeAlias = tuple[tuple[str, str], ...]
"""The codes of a table with the values that they stand for."""


def read_codes(text: str, file: str) -> Codes:
    """The codes of a CSV file, two columns in each row: the code, and the value that it stands for.

    Raises :class:`MappingError` (HX4042) with line and column for each row that has other columns, or a code again.

    >>> read_codes('a,"text, language"\\nm,program\\n', "types.csv")
    (('a', 'text, language'), ('m', 'program'))
    """
    found: dict[str, str] = {}
    faults: list[Fault] = []
    rows = csv.reader(StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    try:
        for row in rows:
            at = Position(rows.line_num, 1, file)
            if not row:
                continue
            if unsaid := next(filter(None, map(NO_CHARACTER.search, row)), None):
                message = f"U+{ord(unsaid[0]):04X} is no XML character"
                faults.append(Fault("HX4042", message, at, hint="leave it out"))
            if len(row) != 2:
                message = f"{len(row)} columns in a row of a table of codes"
                faults.append(Fault("HX4042", message, at, hint="a row has two: CODE,VALUE"))
            elif found.setdefault(row[0], row[1]) != row[1]:
                message = f'two values for the code "{row[0]}": "{found[row[0]]}" and "{row[1]}"'
                faults.append(Fault("HX4042", message, at, hint="keep one of the rows"))
            if len(found) > MOST_CODES:
                faults.append(Fault("HX4042", f"more than {MOST_CODES:,} codes", at))
                break
    except csv.Error as error:
        faults.append(Fault("HX4042", f"no table of codes: {error}", Position(rows.line_num, 1, file)))
    if faults:
        raise MappingError(faults)
    return tuple(found.items())
