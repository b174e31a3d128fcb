"""What others can bring about at their own speed: the audit log has a line for the first time, and then counts."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import trio

from heptox.feed import Record
from heptox.peer.folder.audit import AuditLog
from heptox.peer.process.coalescing import Coalescing
from heptox.peer.wire.messages import PeerId

REFUSALS: Final = 10
"""Strangers that have a line of their own for each kind of event in :data:`REFUSAL_SECONDS`; others are counted."""
NEIGHBOURS: Final = 1000
"""Acquaintances that have one."""
PUBLISHERS: Final = 10
"""Publishers that one acquaintance is named with for each kind of event in :data:`REFUSAL_SECONDS`; events about others
are counted."""
REFUSAL_SECONDS: Final = 60.0
SERVED: Final = 1000
"""Answers to subscribers that are written once in :data:`REFUSAL_SECONDS`, however often they are given."""

_ROLES: Final = ("neighbour", "publisher")
_Subject: TypeAlias = tuple[tuple[str, PeerId], ...]
"""Whom an event is about, by role."""


class RepeatedEvents:
    """Such events of one peer. ``names`` gives what its acquaintances are called here."""

    def __init__(self, audit: AuditLog, names: Callable[[], Mapping[PeerId, str]]) -> None:
        self._audit = audit
        self._names = names
        self._repeated: dict[tuple[str, str, bool, PeerId], Coalescing[_Subject]] = {}
        self._served = Counter[tuple[Any, ...]]()
        self._serving_lock = threading.Lock()

    async def run(self) -> None:
        """Write counts now and then."""
        while True:
            await trio.sleep(REFUSAL_SECONDS)
            self.write_counts(trio.current_time())
            self.write_served()

    def note(self, event: str, **fields: str | int | list[str]) -> bool:
        """Something that others can bring about at their own speed; whether it is the first of its kind, and of the
        ``neighbour`` and ``publisher`` in its fields, in :data:`REFUSAL_SECONDS`.

        The first has a line in the audit log now, further ones are counted, in one line when the time is over.
        ``what`` in the fields distinguishes kinds of one event.
        """
        now = trio.current_time()
        self.write_counts(now)
        subject = tuple((role, str(fields[role])) for role in _ROLES if role in fields)
        peer = subject[0][1] if subject else ""
        known = peer in self._names()
        # Apart for each acquaintance, so that one which does it to many publishers hides none of the others.
        by = peer if known and len(subject) > 1 else ""
        most = PUBLISHERS if by else NEIGHBOURS if known else REFUSALS
        kind = self._repeated.setdefault(
            (event, str(fields.get("what", "")), known, by), Coalescing(most, REFUSAL_SECONDS)
        )
        is_first = kind.first(subject, now)
        if is_first:
            self._audit.write(event, **fields)
        return is_first

    def write_counts(self, now: float) -> None:
        """Write how often what was counted has happened, of what is over by then."""
        for kind, repeated in tuple(self._repeated.items()):
            event, what, _, by = kind
            for subject, count in repeated.due(now):
                fields = dict(subject or (("neighbour", by),))
                name = self._names().get(next(iter(fields.values())), "")
                self._audit.write(event, **({"what": what} if what else {}), **fields, name=name, more=count)
            if repeated.is_idle:
                del self._repeated[kind]

    def served(self, record: Record) -> None:
        """Documents of the feed log are about to go to a subscriber: that is on the disk when this returns.

        What is just the same as within the last minute is counted only, and so is what nothing is sent of. Raises
        :class:`PeerError` (HX7082). Called in a thread.
        """
        fetched = record.fetched
        served = record.served
        key = (record.route, record.since, fetched.position, served) if served else (record.route[-1],)
        with self._serving_lock:
            if not served or key in self._served:
                self._served[key] += 1
                return
        fields = self._served_fields(record.route, record.since, fetched.position)
        counts = {
            "documents": len(served), "withheld": len(fetched.withheld), "missing": fetched.missing,
            "earlier": fetched.earlier,
        }  # fmt: skip
        self._audit.write_durably("served", **fields, **counts).result()
        with self._serving_lock:
            if len(self._served) < SERVED:
                self._served[key] = 0

    def _served_fields(self, route: Sequence[PeerId], since: int, upto: int) -> dict[str, Any]:
        neighbour = route[-1]
        return {
            "asker": route[0], "neighbour": neighbour, "name": self._names().get(neighbour, ""), "route": list(route),
            "after": since, "upto": upto,
        }  # fmt: skip

    def write_served(self) -> None:
        """Write how often more the same was served, and how often nothing was."""
        with self._serving_lock:
            counted, self._served = self._served, Counter()
        for key, more in counted.items():
            if len(key) == 1:
                neighbour = key[0]
                self._audit.write(
                    "served", neighbour=neighbour, name=self._names().get(neighbour, ""), documents=0, more=more
                )
            elif more:
                route, since, upto, served = key
                fields = self._served_fields(route, since, upto)
                self._audit.write("served", **fields, documents=len(served), more=more)
