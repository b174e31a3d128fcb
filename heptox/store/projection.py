"""What a query can need of a document: the rest is left out before it is read into memory.

It is the projection of documents (Marian and Siméon, *Projecting XML documents*, 2003), by the names of elements
instead of by paths. Elements that the query walks through are kept with their attributes, and so are those that can
stand above them; elements whose value or whole content can matter are kept with all that is in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from heptox.grammar import syntax
from heptox.schema import SchemaGraph
from heptox.store.markup import Markup
from heptox.xml import end_of_last_element

_TEXT = "text()"


@dataclass(frozen=True, slots=True)
class Projection:
    """The names of elements that a query walks through, and those of elements of which it may need all."""

    names: frozenset[str]
    whole: frozenset[str]


def needed(expression: syntax.Expression) -> Projection | None:
    """What a query needs; ``None`` where it names no names, as by ``*``.

    >>> from heptox.grammar import parse_query
    >>> found = needed(parse_query("for $i in //item where $i/mail/date = '1' return <i>{$i/@id}{$i/name}</i>"))
    >>> sorted(found.names), sorted(found.whole)
    (['date', 'item', 'mail', 'name'], ['date', 'name'])
    """
    looker = _Looker(expression)
    return None if looker.anything else Projection(frozenset(looker.names), frozenset(looker.whole))


class _Looker:
    def __init__(self, expression: syntax.Expression) -> None:
        self.names: set[str] = set()
        self.whole: set[str] = set()
        self.anything = False
        self._sources: dict[str, list[tuple[syntax.PathExpression, frozenset[str]]]] = {}
        self._bound = [each for each in syntax.nodes(expression) if isinstance(each, syntax.For | syntax.Let)]
        for clause in self._bound:
            self._sources.setdefault(clause.variable, []).append((clause.source, frozenset()))
        self._look(expression, frozenset())

    def _look(self, part: object, context: frozenset[str]) -> None:
        """Look at a part of the query, in a predicate with the names of the context node."""
        match part:
            case syntax.For(_, source) | syntax.Let(_, source):
                # of what a variable stands for more is needed only where it is used, which is a path of its own
                if source.steps and source.steps[-1].names == (_TEXT,):
                    self.whole |= self._ends(source, context)
                self._look_at_steps(source, context)
            case syntax.NodeIdentity(argument):
                self._look_at_steps(argument, context)
            case syntax.PathExpression(steps=steps):
                if not steps or not steps[-1].axis.endswith("attribute"):
                    self.whole |= self._ends(part, context)
                self._look_at_steps(part, context)
            case syntax.Node():
                for each in fields(part):
                    self._look(getattr(part, each.name), context)
            case tuple():
                for each in part:
                    self._look(each, context)

    def _look_at_steps(self, path: syntax.PathExpression, context: frozenset[str]) -> None:
        for length, step in enumerate(path.steps, 1):
            if step.names == ("*",) or step.axis == "descendant-attribute" or (length == 1 and _is_any_text(path)):
                self.anything = True
            elif step.axis != "attribute" and step.names != (_TEXT,):
                self.names |= set(step.names)
            here = syntax.PathExpression(path.start, path.steps[:length])
            inside = frozenset[str]() if step.axis == "attribute" else self._ends(here, context)
            for predicate in step.predicates:
                self._look(predicate, inside)

    def _ends(
        self, path: syntax.PathExpression, context: frozenset[str], seen: frozenset[str] = frozenset()
    ) -> frozenset[str]:
        """The names of the elements at which a path ends, or whose text or attribute it ends at."""
        for step in reversed(path.steps):
            if step.axis != "attribute" and step.names != (_TEXT,):
                return frozenset(step.names)
        if path.start in seen or not path.start.startswith("$"):
            return context
        sources = self._sources.get(path.start, [])
        return frozenset[str]().union(*(self._ends(source, at, seen | {path.start}) for source, at in sources))


def _is_any_text(path: syntax.PathExpression) -> bool:
    return path.start in ("/", syntax.COLLECTION) and path.steps[0].names == (_TEXT,)


def projected(
    blocks: Iterable[Markup], graph: SchemaGraph, types: Iterable[str], wanted: Projection
) -> Iterator[bytes]:
    """The text of a document that fits a schema, without what is not needed.

    ``types`` are the names of the types in the order of their numbers in the blocks.
    """
    numbered = list(types)
    whole = np.array([name in wanted.whole for name in numbered])
    kept = whole | np.array([name in _above(graph, wanted.names) for name in numbered])
    open_whole = 0
    for block in blocks:
        changes = np.where(whole[block.types], block.kinds, 0)
        after = open_whole + np.cumsum(changes, dtype=np.int64)
        inside = np.maximum(after, after - changes) > 0
        yield _cut(block, kept[block.types] | inside, after > 0, begins_inside=open_whole > 0)
        open_whole = int(after[-1])


class TooLongError(Exception):
    """More would be held in memory than is allowed."""


def whole_elements(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    """The same text in pieces that end where an element does.

    Raises :class:`TooLongError` when no element ends for over ``most`` bytes.

    >>> list(whole_elements([b"<a>x<b/", b"><c>", b"</c></a>"], 100))
    [b'<a>x<b/>', b'<c></c></a>']
    """
    rest = b""
    for piece in pieces:
        text = rest + piece
        cut = end_of_last_element(text)
        if cut:
            yield text[:cut]
        rest = text[cut:]
        if len(rest) > most:
            raise TooLongError


def _above(graph: SchemaGraph, names: frozenset[str]) -> frozenset[str]:
    """Some element types, and all in which one of them can stand at any depth."""
    found = set(names)
    waiting = list(names)
    parents: dict[str, list[str]] = {}
    for element in graph.elements.values():
        for child in element.children:
            parents.setdefault(child.name, []).append(element.name)
    while waiting:
        above = set(parents.get(waiting.pop(), ())) - found
        found |= above
        waiting += above
    return frozenset(found | {graph.root})


def _cut(
    block: Markup,
    tags: np.ndarray[tuple[int], np.dtype[np.bool_]],
    texts: np.ndarray[tuple[int], np.dtype[np.bool_]],
    *,
    begins_inside: bool,
) -> bytes:
    """The text of a block with some of its tags, and the texts after some."""
    changes = np.zeros(len(block.text) + 1, np.int8)
    changes[0] += begins_inside
    keeps_before = np.concatenate([[begins_inside], texts[:-1]]).astype(np.int8)
    changes[block.begins] += tags.astype(np.int8) - keeps_before
    changes[block.ends + 1] += texts.astype(np.int8) - tags.astype(np.int8)
    kept = np.cumsum(changes[:-1], dtype=np.int8) > 0
    return np.frombuffer(block.text, np.uint8)[kept].tobytes()
