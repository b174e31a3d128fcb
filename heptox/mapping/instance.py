"""A document as rules see it: its stop nodes, with the values that rules use (``semantics.md`` section 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Final, TypeAlias

from heptox.errors import Fault, MappingError, Position
from heptox.mapping.element_values import is_selected, value_of
from heptox.mapping.model import Mapping, Rule
from heptox.mapping.paths import path_text
from heptox.mapping.receipts import looked_up
from heptox.pattern import NODE, TAG, Absence, NoNode, Presence, ValueExpression, atom_terms, value_expression
from heptox.remembering import remembered
from heptox.schema import TEXT, Path, SchemaTree, SelectionTest, other_schema_fault, plain, split_selection
from heptox.xml import Document, XmlElement, line_of, split_name

if TYPE_CHECKING:
    from heptox.mapping.tracing import Trace


@dataclass(frozen=True, slots=True)
class Subtree:
    """The value of an inner node that is copied whole: two are equal when ``deep-equal`` finds their content so."""

    content: Hashable
    element: XmlElement = field(compare=False, repr=False)


Value: TypeAlias = str | Subtree
"""What is there; of an inner node that is only asked whether it is, the empty string."""


@dataclass(slots=True, eq=False)
class StopNode:
    """A stop node of a document: its number there, values by relative path, stop nodes below by schema path.

    Numbers are in document order. A leaf that is not there has no value.
    """

    number: int
    values: dict[Path, Value] = field(default_factory=dict)
    below: dict[Path, list[StopNode]] = field(default_factory=dict)


def read_instance(document: Document, mapping: Mapping, trace: Trace | None = None) -> StopNode:
    """The root's stop node, with everything below it that the rules of a mapping use, recorded in ``trace``.

    Raises :class:`MappingError` (HX4040): the document has another root, or several values where the schema has one.
    That is less than validity: a document that is not valid is exchanged as far as what the rules use is in it.
    """
    tree = mapping.source
    hint = f"the mapping starts at documents of {tree.written((tree.root,))}"
    if (other := other_schema_fault(document, tree.root, code="HX4040", hint=hint)) is not None:
        raise MappingError(other)
    return _Reading(document, tree, _reader_of(mapping), trace).root()


# -- what to read ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reader:
    """What rules use of the elements at one schema path; ``leaf`` is their path from the stop node above them, ``text``
    that of the leaf which their text is.
    """

    path: Path
    leaf: Path
    is_stop: bool
    tests: tuple[SelectionTest, ...] = ()
    attributes: dict[str, Path] = field(default_factory=dict)
    text: Path | None = None
    copies: bool = False
    is_asked: bool = False
    stands_for_itself: bool = False
    computed: dict[Path, ValueExpression] = field(default_factory=dict)
    children: dict[str, _Reader] = field(default_factory=dict)
    by_name: dict[str, list[_Reader]] = field(default_factory=dict)
    by_value: dict[str, _ByValue] = field(default_factory=dict)
    box: _Reader | None = None

    def below(self, child: XmlElement, name: str) -> Sequence[_Reader]:
        """The readers of a child, without those that select by another value of the attribute that most select by."""
        readers = self.by_name.get(name, ())
        if len(readers) < _FEW:
            return readers
        known = self.by_value.get(name)
        if known is None:
            known = self.by_value[name] = _by_value(readers)
        return known.readers.get(child.get(known.attribute, ""), known.others) if known.readers else readers


@dataclass(frozen=True, slots=True)
class _ByValue:
    """Readers of elements of one name by the values of an attribute; ``others`` are those for any other value."""

    attribute: str
    readers: dict[str, list[_Reader]]
    others: list[_Reader]


_FEW: Final = 4


def _by_value(readers: Sequence[_Reader]) -> _ByValue:
    """Readers by the values of the attribute that most of them compare."""
    compared = [{test.path[0]: test.values for test in reader.tests if _compares(test)} for reader in readers]
    attribute = next((name for name, _ in Counter(chain.from_iterable(compared)).most_common(1)), "")
    values = dict.fromkeys(chain.from_iterable(one.get(attribute, ()) for one in compared))
    pairs = list(zip(readers, compared, strict=True))
    return _ByValue(
        attribute[1:],
        {value: [reader for reader, one in pairs if value in one.get(attribute, (value,))] for value in values},
        [reader for reader, one in pairs if attribute not in one],
    )


def _compares(test: SelectionTest) -> bool:
    return test.test == "=" and len(test.path) == 1 and test.path[0].startswith("@")


@remembered(16)
def _reader_of(mapping: Mapping) -> _Reader:
    """What the rules of a mapping use; of a small document, to find that out takes longer than to read it."""
    return _reader(mapping.source, mapping.rules)


def _reader(tree: SchemaTree, rules: Iterable[Rule]) -> _Reader:
    root = _Reader((), (), is_stop=True)
    for rule in rules:
        nodes = {variable.name: variable.node for variable in rule.variables}
        for node in nodes.values():
            _below(tree, root, node)
        copied = {term for node in rule.head for path, term in node.leaves if path in node.copied}
        taken = [term for node in rule.head for term in node.terms]
        for condition in (*rule.conditions, *(link for part in rule.optional for link in part.conditions)):
            if isinstance(condition, Presence | Absence):
                stop = _below(tree, root, nodes[condition.term.variable])
                _use(tree, stop, condition.term.path, is_asked=True)
                continue
            taken += atom_terms(condition)
            if isinstance(condition, NoNode):
                stop = _below(tree, root, condition.node)
                for path, value in condition.tests:
                    _use(tree, stop, path, is_asked=value is None)
        taken += [code for code, _ in looked_up(rule)]
        for term in taken:
            _use(tree, _below(tree, root, nodes[term.variable]), term.path, copied=term in copied)
    return root


def _use(tree: SchemaTree, stop: _Reader, path: Path, *, copied: bool = False, is_asked: bool = False) -> None:
    """Note that a value is used, copied whole, or, of an inner node, only asked whether it is there."""
    last = path[-1] if path else ""
    if last == TAG:
        return
    if last == NODE:
        stop.stands_for_itself = True
        return
    if (expression := value_expression(path)) is not None:
        stop.computed[path] = expression
        return
    if last.startswith("@"):
        _below(tree, stop, path[:-1]).attributes[last[1:]] = path
    elif last == TEXT:
        _below(tree, stop, path[:-1]).text = path
    elif copied:
        _below(tree, stop, path).copies = True
    elif is_asked and not tree.is_leaf(stop.path + path):
        _below(tree, stop, path).is_asked = True
    else:
        _below(tree, stop, path).text = path


def _below(tree: SchemaTree, reader: _Reader, path: Path) -> _Reader:
    """The reader at ``path`` below another one."""
    for step in path:
        here = (*reader.path, step)
        is_stop = tree.is_stop(here)
        name, tests = split_selection(step)
        new = _Reader(here, () if is_stop else (*reader.leaf, step), is_stop, tests)
        if tree.box(here):
            reader.box = reader.box or new
            reader = reader.box
        elif step in reader.children:
            reader = reader.children[step]
        else:
            reader.by_name.setdefault(name, []).append(new)
            reader.children[step] = new
            reader = new
    return reader


# -- reading -----------------------------------------------------------------------------------------------------


class _Reading:
    """One pass over a document."""

    def __init__(self, document: Document, tree: SchemaTree, reader: _Reader, trace: Trace | None) -> None:
        self._document, self._tree, self._reader, self._trace = document, tree, reader, trace
        self._number = 0
        self._numbers: dict[str, int] = {}
        self._surrogates: dict[XmlElement, str] = {}
        self._faults: list[Fault] = []
        self._tags: dict[tuple[Path, str], str | None] = {}

    def root(self) -> StopNode:
        node = self._stop_node(0, self._document.root, self._reader)
        if self._faults:
            raise MappingError(self._faults)
        return node

    def _stop_node(self, number: int, element: XmlElement, reader: _Reader, tag: str | None = None) -> StopNode:
        node = StopNode(number)
        if tag is not None:
            self._value(node, reader, (TAG,), tag, element)
        if reader.stands_for_itself:
            node.values[(NODE,)] = self._surrogate(element, plain(reader.path))
        for path, expression in reader.computed.items():
            if (value := value_of(element, expression, self._tree.members)) is not None:
                self._value(node, reader, path, value, element)
        self._fill(node, element, reader)
        return node

    def _surrogate(self, element: XmlElement, path: Path) -> str:
        """What stands for a node where its identity is a value: an XML name that no other node of the document has."""
        if element not in self._surrogates:
            name = ".".join(split_name(step.strip("[]"))[1] for step in path or (self._tree.root,))
            number = self._numbers[name] = self._numbers.get(name, 0) + 1
            self._surrogates[element] = f"{name}.{number}"
        return self._surrogates[element]

    def _fill(self, node: StopNode, element: XmlElement, reader: _Reader) -> None:
        for name, path in reader.attributes.items():
            value = element.get(name)
            if value is not None:
                self._value(node, reader, path, value, element)
        if reader.is_asked:
            node.values[reader.leaf] = ""
        if reader.text is not None:
            self._value(node, reader, reader.text, self._only_text(element, reader), element)
        if reader.copies:
            self._value(node, reader, reader.leaf, Subtree(_content(element), element), element)
        if reader.children or reader.box:
            self._children(node, element, reader)

    def _value(self, node: StopNode, reader: _Reader, leaf: Path, value: Value, element: XmlElement) -> None:
        """A value of the leaf at the relative path ``leaf``; ``reader`` is that of its element."""
        node.values[leaf] = value
        if self._trace is not None:
            stop = reader.path[: len(reader.path) - len(reader.leaf)]
            self._trace.read(node, leaf, stop + leaf, element)

    def _children(self, node: StopNode, element: XmlElement, reader: _Reader) -> None:
        met: set[str] = set()
        for child in element:
            name = str(child.tag)
            readers = reader.below(child, name)
            self._number = number = self._number + 1  # which all virtual nodes of the element share
            if name not in reader.by_name and reader.box and (tag := self._tag(reader.box.path, name)) is not None:
                node.below.setdefault(reader.box.path, []).append(self._stop_node(number, child, reader.box, tag))
            for below in readers:
                if not below.is_stop:
                    self._fill_once(node, child, below, met)
                elif is_selected(child, below.tests):
                    node.below.setdefault(below.path, []).append(self._stop_node(number, child, below))

    def _fill_once(self, node: StopNode, child: XmlElement, reader: _Reader, met: set[str]) -> None:
        if reader.path[-1] in met:
            self._tell(f"{path_text(self._tree, reader.path)} stands there again, the schema has it once", child)
        else:
            met.add(reader.path[-1])
            self._fill(node, child, reader)

    def _tag(self, box: Path, name: str) -> str | None:
        """The value behind the tag of a child; ``None`` for one that is not in the box."""
        key = (box, name)
        if key not in self._tags:
            self._tags[key] = self._tree.value_of_tag(box, name)
        return self._tags[key]

    def _only_text(self, element: XmlElement, reader: _Reader) -> str:
        if len(element):
            self._tell(f"{path_text(self._tree, reader.path)} holds elements, the schema has text there", element)
        return element.text or ""

    def _tell(self, message: str, element: XmlElement) -> None:
        position = Position(line_of(element), 1, self._document.file)
        self._faults.append(Fault("HX4040", message, position, hint="the document is not valid for the source schema"))


def _content(element: XmlElement) -> Hashable:
    """What ``deep-equal`` compares of an element but its name: attributes in any order, text and children in theirs."""
    children = tuple((str(child.tag), _content(child), child.tail or "") for child in element)
    return frozenset(element.attrib.items()), element.text or "", children
