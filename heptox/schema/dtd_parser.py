"""Parsing DTDs with parameter entities, modules and conditional sections (XML 1.0, fifth edition, 2.8, 3.2 to 4.7).

What is malformed is told, and parsing goes on behind it, so that one run tells all that is wrong.
"""

from __future__ import annotations

import re
from typing import Final

from heptox.errors import SchemaError
from heptox.schema.catalogues import ExternalIdentifier
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
    DtdLimitError,
    Files,
    ParameterEntity,
    Place,
    Source,
    tokens_of,
)
from heptox.schema.dtd_expansion import EnoughError, Entities, Faults
from heptox.schema.model import AttributeType

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_REFERENCE: Final = re.compile(r"%([^ \t\r\n%&;<>\"']+);")
_KEYWORD: Final = re.compile(r"<!([A-Za-z]*)")
_INSTRUCTION: Final = re.compile(r"<\?([^ \t\r\n?]+)[ \t\r\n]?")
_BRACKETS: Final = re.compile(r"<!\[|\]\]>")
_NEXT: Final = re.compile(r"<[!?]|%[^ \t\r\n%&;<>\"']+;|\]\]>")
_NEXT_MARKUP: Final = re.compile(r"<[!?]|\]\]>|(>)")


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
        parser.faults.check_characters(source)
        parser.parse_file(source, Place(source, source.start))
        parser.finish()
    except DtdLimitError as error:
        place = parser.at or Place(source, 0)
        parser.faults.found.append(place.source.fault("HX2014", str(error), place.offset))
    except EnoughError:
        pass
    faults = parser.faults.found
    if faults:
        # without a part of its text nothing else is sure
        raise SchemaError([fault for fault in faults if fault.code == "HX2002"] or faults)
    return parser.found


class _Parser:
    """Reads texts one after the other, as they refer to each other."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self.found = Declarations()
        self.faults = Faults()
        self.at: Place | None = None
        self._entities = Entities(files, self.faults)
        self._notation_uses: list[tuple[Place, str, str]] = []

    def finish(self) -> None:
        """Tell what only all declarations together show."""
        self.found.is_modular = self.found.is_modular or self._entities.is_modular
        for place, notation, what in self._notation_uses:
            if notation not in self.found.notations:
                self.faults.tell(f"{what} has the notation {notation}, which is not declared", place)

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
                self.faults.tell(error.message, Place(source, error.offset))
                at = _resumed(text, at, error)
        if sections:
            self.faults.tell("a conditional section is not closed: expected ']]>'", Place(source, len(text)))

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
        reader = TokenReader(self._entities.expanded(source, tokens_of(text, keyword.end(), ends="><")))
        return read(self, reader, Place(source, at))

    def _section(self, source: Source, at: int) -> tuple[int, bool]:
        """Where the content of a conditional section begins, or where it ends if it does not count."""
        self.found.is_modular = True
        reader = TokenReader(self._entities.expanded(source, tokens_of(source.text, at + len("<!["), ends="[")))
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
            self.faults.tell(message, Place(place.source, end))
        if element.name in self.found.elements:
            self.faults.tell(f"Redefinition of element {element.name}", Place(place.source, end))
        else:
            self.found.elements[element.name] = element
        return end

    def _attributes(self, reader: TokenReader, place: Place) -> int:
        element = reader.name("the name of an element type", spaced=True).value
        known = self.found.attributes.setdefault(element, {})
        source = place.source
        while reader.peek().kind != ">":
            attribute = read_attribute(reader, source, self._entities.default)
            behind = Place(source, reader.peek().offset)
            for message in inconsistencies(attribute, element):
                self.faults.tell(message, behind)
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
            self.faults.tell(f"{element} has a second {kind} attribute, {attribute.name}, besides {other}", place)

    def _entity(self, reader: TokenReader, place: Place) -> int:
        is_parameter = reader.peek().kind == "%" and reader.next().spaced
        name = reader.name("the name of an entity", spaced=True).value
        if ":" in name:
            raise MalformedError(f"the name of an entity has no colon, as {name} has", reader.peek().offset)
        if reader.peek().kind == "literal":
            literal = reader.expect("literal", "a value in quotes", spaced=True)
            value = self._entities.value(literal.value[1:-1], Place(place.source, literal.offset))
            end = reader.end()
            if is_parameter:
                self._entities.parameters.setdefault(name, ParameterEntity(name, place, value))
            else:
                self._entities.general.setdefault(name, value)
            return end
        public, system = read_identifiers(reader, needs_system=True)
        notation = None
        if not is_parameter and reader.peek().value == "NDATA":
            reader.next()
            notation = reader.name("the name of a notation", spaced=True).value
        end = reader.end()
        if is_parameter:
            identifier = ExternalIdentifier(system or "", public, place.source.path)
            self._entities.parameters.setdefault(name, ParameterEntity(name, place, external=identifier))
        elif name not in self._entities.general:
            self._entities.general[name] = None
            if notation is not None:
                self.found.unparsed[name] = ExternalDeclaration(name, public, system, notation)
                self._notation_uses.append((place, notation, f"the entity {name}"))
        return end

    def _notation(self, reader: TokenReader, place: Place) -> int:
        name = reader.name("the name of a notation", spaced=True).value
        public, system = read_identifiers(reader, needs_system=False)
        end = reader.end()
        if name in self.found.notations:
            self.faults.tell(f"Redefinition of the notation {name}", Place(place.source, end))
        self.found.notations.setdefault(name, ExternalDeclaration(name, public, system))
        return end

    _readers: Final = {"ELEMENT": _element, "ATTLIST": _attributes, "ENTITY": _entity, "NOTATION": _notation}

    # -- entities ------------------------------------------------------------------------------------------------

    def _include(self, name: str, place: Place, end: int) -> None:
        """Parse the declarations that a parameter entity stands for."""
        entity = self._entities.parameters.get(name)
        if entity is None:
            self.faults.tell(f"the parameter entity '{name}' not defined", Place(place.source, end))
            return
        with self._entities.opened(entity, place):
            text = self._entities.text(entity)
            if text is None:
                return
            self.files.spending.reference(len(text))
            if entity.source is not None:
                self.parse_file(entity.source, place)
            else:
                self.parse(Source(text, place.source.file, place.source.path, place))

    def parse_file(self, source: Source, place: Place) -> None:
        """Parse a file that is referred to at a place."""
        name = str(source.path.resolve() if source.path else source.file)
        with self._entities.inside(name, f"the file {source.file} includes itself", place):
            self.parse(source)


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
