"""Names in a query that its schema does not have, and what was probably meant."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final

from heptox.errors import Fault, near_names
from heptox.grammar import query as syntax
from heptox.schema import TEXT, Path, SchemaGraph, SchemaTree
from heptox.xml import NO_PREFIXES, Prefixes

_MOST_NAMES: Final = 20
"""Names of one step that are shown, and compared with those of the schema."""
MOST_KNOWN: Final = 10
"""How many of the names that stand somewhere are listed."""
FAR: Final = 0.75
"""How close a name must be that stands at another place: there are many."""
_TESTS: Final = ("*", TEXT)


def near_name(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that was probably meant: one that differs in case only, else the closest, if any is as close
    as ``cutoff``.

    >>> near_name("Titel", ["author", "title"]), near_name("BOOK", ["books", "book"]), near_name("x", ["title"])
    ('title', 'book', None)
    """
    return _nearest(name, _by_fold((one, one) for one in known), cutoff)


def _by_fold(names: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Names, each by how it is written without regard to case, the first one where several are so."""
    found: dict[str, str] = {}
    for written, name in names:
        found.setdefault(written.casefold(), name)
    return found


def _nearest(written: str, by_fold: Mapping[str, str], cutoff: float) -> str | None:
    folded = written.casefold()
    if folded in by_fold:
        return by_fold[folded]
    close = near_names(folded, by_fold, cutoff=cutoff)
    return by_fold[close[0]] if close else None


def hint_for(tree: SchemaTree, step: syntax.Step, context: Path | None) -> str:
    """What would have worked where a step stands for nothing below the node at ``context``, or, where that is ``None``,
    below the document itself: a near name, the place where the name stands, else what is there.
    """
    if context is not None and not tree.is_element(context):
        return "nothing stands below a text or an attribute"
    meant = None if step.names[0] in _TESTS else _meant(tree, step, context)
    if context is None and "descendant" not in step.axis and meant:
        return f"{_there(tree, None)}; {meant}"
    return meant or _there(tree, context)


def may_be_tag(name: str, tree: SchemaTree) -> bool:
    """Whether a name that is not declared may be a tag in a box of a tree: there is one, and no declared name is near.

    >>> from heptox.schema import parse_dtd
    >>> may_be_tag("b", SchemaTree(parse_dtd("<!ELEMENT a EMPTY>")))
    False
    """
    return bool(tree.boxes) and near_name(name, tree.types.names, FAR) is None


def undeclared(expression: syntax.Expression, tree: SchemaTree) -> Iterator[Fault]:
    """A fault (HX3041) for each step of a query, in the fragment or outside it, of whose names none is declared.

    Where there are boxes, a name that is not declared may be a tag in one: so it is, unless it is near a declared one.
    Where there is open content, any name may stand there: :func:`doubtful` tells of those.
    """
    if tree.may_hold_anything(None, deep=True):
        return
    for node in _undeclared_steps(expression, tree):
        message = f"{nothing_for(node, tree.graph.prefixes)} anywhere in the schema"
        yield Fault("HX3041", message, node.position, hint=_meant_anywhere(tree, node) or _there(tree, None))


def doubtful(expression: syntax.Expression, tree: SchemaTree) -> Iterator[str]:
    """A note on each step of a query whose names stand in open content at most, though others were probably meant.

    >>> from heptox.grammar import parse_query
    >>> from heptox.schema import parse_dtd
    >>> tree = SchemaTree(parse_dtd("<!ELEMENT a (name, b)> <!ELEMENT name (#PCDATA)> <!ELEMENT b ANY>", "a"))
    >>> print(*doubtful(parse_query("//nmae"), tree))
    <text>:1:3: no node nmae but what may stand in open content (did you mean /a/name?)
    """
    if not tree.may_hold_anything(None, deep=True):
        return
    for node in _undeclared_steps(expression, tree):
        if hint := _meant_anywhere(tree, node):
            place = f"{node.position}: " if node.position else ""
            yield f"{place}{nothing_for(node, tree.graph.prefixes)} but what may stand in open content ({hint})"


def _undeclared_steps(expression: syntax.Expression, tree: SchemaTree) -> Iterator[syntax.Step]:
    attributes = set(_attributes(tree.graph))
    for node in syntax.nodes(expression):
        if not isinstance(node, syntax.Step) or node.names[0] in _TESTS:
            continue
        is_attribute = bool(_sign(node))
        if any(name in (attributes if is_attribute else tree.types.names) for name in node.names):
            continue
        if not is_attribute and all(may_be_tag(name, tree) for name in node.names):
            continue
        yield node


def nothing_for(step: syntax.Step, prefixes: Prefixes = NO_PREFIXES) -> str:
    """That there is nothing that a step could stand for, as messages say it.

    >>> nothing_for(syntax.Step("attribute", ("id",))), nothing_for(syntax.Step("child", ("*",), excluded=("a", "b")))
    ('no node @id', 'no element but a, b')
    """
    if step.names[0] != "*":
        names = (prefixes.step(f"{_sign(step)}{name}") for name in step.names[:_MOST_NAMES])
        return f"no node {_sign(step)}{'|'.join(name.removeprefix('@') for name in names)}"
    excluded = f" but {', '.join(map(prefixes.step, step.excluded[:_MOST_NAMES]))}" if step.excluded else ""
    return f"no attribute{excluded}" if _sign(step) else f"no element{excluded}"


def _sign(step: syntax.Step) -> str:
    return "@" if "attribute" in step.axis else ""


def _meant(tree: SchemaTree, step: syntax.Step, context: Path | None) -> str | None:
    """What the names of a step were probably meant to be, ``None`` where nothing is near."""
    if "descendant" not in step.axis:
        here = _names_below(tree, context)
        kind = [name for name in here if name.startswith("@") == bool(_sign(step))]
        for name in step.names[:_MOST_NAMES]:
            written = tree.graph.prefixes.step
            by_fold = _by_fold((written(one), one) for one in kind)
            near = _nearest(written(f"{_sign(step)}{name}"), by_fold, 0.6)
            other = name if _sign(step) else f"@{name}"
            if near or other in here:
                return f"did you mean {tree.graph.prefixes.step(near or other)}?"
    return _meant_anywhere(tree, step)


def _names_below(tree: SchemaTree, context: Path | None) -> list[str]:
    """What a step can name there, with the members of boxes in their place."""
    if context is None:
        return [tree.root]
    found: list[str] = []
    for path in tree.children(context):
        box = tree.box(path)
        found += [path[-1]] if box is None else box.members
    return [name for name in found if name != TEXT]


def _meant_anywhere(tree: SchemaTree, step: syntax.Step) -> str | None:
    """Where the names of a step, names near them, or the same names of the other kind stand."""
    return _place_meant(tree, step.names[:_MOST_NAMES], is_attribute=bool(_sign(step)))


@lru_cache(maxsize=512)
def _place_meant(tree: SchemaTree, names: tuple[str, ...], *, is_attribute: bool) -> str | None:
    """Where it is probably meant that names of one kind stand: the same names are asked of many documents."""
    elements, attributes = sorted(tree.types.names), _attributes(tree.graph)
    own, other = (attributes, elements) if is_attribute else (elements, attributes)
    written = tree.graph.prefixes.step
    for name in names:
        near = name if name in own else _nearest(written(name), _by_fold((written(one), one) for one in own), FAR)
        for meant, is_there in ((near, is_attribute), (name if name in other else None, not is_attribute)):
            place = meant and _place(tree.graph, meant, is_attribute=is_there)
            if place:
                return f"did you mean {place}?"
    return None


def _there(tree: SchemaTree, context: Path | None) -> str:
    """What stands below a node, for people."""
    written = tree.graph.prefixes.step
    if context is None:
        return f"the root is {written(tree.root)}"
    known = [written(path[-1]) for path in tree.children(context)]
    if not known:
        element = tree.element(context)
        holds = "holds text only" if element.text_only else "may hold anything" if element.open else "is always empty"
        return f"{written(element.name)} {holds}"
    more = len(known) - MOST_KNOWN
    return f"known there: {', '.join(known[:MOST_KNOWN])}" + (f" and {more} more" if more > 0 else "")


def _attributes(schema: SchemaGraph) -> list[str]:
    return list(dict.fromkeys(one.name for element in schema.elements.values() for one in element.attributes))


def _place(schema: SchemaGraph, name: str, *, is_attribute: bool) -> str | None:
    """A shortest path from the document to an element type, or to an attribute; ``None`` where none leads there."""
    written = schema.prefixes.step
    waiting = deque([(schema.root, f"/{written(schema.elements[schema.root].name)}")])
    met = {schema.root}
    while waiting:
        key, place = waiting.popleft()
        element = schema.elements[key]
        if is_attribute and any(one.name == name for one in element.attributes):
            return f"{place}/{written(f'@{name}')}"
        if not is_attribute and element.name == name:
            return place
        for child in element.children:
            if child.key not in met:
                met.add(child.key)
                waiting.append((child.key, f"{place}/{written(child.name)}"))
    return None
