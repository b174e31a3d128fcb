"""How much the evaluation of a query may hold at a time, so that no query uses up the memory of the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from types import TracebackType
from typing import Final

from heptox.errors import Fault, StoreError
from heptox.grammar import syntax

VALUE_BYTES: Final = 128
"""What one value of a tuple takes up, about."""
NODE_BYTES: Final = 8
"""What a node takes up in a list."""
_STEP: Final = 1024 * 1024
"""Bytes that an evaluation takes of a pool at once: to ask for each text would take longer than to make it."""


class Pool:
    """What several evaluations may hold together: ``most`` bytes, which the pool ``within`` counts, too.

    ``kept`` bytes of them are for those pools within it that hold no more than ``little`` each. For several threads.

    >>> whole = Pool(100)
    >>> with Pool(80, whole).taken(80), Pool(80, whole).taken(30):
    ...     pass
    Traceback (most recent call last):
    heptox.errors.StoreError: HX6019 evaluations would hold more than 100 bytes together (...)
    """

    __slots__ = ("__weakref__", "_held", "_kept", "_little", "_lock", "_most", "_within")

    def __init__(self, most: int, within: Pool | None = None, kept: int = 0, little: int = 0) -> None:
        self._most = most
        self._kept = kept
        self._little = little
        self._within = within
        self._held = 0
        self._lock = Lock()

    def take(self, size: int) -> None:
        """Hold more bytes; raises :class:`StoreError` (HX6019) when there are not so many."""
        self._take(size, 0)

    def _take(self, size: int, whole: int) -> None:
        """Hold more bytes for a pool within this one that holds ``whole`` bytes then."""
        with self._lock:
            most = self._most - (self._kept if whole > self._little else 0)
            if self._held + size > most:
                message = f"evaluations would hold more than {most:,} bytes together"
                raise StoreError(Fault("HX6019", message, hint="take the answers of the others first, or ask for less"))
            if self._within is not None:
                self._within._take(size, self._held + size)
            self._held += size

    def give(self, size: int) -> None:
        """Hold so many bytes no longer."""
        with self._lock:
            if self._within is not None:
                self._within.give(size)
            self._held -= size

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Hold so many bytes while the block lasts."""
        self.take(size)
        try:
            yield
        finally:
            self.give(size)


@dataclass(frozen=True, slots=True)
class Allowance:
    """What one evaluation may hold at a time.

    ``values`` are those of the tuples that wait to be put in order, by ``order by`` or because a join is evaluated in
    another order than it is written: one for each node that a variable stands for, and one for each key; each takes
    about :data:`VALUE_BYTES`. Lists of nodes that are looked through again and again count by their bytes.
    ``characters`` are those of the items that constructors are making, of keys, and of values that are compared again
    and again. All of these, the documents that are read into memory for it, and the rows of a statement come out of the
    ``pool``, where there is one.

    Unless given, they are about 640 MB, and 128 million characters.
    """

    values: int = 5_000_000
    characters: int = 128 * 1024 * 1024
    pool: Pool | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if min(self.values, self.characters) < 0:
            raise ValueError("an allowance is not negative")

    def taken(self, size: int) -> AbstractContextManager[None]:
        """Hold so many bytes of the pool while a block lasts."""
        return nullcontext() if self.pool is None else self.pool.taken(size)


class MemoryUse:
    """What one evaluation holds now, in shares; a context manager: what it took of a pool is given back in the end."""

    __slots__ = ("_taken", "allowance", "characters", "values")

    def __init__(self, allowance: Allowance) -> None:
        self.allowance = allowance
        self.values = 0
        self.characters = 0
        self._taken = 0

    def __enter__(self) -> MemoryUse:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.allowance.pool is not None:
            self.allowance.pool.give(self._taken)

    def take(self) -> None:
        """Take of the pool, if any, what is held now."""
        held = self.values * VALUE_BYTES + self.characters
        if self.allowance.pool is not None and held > self._taken:
            more = held - self._taken + _STEP
            self.allowance.pool.take(more)
            self._taken += more

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
        self._held.take()

    def write(self, text: str) -> str:
        """Hold a text, which is returned; raises :class:`StoreError` (HX6007) when it is longer than is allowed."""
        self._characters += len(text)
        self._held.characters += len(text)
        allowed = self._held.allowance.characters
        if self._held.characters > allowed:
            raise self._error(
                "HX6007", f"what is made at once has more than {allowed} characters", "return smaller items"
            )
        self._held.take()
        return text

    def _error(self, code: str, message: str, hint: str) -> StoreError:
        return StoreError(Fault(code, message, self._part.position, hint=hint))
