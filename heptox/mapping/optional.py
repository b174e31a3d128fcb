"""Which variables of a rule's body are optional, and how they are bound (``semantics.md`` section 4)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, TypeAlias

from heptox.grammar import Node
from heptox.mapping.model import Condition, OptionalPart, Rule
from heptox.pattern import Comparison, Term, Variable

Report: TypeAlias = Callable[[str, str, Node, str], None]
"""Reports a fault: its code, what is wrong, where, and what would have worked."""

_NOWHERE: Final = Node()
"""The place of what was not read."""


def ordered_parts(variables: Sequence[Variable], parts: Iterable[OptionalPart]) -> tuple[OptionalPart, ...]:
    """Optional parts as rules have them: each after what it hangs from, else as their first variables stand.

    Raises ``ValueError`` where parts hang from each other in a circle.
    """
    place = {variable.name: number for number, variable in enumerate(variables)}
    parents = {variable.name: variable.parent for variable in variables}
    waiting = sorted(parts, key=lambda part: place[part.variables[0]])
    bound = set(place).difference(*(part.variables for part in waiting))
    ordered: list[OptionalPart] = []
    while waiting:
        ready = (part for part in waiting if _hangs_from(part, parents) in bound)
        part = next(ready, None)
        if part is None:
            raise ValueError("optional parts hang from each other in a circle")
        ordered.append(part)
        bound.update(part.variables)
        waiting.remove(part)
    return tuple(ordered)


def _hangs_from(part: OptionalPart, parents: Mapping[str, str | None]) -> str | None:
    return part.conditions[0].left.variable if part.conditions else parents[part.variables[0]]


def is_sayable(rule: Rule) -> bool:
    """Whether ``->?`` and ``=?`` in a body say just the optional parts that the rule has.

    They say none that is entered by a link below anything but the root, for what hangs there is bound with it.
    """
    entered = {part.variables[0]: _NOWHERE for part in rule.optional if not part.conditions}
    links = [(part.conditions[0], _NOWHERE) for part in rule.optional if part.conditions]
    inner = [(condition, _NOWHERE) for part in rule.optional for condition in part.conditions[1:]]
    conditions = [*((condition, _NOWHERE) for condition in rule.conditions), *inner]
    body = Body(rule.variables, entered, links, conditions, lambda *_: None)
    said = body.optional(_NOWHERE)
    return said is not None and {_meaning(part) for part in said} == {_meaning(part) for part in rule.optional}


def _meaning(part: OptionalPart) -> Hashable:
    return frozenset(part.variables), part.conditions[:1], frozenset(part.conditions[1:])


@dataclass(slots=True)
class Body:
    """The variables of a body, in the order of the source schema, by what is bound together.

    ``entered`` are those written with ``->?``, and ``links`` the conditions written with ``=?``, each with its place.
    What hangs below the root and is connected by ``=`` is bound together; so is what stands below a variable, down to
    the next ``->?``.
    """

    variables: Sequence[Variable]
    entered: Mapping[str, Node]
    links: Sequence[tuple[Comparison, Node]]
    conditions: Sequence[tuple[Condition, Node]]
    report: Report
    _groups: dict[str, str] = field(default_factory=dict)
    """For each variable, the first of those that it is bound with."""
    _entries: dict[str, tuple[Comparison, Node]] = field(default_factory=dict)

    def optional(self, at: Node) -> tuple[OptionalPart, ...] | None:
        """The optional parts; ``None`` after reporting why they cannot be, or that parts are not connected, ``at`` the
        body.
        """
        self._group()
        sound = [self._enters(link, place) for link, place in self.links]
        sound += [self._is_chain(name) for name in self.entered]
        if not all(sound) or self._has_circle() or not self._is_connected(at):
            return None
        return ordered_parts(self.variables, (self._part(group) for group in (*self.entered, *self._entries)))

    def _group(self) -> None:
        root = self.variables[0].name
        for variable in self.variables:
            parent = variable.parent
            begins = parent is None or parent == root or variable.name in self.entered
            self._groups[variable.name] = variable.name if begins else self._groups[str(parent)]
        for left, right in self._equalities():
            one, other = self._groups[left.variable], self._groups[right.variable]
            if not {one, other} & {root, *self.entered}:
                self._groups = {name: one if group == other else group for name, group in self._groups.items()}

    def _equalities(self) -> Iterator[tuple[Term, Term]]:
        for condition, _ in self.conditions:
            if isinstance(condition, Comparison) and isinstance(condition.right, Term):
                yield condition.left, condition.right

    def _enters(self, link: Comparison, at: Node) -> bool:
        """Whether a ``=?`` leads into a part of its own, which then is entered by it."""
        assert isinstance(link.right, Term)
        group = self._groups[link.right.variable]
        name = f"${link.right.variable}"
        if group == self._groups[link.left.variable]:
            message = f"${link.left.variable} and {name} are bound together: nothing is optional there"
            return self._refuse(message, at, "write =")
        if group == self.variables[0].name:
            return self._refuse(f"{name} is the root, which is always there", at, "write the other side to the right")
        if group in self.entered:
            return self._refuse(f"{name} is optional by ->? already", at, "=? leads to a node below the root, with ->")
        if group in self._entries:
            hint = "keep one, and bind another node with variables of its own for the other"
            return self._refuse(f"two =? lead to ${group}", at, hint)
        self._entries[group] = link, at
        return True

    def _refuse(self, message: str, at: Node, hint: str) -> bool:
        self.report("HX4035", message, at, hint)
        return False

    def _above(self, group: str) -> str | None:
        """What a group hangs from; ``None`` for what is required."""
        if group in self._entries:
            return self._groups[self._entries[group][0].left.variable]
        if group in self.entered:
            parent = next(variable.parent for variable in self.variables if variable.name == group)
            return self._groups[str(parent)]
        return None

    def _has_circle(self) -> bool:
        for group, (_, at) in self._entries.items():
            seen = {group}
            above = self._above(group)
            while above is not None and above not in seen:
                seen.add(above)
                above = self._above(above)
            if above is not None:
                message = f"${group} is found by =? from what is itself found by ${group}"
                return not self._refuse(message, at, "begin at a node that must be there")
        return False

    def _is_chain(self, group: str) -> bool:
        own = self._own(group)
        for above, below in pairwise(own):
            if below.parent != above.name:
                message = f"${above.name} and ${below.name} repeat side by side below ->?"
                return self._refuse(message, self.entered[group], f"write ->? for ${below.name} too")
        return True

    def _is_connected(self, at: Node) -> bool:
        """Whether parts that repeat side by side below the root are connected; ``=?`` connects what it leads to."""
        root = self.variables[0].name
        tops = [variable.name for variable in self.variables if variable.parent == root]
        apart = list(dict.fromkeys(self._groups[top] for top in tops if self._groups[top] not in self._entries))
        if len(apart) < 2:
            return True
        self.report("HX4034", f"nothing connects ${apart[0]} and ${apart[1]}", at, "add an equality of a leaf of each")
        return False

    def _own(self, group: str) -> list[Variable]:
        return [variable for variable in self.variables if self._groups[variable.name] == group]

    def _part(self, group: str) -> OptionalPart:
        names = tuple(variable.name for variable in self._own(group))
        if group in self.entered:
            return OptionalPart(names)
        inner = [
            Comparison("=", left, right)
            for left, right in self._equalities()
            if left.variable in names and right.variable in names
        ]
        return OptionalPart(names, (self._entries[group][0], *inner))
