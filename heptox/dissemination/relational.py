"""The relational matcher: batches of documents against very many subscriptions, in DuckDB.

Source: Tian et al., "Implementing a scalable XML publish/subscribe system using relational database systems" (SIGMOD
2004), built as ``matching.md`` tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Protocol, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from heptox.dissemination.engine import MEMORY, SECONDS, THREADS, Engine
from heptox.dissemination.joining import Batch
from heptox.dissemination.layouts import Chain
from heptox.dissemination.messages import ID_PATH, NODE, VALUE, Messages, Shredder
from heptox.dissemination.path_matches import PathMatches
from heptox.dissemination.relations import Relations
from heptox.dissemination.rows import Rows
from heptox.dissemination.shapes import EXISTS, Collector
from heptox.dissemination.tag_paths import TagPaths
from heptox.errors import DisseminationError, Fault, GrammarError
from heptox.pattern import TreePattern
from heptox.xmlio import Document

Plan: TypeAlias = Literal["shared", "bucketed", "unrolled"]
PLANS: Final[tuple[Plan, ...]] = get_args(Plan)

MOST_FACTS: Final = 1 << 19
MOST_DOCUMENTS: Final = 10_000
"""How large a batch becomes that is matched at once: nodes that are asked for, documents."""
MOST_FAULTS: Final = 20


@dataclass(frozen=True, slots=True)
class Matches:
    """Pairs of a document's place and a subscription's number, sorted, each once: ``documents`` and ``numbers`` are
    their columns."""

    documents: NDArray[np.int64]
    numbers: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.documents.tolist(), self.numbers.tolist(), strict=True)


class Log(Protocol):
    """Where subscriptions are kept for good."""

    def changes(self, position: int) -> Iterable[tuple[int, int, str | None]]:
        """What came after a position, in order: its position, the number of a subscription, and its text, or ``None``
        where it was removed."""
        ...


class RelationalMatcher:
    """Subscriptions by number, kept in memory or in a file. A context manager that closes it.

    ``memory`` is what DuckDB may use in megabytes, ``seconds`` what a statement may take. The file is no log: after a
    crash it holds what it held at :attr:`position`, and can be made again of a :class:`Log`.

    Raises :class:`DisseminationError`: HX9020 where the file is none of a matcher, HX9021 where it cannot be used.

    >>> from heptox.grammar import parse_subscription
    >>> from heptox.xmlio import parse_document
    >>> with RelationalMatcher() as matcher:
    ...     matcher.add(7, parse_subscription("/a[b > 5]//@c"))
    ...     list(matcher.match([parse_document("<a><b>6</b><d c=''/></a>"), parse_document("<a/>")]))
    [(0, 7)]
    """

    def __init__(
        self,
        file: Path | None = None,
        *,
        memory: int = MEMORY,
        threads: int = THREADS,
        seconds: float = SECONDS,
        tag_paths: TagPaths | None = None,
    ) -> None:
        self._engine = Engine(file, memory=memory, threads=threads, seconds=seconds)
        try:
            self._engine.run("CREATE OR REPLACE TEMP MACRO node_at(path, depth) AS path[depth]")
            self._relations = Relations(self._engine)
            self._chain = Chain(self._engine)
            self._bucketed, self._unrolled = Rows(self._engine, "bucketed"), Rows(self._engine, "unrolled")
            self._paths = PathMatches(self._engine, tag_paths or TagPaths())
            self._shredder = Shredder(self._paths.tag_paths, self._paths.wanted)
            self._read_paths()
        except BaseException:
            self._engine.close()
            raise

    def __enter__(self) -> RelationalMatcher:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._engine.close()

    def __len__(self) -> int:
        """How many subscriptions there are."""
        return self._relations.count()

    # -- subscriptions -----------------------------------------------------------------------------------------------

    def add(self, number: int, patterns: Sequence[TreePattern]) -> None:
        """Add a subscription that a document matches when it matches one of the patterns.

        Raises :class:`DisseminationError` (HX9024) where there is one of that number.
        """
        self.add_many([(number, patterns)])

    def add_many(self, subscriptions: Iterable[tuple[int, Sequence[TreePattern]]]) -> None:
        """Add subscriptions, all or none. Raises as :meth:`add`."""

        def fill(collector: Collector) -> None:
            for number, patterns in subscriptions:
                collector.add(number, patterns)

        with self._engine.transaction():
            self._add(fill)

    def add_texts(self, subscriptions: Iterable[tuple[int, str]]) -> None:
        """Add subscriptions by their texts, all or none; much faster where many differ in constants only.

        Raises as :meth:`add`, and :class:`GrammarError` as :func:`heptox.grammar.parse_subscription`: of up to 20
        texts.
        """
        with self._engine.transaction():
            self._add(lambda collector: _collect_texts(collector, subscriptions))

    def _add(self, fill: Any) -> None:
        known = set(self._relations.dictionary.linear_paths)
        columns = self._relations.add(fill)
        if columns is None:
            return
        paths = self._relations.dictionary.linear_paths
        self._paths.add({path: paths[path] for path in paths.keys() - known})
        operator = columns.predicates.column("operator").to_numpy()
        branching = columns.predicates.column("branching").to_numpy()
        flags = np.where(operator == EXISTS, NODE, VALUE) | np.where(branching > 0, ID_PATH, 0)
        self._paths.demand(columns.predicates.column("linear_path").to_numpy(), flags.astype(np.int8))
        self._shredder.forget()

    def remove(self, number: int) -> bool:
        """Remove a subscription; whether there was one."""
        return self.remove_many([number]) == 1

    def remove_many(self, numbers: Iterable[int]) -> int:
        """Remove subscriptions; how many of them there were."""
        with self._engine.transaction():
            return self._relations.remove(numbers)

    # -- matching ----------------------------------------------------------------------------------------------------

    def match(self, documents: Iterable[Document], plan: Plan | None = None) -> Matches:
        """Which documents match which subscriptions: places in ``documents``, and numbers.

        Documents are matched in batches, with the plan that statistics speak for unless one is given.

        Raises :class:`DisseminationError`: HX9022 where a statement takes too long, HX9023 for no plan.
        """
        if plan is not None and plan not in PLANS:
            raise DisseminationError(Fault("HX9023", f"there is no plan {plan!r}", hint=f"one of {', '.join(PLANS)}"))
        found: list[Matches] = []
        first = 0
        for messages in self._batches(documents):
            matched = self._match(messages, plan)
            found.append(Matches(matched.documents + first, matched.numbers))
            first += messages.documents
        if not found:
            return Matches(np.empty(0, np.int64), np.empty(0, np.int64))
        return Matches(
            np.concatenate([each.documents for each in found]), np.concatenate([each.numbers for each in found])
        )

    def _batches(self, documents: Iterable[Document]) -> Iterator[Messages]:
        if not self._paths.check():
            self._shredder.forget()
        count = 0
        for document in documents:
            self._shredder.add(document)
            count += 1
            if count == MOST_DOCUMENTS or len(self._shredder) >= MOST_FACTS:
                yield self._shredder.messages()
                count = 0
        if count:
            yield self._shredder.messages()

    def _match(self, messages: Messages, plan: Plan | None) -> Matches:
        self._paths.flush()
        batch = Batch(self._engine, self._paths, self._relations.dictionary, messages)
        if plan == "shared":
            self._chain.update(self._relations.next_conjunction)
            batch.shared()
        elif plan == "bucketed":
            self._bucketed.update(self._relations.next_conjunction)
            batch.bucketed(self._bucketed)
        else:
            self._unrolled.update(self._relations.next_conjunction)
            batch.unrolled(self._unrolled)
        return _sorted(batch.found())

    # -- opening -----------------------------------------------------------------------------------------------------

    def _read_paths(self) -> None:
        self._paths.add(self._relations.dictionary.linear_paths)
        found = self._engine.columns(
            f"SELECT linear_path, bit_or(CASE operator WHEN {EXISTS} THEN {NODE} ELSE {VALUE} END"
            f" | CASE WHEN branching > 0 THEN {ID_PATH} ELSE 0 END) AS flags FROM predicate GROUP BY linear_path"
        )
        self._paths.demand(np.asarray(found["linear_path"]), np.asarray(found["flags"], np.int8))


def _collect_texts(collector: Collector, subscriptions: Iterable[tuple[int, str]]) -> None:
    faults: list[Fault] = []
    for number, text in subscriptions:
        try:
            collector.add_text(number, text)
        except GrammarError as error:
            faults += error.faults
            if len(faults) >= MOST_FAULTS:
                break
    if faults:
        raise GrammarError(faults[:MOST_FAULTS])


def _sorted(found: dict[str, Any]) -> Matches:
    documents, numbers = (np.asarray(found[name], np.int64) for name in ("document", "number"))
    order = np.lexsort((numbers, documents))
    return Matches(documents[order], numbers[order])
