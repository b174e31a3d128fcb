"""The round trip of documents: what comes back of one that is exchanged there and back (``semantics.md`` section 6).

No mapping has to bring everything back; what does not come back, and which line would mend it, is reported.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice
from typing import Final

from heptox.errors import HeptoxError
from heptox.mapping import ArrowsText, Examination, Mapping, exchange, path_text
from heptox.pattern import TAG
from heptox.schema import TEXT, Path, SchemaTree, idref_paths, validity_faults
from heptox.verification.assumptions import broken_keys
from heptox.verification.documents import Instance, instance_of
from heptox.verification.items import expanded
from heptox.verification.laws import Law, served
from heptox.verification.nodes import every_node
from heptox.verification.shrinking import smaller_documents
from heptox.xml import Document, XmlElement, split_name, write_document

MOST_CANDIDATES: Final = 60
"""Lines that are tried at most to mend a mapping."""
MOST_ARROWS: Final = 20
"""Arrows out of one leaf among them at most."""


@dataclass(frozen=True, slots=True)
class Leaves:
    """The leaves of one side by which documents are compared; of the ``copied`` ones all that is in them."""

    values: frozenset[Path]
    copied: frozenset[Path] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.values)

    def with_leaf(self, leaf: Path) -> Leaves:
        """These and one more."""
        return Leaves(self.values | {leaf}, self.copied)


@dataclass(frozen=True, slots=True)
class LossyDocument:
    """A small document that does not come back, what it becomes, and a line that was seen to mend it.

    ``back`` is that document after both exchanges. ``line`` is ``None`` where no single line was found.
    """

    document: str
    image: str
    back: str
    line: str | None = None


def returning(mapping: Mapping) -> Leaves:
    """The source leaves that rules carry there and back again, as far as rules say."""
    if len(served(mapping)) < 2:
        return Leaves(frozenset())
    there, back = set(mapping.carried()), {(s, t) for t, s in mapping.mirrored().carried()}
    values = frozenset(source for source, _ in there & back)
    return Leaves(values, values & {source for source, _ in mapping.copies()})


def all_leaves(mapping: Mapping) -> Leaves:
    """All leaves of the source, the tags of its boxes, and what is copied whole; of a schema whose tree is too large to
    be unfolded, the leaves right below nodes that the mapping speaks of."""
    copied = returning(mapping).copied
    tree = mapping.source
    spoken = (source for source, _ in mapping.carried())
    values = {path for path in looked_at(tree, spoken) if path and tree.is_leaf(path)}
    values |= {(*box.path, TAG) for box in tree.boxes}
    inside = {path for path in values if any(path[:length] in copied for length in range(len(path)))}
    return Leaves(frozenset(values - inside) | copied, copied)


def looked_at(tree: SchemaTree, spoken: Iterable[Path]) -> list[Path]:
    """The nodes of a schema; of one whose tree is too large to be unfolded, those right below the nodes above leaves of
    which a mapping speaks.
    """
    nodes = every_node(tree)
    if nodes is None:
        named = {leaf[:length] for leaf in spoken for length in range(len(leaf))}
        return [child for path in sorted(named) if path in tree for child in tree.children(path)]
    return nodes


def back_again(mapping: Mapping, instance: Instance) -> Document:
    """What the mirrored rules make of the image of a document."""
    return exchange(mapping.mirrored(), instance.image)


def comes_back(mapping: Mapping, instance: Instance, leaves: Leaves) -> bool:
    """Whether a document and what comes back of it are equal as sets of nodes, as far as some leaves show."""
    tree = mapping.source
    return as_set(tree, instance.document, leaves) == as_set(tree, back_again(mapping, instance), leaves)


def as_set(tree: SchemaTree, document: Document, leaves: Leaves) -> Hashable:
    """What is compared of a document: some leaves, and the nodes that have such leaves in the schema, as sets.

    Single inner elements that hold nothing are left out: they are no leaf and no stop node, so nothing carries them.
    """
    compared = {leaf[:length] for leaf in leaves.values for length in range(len(leaf) + 1)}
    return _Comparing(tree, leaves, compared).node(document.root, ())


@dataclass(frozen=True, slots=True)
class _Comparing:
    tree: SchemaTree
    leaves: Leaves
    compared: Collection[Path]

    def node(self, element: XmlElement, path: Path) -> tuple[Hashable, ...]:
        attributes = frozenset(
            (name, value) for name, value in element.attrib.items() if (*path, f"@{name!s}") in self.leaves.values
        )
        leaf = path if self.tree.is_leaf(path) else (*path, TEXT)
        text = (element.text or "",) if leaf in self.leaves.values else None
        tag = str(element.tag) if (*path, TAG) in self.leaves.values else path[-1:]
        return tag, attributes, text, frozenset(self._children(element, path))

    def _children(self, element: XmlElement, path: Path) -> Iterator[Hashable]:
        for child in element:
            place = place_of(self.tree, path, str(child.tag))
            if place not in self.compared:
                continue
            if place in self.leaves.copied:
                yield place[-1], expanded(child)
            elif not self._is_hollow(child, place):
                yield self.node(child, place)

    def _is_hollow(self, element: XmlElement, path: Path) -> bool:
        """Whether an element is single and holds nothing that is compared."""
        if self.tree.is_stop(path) or path in self.leaves.values:
            return False
        _, *held = self.node(element, path)
        return not any(held)


def place_of(tree: SchemaTree, path: Path, tag: str) -> Path:
    """The schema path of a child with a tag: that of the box for what stands in one."""
    for box in tree.boxes:
        if box.parent == path and tree.value_of_tag(box.path, tag) is not None:
            return box.path
    return (*path, tag)


# -- small documents --------------------------------------------------------------------------------------------------


def smallest(mapping: Mapping, instance: Instance, leaves: Leaves, is_over: Callable[[], bool]) -> Instance:
    """A document that does not come back, made as small as it can be before ``is_over``."""
    while (smaller := next(_smaller(mapping, instance, leaves, is_over), None)) is not None:
        instance = smaller
    return instance


def _smaller(mapping: Mapping, instance: Instance, leaves: Leaves, is_over: Callable[[], bool]) -> Iterator[Instance]:
    for document in smaller_documents(instance.document):
        if is_over():
            return
        found = promised(mapping, document)
        if found is not None and not comes_back(mapping, found, leaves):
            yield found


def promised(mapping: Mapping, document: Document) -> Instance | None:
    """The document with its image if it is valid and obeys all keys that the mapping declares, else ``None``."""
    if validity_faults(document, mapping.source.graph) or broken_keys(mapping, document):
        return None
    try:
        instance = instance_of(mapping, document)
    except HeptoxError:
        return None
    return None if instance.conflicts else instance


def written(mapping: Mapping, instance: Instance, line: str | None) -> LossyDocument:
    """A document that does not come back, in writing."""
    documents = instance.document, instance.image, back_again(mapping, instance)
    texts = (write_document(document.root).rstrip("\n") for document in documents)
    document, image, returned = texts
    return LossyDocument(document, image, returned, line)


# -- the line that mends it -------------------------------------------------------------------------------------------


def mending_line(arrows: ArrowsText, law: Law, document: Document, leaves: Leaves, leaf: Path | None) -> str | None:
    """A line that, at the end of the text, makes a document come back that does not; only one that was seen to.

    ``leaf`` is the one that does not come back, if all others do.
    """
    examined = arrows.examined()
    if leaf is not None:
        leaves = leaves.with_leaf(leaf)
    for line in islice(candidate_lines(examined, law, leaf), MOST_CANDIDATES):
        changed = sound_with(arrows, line)
        if changed is None or len(served(changed)) < 2:
            continue
        mapping = law.read(changed)
        instance = promised(mapping, document)
        if (
            instance is not None
            and not _has_conflicts_back(mapping, instance)
            and comes_back(mapping, instance, leaves)
        ):
            return line
    return None


def sound_with(arrows: ArrowsText, line: str) -> Mapping | None:
    """The mapping with one line more; ``None`` where that is a fault."""
    examined = arrows.with_line(line).examined()
    return None if examined.faults else examined.sound


def _has_conflicts_back(mapping: Mapping, instance: Instance) -> bool:
    mirrored = mapping.mirrored()
    return bool(broken_keys(mirrored, instance.image) or instance_of(mirrored, instance.image).conflicts)


def candidate_lines(examined: Examination, law: Law, leaf: Path | None) -> Iterator[str]:
    """Lines that may mend a mapping: entities first, then keys, then references; arrows for a leaf that has none."""
    mapping = examined.sound
    if mapping is None:
        return
    if leaf is not None:
        yield from islice(arrows_for(examined, law, leaf), MOST_ARROWS)
    for source, target in counterparts(examined):
        yield entity_line(mapping, source, target)
    for side, tree, known, ends in (
        ("target", mapping.target, mapping.target_keys, [c.target for c in examined.correspondences]),
        ("source", mapping.source, mapping.source_keys, [c.source for c in examined.correspondences]),
    ):
        for end in dict.fromkeys(ends):
            fits = end.stop and end.path and end.path[-1] not in (TAG, TEXT)
            if fits and end.absolute not in known and tree.is_leaf(end.absolute):
                yield f"{side} key {path_text(tree, end.absolute)}"
    yield from reference_lines(mapping)


def counterparts(examined: Examination) -> list[tuple[Path, Path]]:
    """The stop nodes of both sides that arrows relate most of all, each with the other; outer ones first.

    A node of which several make one of the other side is none of them: each of these is recognised by what is below it.
    """
    pairs = Counter((c.source.stop, c.target.stop) for c in examined.correspondences if c.source.stop and c.target.stop)
    of_source: Counter[Path] = Counter()
    of_target: Counter[Path] = Counter()
    for (source, target), count in pairs.items():
        of_source[source] = max(of_source[source], count)
        of_target[target] = max(of_target[target], count)
    found = [
        (source, target)
        for (source, target), count in pairs.items()
        if count == of_source[source] == of_target[target]
        and not any(there == target and _is_below(here, source) for here, there in pairs)
        and not any(here == source and _is_below(there, target) for here, there in pairs)
    ]
    return sorted(found, key=lambda pair: (len(pair[0]), len(pair[1])))


def _is_below(path: Path, above: Path) -> bool:
    return len(path) > len(above) and path[: len(above)] == above


def entity_line(mapping: Mapping, source: Path, target: Path) -> str:
    """The line that makes a target node of each source node."""
    return f"each {path_text(mapping.source, source)} -> {path_text(mapping.target, target)}"


def reference_lines(mapping: Mapping) -> Iterator[str]:
    """References that could be declared for the ``IDREF`` attributes whose keys are not known."""
    for side, read in (("source", mapping), ("target", mapping.mirrored())):
        known = {reference.source for reference in read.source_references}
        nodes = [variable.node for rule in read.rules for variable in rule.variables]
        for leaf in idref_paths(read.source, nodes):
            if leaf not in known:
                for key in sorted(read.source_keys, key=lambda key: -likeness(leaf, key)):
                    yield f"{side} reference {path_text(read.source, leaf)} -> {path_text(read.source, key)}"


def arrows_for(examined: Examination, law: Law, leaf: Path) -> Iterator[str]:
    """Arrows between a leaf of the side that answers and the free ones of the other, the likest names first."""
    assert examined.sound is not None  # asked for sound mappings only
    trees = examined.sound.source, examined.sound.target
    for source, target in ends_for(examined, law, leaf):
        yield f"{path_text(trees[0], source)} -> {path_text(trees[1], target)}"


def ends_for(examined: Examination, law: Law, leaf: Path) -> Iterator[tuple[Path, Path]]:
    """The ends of these arrows."""
    assert examined.sound is not None  # asked for sound mappings only
    mapping = law.read(examined.sound)
    ends = [(c.source, c.target) if law is Law.ALONG else (c.target, c.source) for c in examined.correspondences]
    taken = {there.absolute for _, there in ends}
    stop = mapping.source.stop(leaf)
    stops = list(dict.fromkeys(there.stop for here, there in ends if here.stop == stop)) or [()]
    free = [
        (*there, *own)
        for there in stops
        for own in islice(_nearest_leaves(mapping.target, there), MOST_COMPARED)
        if (*there, *own) not in taken and own
    ]
    for end in sorted(free, key=lambda end: -likeness(leaf, end)):
        yield (leaf, end) if law is Law.ALONG else (end, leaf)


MOST_COMPARED: Final = 500
"""How many leaves of a stop node are compared with another by their names: those that stand nearest to it."""


def _nearest_leaves(tree: SchemaTree, stop: Path) -> Iterator[Path]:
    """The leaves that a stop node owns, relative to it, those that stand nearest first; it may have very many."""
    waiting = deque([stop])
    while waiting:
        path = waiting.popleft()
        if tree.is_leaf(path) or tree.is_whole(path):
            yield path[len(stop) :]
        elif not tree.is_cyclic(path):
            waiting.extend(child for child in tree.children(path) if not tree.is_stop(child))


def likeness(one: Path, other: Path) -> float:
    """How like two schema nodes are by the names on their paths, from 0 to 1."""
    first, second = (
        "/".join(split_name(step.removeprefix("@"))[1] for step in path[-2:]).lower() for path in (one, other)
    )
    return _likeness(first, second)


@lru_cache(maxsize=10_000)
def _likeness(first: str, second: str) -> float:
    return float(SequenceMatcher(None, first, second).ratio())
