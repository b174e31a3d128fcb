"""Fixtures that are text in the language itself."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"


def name_of(given: str) -> str:
    """The comments ``(: ... :)`` in front of an input, which name its case; without any the input itself."""
    lines = given.splitlines()
    comments = [line.removeprefix("(:").removesuffix(":)").strip() for line in lines if line.startswith("(:")]
    return " ".join(comments) or given


def cases(file: str) -> list[tuple[str, str]]:
    """Input and what is expected of it, for each case of a file below ``tests/fixtures``.

    A case is the input, a blank line, and what is expected, which has no blank lines; cases are separated by a line
    ``====`` between blank lines.
    """
    blocks = (FIXTURES / file).read_text(encoding="utf-8").rstrip("\n").split("\n\n====\n\n")
    return [(given, expected) for given, expected in (block.rsplit("\n\n", 1) for block in blocks)]
