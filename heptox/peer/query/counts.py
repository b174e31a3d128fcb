"""What a peer tells of paths that are for counts only: aggregates of groups that are large enough."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from heptox.errors import Fault, PeerError
from heptox.grammar import Expression, syntax
from heptox.peer.wire.messages import PeerId
from heptox.shell import asks_for_extremes, brings_rows, with_sources

MOST_COUNTS: Final = 100
"""Different questions for counts that one neighbour gets answered in a day."""
_DAY: Final = 86_400.0
_MOST_ASKERS: Final = 1000


class CountsOnly:
    """The paths of which only counts are told, and the ``least`` group of each; and what neighbours have asked of them.

    ``now`` is a clock that never goes back, in seconds.
    """

    def __init__(self, least: Mapping[str, int] | None = None, now: Callable[[], float] = time.monotonic) -> None:
        self.least = least or {}
        self._now = now
        self._asked: OrderedDict[PeerId, dict[bytes, float]] = OrderedDict()

    def of(self, paths: frozenset[str]) -> int:
        """The least group where a query asks for these paths; 0 where none of them is for counts."""
        return max((self.least.get(path, 0) for path in paths), default=0)

    def check(self, asker: PeerId, key: bytes, query: Expression) -> None:
        """Raise :class:`PeerError` where a query for counts is not answered: HX7108 as :func:`with_sources_of`, and
        for one that asks for the least or greatest of values; HX7109 where a neighbour asks more than
        :data:`MOST_COUNTS` in a day, for what two answers differ by may be one node.
        """
        with_sources_of(query)
        if asks_for_extremes(query):
            message = "of what is for counts only, no least or greatest value is told"
            raise PeerError(Fault("HX7108", message, hint="ask for count, sum or avg"))
        now = self._now()
        asked = self._asked.setdefault(asker, {})
        self._asked.move_to_end(asker)
        for old in [each for each, at in asked.items() if at < now - _DAY]:
            del asked[old]
        if key not in asked and len(asked) >= MOST_COUNTS:
            message = f"{MOST_COUNTS} different questions of what is for counts only are answered in a day"
            raise PeerError(Fault("HX7109", message, hint="ask the same again, or tomorrow"))
        asked[key] = now
        while len(self._asked) > _MOST_ASKERS:
            self._asked.popitem(last=False)


def with_sources_of(query: Expression) -> Expression:
    """A query for rows, of whose items each says of which node of the documents it is.

    Raises :class:`PeerError` (HX7108) where an item may depend on what is not in that node.
    """
    parts = query.items if isinstance(query, syntax.Sequence) else (query,)
    made = tuple(map(_with_source_of, parts))
    return replace(query, items=made) if isinstance(query, syntax.Sequence) else made[0]


def _with_source_of(query: Expression) -> Expression:
    if isinstance(query, syntax.Flwor) and isinstance(query.result, syntax.ElementConstructor) and brings_rows(query):
        loops = [clause for clause in query.clauses if isinstance(clause, syntax.For)]
        if len(loops) == 1 and _looks_into(query, loops[0]):
            return with_sources(query, loops[0].variable)
    message = "of what is for counts only, it counts nodes by what others hold"
    raise PeerError(Fault("HX7108", message, hint="ask for one kind of node, with conditions on it alone"))


def _looks_into(query: syntax.Flwor, loop: syntax.For) -> bool:
    """Whether a query looks at nothing but what is in the nodes of its loop."""
    if any(step.predicates for step in loop.source.steps[:-1]):
        return False
    nodes = list(syntax.nodes(query))
    # which document they are of depends on nothing that is in it
    roots = [node.argument for node in nodes if isinstance(node, syntax.NodeIdentity) and _is_root(node.argument)]
    of_documents = [node for node in nodes if isinstance(node, syntax.PathExpression) and not _is_relative(node)]
    return all(path is loop.source or any(path is root for root in roots) for path in of_documents)


def _is_relative(path: syntax.PathExpression) -> bool:
    return path.start not in ("/", syntax.COLLECTION)


def _is_root(path: syntax.PathExpression) -> bool:
    return path.start == "/" and len(path.steps) == 1 and path.steps[0].axis == "child" and not path.steps[0].predicates
