"""Covering: does one subscription match all that another matches? (``routing.md``, Covering)

Source: section 5.1 of Hou, Li and Jacobsen, "Routing of XML and XPath queries in data dissemination networks", whose
covering algorithm for ``//`` errs both ways; ``docs/routing.md`` has the proofs of what replaces it.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from heptox.matching import LinearPath
from heptox.pattern import TreePattern
from heptox.routing.advertised_documents import MOST_ELEMENTS, Avoidance, uncovered_document
from heptox.routing.advertised_paths import uncovered_path
from heptox.routing.advertisement import Advertisement
from heptox.routing.counterexamples import MOST_STEPS, UndecidedError, shortest_counterexample
from heptox.routing.linear import branch_paths, linear_path
from heptox.routing.path_homomorphism import covers_any_document
from heptox.routing.pattern_homomorphism import homomorphism

MOST_AVOIDANCES: Final = 1024
"""For how many general paths it is kept where they can be avoided."""


class Strength(StrEnum):
    """Over which documents one subscription covers another. Each strength holds where the ones before it do."""

    ANY_DOCUMENT = "any document"
    ADVERTISED_PATHS = "advertised paths"
    ADVERTISED_DOCUMENTS = "advertised documents"
    """Only where whole documents are routed: what must stand beside a path counts."""


@dataclass(frozen=True, slots=True)
class Covering:
    """A decision, with the strength that was asked for.

    Where one does not cover the other there is a ``counterexample`` that the one does not match and the other does: the
    shortest path, or the smallest document as XML text. Where there is none, ``reason`` says why the answer is not
    certain, or not shown.
    """

    covers: bool
    strength: Strength
    counterexample: str | None = None
    reason: str | None = None

    def __bool__(self) -> bool:
        return self.covers


class Coverings:
    """Decides covering, for an advertisement, or for any document. What was found for one is kept for the next.

    >>> from heptox.routing.advertisement import advertised
    >>> from heptox.grammar import parse_subscription
    >>> from heptox.schema import parse_dtd
    >>> coverings = Coverings(advertised(parse_dtd("<!ELEMENT a (b, c)> <!ELEMENT b EMPTY> <!ELEMENT c EMPTY>")))
    >>> general, special = map(parse_subscription, ("/a/b", "//c"))
    >>> for strength in Strength: print(coverings.subscription(general, special, strength).counterexample)
    /c
    /a/c
    None
    """

    def __init__(self, advertisement: Advertisement | None = None) -> None:
        self.advertisement = advertisement
        self._avoidances: OrderedDict[LinearPath, Avoidance] = OrderedDict()

    # linear paths

    def path(self, general: LinearPath, special: LinearPath, strength: Strength) -> Covering:
        """Whether a linear path covers another; exact.

        Raises ``ValueError`` for a strength that needs an advertisement where there is none.
        """
        if covers_any_document(general, special):
            return Covering(True, strength)
        try:
            return self._search(general, special, strength)
        except UndecidedError:
            return _undecided(strength)

    def _search(self, general: LinearPath, special: LinearPath, strength: Strength) -> Covering:
        if strength is Strength.ANY_DOCUMENT:
            return _decided(strength, shortest_counterexample(general, special))
        if strength is Strength.ADVERTISED_PATHS:
            return _decided(strength, uncovered_path(self._advertised(), general, special))
        document = uncovered_document(self._avoidance(general), special)
        if document is None or document.text is not None:
            return _decided(strength, document and document.text)
        return Covering(
            False, strength, reason=f"the smallest document has {document.size} elements, more than {MOST_ELEMENTS}"
        )

    def _advertised(self) -> Advertisement:
        if self.advertisement is None:
            raise ValueError("covering over what is advertised needs an advertisement")
        return self.advertisement

    def _avoidance(self, general: LinearPath) -> Avoidance:
        found = self._avoidances.get(general)
        if found is None:
            found = self._avoidances[general] = Avoidance(self._advertised(), general)
            if len(self._avoidances) > MOST_AVOIDANCES:
                self._avoidances.popitem(last=False)
        else:
            self._avoidances.move_to_end(general)
        return found

    # tree patterns and subscriptions

    def pattern(self, general: TreePattern, special: TreePattern, strength: Strength) -> Covering:
        """Whether a tree pattern covers another: exact for linear paths, else only yes is certain.

        What the general pattern asks below the document node is looked at one by one. Over what is advertised, a linear
        path of it may also cover a branch of the special pattern: whatever matches the pattern matches its branches.

        Raises ``ValueError`` as :meth:`path`.
        """
        first, second = linear_path(general), linear_path(special)
        if first is not None and second is not None:
            return self.path(first, second, strength)
        try:
            if all(self._part(TreePattern((node,)), special, strength) for node in general.children):
                return Covering(True, strength)
        except UndecidedError:
            return _undecided(strength)
        return Covering(False, strength, reason="no homomorphism; with branches or conditions it is not certain")

    def _part(self, general: TreePattern, special: TreePattern, strength: Strength) -> bool:
        if homomorphism(general, special):
            return True
        path = linear_path(general)
        if strength is Strength.ANY_DOCUMENT or path is None:
            return False
        return any(self.path(path, branch, strength).covers for branch in branch_paths(special))

    def subscription(
        self, general: tuple[TreePattern, ...], special: tuple[TreePattern, ...], strength: Strength
    ) -> Covering:
        """Whether a subscription covers another: each alternative of the one has to be covered by one of the other's.

        Exact where both are linear paths, else only yes is certain: alternatives may cover together.

        Raises ``ValueError`` as :meth:`path`.
        """
        for pattern in special:
            found = [self.pattern(each, pattern, strength) for each in general]
            if not any(found):
                return found[0] if len(general) == 1 else _uncertain(pattern, strength)
        return Covering(True, strength)


def _decided(strength: Strength, counterexample: object) -> Covering:
    return Covering(counterexample is None, strength, None if counterexample is None else str(counterexample))


def _undecided(strength: Strength) -> Covering:
    return Covering(False, strength, reason=f"not decided within {MOST_STEPS} steps")


def _uncertain(pattern: TreePattern, strength: Strength) -> Covering:
    return Covering(False, strength, reason=f"no alternative alone covers {pattern}; several may together")
