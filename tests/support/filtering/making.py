"""Random schemas that are no trees, and random documents of them that are spelt in nasty ways."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Final

from heptox.errors import SchemaError
from heptox.schema import SchemaGraph, parse_dtd, random_document, validity_faults
from heptox.xml import Document, XmlElement, parse_document, write_element
from tests.support.filtering.filters import random_filter, random_filter_3
from tests.support.filtering.spelling import respell

__all__ = [
    "VALUES",
    "outside",
    "random_documents",
    "random_filter",
    "random_filter_3",
    "random_schema",
    "random_text",
    "respell",
]

NAMES: Final = ("a", "ab", "a.b", "a-b", "abc", "b", "b1", "c", "cc", "d", "\u00e9", "\u00e9a", "\u03b1", "x", "A")
"""Many are prefixes of others; some are attributes, too; one has no letter of ISO-8859-1."""
WORDS: Final = ("div", "and", "or", "mod", "text", "node", "self", "parent", "comment", "id", "count", "if", "for")
"""Words of XPath; one of them now and then."""
ATTRIBUTES: Final = ("x", "y", "x-y", "a")

VALUES: Final = (
    "1", "1", "2", "2", "3", "10", " 2 ", "\n3\n", "", "1.5", "-1", "a", "b", "ab", " a  b ", "\u00e9", "<&>",
)  # fmt: skip
"""Few, so that comparisons hit; numbers with blanks around them, and what has to be escaped."""


# -- schemas -------------------------------------------------------------------------------------------------------


def random_schema(random: Random, most: int = 9) -> SchemaGraph:
    """A schema of at most so many element types, all of them below the root, with finite documents.

    Types have several parents, and are below themselves, directly or not; content is mixed, empty, text or elements in
    any order, and in place of ``ANY``, which no schema graph has, there is mixed content of all types.
    """
    while True:
        text, root = _random_dtd(random, most)
        try:
            graph = parse_dtd(text, root)
            random_document(graph, Random(0))
        except (SchemaError, ValueError):  # some models are not deterministic, some have no end
            continue
        return graph


def _random_dtd(random: Random, most: int) -> tuple[str, str]:
    names = random.sample(NAMES, random.randint(min(2, most), min(most, len(NAMES))))
    if random.random() < 0.15:
        names[random.randrange(len(names))] = random.choice(WORDS)
    below: dict[str, set[str]] = {name: set() for name in names}
    for place, name in enumerate(names[1:], 1):
        below[names[random.randrange(place)]].add(name)
    for _ in range(random.choice((0, 0, 1, 2, 3, 5))):
        below[random.choice(names)].add(random.choice(names))
    declared = [_declaration(random, name, sorted(below[name]), names) for name in names]
    random.shuffle(declared)
    return "\n".join(declared), names[0]


def _declaration(random: Random, name: str, children: Sequence[str], names: Sequence[str]) -> str:
    if children and random.random() < 0.03:
        content = _mixed(names)
    elif children and random.random() < 0.15:
        content = _mixed(children)
    elif children:
        content = _model(random, random.sample(children, len(children)))
    else:
        content = random.choice(("(#PCDATA)", "(#PCDATA)", "(#PCDATA)", "EMPTY"))
    attributes = "".join(_attributes(random))
    return f"<!ELEMENT {name} {content}>" + (f"<!ATTLIST {name}{attributes}>" if attributes else "")


def _mixed(children: Sequence[str]) -> str:
    return f"(#PCDATA | {' | '.join(children)})*"


def _model(random: Random, children: Sequence[str]) -> str:
    """Element content; each child stands in it once, but now and then a second time at the end."""
    if len(children) > 1 and random.random() < 0.3:
        place = random.randrange(1, len(children))
        parts = [_model(random, part) for part in (children[:place], children[place:])]
    else:
        parts = [child + random.choice(("", "?", "*", "*", "+")) for child in children]
    if random.random() < 0.1:
        parts.append(random.choice(children) + random.choice("?*"))
    sign, occurrence = random.choice(((", ", ""), (", ", ""), (", ", "*"), (" | ", ""), (" | ", "*"), (" | ", "+")))
    return f"({sign.join(parts)}){occurrence}"


_KINDS: Final = (
    "CDATA #IMPLIED", "CDATA #IMPLIED", "CDATA #IMPLIED", "CDATA #REQUIRED", "CDATA '1'", "CDATA ' 2 '",
    "CDATA #FIXED '1'", "(a | b | 1) #IMPLIED", "(a | b) 'a'", "NMTOKEN #IMPLIED", "IDREF #IMPLIED", "IDREFS #IMPLIED",
)  # fmt: skip


def _attributes(random: Random) -> Iterator[str]:
    if random.random() < 0.25:
        yield f" i ID {random.choice(('#IMPLIED', '#REQUIRED'))}"
    for name in random.sample(ATTRIBUTES, random.choice((0, 0, 1, 1, 2))):
        yield f" {name} {random.choice(_KINDS)}"


# -- documents -----------------------------------------------------------------------------------------------------


def random_documents(random: Random, graph: SchemaGraph, count: int) -> list[bytes]:
    """So many valid documents, from one element to some sixty, each spelt in another way.

    In some there is white space between elements where the schema has no text; some declare which attributes are IDs.
    """
    return [respell(random, random_text(random, graph)) for _ in range(count)]


def random_text(random: Random, graph: SchemaGraph) -> str:
    """One of :func:`random_documents` as it is before it is spelt in another way."""
    elements, repeats, depth = random.choice((5, 15, 30, 60)), random.choice((2, 3, 3)), random.choice((4, 8, 12))
    text = random_document(graph, random, repeats=repeats, elements=elements, depth=depth, pool=VALUES)
    if random.random() < 0.5:
        text = _spaced(random, text, graph)
    if random.random() < 0.5:
        text = f"<!DOCTYPE {graph.root} [{_identifiers(graph)}]>{text}"
    return text


def _identifiers(graph: SchemaGraph) -> str:
    """The declarations of the attributes that are IDs."""
    owners = [
        (element.name, attribute.name)
        for element in graph.elements.values()
        for attribute in element.attributes
        if attribute.type == "ID"
    ]
    return "".join(f"<!ATTLIST {name} {attribute} ID #IMPLIED>" for name, attribute in owners)


def _spaced(random: Random, text: str, graph: SchemaGraph) -> str:
    """White space between elements, where they are all that an element holds."""
    root = parse_document(text).root
    density = random.choice((0.3, 1.0))
    for element in root.iter():
        declared = graph.elements[str(element.tag)]
        if declared.text or not declared.children:
            continue
        if random.random() < density:
            element.text = _space(random)
        for child in element:
            if random.random() < density:
                child.tail = _space(random)
    return write_element(root)


def _space(random: Random) -> str:
    return random.choice(("\n", "\n  ", " ", "\t", "\n\n"))


# -- documents outside their schema --------------------------------------------------------------------------------


def outside(random: Random, text: str, graph: SchemaGraph) -> str:
    """A document that does not belong to the schema, made from one that does by a few changes.

    It has an undeclared element or attribute, a declared element at a wrong place or too few, text where there is none,
    or another root.
    """
    while True:
        root = parse_document(text).root
        for _ in range(random.choice((1, 1, 1, 2, 4))):
            root = _changed(random, root, graph)
        if validity_faults(Document(root), graph):
            return write_element(root)


def _changed(random: Random, root: XmlElement, graph: SchemaGraph) -> XmlElement:
    element = random.choice([*root.iter()])
    names = (random.choice([*graph.elements]), f"{element.tag}z", "zz", "a")
    match random.randrange(8):
        case 0 | 1:
            _put(random, element, element.makeelement(random.choice(names)))
        case 2:
            element.tag = random.choice(names)
        case 3:
            _put(random, element, parse_document(write_element(random.choice([*root.iter()]))).root)
        case 4:
            element.set(random.choice(("zz", "x", "y")), random.choice(VALUES))
        case 5:
            element.text = random.choice(VALUES)
        case 6:
            return _other_root(random, root, names)
        case _ if len(element):
            element.remove(random.choice([*element]))
    return root


def _put(random: Random, element: XmlElement, child: XmlElement) -> None:
    """A child at any place; it takes some of its new siblings into it now and then."""
    place = random.randint(0, len(element))
    inside = [*element][place : random.randint(place, len(element))] if random.random() < 0.3 else []
    child.extend(inside)
    if not len(child):
        child.text = random.choice(("", "1", "a"))
    element.insert(place, child)


def _other_root(random: Random, root: XmlElement, names: Sequence[str]) -> XmlElement:
    if len(root) and random.random() < 0.5:
        return parse_document(write_element(random.choice([*root.iterdescendants()]))).root
    outer = root.makeelement(random.choice(names))
    outer.append(root)
    return outer
