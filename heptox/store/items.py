"""Items of an answer, and what constructors make of them, whichever engine finds the nodes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from typing import Generic, Protocol, TypeAlias, TypeVar

from heptox.errors import Fault, StoreError
from heptox.grammar import syntax
from heptox.pattern import CASTS, Numeric, Type, literal
from heptox.store.allowance import MemoryUse, Share
from heptox.store.text import (
    attribute_item,
    escaped_attribute,
    escaped_text,
    number_item,
    number_string,
    string_item,
)
from heptox.store.written_names import shown_name


class ElementItem(Protocol):
    """An element, of a document or constructed."""

    @property
    def xml(self) -> str:
        """The element as XML text."""

    @property
    def text(self) -> str:
        """The string value of the element."""


@dataclass(frozen=True, slots=True)
class Constructed:
    """A constructed element: its XML text and its string value."""

    xml: str
    text: str


@dataclass(frozen=True, slots=True)
class AttributeItem:
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class TextItem:
    value: str


@dataclass(frozen=True, slots=True)
class NumberItem:
    value: Numeric


@dataclass(frozen=True, slots=True)
class ComputedItem:
    """A value that is no string, as it is written in a constructor, and as an item of its own."""

    value: str
    item: str


Found: TypeAlias = (
    syntax.Flwor | syntax.PathExpression | syntax.Data | syntax.TagValue | syntax.NodeIdentity | syntax.Function
)
"""Expressions whose items come from documents."""
Item: TypeAlias = str | NumberItem | ComputedItem | ElementItem | AttributeItem | TextItem
"""A ``str`` is an atomic value, untyped or a string."""

Environment = TypeVar("Environment")
"""What an engine knows where an expression is evaluated: the values of its variables."""


class Construction(ABC, Generic[Environment]):
    """Evaluates constructors and literals; how paths and ``for`` find nodes is an engine's own."""

    def __init__(self, held: MemoryUse) -> None:
        self._held = held

    @abstractmethod
    def found(self, expression: Found, environment: Environment) -> Iterator[Item]:
        """The items of an expression that looks for nodes."""

    def items(self, expression: syntax.Expression, environment: Environment) -> Iterator[Item]:
        """The items of any expression."""
        match expression:
            case syntax.Sequence(items):
                for item in items:
                    yield from self.items(item, environment)
            case syntax.ElementConstructor():
                yield self._element(expression, environment)
            case syntax.AttributeConstructor(name, value):
                yield AttributeItem(name, self._joined(value, environment) or "")
            case syntax.TextConstructor(value):
                joined = self._joined(value, environment)
                if joined is not None:
                    yield TextItem(joined)
            case syntax.NumberLiteral(lexical):
                yield NumberItem(literal(lexical))
            case syntax.StringLiteral(value):
                yield value
            case _:
                yield from self.found(expression, environment)

    def serialised(self, item: Item) -> str:
        """An item by the ``adaptive`` method."""
        match item:
            case AttributeItem(name, value):
                return attribute_item(shown_name(name), value)
            case str():
                return string_item(item)
            case NumberItem(value):
                return number_item(value)
            case ComputedItem(item=written):
                return written
            case _:
                return _copied(item)

    def _element(self, element: syntax.ElementConstructor, environment: Environment) -> Constructed:
        attributes: dict[str, str] = {}
        xml, text = StringIO(newline=""), StringIO(newline="")
        with self._held.share(element) as share:
            for attribute in element.attributes:
                parts = (
                    part if isinstance(part, str) else self._joined(part, environment) or "" for part in attribute.parts
                )
                attributes[attribute.name] = "".join(map(share.write, parts))
            for part in element.content:
                if isinstance(part, str):
                    xml.write(share.write(escaped_text(part)))
                    text.write(part)
                else:
                    self._add_content(part, environment, attributes, xml, text, share)
        start = element.name + "".join(f' {name}="{escaped_attribute(value)}"' for name, value in attributes.items())
        content = xml.getvalue()
        return Constructed(f"<{start}>{content}</{element.name}>" if content else f"<{start}/>", text.getvalue())

    def _add_content(
        self,
        part: syntax.Expression,
        environment: Environment,
        attributes: dict[str, str],
        xml: StringIO,
        text: StringIO,
        share: Share,
    ) -> None:
        """Copy the items of one enclosed expression: neighbouring atomic values are joined by a space."""
        after_atom = False
        for item in self.items(part, environment):
            is_atom = isinstance(item, str | NumberItem | ComputedItem)
            if is_atom and after_atom:
                xml.write(share.write(" "))
                text.write(" ")
            after_atom = is_atom
            if not isinstance(item, AttributeItem):
                xml.write(share.write(_copied(item)))
                text.write(string_value(item))
            elif xml.tell():
                raise error("HX6005", f"attribute {item.name} comes after content", part, "put it first")
            elif item.name in attributes:
                raise error("HX6005", f"attribute {item.name} comes twice", part)
            else:
                attributes[item.name] = share.write(item.value)

    def _joined(self, expression: syntax.Expression, environment: Environment) -> str | None:
        """The string values of the items of an expression, joined by spaces; ``None`` when there is no item."""
        joined = StringIO(newline="")
        empty = True
        with self._held.share(expression) as share:
            for item in self.items(expression, environment):
                joined.write(share.write(string_value(item) if empty else f" {string_value(item)}"))
                empty = False
            return None if empty else joined.getvalue()


def computed(value: str, kind: Type) -> Item:
    """The item that a function gives."""
    if kind is Type.STRING:
        return value
    if kind.is_numeric:
        return NumberItem(literal(value))
    written = f"{value}()" if kind is Type.BOOLEAN else f'{CASTS[kind].name}("{value}")'
    return ComputedItem(value, written)


def string_value(item: Item) -> str:
    """The string value of an item."""
    match item:
        case str():
            return item
        case NumberItem(value):
            return number_string(value)
        case AttributeItem(value=value) | TextItem(value) | ComputedItem(value):
            return value
        case _:
            return item.text


def _copied(item: Item) -> str:
    """An item that is no attribute as content of an element."""
    match item:
        case str() | NumberItem() | ComputedItem() | TextItem() | AttributeItem():
            return escaped_text(string_value(item))
        case _:
            return item.xml


def error(code: str, message: str, node: syntax.Node | syntax.Expression, hint: str | None = None) -> StoreError:
    """An error of evaluation, at the construct of the query that it is about."""
    return StoreError(Fault(code, message, node.position, hint=hint))
