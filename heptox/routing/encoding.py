"""Advertisements as bytes, for peers to exchange: canonical JSON, so that equal advertisements are equal bytes.

A content model is written as a list whose first member is ``,`` or ``|``, with its sign behind it, and a name as a
string with its sign: ``[",", "head?", ["|*", "p", "table"]]``. What is read is checked as if a stranger had sent it.
"""

from __future__ import annotations

import json
import re
from hashlib import sha256
from typing import Any, Final, Literal, NoReturn

from heptox.errors import DisseminationError, Fault
from heptox.routing.advertisement import Advertisement, ElementType
from heptox.schema import Cardinality, Particle
from heptox.xml import expanded_name, split_name

MOST_ADVERTISEMENT_BYTES: Final = 1 << 20
"""How large an encoded advertisement may be; that of NITF 2.5 has about 10 KB."""

MOST_ELEMENT_TYPES: Final = 2000
"""How many element types may be advertised."""

MOST_CONTENT_DEPTH: Final = 64
"""How deep parts of content models may be nested."""

_FORMAT: Final = "heptox advertisement 1"
_NAME: Final = re.compile(r"""[^\s\x00-\x1f\x7f<>&"'/\[\](){}@*?+|,=!:;#%]+""")
"""What no syntax has a sign in: names stand in paths and documents that are shown."""
_SIGN: Final = {each: "" if each is Cardinality.ONE else each.value for each in Cardinality}
_OCCURRENCE: Final = {sign: cardinality for cardinality, sign in _SIGN.items()}
_KINDS: Final[dict[str, Literal["sequence", "choice"]]] = {",": "sequence", "|": "choice"}


_SET_APART: Final = "~"
"""What stands around the namespace of a name; no name of XML has it, and to who reads no namespaces it is part of a
name like any other."""
_ESCAPED: Final = re.compile(r"[^\w.-]")
_ESCAPE: Final = re.compile(r"\^([0-9A-F]+)\^")


def _written_name(name: str) -> str:
    """A name in which no syntax has a sign, whatever its namespace.

    >>> _written_name("{urn:a/b}c"), _written_name("c")
    ('~urn^3A^a^2F^b~c', 'c')
    """
    namespace, local = split_name(name)
    if not namespace:
        return name
    return f"~{_ESCAPED.sub(lambda found: f'^{ord(found[0]):X}^', namespace)}~{local}"


def _read_name(written: str) -> str | None:
    """The name that is written so, ``None`` where there is none."""
    if not written.startswith(_SET_APART):
        return written
    namespace, _, local = written[1:].partition(_SET_APART)
    try:
        name = expanded_name(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), namespace), local)
    except (ValueError, OverflowError):
        return None
    return name if local and _written_name(name) == written else None


