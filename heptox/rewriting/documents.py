"""Rewriting a document in memory: each operator in turn changes all elements of its nodes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from heptox.errors import DisseminationError, Fault, Position
from heptox.pattern import printed_test
from heptox.rewriting.operators import (
    Arrange,
    Dissolve,
    Downgrade,
    Drop,
    Insert,
    NodeId,
    Operator,
    Prune,
    Rename,
    Swap,
    ToAttribute,
    ToElement,
    Upgrade,
)
from heptox.rewriting.program import Program
from heptox.rewriting.stand_ins import put_stand_ins, take_stand_ins
from heptox.rewriting.working_tree import WorkingTree
from heptox.schema import TEXT
from heptox.xml import Document, XmlElement, escaped_name, has_namespaces, line_of, unescaped_name

Instruction: TypeAlias = "Callable[[_Elements], None]"

_ROOT: Final = 0
_STAND_IN: Final = escaped_name("{")

MOST_COPIES: Final = 50_000_000
"""How many characters and elements one document, or one piece of a stream, may be copied to by downgrades and
swaps: several children of an element each get a copy of what was once."""


class Rewriter:
    """Rewrites documents by a program.

    >>> from heptox.schema import SchemaTree, parse_dtd
    >>> from heptox.xml import parse_document, write_element
    >>> schema = SchemaTree(parse_dtd("<!ELEMENT r (a*)><!ELEMENT a (b*)><!ELEMENT b (#PCDATA)>"))
    >>> rewriter = Rewriter(Program(schema, (Swap(("a",), ("a", "b")), Rename(("a",), "of"))))
    >>> write_element(rewriter.rewrite(parse_document("<r><a><b>1</b><b>2</b></a></r>")).root)
    '<r><b>1<of/></b><b>2<of/></b></r>'
    """

    def __init__(
        self, program: Program, blank: Iterable[NodeId] | None = None, *, most_copies: int = MOST_COPIES
    ) -> None:
        """``blank`` are the nodes of element content between whose children no white space is left; by default those
        that the program has to do with."""
        self.program = program
        self._most_copies = most_copies
        self._blank = None if blank is None else tuple(blank)
        self._plain = _Compiled.of(program, self._blank, str)
        self._named: _Compiled | None = None

    def rewrite(self, document: Document) -> Document:
        """The document in the words of the other schema; the one that is given stays as it is.

        Raises :class:`DisseminationError`: HX9103 for a document with another root, or with several values for what
        becomes an attribute; HX9105 where more is copied than ``most_copies``.
        """
        root = copy.deepcopy(document.root)
        self.rewrite_in_place(root, Position(1, 1, document.file))
        return Document(root, document.file)

    def rewrite_in_place(self, root: XmlElement, begin: Position | None = None) -> None:
        """As :meth:`rewrite` for the root element of a document that nobody else uses, and that begins there."""
        self.rewrite_part(root, Part(begin or Position(1, 1)))

    def rewrite_part(self, root: XmlElement, part: Part) -> None:
        """As :meth:`rewrite_in_place` for a part of a document."""
        if root.tag != self.program.source.root:
            message = f"the root element is {said(root)}, not {printed_test(self.program.source.root)}"
            raise DisseminationError(Fault("HX9103", message, part.position(root)))
        named = self._plain.names_namespaces or has_namespaces(root)
        compiled = self._compiled_for_names() if named else self._plain
        if named:
            put_stand_ins(root)
        elements = _Elements(len(compiled.kinds), part, self._most_copies)
        elements.read(root, compiled.kinds[_ROOT])
        for instruction in compiled.instructions:
            instruction(elements)
        if named:
            take_stand_ins(root)

    def _compiled_for_names(self) -> _Compiled:
        if self._named is None:
            self._named = _Compiled.of(self.program, self._blank, escaped_name)
        return self._named


@dataclass(slots=True)
class Part:
    """A part of a document, that begins at ``begin``: with elements that are open before it, or go on behind it.

    Where something is inserted in elements of ``watched``, ``inserted`` gives the innermost new element. In those of
    ``going_on`` that is made even if nothing goes in, as it was made in a part before. What is in ``kept`` is not
    pruned: there was something in it before; nor is what is made in those of ``going_on``.
    """

    begin: Position
    watched: frozenset[XmlElement] = frozenset()
    going_on: frozenset[XmlElement] = frozenset()
    inserted: dict[XmlElement, XmlElement] = field(default_factory=dict)
    kept: set[XmlElement] = field(default_factory=set)

    def position(self, element: XmlElement) -> Position:
        """Where an element stands in the document."""
        return Position(self.begin.line + line_of(element) - 1, 1, self.begin.file)


@dataclass(slots=True)
class _Kind:
    """The elements of one node of the source: the kinds of those below them, by tag, as far as the program has to do
    with them. ``blank``: text between their children is white space."""

    number: int
    blank: bool
    children: dict[str, _Kind] = field(default_factory=dict)
    is_leaf: bool = True
    """Whether nothing in the elements has to do with the program."""


class _Elements:
    """The elements of a document by the numbers of their kinds, in the order of the document at first."""

    __slots__ = ("_copies", "kinds", "of", "part")

    def __init__(self, count: int, part: Part, most_copies: int) -> None:
        self.of: list[list[XmlElement]] = [[] for _ in range(count)]
        self.kinds: dict[XmlElement, int] = {}
        self.part = part
        self._copies = most_copies

    def read(self, element: XmlElement, kind: _Kind) -> None:
        """Sort an element, and all below it, by kind."""
        kinds, of, number, blank, kind_of = self.kinds, self.of, kind.number, kind.blank, kind.children.get
        kinds[element] = number
        of[number].append(element)
        if blank and element.text:
            element.text = None
        for child in element:
            if blank and child.tail:
                child.tail = None
            below = kind_of(child.tag)
            if below is not None:
                if below.is_leaf:
                    number = kinds[child] = below.number
                    of[number].append(child)
                else:
                    self.read(child, below)

    def below(self, element: XmlElement, kinds: frozenset[int]) -> list[XmlElement]:
        """The children of an element that are of these kinds, in order."""
        kind_of = self.kinds.get
        return [child for child in element if kind_of(child) in kinds]

    def parted(
        self, element: XmlElement, kinds: frozenset[int], others: frozenset[int]
    ) -> tuple[list[XmlElement], list[XmlElement]]:
        """The children of an element that are of these kinds, and those of others."""
        found: tuple[list[XmlElement], list[XmlElement]] = [], []
        kind_of = self.kinds.get
        for child in element:
            kind = kind_of(child)
            if kind in kinds:
                found[0].append(child)
            elif kind in others:
                found[1].append(child)
        return found

    def check_free(self, element: XmlElement, name: str, at: XmlElement) -> None:
        """Raise :class:`DisseminationError` (HX9103), with the place of ``at``, where an element has an attribute of
        that name already."""
        if name in element.attrib:
            message = f"an element {said(element)} has several values for its attribute {_said_name(name)}"
            raise DisseminationError(Fault("HX9103", message, self.part.position(at)))

    def add(self, element: XmlElement, kind: int) -> None:
        """A new element."""
        self.kinds[element] = kind
        self.of[kind].append(element)

    def copied(self, element: XmlElement) -> XmlElement:
        """A copy of an element with all below it."""
        made = copy.deepcopy(element)
        made.tail = None
        for old, new in zip(element.iter(), made.iter(), strict=True):
            self._copies -= 1 + len(new.text or "") + len(new.tail or "")
            if (kind := self.kinds.get(old)) is not None:
                self.add(new, kind)
        if self._copies < 0:
            message = f"elements {said(element)} are copied into too many others"
            raise DisseminationError(Fault("HX9105", message, self.part.position(element)))
        return made

    def remove(self, removed: Sequence[XmlElement]) -> None:
        """Take elements out, with all below them."""
        gone = {each for element in removed for each in element.iter() if each in self.kinds}
        for kind in {self.kinds.pop(each) for each in gone}:
            self.of[kind] = [each for each in self.of[kind] if each not in gone]
        for element in removed:
            detach(element)


def said(element: XmlElement) -> str:
    """What messages call an element."""
    return _said_name(str(element.tag))


def _said_name(name: str) -> str:
    return printed_test(unescaped_name(name) if name.startswith(_STAND_IN) else name)


def detach(element: XmlElement) -> None:
    """Take an element out of the one that it stands in; the text behind it stays there."""
    parent = element.getparent()
    if parent is not None:
        leave_text(element)
        parent.remove(element)


def leave_text(element: XmlElement) -> None:
    """Let the text behind an element be behind what stands before it, so that the element can go elsewhere alone."""
    text = element.tail
    if not text:
        return
    before, parent = element.getprevious(), element.getparent()
    if before is not None:
        before.tail = (before.tail or "") + text
    elif parent is not None:
        parent.text = (parent.text or "") + text
    element.tail = None


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A program as instructions; ``names_namespaces``: it gives names that are in some."""

    instructions: tuple[Instruction, ...]
    kinds: tuple[_Kind, ...]
    names_namespaces: bool

    @classmethod
    def of(cls, program: Program, blank: Iterable[NodeId] | None, spelled: Callable[[str], str]) -> _Compiled:
        """The instructions for trees whose names are ``spelled`` so."""
        compiler = _Compiler(program, blank, spelled)
        instructions = tuple(compiler.instructions())
        given = (
            name
            for each in program.operators
            for name in ((each.name,) if isinstance(each, Rename) else each.names if isinstance(each, Insert) else ())
        )
        return cls(instructions, tuple(compiler.kinds), any("{" in name for name in given))


