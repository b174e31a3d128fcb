"""Definition 1, tested on random valid documents and random queries (``semantics.md`` section 6).

In each direction that a mapping serves, a query is asked on the exchanged document, and its translation on the
document: both answers must be equal. A counterexample is shrunk as far as it stays one. Documents are also exchanged
there and back: what does not come back breaks no law, and is reported with the line that would mend it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from time import monotonic
from typing import Final, TypeAlias

from heptox.errors import CODES, Fault, HeptoxError, Position, TranslationError
from heptox.grammar import Expression, Side, print_query
from heptox.mapping import ArrowsText, Mapping, exchange, path_text
from heptox.schema import Path, SchemaTree
from heptox.store import evaluate
from heptox.translate import translate
from heptox.verification.assumptions import broken_declarations, broken_keys
from heptox.verification.cases import CaseMaker, as_read
from heptox.verification.documents import Instance, holds_something, instance_of
from heptox.verification.inverses import broken_inverses, wrong_inverses
from heptox.verification.items import same_items
from heptox.verification.laws import Law, served
from heptox.verification.round_trips import (
    LossyDocument,
    all_leaves,
    comes_back,
    mending_line,
    promised,
    returning,
    smallest,
    written,
)
from heptox.verification.shrinking import smaller_documents, smaller_queries
from heptox.xml import Document, line_of, write_document

MOST_SECONDS: Final = 5.0
"""How long the translations and evaluations of one check may take; a check that takes longer is counted as stopped."""
SHRINKING_SECONDS: Final = 30.0
"""How long a counterexample is shrunk."""
MENDING_SECONDS: Final = 10.0
"""How long a document that does not come back is made smaller."""
MOST_ELEMENTS: Final = 2000
"""Larger documents are not made smaller."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A query and a document on which a law does not hold.

    ``query`` is over the schema of the side that asks, ``translation`` its translation, ``document`` of the side that
    answers, ``image`` what exchange makes of it. ``expected`` are the items of the query on the image, ``found`` those
    of its translation on the document. ``error`` is an error in the place of items, or of a translation. ``seed``
    repeats it as a case of its own, ``None`` where the document was given.
    """

    law: Law
    seed: int | None
    query: str
    translation: str | None
    document: str
    image: str
    expected: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """Of how many documents of one side all came back, and the smallest found of which it did not."""

    documents: int = 0
    returned: int = 0
    lost: LossyDocument | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found.

    ``cases`` were done, up to the one with the counterexample. ``checks`` counts by law the pairs of a query and a
    document on which it was seen to hold, ``answering`` those of them with an answer; the laws in them are those of the
    directions that the mapping serves. ``untested`` says why nothing was tested by a law. ``refused`` counts by error
    code the queries that are not translated or raise an error themselves, ``stopped`` those that took too long.
    ``idle`` are the rules of a direction, counted from 1, that made nothing of any document. ``assumed`` are the
    declared keys of a side that all random documents obeyed, ``inverses`` the declared ones that are wrong for some
    strings; ``conflicts`` counts those left out as they bring several
    values for a leaf of the asking side that is there once. ``faults`` say what given documents break of what the
    mapping declares. ``round_trips`` are by the law of the side whose documents go there and back.
    """

    cases: int
    checks: dict[Law, int] = field(default_factory=dict)
    answering: dict[Law, int] = field(default_factory=dict)
    untested: dict[Law, str] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    stopped: int = 0
    idle: tuple[tuple[Law, int], ...] = ()
    assumed: tuple[tuple[Side, Path], ...] = ()
    conflicts: tuple[tuple[Law, Path, int], ...] = ()
    inverses: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()
    round_trips: dict[Law, RoundTrip] = field(default_factory=dict)
    counterexample: Counterexample | None = None

    @property
    def passed(self) -> bool:
        """Whether something was tested in each direction, and nothing was found that is wrong."""
        return self.counterexample is None and not self.faults and not self.untested


