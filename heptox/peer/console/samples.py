"""Sample documents: what is drawn is tried on them while it is drawn."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import cycle, islice
from random import Random
from typing import Final

from heptox.errors import Fault, HeptoxError, InputError, SchemaError
from heptox.mapping import Mapping, tested_values, values_at
from heptox.pattern import TAG
from heptox.schema import AttributeType, Path, SchemaGraph, ValueType, conform, plain, random_document
from heptox.xml import Document, XmlElement, count_elements, parse_document, split_name, write_document

SAMPLE_NAME: Final = "sample.xml"
"""What messages call a sample."""
MOST_CHARACTERS: Final = 1024 * 1024
MOST_ELEMENTS: Final = 2000
"""Characters and elements of a sample at most."""
_TRIALS: Final = 12
_ELEMENTS: Final = 30
_MOST_ASKED: Final = 60
"""Values that are asked for, up to which a sample becomes larger."""
_VALUES: Final = 3
"""Different values of a leaf in a sample; always as many, so that a sample stays as it is while arrows come and go."""


def read_sample(text: str, schema: SchemaGraph) -> tuple[Document, tuple[Fault, ...]]:
    """A sample, and why it is not valid for the schema, if so.

    Raises :class:`InputError` for what is no document, and for one that is too large (HX1006).
    """
    if len(text) > MOST_CHARACTERS:
        message = f"the sample has more than {MOST_CHARACTERS:,} characters"
        raise InputError(Fault("HX1006", message, hint="a part of it will do", file=SAMPLE_NAME))
    document = parse_document(text, SAMPLE_NAME)
    if count_elements(document.root) > MOST_ELEMENTS:
        message = f"the sample has more than {MOST_ELEMENTS} elements"
        raise InputError(Fault("HX1006", message, hint="a part of it will do", file=SAMPLE_NAME))
    try:
        return conform(document, schema), ()
    except HeptoxError as error:
        return document, error.faults


def made_sample(mapping: Mapping, seed: int) -> str:
    """A document of the source schema: of some the one in which most is met that the mapping asks for, and of these the
    one with most different nodes.

    Raises :class:`SchemaError` (HX2012) where no document of the schema is finite.
    """
    graph, asked = mapping.source.graph, {test for rule in mapping.rules for test in tested_values(rule)}
    values = _values(mapping, asked)
    more = min(len(asked), _MOST_ASKED)
    elements, repeats = _ELEMENTS + 4 * more, 2 + more // 4
    try:
        made = [
            parse_document(random_document(graph, Random(trial), repeats=repeats, elements=elements, values=values))
            for trial in range(seed * _TRIALS, (seed + 1) * _TRIALS)
        ]
    except ValueError as error:
        raise SchemaError(Fault("HX2012", str(error), hint="give a sample document")) from None
    nodes = {one.node for rule in mapping.rules for one in rule.variables if plain(one.node) != one.node}
    met = [sum(next(values_at(one.root, node), None) is not None for node in nodes) for one in made]
    places = [len(set(_paths(one.root, ()))) for one in made]
    best = max(range(len(made)), key=lambda number: (met[number], places[number]))
    return write_document(made[best].root, indent=True)


def _paths(element: XmlElement, above: Path) -> Iterator[Path]:
    here = (*above, str(element.tag))
    yield here
    for name in element.keys():  # noqa: SIM118
        yield (*here, f"@{name!s}")
    for child in element:
        yield from _paths(child, here)


def _values(mapping: Mapping, asked: Collection[tuple[Path, str]]) -> dict[Path | str, list[str]]:
    """Values that show of which leaf they are, and those that are asked for; tags that members of boxes may be, and
    references that refer."""
    found: dict[Path | str, list[str]] = {}
    others: set[str] = set()  # leaves of other types than strings, which have values of their type
    for element in mapping.source.graph.elements.values():
        if element.text:
            found[element.name] = _numbered(element.name, " ")
            others.update([element.name] if element.value_type is not ValueType.STRING else [])
        for attribute in element.attributes:
            if attribute.type is not AttributeType.ID:
                found[f"@{attribute.name}"] = _numbered(attribute.name, "-")  # a token, which some have to be
                others.update([f"@{attribute.name}"] if attribute.value_type is not ValueType.STRING else [])
    for reference in mapping.source_references:
        found[reference.source] = found[reference.target] = found.get(reference.target[-1], [])
    for leaf, members in _tag_leaves(mapping):
        found[leaf] = list(islice(cycle(members), _VALUES))
    tested: dict[Path | str, list[str]] = {}
    for path, value in sorted(asked):
        tested.setdefault(path, found.get(path[-1], [])[:1] if path else []).append(value)
    found |= tested
    return {leaf: values for leaf, values in found.items() if values and leaf not in others}


def _numbered(name: str, between: str) -> list[str]:
    return [f"{split_name(name)[1]}{between}{number}" for number in range(1, _VALUES + 1)]


def _tag_leaves(mapping: Mapping) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The leaves whose values become tags in a box, with the members of the box."""
    for rule in mapping.rules:
        for head in rule.head:
            tag, box = head.term((TAG,)), mapping.target.box(head.node)
            if tag is not None and box is not None and tag.path[-1:] != (TAG,):
                yield (*rule.node(tag.variable), *tag.path), box.members