class _Compiler:
    """Makes instructions of operators, following them on the schema tree."""

    def __init__(self, program: Program, blank: Iterable[NodeId] | None, spelled: Callable[[str], str]) -> None:
        self._spelled = spelled
        self._program = program
        self._tree = WorkingTree(program.source)
        self._numbers: dict[NodeId, int] = {}
        self.kinds: list[_Kind] = []
        self._blank = None if blank is None else frozenset(blank)
        for node in ((), *(self._blank or ())):
            self._kind(node)

    def instructions(self) -> list[Instruction]:
        """What is to be done with the elements of a document, in this order."""
        found = []
        for operator in self._program.operators:
            instruction = self._instruction(operator)
            self._tree.apply(operator)
            if instruction is not None:
                found.append(instruction)
        return [*found, *self._attributes()]

    def _kind(self, node: NodeId) -> int:
        """The number of a node; ids of nodes begin with those of the nodes that they stood in at first."""
        if node not in self._numbers:
            number = self._numbers[node] = len(self.kinds)
            schema = self._program.source
            is_source = node in schema and schema.is_element(node)
            is_blank = node in self._blank if self._blank is not None else is_source and not schema.element(node).text
            blank = is_source and is_blank
            self.kinds.append(_Kind(number, blank, is_leaf=not blank))
            if node and is_source:
                parent = self.kinds[self._kind(node[:-1])]
                parent.children[self._spelled(node[-1])] = self.kinds[number]
                parent.is_leaf = False
        return self._numbers[node]

    def _kinds(self, nodes: Iterable[NodeId]) -> frozenset[int]:
        return frozenset(map(self._kind, nodes))

    def _instruction(self, operator: Operator) -> Instruction | None:
        tree = self._tree
        match operator:
            case Rename(node, name):
                return None if name.startswith("@") else _rename(self._kind(node), self._spelled(name))
            case ToElement(attribute):
                return self._to_element(attribute)
            case ToAttribute(leaf):
                self._kind(leaf)
                return None
            case Insert(element, names):
                made = tuple(zip(map(self._kind, operator.made), map(self._spelled, names), strict=True))
                return _insert(self._kind(element), made, self._kinds(tree.moved(operator)))
            case Upgrade(element):
                return _upgrade(self._kind(element), self._kinds(tree.moved(operator)))
            case Downgrade(element, children, into, or_drop):
                return _downgrade(self._kind(element), self._kinds(children), self._kind(into), or_drop)
            case Swap(element, child, or_drop):
                return _swap(self._kind(element), self._kind(child), or_drop)
            case Dissolve(element):
                return _dissolve(self._kind(element), self._kinds(tree.elements(element)))
            case Drop(node):
                return self._drop(node)
            case Prune(element):
                return _prune(self._kind(element))
            case Arrange(element, children):
                if len(tree.elements(element)) < 2:
                    return None
                return _arrange(self._kind(element), {self._kind(child): place for place, child in enumerate(children)})

    def _to_element(self, attribute: NodeId) -> Instruction:
        tag = self._spelled(self._tree.name(attribute)[1:])
        if not self._is_attribute(attribute):
            return _rename(self._kind(attribute), tag)
        held = self._spelled(attribute[-1][1:])
        return _to_element(self._kind(attribute[:-1]), held, self._kind(attribute), tag)

    def _drop(self, node: NodeId) -> Instruction:
        if node[-1] == TEXT:
            return _drop_text(self._kind(node[:-1]))
        if self._is_attribute(node):
            return _drop_attribute(self._kind(node[:-1]), self._spelled(node[-1][1:]))
        return _drop(self._kind(node))

    def _is_attribute(self, node: NodeId) -> bool:
        """Whether a node is still held as the attribute that it was in the source."""
        return node[-1].startswith("@") and node not in self._numbers

    def _attributes(self) -> Iterator[Instruction]:
        """Attributes get their names when all else is done, so that none takes the place of another meanwhile."""
        renamed: dict[int, dict[str, str]] = {}
        leaves: list[Instruction] = []
        for node in dict.fromkeys(each.node for each in self._program.operators if isinstance(each, Rename)):
            name = self._tree.name(node)
            if node in self._tree and name.startswith("@") and self._is_attribute(node):
                names = renamed.setdefault(self._kind(node[:-1]), {})
                names[self._spelled(node[-1][1:])] = self._spelled(name[1:])
        for node, number in self._numbers.items():
            if node in self._tree and self._tree.name(node).startswith("@"):
                leaves.append(_to_attribute(number, self._spelled(self._tree.name(node)[1:])))
        yield from (_rename_attributes(kind, names) for kind, names in renamed.items())
        yield from leaves


