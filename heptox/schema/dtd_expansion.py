"""What entities of a DTD stand for, wherever they are referred to (XML 1.0, fifth edition, sections 4.4 and 4.5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from heptox.errors import Fault, HeptoxError
from heptox.schema.dtd_declarations import MalformedError
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

MOST_FAULTS: Final = 100
"""Faults of one DTD that are told at most."""

_IN_VALUE: Final = re.compile(
    r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));|%([^ \t\r\n%&;<>\"']+);|(&[^ \t\r\n%&;<>\"'#]+;)|([&%])"
)
_IN_DEFAULT: Final = re.compile(r"&#(?:x([0-9A-Fa-f]+)|([0-9]+));|&([^ \t\r\n%&;<>\"'#]+);|([&<])")
_WHITE: Final = re.compile("[\t\r\n]")
_PREDEFINED: Final = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}


class EnoughError(Exception):
    """There are as many faults as are told."""


class Faults:
    """What is wrong with a DTD; raises :class:`EnoughError` beyond :data:`MOST_FAULTS`."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def tell(self, message: str, place: Place) -> None:
        """Add that the text at a place is malformed or inconsistent."""
        self.add(place.source.fault("HX2001", message, place.offset))

    def add(self, fault: Fault) -> None:
        self.found.append(fault)
        if len(self.found) >= MOST_FAULTS:
            raise EnoughError

    def check_characters(self, source: Source) -> None:
        """Tell the first character of a text that XML cannot hold."""
        if (found := illegal_character(source.text)) is not None:
            self.tell(f"the character {found[1]} cannot stand in XML", Place(source, found[0]))


class Entities:
    """The entities of a DTD as far as it has been read, and what is open of them inside each other.

    ``general`` has the replacement texts of general entities, ``None`` for external ones. ``is_modular``: an external
    parameter entity has been read. Places are those of references. Where what is referred to is no good,
    :class:`MalformedError` is raised; beyond a limit, :class:`DtdLimitError`.
    """

    def __init__(self, files: Files, faults: Faults) -> None:
        self.files = files
        self.faults = faults
        self.parameters: dict[str, ParameterEntity] = {}
        self.general: dict[str, str | None] = dict(_PREDEFINED)
        self.is_modular = False
        self._open: list[str] = []

    @contextmanager
    def opened(self, entity: ParameterEntity, place: Place) -> Iterator[None]:
        with self.inside(f"%{entity.name};", f"the parameter entity {entity.name} refers to itself", place):
            yield

    @contextmanager
    def inside(self, name: str, message: str, place: Place) -> Iterator[None]:
        if name in self._open:
            raise MalformedError(message, place.offset)
        if len(self._open) == MOST_NESTED:
            raise DtdLimitError(f"more than {MOST_NESTED} parameter entities are open inside each other")
        self._open.append(name)
        try:
            yield
        finally:
            self._open.pop()

    def text(self, entity: ParameterEntity) -> str | None:
        """What a parameter entity stands for, ``None`` where that cannot be read."""
        if entity.text is None and entity.external is not None:
            entity.text = ""
            self.is_modular = True
            try:
                entity.source = self.files.read(f"the parameter entity {entity.name}", entity.external, entity.declared)
            except HeptoxError as error:
                if error.faults[0].code != "HX2002":
                    raise
                self.faults.add(error.faults[0])
                return None
            self.faults.check_characters(entity.source)
            entity.text = entity.source.text[entity.source.start :]
        return entity.text

    def expanded(self, source: Source, found: list[Token]) -> list[Token]:
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
        entity = self.parameters.get(name)
        if entity is None:
            end = place.offset + (len(name) + 2 if at is None else 0)
            raise MalformedError(f"the parameter entity '{name}' not defined", end)
        with self.opened(entity, place):
            text = self.text(entity)
            self.files.spending.reference(len(text or ""))
            if entity.tokens is None:
                found = tokens_of(text or "")
                if any(token.kind == ">" for token in found):
                    message = f"the parameter entity {name} ends a declaration that it does not begin"
                    raise MalformedError(message, place.offset)
                entity.tokens = found
            self._expand(entity.tokens, expanded, place.source, place.offset)

    def value(self, text: str, place: Place) -> str:
        """The replacement text of an entity: character references and parameter entities stand for what they mean."""

        def replaced(found: re.Match[str]) -> str:
            hexadecimal, decimal, name, general, sign = found.groups()
            if name:
                return self._value_of_parameter(name, place)
            if sign:
                message = f"a {sign} in the value of an entity begins no reference: write &#{ord(sign)};"
                raise MalformedError(message, place.offset)
            return general or _character(hexadecimal, decimal, place.offset)

        return _IN_VALUE.sub(replaced, text)

    def _value_of_parameter(self, name: str, place: Place) -> str:
        entity = self.parameters.get(name)
        if entity is None:
            raise MalformedError(f"the parameter entity '{name}' not defined", place.offset)
        with self.opened(entity, place):
            text = self.text(entity) or ""
            self.files.spending.reference(len(text))
            return self.value(text, place)

    def default(self, text: str, place: Place) -> str:
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
        if name not in self.general:
            raise MalformedError(f"the entity '{name}' not defined", place.offset)
        text = self.general[name]
        if text is None:
            raise MalformedError(f"the entity {name} is external, and cannot stand in a value", place.offset)
        with self.inside(f"&{name};", f"the entity {name} refers to itself", place):
            self.files.spending.reference(len(text))
            return self.default(text, place)


def _character(hexadecimal: str | None, decimal: str | None, offset: int) -> str:
    digits = (hexadecimal or decimal or "").lstrip("0")[:9] or "0"
    number = int(digits, 16 if hexadecimal else 10)
    if number > 0x10FFFF or illegal_character(chr(number)) is not None:
        raise MalformedError("a character reference means no character of XML", offset)
    return chr(number)
