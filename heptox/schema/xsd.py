"""Reading XSDs, 1.0 and 1.1, into schema graphs (``semantics.md`` section 1).

xmlschema reads and checks the schema; it gets the files that :mod:`heptox.schema.xsd_files` has found, and no others.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from email.message import Message
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from urllib.error import URLError
from urllib.request import BaseHandler, OpenerDirector, Request, url2pathname
from urllib.response import addinfourl

import xmlschema
from xmlschema.exceptions import XMLSchemaException
from xmlschema.loaders import LocationSchemaLoader
from xmlschema.locations import FALLBACK_LOCATIONS
from xmlschema.validators import XsdKeyref, XsdUnique

from heptox.errors import Fault, Position, SchemaError, near_names
from heptox.garbage import uncollected
from heptox.schema.libxml import compiled
from heptox.schema.model import Element, KeyConstraint, KeyReference, SchemaGraph
from heptox.schema.tree import ANYWHERE
from heptox.schema.xsd_files import XSD, SchemaFile, SchemaFiles
from heptox.schema.xsd_types import TypeTable
from heptox.xml import (
    XML_NAMESPACE,
    XSI_NAMESPACE,
    Prefixes,
    XmlElement,
    expanded_name,
    line_of,
    split_name,
)

_XSD_NAMESPACE: Final = XSD[1:-1]
_MOST_FAULTS: Final = 20
_LONGEST_MESSAGE: Final = 300
_OBJECT: Final = " object at 0x"
"""What a message has that follows from others."""

Processor = xmlschema.XMLSchema10 | xmlschema.XMLSchema11

# -- the processor ---------------------------------------------------------------------------------------------------


def known_namespaces() -> dict[str, Path]:
    """The files of namespaces that a schema may import without having one, such as that of ``xml:lang``."""
    files = {namespace: one for namespace, one in FALLBACK_LOCATIONS.items() if isinstance(one, str)}
    return {
        # up to xmlschema 4.3.0 paths, then addresses
        namespace: Path(url2pathname(one.removeprefix("file://")) if one.startswith("file:") else one)
        for namespace, one in files.items()
    }


class _OnlyTheFiles(BaseHandler):
    """Answers every request of the processor from memory: with a file of the schema, or not at all."""

    def __init__(self, files: Mapping[str, SchemaFile]) -> None:
        self.files = files

    def default_open(self, request: Request) -> addinfourl:
        file = self.files.get(request.full_url)
        if file is None:
            raise URLError("no file of the schema")
        return addinfourl(BytesIO(file.text), Message(), request.full_url)


def processor_of(files: SchemaFiles) -> Processor:
    """What knows the schema: that of XSD 1.0 where it is one, else that of XSD 1.1.

    Raises :class:`SchemaError` (HX2030) for a schema that is none.
    """
    if compiled(files) is not None:
        # libxml2 has checked it, in a twentieth of the time
        found, faults = _built(xmlschema.XMLSchema10, files, check=False)
    elif files.is_newer:
        found, faults = _built(xmlschema.XMLSchema11, files)
    else:
        found, faults = _built(xmlschema.XMLSchema10, files)
        if faults:
            newer, newer_faults = _built(xmlschema.XMLSchema11, files)
            found, faults = (found, faults) if newer_faults else (newer, [])
    if faults or found is None:
        raise SchemaError(faults)
    return found


def _built(kind: Any, files: SchemaFiles, *, check: bool = True) -> tuple[Processor | None, list[Fault]]:
    opener = OpenerDirector()
    opener.add_handler(_OnlyTheFiles(files.files))
    try:
        with uncollected(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = kind(
                files.main.location,
                validation="lax" if check else "skip",
                opener=opener,
                allow="local",
                defuse="never",  # what is given was parsed before, with limits, and has no DOCTYPE
                use_fallback=False,
                loader_class=LocationSchemaLoader,
            )
        errors = [error for error in found.all_errors if _OBJECT not in error.message] or found.all_errors
        faults = [_fault(error.message, error, files) for error in errors]
    except (XMLSchemaException, ArithmeticError, LookupError, TypeError, ValueError) as error:
        message = getattr(error, "message", None) or str(error) or type(error).__name__
        return None, [_fault(message, error, files)]
    return found, list(dict.fromkeys(faults))[:_MOST_FAULTS]


def _fault(message: str, error: Any, files: SchemaFiles) -> Fault:
    message = " ".join(str(message).partition("Schema component:")[0].split())
    message = _COMPONENT.sub(r"\1", message)[:_LONGEST_MESSAGE].rstrip(".: ")
    file = files.files.get(getattr(error, "schema_url", None) or "", files.main)
    place = _place(getattr(error, "elem", None), getattr(error, "root", None), file)
    position = None if place is None else Position(line_of(place), 1, file.name)
    return Fault("HX2030", message, position, hint=_hint(message, files), file=file.name)


def _place(element: Any, root: Any, file: SchemaFile) -> XmlElement | None:
    """The element of a file of which the processor has a copy."""
    if element is None:
        return None
    given = sorted(element.items())
    same = [one for one in file.root.iter("*") if one.tag == element.tag and sorted(one.items()) == given]
    if len(same) > 1 and root is not None:
        copies = [one for one in root.iter(element.tag) if one.attrib == element.attrib]
        index = next((index for index, one in enumerate(copies) if one is element), 0)
        return same[index] if index < len(same) else same[0]
    return same[0] if same else None


_COMPONENT: Final = re.compile(r"Xsd\w+\((?:name|ref)=('[^']*')[^)]*\)")
"""How the processor calls a component in a message."""
_PREFIX: Final = re.compile(r"prefix '([^']*)'")
_UNKNOWN: Final = re.compile(r"unknown\b[^']*'(?:[^':{}]*:|\{[^{}]*\})?([^':{}]+)'")


def _hint(message: str, files: SchemaFiles) -> str | None:
    """What would have worked, as far as it can be guessed."""
    if found := _PREFIX.search(message):
        return f"declare it: xmlns:{found[1]}"
    if found := _UNKNOWN.search(message):
        roots = [file.root for file in files.files.values()]
        near = near_names(found[1], {child.get("name", "") for root in roots for child in root.iterchildren("*")})
        if near and near[0] != found[1]:
            return f"did you mean {near[0]}?"
        return "import the namespace that it is declared in" if near else "it is declared in no file of the schema"
    if message.startswith("Unique Particle Attribution"):
        return "a child must tell at once which part of the content model it is"
    return None


# -- the graph -------------------------------------------------------------------------------------------------------


def graph_of(files: SchemaFiles) -> SchemaGraph:
    """The schema graph of an XSD, in which any of its ``roots`` is the root.

    Raises :class:`SchemaError`: HX2030 for a schema that is none, HX2005 for one that declares no root.
    """
    schema = processor_of(files)
    table = TypeTable(schema, files.main.name)
    elements = table.elements
    roots = tuple(name for name in table.globals if not schema.maps.elements[name].abstract)
    prefixes = _prefixes(files, elements.values())
    if not roots:
        hint = "declare one below xs:schema: <xs:element name=...>"
        raise SchemaError(Fault("HX2005", "no element is declared globally", file=files.main.name, hint=hint))
    return SchemaGraph(roots[0], elements, files.main.name, None, prefixes, *_constraints(table), roots)


def _prefixes(files: SchemaFiles, elements: Iterable[Element]) -> Prefixes:
    """The prefixes that the files declare, of which the main one wins. Without one, names have the default namespace of
    the main file, or its target namespace, unless there are elements in no namespace."""
    bound: dict[str, str] = {}
    for file in files.files.values():
        for prefix, namespace in file.root.nsmap.items():
            if prefix and namespace not in (_XSD_NAMESPACE, XML_NAMESPACE):
                bound.setdefault(prefix, namespace)
    namespaces = {split_name(element.name)[0] for element in elements}
    own = files.main.namespace
    default = files.main.root.nsmap.get(None, _XSD_NAMESPACE)
    default = own if default == _XSD_NAMESPACE else default
    if "" not in namespaces and default in namespaces:
        bound = {"": default, **bound}
    elif own in namespaces and own not in bound.values() and own:
        bound.setdefault("tns", own)
    if XSI_NAMESPACE not in bound.values():
        bound.setdefault("xsi", XSI_NAMESPACE)
    return Prefixes.of(bound)


# -- identity constraints --------------------------------------------------------------------------------------------


def _constraints(table: TypeTable) -> tuple[tuple[KeyConstraint, ...], tuple[KeyReference, ...]]:
    """The keys and references of a schema, as far as they hold for an element type."""
    keys: list[KeyConstraint] = []
    references: list[KeyReference] = []
    for name, declared in sorted(table.constraints.items()):
        constraint = next(one for one in declared.identities if one.name == name)
        if constraint.selector is None:
            continue
        element = table.key_of(declared)
        selectors = tuple(_paths(constraint.selector))
        fields = tuple(tuple(_paths(field)) for field in constraint.fields)
        if isinstance(constraint, XsdKeyref):
            if not isinstance(constraint.refer, str) and constraint.refer is not None:
                references.append(KeyReference(name, element, selectors, fields, constraint.refer.name))
        else:
            keys.append(KeyConstraint(name, element, selectors, fields, not isinstance(constraint, XsdUnique)))
    return tuple(keys), tuple(references)


def _paths(selector: Any) -> Iterator[tuple[str, ...]]:
    """The paths of a selector or field, which have child steps and ``.//`` in front only."""
    default = selector.xpath_default_namespace
    for path in selector.path.split("|"):
        steps = [step.strip().removeprefix("child::") for step in path.split("/")]
        found: list[str] = []
        anywhere = ""
        for step in steps:
            if not step:
                anywhere = ANYWHERE
            elif step != ".":
                found.append(anywhere + _step(step, selector.namespaces, default))
                anywhere = ""
        yield tuple(found)


def _step(step: str, namespaces: Mapping[str, str], default: str) -> str:
    sign = "@" if step.startswith(("@", "attribute::")) else ""
    name = step.removeprefix("@").removeprefix("attribute::").strip()
    prefix, colon, local = name.rpartition(":")
    if name == "*":
        return sign + name
    return sign + expanded_name(namespaces.get(prefix, "") if colon else "" if sign else default, local)