# -- what operators do with elements -----------------------------------------------------------------------------


def _rename(kind: int, name: str) -> Instruction:
    def run(elements: _Elements) -> None:
        for element in elements.of[kind]:
            element.tag = name

    return run


def _rename_attributes(kind: int, names: Mapping[str, str]) -> Instruction:
    def run(elements: _Elements) -> None:
        for element in elements.of[kind]:
            found = [(new, element.attrib.pop(old)) for old, new in names.items() if old in element.attrib]
            for name, value in found:
                elements.check_free(element, name, element)
                element.set(name, value)

    return run


def _to_element(kind: int, name: str, made: int, tag: str) -> Instruction:
    def run(elements: _Elements) -> None:
        for element in elements.of[kind]:
            value = element.get(name)
            if value is not None:
                del element.attrib[name]
                child = element.makeelement(tag)
                child.text = value or None
                if element.text:
                    child.tail, element.text = element.text, None
                element.insert(0, child)
                elements.add(child, made)

    return run


def _to_attribute(kind: int, name: str) -> Instruction:
    def run(elements: _Elements) -> None:
        for leaf in elements.of[kind]:
            element = leaf.getparent()
            if element is None:
                continue
            elements.check_free(element, name, leaf)
            element.set(name, leaf.text or "")
            detach(leaf)

    return run


