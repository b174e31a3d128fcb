"""Definition 1, tested on random valid documents and random queries (``semantics.md`` section 6).

Both sides are evaluated: a query over the target schema on the exchanged document and its translation on the document,
a query over the source schema on the document and its translation on the exchanged one, and a query that is translated
there and back on the exchanged document. A counterexample is shrunk as far as it stays one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from time import monotonic
from typing import Final, TypeAlias

from heptox.errors import Fault, HeptoxError, TranslationError
from heptox.grammar import Expression, parse_query, print_query
from heptox.mapping import Mapping, Rule, exchange
from heptox.pattern import TAG, Term
from heptox.schema import (
    SAMPLE_VALUES,
    AttributeType,
    LeafValues,
    Path,
    SchemaTree,
    id_paths,
    random_document,
    validity_faults,
)
from heptox.store import evaluate
from heptox.translate import Direction, translate, with_wholes
from heptox.verification.assumptions import broken_declarations, broken_keys, declared_keys, obey_keys
from heptox.verification.random_queries import Vocabulary, random_query
from heptox.verification.shrinking import smaller_documents, smaller_queries
from heptox.xmlio import Document, parse_document, write_document

NUMBERS: Final = ("1", "2", "2.0", "10", "-3")
DOCUMENTS: Final = 3
"""Random documents of a case."""
MOST_SECONDS: Final = 5.0
"""How long the translations and evaluations of one check may take; a check that takes longer is counted as stopped."""
SHRINKING_SECONDS: Final = 30.0
"""How long a counterexample is shrunk."""


class Law(StrEnum):
    """The laws of section 6."""

    BACKWARD = "backward"
    FORWARD = "forward"
    ROUND_TRIP = "round trip"

    @property
    def asks_source(self) -> bool:
        """Whether its queries are over the source schema."""
        return self is Law.FORWARD


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A query and a document on which a law does not hold.

    ``query`` is over the source schema for :attr:`Law.FORWARD`, else over the target schema; ``translations`` are what
    became of it, two for a round trip. ``expected`` are the items of the query itself, ``found`` those of its
    translation; forward, more than is expected is wrong, otherwise any difference. ``error`` tells of an error in the
    place of items. ``seed`` repeats it as a case of its own, ``None`` where the document was given.
    """

    law: Law
    seed: int | None
    query: str
    translations: tuple[str, ...]
    document: str
    image: str
    expected: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found.

    ``cases`` were done, up to the one with the counterexample. ``checks`` counts by law the pairs of a query and a
    document on which it was seen to hold, ``answering`` those of them with an answer. ``refused`` counts by error code
    the queries that are not translated or raise an error themselves, ``stopped`` those that took too long. ``idle`` are
    the rules, counted from 1, that made nothing of any document. ``assumed`` are the declared keys that all random
    documents obeyed. ``faults`` tell what given documents break of what the mapping declares.
    """

    cases: int
    checks: dict[Law, int] = field(default_factory=dict)
    answering: dict[Law, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    stopped: int = 0
    idle: tuple[int, ...] = ()
    assumed: tuple[Path, ...] = ()
    faults: tuple[Fault, ...] = ()
    counterexample: Counterexample | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing was found that is wrong."""
        return self.counterexample is None and not self.faults


