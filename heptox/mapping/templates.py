"""What the elements of an image look like: templates over the columns of its nodes (see :mod:`heptox.mapping.image`).

A template is a sequence of pieces of text, each an expression of SQL, and between them the slots where the nodes of the
next stop nodes stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from heptox.mapping.model import Rule
from heptox.pattern import TAG
from heptox.schema import TEXT, Box, Path, SchemaTree
from heptox.store import statements as sql
from heptox.xml import IN_TEXT, IN_VALUE


@dataclass(frozen=True, slots=True)
class Shape:
    """What rules make at a stop node of the target: all leaves, and which of them are copied whole."""

    node: Path
    leaves: tuple[Path, ...]
    copied: frozenset[Path]

    @property
    def is_boxed(self) -> bool:
        return (TAG,) in self.leaves


def shapes(rules: Iterable[Rule]) -> dict[Path, Shape]:
    """The shapes of all stop nodes that rules make, outer ones first."""
    leaves: dict[Path, dict[Path, None]] = {(): {}}
    copied: dict[Path, set[Path]] = {}
    for rule in rules:
        for node in rule.head:
            leaves.setdefault(node.node, {}).update(dict.fromkeys(node.paths))
            copied.setdefault(node.node, set()).update(node.copied)
    found = (Shape(node, tuple(leaves[node]), frozenset(copied.get(node, ()))) for node in leaves)
    return {shape.node: shape for shape in sorted(found, key=lambda shape: len(shape.node))}


@dataclass(frozen=True, slots=True)
class Slot:
    """Where the nodes at the stop node ``node`` stand; of a box, those with the tag ``member``, or all others."""

    node: Path
    member: str | None = None


Piece: TypeAlias = str
Token: TypeAlias = Piece | Slot


@dataclass(frozen=True, slots=True)
class Columns:
    """How the columns of a shape's nodes are called in expressions: ``v0`` and so on the values of its leaves.

    ``b0`` and ``w0`` are the text of a copied subtree behind its name, and whether its name stands at its end too;
    ``h`` says whether nodes stand below, by their stop nodes; ``name`` is the tag of a node in a box.
    """

    shape: Shape
    below: Sequence[Path]

    def value(self, leaf: Path) -> str:
        return f"v{self.shape.leaves.index(leaf)}"

    def has(self, node: Path) -> str:
        return f"h{self.below.index(node)}"


def tokens(tree: SchemaTree, made: Mapping[Path, Shape], columns: Columns) -> tuple[Token, ...]:
    """The template of the nodes of a shape: pieces and slots by turns, in the order of the target schema."""
    shape = columns.shape
    ends = {node + path for node, each in made.items() for path in ((), *each.leaves)}
    writer = _Writer(tree, columns, {end[:length] for end in ends for length in range(len(end) + 1)})
    name = "name" if shape.is_boxed else sql.print_string(shape.node[-1] if shape.node else tree.root)
    if () in shape.copied:
        writer.copy(name, ())
        writer.element(name, (), f"{columns.value(())} IS NULL")
    else:
        writer.element(name, (), None)
    return writer.tokens()


@dataclass
class _Writer:
    """Writes templates. A guard is a condition of SQL, under which what it guards is written."""

    tree: SchemaTree
    columns: Columns
    made: set[Path]
    _tokens: list[list[tuple[str | None, str]] | Slot] = field(default_factory=list)

    def tokens(self) -> tuple[Token, ...]:
        return tuple(token if isinstance(token, Slot) else _expression(token) for token in self._tokens)

    def element(self, name: str, below: Path, guard: str | None) -> None:
        """An element with what stands in it, at the path ``below`` the node."""
        self._write(guard, "'<'", name)
        for attribute in self.tree.element((*self.columns.shape.node, *below)).attributes:
            leaf = (*below, f"@{attribute.name}")
            if leaf in self.columns.shape.leaves:
                value = self.columns.value(leaf)
                opening = sql.print_string(f' {attribute.name}="')
                self._write(_both(guard, f"{value} IS NOT NULL"), opening, escaped_attribute(value), "'\"'")
        content = self._content(below)
        if content is None:
            self._write(guard, "'/>'")
            return
        self._write(guard, f"CASE WHEN {content} THEN '>' ELSE '/>' END")
        for text in self._texts(below):
            self._write(_both(guard, f"{text} IS NOT NULL"), escaped_text(text))
        self._children(below)
        self._write(_both(guard, content), "'</'", name, "'>'")

    def copy(self, name: str, leaf: Path) -> None:
        """A subtree that is copied under a name; nothing where it is not there."""
        value = self.columns.value(leaf)
        body, named = value.replace("v", "b"), value.replace("v", "w")
        self._write(f"{value} IS NOT NULL", "'<'", name, body, f"CASE WHEN {named} THEN concat({name}, '>') END")

    def _write(self, guard: str | None, *parts: str) -> None:
        if not self._tokens or isinstance(self._tokens[-1], Slot):
            self._tokens.append([])
        piece = self._tokens[-1]
        assert isinstance(piece, list)
        piece += ((guard, part) for part in parts)

    def _texts(self, below: Path) -> list[str]:
        """The columns of an element's own text."""
        shape = self.columns.shape
        leaves = [leaf for leaf in ((*below, TEXT), *([()] if not below else [])) if leaf in shape.leaves]
        return [self.columns.value(leaf) for leaf in leaves if leaf not in shape.copied]

    def _children(self, below: Path) -> None:
        node = self.columns.shape.node
        for child in self._below(below):
            if isinstance(child, Slot):
                self._tokens.append(child)
            elif child in self.columns.shape.copied:
                self.copy(sql.print_string(child[-1]), child)
            elif child in self.columns.shape.leaves:
                value, name = self.columns.value(child), child[-1]
                opening, empty = sql.print_string(f"<{name}>"), sql.print_string(f"<{name}/>")
                self._write(f"{value} IS NOT NULL", f"CASE {value} WHEN '' THEN {empty} ELSE {opening} END")
                self._write(None, escaped_text(value))
                self._write(f"{value} <> ''", sql.print_string(f"</{name}>"))
            elif not self.tree.is_leaf((*node, *child)):
                self.element(sql.print_string(child[-1]), child, self._exists(child))

    def _below(self, below: Path) -> list[Path | Slot]:
        """What can stand in an element, in order: slots, and the paths of elements that stand once."""
        path = (*self.columns.shape.node, *below)
        declared = [child.name for child in self.tree.element(path).children]
        found: list[Path | Slot] = []
        for place, name in enumerate(declared):
            box = self._box((*path, name))
            if box is not None:
                if box.path in self.columns.below:
                    found.append(Slot(box.path, name))
                    if not any(member in declared[place + 1 :] for member in box.members):
                        found.append(Slot(box.path))
            elif (*path, name) in self.made:
                if not self.tree.is_stop((*path, name)):
                    found.append((*below, name))
                elif (*path, name) in self.columns.below:
                    found.append(Slot((*path, name)))
        return found

    def _box(self, path: Path) -> Box | None:
        return next((box for box in self.tree.boxes if box.parent == path[:-1] and path[-1] in box.members), None)

    def _content(self, below: Path) -> str | None:
        """Whether an element has text or children; ``None`` when it never has."""
        found = [f"coalesce({text} <> '', FALSE)" for text in self._texts(below)]
        for child in self._below(below):
            if isinstance(child, Slot):
                found.append(self.columns.has(child.node))
            elif (condition := self._exists(child)) is not None:
                found.append(condition)
        return _any(found)

    def _exists(self, below: Path) -> str | None:
        """Whether an element that stands once is there: something at it, or below it, has a value."""
        leaves = [leaf for leaf in self.columns.shape.leaves if leaf[: len(below)] == below]
        node = (*self.columns.shape.node, *below)
        slots = [each for each in self.columns.below if each[: len(node)] == node]
        found = [f"{self.columns.value(leaf)} IS NOT NULL" for leaf in leaves]
        return _any([*found, *(self.columns.has(slot) for slot in slots)])