def _insert(kind: int, made: Sequence[tuple[int, str]], children: frozenset[int]) -> Instruction:
    def run(elements: _Elements) -> None:
        part = elements.part
        watched, going_on, kinds, of = part.watched, part.going_on, elements.kinds, elements.of
        for element in tuple(elements.of[kind]):
            moved = elements.below(element, children)
            if moved or (going_on and element in going_on):
                inner = element
                for number, name in made:
                    new = element.makeelement(name)
                    inner.append(new)
                    kinds[new] = number
                    of[number].append(new)
                    inner = new
                    if element in going_on:
                        part.kept.add(new)
                for child in moved:
                    if child.tail:
                        leave_text(child)
                    inner.append(child)
                if watched and element in watched:
                    part.inserted[element] = inner

    return run


def _upgrade(kind: int, children: frozenset[int]) -> Instruction:
    def run(elements: _Elements) -> None:
        for element in elements.of[kind]:
            behind, element.tail = element.tail, None
            last = element
            for child in elements.below(element, children):
                leave_text(child)
                last.addnext(child)
                last = child
            last.tail = behind

    return run


def _downgrade(kind: int, children: frozenset[int], into: int, or_drop: bool) -> Instruction:
    places = frozenset((into,))

    def run(elements: _Elements) -> None:
        without: list[XmlElement] = []
        for element in tuple(elements.of[kind]):
            moved, targets = elements.parted(element, children, places)
            if not targets:
                without += moved
                continue
            for child in moved:
                for target in targets[1:]:
                    target.append(elements.copied(child))
                leave_text(child)
                targets[0].append(child)
        if or_drop:
            elements.remove(without)

    return run


