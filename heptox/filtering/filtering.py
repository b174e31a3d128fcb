"""Documents filtered: read, cut, evaluated part by part, and the results put together."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Final, Protocol, TypeAlias

from heptox.errors import Fault
from heptox.filtering.chunker import (
    TOO_LARGE_HINT,
    Chunker,
    ChunkText,
    DocumentTooLargeError,
    OutsideSchemaError,
)
from heptox.filtering.evaluation import Compiled3
from heptox.filtering.filters import FilteringPlan, Situation
from heptox.filtering.parts import Part
from heptox.filtering.reading import Version
from heptox.filtering.results import PartEvaluator, Result, merged
from heptox.filtering.schema_steps import SchemaSteps
from heptox.xml import Readable

_Rounds: TypeAlias = Iterable[tuple[ChunkText, ...]]
_MOST_TOLD: Final = 5


class SeekableSource(Readable, Protocol):
    """A source that can be read again."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """Go to a place, as files do, and tell it."""


class Evaluating(Protocol):
    """Evaluates parts: here, or in other processes."""

    @property
    def most_waiting(self) -> int:
        """How many chunks may wait for their results."""

    def submit(self, situation: Situation, chunk: ChunkText, file: str | None) -> Callable[[], list[Result]]:
        """Have the filters of a part evaluated on a chunk; the results are there when they are asked for."""


class PlanEvaluator:
    """Evaluates the parts of a plan, in this process."""

    most_waiting: Final = 0

    def __init__(self, plan: FilteringPlan) -> None:
        self._plan = plan
        self._compiled_3 = Compiled3() if plan.version is Version.THREE else None
        self._parts: dict[Situation, tuple[PartEvaluator, ...]] = {}

    def submit(self, situation: Situation, chunk: ChunkText, file: str | None) -> Callable[[], list[Result]]:
        """The results are made when they are asked for."""
        return lambda: self.evaluate(situation, chunk, file)

    def evaluate(self, situation: Situation, chunk: ChunkText, file: str | None) -> list[Result]:
        """The results of the filters of a part on a chunk."""
        evaluators = self._parts.get(situation)
        if evaluators is None:
            plan = self._plan
            evaluators = self._parts[situation] = tuple(
                PartEvaluator(part, self._compiled_3, sharing=plan.sharing) for part in plan.parts(situation)
            )
        return evaluators[chunk.number].evaluate(chunk, file)


class DocumentFilter:
    """Filters documents by a plan.

    >>> from io import BytesIO
    >>> from heptox.filtering.filters import FilterSet
    >>> from heptox.schema import parse_dtd
    >>> filters = FilterSet(parse_dtd("<!ELEMENT a (b*, c*)> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)>"))
    >>> _ = filters.add(1, "//b"), filters.add(2, "/a[b]/c[. = 'y']")
    >>> for result in DocumentFilter(filters.plan(2)).results(BytesIO(b"<a><b>x</b><c>y</c><c>z</c></a>")):
    ...     print(result.number, *result.found)
    1 <b>x</b>
    2 <c>y</c>
    """

    def __init__(self, plan: FilteringPlan, evaluating: Evaluating | None = None) -> None:
        self._plan = plan
        self._evaluating = evaluating or PlanEvaluator(plan)
        self._schema = SchemaSteps(plan.graph)
        self._parts: dict[Situation, tuple[Part, ...]] = {}
        self._chunkers: dict[tuple[Situation, bool], Chunker] = {}
        self.outside: Fault | None = None
        """Where the last document is outside the schema, if it is and that matters."""

    def results(self, source: SeekableSource, file: str | None = None) -> Iterator[Result]:
        """The results of a document: of each filter that selects anything, or has no value, one or more.

        The fragments of a filter are in document order, from result to result. Of a document, or of each piece of one,
        the part with the filter of the highest priority comes first, and in each part the filters by priority; those
        whose results are merged from several parts come last.

        Raises :class:`InputError` as :meth:`XmlReader.read`, and :class:`DocumentTooLargeError` where more of the
        document than may be would have to be held.
        """
        self.outside = None
        size = source.seek(0, 2)
        source.seek(0)
        cut = self._plan.scheme is not None and size > self._plan.size
        situation, rounds = (
            self._apart(source, file, cut) if cut or self._plan.scheme is None else self._at_once(source, file)
        )
        yield from self._put_together(situation, self._with_whole(situation, rounds, source, size, file), file)

    # -- reading ------------------------------------------------------------------------------------------------------

    def _at_once(self, source: SeekableSource, file: str | None) -> tuple[Situation, _Rounds]:
        """The chunks of a document, all of which are there before any is evaluated."""
        situation = Situation()
        try:
            return situation, list(self._chunker(situation, checking=self._relies).read(source, file))
        except OutsideSchemaError as error:
            self.outside = error.fault
        source.seek(0)
        situation = Situation(outside=True)
        return situation, self._chunker(situation, checking=False).read(source, file)

    def _apart(self, source: SeekableSource, file: str | None, cut: bool) -> tuple[Situation, _Rounds]:
        """The pieces of a document, which is looked at before."""
        situation = Situation(cut, outside=self._is_outside(source, file))
        source.seek(0)
        chunker = self._chunker(situation, checking=False)
        return situation, chunker.read(source, file) if chunker.projections else ()

    def _with_whole(
        self, situation: Situation, rounds: _Rounds, source: SeekableSource, size: int, file: str | None
    ) -> _Rounds:
        """The chunks, and at the end the document as it stands, if it is asked for."""
        yield from rounds
        made = self.parts(situation)
        if not made or made[-1].projection is not None:
            return
        if size > self._plan.most_held:
            numbers = ", ".join(str(query.number) for query in made[-1].queries[:_MOST_TOLD])
            message = (
                f"more than {self._plan.most_held} bytes would be held for filters on the whole document: {numbers}"
            )
            raise DocumentTooLargeError(Fault("HX9201", message, file=file, hint=TOO_LARGE_HINT))
        source.seek(0)
        yield (ChunkText(len(made) - 1, source.read(-1)),)

    def _is_outside(self, source: SeekableSource, file: str | None) -> bool:
        """Whether it matters that the document is outside the schema, and is so."""
        if not self._relies:
            return False
        try:
            for _ in self._checker.read(source, file):
                pass
        except OutsideSchemaError as error:
            self.outside = error.fault
        return self.outside is not None

    @cached_property
    def _checker(self) -> Chunker:
        """What looks at documents, and keeps nothing of them."""
        return Chunker((), self._schema)

    @cached_property
    def _relies(self) -> bool:
        return self._plan.relies_on_schema

    def parts(self, situation: Situation) -> tuple[Part, ...]:
        """What is done with a document in such a situation."""
        found = self._parts.get(situation)
        if found is None:
            found = self._parts[situation] = self._plan.parts(situation)
        return found

    def _chunker(self, situation: Situation, *, checking: bool) -> Chunker:
        found = self._chunkers.get((situation, checking))
        if found is None:
            found = self._chunkers[situation, checking] = Chunker(
                [part.projection for part in self.parts(situation) if part.projection is not None],
                self._schema if checking else None,
                size=self._plan.size if situation.cut else None,
                most_held=self._plan.most_held,
            )
        return found

    # -- putting together ---------------------------------------------------------------------------------------------

    def _put_together(self, situation: Situation, rounds: _Rounds, file: str | None) -> Iterator[Result]:
        made = self.parts(situation)
        submitted: deque[tuple[int, int, Callable[[], list[Result]]]] = deque()
        gathering = _Gathering()
        for number, chunks in enumerate(rounds):
            for chunk in sorted(chunks, key=lambda chunk: -made[chunk.number].priority):
                submitted.append((number, chunk.number, self._evaluating.submit(situation, chunk, file)))
                while len(submitted) > self._evaluating.most_waiting:
                    yield from self._next(submitted, made, gathering)
        while submitted:
            yield from self._next(submitted, made, gathering)
        yield from gathering.end()

    def _next(
        self,
        submitted: deque[tuple[int, int, Callable[[], list[Result]]]],
        made: tuple[Part, ...],
        gathering: _Gathering,
    ) -> Iterator[Result]:
        number, part, results = submitted.popleft()
        yield from gathering.begin(number)
        for result in results():
            if result.number in made[part].merged:
                gathering.add(result)
            else:
                yield result


class _Gathering:
    """Results of one filter in several parts, until all of a round are there."""

    def __init__(self) -> None:
        self._round = 0
        self._results: defaultdict[int, list[Result]] = defaultdict(list)

    def add(self, result: Result) -> None:
        self._results[result.number].append(result)

    def begin(self, number: int) -> Iterator[Result]:
        """What there is of the round before, where another one begins."""
        if number != self._round:
            self._round = number
            yield from self.end()

    def end(self) -> Iterator[Result]:
        yield from map(merged, self._results.values())
        self._results.clear()
