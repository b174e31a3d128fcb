"""Templates that turn records into XML elements.

A template is ``name(parts)``; its parts, each left out where its field has no value, are:

* ``@name`` an attribute, ``name`` an element with text, ``#field`` an element that the record holds;
* ``=field`` the text of the element itself;
* ``name(parts)`` an element, ``name?(parts)`` the same from the record in a field,
  ``name*field(parts)`` one for each record in a field.

Behind ``@name``, ``name`` and ``name?`` a field follows ``=`` where it is called otherwise. A field is a path
``address.city``; ``.`` is the record itself. ``$field(parts)`` is an element whose name is a field's value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from xml.etree.ElementTree import Element, SubElement

_PART: Final = re.compile(r"(?P<kind>[@#=$]?)(?P<name>[\w.]+)(?P<many>[?*])?=?(?P<field>[\w.]*)(?P<open>\()?|\)")


@dataclass(frozen=True, slots=True)
class Template:
    """One part of a template: its ``kind`` is ``@``, ``#``, ``=``, ``$``, ``?``, ``*``, ``(`` or, for text, nothing."""

    kind: str
    name: str
    field: str
    parts: tuple[Template, ...] = ()

    def element(self, record: Any) -> Element:
        """The element of a record: a value with attributes, or a mapping."""
        element = Element(_value(record, self.name) if self.kind == "$" else self.name)
        for part in self.parts:
            part._add(element, record)
        return element

    def _add(self, element: Element, record: Any) -> None:
        if self.kind in ("(", "$"):
            element.append(self.element(record))
            return
        value = _value(record, self.field)
        if value is None or value == ():
            return
        match self.kind:
            case "@":
                element.set(self.name, value)
            case "#":
                element.append(value)
            case "=":
                element.text = value
            case "?":
                element.append(self.element(value))
            case "*":
                element.extend(map(self.element, value))
            case _:
                SubElement(element, self.name).text = value


def template(text: str) -> Template:
    """The template that a text is.

    >>> from xml.etree.ElementTree import tostring
    >>> tostring(template("a(@id b c=d e*f(=.))").element({"id": "1", "b": None, "d": "2", "f": "34"}))
    b'<a id="1"><c>2</c><e>3</e><e>4</e></a>'
    """
    (found,) = _parts(_PART.finditer(text))
    return found


def of(field: str, names: str) -> str:
    """Parts ``name`` from a record in a field: ``of("a", "b @c")`` is ``b=a.b @c=a.c``."""
    return " ".join(f"{name}={field}.{name.removeprefix('@')}" for name in names.split())


def attributes(names: str) -> str:
    """Names as attributes."""
    return " ".join(f"@{name}" for name in names.split())


def _parts(matches: Iterator[re.Match[str]]) -> tuple[Template, ...]:
    found: list[Template] = []
    for match in matches:
        if match[0] == ")":
            break
        kind = match["kind"] or match["many"] or match["open"] or ""
        inner = _parts(matches) if match["open"] else ()
        found.append(Template(kind, match["name"], match["field"] or match["name"], inner))
    return tuple(found)


def _value(record: Any, field: str) -> Any:
    """The value of a field, ``None`` where there is none on the way."""
    for name in filter(None, field.split(".")):
        if record is None:
            return None
        record = record[name] if isinstance(record, Mapping) else getattr(record, name)
    return record
