"""The covering index: very many subscriptions, of which those are forwarded that no other covers (``routing.md``).

It is for one link and one direction. The subscriptions form a forest: each that is covered has one parent that covers
it. Those without are the roots; none of them covers another. What a newcomer is covered by, and what it covers, is
looked up among the roots alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Final, Generic, TypeAlias, TypeVar

from heptox.matching import LinearPath
from heptox.pattern import ANY_ATTRIBUTE, TreePattern, is_leaf_test
from heptox.routing.cover_trie import CoverTrie
from heptox.routing.discriminators import NOTHING, Discriminator, Evidence, discriminators, evidence
from heptox.routing.label_index import LabelIndex
from heptox.routing.linear import branch_paths, linear_path
from heptox.routing.path_homomorphism import GapForm, covers_any_document, gap_form, path_shape
from heptox.routing.patience import UndecidedError
from heptox.routing.pattern_homomorphism import homomorphism

Id = TypeVar("Id", bound=Hashable)

Patterns: TypeAlias = tuple[TreePattern, ...]
"""A subscription: its alternatives, at least one."""

_Rank: TypeAlias = tuple[float, ...]

_UNRANKED: Final[_Rank] = (inf,)


@dataclass(frozen=True, slots=True)
class Change(Generic[Id]):
    """What is to be sent to the neighbour: first all that is ``exposed`` is forwarded, then what is no longer a root is
    ``withdrawn``. In the other order documents would be lost on the way.
    """

    exposed: tuple[Id, ...] = ()
    withdrawn: tuple[Id, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.exposed or self.withdrawn)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A pattern with its linear paths; ``path`` where it is one, ``key`` the one with the most labels."""

    pattern: TreePattern
    path: LinearPath | None
    branches: tuple[LinearPath, ...]
    key: LinearPath

    @classmethod
    def of(cls, pattern: TreePattern) -> Alternative:
        path = linear_path(pattern)
        branches = branch_paths(pattern) if path is None else (path,)
        return cls(pattern, path, branches, max(branches, key=_labels) if path is None else path)


_Place: TypeAlias = tuple[LinearPath, Discriminator | None]


@dataclass(frozen=True, slots=True)
class Probe:
    """What covers a subscription covers one of these paths, over any document, and has of its discriminators, if it has
    any, only those of which there is evidence in this pattern.
    """

    paths: tuple[LinearPath, ...]
    pattern: TreePattern

    def evidence(self) -> Evidence:
        return evidence(self.pattern)


@dataclass(slots=True, eq=False)
class Member(Generic[Id]):
    """A subscription in the forest. The first of its ids stands for all: the others ask for the same."""

    patterns: Patterns
    alternatives: tuple[Alternative, ...]
    rank: _Rank
    ids: dict[Id, None] = field(default_factory=dict)
    parent: Member[Id] | None = None
    children: dict[Member[Id], None] = field(default_factory=dict)
    probe: Probe | None = None
    """``None`` where it matches nothing."""
    places: tuple[_Place, ...] = ()
    """Where it is in the trie, while it is a root."""

    @property
    def id(self) -> Id:
        return next(iter(self.ids))

    @property
    def path(self) -> LinearPath | None:
        """The linear path that it is, if it is one."""
        return self.alternatives[0].path if len(self.alternatives) == 1 else None


class Turnover(Generic[Id]):
    """What comes and goes among the roots while the forest changes; what does both has not changed."""

    def __init__(self) -> None:
        self._exposed: dict[Id, None] = {}
        self._withdrawn: dict[Id, None] = {}

    def expose(self, identity: Id) -> None:
        if identity in self._withdrawn:
            del self._withdrawn[identity]
        else:
            self._exposed[identity] = None

    def withdraw(self, identity: Id) -> None:
        if identity in self._exposed:
            del self._exposed[identity]
        else:
            self._withdrawn[identity] = None

    def change(self) -> Change[Id]:
        return Change(tuple(self._exposed), tuple(self._withdrawn))


