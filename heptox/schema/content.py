"""Content models as automata: which child may stand next in an element, and whether it may end there.

An automaton has a node for each name in the content model. Its states are sets of nodes, made when a document first
reaches them: one node each where the model is deterministic, as XML 1.0 demands, and right where it is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from heptox.schema.model import Element, Particle


@dataclass(slots=True, eq=False)
class _Node:
    """Goes on to ``following`` once a child called ``name`` has been read; without a name, nothing has to be."""

    name: str = ""
    following: list[_Node] = field(default_factory=list)


_END: Final = _Node()


@dataclass(slots=True, eq=False)
class ContentState:
    """What may follow the children of an ``element`` that have been read.

    ``after`` leads from the name of the next child to the state behind it, as far as a document has been there; ask
    :meth:`step` for others. ``is_final``: the element may end.
    """

    element: Element
    is_final: bool
    after: dict[str, ContentState]
    _nodes: frozenset[_Node]
    _states: dict[frozenset[_Node], ContentState]

    def step(self, name: str) -> ContentState | None:
        """The state behind a child called ``name``; ``None`` where none may stand there."""
        behind = [following for node in self._nodes if node.name == name for following in node.following]
        if not behind:
            return None
        found = self.after[name] = _state(self.element, behind, self._states)
        return found

    def expected(self) -> list[str]:
        """The children that may stand next, in the order of the schema."""
        names = {node.name for node in self._nodes}
        return [child.name for child in self.element.children if child.name in names]

    def lost(self) -> ContentState:
        """The state in which each child may stand that the element may have anywhere; it may end at once."""
        found = lost_state(self.element)
        found.after = {child.name: found for child in self.element.children}
        return found


def first_state(element: Element) -> ContentState:
    """The state before the first child of an element.

    Raises ``ValueError`` where the content model of an element with children is not known.

    >>> from heptox.schema import parse_dtd
    >>> state = first_state(parse_dtd("<!ELEMENT a (b?, c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>", "a").elements["a"])
    >>> state.expected(), state.is_final, state.step("c").is_final, state.step("c").step("b")
    (['b', 'c'], False, True, None)
    """
    if element.children and element.content is None and not element.open:
        raise ValueError(f"the content model of {element.name} is not known")
    return _state(element, [_END if element.content is None else _entry(element.content, _END)], {})


def lost_state(element: Element) -> ContentState:
    """A state in which no child is expected, and the element may end."""
    return ContentState(element, is_final=True, after={}, _nodes=frozenset(), _states={})


def _state(element: Element, reached: Iterable[_Node], states: dict[frozenset[_Node], ContentState]) -> ContentState:
    """The state in which these nodes, and those behind them for which nothing has to be read, may be next."""
    found: set[_Node] = set()
    waiting = list(reached)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            if not node.name:
                waiting += node.following
    key = frozenset(node for node in found if node.name or node is _END)
    if key not in states:
        states[key] = ContentState(element, _END in key, {}, key, states)
    return states[key]


def _entry(particle: Particle, behind: _Node) -> _Node:
    """The node from which a part of a content model is read, up to the node ``behind`` it."""
    entry, once = _Node(), _Node(following=[behind])
    if particle.kind == "name":
        entry.following = [_Node(particle.name, [once])]
    elif particle.kind == "choice":
        entry.following = [_entry(member, once) for member in particle.members]
    else:
        inner = once
        for member in reversed(particle.members):
            inner = _entry(member, inner)
        entry.following = [inner]
    if particle.occurrence.repeats:
        once.following.append(entry)
    if not particle.occurrence.required:
        entry.following.append(behind)
    return entry
