"""Places for what strangers begin: there are so many, and a newcomer always gets one, at the expense of those who have
most."""

from __future__ import annotations

from collections import Counter

import trio


class Places:
    """``most`` places, ``each`` of them at most for one group; what holds one is cancelled when it has to make room.

    A group is named from large to small, say by an address and a peer there. Room is made by the oldest of the group
    that has more than ``each``, else, where all places are taken, of the group that has most; within it, of the smaller
    group that has most. So whoever takes many places loses its own.

    >>> places, scopes = Places(2), [trio.CancelScope() for _ in range(3)]
    >>> for scope, host in zip(scopes, ("192.0.2.1", "192.0.2.2", "192.0.2.2")):
    ...     places.enter(scope, host)
    >>> [scope in places for scope in scopes]
    [True, False, True]
    """

    def __init__(self, most: float, each: float | None = None) -> None:
        self._most = most
        self._each = most if each is None else each
        self._groups: dict[trio.CancelScope, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, scope: trio.CancelScope) -> bool:
        return scope in self._groups

    def enter(self, scope: trio.CancelScope, *group: str) -> None:
        """Take a place until :meth:`leave`; all groups have names of as many parts."""
        self._groups[scope] = group
        oldest_first = list(self._groups.items())
        own = [(one, name) for one, name in oldest_first if name[0] == group[0]]
        if len(own) > self._each:
            self._make_room(own)
        elif len(oldest_first) > self._most:
            self._make_room(oldest_first)

    def leave(self, scope: trio.CancelScope) -> None:
        """Give a place back, if it is held still."""
        self._groups.pop(scope, None)

    def _make_room(self, candidates: list[tuple[trio.CancelScope, tuple[str, ...]]]) -> None:
        for part in range(len(candidates[0][1])):
            counts = Counter(name[part] for _, name in candidates)
            largest = max(counts, key=counts.__getitem__)  # of several, that of the oldest
            candidates = [(one, name) for one, name in candidates if name[part] == largest]
        scope, _ = candidates[0]
        self.leave(scope)
        scope.cancel()
