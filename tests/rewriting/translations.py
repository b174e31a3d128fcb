"""Examples of translated subscriptions: a mapping, where it takes the subscription, and what becomes of that.

A case of ``tests/fixtures/subscriptions/translated.txt`` is ``MAPPING to SIDE``, with several hops in a row, and a line
with the subscription; then the patterns, ``()`` for none, ``and more`` where they match more, and what is lost; or
``refused: `` and the fault.

``python -m tests.rewriting.translations`` writes what is so now into the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from heptox.errors import HeptoxError
from heptox.mapping import Mapping, load_mapping
from heptox.rewriting import TranslatedSubscription, translate_subscription
from heptox.translate import Direction, Hop
from tests.support.fixtures import FIXTURES, cases

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
FILE: Final = "subscriptions/translated.txt"


@dataclass(frozen=True, slots=True)
class Example:
    """A subscription with the hops that it is translated over, and what is expected."""

    given: str
    expected: str

    @property
    def lines(self) -> list[str]:
        return [line for line in self.given.split("\n") if not line.startswith("(:")]

    @property
    def hops(self) -> list[Hop]:
        parts = [hop.split(" to ") for hop in self.lines[0].split(", ")]
        return [Hop(mapping(name), Direction(side), name) for name, side in parts]

    @property
    def subscription(self) -> str:
        return "\n".join(self.lines[1:])

    def translated(self) -> TranslatedSubscription:
        return translate_subscription(self.hops, self.subscription)


@cache
def mapping(name: str) -> Mapping:
    """A mapping of the examples; those of transformations by the folder's name."""
    path = EXAMPLES / f"{name}.arrows"
    return load_mapping(path if path.exists() else EXAMPLES / "transformations" / name / "mapping.arrows")


def examples() -> list[Example]:
    return [Example(given, expected) for given, expected in cases(FILE)]


def shown(example: Example) -> str:
    """What becomes of an example now."""
    try:
        found = example.translated()
    except HeptoxError as error:
        return "\n".join(f"refused: {fault}".replace(f"{EXAMPLES}/", "") for fault in error.faults)
    lines = [str(pattern) for pattern in found.patterns] or ["()"]
    return "\n".join([*lines, *([] if found.exact else ["and more"]), *(f"lost: {loss}" for loss in found.losses)])


if __name__ == "__main__":
    blocks = (f"{example.given}\n\n{shown(example)}" for example in examples())
    (FIXTURES / FILE).write_text("\n\n====\n\n".join(blocks) + "\n", encoding="utf-8")
