"""Queries of the own user that leave the fragment: Saxon answers them, over the own documents alone.

What neighbours ask never comes here: it is in the fragment, or refused.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial

import trio

from heptox.errors import GrammarError, StoreError
from heptox.peer.process.evaluating import evaluated
from heptox.peer.process.workers import Working
from heptox.peer.query.bounds import Limits, batches, digest_of
from heptox.peer.query.events import Conclude, Deliver, Receipt
from heptox.peer.query.verdict import shortfalls
from heptox.peer.wire.messages import Hop, ReceiptLine, Status
from heptox.store import Store, XQuery, clearer_error, fragment_lacks, texts


class OwnEvaluation:
    """Answers queries on the documents of a store, which is that of the peer ``own``, by Saxon in ``workers``."""

    def __init__(self, store: Store, own: Hop, workers: Working, limits: Limits) -> None:
        self._store = store
        self._own = own
        self.workers = workers
        self._limits = limits
        self._under_way: dict[str, trio.CancelScope] = {}

    async def ask(
        self, query: str, question: XQuery, refused: GrammarError, *, seconds: float, explain: bool
    ) -> AsyncGenerator[Deliver | Conclude, None]:
        """Items, each once, and the receipt last: that of this peer alone, which no mapping and nothing hidden concern.

        ``query`` is the id of the query, ``refused`` why it is none of the fragment. Raises as :func:`evaluated`, but
        that the receipt says when time is over, and as :func:`texts`; HX7021 for limits out of
        range.
        """
        self._limits.check(0, seconds, question.characters)
        began = trio.current_time()
        items: list[str] = []
        status, reason = Status.CANCELLED, "it was stopped"
        with trio.CancelScope() as scope:
            self._under_way[query] = scope
            try:
                items = await self._answer(question, seconds)
                status, reason = Status.ANSWERED, ""
            except GrammarError as error:
                raise clearer_error(refused, error, question.text) from None
            except StoreError as error:
                if error.faults[0].code != "HX6018":
                    raise
                status, reason = Status.TIMED_OUT, str(error)
            finally:
                del self._under_way[query]
        for batch in batches(items, self._limits.batch):
            yield Deliver(query, (self._own,), batch)
        text = f"{question.text}\nby Saxon: {fragment_lacks(refused)}" if explain else ""
        milliseconds = int(1000 * (trio.current_time() - began))
        line = ReceiptLine((self._own,), status, len(items), reason=reason, text=text, milliseconds=milliseconds)
        yield Conclude(Receipt(query, (line,), len(items), shortfalls((line,))))

    async def _answer(self, question: XQuery, seconds: float) -> list[str]:
        """The items, each once."""
        ends = trio.current_time() + seconds
        documents = await trio.to_thread.run_sync(partial(texts, self._store, splitting=question.may_see_asides))
        items: dict[bytes, str] = {}
        for part in replace(question, documents=documents).parts():
            for item in await evaluated(self.workers, part, seconds, left=ends - trio.current_time()):
                items.setdefault(digest_of(item), item)
        return list(items.values())

    def cancel(self, query: str) -> bool:
        """End a query: its receipt comes without items; whether there was one."""
        if query not in self._under_way:
            return False
        self._under_way[query].cancel()
        return True
