"""What a peer under load has acknowledged, and what it was about to do when it was killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


@dataclass(slots=True)
class Register(Generic[_Value]):
    """What is held under names, by what was acknowledged. Each name is changed by one thread.

    ``counts`` tells the changes that were acknowledged, by name and what they were; ``cut_off`` those that may have
    been carried out although nobody was told.
    """

    acknowledged: dict[str, _Value] = field(default_factory=dict)
    pending: dict[str, tuple[str, _Value | None]] = field(default_factory=dict)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    cut_off: Counter[tuple[str, str]] = field(default_factory=Counter)

    @contextmanager
    def changing(self, name: str, what: str, value: _Value | None) -> Iterator[None]:
        """A change to ``value``, ``None`` for nothing any more: acknowledged when the block ends, else perhaps done."""
        self.pending[name] = what, value
        yield
        del self.pending[name]
        self.counts[name, what] += 1
        self._set(name, value)

    def settle(self, found: Mapping[str, _Value]) -> list[str]:
        """What is wrong with what is held after a kill; what was cut off is from now on as it was found."""
        wrong = []
        for name in sorted({*found, *self.acknowledged, *self.pending}):
            possible = [self.acknowledged.get(name)]
            if name in self.pending:
                what, value = self.pending.pop(name)
                self.cut_off[name, what] += 1
                possible.append(value)
            if found.get(name) not in possible:
                wrong.append(f"{name} is {_shown(found.get(name))}, not {' or '.join(map(_shown, possible))}")
            self._set(name, found.get(name))
        return wrong

    def miscounted(self, found: Counter[tuple[str, str]]) -> list[str]:
        """What is wrong with how often changes are written down: once each, and those cut off at most once."""
        return [
            f"{what} {name}: {found[name, what]} lines for {self.counts[name, what]} acknowledged, "
            f"{self.cut_off[name, what]} cut off"
            for name, what in sorted({*found, *self.counts})
            if not 0 <= found[name, what] - self.counts[name, what] <= self.cut_off[name, what]
        ]

    def _set(self, name: str, value: _Value | None) -> None:
        if value is None:
            self.acknowledged.pop(name, None)
        else:
            self.acknowledged[name] = value


def _shown(value: object) -> str:
    return f"{len(value)} bytes ({value[:60]!r})" if isinstance(value, bytes) else repr(value)
