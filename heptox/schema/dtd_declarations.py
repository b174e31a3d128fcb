"""The declarations of a DTD, and their grammar (XML 1.0, fifth edition, sections 3.2, 3.3, 4.2 and 4.7).

A declaration comes as its tokens, parameter entities expanded. Names are as the DTD writes them, with prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from heptox.schema.dtd_entities import DtdLimitError, Place, Source, Token
from heptox.schema.model import AttributeType, Cardinality, Particle, tokens
from heptox.xml import NAME, NAME_TOKEN

MOST_GROUPS: Final = 128
"""Groups of a content model inside each other at most."""
MOST_NAMES: Final = 20_000
"""Names in a content model at most."""

ContentKind: TypeAlias = Literal["EMPTY", "ANY", "text", "mixed", "children"]
Reader: TypeAlias = Callable[[str, Place], str]
"""Gives the value of a literal without its quotes, which stands at a place."""


class MalformedError(Exception):
    """A declaration does not follow the grammar: what is wrong, at which offset, and from where others may follow."""

    def __init__(self, message: str, offset: int, resume: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.resume = resume


@dataclass(frozen=True, slots=True)
class ElementDeclaration:
    """An element type: its content model without text, and where each child is first named."""

    name: str
    kind: ContentKind
    content: Particle | None
    place: Place
    children: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AttributeDeclaration:
    """An attribute; ``default`` is its value as a parser gives it, ``presence`` a keyword behind ``#``, if any."""

    name: str
    type: AttributeType
    values: tuple[str, ...]
    presence: str
    default: str | None
    place: Place


@dataclass(frozen=True, slots=True)
class ExternalDeclaration:
    """A notation, or an unparsed entity, which has a notation: its identifiers."""

    name: str
    public: str | None
    system: str | None
    notation: str | None = None


@dataclass(slots=True)
class Declarations:
    """What a DTD declares, of each the declaration that holds, in the order in which they stand.

    ``is_modular``: it was put together from several files, or parts of its text do not count.
    """

    elements: dict[str, ElementDeclaration] = field(default_factory=dict)
    attributes: dict[str, dict[str, AttributeDeclaration]] = field(default_factory=dict)
    unparsed: dict[str, ExternalDeclaration] = field(default_factory=dict)
    notations: dict[str, ExternalDeclaration] = field(default_factory=dict)
    is_modular: bool = False


class TokenReader:
    """The tokens of a declaration, one after the other."""

    def __init__(self, found: list[Token]) -> None:
        self._tokens = found
        self._at = 0

    def peek(self) -> Token:
        return self._tokens[self._at]

    def next(self) -> Token:
        token = self._tokens[self._at]
        if token.kind != "end":
            self._at += 1
        return token

    def expect(self, kind: str, what: str, *, spaced: bool = False) -> Token:
        """The next token, which has to be of a kind, and to have white space before it where that is asked."""
        token = self.peek()
        if token.kind != kind:
            raise MalformedError(f"expected {what}{_of_sign(token)}", token.offset)
        if spaced and not token.spaced:
            raise MalformedError(f"expected white space before {token.value}", token.offset)
        return self.next()

    def take(self, *kinds: str) -> str | None:
        """The next token's kind, if it is one of these; it is then taken."""
        return self.next().kind if self.peek().kind in kinds else None

    def name(self, what: str = "a name", *, spaced: bool = False) -> Token:
        token = self.expect("name", what, spaced=spaced)
        if not is_name(token.value):
            raise MalformedError(f"expected {what}, which {token.value[:60]} is not", token.offset)
        return token

    def names(self, *, any_token: bool = False) -> list[str]:
        """The names of an enumeration, behind its opening parenthesis."""
        found = []
        while True:
            token = self.expect("name", "a name")
            if not (is_name_token(token.value) if any_token else is_name(token.value)):
                raise MalformedError(f"expected a name, which {token.value[:60]} is not", token.offset)
            found.append(token.value)
            if self.take(")"):
                return found
            self.expect("|", "'|' or ')'")

    def end(self) -> int:
        """Where the declaration ends: behind its ``>``."""
        return self.expect(">", "'>'").offset + 1


@lru_cache(maxsize=4096)
def is_name(text: str) -> bool:
    """Whether a text is a name with at most one colon, and that inside (Namespaces in XML, section 4)."""
    return bool(_compiled(NAME).fullmatch(text)) and ":" not in text[:1] + text[-1:] and text.count(":") <= 1


@lru_cache(maxsize=4096)
def is_name_token(text: str) -> bool:
    return bool(_compiled(NAME_TOKEN).fullmatch(text))


@lru_cache(maxsize=2)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# -- element types -----------------------------------------------------------------------------------------------

