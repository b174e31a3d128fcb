"""Fixtures as text: input, blank line, expected, blank line; comments ``(: ... :)`` in front name the cases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

FIXTURES: Final = Path(__file__).parent.parent / "fixtures"


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a fixture file: its comment as a name, what goes in and what must come out."""

    name: str
    given: str
    expected: str


def read_cases(name: str) -> list[Case]:
    """The cases of ``tests/fixtures/NAME`` in order."""
    blocks = (FIXTURES / name).read_text(encoding="utf-8").strip().split("\n\n")
    if len(blocks) % 2:
        raise ValueError(f"{name} ends with an input that has no expected output")
    return [_case(given, expected) for given, expected in zip(blocks[::2], blocks[1::2], strict=True)]


def _case(given: str, expected: str) -> Case:
    lines = given.splitlines()
    comments = [line.removeprefix("(:").removesuffix(":)").strip() for line in lines if line.startswith("(:")]
    rest = "\n".join(line for line in lines if not line.startswith("(:"))
    return Case(" ".join(comments) or rest, rest, expected)
