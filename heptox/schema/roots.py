"""The root of a schema: which element type is meant by a name that somebody wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from heptox.errors import Fault, SchemaError, near_names
from heptox.schema.model import SchemaGraph
from heptox.xml import UnboundPrefixError, split_name


def chosen_root(graph: SchemaGraph, root: str | None, candidates: Sequence[str] | None = None) -> str:
    """The root that is meant by ``root``: an expanded name, a name with a prefix of the schema, or a local name that
    only one element has that may be the root. Without it, the only one of the ``candidates``.

    Raises :class:`SchemaError` (HX2005).
    """
    step = graph.prefixes.step
    if root is None:
        found = [graph.root] if candidates is None else list(candidates)
        if len(found) == 1:
            return found[0]
        message = "several elements may be the root" if found else "every global element is a child of another"
        names = ", ".join(map(step, found or graph.roots))
        raise SchemaError(Fault("HX2005", message, file=graph.file, hint=f"name the root: {names}"))
    try:
        named = root if root.startswith("{") else graph.prefixes.expanded(root)
    except UnboundPrefixError:
        named = root
    roots = graph.roots or tuple(graph.elements)
    if named in roots:
        return named
    local = [name for name in roots if split_name(name)[1] == root]
    if len(local) == 1:
        return local[0]
    if local:
        hint = f"name one of {', '.join(map(step, local))}"
        raise SchemaError(
            Fault("HX2005", f"the root {root} is declared in several namespaces", file=graph.file, hint=hint)
        )
    near = near_names(root, map(step, roots), 3, 0.4) or sorted(map(step, roots))[:5]
    message = f"the root {root} is not declared"
    raise SchemaError(Fault("HX2005", message, file=graph.file, hint=f"such as {', '.join(near)}"))


def global_candidates(graph: SchemaGraph, namespace: str) -> list[str]:
    """The global elements that may be the root: those of the schema's own namespace that are nobody's child but perhaps
    their own, or the only one that there is; where it has none, those of any namespace."""
    children = {
        child.key for element in graph.elements.values() for child in element.children if child.key != element.key
    }
    for globals_ in ([name for name in graph.roots if split_name(name)[0] == namespace], list(graph.roots)):
        if top := [name for name in globals_ if name not in children]:
            return top
        if len(globals_) == 1:
            return globals_
    return []


def rooted(graph: SchemaGraph, root: str) -> SchemaGraph:
    """The graph with a root, without what cannot stand below it, and without its text.

    >>> from heptox.schema.model import Element
    >>> graph = SchemaGraph("a", {"a": Element("a"), "b": Element("b")})
    >>> list(rooted(graph, "b").elements)
    ['b']
    """
    reached = {root}
    waiting = [root]
    while waiting:
        new = {child.key for child in graph.elements[waiting.pop()].children} - reached
        reached |= new
        waiting += new
    return replace(
        graph,
        root=root,
        roots=(root,),
        elements={key: element for key, element in graph.elements.items() if key in reached},
        keys=tuple(key for key in graph.keys if key.element in reached),
        references=tuple(reference for reference in graph.references if reference.element in reached),
        text=None,
    )
