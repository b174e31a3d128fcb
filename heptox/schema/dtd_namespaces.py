"""Namespaces of the names in a DTD, which knows nothing of them: by its ``xmlns`` attributes (``semantics.md`` 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from heptox.errors import Fault
from heptox.schema.dtd_declarations import AttributeDeclaration, Declarations, ElementDeclaration
from heptox.schema.dtd_entities import Place
from heptox.xml import XML_NAMESPACE, XSI_NAMESPACE, Prefixes, expanded_name, split_name

DEFAULT: Final = "xmlns"
_PREFIXED: Final = "xmlns:"
_WELL_KNOWN: Final = {"xsi": XSI_NAMESPACE, "xlink": "http://www.w3.org/1999/xlink"}
"""What prefixes stand for where a DTD lets documents bind them, and does not say to what."""


def is_binding(attribute: str) -> bool:
    """Whether an attribute of this name declares a namespace."""
    return attribute == DEFAULT or attribute.startswith(_PREFIXED)


@dataclass(slots=True)
class Naming:
    """The expanded names of what a DTD declares, as they are in documents with the root ``root``, if that is given.

    An element type without prefix is in the namespace that its ``xmlns`` attribute binds, else in that of the elements
    in which it stands. A prefix stands for what an ``xmlns:`` attribute of the element type binds, else for the one
    namespace that any binds, else for what it is known for. What has a prefix that nothing can bind stands in no valid
    document: ``remarks`` say so, and it has no name here.
    """

    declarations: Declarations
    root: str | None = None
    faults: list[Fault] = field(default_factory=list)
    remarks: list[Fault] = field(default_factory=list)
    elements: dict[str, str] = field(default_factory=dict)
    """The expanded names of the element types, by their names in the DTD."""
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    """The expanded names of the attributes of each element type, by theirs in the DTD."""
    _bound: dict[str, dict[str, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for _, prefix, namespace in self._bindings():
            if namespace and prefix != "xml":
                self._bound.setdefault(prefix, {})[namespace] = None
        defaults = self._defaults()
        taken: dict[str, str] = {}
        for name, declared in self.declarations.elements.items():
            expanded = self._element(declared, defaults.get(name, {}))
            if expanded is None:
                continue
            self.elements[name] = expanded
            if taken.setdefault(expanded, name) != name:
                message = f"the element names {taken[expanded]} and {name} mean the same"
                self._tell(message, declared.place, "declare one of them")
            self.attributes[name] = self._attributes(name)
        if self.root is not None and self.root not in self.elements:
            self.faults += self.remarks

    def _bindings(self) -> Iterable[tuple[str, str, str]]:
        """Each element type with a prefix, ``""`` for none, and the namespace that it is bound to there."""
        for element in self.declarations.elements:
            for attribute in self.declarations.attributes.get(element, {}).values():
                if is_binding(attribute.name) and attribute.default is not None:
                    prefix = attribute.name.removeprefix(DEFAULT).removeprefix(":")
                    yield element, prefix, attribute.default

    def _defaults(self) -> dict[str, dict[str, None]]:
        """For each element type, the namespaces of elements without prefix that it may stand in, two at most."""
        if "" not in self._bound:
            return {}
        own = {element: namespace for element, prefix, namespace in self._bindings() if not prefix}
        found: dict[str, dict[str, None]] = {}
        waiting = list(own.items())
        if self.root is not None and self.root not in own:
            waiting.append((self.root, ""))
        while waiting:
            element, namespace = waiting.pop()
            known = found.setdefault(element, {})
            if namespace in known or len(known) > 1 or element not in self.declarations.elements:
                continue
            known[namespace] = None
            children = self.declarations.elements[element].children
            waiting += [(child, namespace) for child in children if child not in own]
        return found

    def _element(self, declared: ElementDeclaration, defaults: Mapping[str, None]) -> str | None:
        name, place = declared.name, declared.place
        prefix, colon, local = name.rpartition(":")
        if colon:
            namespace = self._namespace(prefix, name)
            if namespace is None:
                self._tell_unbound(prefix, name, f"the element name {name}", place)
                return None
            return expanded_name(namespace, local)
        if len(defaults) > 1:
            one, other = (f"namespace {each}" if each else "no namespace" for each in sorted(defaults))
            hint = f'declare it: <!ATTLIST {name} xmlns CDATA #FIXED "...">'
            self._tell(f"{name} may stand where elements are in {one}, and in {other}", place, hint)
        return expanded_name(next(iter(defaults), ""), local)

    def _attributes(self, element: str) -> dict[str, str]:
        found: dict[str, str] = {}
        taken: dict[str, str] = {}
        for attribute in self.declarations.attributes.get(element, {}).values():
            if is_binding(attribute.name):
                continue
            expanded = self._attribute(attribute, element)
            if expanded is None:
                continue
            found[attribute.name] = expanded
            if taken.setdefault(expanded, attribute.name) != attribute.name:
                message = f"the attribute names {taken[expanded]} and {attribute.name} of {element} mean the same"
                self._tell(message, attribute.place, "declare one of them")
        return found

    def _attribute(self, attribute: AttributeDeclaration, element: str) -> str | None:
        prefix, colon, local = attribute.name.rpartition(":")
        if not colon:
            return local
        namespace = self._namespace(prefix, element)
        if namespace is None:
            what = f"the attribute name {attribute.name} of {element}"
            is_left_out = attribute.presence != "REQUIRED"
            self._tell_unbound(prefix, element, what, attribute.place, is_left_out=is_left_out)
            return None
        return expanded_name(namespace, local)

    def _namespace(self, prefix: str, element: str) -> str | None:
        """What a prefix stands for at an element type; ``None`` where that is not known."""
        if prefix == "xml":
            return XML_NAMESPACE
        own = self.declarations.attributes.get(element, {}).get(_PREFIXED + prefix)
        if own is not None and own.default:
            return own.default
        known = self._bound.get(prefix, {})
        if known:
            return next(iter(known)) if len(known) == 1 else None
        return _WELL_KNOWN.get(prefix) if self._may_be_bound(prefix) else None

    def _may_be_bound(self, prefix: str) -> bool:
        """Whether documents may bind a prefix: they have no attributes that are not declared."""
        return any(_PREFIXED + prefix in attributes for attributes in self.declarations.attributes.values())

    def _tell_unbound(self, prefix: str, element: str, what: str, place: Place, *, is_left_out: bool = True) -> None:
        known = self._bound.get(prefix, {})
        bound = f"is bound to several namespaces: {', '.join(known)}" if known else "is not bound to a namespace"
        hint = f'declare what it stands for: <!ATTLIST {element} xmlns:{prefix} CDATA #FIXED "...">'
        fault = place.source.fault("HX2006", f"the prefix {prefix} of {what} {bound}", place.offset, hint)
        (self.remarks if is_left_out and not self._may_be_bound(prefix) else self.faults).append(fault)

    def _tell(self, message: str, place: Place, hint: str) -> None:
        self.faults.append(place.source.fault("HX2006", message, place.offset, hint))

    @property
    def prefixes(self) -> Prefixes:
        """The prefixes that the DTD binds; elements without one are in the namespace of the root, if it has one."""
        found = {prefix: next(iter(namespaces)) for prefix, namespaces in self._bound.items() if prefix}
        if self.root is not None and (default := self._default_of_root()):
            found = {"": default, **found}
        return Prefixes.of(found)

    def _default_of_root(self) -> str:
        root = self.root or ""
        own = self.declarations.attributes.get(root, {}).get(DEFAULT)
        if own is not None and own.default is not None:
            return own.default
        return "" if ":" in root else split_name(self.elements.get(root, ""))[0]

    @property
    def depends_on_root(self) -> bool:
        """Whether the names may be others with another root."""
        return "" in self._bound