def _any(conditions: Sequence[str]) -> str | None:
    return f"({' OR '.join(dict.fromkeys(conditions))})" if conditions else None


def _both(one: str | None, other: str) -> str:
    return other if one is None else f"{one} AND {other}"


def _expression(parts: Sequence[tuple[str | None, str]]) -> str:
    """All parts, one after the other, without those that are null. One call makes one copy of each text."""
    texts = [text if guard is None else f"CASE WHEN {guard} THEN {text} END" for guard, text in parts]
    return f"concat({', '.join(texts)})"


def escaped_text(value: str) -> str:
    """The expression of SQL for an expression's value as text of an element, as :mod:`heptox.xml` writes it."""
    return _escaped(value, IN_TEXT)


def escaped_attribute(value: str) -> str:
    """As :func:`escaped_text` for the value of an attribute between double quotes."""
    return _escaped(value, IN_VALUE)


def _escaped(value: str, escapes: Mapping[str, str]) -> str:
    """Looking for characters takes a tenth of the time of replacing them, and few values have any."""
    found = " OR ".join(f"contains({value}, {_character(character)})" for character in escapes)
    replaced = value
    for character, escape in escapes.items():
        replaced = f"replace({replaced}, {_character(character)}, '{escape}')"
    return f"CASE WHEN {found} THEN {replaced} ELSE {value} END"


def _character(character: str) -> str:
    return f"'{character}'" if character.isprintable() else f"chr({ord(character)})"
