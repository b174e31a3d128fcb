"""Parsing DTDs with parameter entities, modules and conditional sections (XML 1.0, fifth edition, 2.8, 3.2 to 4.7).

What is malformed is told, and parsing goes on behind it, so that one run tells all that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from heptox.errors import Fault, HeptoxError, SchemaError
from heptox.schema.dtd_catalogue import ExternalIdentifier
from heptox.schema.dtd_declarations import (
    AttributeDeclaration,
    Declarations,
    ExternalDeclaration,
    MalformedError,
    TokenReader,
    inconsistencies,
    is_name,
    read_attribute,
    read_element,
    read_identifiers,
)
from heptox.schema.dtd_entities import (
    MOST_NESTED,
    DtdLimitError,
    Files,
    ParameterEntity,
    Place,
    Source,
    Token,
    illegal_character,
    tokens_of,
)
from heptox.schema.model import AttributeType

MOST_FAULTS: Final = 100
"""Faults of one DTD that are told at most."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_REFERENCE: Final = re.compile(r"%([^ \t\r\n%&;<>\"']+);")
_KEYWORD: Final = re.compile(r"<!([A-Za-z]*)")
_INSTRUCTION: Final = re.compile(r"<\?([^ \t\r\n?]+)[ \t\r\n]?")
_BRACKETS: Final = re.compile(r"<!\[|\]\]>")
_NEXT: Final = re.compile(r"<[!?]|%[^ \t\r\n%&;<>\"']+;|\]\]>")
_NEXT_MARKUP: Final = re.compile(r"<[!?]|\]\]>|(>)")
_IN_VALUE: Final = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));|%([^ \t\r\n%&;<>\"']+);|([&%])")
_IN_DEFAULT: Final = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));|&([^ \t\r\n%&;<>\"'#]+);|([&<])")
_WHITE: Final = re.compile("[\t\r\n]")
_PREDEFINED: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


class _EnoughError(Exception):
    """There are as many faults as are told."""


def parse_declarations(source: Source, files: Files) -> Declarations:
    """What a DTD declares, whose first text is ``source``.

    Raises :class:`SchemaError` with all faults: HX2001 malformed or inconsistent, HX2002 external entity that cannot be
    read, HX2014 beyond a limit; and :class:`InputError` for a file that is not in its encoding.

    >>> found = parse_declarations(Source('<!ENTITY % x "b?"> <!ELEMENT a (%x;)> <!ELEMENT b EMPTY>'), Files())
    >>> found.elements["a"].content
    Particle(kind='name', occurrence=<Cardinality.OPTIONAL: '?'>, name='b', members=())
    """
    parser = _Parser(files)
    try:
        files.spending.file(len(source.text))
        parser.check_characters(source)
        parser.parse_file(source, Place(source, source.start))
        parser.finish()
    except DtdLimitError as error:
        place = parser.at or Place(source, 0)
        parser.faults.append(place.source.fault("HX2014", str(error), place.offset))
    except _EnoughError:
        pass
    missing = [fault for fault in parser.faults if fault.code == "HX2002"]
    if parser.faults:
        # without a part of its text nothing else is sure
        raise SchemaError(missing or parser.faults)
    return parser.found


class _Parser:
    """Reads texts one after the other, as they refer to each other."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.found = Declarations()
        self.faults: list[Fault] = []
        self.at: Place | None = None
        self._parameters: dict[str, ParameterEntity] = {}
        self._general: dict[str, str | None] = dict(_PREDEFINED)
        self._open: list[str] = []
        """What is open inside each other: names of parameter entities, and files."""
        self._notation_uses: list[tuple[Place, str, str]] = []

    # -- faults --------------------------------------------------------------------------------------------------

    def tell(self, message: str, place: Place) -> None:
        self.add(place.source.fault("HX2001", message, place.offset))

    def add(self, fault: Fault) -> None:
        self.faults.append(fault)
        if len(self.faults) >= MOST_FAULTS:
            raise _EnoughError

    def check_characters(self, source: Source) -> None:
        if (found := illegal_character(source.text)) is not None:
            self.tell(f"the character {found[1]} cannot stand in XML", Place(source, found[0]))

    def finish(self) -> None:
        """Tell what only all declarations together show."""
        for place, notation, what in self._notation_uses:
            if notation not in self.found.notations:
                self.tell(f"{what} has the notation {notation}, which is not declared", place)

    # -- declarations --------------------------------------------------------------------------------------------

    def parse(self, source: Source) -> None:
        """Parse a text that consists of whole declarations."""
        text = source.text
        at, sections = source.start, 0
        while True:
            at = _end_of(_SPACE, text, at)
            if at >= len(text):
                break
            self.at = Place(source, at)
            try:
                if text.startswith("]]>", at) and sections:
                    at, sections = at + 3, sections - 1
                elif text.startswith("<![", at):
                    at, included = self._section(source, at)
                    sections += included
                else:
                    at = self._one(source, at)
            except MalformedError as error:
                self.tell(error.message, Place(source, error.offset))
                at = _resumed(text, at, error)
        if sections:
            self.tell("a conditional section is not closed: expected ']]>'", Place(source, len(text)))

    def _one(self, source: Source, at: int) -> int:
        """Parse what begins at an offset; where it ends."""
        text = source.text
        if text.startswith("<!--", at):
            return _end_of_comment(text, at)
        if text.startswith("<?", at):
            return _end_of_instruction(text, at)
        if (reference := _REFERENCE.match(text, at)) is not None:
            self._include(reference[1], Place(source, at), reference.end())
            return reference.end()
        keyword = _KEYWORD.match(text, at)
        read = self._readers.get(keyword[1]) if keyword else None
        if keyword is None or read is None:
            raise MalformedError("this is no declaration, which is all that an external subset holds", at)
        reader = TokenReader(self._expanded(source, tokens_of(text, keyword.end(), ends="><")))
        return read(self, reader, Place(source, at))

    def _section(self, source: Source, at: int) -> tuple[int, bool]:
        """Where the content of a conditional section begins, or where it ends if it does not count."""
        self.found.is_modular = True
        reader = TokenReader(self._expanded(source, tokens_of(source.text, at + len("<!["), ends="[")))
        keyword = reader.expect("name", "INCLUDE or IGNORE")
        start = reader.expect("[", "'['").offset + 1
        if keyword.value == "INCLUDE":
            return start, True
        if keyword.value != "IGNORE":
            raise MalformedError("expected INCLUDE or IGNORE", keyword.offset)
        depth = 1
        for bracket in _BRACKETS.finditer(source.text, start):
            depth += 1 if bracket[0] == "<![" else -1
            if not depth:
                return bracket.end(), False
        raise MalformedError("a conditional section is not closed: expected ']]>'", len(source.text))

    def _element(self, reader: TokenReader, place: Place) -> int:
        element, repeated = read_element(reader, place)
        end = reader.end()
        for message in repeated:
            self.tell(message, Place(place.source, end))
        if element.name in self.found.elements:
            self.tell(f"Redefinition of element {element.name}", Place(place.source, end))
        else:
            self.found.elements[element.name] = element
        return end

    def _attributes(self, reader: TokenReader, place: Place) -> int:
        element = reader.name("the name of an element type", spaced=True).value
        known = self.found.attributes.setdefault(element, {})
        source = place.source
        while reader.peek().kind != ">":
            attribute = read_attribute(
                reader, lambda offset: Place(source, offset), lambda value, at: self._default(value, Place(source, at))
            )
            behind = Place(source, reader.peek().offset)
            for message in inconsistencies(attribute, element):
                self.tell(message, behind)
            if attribute.name in known:
                continue  # the first declaration holds
            self._check_single(attribute, element, known, behind)
            known[attribute.name] = attribute
            for notation in attribute.values if attribute.type == AttributeType.NOTATION else ():
                self._notation_uses.append((attribute.place, notation, f"the attribute {attribute.name} of {element}"))
        return reader.end()

    def _check_single(
        self, attribute: AttributeDeclaration, element: str, known: dict[str, AttributeDeclaration], place: Place
    ) -> None:
        if attribute.type not in (AttributeType.ID, AttributeType.NOTATION):
            return
        if other := next((each.name for each in known.values() if each.type == attribute.type), None):
            kind = attribute.type.value
            self.tell(f"{element} has a second {kind} attribute, {attribute.name}, besides {other}", place)

    def _entity(self, reader: TokenReader, place: Place) -> int:
        is_parameter = reader.peek().kind == "%" and reader.next().spaced
        name = reader.name("the name of an entity", spaced=True).value
        if ":" in name:
            raise MalformedError(f"the name of an entity has no colon, as {name} has", reader.peek().offset)
        if reader.peek().kind == "literal":
            literal = reader.expect("literal", "a value in quotes", spaced=True)
            value = self._entity_value(literal.value[1:-1], Place(place.source, literal.offset))
            end = reader.end()
            if is_parameter:
                self._parameters.setdefault(name, ParameterEntity(name, place, value))
            else:
                self._general.setdefault(name, value)
            return end
        public, system = read_identifiers(reader, needs_system=True)
        notation = None
        if not is_parameter and reader.peek().value == "NDATA":
            reader.next()
            notation = reader.name("the name of a notation", spaced=True).value
        end = reader.end()
        if is_parameter:
            identifier = ExternalIdentifier(system or "", public, place.source.path)
            self._parameters.setdefault(name, ParameterEntity(name, place, external=identifier))
        elif name not in self._general:
            self._general[name] = None
            if notation is not None:
                self.found.unparsed[name] = ExternalDeclaration(name, public, system, notation)
                self._notation_uses.append((place, notation, f"the entity {name}"))
        return end

    def _notation(self, reader: TokenReader, place: Place) -> int:
        name = reader.name("the name of a notation", spaced=True).value
        public, system = read_identifiers(reader, needs_system=False)
        end = reader.end()
        if name in self.found.notations:
            self.tell(f"Redefinition of the notation {name}", Place(place.source, end))
        self.found.notations.setdefault(name, ExternalDeclaration(name, public, system))
        return end

    _readers: Final = {"ELEMENT": _element, "ATTLIST": _attributes, "ENTITY": _entity, "NOTATION": _notation}

    # -- entities ------------------------------------------------------------------------------------------------

    def _include(self, name: str, place: Place, end: int) -> None:
        """Parse the declarations that a parameter entity stands for."""
        entity = self._parameters.get(name)
        if entity is None:
            self.tell(f"the parameter entity '{name}' not defined", Place(place.source, end))
            return
        with self._opened(entity, place):
            text = self._text(entity)
            if text is None:
                return
            self.files.spending.reference(len(text))
            if entity.source is not None:
                self.parse_file(entity.source, place)
            else:
                self.parse(Source(text, place.source.file, place.source.path, place))

    @contextmanager
    def _opened(self, entity: ParameterEntity, place: Place) -> Iterator[None]:
        with self._inside(f"%{entity.name};", f"the parameter entity {entity.name} refers to itself", place):
            yield

    def parse_file(self, source: Source, place: Place) -> None:
        """Parse a file that is referred to at a place."""
        name = str(source.path.resolve() if source.path else source.file)
        with self._inside(name, f"the file {source.file} includes itself", place):
            self.parse(source)

    @contextmanager
    def _inside(self, name: str, message: str, place: Place) -> Iterator[None]:
        if name in self._open:
            raise MalformedError(message, place.offset)
        if len(self._open) == MOST_NESTED:
            raise DtdLimitError(f"more than {MOST_NESTED} parameter entities are open inside each other")
        self._open.append(name)
        try:
            yield
        finally:
            self._open.pop()

    def _text(self, entity: ParameterEntity) -> str | None:
        """What a parameter entity stands for, ``None`` where that cannot be read."""
        if entity.text is None and entity.external is not None:
            entity.text = ""
            self.found.is_modular = True
            try:
                entity.source = self.files.read(f"the parameter entity {entity.name}", entity.external, entity.declared)
            except HeptoxError as error:
                if error.faults[0].code != "HX2002":
                    raise
                self.add(error.faults[0])
                return None
            self.check_characters(entity.source)
            entity.text = entity.source.text[entity.source.start :]
        return entity.text

    def _expanded(self, source: Source, found: list[Token]) -> list[Token]:
        """The tokens of a declaration with those of its parameter entities, which stand where they are referred to."""
        expanded: list[Token] = []
        self._expand(found, expanded, source, None)
        return expanded

    def _expand(self, found: list[Token], expanded: list[Token], source: Source, at: int | None) -> None:
        """Add tokens to others, as if they stood ``at`` an offset if that is given: those of an entity have no other.

        The text of an entity has a space before and behind it.
        """
        spaced = at is not None
        for token in found:
            offset = token.offset if at is None else at
            if token.kind == "reference":
                self._expand_reference(token.value, expanded, Place(source, offset), at)
                spaced = True
            elif token.kind != "end" or at is None:
                expanded.append(Token(token.kind, token.value, offset, spaced or token.spaced))
                spaced = False

    def _expand_reference(self, name: str, expanded: list[Token], place: Place, at: int | None) -> None:
        entity = self._parameters.get(name)
        if entity is None:
            end = place.offset + (len(name) + 2 if at is None else 0)
            raise MalformedError(f"the parameter entity '{name}' not defined", end)
        with self._opened(entity, place):
            text = self._text(entity)
            self.files.spending.reference(len(text or ""))
            if entity.tokens is None:
                found = tokens_of(text or "")
                if any(token.kind == ">" for token in found):
                    message = f"the parameter entity {name} ends a declaration that it does not begin"
                    raise MalformedError(message, place.offset)
                entity.tokens = found
            self._expand(entity.tokens, expanded, place.source, place.offset)

    def _entity_value(self, text: str, place: Place) -> str:
        """The replacement text of an entity: character references and parameter entities stand for what they mean."""

        def replaced(found: re.Match[str]) -> str:
            hexadecimal, decimal, name, sign = found.groups()
            if name:
                return self._value_of_parameter(name, place)
            if sign == "%":
                raise MalformedError("a % in the value of an entity begins no reference: write &#37;", place.offset)
            return sign or _character(hexadecimal, decimal, place.offset)

        return _IN_VALUE.sub(replaced, text)

    def _value_of_parameter(self, name: str, place: Place) -> str:
        entity = self._parameters.get(name)
        if entity is None:
            raise MalformedError(f"the parameter entity '{name}' not defined", place.offset)
        with self._opened(entity, place):
            text = self._text(entity) or ""
            self.files.spending.reference(len(text))
            return self._entity_value(text, place)

    def _default(self, text: str, place: Place) -> str:
        """The value of an attribute that a literal means (section 3.3.3), its white space as spaces."""

        def replaced(found: re.Match[str]) -> str:
            hexadecimal, decimal, name, sign = found.groups()
            if sign:
                raise MalformedError(f"a {sign} cannot stand in the value of an attribute", place.offset)
            return self._value_of_general(name, place) if name else _character(hexadecimal, decimal, place.offset)

        return _IN_DEFAULT.sub(replaced, _WHITE.sub(" ", text))

    def _value_of_general(self, name: str, place: Place) -> str:
        if name in _PREDEFINED:
            return _PREDEFINED[name]
        if name not in self._general:
            raise MalformedError(f"the entity '{name}' not defined", place.offset)
        text = self._general[name]
        if text is None:
            raise MalformedError(f"the entity {name} is external, and cannot stand in a value", place.offset)
        with self._inside(f"&{name};", f"the entity {name} refers to itself", place):
            self.files.spending.reference(len(text))
            return self._default(text, place)


def _resumed(text: str, at: int, error: MalformedError) -> int:
    """Where parsing goes on behind what begins ``at`` an offset and is malformed."""
    if error.resume is not None:
        return error.resume
    if text.startswith("<![", at):
        end = text.find("]]>", at)
        return end + len("]]>") if end >= 0 else len(text)
    is_markup = text.startswith("<", at)
    found = (_NEXT_MARKUP if is_markup else _NEXT).search(text, max(error.offset, at + 1))
    if found is None:
        return len(text)
    return found.end() if is_markup and found[1] else found.start()


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _end_of_comment(text: str, at: int) -> int:
    hyphens = text.find("--", at + len("<!--"))
    if hyphens < 0:
        raise MalformedError("a comment is not closed: expected '-->'", len(text))
    if not text.startswith(">", hyphens + 2):
        closed = text.find("-->", hyphens)
        raise MalformedError("a comment holds a double hyphen", hyphens, closed if closed >= 0 else len(text))
    return hyphens + len("-->")


def _end_of_instruction(text: str, at: int) -> int:
    target = _INSTRUCTION.match(text, at)
    if target is None or not is_name(target[1]):
        raise MalformedError("expected the target of a processing instruction", at)
    if target[1].lower() == "xml":
        raise MalformedError("a text declaration, <?xml ...?>, stands only where a file begins", at)
    end = text.find("?>", at + len("<?"))
    if end < 0:
        raise MalformedError("a processing instruction is not closed: expected '?>'", len(text))
    return end + len("?>")


def _character(hexadecimal: str | None, decimal: str | None, offset: int) -> str:
    digits = (hexadecimal or decimal or "").lstrip("0")[:9] or "0"
    number = int(digits, 16 if hexadecimal else 10)
    if number > 0x10FFFF or illegal_character(chr(number)) is not None:
        raise MalformedError("a character reference means no character of XML", offset)
    return chr(number)
