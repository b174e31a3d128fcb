"""What a mapping declares of source documents and validity does not guarantee: keys and references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Final

from heptox.errors import Fault, Position
from heptox.mapping import Mapping, is_selected
from heptox.schema import TEXT, AttributeType, Path, SchemaTree, is_identifier, split_selection
from heptox.xml import Document, XmlElement, line_of

MOST_REPORTED: Final = 10
"""How many faults of one key or reference are reported one by one."""


@dataclass(frozen=True, slots=True)
class DocumentLeaf:
    """A value in a document: of an attribute, or the text of an element."""

    element: XmlElement
    attribute: str | None

    @property
    def value(self) -> str:
        return (self.element.text or "") if self.attribute is None else str(self.element.get(self.attribute))

    def set(self, value: str) -> None:
        if self.attribute is None:
            self.element.text = value
        else:
            self.element.set(self.attribute, value)


def declared_keys(mapping: Mapping) -> tuple[Path, ...]:
    """The keys of source documents that the mapping declares and validity does not guarantee."""
    return tuple(sorted(key for key in mapping.source_keys if not is_identifier(mapping.source, key)))


def broken_declarations(mapping: Mapping, document: Document) -> tuple[Fault, ...]:
    """What the mapping declares of source documents and this one breaks, with lines: HX5011 for a key whose value comes
    twice, HX5012 for a declared reference to nothing. Of each key and reference the first
    :data:`MOST_REPORTED` are reported, and the others counted.
    """
    return (*broken_keys(mapping, document), *_broken_references(mapping, document))


def broken_keys(mapping: Mapping, document: Document) -> tuple[Fault, ...]:
    """The declared keys whose value comes twice in a document (HX5011): of each the first, and how many more."""
    return tuple(
        fault
        for key in declared_keys(mapping)
        for fault in _few(
            _broken_key(mapping, document, key), f"values of the key {mapping.source.written(key)} come again"
        )
    )


def _broken_key(mapping: Mapping, document: Document, key: Path) -> Iterator[Fault]:
    first: dict[str, DocumentLeaf] = {}
    for leaf in leaves_at(mapping.source, document.root, key):
        before = first.setdefault(leaf.value, leaf)
        if before is not leaf:
            yield Fault(
                "HX5011",
                f"the key {mapping.source.written(key)} has the value {leaf.value!r} again,"
                f" as in line {line_of(before.element)}",
                Position(line_of(leaf.element), 1, document.file),
                hint="a key that a document breaks makes translations wrong there: do not declare it",
            )


def _few(faults: Iterator[Fault], what: str) -> Iterator[Fault]:
    """The first faults of a kind, and one that counts the others, at the place of the first of them."""
    yield from islice(faults, MOST_REPORTED)
    if (another := next(faults, None)) is not None:
        more = 1 + sum(1 for _ in faults)
        yield replace(another, message=f"{more:,} more {what}, from here on", hint=None)


def _broken_references(mapping: Mapping, document: Document) -> Iterator[Fault]:
    for reference in mapping.source_references:
        if reference.inferred:
            continue
        name, key = (mapping.source.written(path) for path in (reference.source, reference.target))
        known = {leaf.value for leaf in leaves_at(mapping.source, document.root, reference.target)}
        broken = (
            Fault(
                "HX5012",
                f"{name} refers to {leaf.value!r}, which no {key} is",
                Position(line_of(leaf.element), 1, document.file),
                hint="what refers to nothing is exchanged without what it would refer to",
            )
            for leaf in leaves_at(mapping.source, document.root, reference.source)
            if leaf.value not in known
        )
        yield from _few(broken, f"{name} refer to nothing")


def obey_keys(mapping: Mapping, document: Document) -> bool:
    """Give every declared key that comes twice a value of its own, in place; ``False`` where its type allows none."""
    for key in declared_keys(mapping):
        leaves = list(leaves_at(mapping.source, document.root, key))
        used = Counter(leaf.value for leaf in leaves)
        if max(used.values(), default=0) > 1 and not _is_free(mapping.source, key):
            return False
        fresh = (value for value in map(str, count(101)) if value not in used)
        for leaf in leaves:
            if used[leaf.value] > 1:
                used[leaf.value] -= 1
                leaf.set(next(fresh))
    return True


def _is_free(tree: SchemaTree, leaf: Path) -> bool:
    """Whether a leaf may have any value that is a number."""
    if not leaf[-1].startswith("@"):
        return True
    attribute = tree.attribute(leaf)
    kinds = (AttributeType.CDATA, AttributeType.NMTOKEN, AttributeType.NMTOKENS)
    return attribute.type in kinds and not attribute.fixed


def leaves_at(tree: SchemaTree, root: XmlElement, path: Path) -> Iterator[DocumentLeaf]:
    """The values at a leaf path of a document, or the elements at that of a node, in document order; where the path has
    selections, of those nodes.
    """

    def below(element: XmlElement, here: Path) -> Iterator[DocumentLeaf]:
        if path in (here, (*here, TEXT)):
            yield DocumentLeaf(element, None)
            return
        step = path[len(here)]
        if step.startswith("@"):
            if element.get(step[1:]) is not None:
                yield DocumentLeaf(element, step[1:])
        else:
            there = (*here, step)
            boxed = tree.box(there) is not None
            selected, tests = split_selection(step)
            for child in element:
                name = str(child.tag)
                if (name == selected and is_selected(child, tests)) or (
                    boxed and tree.value_of_tag(there, name) is not None
                ):
                    yield from below(child, there)

    return below(root, ())
