"""What a translation is made of, and what it reports."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from heptox.checks import Check
from heptox.errors import Fault, GrammarError, TranslationError
from heptox.grammar import Expression, print_query, render
from heptox.mapping import Mapping, Rule
from heptox.pattern import Constraints, Member, Query
from heptox.schema import Path
from heptox.xml import NO_PREFIXES, Prefixes

MOST_SECONDS: Final = 1.0
"""Seconds of work that a translation may take: mappings and queries come from others, and the asker waits."""


def in_time(check: Check) -> Check:
    """A check that also ends a translation that has taken its thread more than :data:`MOST_SECONDS`.

    It raises :class:`TranslationError` (HX5009), and what ``check`` does.
    """
    began, worked = time.monotonic(), time.thread_time()

    def checked() -> None:
        check()
        # A thread works no longer than time passes, which is asked for at less cost.
        if time.monotonic() > began + MOST_SECONDS and time.thread_time() > worked + MOST_SECONDS:
            message = f"to translate it takes longer than {MOST_SECONDS:g} seconds"
            hint = "ask for less at a time: join fewer variables, or ask for each part of a union by itself"
            raise TranslationError(Fault("HX5009", message, hint=hint))

    return checked


class Direction(StrEnum):
    """Which side of a mapping a query is translated to, and answers."""

    SOURCE = "source"
    TARGET = "target"

    def answered_by(self, mapping: Mapping) -> Mapping:
        """The mapping as it is read for this side: its rules make the asker's documents of this side's."""
        return mapping if self is Direction.SOURCE else mapping.mirrored()


@dataclass(frozen=True, slots=True, order=True)
class Loss:
    """A leaf or node of the asker's schema that is not carried, and what that costs; no path: the query itself."""

    path: Path
    effect: str
    is_remark: bool = False
    """Whether no answer lacks anything for it."""
    name: str = field(default="", compare=False, repr=False)
    """How a text has the path, where that is not its steps with slashes between."""

    def __str__(self) -> str:
        return f"{self.name or '/'.join(self.path)}: {self.effect}" if self.path else self.effect


NO_SLOT: Final = "no arrow supplies it: its place in the answer stays empty"
"""What a loss says of what stands in a constructor."""

INVENTED: Final = "no arrow supplies it: it tells nodes apart, and has no value to return"
"""What a loss says of an identifier that exchange makes up: there is something in its place, and no answer has it."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a member over the answering documents was made of: a member of the asker's with every node explicit, and the
    rule chosen for each of its lowest variables.
    """

    asked: Member
    rules: tuple[tuple[str, Rule], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a translation as ``--explain`` shows it: its name, the query after it, its documents, and the origins
    of each member, none before rules are applied. ``prefixes`` are those of the names in texts.
    """

    name: str
    query: Query
    constraints: Constraints
    origins: tuple[tuple[Origin, ...], ...]
    prefixes: Prefixes = NO_PREFIXES

    @property
    def members(self) -> tuple[str, ...]:
        """The members as expressions; one that the fragment has no steps for is reported as such."""
        return tuple(map(self._shown, self.query.members))

    def _shown(self, member: Member) -> str:
        try:
            return print_query(render(Query((member,)), self.constraints), self.prefixes)
        except GrammarError as error:
            return f"(: not to be written as a query: {error.faults[0].message} :)"


@dataclass(frozen=True, slots=True)
class Translation:
    """A query in the other schema's words.

    ``query`` is the expression, ``text`` the same printed; an empty translation is ``()`` with at least one loss.
    ``pattern`` is the model that peers exchange.
    """

    query: Expression
    text: str
    pattern: Query
    losses: tuple[Loss, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing of the query can be asked there."""
        return not self.pattern.members

    @property
    def returns_invented(self) -> bool:
        """Whether items ask for identifiers that exchange makes up: they are left out, and Definition 1 is silent."""
        return any(loss.effect == INVENTED for loss in self.losses)
