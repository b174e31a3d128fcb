"""What of a schema is hidden from an asker: documents without it, and which queries it matters to.

A **hidden path** names an element or an attribute (last, as ``@name``) of a schema: ``/a/b`` from the root, ``a/b`` or
``//a/b`` wherever a path of the schema ends so. Names have the prefixes of the schema, or are ``Q{urn:a}b``. Along a
path only the longest end of it matters that begins a hidden path (Aho and Corasick, *Efficient string matching*, 1975);
so a recursive schema has finitely many places too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from typing import IO, Final, NoReturn, TypeAlias

from heptox.checks import Check, no_check
from heptox.errors import InputError, near_names
from heptox.grammar import syntax
from heptox.schema import Attribute, Element, SchemaGraph, by_name, of_parts
from heptox.store.text import escaped_attribute, escaped_text
from heptox.store.written_names import WrittenNames
from heptox.xml import NO_PREFIXES, Readable, XmlReader, beside_content

_Names: TypeAlias = tuple[str, ...]

_DOCUMENT: Final = ""
"""The name above the root, with which a path from the root begins."""
_TEXT: Final = "text()"
_NOT_HIDDEN: Final = frozenset[str]()
_WHITE_SPACE: Final = " \t\r\n"
_SLASH: Final = re.compile(r"/(?![^{}]*\})")
"""A slash between names, none in a namespace."""


# -- paths -------------------------------------------------------------------------------------------------------


def hidden_path(text: str) -> str:
    """A hidden path as it is compared: equal ones mean the same.

    >>> hidden_path("//Patient/MedCrNo"), hidden_path("/a/@b")
    ('Patient/MedCrNo', '/a/@b')
    """
    return text.removeprefix("//")


def hidden_path_fault(text: str, graph: SchemaGraph) -> tuple[str, str] | None:
    """What is wrong with a hidden path for a schema, and what would have worked; ``None`` when nothing is.

    >>> from heptox.schema import parse_dtd
    >>> graph = parse_dtd("<!ELEMENT a (b*)> <!ELEMENT b (#PCDATA)> <!ATTLIST b key ID #REQUIRED>")
    >>> hidden_path_fault("b/@key", graph), hidden_path_fault("b/@kay", graph)
    (None, ("'b/@kay' is no path of the schema", 'such as b/@key'))
    """
    written = WrittenNames.of(graph)
    graph = written.graph(by_name(graph))
    names = _names(text, written)
    near = _near(names, graph)
    if not all(names[1:]) or not names[-1] or any(name.startswith("@") for name in names[:-1]):
        return f"{text!r} is no path", f"names with / between them, an attribute last, such as {near}"
    if not _is_path(names, graph):
        return f"{text!r} is no path of the schema", f"such as {near}"
    if names in ((graph.root,), (_DOCUMENT, graph.root)):
        return f"{text!r} is the root, without which nothing is left", "hide what stands below it"
    return None


def _names(text: str, written: WrittenNames) -> _Names:
    """The names of a hidden path; one from the root begins with :data:`_DOCUMENT`."""
    return tuple(_name(step.strip(), written) for step in _SLASH.split(hidden_path(text)))


def _name(step: str, written: WrittenNames) -> str:
    name = step.removeprefix("@")
    if not name.startswith("Q{") or "}" not in name:
        return step
    expanded = NO_PREFIXES.expanded(name)
    return f"@{written.attribute(expanded)}" if step.startswith("@") else written.name(expanded)


def _is_path(names: _Names, graph: SchemaGraph) -> bool:
    above, *below = names
    if above == _DOCUMENT:
        if below[0] != graph.root:
            return False
        above, *below = below
    elif above.startswith("@"):
        return any(above[1:] == attribute.name for name in _reached(graph) for attribute in _element(graph, name))
    elif above not in _reached(graph):
        return False
    for name in below:
        if name not in _below(graph.elements[above]):
            return False
        above = name
    return True


def _element(graph: SchemaGraph, name: str) -> tuple[Attribute, ...]:
    return graph.elements[name].attributes


def _below(element: Element) -> list[str]:
    return [child.name for child in element.children] + [f"@{attribute.name}" for attribute in element.attributes]


def _reached(graph: SchemaGraph) -> dict[str, None]:
    """The element types that stand somewhere below the root, and the root, in order."""
    found = {graph.root: None}
    waiting = [graph.root]
    while waiting:
        for child in graph.elements[waiting.pop()].children:
            if child.name not in found:
                found[child.name] = None
                waiting.append(child.name)
    return found


def _near(names: _Names, graph: SchemaGraph) -> str:
    edges = [f"{name}/{below}" for name in _reached(graph) for below in _below(graph.elements[name])]
    known = {edge.rpartition("/")[2]: None for edge in edges}
    if len(names) > 1 and (close := near_names("/".join(names[-2:]), edges, 3, 0.5)):
        return ", ".join(close)
    return ", ".join(near_names(names[-1], list(known), 3, 0.5) or edges[:3] or [graph.root])


# -- places ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _SchemaPosition:
    """Somewhere in a schema: a name, what of the way to it matters, and the hidden paths that hide it."""

    name: str
    way: _Names
    by: frozenset[str] = _NOT_HIDDEN


@dataclass(frozen=True, slots=True)
class _Tag:
    """What is left of an element at a place that is seen."""

    place: _SchemaPosition
    text: bool
    attributes: frozenset[str]
    defaults: tuple[tuple[str, str], ...]


class _Ways:
    """What of the way to a place matters for some hidden paths, and which of them it is at the end of."""

    def __init__(self, paths: Iterable[str], written: WrittenNames) -> None:
        self._hidden: Mapping[_Names, str] = {_names(path, written): path for path in paths}
        self._begun = frozenset(names[:length] for names in self._hidden for length in range(len(names))) | {()}
        self._steps: dict[tuple[_SchemaPosition, str], _SchemaPosition] = {}
        self.document = _SchemaPosition(_DOCUMENT, self._way((_DOCUMENT,)))

    def _way(self, path: _Names) -> _Names:
        return next(path[start:] for start in range(len(path) + 1) if path[start:] in self._begun)

    def step(self, place: _SchemaPosition, name: str) -> _SchemaPosition:
        """The place of a child or an attribute."""
        found = self._steps.get((place, name))
        if found is None:
            path = (*place.way, name)
            ends = (self._hidden.get(path[start:]) for start in range(len(path)))
            by = place.by or frozenset(end for end in ends if end is not None)
            found = self._steps[place, name] = _SchemaPosition(name, self._way(path), by)
        return found

    def may_hide(self, element: str, attribute: str) -> bool:
        """Whether an attribute of an element is hidden somewhere."""
        end = (element, f"@{attribute}")
        return any(names[-2:] in (end, end[1:]) for names in self._hidden)


class Hiding:
    """A schema of which some paths, at least one, are hidden.

    ``graph`` is the schema as it is seen: nothing is required, and attributes that may be hidden have no defaults,
    which would bring them back. Raises ``ValueError`` for a path that :func:`hidden_path_fault` reports.
    """

    def __init__(self, graph: SchemaGraph, paths: Iterable[str]) -> None:
        self.paths = tuple(sorted({hidden_path(path) for path in paths}))
        for path in self.paths:
            if fault := hidden_path_fault(path, graph):
                raise ValueError(fault[0])
        self.names = WrittenNames.of(graph)
        self._whole = self.names.graph(by_name(graph))
        self._ways = _Ways(self.paths, self.names)
        self._tags: dict[tuple[_SchemaPosition, str], _Tag | None] = {}
        self._inside: dict[_SchemaPosition, frozenset[_SchemaPosition]] = {}
        self.document = self._ways.document
        seen = {name: self._seen(element) for name, element in graph.elements.items()}
        self.graph = of_parts(replace(graph, elements=seen))

    def _seen(self, element: Element) -> Element:
        return replace(
            element,
            attributes=tuple(
                replace(attribute, default=None, fixed=False)
                if self._ways.may_hide(self.names.name(element.name), self.names.attribute(attribute.name))
                else attribute
                for attribute in element.attributes
            ),
        )

    def _children(self, place: _SchemaPosition) -> Iterator[_SchemaPosition]:
        if place.name == _DOCUMENT:
            yield self._ways.step(place, self._whole.root)
        elif (element := self._whole.elements.get(place.name)) is not None:
            for child in element.children:
                yield self._ways.step(place, child.name)

    def _attributes(self, place: _SchemaPosition) -> Iterator[_SchemaPosition]:
        if (element := self._whole.elements.get(place.name)) is not None:
            for attribute in element.attributes:
                yield self._ways.step(place, f"@{attribute.name}")

    def _within(self, place: _SchemaPosition) -> frozenset[_SchemaPosition]:
        """A place and those of all elements below it."""
        known = self._inside.get(place)
        if known is None:
            found = {place}
            waiting = [place]
            while waiting:
                new = [child for child in self._children(waiting.pop()) if child not in found]
                found.update(new)
                waiting += new
            known = self._inside[place] = frozenset(found)
        return known

    # -- documents -----------------------------------------------------------------------------------------------

    def prune(self, source: Readable, target: IO[bytes], file: str | None = None) -> bool:
        """Write a document without what is hidden; whether there is anything left.

        What stands where the schema has no place for it is left out too, white space among elements included: it may
        be what is hidden under another name, or tell that something was there. What is written is therefore the same
        for all documents that differ only in what is hidden. Only the open elements are held in memory.

        Raises :class:`InputError` as :class:`heptox.xml.XmlReader`.

        >>> from io import BytesIO
        >>> from heptox.schema import parse_dtd
        >>> graph = parse_dtd("<!ELEMENT a (b*, c?)> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)>")
        >>> pruned = BytesIO()
        >>> Hiding(graph, ["a/c"]).prune(BytesIO(b"<a> <b>1</b> <c>2</c> <d/></a>"), pruned), pruned.getvalue()
        (True, b'<a><b>1</b></a>')
        """
        pruner = _Pruner(self)
        reader = XmlReader(source, file)
        for _ in reader.read(pruner.start, pruner.end, pruner.text):
            target.write(pruner.written())
        return pruner.begun

    def shown(self, data: bytes) -> str | None:
        """Why a document may not be seen as its bytes are; ``None`` for one that may.

        It may have nothing at a hidden path, and nothing else but what the schema has a place for: under another name,
        in a comment or before the root may stand what is hidden.

        >>> from heptox.schema import parse_dtd
        >>> graph = parse_dtd("<!ELEMENT a (b*, c?)> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)>")
        >>> hiding = Hiding(graph, ["a/c"])
        >>> print(hiding.shown(b"<a> <b>1</b> </a>"))
        None
        >>> for text in (b"<a><c>2</c></a>", b"<a>2</a>", b"<a><b/><!-- 2 --></a>"):
        ...     print(hiding.shown(text))
        it shows a/c, which is hidden from others
        it may show what is hidden: line 1: text in a
        it may show what is hidden: line 1: a comment
        """
        found = beside_content(data)
        if found is None:
            looker = _Looker(self, XmlReader(BytesIO(data)))
            try:
                looker.look()
            except _ShownError as error:
                return str(error)
            except InputError as error:
                found = str(error)
        return None if found is None else f"it may show what is hidden: {found}"

    def place(self, above: _SchemaPosition, name: str) -> _SchemaPosition | None:
        """That of a child; ``None`` where the schema has none."""
        return next((child for child in self._children(above) if child.name == name), None)

    def attributes(self, place: _SchemaPosition) -> Mapping[str, _SchemaPosition]:
        """The places of the attributes that the schema has there, by name without the ``@``."""
        return {each.name[1:]: each for each in self._attributes(place)}

    def has_text(self, place: _SchemaPosition) -> bool:
        """Whether the schema has text there."""
        return self._whole.elements[place.name].text

    def tag(self, place: _SchemaPosition, name: str) -> _Tag | None:
        """What is left of a child, ``None`` when nothing is."""
        key = place, name
        if key not in self._tags:
            self._tags[key] = self._tag(place, name)
        return self._tags[key]

    def _tag(self, place: _SchemaPosition, name: str) -> _Tag | None:
        found = self.place(place, name)
        if found is None or found.by:
            return None
        element = self._whole.elements[name]
        seen = [each for each in element.attributes if not self._ways.step(found, f"@{each.name}").by]
        defaults = tuple(
            (each.name, each.default)
            for each in seen
            # others come with the schema
            if each.default is not None and self._ways.may_hide(element.name, each.name)
        )
        return _Tag(found, element.text, frozenset(each.name for each in seen), defaults)

    # -- queries -------------------------------------------------------------------------------------------------

    def touched(self, expression: syntax.Expression, check: Check = no_check) -> tuple[str, ...]:
        """The hidden paths that a query asks for by its paths, whatever documents hold: names, wildcards, and whole
        elements that it returns or compares. ``check`` is called again and again.

        >>> from heptox.grammar import parse_query
        >>> from heptox.schema import parse_dtd
        >>> graph = parse_dtd("<!ELEMENT a (b*, c?)> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)>")
        >>> hiding = Hiding(graph, ["a/c"])
        >>> [hiding.touched(parse_query(text)) for text in ("collection()/a/c", "/a/*", "for $a in /a return $a", "/b")]
        [('a/c',), ('a/c',), ('a/c',), ()]
        """
        toucher = _Toucher(self, check)
        toucher.look(self.names.query(expression), {}, frozenset())
        return tuple(sorted(toucher.touched))

    def reached(self, places: frozenset[_SchemaPosition], step: syntax.Step) -> Iterator[_SchemaPosition]:
        """Where a step leads, its predicates aside."""
        if step.axis in ("descendant", "descendant-attribute"):
            places = frozenset[_SchemaPosition]().union(*map(self._within, places))
        for place in places:
            if step.axis in ("attribute", "descendant-attribute"):
                wanted = frozenset(f"@{name}" for name in step.names)
                yield from (each for each in self._attributes(place) if "@*" in wanted or each.name in wanted)
            elif step.names == (_TEXT,):
                element = self._whole.elements.get(place.name)
                if element is not None and element.text:
                    yield _SchemaPosition(_TEXT, (), place.by)
            else:
                any_name = "*" in step.names
                for child in self._children(place):
                    if child.name in step.names or (any_name and child.name not in step.excluded):
                        yield child

    def inside(self, places: frozenset[_SchemaPosition], *, attributes: bool) -> Iterator[_SchemaPosition]:
        """Some places and all elements below them, with their attributes if these are wanted."""
        for place in frozenset[_SchemaPosition]().union(*map(self._within, places)):
            yield place
            if attributes:
                yield from self._attributes(place)


class _Pruner:
    """Writes what is left of one document."""

    def __init__(self, hiding: Hiding) -> None:
        self.begun = False
        self._hiding = hiding
        self._open: list[_Tag] = []
        self._document = hiding.document
        self._skipped = 0
        self._pieces: list[str] = []

    def start(self, name: str, attributes: list[str]) -> None:
        if self._skipped:
            self._skipped += 1
            return
        names = self._hiding.names
        tag = self._hiding.tag(self._open[-1].place if self._open else self._document, names.name(name))
        if tag is None:
            self._skipped = 1
            return
        declared = "" if self.begun else names.declarations
        self.begun = True
        self._open.append(tag)
        attributes = names.attributes(attributes)
        given = [pair for pair in zip(attributes[::2], attributes[1::2], strict=True) if pair[0] in tag.attributes]
        if tag.defaults:
            named = {attribute for attribute, _ in given}
            given += [pair for pair in tag.defaults if pair[0] not in named]
        written = "".join(f' {attribute}="{escaped_attribute(value)}"' for attribute, value in given)
        self._pieces.append(f"<{names.name(name)}{declared}{written}>")

    def end(self, name: str) -> None:
        if self._skipped:
            self._skipped -= 1
        else:
            self._open.pop()
            self._pieces.append(f"</{self._hiding.names.name(name)}>")

    def text(self, part: str) -> None:
        if not self._skipped and self._open[-1].text:
            self._pieces.append(escaped_text(part))

    def written(self) -> bytes:
        """What has been written since it was last asked for."""
        text = "".join(self._pieces).encode()
        self._pieces.clear()
        return text


class _ShownError(Exception):
    """A document may not be seen as it is: why."""


class _Looker:
    """Looks for what may not be seen in a document."""

    def __init__(self, hiding: Hiding, reader: XmlReader) -> None:
        self._hiding = hiding
        self._reader = reader
        self._open = [hiding.document]

    def look(self) -> None:
        """Raises :class:`_ShownError` for the first of it."""
        for _ in self._reader.read(self._start, self._end, self._text):
            pass

    def _start(self, name: str, attributes: list[str]) -> None:
        above = self._open[-1]
        self._look_at_declarations()
        name = self._hiding.names.name(name)
        place = self._hiding.place(above, name)
        if place is None:
            self._misplaced(f"{name} in {above.name}" if above.name else f"the root {name}")
        self._hidden(place)
        known = self._hiding.attributes(place)
        for attribute in self._hiding.names.attributes(attributes)[::2]:
            if attribute not in known:
                self._misplaced(f"the attribute {attribute} of {name}")
            self._hidden(known[attribute])
        self._open.append(place)

    def _look_at_declarations(self) -> None:
        """Prefixes are words, too: only those of the schema stand at the root, and none below it."""
        bound, known = self._reader.bound, self._hiding.names.prefixes.namespaces
        if bound is None:
            self._misplaced("the declaration of a namespace below the root")
        for prefix, namespace in bound.items():
            if known.get(prefix) != namespace:
                self._misplaced(f"the declaration of the namespace {namespace}")

    def _end(self, _name: str) -> None:
        self._open.pop()

    def _text(self, part: str) -> None:
        place = self._open[-1]
        if part.strip(_WHITE_SPACE) and not self._hiding.has_text(place):
            self._misplaced(f"text in {place.name}")

    def _hidden(self, place: _SchemaPosition) -> None:
        if place.by:
            raise _ShownError(f"it shows {min(place.by)}, which is hidden from others")

    def _misplaced(self, what: str) -> NoReturn:
        raise _ShownError(f"it may show what is hidden: line {self._reader.position.line}: {what}")


_Places: TypeAlias = frozenset[_SchemaPosition]
_Scope: TypeAlias = Mapping[str, _Places]


class _Toucher:
    """Walks through a query with the places that its variables may stand for."""

    def __init__(self, hiding: Hiding, check: Check) -> None:
        self.touched: set[str] = set()
        self._hiding = hiding
        self._check = check
        self._led: dict[tuple[_Places, str, _Names, _Names], _Places] = {}
        self._looked: set[tuple[_Places, bool]] = set()

    def look(self, part: object, scope: _Scope, context: _Places) -> None:
        """Look at a part of a query, in a predicate with the places of the context node."""
        self._check()
        match part:
            case syntax.Flwor():
                self._flwor(part, scope, context)
            case syntax.PathExpression():
                self._all_of(self._path(part, scope, context), attributes=True)
            case (
                syntax.Exists(argument)
                | syntax.Empty(argument)
                | syntax.TagValue(argument)
                | syntax.NodeIdentity(argument)
            ):
                self._path(argument, scope, context)
            case syntax.Data(argument) | syntax.NumberValue(argument) | syntax.OrderKey(argument):
                self._value(argument, scope, context)
            case syntax.Comparison(_, left, right):
                self._value(left, scope, context)
                self._value(right, scope, context)
            case syntax.FunctionCall() | syntax.Switch():
                for each in syntax.values(part):
                    self._value(each, scope, context)
            case syntax.Conditional():
                for each in syntax.values(part):
                    self.look(each, scope, context)
            case syntax.AttributeConstructor(_, value) | syntax.TextConstructor(value):
                self._value(value, scope, context)
            case syntax.DirectAttribute(_, parts):
                for piece in parts:
                    self._value(piece, scope, context)
            case syntax.Node():
                for inner in _parts(part):
                    self.look(inner, scope, context)
            case _:
                pass

    def _flwor(self, flwor: syntax.Flwor, scope: _Scope, context: _Places) -> None:
        inner = dict(scope)
        for clause in flwor.clauses:
            inner[clause.variable] = self._path(clause.source, inner, context)
        for part in (flwor.where, *flwor.order, flwor.result):
            self.look(part, inner, context)

    def _value(self, part: object, scope: _Scope, context: _Places) -> None:
        """Look at what is taken as text."""
        if isinstance(part, syntax.PathExpression):
            self._all_of(self._path(part, scope, context), attributes=False)
        else:
            self.look(part, scope, context)

    def _path(self, path: syntax.PathExpression, scope: _Scope, context: _Places) -> _Places:
        match path.start:
            case "/" | syntax.COLLECTION:
                places = frozenset({self._hiding.document})
            case ".":
                places = context
            case variable:
                places = scope.get(variable, frozenset())
        for step in path.steps:
            self._check()
            places = self._step(places, step)
            for predicate in step.predicates:
                self.look(predicate, scope, places)
        return places

    def _step(self, places: _Places, step: syntax.Step) -> _Places:
        key = places, step.axis, step.names, step.excluded
        if key not in self._led:
            self._led[key] = frozenset(self._hiding.reached(places, step))
            self._touch(self._led[key])
        return self._led[key]

    def _all_of(self, places: _Places, *, attributes: bool) -> None:
        if (places, attributes) not in self._looked:
            self._looked.add((places, attributes))
            self._touch(self._hiding.inside(places, attributes=attributes))

    def _touch(self, places: Iterable[_SchemaPosition]) -> None:
        for place in places:
            self.touched |= place.by


def _parts(node: syntax.Node) -> Iterator[object]:
    match node:
        case syntax.Sequence(items):
            yield from items
        case syntax.And(conditions) | syntax.Or(conditions):
            yield from conditions
        case syntax.DeepEqual(left, right):
            yield from (left, right)
        case syntax.ElementConstructor(_, attributes, content):
            yield from (*attributes, *content)
        case _:
            pass
