"""Random cases for one direction of a mapping: valid documents, and queries over what is made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from heptox.errors import Fault, HeptoxError, TranslationError
from heptox.grammar import Expression, parse_query, print_query
from heptox.mapping import Mapping, Rule, spoken_paths, tested_values, with_plain_nodes
from heptox.pattern import TAG, Term
from heptox.schema import (
    SAMPLE_VALUES,
    AttributeType,
    DrawnPaths,
    LeafValues,
    Path,
    SchemaTree,
    is_identifier,
    random_document,
    validity_faults,
)
from heptox.translate import with_wholes
from heptox.verification.assumptions import declared_keys, obey_keys
from heptox.verification.documents import Instance, instance_of
from heptox.verification.nodes import every_node
from heptox.verification.random_queries import Vocabulary, random_path, random_query
from heptox.xml import Document, parse_document

NUMBERS: Final = ("1", "2", "2.0", "10", "-3")
DOCUMENTS: Final = 3
"""Random documents of a case."""
_TRIALS: Final = 20 * DOCUMENTS


@dataclass(frozen=True, slots=True)
class Case:
    """Queries and documents that are checked together."""

    queries: tuple[Expression, ...]
    instances: tuple[Instance, ...]


def as_read(query: Expression | None) -> Expression | None:
    """The query as it is read from its text, so that what is shown is what was checked."""
    try:
        return None if query is None else parse_query(print_query(query))
    except (HeptoxError, ValueError):
        return None


@dataclass(slots=True)
class CaseMaker:
    """Makes random documents of the source of ``mapping``, and queries over its target.

    Unless they may be ``any_valid`` ones, documents obey the keys that are declared, those of the target too: none
    brings several values for a leaf that is there once. ``conflicts`` counts by leaf those that were left out for that.
    """

    mapping: Mapping
    any_valid: bool = False
    given: Sequence[Document] = ()
    conflicts: dict[Path, int] = field(default_factory=dict)
    whole: Mapping = field(init=False)
    offered: LeafValues = field(init=False)
    only: DrawnPaths | None = field(init=False)
    pairs: list[tuple[Path, Path]] = field(init=False)
    given_values: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.whole = with_wholes(self.mapping)
        self.pairs = list(dict.fromkeys(self.mapping.carried()))
        breakable: LeafValues = dict.fromkeys(declared_keys(self.mapping), ("1", "2")) if self.any_valid else {}
        self.offered = {**_offered(self.mapping), **breakable}
        self.only = _spoken_of(self.mapping) if len(self.mapping.source.graph.elements) > MOST_TYPES else None
        self.given_values = list(dict.fromkeys(value for document in self.given for value in _values(document)))

    @property
    def assumed(self) -> tuple[Path, ...]:
        """The keys that all random documents obey, though validity does not guarantee them."""
        return () if self.any_valid else declared_keys(self.mapping)

    def case(self, random: Random) -> Case:
        """Some documents with a query and a path to ask of what is made of them; documents are none where all that
        were made bring several values for a leaf.

        Raises :class:`TranslationError` (HX5013) where no document can be made.
        """
        numbers = random.random() < 0.25
        instances = tuple(self.instances(random, numbers))
        vocabulary = self._vocabulary(instances, numbers, random)
        queries = map(as_read, (random_query(random, vocabulary), random_path(random, vocabulary)))
        return Case(tuple(query for query in queries if query is not None), instances)

    # -- documents -----------------------------------------------------------------------------------------------

    def instances(self, random: Random, numbers: bool) -> Iterator[Instance]:
        """Some documents with their images, of which ``numbers`` or other values are the values; raises as
        :meth:`case`.
        """
        made = left_out = 0
        for document in self.documents(random, numbers):
            if made == DOCUMENTS:
                return
            instance = self.instance(document)
            if instance is not None and instance.conflicts and not self.any_valid:
                left_out += 1
                for leaf, _ in instance.conflicts:
                    self.conflicts[leaf] = self.conflicts.get(leaf, 0) + 1
            elif instance is not None:
                made += 1
                yield instance
        if not made and not left_out:
            root = self.mapping.source.written((self.mapping.source.root,))
            message = f"no random document of {root} obeys the declared keys and can be exchanged"
            raise TranslationError(Fault("HX5013", message, hint="--any-valid"))

    def documents(self, random: Random, numbers: bool) -> Iterator[Document]:
        """Random documents, as many as are tried for a case: some may be refused, as those that are not valid, and some
        bring several values for a leaf; raises as :meth:`case`.
        """
        pool = NUMBERS if numbers else SAMPLE_VALUES
        for trial in range(_TRIALS):
            document = self._document(random, pool, smaller=trial > 2 * DOCUMENTS)
            if not self.assumed or obey_keys(self.mapping, document):
                yield document

    def _document(self, random: Random, pool: Sequence[str], *, smaller: bool) -> Document:
        graph = self.mapping.source.graph
        size = max(1, len(graph.elements if self.only is None else self.only.paths) // 15)
        repeats, elements = random.randint(1, 3), random.choice((30, 60)) * size
        if smaller:
            repeats, elements = 1, 10  # what many nodes break, few may obey
        try:
            text = random_document(
                graph,
                random,
                repeats=repeats,
                elements=elements,
                depth=8 if self.only is None else max(8, self.only.depth + 1),
                values=self.offered,
                pool=pool,
                only=self.only,
            )
        except ValueError as error:
            raise TranslationError(Fault("HX5013", str(error))) from None
        return parse_document(text)

    def instance(self, document: Document) -> Instance | None:
        """The document with its image; ``None`` where it is not valid or cannot be exchanged."""
        try:
            if validity_faults(document, self.mapping.source.graph):
                return None
            return instance_of(self.mapping, document)
        except HeptoxError:
            return None  # a value for which the target schema has no tag left

    # -- what queries speak of -----------------------------------------------------------------------------------

    def _vocabulary(self, instances: Sequence[Instance], numbers: bool, random: Random) -> Vocabulary:
        made = list(dict.fromkeys(value for instance in instances for value in _values(instance.document)))
        values = [value for some in (made, self.given_values) for value in random.sample(some, min(6, len(some)))]
        known = {source for source, _ in self.pairs if _is_free(self.whole.source, source)} if numbers else set()
        numeric = frozenset(known)
        sources = {target: {source for source, other in self.pairs if other == target} for _, target in self.pairs}
        numeric_there = frozenset(target for target, found in sources.items() if found <= numeric)
        keys = self.mapping.source_keys
        identifying = frozenset(target for target, found in sources.items() if found & keys and not _is_tag(target))
        tree = self.whole.target
        return Vocabulary(tree, frozenset(sources), identifying, _surely(tree, numeric_there), [*values, "a", ""])


def _offered(mapping: Mapping) -> LeafValues:
    """Values for leaves that rules test or make tags of, so that joins join and tags are members now and then."""
    found: dict[Path, list[str]] = {}
    for rule in mapping.rules:
        for path, value in tested_values(rule):
            found.setdefault(path, []).extend((value, value, "a"))
        rule = with_plain_nodes(rule)
        for left, right in _joined(rule):
            ends = {rule.path(left), rule.path(right)}
            for end in ends:
                found.setdefault(end, []).extend(("p1", "p2", "p3"))
        for head in rule.head:
            tag, box = head.term((TAG,)), mapping.target.box(head.node)
            if tag is not None and box is not None and tag.path != (TAG,):
                found.setdefault(rule.path(tag), []).extend((*box.values, *box.values, "a", "b c", "", box.values[0]))
    return {
        path: values for path, values in found.items() if not _is_tag(path) and not is_identifier(mapping.source, path)
    }


def _spoken_of(mapping: Mapping) -> DrawnPaths:
    """The paths of documents of the source that rules speak of, and what is in what they copy."""
    tree = mapping.source
    nodes = {path for rule in mapping.rules for path in spoken_paths(rule)}
    nodes |= {end for one in mapping.source_references for end in (one.source, one.target)}
    copied = {source for source, _ in mapping.copies()}
    return DrawnPaths.of(
        (path for node in nodes for path in _written(tree, node)),
        (path for node in copied for path in _written(tree, node)),
    )


def _written(tree: SchemaTree, node: Path) -> list[Path]:
    """The paths in documents that lead to a node: a box stands for its members."""
    found: list[Path] = [()]
    for length, step in enumerate(node, 1):
        box = tree.box(node[:length])
        found = [(*above, name) for above in found for name in (box.members if box else (step,))]
    return found


def _joined(rule: Rule) -> Iterator[tuple[Term, Term]]:
    yield from rule.equalities()
    for part in rule.optional:
        for condition in part.conditions:
            if isinstance(condition.right, Term):
                yield condition.left, condition.right


def _is_tag(path: Path) -> bool:
    return path[-1:] == (TAG,)


def _values(document: Document) -> Iterator[str]:
    """The strings that stand in a document."""
    for element in document.root.iter():
        yield element.text or ""
        yield from map(str, element.attrib.values())


MOST_TYPES: Final = 200
"""Of a schema with more element types, random documents have only what rules speak of, and what must be there."""


def _is_free(tree: SchemaTree, path: Path) -> bool:
    """Whether a node is a leaf whose values a random document takes from its pool."""
    if not path or path not in tree or not tree.is_leaf(path):
        return False
    attribute = tree.attribute(path) if path[-1].startswith("@") else None
    return attribute is None or (attribute.type is AttributeType.CDATA and not attribute.fixed)


def _surely(tree: SchemaTree, numeric: frozenset[Path]) -> frozenset[Path]:
    """The leaves whose name stands for numbers wherever it stands: a step may reach any of that name. None of a tree
    that is too large to be looked through."""
    paths = every_node(tree)
    if paths is None:
        return frozenset()
    others = {path[-1] for path in paths if path and tree.is_leaf(path) and path not in numeric}
    return frozenset(path for path in numeric if path[-1] not in others)