def _swap(kind: int, inner: int, or_drop: bool) -> Instruction:
    kinds = frozenset((inner,))

    def run(elements: _Elements) -> None:
        without: list[XmlElement] = []
        for element in tuple(elements.of[kind]):
            children = elements.below(element, kinds)
            if not children:
                without.append(element)
                continue
            for child in children:
                leave_text(child)
                element.addprevious(child)
            for child in children[1:]:
                child.append(elements.copied(element))
            leave_text(element)
            children[0].append(element)
        if or_drop:
            elements.remove(without)

    return run


def _dissolve(kind: int, children: frozenset[int]) -> Instruction:
    def run(elements: _Elements) -> None:
        for element in elements.of[kind]:
            for child in elements.below(element, children):
                child.tail = None
                element.addprevious(child)
            detach(element)

    return run


def _drop(kind: int) -> Instruction:
    def run(elements: _Elements) -> None:
        elements.remove(elements.of[kind])

    return run


def _drop_attribute(kind: int, name: str) -> Instruction:
    def run(elements: _Elements) -> None:
        for element in elements.of[kind]:
            element.attrib.pop(name, "")

    return run


def _drop_text(kind: int) -> Instruction:
    def run(elements: _Elements) -> None:
        for element in elements.of[kind]:
            element.text = None
            for child in element:
                child.tail = None

    return run


def _prune(kind: int) -> Instruction:
    def run(elements: _Elements) -> None:
        kept = elements.part.kept
        elements.remove(
            [
                each
                for each in elements.of[kind]
                if not len(each) and not each.attrib and not each.text and each not in kept
            ]
        )

    return run


def _arrange(kind: int, places: Mapping[int, int]) -> Instruction:
    last = len(places)

    def run(elements: _Elements) -> None:
        kinds = elements.kinds
        for element in elements.of[kind]:
            children = list(element)
            ordered = sorted(children, key=lambda child: places.get(kinds.get(child, -1), last))
            if ordered != children:
                for child in children:
                    detach(child)  # texts between children keep their order
                element.extend(ordered)

    return run