_OCCURRENCES: Final = {"?": Cardinality.OPTIONAL, "*": Cardinality.MANY, "+": Cardinality.SOME}


def read_element(reader: TokenReader, place: Place) -> tuple[ElementDeclaration, list[str]]:
    """The element type that a declaration declares, and what is inconsistent in it.

    Raises :class:`MalformedError`, and :class:`DtdLimitError` beyond :data:`MOST_GROUPS` or :data:`MOST_NAMES`.
    """
    name = reader.name("the name of an element type", spaced=True).value
    token = reader.peek()
    if token.kind not in ("name", "(") or not token.spaced:
        raise MalformedError("expected white space, then EMPTY, ANY or '('", token.offset)
    reader.next()
    if token.kind == "name":
        if token.value == "EMPTY":
            return ElementDeclaration(name, "EMPTY", None, place), []
        if token.value == "ANY":
            return ElementDeclaration(name, "ANY", None, place), []
        raise MalformedError("expected EMPTY, ANY or '('", token.offset)
    children: dict[str, int] = {}
    if reader.peek().kind == "hash":
        return _mixed(reader, name, place, children)
    content = _Groups(reader, children).group(0)
    return ElementDeclaration(name, "children", content, place, children), []


def _mixed(
    reader: TokenReader, name: str, place: Place, children: dict[str, int]
) -> tuple[ElementDeclaration, list[str]]:
    token = reader.next()
    if token.value != "#PCDATA":
        raise MalformedError("expected #PCDATA", token.offset)
    members: list[Particle] = []
    repeated: list[str] = []
    while reader.take("|"):
        child = reader.name()
        if child.value in children:
            repeated.append(f"{child.value} is a duplicate in the mixed content of {name}")
        else:
            children[child.value] = child.offset
            members.append(Particle("name", Cardinality.ONE, child.value))
    if len(members) > MOST_NAMES:
        raise DtdLimitError(f"the content of {name} has more than {MOST_NAMES:,} names")
    reader.expect(")", "'|' or ')'")
    star = reader.peek()
    if star.kind == "*" and not star.spaced:
        reader.next()
    elif members:
        raise MalformedError("expected '*' behind mixed content", star.offset)
    if not members:
        return ElementDeclaration(name, "text", None, place), []
    content = Particle("choice", Cardinality.MANY, members=tuple(members))
    return ElementDeclaration(name, "mixed", content, place, children), repeated


class _Groups:
    """Reads content models of elements; ``children`` gets each name with the offset of its first mention."""

    def __init__(self, reader: TokenReader, children: dict[str, int]) -> None:
        self._reader = reader
        self._children = children
        self._names = 0

    def group(self, depth: int) -> Particle:
        """A group, behind its opening parenthesis, with the sign behind it."""
        if depth == MOST_GROUPS:
            raise DtdLimitError(f"a content model has more than {MOST_GROUPS} groups inside each other")
        reader = self._reader
        members: list[Particle] = []
        connector: str | None = None
        while True:
            members.append(self._part(depth))
            token = reader.next()
            if token.kind == ")":
                break
            if token.kind not in ("|", ",") or connector not in (None, token.kind):
                raise MalformedError(f"expected {_alternatives(connector)}{_of_sign(token)}", token.offset)
            connector = token.kind
        occurrence = self._occurrence()
        if len(members) == 1 and Cardinality.ONE in (occurrence, members[0].occurrence):
            return members[0] if occurrence == Cardinality.ONE else replace(members[0], occurrence=occurrence)
        kind: Literal["choice", "sequence"] = "choice" if connector == "|" else "sequence"
        return Particle(kind, occurrence, members=tuple(members))

    def _part(self, depth: int) -> Particle:
        if self._reader.take("("):
            return self.group(depth + 1)
        token = self._reader.name("a name or '('")
        self._names += 1
        if self._names > MOST_NAMES:
            raise DtdLimitError(f"a content model has more than {MOST_NAMES:,} names")
        self._children.setdefault(token.value, token.offset)
        return Particle("name", self._occurrence(), token.value)

    def _occurrence(self) -> Cardinality:
        token = self._reader.peek()
        if token.kind in _OCCURRENCES and not token.spaced:
            return _OCCURRENCES[self._reader.next().kind]
        return Cardinality.ONE


def _alternatives(connector: str | None) -> str:
    return "',', '|' or ')'" if connector is None else f"'{connector}' or ')'"


def _of_sign(token: Token) -> str:
    """Why a sign behind a part is none of it."""
    if token.kind not in _OCCURRENCES or not token.spaced:
        return ""
    return f": before {token.value} is white space, as there is around every parameter entity"


# -- attributes --------------------------------------------------------------------------------------------------

