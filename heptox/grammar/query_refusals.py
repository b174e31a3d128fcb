"""The faults of a query that is being parsed, and what its expressions can refer to."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Final, ParamSpec, TypeVar

from lark import Token

from heptox.checks import Check
from heptox.errors import Fault, GrammarError, Position
from heptox.grammar.name_table import NO_NAMES, NameTable, standing_for
from heptox.grammar.parsing import fault_at, offset_position, position_of
from heptox.grammar.query_literals import literal_value
from heptox.grammar.query_outside import NOTHING, outside_name
from heptox.grammar.query_parts import Part
from heptox.xml import UnboundPrefixError, split_name

_MOST_FAULTS: Final = 100
"""Faults of one text that are looked for: each is shown with its line."""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression can refer to: the variables that are bound, and whether there is a context node."""

    variables: frozenset[str] = frozenset()
    in_predicate: bool = False

    def bind(self, variable: str) -> Scope:
        """The scope after a variable is bound."""
        return replace(self, variables=self.variables | {variable})


class RefusedError(Exception):
    """A fault was recorded; the construct around it goes on without this part."""


class Refusals:
    """Collects the faults of one text, and calls ``check`` for each part of it. A method whose part is refused raises
    :class:`RefusedError`.
    """

    def __init__(self, text: str, file: str | None, check: Check, names: NameTable = NO_NAMES) -> None:
        self.text = text
        self.file = file
        self.names = names
        self.faults: list[Fault] = []
        self._check = check

    def attempt(
        self, build: Callable[_Arguments, _Result], *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Result | None:
        """What ``build`` makes, ``None`` where it is refused; so that all faults are found in one run."""
        try:
            return build(*arguments, **named)
        except RefusedError:
            return None

    def position(self, part: Part) -> Position | None:
        """Where a part stands: asked for each part that is kept."""
        self._check()
        return position_of(part, self.file)

    def record(self, code: str, message: str, position: Position | None, hint: str | None = None) -> None:
        """Record a fault; what stands around it goes on."""
        self._add(fault_at(code, message, self.text, position, hint))

    def refused(self, part: Part, construct: str, hint: str | None = None) -> RefusedError:
        """Record that ``construct`` is outside the fragment; to be raised."""
        self.record("HX3002", f"{construct} is outside the query fragment", self.position(part), hint or NOTHING)
        return RefusedError()

    def outside_fault(self, token: Token) -> Fault:
        """The fault of an ``OUTSIDE_`` token."""
        construct, hint = outside_name(token)
        message = f"{construct} is outside the query fragment"
        return fault_at("HX3002", message, self.text, self.position(token), hint or NOTHING)

    def refused_token(self, token: Token) -> RefusedError:
        """Record that the construct of an ``OUTSIDE_`` token is outside the fragment; to be raised."""
        self.record_outside(token)
        return RefusedError()

    def record_outside(self, token: Token) -> None:
        """Record that the construct of an ``OUTSIDE_`` token is outside the fragment; what stands around it goes on."""
        self._add(self.outside_fault(token))

    def _add(self, fault: Fault) -> None:
        self.faults.append(fault)
        if len(self.faults) == _MOST_FAULTS:
            raise self.error()

    def error(self) -> GrammarError:
        """The faults that were recorded, in the order of their positions."""
        return GrammarError(sorted(dict.fromkeys(self.faults), key=lambda fault: fault.position or Position(0, 0)))

    def all_of(self, results: Collection[object]) -> None:
        """Go on only if nothing among ``results`` was refused (``None``)."""
        if any(result is None for result in results):
            raise RefusedError

    def name(self, part: Part, name: str, *, attribute: bool = False) -> str:
        """The expanded name that a name stands for; refused (HX3066) where nothing binds its prefix."""
        if "*" in name and not name.startswith("Q{"):
            raise self.refused(part, f"wildcard {name} as a name", "write the name")
        try:
            return self.names.prefixes.expanded(name, attribute=attribute)
        except UnboundPrefixError as error:
            known = ", ".join(prefix for prefix in self.names.prefixes.namespaces if prefix != "xml")
            hint = f'declare namespace {error} = "..."; at the beginning' + (f"; bound here: {known}" if known else "")
            self.record("HX3066", f"the prefix {error} is not bound", self.position(part), hint)
            raise RefusedError from None

    def names_of(self, part: Part, test: str, *, attribute: bool) -> tuple[str, ...]:
        """The names that ``*:local`` or ``p:*`` stands for; refused where no schema says them, or there is none."""
        prefix, _, local = test.partition(":")
        declared = self.names.declared(attribute=attribute)
        if declared is None:
            raise self.refused(part, f"prefixed wildcard {test}", "name the elements: (a | b) as a step")
        namespace = None if prefix == "*" else split_name(self.name(part, f"{prefix}:x", attribute=True))[0]
        found = standing_for(declared, namespace, None if local == "*" else local)
        if not found:
            what = "attribute" if attribute else "element"
            self.record("HX3041", f"no {what} {test} anywhere in the schema", self.position(part))
            raise RefusedError
        return found

    def plain_name(self, part: Part, name: str) -> str:
        """The name of a variable, refused where it has a prefix."""
        if ":" in name or name.startswith("Q{"):
            raise self.refused(part, f"prefixed name {name}", "variables have names without prefixes")
        return name

    def check_variable(self, token: Token, scope: Scope) -> None:
        """Refuse (HX3004) a variable that is not bound."""
        if str(token) not in scope.variables:
            known = ", ".join(sorted(scope.variables))
            hint = f"bound here: {known}" if known else "bind it with for"
            self.record("HX3004", f"variable {token} is not bound", self.position(token), hint)
            raise RefusedError

    def check_context(self, part: Part, scope: Scope, construct: str) -> None:
        """Refuse what needs a context item outside a predicate."""
        if not scope.in_predicate:
            raise self.refused(part, construct, "begin the path with /, // or a variable")

    def resolved(self, token: Token, offset: int, raw: str, doubled: str) -> str:
        """The value of literal text that stands ``offset`` characters after the beginning of its token."""
        value, malformed = literal_value(raw, doubled)
        for place in malformed:
            position = offset_position(self.text, (token.start_pos or 0) + offset + place, self.file)
            self.record("HX3005", "malformed or unknown reference", position, "write &amp; for the character &")
        if malformed:
            raise RefusedError
        return value
