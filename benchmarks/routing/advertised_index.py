"""The covering index over advertised paths: of a link on which documents come that keep to one of some advertisements.

No peer uses it: it saves messages where little is advertised, and costs time.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from benchmarks.routing.covering import Coverings, Strength
from benchmarks.routing.samples import sample
from heptox.pattern import TreePattern
from heptox.routing import Advertisement, Change, CoveringIndex, covers_any_document
from heptox.routing.covering_index import Alternative, Member, Probe, Turnover, rank_of
from heptox.routing.discriminators import Discriminator, discriminators
from heptox.routing.linear import node_path

Id = TypeVar("Id", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Edge(Generic[Id]):
    """Why a subscription is not forwarded: ``parent`` covers it, over any document, or over the paths of all these
    advertisements.
    """

    parent: Id
    strength: Strength
    advertisements: tuple[Advertisement, ...] = ()


class AdvertisedIndex(CoveringIndex[Id]):
    """Covering is over any document or, where something is advertised (:meth:`advertise`), over advertised paths."""

    def __init__(self) -> None:
        super().__init__()
        self._coverings: tuple[Coverings, ...] = ()

    @property
    def advertisements(self) -> tuple[Advertisement, ...]:
        """What is advertised on the link: documents come that keep to one of these; none for any document."""
        return tuple(each.advertisement for each in self._coverings if each.advertisement is not None)

    def edge(self, identity: Id) -> Edge[Id] | None:
        """Why a subscription is no root; ``None`` for a root. Raises ``KeyError``."""
        parent = self.parent(identity)
        if parent is None:
            return None
        if super()._covers(self._by_id[parent], self._by_id[identity]):
            return Edge(parent, Strength.ANY_DOCUMENT)
        return Edge(parent, Strength.ADVERTISED_PATHS, self.advertisements)

    def advertise(self, *advertisements: Advertisement) -> Change[Id]:
        """Say what is advertised on the link from now on: documents come that keep to one of these; without any, all.

        The edges that another advertisement justified are decided again, and all roots are looked up again.
        """
        if advertisements == self.advertisements:
            return Change()
        self._coverings = tuple(map(Coverings, advertisements))
        turnover = Turnover[Id]()
        for member in self._members.values():
            member.probe = self._probe(member)
        waiting = [*self._roots, *self._unjustified()]
        for root in self._roots:
            turnover.withdraw(root.id)
        self._clear()
        for member in sorted(waiting, key=rank_of):
            self._place(member, turnover, covers_none=self._is_ranked(member))
        return turnover.change()

    def _unjustified(self) -> list[Member[Id]]:
        """Members that lose their parents, which do not cover them any more."""
        found = []
        for member in self._members.values():
            if member.parent is not None and not self._covers(member.parent, member):
                del member.parent.children[member]
                member.parent = None
                found.append(member)
        return found

    def _covers(self, general: Member[Id], special: Member[Id]) -> bool:
        if super()._covers(general, special):
            return True
        if not self._coverings or not _may_cover(general, special):
            return False
        return all(each.subscription(general.patterns, special.patterns) for each in self._coverings)

    def _discriminators(self, alternative: Alternative) -> tuple[Discriminator, ...]:
        if alternative.path is None and self._coverings:
            return discriminators_over_advertised(alternative.pattern)
        return super()._discriminators(alternative)

    def _is_ranked(self, member: Member[Id]) -> bool:
        return not self._coverings and super()._is_ranked(member)

    def _probe_of(self, alternative: Alternative) -> Probe | None:
        """With a sample, the shortest advertised path that a branch matches: what covers the branch matches it."""
        probe = super()._probe_of(alternative)
        if probe is None or not self._coverings:
            return probe
        for advertisement in self.advertisements:
            samples = [sample(advertisement, branch) for branch in alternative.branches]
            found = [path for each in samples if each is not None for path in each]
            if len(found) >= len(samples) and None not in samples:
                return Probe(tuple(found), alternative.pattern)
        return None


def discriminators_over_advertised(pattern: TreePattern) -> tuple[Discriminator, ...]:
    """A part that is a linear path may cover one in which its names are not, over what is advertised: it asks for
    nothing."""
    parts = tuple(part for part in pattern.children if node_path(part) is None)
    return discriminators(TreePattern(parts)) if parts else ()


def _may_cover(general: Member[Id], special: Member[Id]) -> bool:
    """Whether one matches the sample of the other, where this is to be seen at once."""
    path = general.path
    probe = special.probe
    return path is None or probe is None or any(covers_any_document(path, each) for each in probe.paths)
