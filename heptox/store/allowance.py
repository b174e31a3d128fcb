"""How much the evaluation of a query may hold at a time, so that no query uses up the memory of the machine."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Final

from heptox.errors import Fault, StoreError
from heptox.grammar import syntax

VALUE_BYTES: Final = 128
"""What one value of a tuple takes up, about."""
NODE_BYTES: Final = 8
"""What a node takes up in a list."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one evaluation may hold at a time.

    ``values`` are those of the tuples that wait to be put in order, by ``order by`` or because a join is evaluated in
    another order than it is written: one for each node that a variable stands for, and one for each key; each takes
    about :data:`VALUE_BYTES`. Lists of nodes that are looked through again and again count by their bytes.
    ``characters`` are those of the items that constructors are making, of keys, and of values that are compared again
    and again.

    Unless given, they are about 640 MB, and 128 million characters.
    """

    values: int = 5_000_000
    characters: int = 128 * 1024 * 1024

    def __post_init__(self) -> None:
        if min(self.values, self.characters) < 0:
            raise ValueError("an allowance is not negative")


class MemoryUse:
    """What one evaluation holds now, in shares."""

    __slots__ = ("allowance", "characters", "values")

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.values = 0
        self.characters = 0

    def share(self, part: syntax.Node) -> Share:
        """What a part of the query holds, let go when the block ends."""
        return Share(self, part)


class Share:
    """A context manager: what one part of the query holds while its block lasts."""

    __slots__ = ("_characters", "_held", "_part", "_values")

    def __init__(self, held: MemoryUse, part: syntax.Node) -> None:
        self._held = held
        self._part = part
        self._values = 0
        self._characters = 0

    def __enter__(self) -> Share:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._held.values -= self._values
        self._held.characters -= self._characters

    def hold(self, values: int) -> None:
        """Hold more values of tuples; raises :class:`StoreError` (HX6006) when they are more than is allowed."""
        self._values += values
        self._held.values += values
        allowed = self._held.allowance.values
        if self._held.values > allowed:
            raise self._error(
                "HX6006", f"more than {allowed} values would be held at once", "fewer tuples: join what for binds"
            )

    def write(self, text: str) -> str:
        """Hold a text, which is returned; raises :class:`StoreError` (HX6007) when it is longer than is allowed."""
        self._characters += len(text)
        self._held.characters += len(text)
        allowed = self._held.allowance.characters
        if self._held.characters > allowed:
            raise self._error(
                "HX6007", f"what is made at once has more than {allowed} characters", "return smaller items"
            )
        return text

    def _error(self, code: str, message: str, hint: str) -> StoreError:
        return StoreError(Fault(code, message, self._part.position, hint=hint))