class CoveringIndex(Generic[Id]):
    """Subscriptions by ids, and which of them are the roots.

    One covers another over any document: each alternative of the other has to be covered by one of its own, linear
    paths exactly, other patterns where there is a homomorphism.

    >>> from heptox.grammar import parse_subscription
    >>> index = CoveringIndex[int]()
    >>> print(index.add(1, parse_subscription("/a/b")))
    Change(exposed=(1,), withdrawn=())
    >>> print(index.add(2, parse_subscription("/a")))
    Change(exposed=(2,), withdrawn=(1,))
    >>> print(index.remove(2))
    Change(exposed=(1,), withdrawn=(2,))
    """

    def __init__(self) -> None:
        self._by_id: dict[Id, Member[Id]] = {}
        self._members: dict[Patterns, Member[Id]] = {}
        self.decided = 0
        """How often covering of two subscriptions was decided, the look-ups in the trie not counted."""
        self._clear()

    def _clear(self) -> None:
        self._roots: dict[Member[Id], None] = {}
        self._trie: CoverTrie[Member[Id]] = CoverTrie()
        self._labels: LabelIndex[Member[Id]] = LabelIndex()
        self._bottoms: dict[Member[Id], None] = {}  # roots that match nothing: all others cover them
        self._greatest: _Rank = ()

    def __len__(self) -> int:
        """How many subscriptions there are, roots or not."""
        return len(self._by_id)

    @property
    def roots(self) -> tuple[Id, ...]:
        """The ids of those that are to be forwarded."""
        return tuple(member.id for member in self._roots)

    def parent(self, identity: Id) -> Id | None:
        """What covers a subscription that is no root; ``None`` for a root. Raises ``KeyError``."""
        member = self._by_id[identity]
        if identity != member.id:
            return member.id
        return None if member.parent is None else member.parent.id

    # changes

    def add(self, identity: Id, patterns: Patterns) -> Change[Id]:
        """Add a subscription. Raises ``ValueError`` where its id is known, or where it has no pattern."""
        return self.add_many(((identity, patterns),))

    def add_many(self, subscriptions: Iterable[tuple[Id, Patterns]]) -> Change[Id]:
        """Add many at once, general ones first: fewer are roots for a while.

        Raises ``ValueError`` as :meth:`add`, and adds none then.
        """
        named = dict[Id, Patterns]()
        for identity, patterns in subscriptions:
            if identity in self._by_id or identity in named:
                raise ValueError(f"the id {identity!r} is known")
            if not patterns:
                raise ValueError("a subscription needs a pattern")
            named[identity] = patterns
        new = [member for identity, patterns in named.items() if (member := self._joined(identity, patterns))]
        new.sort(key=rank_of)
        turnover = Turnover[Id]()
        for member in new:
            self._place(member, turnover, covers_none=self._is_ranked(member) and member.rank >= self._greatest)
        return turnover.change()

    def _joined(self, identity: Id, patterns: Patterns) -> Member[Id] | None:
        """The new member that an id makes; ``None`` where it joins one."""
        member = self._members.get(patterns)
        known = member is not None
        if member is None:
            alternatives = tuple(map(Alternative.of, patterns))
            member = self._members[patterns] = Member(patterns, alternatives, _rank(alternatives))
            member.probe = self._probe(member)
        member.ids[identity] = None
        self._by_id[identity] = member
        return None if known else member

    def remove(self, identity: Id) -> Change[Id]:
        """Remove a subscription. Raises ``KeyError``."""
        member = self._by_id.pop(identity)
        first = member.id == identity
        if len(member.ids) > 1:
            del member.ids[identity]
            return Change((member.id,), (identity,)) if first and member.parent is None else Change()
        del self._members[member.patterns]
        turnover = Turnover[Id]()
        if member.parent is None:
            self._unroot(member, turnover)
            self._place_orphans(member, turnover)
        else:
            self._leave(member, member.parent)
        return turnover.change()

    def _leave(self, member: Member[Id], parent: Member[Id]) -> None:
        """What a covered member covered is covered by its parent."""
        del parent.children[member]
        for child in member.children:
            _attach(child, parent)

    def _place_orphans(self, member: Member[Id], turnover: Turnover[Id]) -> None:
        """Look again for what covers the children of a root that is gone. None of them covers a root that was there."""
        for child in sorted(member.children, key=rank_of):
            child.parent = None
            self._place(child, turnover, covers_none=self._is_ranked(child))

    # the forest

    def _place(self, member: Member[Id], turnover: Turnover[Id], *, covers_none: bool) -> None:
        """Give a member a parent, or make it a root and the parent of the roots that it covers."""
        cover = self._cover(member)
        if cover is not None:
            _attach(member, cover)
            return
        covered = [] if covers_none else list(self._covered(member))
        self._roots[member] = None
        member.places = self._kept(member)
        if member.probe is None:
            self._bottoms[member] = None
        else:
            self._labels.add(member, member.probe.paths, NOTHING if member.path else member.probe.evidence())
        self._greatest = max(self._greatest, member.rank)
        turnover.expose(member.id)
        for root in covered:
            self._unroot(root, turnover)
            _attach(root, member)

    def _unroot(self, member: Member[Id], turnover: Turnover[Id]) -> None:
        del self._roots[member]
        for key, chosen in member.places:
            self._trie.remove(key, member, chosen)
        if member.probe is None:
            del self._bottoms[member]
        else:
            self._labels.remove(member)
        turnover.withdraw(member.id)

    def _kept(self, member: Member[Id]) -> tuple[_Place, ...]:
        """Keep a root in the trie; where it is, those places that are equal once."""
        places: dict[tuple[GapForm, Discriminator | None], _Place] = {}
        for each in member.alternatives:
            chosen = self._trie.add(each.key, member, self._discriminators(each))
            places[gap_form(each.key), chosen] = each.key, chosen
        return tuple(places.values())

    def _discriminators(self, alternative: Alternative) -> tuple[Discriminator, ...]:
        """Those of an alternative; none for a path, whose labels say all."""
        if alternative.path is not None:
            return ()
        return discriminators(alternative.pattern)

    def _is_ranked(self, member: Member[Id]) -> bool:
        """Whether it covers none whose rank is lower."""
        return member.rank != _UNRANKED

    # looking up

    def _probe(self, member: Member[Id]) -> Probe | None:
        """The probe of the first alternative that matches something."""
        probes = map(self._probe_of, member.alternatives)
        return next((probe for probe in probes if probe is not None), None)

    def _probe_of(self, alternative: Alternative) -> Probe | None:
        if any(path_shape(branch).impossible for branch in alternative.branches):
            return None
        return Probe(alternative.branches, alternative.pattern)

    def _cover(self, member: Member[Id]) -> Member[Id] | None:
        """A root that covers a member."""
        path = member.path
        if path is not None:
            for general in self._trie.covering(path):
                if general.path is not None:
                    return general
        for general in self._candidates(member.probe):
            if self._covers(general, member):
                return general
        return None

    def _candidates(self, probe: Probe | None) -> Iterator[Member[Id]]:
        if probe is None:
            yield from tuple(self._roots)
            return
        seen: set[Member[Id]] = set()
        found = probe.evidence() if self._trie.discriminates else NOTHING
        for path in probe.paths:
            for member in self._trie.covering(path, found):
                if member not in seen:
                    seen.add(member)
                    yield member

    def _covered(self, member: Member[Id]) -> Iterator[Member[Id]]:
        """The roots that a member covers."""
        candidates = dict.fromkeys(self._bottoms)
        for alternative in member.alternatives:
            found = self._labels.candidates(alternative.branches, self._discriminators(alternative))
            candidates.update(dict.fromkeys(found))
        for special in candidates:
            if self._covers(member, special):
                yield special

    def _covers(self, general: Member[Id], special: Member[Id]) -> bool:
        """Whether one covers the other."""
        self.decided += 1
        return all(any(_covers_alternative(each, one) for each in general.alternatives) for one in special.alternatives)


