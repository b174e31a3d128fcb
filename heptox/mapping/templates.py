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
from heptox.schema import TEXT, Box, Path, SchemaTree, plain, split_selection
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


Token: TypeAlias = sql.Expression | Slot


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a shape's nodes, in the source ``n``: ``v0`` and so on are the values of its leaves.

    ``b0`` and ``w0`` are the text of a copied subtree behind its name, and whether its name stands at its end too;
    ``h`` says whether nodes stand below, by their stop nodes; ``name`` is the tag of a node in a box.
    """

    shape: Shape
    below: Sequence[Path]

    def of(self, leaf: Path, kind: str = "v") -> sql.Column:
        return sql.Column("n", f"{kind}{self.shape.leaves.index(leaf)}")

    def has(self, node: Path) -> sql.Column:
        return sql.Column("n", f"h{self.below.index(node)}")


def tokens(tree: SchemaTree, made: Mapping[Path, Shape], columns: Columns, declared: str) -> tuple[Token, ...]:
    """The template of the nodes of a shape: pieces and slots by turns, in the order of the target schema.

    The root has the declarations ``declared``.
    """
    shape = columns.shape
    ends = {node + path for node, each in made.items() for path in ((), *each.leaves)}
    writer = _Writer(
        tree, columns, "" if shape.node else declared, {end[:length] for end in ends for length in range(len(end) + 1)}
    )
    name = sql.Column("n", "name") if shape.is_boxed else sql.String(plain(shape.node)[-1] if shape.node else tree.root)
    if () in shape.copied:
        writer.copy(name, ())
        writer.element(name, (), (sql.Fails(sql.NotNull(columns.of(()))),))
    else:
        writer.element(name, (), ())
    return writer.tokens()


_Guard: TypeAlias = tuple[sql.Condition, ...]
"""Conditions under all of which what is guarded is written."""


@dataclass
class _Writer:
    """Writes templates."""

    tree: SchemaTree
    columns: Columns
    declared: str
    made: set[Path]
    _tokens: list[list[sql.Expression] | Slot] = field(default_factory=list)

    def tokens(self) -> tuple[Token, ...]:
        """The tokens written; a null in a piece adds nothing to it."""
        return tuple(token if isinstance(token, Slot) else sql.Call("concat", tuple(token)) for token in self._tokens)

    def element(self, name: sql.Expression, below: Path, guard: _Guard) -> None:
        """An element with what stands in it, at the path ``below`` the node."""
        self._write(guard, "<", name, *([self.declared] if self.declared and not below else []))
        for attribute in self.tree.element((*self.columns.shape.node, *below)).attributes:
            leaf = (*below, f"@{attribute.name}")
            if leaf in self.columns.shape.leaves:
                value = self.columns.of(leaf)
                opening = f' {attribute.name}="'
                self._write((*guard, sql.NotNull(value)), opening, _escaped(value, IN_VALUE), '"')
        found = self._content(below)
        if not found:
            self._write(guard, "/>")
            return
        content = sql.Some(found)
        self._write(guard, sql.Case(content, sql.String(">"), sql.String("/>")))
        for text in self._texts(below):
            self._write((*guard, sql.NotNull(text)), _escaped(text, IN_TEXT))
        self._children(below)
        self._write((*guard, content), "</", name, ">")

    def copy(self, name: sql.Expression, leaf: Path) -> None:
        """A subtree that is copied under a name; nothing where it is not there."""
        end = sql.Case(self.columns.of(leaf, "w"), sql.Call("concat", (name, sql.String(">"))))
        self._write(
            (sql.NotNull(self.columns.of(leaf)),),
            "<",
            name,
            "" if leaf else self.declared,
            self.columns.of(leaf, "b"),
            end,
        )

    def _write(self, guard: _Guard, *parts: str | sql.Expression) -> None:
        if not self._tokens or isinstance(self._tokens[-1], Slot):
            self._tokens.append([])
        piece = self._tokens[-1]
        assert isinstance(piece, list)
        texts = (sql.String(part) if isinstance(part, str) else part for part in parts)
        piece += (sql.Case(sql.All(guard), text) if guard else text for text in texts)

    def _texts(self, below: Path) -> list[sql.Column]:
        """The columns of an element's own text."""
        shape = self.columns.shape
        leaves = [leaf for leaf in ((*below, TEXT), *([()] if not below else [])) if leaf in shape.leaves]
        return [self.columns.of(leaf) for leaf in leaves if leaf not in shape.copied]

    def _children(self, below: Path) -> None:
        node = self.columns.shape.node
        for child in self._below(below):
            if isinstance(child, Slot):
                self._tokens.append(child)
            elif child in self.columns.shape.copied:
                self.copy(sql.String(child[-1]), child)
            elif child in self.columns.shape.leaves:
                value, name = self.columns.of(child), child[-1]
                empty = sql.Compare("=", value, sql.String(""))
                opening = sql.Case(empty, sql.String(f"<{name}/>"), sql.String(f"<{name}>"))
                self._write((sql.NotNull(value),), opening)
                self._write((), _escaped(value, IN_TEXT))
                self._write((sql.Compare("!=", value, sql.String("")),), f"</{name}>")
            elif not self.tree.is_leaf((*node, *child)):
                self.element(sql.String(child[-1]), child, (sql.Some(self._exists(child)),))

    def _below(self, below: Path) -> list[Path | Slot]:
        """What can stand in an element, in order: slots, and the paths of elements that stand once."""
        path = (*self.columns.shape.node, *below)
        declared = [child.name for child in self.tree.element(path).children]
        found: list[Path | Slot] = []
        for place, name in enumerate(declared):
            box = self._box((*path, name))
            if box is not None:
                if (node := (*path, box.step)) in self.columns.below:
                    found.append(Slot(node, name))
                    if not any(member in declared[place + 1 :] for member in box.members):
                        found.append(Slot(node))
            elif (*path, name) in self.made and not self.tree.is_stop((*path, name)):
                found.append((*below, name))
            else:
                found += [Slot(node) for node in self.columns.below if _beside(node) == (*path, name)]
        return found

    def _box(self, path: Path) -> Box | None:
        above, name = plain(path[:-1]), path[-1]
        return next((box for box in self.tree.boxes if box.parent == above and name in box.members), None)

    def _content(self, below: Path) -> _Guard:
        """The conditions of which one holds where an element has text or children."""
        found: list[sql.Condition] = [sql.Compare("!=", text, sql.String("")) for text in self._texts(below)]
        for child in self._below(below):
            found += (self.columns.has(child.node),) if isinstance(child, Slot) else self._exists(child)
        return tuple(dict.fromkeys(found))

    def _exists(self, below: Path) -> _Guard:
        """The conditions of which one holds where an element that stands once is there: something at it, or below it,
        has a value.
        """
        leaves = [leaf for leaf in self.columns.shape.leaves if leaf[: len(below)] == below]
        node = (*self.columns.shape.node, *below)
        slots = [each for each in self.columns.below if each[: len(node)] == node]
        return *(sql.NotNull(self.columns.of(leaf)) for leaf in leaves), *map(self.columns.has, slots)


def _beside(node: Path) -> Path:
    """The path of a node without its own conditions."""
    return (*node[:-1], split_selection(node[-1])[0])


def _escaped(value: sql.Expression, escapes: Mapping[str, str]) -> sql.Expression:
    """A value as :mod:`heptox.xml` writes it.

    Looking for characters takes a tenth of the time of replacing them, and few values have any.
    """
    found = [sql.Call("contains", (value, sql.String(character))) for character in escapes]
    replaced = value
    for character, escape in escapes.items():
        replaced = sql.Call("replace", (replaced, sql.String(character), sql.String(escape)))
    return sql.Case(sql.Some(tuple(found)), replaced, value)
