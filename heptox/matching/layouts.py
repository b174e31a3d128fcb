"""What plans join: subscriptions laid out as a chain of shared predicates, or in rows that hold many of them.

A layout is made when a plan first needs it, and brought up to date before each match; it may hold subscriptions that
have been removed, which are left out when candidates are looked up.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from heptox.matching.engine import Engine

PORTION: Final = 1 << 19
"""How many conjunctions are laid out at once."""

_KEYS: Final = """SELECT p.conjunction, p.equality FROM predicate AS p
WHERE p.operator = 0 AND p.conjunction >= ? AND p.conjunction < ?
UNION SELECT k.conjunction, k.access FROM conjunction AS k
WHERE k.access <> 0 AND k.conjunction >= ? AND k.conjunction < ?"""
"""By what conjunctions are found: their equalities, or what gives access where there is none."""


class Chain:
    """The shared plan's table: the equalities of a conjunction one after the other, as in Figure 3.4.

    ``pre_id`` is 0, or the ``chain_id`` of the predicate before. Predicates that are not final are shared where all
    before them are (section 4.2). The rarest come first. A final predicate has the conjunction as its ``chain_id``.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        engine.run("CREATE TABLE IF NOT EXISTS chain (pre_id BIGINT, equality INTEGER, chain_id BIGINT, final BOOLEAN)")
        engine.run("CREATE TABLE IF NOT EXISTS chain_state (upto BIGINT, following BIGINT)")
        self._upto, self._following = (engine.rows("SELECT upto, following FROM chain_state") or [(1, 1)])[0]

    def update(self, end: int) -> None:
        """Lay out all conjunctions below ``end`` that are not."""
        if self._upto >= end:
            return
        with self._engine.transaction():
            upto, following = self._upto, self._following
            while upto < end:
                until = min(end, upto + PORTION)
                following = self._lay_out(upto, until, following)
                upto = until
            self._engine.run("DELETE FROM chain_state")
            self._engine.run("INSERT INTO chain_state VALUES (?, ?)", upto, following)
        self._upto, self._following = upto, following

    def clear(self) -> None:
        """Forget all, to be laid out anew: what was removed is gone then, and more may be shared."""
        self._engine.run("DELETE FROM chain")
        self._engine.run("DELETE FROM chain_state")
        self._upto, self._following = 1, 1

    def _lay_out(self, begin: int, end: int, following: int) -> int:
        found = self._engine.columns(_KEYS, begin, end, begin, end)
        conjunction, equality = np.asarray(found["conjunction"], np.int64), np.asarray(found["equality"], np.int64)
        if not len(conjunction):
            return following
        uses = np.bincount(equality)
        order = np.lexsort((equality, uses[equality], conjunction))
        conjunction, equality = conjunction[order], equality[order]
        starts = np.flatnonzero(np.r_[True, conjunction[1:] != conjunction[:-1]])
        lengths = np.diff(np.r_[starts, len(conjunction)])
        before = np.zeros(len(starts), np.int64)
        for place in range(int(lengths.max())):
            at = starts[lengths > place] + place
            final = lengths[lengths > place] == place + 1
            pre, wanted = before[lengths > place], equality[at]
            chain = conjunction[at]
            chain[~final], following = self._shared(pre[~final], wanted[~final], following)
            self._insert(pre[final], wanted[final], chain[final], final=True)
            before[lengths > place] = chain
        return following

    def _shared(self, pre: Any, equality: Any, following: int) -> tuple[Any, int]:
        """The chain ids of predicates that are not final, each pair of what is before and what is asked once."""
        pairs, inverse = np.unique(np.stack([pre, equality]), axis=1, return_inverse=True)
        if not pairs.size:
            return np.empty(0, np.int64), following
        ids = self._known(pairs)
        new = ids < 0
        count = int(new.sum())
        ids[new] = np.arange(following, following + count)
        self._insert(pairs[0][new], pairs[1][new], ids[new], final=False)
        return ids[inverse.reshape(-1)], following + count

    def _known(self, pairs: Any) -> Any:
        place = pa.array(np.arange(pairs.shape[1]))
        ids = np.full(pairs.shape[1], -1, np.int64)
        with self._engine.registered(pa.table({"pre_id": pairs[0], "equality": pairs[1], "place": place})) as given:
            found = self._engine.columns(
                f"SELECT g.place, c.chain_id FROM chain AS c JOIN {given} AS g"
                " ON g.pre_id = c.pre_id AND g.equality = c.equality WHERE NOT c.final"
            )
        ids[np.asarray(found["place"], np.int64)] = found["chain_id"]
        return ids

    def _insert(self, pre: Any, equality: Any, chain: Any, *, final: bool) -> None:
        rows = {"pre_id": pre, "equality": equality, "chain_id": chain, "final": np.full(len(pre), final)}
        self._engine.insert("chain", pa.table(rows))