_TOKENIZED: Final = {kind.value for kind in AttributeType} - {"ENUMERATION", "NOTATION"}
_ONE_NAME: Final = (AttributeType.ID, AttributeType.IDREF, AttributeType.ENTITY)
_NAMES: Final = (AttributeType.IDREFS, AttributeType.ENTITIES)
_NAME_TOKENS: Final = (AttributeType.NMTOKEN, AttributeType.NMTOKENS)


def read_attribute(reader: TokenReader, source: Source, value: Reader) -> AttributeDeclaration:
    """The next attribute of a list of them, which stands in a text; raises :class:`MalformedError`."""
    name = reader.name("the name of an attribute, or '>'", spaced=True)
    token = reader.peek()
    if token.kind not in ("name", "(") or not token.spaced:
        raise MalformedError(f"expected white space, then the type of the attribute {name.value}", token.offset)
    reader.next()
    values: tuple[str, ...] = ()
    if token.kind == "(":
        kind = AttributeType.ENUMERATION
        values = tuple(reader.names(any_token=True))
    elif token.value == "NOTATION":
        kind = AttributeType.NOTATION
        reader.expect("(", "'('", spaced=True)
        values = tuple(reader.names())
    elif token.value in _TOKENIZED:
        kind = AttributeType(token.value)
    else:
        message = f"expected the type of the attribute {name.value}, which {token.value[:60]} is not"
        raise MalformedError(message, token.offset)
    presence, default = _default(reader, name.value, source, value)
    if default is not None and kind != AttributeType.CDATA:
        default = tokens(default)
    return AttributeDeclaration(name.value, kind, values, presence, default, Place(source, name.offset))


def _default(reader: TokenReader, name: str, source: Source, value: Reader) -> tuple[str, str | None]:
    token = reader.peek()
    if token.kind not in ("hash", "literal") or not token.spaced:
        message = f"expected white space, then #REQUIRED, #IMPLIED, #FIXED or a default of the attribute {name}"
        raise MalformedError(message, token.offset)
    reader.next()
    if token.kind == "literal":
        return "", value(token.value[1:-1], Place(source, token.offset))
    presence = token.value[1:]
    if presence == "FIXED":
        literal = reader.expect("literal", f"the value of the attribute {name}", spaced=True)
        return presence, value(literal.value[1:-1], Place(source, literal.offset))
    if presence not in ("REQUIRED", "IMPLIED"):
        raise MalformedError("expected #REQUIRED, #IMPLIED or #FIXED", token.offset)
    return presence, None


def inconsistencies(attribute: AttributeDeclaration, element: str) -> Iterable[str]:
    """What is inconsistent in the declaration of an attribute (validity constraints of section 3.3.1)."""
    name, kind, default = attribute.name, attribute.type, attribute.default
    if len(set(attribute.values)) < len(attribute.values):
        yield f"a value of the attribute {name} of {element} stands twice"
    if kind == AttributeType.ID and default is not None:
        yield f"the ID attribute {name} of {element} has a default; it has to be #IMPLIED or #REQUIRED"
    elif default is not None and not _fits(default, attribute):
        allowed = f": {' | '.join(attribute.values)}" if attribute.values else ""
        yield f'the default "{default[:60]}" of the attribute {name} of {element} is none of its values{allowed}'


def _fits(value: str, attribute: AttributeDeclaration) -> bool:
    kind = attribute.type
    if attribute.values:
        return value in attribute.values
    if kind in _ONE_NAME:
        return bool(_compiled(NAME).fullmatch(value))
    parts = value.split(" ")
    if kind in _NAMES:
        return all(_compiled(NAME).fullmatch(part) for part in parts)
    if kind in _NAME_TOKENS:
        return (len(parts) == 1 or kind == AttributeType.NMTOKENS) and all(map(is_name_token, parts))
    return True


# -- external identifiers ----------------------------------------------------------------------------------------


def read_identifiers(reader: TokenReader, *, needs_system: bool) -> tuple[str | None, str | None]:
    """The public and the system identifier of an entity or a notation; raises :class:`MalformedError`."""
    token = reader.peek()
    if token.kind != "name" or token.value not in ("SYSTEM", "PUBLIC") or not token.spaced:
        raise MalformedError("expected white space, then a value in quotes, SYSTEM or PUBLIC", token.offset)
    reader.next()
    if token.value == "SYSTEM":
        return None, reader.expect("literal", "a system identifier in quotes", spaced=True).value[1:-1]
    public = reader.expect("literal", "a public identifier in quotes", spaced=True).value[1:-1]
    if not needs_system and reader.peek().kind != "literal":
        return public, None
    return public, reader.expect("literal", "a system identifier in quotes", spaced=True).value[1:-1]
