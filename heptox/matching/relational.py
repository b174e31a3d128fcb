"""The relational matcher: batches of documents against very many subscriptions, in DuckDB.

Source: Tian et al., "Implementing a scalable XML publish/subscribe system using relational database systems" (SIGMOD
2004), built as in ``matching.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from heptox.errors import DisseminationError, Fault, GrammarError
from heptox.garbage import uncollected
from heptox.matching.choosing import Chooser, Estimate, Profile
from heptox.matching.engine import MEMORY, SECONDS, THREADS, Engine
from heptox.matching.joining import Batch, Stage
from heptox.matching.layouts import Chain
from heptox.matching.linear_path import LinearPath
from heptox.matching.messages import ID_PATH, NODE, VALUE, Messages, Shredder
from heptox.matching.path_matches import PathMatches
from heptox.matching.relations import MOST_FAULTS, Added, Relations
from heptox.matching.rows import Rows
from heptox.matching.shapes import EXISTS, Collector
from heptox.matching.tag_paths import TagPaths
from heptox.pattern import TreePattern
from heptox.xml import Document, path_steps

Plan: TypeAlias = Literal["shared", "bucketed", "unrolled"]
PLANS: Final[tuple[Plan, ...]] = get_args(Plan)

T = TypeVar("T")

PORTION: Final = 1 << 16
"""How many subscriptions are collected before they are written."""
MOST_FACTS: Final = 1 << 19
MOST_DOCUMENTS: Final = 10_000
"""How large a batch becomes that is matched at once: nodes that are asked for, documents."""
_NUMBER_BITS: Final = 40
_LEAST_REMOVED: Final = 10_000


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


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a matcher holds: subscriptions, their alternatives (``conjunctions``) and predicates, distinct equalities,
    linear paths, tag paths that documents have had, pairs of both that match, and subscriptions that were removed since
    the last clean-up."""

    subscriptions: int
    conjunctions: int
    predicates: int
    equalities: int
    linear_paths: int
    tag_paths: int
    path_matches: int
    removed: int


