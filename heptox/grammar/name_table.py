"""How the names in a text are read: its prefixes, and the names that a schema declares, for wildcards of namespaces."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from heptox.schema import SchemaGraph
from heptox.xml import NO_PREFIXES, Prefixes, split_name


@dataclass(frozen=True, slots=True, eq=False)
class NameTable:
    """The prefixes of a text that declares none itself, and the names that ``*:local`` and ``p:*`` can stand for.

    These are ``None`` where no schema says them. A table is equal to itself alone: texts are read again and again by
    the same one.
    """

    prefixes: Prefixes = NO_PREFIXES
    elements: frozenset[str] | None = None
    attributes: frozenset[str] | None = None

    @classmethod
    def of(cls, *graphs: SchemaGraph) -> NameTable:
        """The table of some schemas; of their prefixes, those of the first come first."""
        prefixes = NO_PREFIXES
        for graph in reversed(graphs):
            prefixes = prefixes.with_more(dict(graph.prefixes.bound))
        types = [element for graph in graphs for element in graph.elements.values()]
        return cls(
            prefixes,
            frozenset(element.name for element in types),
            frozenset(attribute.name for element in types for attribute in element.attributes),
        )

    def declared(self, *, attribute: bool) -> Collection[str] | None:
        """The names of elements, or of attributes, that are declared."""
        return self.attributes if attribute else self.elements


def standing_for(names: Collection[str], namespace: str | None, local: str | None) -> tuple[str, ...]:
    """The names in a namespace, or of a local name; either may be any (``None``).

    >>> standing_for(["{urn:a}b", "{urn:a}c", "b"], None, "b"), standing_for(["{urn:a}b", "b"], "urn:a", None)
    (('b', '{urn:a}b'), ('{urn:a}b',))
    """
    split = ((name, split_name(name)) for name in sorted(names))
    return tuple(
        sorted(
            (name for name, (there, own) in split if namespace in (None, there) and local in (None, own)),
            key=lambda name: (name.startswith("{"), name),
        )
    )


NO_NAMES: Final = NameTable()