def verify(
    mapping: Mapping,
    cases: int = 100,
    seed: int = 1,
    *,
    any_valid: bool = False,
    documents: Sequence[Document] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Verification:
    """Test a mapping's translations on random cases, up to the first counterexample.

    Case ``n`` (from 0) has the seed ``seed + n``: ``verify(mapping, 1, seed + n)`` repeats it. Random documents are
    valid for the source schema; unless ``any_valid``, they obey the declared keys too, which translation relies on.
    Every query is asked on ``documents``, valid ones of the source schema, as well. ``progress`` is told when a case is
    done (``case``) and when a counterexample became smaller (``shrink``).

    Raises :class:`TranslationError` (HX5013) where no random document can be made; :class:`MappingError` where a given
    document is of another schema.
    """
    return _Verifying(mapping, any_valid, documents, progress).run(cases, seed)


# -- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Instance:
    """A document and what the mapping makes of it."""

    document: Document
    image: Document


@dataclass(frozen=True, slots=True)
class _Case:
    """Queries and documents that are checked together."""

    asked: tuple[tuple[Law, Expression], ...]
    instances: tuple[_Instance, ...]


class _OutOfTimeError(Exception):
    """A check took longer than it may."""


class _DefectError(Exception):
    """Translation ended in an error that is no refusal."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A counterexample before it is written down."""

    law: Law
    query: Expression
    instance: _Instance
    translations: tuple[Expression, ...] = ()
    expected: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    error: str | None = None


_Verdict: TypeAlias = _Failure | bool
"""A failure, or whether the law holds with an answer."""


class _Verifying:
    def __init__(
        self, mapping: Mapping, any_valid: bool, documents: Sequence[Document], progress: Callable[[str], None]
    ) -> None:
        self.mapping = mapping
        self.progress = progress
        self.maker = _CaseMaker(mapping, any_valid)
        self.judge = _Judge(mapping)
        self.faults = tuple(fault for document in documents for fault in broken_declarations(mapping, document))
        self.given = tuple(_Instance(document, _image(mapping, document)) for document in documents)
        self.idle = dict(enumerate(mapping.rules, start=1))

    def run(self, cases: int, seed: int) -> Verification:
        failure: _Failure | None = None
        number = 0
        while number < cases and failure is None:
            failure = self.case(seed + number)
            number += 1
            self.progress("case")
        counterexample = None
        if failure is not None:
            given = any(failure.instance is instance for instance in self.given)
            failure = self.shrunk(failure)
            counterexample = _written(failure, None if given else seed + number - 1)
        return Verification(
            number,
            dict(self.judge.checks),
            dict(self.judge.answering),
            dict(sorted(self.judge.refused.items())),
            self.judge.stopped,
            tuple(self.idle),
            self.maker.assumed,
            self.faults,
            counterexample,
        )

    def case(self, seed: int) -> _Failure | None:
        case = self.maker.case(seed)
        self.seen(case.instances)
        for law, query in case.asked:
            failure = self.judge.query(law, query, (*case.instances, *self.given))
            if failure is not None:
                return failure
        return None

    def seen(self, instances: Sequence[_Instance]) -> None:
        """Forget the rules among the idle ones that make something of a document."""
        for number, rule in list(self.idle.items()):
            alone = replace(self.mapping, rules=(rule,))
            if any(_holds_something(exchange(alone, instance.document)) for instance in (*instances, *self.given)):
                del self.idle[number]

    # -- shrinking -----------------------------------------------------------------------------------------------

    def shrunk(self, failure: _Failure) -> _Failure:
        """The failure with parts of its query and its document left out as long as it stays one."""
        end = monotonic() + SHRINKING_SECONDS
        while monotonic() < end:
            smaller = next(self._smaller(failure, end), None)
            if smaller is None:
                break
            failure = smaller
            self.progress("shrink")
        return failure

    def _smaller(self, failure: _Failure, end: float) -> Iterator[_Failure]:
        obedient = not broken_keys(self.mapping, failure.instance.document)
        for instance, query in self._candidates(failure):
            if obedient and broken_keys(self.mapping, instance.document):
                continue
            if monotonic() > end:
                return
            found = self.judge.again(failure.law, query, instance)
            if found is not None:
                yield found

    def _candidates(self, failure: _Failure) -> Iterator[tuple[_Instance, Expression]]:
        for query in smaller_queries(failure.query):
            if (read := _as_read(query)) is not None:
                yield failure.instance, read
        for document in smaller_documents(failure.instance.document):
            instance = self.maker.instance(document)
            if instance is not None:
                yield instance, failure.query


def _image(mapping: Mapping, document: Document) -> Document:
    return parse_document(write_document(exchange(mapping, document).root))


def _holds_something(image: Document) -> bool:
    return len(image.root) > 0 or bool(image.root.attrib) or bool(image.root.text)


def _as_read(query: Expression) -> Expression | None:
    """The query as it is read from its text, so that what is shown is what was checked."""
    try:
        return parse_query(print_query(query))
    except (HeptoxError, ValueError):
        return None


def _written(failure: _Failure, seed: int | None) -> Counterexample:
    return Counterexample(
        failure.law,
        seed,
        print_query(failure.query),
        tuple(map(print_query, failure.translations)),
        write_document(failure.instance.document.root).rstrip("\n"),
        write_document(failure.instance.image.root).rstrip("\n"),
        tuple(sorted(failure.expected)),
        tuple(sorted(failure.found)),
        failure.error,
    )


# -- making cases ----------------------------------------------------------------------------------------------------


class _CaseMaker:
    """Makes random documents and queries for a mapping."""

    def __init__(self, mapping: Mapping, any_valid: bool) -> None:
        self.mapping = mapping
        self.whole = with_wholes(mapping)
        self.assumed = () if any_valid else declared_keys(mapping)
        self.pairs = list(dict.fromkeys(_correspondences(self.whole)))
        breakable: LeafValues = dict.fromkeys(declared_keys(mapping), ("1", "2")) if any_valid else {}
        self.offered = {**_offered(mapping), **breakable}

    def case(self, seed: int) -> _Case:
        random = Random(seed)
        numbers = random.random() < 0.25
        instances = tuple(self.instances(random, numbers))
        source, target = self.vocabularies(instances, numbers, random)
        there = _as_read(random_query(random, target))
        here = _as_read(random_query(random, source))
        asked = [(Law.BACKWARD, there), (Law.ROUND_TRIP, there), (Law.FORWARD, here)]
        return _Case(tuple((law, query) for law, query in asked if query is not None), instances)

    # -- documents -----------------------------------------------------------------------------------------------

    def instances(self, random: Random, numbers: bool) -> Iterator[_Instance]:
        pool = NUMBERS if numbers else SAMPLE_VALUES
        made = 0
        for _ in range(20 * DOCUMENTS):
            if made < DOCUMENTS:
                document = self.document(random, pool)
                obeys = not self.assumed or obey_keys(self.mapping, document)
                instance = self.instance(document) if obeys else None
                if instance is not None:
                    made += 1
                    yield instance
        if not made:
            raise TranslationError(
                Fault("HX5013", "no random document obeys the declared keys and can be exchanged", hint="--any-valid")
            )

    def document(self, random: Random, pool: Sequence[str]) -> Document:
        graph = self.mapping.source.graph
        repeats, elements = random.randint(1, 3), random.choice((30, 60)) * max(1, len(graph.elements) // 15)
        try:
            text = random_document(
                graph, random, repeats=repeats, elements=elements, depth=8, values=self.offered, pool=pool
            )
        except ValueError as error:
            raise TranslationError(Fault("HX5013", str(error))) from None
        return parse_document(text)

    def instance(self, document: Document) -> _Instance | None:
        """The document with its image; ``None`` where it is not valid or cannot be exchanged."""
        try:
            if validity_faults(document, self.mapping.source.graph):
                return None
            return _Instance(document, _image(self.mapping, document))
        except HeptoxError:
            return None  # a value for which the target schema has no tag left

    # -- what queries speak of -----------------------------------------------------------------------------------

    def vocabularies(
        self, instances: Sequence[_Instance], numbers: bool, random: Random
    ) -> tuple[Vocabulary, Vocabulary]:
        values = _values(instances, random)
        numeric = frozenset(_free_leaves(self.whole.source)) if numbers else frozenset()
        sources = {target: {source for source, other in self.pairs if other == target} for _, target in self.pairs}
        target_numeric = {target for target, found in sources.items() if found <= numeric}
        source, target = self.whole.source, self.whole.target
        keys = self.mapping.source_keys
        carried = frozenset(path for path, _ in self.pairs)
        identifying = frozenset(target for target, found in sources.items() if found & keys)
        return (
            Vocabulary(source, carried, keys, _surely(source, numeric), values),
            Vocabulary(target, frozenset(sources), identifying, _surely(target, frozenset(target_numeric)), values),
        )


def _correspondences(mapping: Mapping) -> Iterator[tuple[Path, Path]]:
    for rule in mapping.rules:
        for head in rule.head:
            for leaf, term in head.leaves:
                yield _path(rule, term), (*head.node, *leaf)


def _path(rule: Rule, term: Term) -> Path:
    return (*rule.node(term.variable), *term.path)


def _offered(mapping: Mapping) -> LeafValues:
    """Values for leaves that rules test or make tags of, so that joins join and tags are members now and then."""
    found: dict[Path, list[str]] = {}
    identifiers = set(id_paths(mapping.source))
    for rule in mapping.rules:
        for term, _, value in rule.tests():
            found.setdefault(_path(rule, term), []).extend((value, value, "a"))
        for left, right in rule.equalities():
            ends = {_path(rule, left), _path(rule, right)}
            for end in ends - identifiers:
                found.setdefault(end, []).extend(("p1", "p2", "p3"))
        for head in rule.head:
            tag, box = head.term((TAG,)), mapping.target.box(head.node)
            if tag is not None and box is not None and tag.path != (TAG,):
                found.setdefault(_path(rule, tag), []).extend(
                    (*box.members, *box.members, "a", "b c", "", box.members[0])
                )
    return {path: values for path, values in found.items() if not _is_tag(path) and path not in identifiers}


def _is_tag(path: Path) -> bool:
    return path[-1:] == (TAG,)


def _values(instances: Sequence[_Instance], random: Random) -> list[str]:
    """Strings to compare with: mostly values that stand in the documents."""
    found: dict[str, None] = {}
    for instance in instances:
        for element in instance.document.root.iter():
            found.update(dict.fromkeys((element.text or "", *map(str, element.attrib.values()))))
    values = list(found)
    return [*random.sample(values, min(6, len(values))), "a", ""]


def _free_leaves(tree: SchemaTree) -> Iterator[Path]:
    """The leaves whose values a random document takes from its pool."""
    for path in tree.walk():
        if path and tree.is_leaf(path):
            attribute = tree.attribute(path) if path[-1].startswith("@") else None
            if attribute is None or (attribute.type is AttributeType.CDATA and not attribute.fixed):
                yield path


def _surely(tree: SchemaTree, numeric: frozenset[Path]) -> frozenset[Path]:
    """The leaves whose name stands for numbers wherever it stands: a step may reach any of that name."""
    others = {path[-1] for path in tree.walk() if path and tree.is_leaf(path) and path not in numeric}
    return frozenset(path for path in numeric if path[-1] not in others)


# -- judging ---------------------------------------------------------------------------------------------------------


class _Judge:
    """Says whether a law holds for a query on documents, and keeps count."""

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.checks: Counter[Law] = Counter()
        self.answering: Counter[Law] = Counter()
        self.refused: Counter[str] = Counter()
        self.stopped = 0

    def query(self, law: Law, query: Expression, instances: Sequence[_Instance]) -> _Failure | None:
        """The first failure of a query on some documents; refusals are counted."""
        try:
            translations = self.translations(law, query)
            for instance in instances:
                verdict = self.verdict(law, query, translations, instance)
                if isinstance(verdict, _Failure):
                    return verdict
                self.checks[law] += 1
                self.answering[law] += verdict
        except HeptoxError as error:
            self.refused[error.faults[0].code] += 1
        except _OutOfTimeError:
            self.stopped += 1
        except _DefectError as defect:
            return _Failure(law, query, instances[0], error=str(defect))
        return None

    def again(self, law: Law, query: Expression, instance: _Instance) -> _Failure | None:
        """The failure of a query on one document, nothing counted."""
        try:
            verdict = self.verdict(law, query, self.translations(law, query), instance)
        except (HeptoxError, _OutOfTimeError):
            return None
        except _DefectError as defect:
            return _Failure(law, query, instance, error=str(defect))
        return verdict if isinstance(verdict, _Failure) else None

    def translations(self, law: Law, query: Expression) -> tuple[Expression, ...]:
        check = _deadline()
        try:
            if law is Law.FORWARD:
                return (translate(self.mapping, query, Direction.TARGET, check).query,)
            there = translate(self.mapping, query, Direction.SOURCE, check).query
            if law is Law.BACKWARD:
                return (there,)
            return there, translate(self.mapping, there, Direction.TARGET, check).query
        except (HeptoxError, _OutOfTimeError):
            raise
        except Exception as error:
            raise _DefectError(_told(error)) from error

    def verdict(
        self, law: Law, query: Expression, translations: tuple[Expression, ...], instance: _Instance
    ) -> _Verdict:
        """Whether the law holds; a query that raises an error itself promises nothing."""
        asked, answering = instance.image, instance.document
        if law is Law.FORWARD:
            asked, answering = answering, asked
        elif law is Law.ROUND_TRIP:
            answering = asked
        expected = _answer(query, asked)
        try:
            found = _answer(translations[-1], answering)
        except _OutOfTimeError:
            raise
        except Exception as error:  # the query itself has an answer, so its translation must have one
            return _Failure(law, query, instance, translations, expected, error=_told(error))
        wrong = found - expected if law is Law.FORWARD else found ^ expected
        if wrong:
            return _Failure(law, query, instance, translations, expected, found)
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