@dataclass(frozen=True, slots=True)
class Exported:
    """The relations of subscriptions for another engine: ``tables`` by name, for each linear path what is asked of its
    nodes, as flags, the classes of inequalities that ``unrolled`` has columns for, and how many ``turns`` of conditions
    and ``levels`` of branching points there are."""

    tables: dict[str, pa.Table]
    demands: dict[LinearPath, int]
    classes: tuple[tuple[int, bool], ...]
    turns: int
    levels: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a batch was matched: by which plan, what was estimated of all of them, and the tables that were made."""

    plan: Plan
    forced: bool
    profile: Profile
    estimate: Estimate
    stages: tuple[Stage, ...]
    matches: int

    def __str__(self) -> str:
        """Lines for people."""
        profile, estimate = self.profile, self.estimate
        lines = [
            f"plan {self.plan}{' (as asked)' if self.forced else ''}",
            f"  {profile.conjunctions:,} conjunctions with {profile.equalities:.1f} equalities and"
            f" {profile.conditions:.1f} other predicates each; rows hold {1 - profile.rest:.0%} whole",
            f"  {estimate.hits:,} equalities hold, for {estimate.pairs:,.0f} pairs of document and conjunction;"
            f" {estimate.candidates:,.0f} candidates, {estimate.probes:,.0f} probes",
        ]
        lines += [f"  {plan:<9} {seconds * 1000:10.1f} ms expected" for plan, seconds in estimate.seconds.items()]
        lines += [f"  {each.table:<20} {each.rows:12,} rows {each.seconds * 1000:9.1f} ms" for each in self.stages]
        return "\n".join([*lines, f"{self.matches:,} matches"])


class RelationalMatcher:
    """Subscriptions by number, kept in memory or in a file. A context manager that closes it.

    ``memory`` is what DuckDB may use in megabytes, ``seconds`` what a statement may take. After a
    crash a file holds what it held after the last change that was reported.

    Raises :class:`DisseminationError`: HX9020 where the file is none of a matcher, HX9021 where it cannot be used.

    >>> from heptox.grammar import parse_subscription
    >>> from heptox.xml import parse_document
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
        self.path = file
        self._removed = 0
        self._seen: set[int] = set()
        self._engine = Engine(file, memory=memory, threads=threads, seconds=seconds)
        try:
            self._engine.run("CREATE OR REPLACE TEMP MACRO node_at(path, depth) AS path[depth]")
            self._relations = Relations(self._engine)
            self._chain = Chain(self._engine)
            self._bucketed, self._unrolled = Rows(self._engine, "bucketed"), Rows(self._engine, "unrolled")
            self._chooser = Chooser(self._engine)
            self._owns_tag_paths = tag_paths is None
            self._begin_paths(TagPaths() if tag_paths is None else tag_paths)
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

        self._add(subscriptions, lambda collector, number, patterns: collector.add(number, patterns))

    def add_texts(self, subscriptions: Iterable[tuple[int, str]], *, marks: Mapping[int, int] | None = None) -> None:
        """Add subscriptions by their texts, all or none; much faster where many differ in constants only.

        ``marks`` are kept with them, by number, for :meth:`marks`.

        Raises as :meth:`add`, and :class:`GrammarError` as :func:`heptox.grammar.parse_subscription`: of up to 20
        texts.
        """
        faults: list[Fault] = []

        def collect(collector: Collector, number: int, text: str) -> None:
            try:
                collector.add_text(number, text)
            except GrammarError as error:
                faults.extend(error.faults)
            if len(faults) >= MOST_FAULTS:
                raise GrammarError(faults[:MOST_FAULTS])

        self._add(subscriptions, collect, faults, marks or {})

    def _add(
        self,
        subscriptions: Iterable[tuple[int, T]],
        collect: Callable[[Collector, int, T], object],
        faults: Sequence[Fault] = (),
        marks: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        rows = iter(subscriptions)
        with self._relations.adding() as added, uncollected():
            while portion := list(islice(rows, PORTION)):
                collector = Collector(self._relations.dictionary)
                for number, subscription in portion:
                    collect(collector, number, subscription)
                if faults:
                    raise GrammarError(faults)
                self._relations.add(collector, added)
            if marks:
                self._relations.mark(marks)
        self._know(added)

    def marks(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of all subscriptions, ascending, and the marks they were added with, -1 where there was none."""
        return self._relations.marks()

    def _know(self, added: Added) -> None:
        """Look out for what was added."""
        self._paths.add(added.linear_paths)
        for linear_path, flags in added.demands:
            self._paths.demand(linear_path, flags)
        self._shredder.forget()

    def remove(self, number: int) -> bool:
        """Remove a subscription; whether there was one."""
        return self.remove_many([number]) == 1

    def remove_many(self, numbers: Iterable[int]) -> int:
        """Remove subscriptions; how many of them there were. Now and then what they leave is cleaned up."""
        with self._engine.transaction():
            found = self._relations.remove(numbers)
        self._removed += found
        if self._removed > max(_LEAST_REMOVED, len(self) // 4):
            self.clean()
        return found

    def clean(self) -> None:
        """Forget what no subscription uses any more, and tag paths that no document had since the last time."""
        with self._engine.transaction():
            self._relations.clean()
            for layout in (self._chain, self._bucketed, self._unrolled):
                layout.clear()
        self._chooser.forget()
        self._removed = 0
        if self._owns_tag_paths:
            self._paths.tag_paths.keep(sorted(self._seen))
        self._seen = set()
        self._begin_paths(self._paths.tag_paths)
        self._engine.run("CHECKPOINT")

    # -- matching ----------------------------------------------------------------------------------------------------

    def match(self, documents: Iterable[Document], plan: Plan | None = None) -> Matches:
        """Which documents match which subscriptions: places in ``documents``, and numbers.

        Documents are matched in batches, with the plan that statistics speak for unless one is given.

        Raises :class:`DisseminationError`: HX9022 where a statement takes too long, HX9023 for no plan.
        """
        _check_plan(plan)
        found: list[Matches] = []
        first = 0
        for messages in self._batches(documents):
            matched = self.match_messages(messages, plan)
            found.append(Matches(matched.documents + first, matched.numbers))
            first += messages.documents
        if not found:
            return Matches(np.empty(0, np.int64), np.empty(0, np.int64))
        return Matches(
            np.concatenate([each.documents for each in found]), np.concatenate([each.numbers for each in found])
        )

    def explain(self, documents: Iterable[Document], plan: Plan | None = None) -> list[Explanation]:
        """How documents are matched, for each batch; they are matched for it. Raises as :meth:`match`."""
        _check_plan(plan)
        found = []
        for messages in self._batches(documents):
            batch = self._batch(messages)
            profile, estimate = self._estimate(batch)
            chosen = plan or cast(Plan, estimate.plan)
            matched = self._matched(batch, chosen)
            stages = tuple(batch.stages)
            found.append(Explanation(chosen, plan is not None, profile, estimate, stages, len(matched)))
        return found

    def statistics(self) -> Statistics:
        """What there is."""
        one = self._engine.one
        self._paths.flush()
        conjunctions = one("SELECT count(*) FROM conjunction")
        predicates = one("SELECT count(*) FROM predicate SEMI JOIN conjunction USING (conjunction)")
        equalities = one("SELECT count(*) FROM equality WHERE constant <> 0")
        linear_paths = one("SELECT count(*) FROM linear_path")
        tag_paths, matches = len(self._paths.tag_paths) - 1, one("SELECT count(*) FROM path_match")
        return Statistics(
            len(self), conjunctions, predicates, equalities, linear_paths, tag_paths, matches, self._removed
        )

    def exported(self) -> Exported:
        """What another engine needs, beside :meth:`path_matches` and :meth:`positions`, to match with the relations."""
        end = self._relations.next_conjunction
        self._unrolled.update(end, lambda classes: np.empty((0, len(classes))))
        names = ("conjunction", "predicate", "equality", "constant", "structure", "unrolled")
        tables = {name: self._engine.arrow(f"SELECT * FROM {name}") for name in names}
        paths = self._relations.dictionary.linear_paths
        demands = {path: self._paths.demanded(number) for path, number in paths.items()}
        turns = self._engine.one("SELECT coalesce(max(turn), 0) FROM predicate")
        levels = self._engine.one("SELECT coalesce(max(level), 0) FROM structure")
        return Exported(tables, demands, self._unrolled.choice.classes, turns, levels)

    def path_matches(self, tag_paths: Sequence[str]) -> tuple[list[int], pa.Table]:
        """The numbers of tag paths, and the pairs of all tag paths and the linear paths that they match."""
        numbers = [self._paths.tag_paths.add(path_steps(text[1:])) for text in tag_paths]
        for number in numbers:
            self._paths.wanted(number)
        self._paths.flush()
        return numbers, self._engine.arrow("SELECT * FROM path_match")

    def positions(self, pairs: Sequence[tuple[int, int]]) -> tuple[pa.Table, pa.Table]:
        """``tag_path_branching`` and ``placement``, for pairs of a tag path and branching information at least."""
        known = set(self._engine.rows("SELECT DISTINCT tag_path, branching FROM tag_path_branching"))
        branchings = {number: key for key, number in self._relations.dictionary.branchings.items()}
        self._paths.place([pair for pair in pairs if pair not in known], branchings)
        return self._engine.arrow("SELECT * FROM tag_path_branching"), self._engine.arrow("SELECT * FROM placement")

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """What a statement finds in the relations, those of the last batch too: for looking at them."""
        return self._engine.rows(statement)

    def messages(self, documents: Iterable[Document]) -> list[Messages]:
        """Documents as batches of relations, for :meth:`match_messages`."""
        return list(self._batches(documents))

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

    def match_messages(self, messages: Messages, plan: Plan | None = None) -> Matches:
        """As :meth:`match`, for a batch that :meth:`messages` has made since subscriptions were added last."""
        batch = self._batch(messages)
        return self._matched(batch, plan or cast(Plan, self._estimate(batch)[1].plan))

    def _batch(self, messages: Messages) -> Batch:
        self._paths.flush()
        self._seen.update(messages.tag_paths)
        return Batch(self._engine, self._paths, self._relations.dictionary, messages)

    def _estimate(self, batch: Batch) -> tuple[Profile, Estimate]:
        profile = self._chooser.profile(self._relations.next_conjunction, batch.class_values)
        return profile, self._chooser.estimate(profile, batch.documents)

    def _matched(self, batch: Batch, plan: Plan) -> Matches:
        end = self._relations.next_conjunction
        if plan == "shared":
            self._chain.update(end)
            batch.shared()
        elif plan == "bucketed":
            self._bucketed.update(end, batch.class_values)
            batch.bucketed(self._bucketed)
        else:
            self._unrolled.update(end, batch.class_values)
            batch.unrolled(self._unrolled)
        return _sorted(batch.found())

    # -- opening -----------------------------------------------------------------------------------------------------

    def _begin_paths(self, tag_paths: TagPaths) -> None:
        """Look out for what subscriptions ask for."""
        self._paths = PathMatches(self._engine, tag_paths)
        self._shredder = Shredder(tag_paths, self._paths.wanted)
        self._paths.add(self._relations.dictionary.linear_paths)
        found = self._engine.columns(
            f"SELECT linear_path, bit_or(CASE operator WHEN {EXISTS} THEN {NODE} ELSE {VALUE} END"
            f" | CASE WHEN branching > 0 THEN {ID_PATH} ELSE 0 END) AS flags FROM predicate GROUP BY linear_path"
        )
        self._paths.demand(np.asarray(found["linear_path"]), np.asarray(found["flags"], np.int8))


def _check_plan(plan: str | None) -> None:
    if plan is not None and plan not in PLANS:
        raise DisseminationError(Fault("HX9023", f"there is no plan {plan!r}", hint=f"one of {', '.join(PLANS)}"))


def _sorted(found: dict[str, Any]) -> Matches:
    """Pairs in order, each once: a subscription matches by several of its alternatives."""
    documents, numbers = (np.asarray(found[name], np.int64) for name in ("document", "number"))
    if numbers.min(initial=0) < 0 or numbers.max(initial=0) >= 1 << _NUMBER_BITS:
        order = np.lexsort((numbers, documents))
        documents, numbers = documents[order], numbers[order]
    else:
        # Sorting one column is several times faster.
        pairs = np.sort(documents << _NUMBER_BITS | numbers)
        documents, numbers = pairs >> _NUMBER_BITS, pairs & ((1 << _NUMBER_BITS) - 1)
    if len(numbers) < 2:
        return Matches(documents, numbers)
    new = np.r_[True, (documents[1:] != documents[:-1]) | (numbers[1:] != numbers[:-1])]
    return Matches(documents, numbers) if new.all() else Matches(documents[new], numbers[new])
