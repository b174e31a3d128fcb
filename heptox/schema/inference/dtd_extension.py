"""DTDs that are extended: in their own text, as far as that says itself what has to change.

The first declaration of an attribute is the one that counts, so what changes of attributes stands at the head. A
declaration
of an element type is replaced where it stands. A DTD in which parameter entities write it is written anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from heptox.errors import Fault, SchemaError
from heptox.schema.dtd import parse_dtd_roots
from heptox.schema.inference.collecting import Spelling
from heptox.schema.inference.comments import comments
from heptox.schema.inference.dtd_names import DtdNames, dtd_names
from heptox.schema.inference.dtd_printer import (
    attribute_declarations,
    attribute_definition,
    element_declaration,
    print_dtd,
)
from heptox.schema.inference.extension import changes, extended
from heptox.schema.inference.inferring import Source, collected
from heptox.schema.inference.model import InferredAttribute, InferredElement, InferredSchema
from heptox.schema.inference.values import STRING, LeafType
from heptox.schema.inference.watching import Watch
from heptox.schema.model import Attribute, AttributeType, Element, SchemaGraph
from heptox.xml import split_name

_TEXT_DECLARATION: Final = re.compile(r"\A\ufeff?<\?xml\s[^>]*\?>\s*")
_LISTED: Final = (AttributeType.ENUMERATION, AttributeType.NOTATION)
_OUTSIDE: Final = (AttributeType.NOTATION, AttributeType.ENTITY, AttributeType.ENTITIES)


def extend_dtd(text: str, documents: Iterable[Source], file: str | None = None) -> tuple[str, tuple[str, ...]]:
    """The text of a DTD that admits documents beside all that a DTD admits, and what has changed, one thing a line.

    Raises as :func:`parse_dtd` and :func:`infer_dtd`.

    >>> text, changed = extend_dtd("<!ELEMENT a (b)><!ELEMENT b (#PCDATA)>", [(b"<a><b/><b/><c/></a>", None)])
    >>> changed
    ('a: b was required, now one or more', 'a: c added, optional', 'a/c: declared, empty')
    >>> print(text, end="")
    <!-- extended for 1 document -->
    <!ELEMENT a (b+, c?)><!ELEMENT b (#PCDATA)>
    <!ELEMENT c EMPTY>
    """
    graph = next(iter(parse_dtd_roots(text, file).values()))
    if any(element.open for element in graph.elements.values()):
        message = "an element type has the content ANY, which cannot be inferred"
        raise SchemaError(Fault("HX2063", message, file=file, hint="list what it may contain"))
    old = inferred_of(graph)
    watch = Watch(old, nil_counts=True)
    collection = collected(documents, watch)
    new = extended(old, collection, watch, dtd=True)
    names = dtd_names(collection, _spelling(graph))
    return _edited(text, old, new, names, file), tuple(changes(old, new, collection, dtd=True))


def inferred_of(graph: SchemaGraph) -> InferredSchema:
    """What a DTD says, as if it had been inferred."""
    elements = {name: _element(element) for name, element in graph.elements.items()}
    return InferredSchema((graph.root,), elements, prefixes=graph.prefixes)


def _element(element: Element) -> InferredElement:
    content = element.content if element.children else None
    attributes = tuple(map(_attribute, element.attributes))
    empty = not element.text and content is None
    return InferredElement(element.name, content, element.text, attributes=attributes, empty_tag=empty)


def _attribute(attribute: Attribute) -> InferredAttribute:
    return InferredAttribute(
        attribute.name,
        attribute.cardinality.required and attribute.default is None,
        LeafType("string", attribute.values) if attribute.type in _LISTED else STRING,
        attribute.type,
        attribute.default,
        attribute.fixed,
    )


def _spelling(graph: SchemaGraph) -> Spelling:
    """How a DTD spells names."""
    spelling = Spelling()
    for element in graph.elements.values():
        for spelled, name, is_attribute in (
            (spelling.elements, element.name, False),
            *((spelling.attributes, attribute.name, True) for attribute in element.attributes),
        ):
            namespace = split_name(name)[0]
            if namespace or not is_attribute:
                prefix = graph.prefixes.prefix_of(namespace, attribute=is_attribute) or ""
                spelled.setdefault(namespace, {})[prefix] = None
    return spelling


def _edited(text: str, old: InferredSchema, new: InferredSchema, names: DtdNames, file: str | None) -> str:
    """The text of the DTD with what has changed; written anew where that is not all that it comes to."""
    edited = _TEXT_DECLARATION.sub("", text)  # what is written is UTF-8
    head, tail = list(comments(new)), []
    for name, element in new.elements.items():
        before = old.elements.get(name)
        changed = tuple(one for one in element.attributes if before is None or one != before.attribute(one.name))
        attributes = attribute_declarations(_with(element, changed), names)
        if before is None:
            tail += [element_declaration(element, names), *attributes]
            continue
        head += attributes
        declaration = element_declaration(element, names)
        if declaration != element_declaration(before, names):
            edited = _replaced(edited, names.element(name), declaration)
    lines = [*head, edited.rstrip("\n"), *tail]
    result = "\n".join(lines) + "\n"
    if _says(result, new):
        return result
    if any(one.kind in _OUTSIDE for element in new.elements.values() for one in element.attributes):
        message = "what has to change is written by parameter entities, beside notations or unparsed entities"
        raise SchemaError(Fault("HX2063", message, file=file, hint="write the declarations of element types out"))
    return print_dtd(new, names)


def _with(element: InferredElement, attributes: tuple[InferredAttribute, ...]) -> InferredElement:
    return InferredElement(element.name, attributes=attributes)


def _replaced(text: str, name: str, declaration: str) -> str:
    """The text with another declaration of an element type; as it is where that is not written out."""
    found = re.search(rf"<!ELEMENT\s+{re.escape(name)}\s[^<>]*>", _without_comments(text))
    return text if found is None else text[: found.start()] + declaration + text[found.end() :]


def _without_comments(text: str) -> str:
    """The text with blanks in the place of comments."""
    return re.sub(r"<!--.*?-->", lambda found: " " * len(found[0]), text, flags=re.DOTALL)


def _says(text: str, schema: InferredSchema) -> bool:
    """Whether a DTD says what it has to."""
    try:
        graphs = parse_dtd_roots(text)
    except SchemaError:
        return False
    found: Mapping[str, InferredElement] = inferred_of(next(iter(graphs.values()))).elements
    return found.keys() == schema.elements.keys() and all(
        _same(found[name], element) for name, element in schema.elements.items()
    )


def _same(found: InferredElement, meant: InferredElement) -> bool:
    """Whether a declaration that was read back is the one that was meant."""
    names = DtdNames()
    if element_declaration(found, names) != element_declaration(meant, names):
        return False
    return _definitions(found, names) == _definitions(meant, names)


def _definitions(element: InferredElement, names: DtdNames) -> dict[str, str]:
    return {attribute.name: attribute_definition(attribute, names) for attribute in element.attributes}