def _attach(member: Member[Id], parent: Member[Id]) -> None:
    member.parent = parent
    parent.children[member] = None


def _covers_alternative(general: Alternative, special: Alternative) -> bool:
    if general.path is not None and special.path is not None:
        return covers_any_document(general.path, special.path)
    try:
        return homomorphism(general.pattern, special.pattern)
    except UndecidedError:
        return False


def rank_of(member: Member[Id]) -> _Rank:
    return member.rank


def _rank(alternatives: tuple[Alternative, ...]) -> _Rank:
    """Ranks ascend from general to special: over any document, what covers another, different one has a lower rank.

    That is so for linear paths that match something: what is placed on another path has at most its labels and its
    elements; with as many it has the same gaps, some of them open, and the same labels but for ``@*``. Other
    subscriptions have the last rank.
    """
    path = alternatives[0].path
    if len(alternatives) > 1 or path is None or path_shape(path).impossible:
        return _UNRANKED
    form = gap_form(path)
    elements = sum(gap + (not is_leaf_test(label)) for gap, _, label in form.labels) + form.trailing
    opened = sum(not exact for _, exact, _ in form.labels)
    named = sum(label != ANY_ATTRIBUTE for _, _, label in form.labels)
    return len(form.labels), elements, -opened, named


def _labels(path: LinearPath) -> int:
    return len(gap_form(path).labels)
