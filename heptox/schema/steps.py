"""The nodes of a schema tree that a step can stand for: along an axis, by a name, ``*`` or ``text()``.

A box is open: a name that the schema does not declare can be a tag in it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from heptox.errors import Fault, SchemaError
from heptox.schema.element_types import TEXT, WILDCARD
from heptox.schema.tree import ANYWHERE, MAXIMUM_NODES, Axis, Match, Path, SchemaTree, too_large


def axis_matches(tree: SchemaTree, context: Path | None, axis: Axis, test: str) -> Iterator[Match]:
    """The nodes that a step from ``context``, or from the document itself (``None``), can stand for, each once, one
    after the other: where only the first few are needed, the others, which may be many, are not looked for.

    Raises :class:`SchemaError` (HX2010) for ``//*`` and ``//text()`` without bound, or in what is taken whole;
    HX2012 where more than :data:`MAXIMUM_NODES` nodes would be looked at; both also after some matches.
    """
    if context is None:
        if axis in ("child", "descendant") and test in (WILDCARD, tree.root):
            yield Match(())
        if axis in ("child", "attribute"):
            return
        context = ()
    known = tree.known_matches.get((context, axis, test))
    if known is not None and tree.drawn is None:  # else what it passes by is to be said again
        yield from known
        return
    found: dict[Match, None] = {}
    for match in _matches(tree, context, axis, test):
        if match not in found:
            found[match] = None
            yield match
    if test in tree.types.step_names:  # not a tag in an open box: there is no end of them
        tree.known_matches[context, axis, test] = tuple(found)


def _matches(tree: SchemaTree, context: Path, axis: Axis, test: str) -> Iterator[Match]:
    if not tree.is_element(context):
        return
    if axis == "descendant":
        yield from _descendants(tree, context, test)
    elif axis == "descendant-attribute":
        yield from axis_matches(tree, context, "attribute", test)
        for below in _elements_below(tree, context, test):
            yield from axis_matches(tree, below.path, "attribute", test)
    elif axis == "attribute":
        for attribute in tree.element(context).attributes:
            if test in (WILDCARD, attribute.name):
                yield Match((*context, f"@{attribute.name}"))
    elif test == TEXT:
        if tree.element(context).text:
            yield Match((*context, TEXT))
    else:
        yield from _named_children(tree, context, test)


def _elements_below(tree: SchemaTree, context: Path, attribute: str) -> Iterator[Match]:
    """All elements below a node, of which an attribute is asked."""
    if tree.drawn is None:
        return axis_matches(tree, context, "descendant", WILDCARD)
    return _descendants(tree, context, WILDCARD, attribute)


def _may_have_attribute(tree: SchemaTree, path: Path, test: str) -> bool:
    """Whether an element at a path, or below it, may have an attribute."""
    own = tree.element(path)
    elements = (own, *(tree.graph.elements[key] for key in tree.types.below(own.key)))
    return any(test in (WILDCARD, attribute.name) for element in elements for attribute in element.attributes)


def _named_children(tree: SchemaTree, context: Path, test: str) -> Iterator[Match]:
    for child in tree.children(context):
        if not tree.is_element(child):
            continue
        box = tree.box(child)
        if box is None:
            if test in (WILDCARD, child[-1]):
                yield Match(child)
        elif test == WILDCARD:
            yield Match(child)
        elif test in box.members or tree.value_of_tag(child, test) is not None:
            yield Match(child, test)


def _descendants(tree: SchemaTree, context: Path, test: str, attribute: str | None = None) -> Iterator[Match]:
    waiting = deque([context])
    met = 0
    while waiting:
        met += 1
        if met > MAXIMUM_NODES:
            raise too_large(tree.graph)
        path = waiting.popleft()
        if tree.whole_at(path) is not None or tree.is_cyclic(path):
            if _holds(tree, path, test):
                yield Match((*path, _anywhere(tree, path, test)))
            continue
        yield from (
            match for match in _matches(tree, path, "child", test) if _is_drawn(tree, match.path, (), attribute)
        )
        for child in tree.children(path):
            further = (f"{ANYWHERE}{test}",)
            if tree.is_element(child) and _holds(tree, child, test) and _is_drawn(tree, child, further, attribute):
                waiting.append(child)


def _is_drawn(tree: SchemaTree, path: Path, further: Path, attribute: str | None) -> bool:
    """Whether anything stands at a path. Where nothing does, what is asked for is passed by, which the tree keeps: an
    ``attribute`` at the element there or below, or else what is ``further`` from there."""
    if tree.drawn is None or _valued(tree, path) in tree.drawn:
        return True
    if attribute is None:
        tree.passed[(*path, *further)] = None
    elif _may_have_attribute(tree, path, attribute):
        tree.passed[(*path, f"{ANYWHERE}@{attribute}")] = None
    return False


def _valued(tree: SchemaTree, path: Path) -> Path:
    """The node that arrows lead to: of the text of an element that holds nothing else, the element."""
    return path[:-1] if path[-1] == TEXT and tree.is_leaf(path[:-1]) else path


def _anywhere(tree: SchemaTree, path: Path, test: str) -> str:
    """The step to elements at any depth below a node that has no bound, or is taken whole."""
    if test in (WILDCARD, TEXT):
        name = tree.element(path).name
        raise SchemaError(
            Fault(
                "HX2010",
                f"a step //{test} meets {name}, which has no bound, or is taken whole",
                hint="name the elements",
            )
        )
    return f"{ANYWHERE}{test}"


def _holds(tree: SchemaTree, path: Path, test: str) -> bool:
    """Whether a node that a step can stand for may be found below ``path``; never false when there is one."""
    element = tree.element(path)
    if test == WILDCARD:
        return bool(element.children)
    below = tree.names_below(path)
    if test == TEXT:
        return element.text or any(tree.types_by_name.graph.elements[name].text for name in below)
    if test in below:
        return True
    has_boxes = any(box.path[: len(path)] == path for box in tree.boxes)
    return has_boxes and tree.whole_at(path) is None and not tree.is_cyclic(path)
