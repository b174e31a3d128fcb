"""Covering: does one subscription match all that another matches? (``routing.md``, Covering)

Source: section 5.1 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks", whose
covering algorithm for ``//`` errs both ways; ``docs/routing.md`` has the proofs of what replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from benchmarks.routing.advertised_paths import uncovered_path
from benchmarks.routing.counterexamples import shortest_counterexample
from heptox.matching import LinearPath
from heptox.pattern import TreePattern
from heptox.routing.advertisement import Advertisement
from heptox.routing.linear import branch_paths, linear_path
from heptox.routing.path_homomorphism import covers_any_document
from heptox.routing.patience import MOST_STEPS, UndecidedError
from heptox.routing.pattern_homomorphism import homomorphism


class Strength(StrEnum):
    """Over which documents one subscription covers another. The second holds where the first does."""

    ANY_DOCUMENT = "any document"
    ADVERTISED_PATHS = "advertised paths"


@dataclass(frozen=True, slots=True)
class Covering:
    """A decision.

    Where one does not cover the other there is a ``counterexample``, the shortest path that the one does not match and
    the other does. Where there is none, ``reason`` says why the answer is not certain, or not shown.
    """

    covers: bool
    counterexample: str | None = None
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.covers


class Coverings:
    """Decides covering: over the paths of an advertisement, or over any document where there is none.

    >>> from heptox.routing.advertisement import advertised
    >>> from heptox.grammar import parse_subscription
    >>> from heptox.schema import parse_dtd
    >>> advertisement = advertised(parse_dtd("<!ELEMENT a (b, c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>"))
    >>> general, special = map(parse_subscription, ("/a/b", "//c"))
    >>> for over in (None, advertisement): print(Coverings(over).subscription(general, special).counterexample)
    /c
    /a/c
    """

    def __init__(self, advertisement: Advertisement | None = None) -> None:
        self.advertisement = advertisement

    # linear paths

    def path(self, general: LinearPath, special: LinearPath) -> Covering:
        """Whether a linear path covers another; exact."""
        if covers_any_document(general, special):
            return Covering(True)
        try:
            return self._search(general, special)
        except UndecidedError:
            return _undecided()

    def _search(self, general: LinearPath, special: LinearPath) -> Covering:
        if self.advertisement is None:
            found = shortest_counterexample(general, special)
        else:
            found = uncovered_path(self.advertisement, general, special)
        return Covering(True) if found is None else Covering(False, str(found))

    # tree patterns and subscriptions

    def pattern(self, general: TreePattern, special: TreePattern) -> Covering:
        """Whether a tree pattern covers another: exact for linear paths, else only yes is certain.

        What the general pattern asks below the document node is looked at one by one. Over what is advertised, a linear
        path of it may also cover a branch of the special pattern: whatever matches the pattern matches its branches.
        """
        first, second = linear_path(general), linear_path(special)
        if first is not None and second is not None:
            return self.path(first, second)
        try:
            if all(self._part(TreePattern((node,)), special) for node in general.children):
                return Covering(True)
        except UndecidedError:
            return _undecided()
        return Covering(False, reason="no homomorphism; with branches or conditions it is not certain")

    def _part(self, general: TreePattern, special: TreePattern) -> bool:
        if homomorphism(general, special):
            return True
        path = linear_path(general)
        if self.advertisement is None or path is None:
            return False
        return any(self.path(path, branch).covers for branch in branch_paths(special))

    def subscription(self, general: tuple[TreePattern, ...], special: tuple[TreePattern, ...]) -> Covering:
        """Whether a subscription covers another: each alternative of the one has to be covered by one of the other's.

        Exact where both are linear paths, else only yes is certain: alternatives may cover together.
        """
        for pattern in special:
            found = [self.pattern(each, pattern) for each in general]
            if not any(found):
                return found[0] if len(general) == 1 else _uncertain(pattern)
        return Covering(True)


def _undecided() -> Covering:
    return Covering(False, reason=f"not decided within {MOST_STEPS} steps")


def _uncertain(pattern: TreePattern) -> Covering:
    return Covering(False, reason=f"no alternative alone covers {pattern}; several may together")
