"""What an XQuery is split into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from heptox.grammar import ITEM, ROW, counted_query, syntax
from heptox.shell.scope import ANSWERS

Kind: TypeAlias = Literal["node", "value"]
"""Whether the items of a core are nodes, or values."""

ITEMS: Final[Mapping[Kind, str]] = {"node": "(@*|node())", "value": "xs:untypedAtomic(string(.))"}
"""The items in the elements around them."""


@dataclass(frozen=True, slots=True)
class Core:
    """What peers are asked, and the variable of the shell that holds its items: nodes, or values. Of a core that
    ``brings_rows`` the shell only takes what rows say.
    """

    query: syntax.Expression
    variable: str
    kind: Kind
    brings_rows: bool = False

    @property
    def counted(self) -> syntax.Expression:
        """The query whose items say which nodes they are of."""
        return counted_query(self.query, ROW if self.brings_rows else ITEM)


@dataclass(frozen=True, slots=True)
class Split:
    """Cores, and the query of the shell: its ``setters``, with namespaces, and the rest; ``aggregate`` is the name of
    the only one that the query is, of a core.
    """

    cores: tuple[Core, ...]
    setters: str
    shell: str
    aggregate: str = ""

    @property
    def text(self) -> str:
        """The query of the shell for an engine, whose context is a document of what the cores have brought."""
        declared = (
            f"declare variable ${core.variable} := /Q{{}}{ANSWERS}/Q{{}}{core.variable}/Q{{}}{ITEM}/"
            f"{ITEMS[core.kind]}; "
            for core in self.cores
        )
        return f"{self.setters}{''.join(declared)}{self.shell}"


def unsplit(expression: syntax.Expression) -> Split:
    """An expression of the fragment as one core, of which the shell is its items."""
    core = Core(expression, "heptox-core1", kind_of(expression) or "node")
    return Split((core,), "", f"${core.variable}")


def is_ordered(expression: syntax.Expression) -> bool:
    """Whether an expression of the fragment asks for an order, which is the shell's: answers of peers are sets."""
    return any(isinstance(node, syntax.Flwor) and node.order for node in syntax.nodes(expression))


def is_wrapped(expression: syntax.Expression) -> bool:
    """Whether what peers answer stands in an element that is there once."""
    if isinstance(expression, syntax.Sequence):
        return any(map(is_wrapped, expression.items))
    paths = (node for node in syntax.nodes(expression) if isinstance(node, syntax.PathExpression))
    is_element = isinstance(expression, syntax.ElementConstructor)
    return is_element and any(path.start in ("/", syntax.COLLECTION) for path in paths)


def kind_of(expression: syntax.Expression) -> Kind | None:
    """What the items of an expression are, where they are of one kind."""
    match expression:
        case syntax.Flwor(result=result):
            return kind_of(result)
        case syntax.Conditional(_, value, None):
            return kind_of(value)
        case syntax.Sequence(items):
            kinds = {kind_of(item) for item in items}
            return kinds.pop() if len(kinds) == 1 else None
        case syntax.PathExpression() | syntax.ElementConstructor():
            return "node"
        case syntax.Data() | syntax.TagValue():
            return "value"
        case _:
            return None
