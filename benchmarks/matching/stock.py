"""Experiment 1 of Tian et al.: flat stock messages, subscriptions to one symbol with four inequalities.

Everything is drawn as columns, and text is written from them, so that the same data can be given to whatever reads
text and to a join written by hand. A number of the columns is exactly the one that its text stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

FIELDS: Final = ("price", "open", "change", "low", "high", "volume")
"""The leaves that hold a number, in the order of the columns of values."""

OPERATORS: Final = ("<", ">")
INEQUALITIES: Final = 4
_CENTS: Final = 1_000_000
"""Values are so many hundredths at most."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Columns of ``n`` messages: ``symbol`` (n), the number of its symbol, and ``values`` (n, 6), as :data:`FIELDS`."""

    symbol: Integers
    values: Floats

    def texts(self) -> Iterator[str]:
        """The messages as documents."""
        form = "".join(f"<{name}>%.2f</{name}>" for name in FIELDS)
        whole = f"<stock><symbol>%s</symbol>{form}</stock>"
        for symbol, values in zip(self.symbol.tolist(), self.values.tolist(), strict=True):
            yield whole % (symbol_name(symbol), *values)


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """Columns of ``n`` subscriptions: the symbol's number (n), and of four inequalities the number of the field in
    :data:`FIELDS`, of the operator in :data:`OPERATORS`, and the constant, (n, 4) each; fields do not repeat."""

    symbol: Integers
    field: Integers
    operator: Integers
    constant: Floats

    def texts(self) -> Iterator[str]:
        """The subscriptions as XPaths, in the manner of Figure 5.1."""
        tests = [[f"/stock/{name}/text() {operator} %.2f" for operator in OPERATORS] for name in FIELDS]
        columns = (self.symbol, self.field, self.operator, self.constant)
        for symbol, fields, operators, constants in zip(*(column.tolist() for column in columns), strict=True):
            inequalities = [
                tests[field][operator] % constant
                for field, operator, constant in zip(fields, operators, constants, strict=True)
            ]
            yield f'/stock/symbol/text() = "{symbol_name(symbol)}" and {" and ".join(inequalities)}'

    def matched_by(self, messages: Messages) -> int:
        """How many notifications there are, counted symbol by symbol: what other counts are checked against."""
        order = np.argsort(self.symbol, kind="stable")
        bounds = np.searchsorted(self.symbol[order], np.arange(int(self.symbol.max(initial=0)) + 2))
        found = 0
        for symbol, values in zip(messages.symbol.tolist(), messages.values, strict=True):
            if symbol + 1 < len(bounds):
                rows = order[bounds[symbol] : bounds[symbol + 1]]
                given, constant = values[self.field[rows]], self.constant[rows]
                holds = np.where(self.operator[rows] == 0, given < constant, given > constant)
                found += int(holds.all(axis=1).sum())
        return found


def symbol_name(number: int) -> str:
    """A symbol of four or more letters.

    >>> symbol_name(0), symbol_name(27)
    ('AAAA', 'AABB')
    """
    letters = ""
    while number or len(letters) < 4:
        number, letter = divmod(number, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def stock_workload(
    subscriptions: int = 1_000_000,
    messages: int = 10_000,
    *,
    notifications: float = 10_000,
    symbols: int = 500,
    seed: int = 0,
) -> tuple[Messages, Subscriptions]:
    """Messages and subscriptions of which about ``notifications`` pairs match.

    All values are uniform and independent. Each inequality holds with a probability of its own, such that the four of
    a subscription together have the mean that is asked for.

    Raises ``ValueError`` for more notifications than there are pairs with one symbol.

    >>> messages, subscriptions = stock_workload(10_000, 1_000, notifications=2_000, symbols=20)
    >>> subscriptions.matched_by(messages)
    2070
    """
    pairs = subscriptions * messages / symbols
    if not 0 < notifications <= pairs:
        raise ValueError(f"{pairs:.0f} pairs have one symbol: there cannot be {notifications:.0f} notifications")
    random: Any = np.random.default_rng(seed)
    published = Messages(
        random.integers(symbols, size=messages), random.integers(_CENTS, size=(messages, len(FIELDS))) / 100
    )
    mean = (notifications / pairs) ** (1 / INEQUALITIES)
    spread = min(mean, 1 - mean)
    probability = random.uniform(mean - spread, mean + spread, size=(subscriptions, INEQUALITIES))
    operator = random.integers(len(OPERATORS), size=probability.shape)
    field = np.argsort(random.random((subscriptions, len(FIELDS))), axis=1)[:, :INEQUALITIES]
    bound = np.rint(np.where(operator == 0, probability, 1 - probability) * _CENTS) / 100
    return published, Subscriptions(random.integers(symbols, size=subscriptions), field, operator, bound)
