"""Where a path of a query leads: a node of the schema tree below a variable, and the value that the node has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from heptox.errors import Fault, GrammarError, Position
from heptox.pattern import TAG, Term, Text
from heptox.schema import ANYWHERE, TEXT, Path, SchemaTree
from heptox.xml import split_name, unescaped_name


@dataclass(frozen=True, slots=True)
class Location:
    """A node of the schema tree, ``path`` below that of a variable; ``text`` for the text node of an element that has a
    value, ``document`` for the document above the root's variable.
    """

    variable: str
    node: Path = ()
    path: Path = ()
    text: bool = False
    document: bool = False

    @property
    def absolute(self) -> Path:
        """The path of the node from the root of the schema."""
        return (*self.node, *self.path)

    @property
    def term(self) -> Term:
        """The node as a term of a pattern."""
        return Term(self.variable, self.path)


def refuse(code: str, message: str, position: Position | None, hint: str | None = None) -> NoReturn:
    """Raise :class:`GrammarError` with one fault."""
    raise GrammarError(Fault(code, message, position, hint=hint))


def value_of(tree: SchemaTree, location: Location) -> Term:
    """The value of the node at a location: of an element with text and attributes, or in a box, that of its text,
    which is there where the element is.
    """
    text = (TEXT,) if has_text(tree, location.absolute) else ()
    return Term(location.variable, (*location.path, *text))


def holds_elements(tree: SchemaTree, path: Path) -> bool:
    """Whether a node is an element whose value is all the text in others."""
    return tree.is_element(path) and not (tree.is_leaf(path) or tree.whole_at(path) is not None or has_text(tree, path))


def has_text(tree: SchemaTree, path: Path) -> bool:
    """Whether a node is an element with a value that stands beside attributes, or that is in a box."""
    if not tree.is_element(path) or tree.is_leaf(path) or tree.whole_at(path) is not None:
        return False
    element = tree.element(path)
    return element.text and not element.children


def tag_of(tree: SchemaTree, location: Location) -> Term | Text:
    """The tag of the node at a location, as a value: a term in a box, else the only one that it can have."""
    here = location.absolute
    if tree.box(here) is not None:
        return Term(location.variable, (TAG,))
    name = here[-1].removeprefix(ANYWHERE) if here else tree.root
    return Text(unescaped_name(split_name(name)[1]))


def require_node(location: Location, position: Position | None) -> None:
    """Refuse (HX3044) the document itself."""
    if location.document:
        refuse("HX3044", "the document as a value is outside the query fragment", position)


def require_value(tree: SchemaTree, location: Location, position: Position | None) -> None:
    """Refuse (HX3044) what has no single value: an element with children."""
    require_node(location, position)
    here = location.absolute
    if not holds_elements(tree, here):
        return
    name = tree.written((tree.root, *here))
    element = tree.element(here)
    hint = "ask for the leaves below it, or for string(path)"
    if element.text:
        hint = f"name its text: {tree.written((element.name,))}/text()"
    refuse("HX3044", f"{name} is an inner element: as a value it is not translated yet", position, hint)