def verify(
    mapping: Mapping,
    cases: int = 100,
    seed: int = 1,
    *,
    any_valid: bool = False,
    documents: dict[Law, Sequence[Document]] | None = None,
    arrows: ArrowsText | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Test a mapping's translations on random cases, up to the first counterexample.

    Case ``n`` (from 0) has the seed ``seed + n``: ``verify(mapping, 1, seed + n)`` repeats it. Random documents are
    valid for their schema; unless ``any_valid``, they obey the declared keys of both sides too, which translation
    relies on. Every query is asked on the given ``documents`` as well, valid ones of the side that a law reads, but for
    those that bring several values for one leaf (HX5014). ``arrows`` is the text of the mapping, on which lines are
    tried that would mend it. ``progress`` is called when a case is done (``case``) and when a counterexample became
    smaller (``shrink``).

    Raises :class:`TranslationError` (HX5013) where no random document can be made; :class:`MappingError` where a given
    document is of another schema.
    """
    given = documents or {}
    readings = [_Reading(mapping, law, any_valid, given.get(law, ())) for law in served(mapping)]
    return _Verifying(mapping, readings, arrows, progress).run(cases, seed)


class _OutOfTimeError(Exception):
    """A check took longer than it may."""


class _DefectError(Exception):
    """Translation ended in an error that is no refusal."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A counterexample before it is written down."""

    law: Law
    query: Expression
    instance: Instance
    translation: Expression | None = None
    expected: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    error: str | None = None


_Verdict: TypeAlias = _Failure | bool
"""A failure, or whether the law holds with an answer."""


class _Verifying:
    def __init__(
        self,
        mapping: Mapping,
        readings: Sequence[_Reading],
        arrows: ArrowsText | None,
        progress: Callable[[str], None],
    ) -> None:
        self.mapping = mapping
        self.readings = readings
        self.arrows = arrows
        self.progress = progress

    def run(self, cases: int, seed: int) -> Verification:
        failure: _Failure | None = None
        number = 0
        while number < cases and failure is None:
            failure = self.case(seed + number)
            number += 1
            self.progress("case")
        counterexample = None
        if failure is not None:
            reading = next(reading for reading in self.readings if reading.law is failure.law)
            given = any(failure.instance is instance for instance in reading.given)
            failure = reading.shrunk(failure, self.progress)
            counterexample = _written(failure.law.read(self.mapping), failure, None if given else seed + number - 1)
        return self.summary(number, counterexample)

    def case(self, seed: int) -> _Failure | None:
        for reading in self.readings:
            failure = reading.case(seed)
            if failure is not None:
                return failure
        return None

    def summary(self, cases: int, counterexample: Counterexample | None) -> Verification:
        refused: Counter[str] = Counter()
        for reading in self.readings:
            refused.update(reading.judge.refused)
        untested = {} if counterexample else {one.law: why for one in self.readings if (why := one.untested())}
        both = len(self.readings) == len(Law)
        return Verification(
            cases,
            {one.law: one.judge.checks for one in self.readings},
            {one.law: one.judge.answering for one in self.readings},
            untested,
            dict(sorted(refused.items())),
            sum(one.judge.stopped for one in self.readings),
            tuple((one.law, number) for one in self.readings for number in one.idle),
            tuple((one.law.answers, key) for one in self.readings for key in one.maker.assumed),
            tuple((one.law, *count) for one in self.readings for count in sorted(one.maker.conflicts.items())),
            tuple(text for one in self.readings for text in one.assumed_inverses),
            tuple(fault for one in self.readings for fault in one.faults),
            {one.law: one.journeys.summary(self.arrows) for one in self.readings} if both else {},
            counterexample,
        )


# -- one direction ---------------------------------------------------------------------------------------------------


class _Reading:
    """One direction of a mapping: its cases, what was seen of its rules, and what comes back of its documents."""

    def __init__(self, mapping: Mapping, law: Law, any_valid: bool, documents: Sequence[Document]) -> None:
        self.law = law
        self.read = law.read(mapping)
        self.maker = CaseMaker(self.read, any_valid, documents)
        self.judge = _Judge(mapping, law)
        self.journeys = _Journeys(self.read, law, len(served(mapping)) == len(Law))
        given = [instance_of(self.read, document) for document in documents]
        wrong, self.assumed_inverses = wrong_inverses(self.read)
        self.faults = (*wrong, *(fault for one in given for fault in self._broken(one)))
        self.given = tuple(one for one in given if not one.conflicts)
        self.idle = dict(enumerate(self.read.rules, start=1))
        self._seen(given)
        self.journeys.made(self.given)
        self.documents = len(given)

    def _broken(self, instance: Instance) -> Iterator[Fault]:
        yield from broken_declarations(self.read, instance.document)
        yield from broken_inverses(self.read, instance.document)
        root = instance.document.root
        for leaf, count in instance.conflicts:
            name = path_text(self.read.target, leaf)
            message = f"{name} stands once, and gets several values {count} times: the first is kept"
            place = Position(line_of(root), 1, instance.document.file)
            hint = "no translation is promised to be right on this document: each, or the key, is not what it says"
            yield Fault("HX5014", message, place, hint=hint)

    def case(self, seed: int) -> _Failure | None:
        case = self.maker.case(Random(f"{self.law} {seed}"))
        self.documents += len(case.instances)
        self._seen(case.instances)
        self.journeys.made(case.instances)
        for query in case.queries:
            failure = self.judge.query(query, (*case.instances, *self.given))
            if failure is not None:
                return failure
        return None

    def _seen(self, instances: Sequence[Instance]) -> None:
        """Forget the rules among the idle ones that make something of a document."""
        for number, rule in list(self.idle.items()):
            alone = replace(self.read, along=(rule,))
            if any(holds_something(exchange(alone, instance.document)) for instance in instances):
                del self.idle[number]

    def untested(self) -> str | None:
        """Why no query had an answer, if so."""
        if self.judge.answering:
            return None
        if not self.read.rules:
            return f"no rule makes documents of {_root(self.read.target)}: no line is read {self.law}"
        if not self.documents:
            leaves = ", ".join(path_text(self.read.target, leaf) for leaf in self.maker.conflicts)
            return f"every random document brings several values for a leaf that is there once: {leaves}"
        if len(self.idle) == len(self.read.rules):
            return f"the rules make nothing of any of {self.documents} documents of {_root(self.read.source)}"
        if self.judge.asked == self.judge.stopped:
            return "every query took too long"
        refused = sum(self.judge.refused.values())
        if refused and self.judge.asked == self.judge.stopped + refused:
            return "every query was refused: " + ", ".join(f"{code} ({CODES[code]})" for code in self.judge.refused)
        return f"none of {self.judge.asked} queries had an answer: try more cases"

    # -- shrinking -----------------------------------------------------------------------------------------------

    def shrunk(self, failure: _Failure, progress: Callable[[str], None]) -> _Failure:
        """The failure with parts of its query and its document left out as long as it stays one."""
        end = monotonic() + SHRINKING_SECONDS
        while monotonic() < end:
            smaller = next(self._smaller(failure, end), None)
            if smaller is None:
                break
            failure = smaller
            progress("shrink")
        return failure

    def _smaller(self, failure: _Failure, end: float) -> Iterator[_Failure]:
        obedient = not broken_keys(self.read, failure.instance.document) and not failure.instance.conflicts
        for instance, query in self._candidates(failure):
            if obedient and (instance.conflicts or broken_keys(self.read, instance.document)):
                continue
            if monotonic() > end:
                return
            found = self.judge.again(query, instance)
            if found is not None:
                yield found

    def _candidates(self, failure: _Failure) -> Iterator[tuple[Instance, Expression]]:
        for query in smaller_queries(failure.query):
            if (read := as_read(query)) is not None:
                yield failure.instance, read
        for document in smaller_documents(failure.instance.document):
            instance = self.maker.instance(document)
            if instance is not None:
                yield instance, failure.query


def _written(read: Mapping, failure: _Failure, seed: int | None) -> Counterexample:
    asking = read.target.graph.prefixes
    prefixes = asking.with_more(dict(read.source.graph.prefixes.bound))
    return Counterexample(
        failure.law,
        seed,
        print_query(failure.query, asking),
        None if failure.translation is None else print_query(failure.translation, prefixes),
        write_document(failure.instance.document.root).rstrip("\n"),
        write_document(failure.instance.image.root).rstrip("\n"),
        tuple(sorted(failure.expected)),
        tuple(sorted(failure.found)),
        failure.error,
    )


class _Journeys:
    """Documents of one side that go there and back."""

    def __init__(self, read: Mapping, law: Law, possible: bool) -> None:
        self.read, self.law, self.possible = read, law, possible
        self.documents = self.returned = 0
        self.returning = returning(read)
        self.all = all_leaves(read)
        self.example: tuple[Instance, Path | None] | None = None
        """A document that does not come back, if possible for another reason than one leaf that never does."""

    def made(self, instances: Sequence[Instance]) -> None:
        """Send documents there and back."""
        if not self.possible:
            return
        for instance in instances:
            self.documents += 1
            if comes_back(self.read, instance, self.all):
                self.returned += 1
            elif self.example is None or self.example[1] is not None:
                self._keep(instance)

    def _keep(self, instance: Instance) -> None:
        if not comes_back(self.read, instance, self.returning):
            self.example = instance, None
        elif self.example is None:
            never = sorted(self.all.values - self.returning.values)
            lost = (leaf for leaf in never if not comes_back(self.read, instance, self.returning.with_leaf(leaf)))
            leaf = next(lost, None)
            self.example = None if leaf is None else (instance, leaf)

    def summary(self, arrows: ArrowsText | None) -> RoundTrip:
        """What came back, with the smallest document that did not, and the line that mends it."""
        if self.example is None:
            return RoundTrip(self.documents, self.returned)
        instance, leaf = self.example
        leaves = self.returning if leaf is None else self.returning.with_leaf(leaf)
        end = monotonic() + MENDING_SECONDS
        if promised(self.read, instance.document) and sum(1 for _ in instance.document.root.iter()) <= MOST_ELEMENTS:
            instance = smallest(self.read, instance, leaves, lambda: monotonic() > end)
        line = None if arrows is None else mending_line(arrows, self.law, instance.document, leaves, leaf)
        return RoundTrip(self.documents, self.returned, written(self.read, instance, line))


# -- judging ---------------------------------------------------------------------------------------------------------


class _Judge:
    """Says whether a law holds for a query on documents, and keeps count."""

    def __init__(self, mapping: Mapping, law: Law) -> None:
        self.mapping = mapping
        self.law = law
        self.asked = self.checks = self.answering = self.stopped = 0
        self.refused: Counter[str] = Counter()

    def query(self, query: Expression, instances: Sequence[Instance]) -> _Failure | None:
        """The first failure of a query on some documents; refusals are counted."""
        self.asked += 1
        try:
            translation = self.translation(query)
            for instance in instances:
                verdict = self.verdict(query, translation, instance)
                if isinstance(verdict, _Failure):
                    return verdict
                self.checks += 1
                self.answering += verdict
        except HeptoxError as error:
            self.refused[error.faults[0].code] += 1
        except _OutOfTimeError:
            self.stopped += 1
        except _DefectError as defect:
            if instances:
                return _Failure(self.law, query, instances[0], error=str(defect))
        return None

    def again(self, query: Expression, instance: Instance) -> _Failure | None:
        """The failure of a query on one document, nothing counted."""
        try:
            verdict = self.verdict(query, self.translation(query), instance)
        except (HeptoxError, _OutOfTimeError):
            return None
        except _DefectError as defect:
            return _Failure(self.law, query, instance, error=str(defect))
        return verdict if isinstance(verdict, _Failure) else None

    def translation(self, query: Expression) -> Expression:
        try:
            translation = translate(self.mapping, query, self.law.direction)
            if translation.returns_invented:
                raise TranslationError(Fault("HX5016", "an identifier that is invented is returned"))
            return translation.query
        except (HeptoxError, _OutOfTimeError):
            raise
        except Exception as error:
            raise _DefectError(_told(error)) from error

    def verdict(self, query: Expression, translation: Expression, instance: Instance) -> _Verdict:
        """Whether the law holds; a query that raises an error itself promises nothing."""
        expected = _answer(query, instance.image)
        try:
            found = _answer(translation, instance.document)
        except _OutOfTimeError:
            raise
        except Exception as error:  # the query itself has an answer, so its translation must have one
            return _Failure(self.law, query, instance, translation, expected, error=_told(error))
        if not same_items(found, expected):
            return _Failure(self.law, query, instance, translation, expected, found)
        return bool(found)


def _told(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, HeptoxError) else f"{type(error).__name__}: {text}"


def _answer(query: Expression, document: Document) -> frozenset[str]:
    return frozenset(evaluate(query, [document], _deadline()))


def _deadline() -> Callable[[], None]:
    end = monotonic() + MOST_SECONDS

    def check() -> None:
        if monotonic() > end:
            raise _OutOfTimeError

    return check


def _root(tree: SchemaTree) -> str:
    return tree.written((tree.root,))