def to_bytes(advertisement: Advertisement) -> bytes:
    """An advertisement as UTF-8 text.

    Raises :class:`DisseminationError` (HX9032) where it would have more than :data:`MOST_ADVERTISEMENT_BYTES` or
    :data:`MOST_ELEMENT_TYPES`, or content nested deeper than :data:`MOST_CONTENT_DEPTH`.
    """
    _check_number(len(advertisement.elements))
    elements = {
        _written_name(name): {
            "content": _written(element.content, 0),
            "optional": sorted(map(_written_name, element.optional)),
            "required": sorted(map(_written_name, element.required)),
            "text": element.text,
        }
        for name, element in advertisement.elements.items()
    }
    whole = {"format": _FORMAT, "root": _written_name(advertisement.root), "elements": elements}
    found = json.dumps(whole, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode()
    _check_size(found)
    return found


def from_bytes(data: bytes) -> Advertisement:
    """The advertisement that bytes stand for.

    Raises :class:`DisseminationError`: HX9031 where they stand for none, HX9032 where they are too many.

    >>> from heptox.routing.advertisement import advertised
    >>> from heptox.schema import parse_dtd
    >>> advertisement = advertised(parse_dtd("<!ELEMENT a (b?, a*)> <!ELEMENT b (#PCDATA)>", "a"))
    >>> from_bytes(to_bytes(advertisement)) == advertisement
    True
    """
    _check_size(data)
    try:
        return _advertisement(json.loads(data.decode()))
    except (ValueError, RecursionError) as error:
        raise DisseminationError(Fault("HX9031", f"no advertisement: {str(error) or 'nested too deeply'}")) from None


def digest(advertisement: Advertisement) -> str:
    """The SHA-256 of an advertisement's bytes, in hexadecimal: its identity and, for a publisher, its version."""
    return sha256(to_bytes(advertisement)).hexdigest()


def _check_size(data: bytes) -> None:
    if len(data) > MOST_ADVERTISEMENT_BYTES:
        message = f"an advertisement has {len(data)} bytes, more than {MOST_ADVERTISEMENT_BYTES}"
        raise DisseminationError(Fault("HX9032", message))


def _check_number(element_types: int) -> None:
    if element_types > MOST_ELEMENT_TYPES:
        message = f"an advertisement has {element_types} element types, more than {MOST_ELEMENT_TYPES}"
        raise DisseminationError(Fault("HX9032", message))


def _written(particle: Particle, depth: int) -> Any:
    if depth > MOST_CONTENT_DEPTH:
        raise DisseminationError(Fault("HX9032", f"a content model is nested deeper than {MOST_CONTENT_DEPTH}"))
    sign = _SIGN[particle.occurrence]
    if particle.kind == "name":
        return _written_name(particle.name) + sign
    kind = "," if particle.kind == "sequence" else "|"
    return [kind + sign, *(_written(member, depth + 1) for member in particle.members)]


def _advertisement(found: Any) -> Advertisement:
    whole = _fields(found, "format", "root", "elements")
    if whole["format"] != _FORMAT:
        _refuse("another format")
    elements = whole["elements"]
    if not isinstance(elements, dict):
        _refuse("no element types")
    _check_number(len(elements))
    reading = _Reading()
    return Advertisement(
        reading.name(whole["root"]), {reading.name(name): reading.element(each) for name, each in elements.items()}
    )


class _Reading:
    """Reads an advertisement so that it holds what is equal in it once: names, and parts of content models."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._parts: dict[tuple[object, ...], Particle] = {}

    def element(self, found: Any) -> ElementType:
        fields = _fields(found, "content", "optional", "required", "text")
        if not isinstance(fields["text"], bool):
            _refuse("text is neither true nor false")
        required, optional = self._attributes(fields["required"]), self._attributes(fields["optional"])
        if required & optional:
            _refuse("an attribute is required and optional")
        return ElementType(self._particle(fields["content"], 0), required, optional, fields["text"])

    def _particle(self, found: Any, depth: int) -> Particle:
        if depth > MOST_CONTENT_DEPTH:
            _refuse("content is nested too deeply")
        if isinstance(found, str):
            name, sign = (found[:-1], found[-1]) if found[-1:] in ("?", "*", "+") else (found, "")
            return self._once(Particle("name", _OCCURRENCE[sign], self.name(name)))
        if not isinstance(found, list) or not found or not isinstance(found[0], str):
            _refuse("content is neither a name nor a list")
        kind, sign = found[0][:1], found[0][1:]
        if kind not in _KINDS or sign not in _OCCURRENCE:
            _refuse(f"content of the kind {found[0][:20]!r}")
        members = tuple(self._particle(member, depth + 1) for member in found[1:])
        return self._once(Particle(_KINDS[kind], _OCCURRENCE[sign], members=members))

    def _once(self, part: Particle) -> Particle:
        # Its members are held once already, so their identities say whether they are equal.
        return self._parts.setdefault((part.kind, part.occurrence, part.name, *map(id, part.members)), part)

    def _attributes(self, found: Any) -> frozenset[str]:
        if not isinstance(found, list):
            _refuse("something else than a list of names")
        return frozenset(map(self.name, found))

    def name(self, found: Any) -> str:
        if not isinstance(found, str) or not _NAME.fullmatch(found):
            _refuse(f"{str(found)[:20]!r} is no name")
        name = _read_name(found)
        if name is None:
            _refuse(f"{found[:20]!r} is no name in a namespace")
        return self._names.setdefault(name, name)


def _fields(found: Any, *expected: str) -> dict[str, Any]:
    if not isinstance(found, dict) or found.keys() != set(expected):
        _refuse(f"something else than the fields {', '.join(expected)}")
    return found


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)
