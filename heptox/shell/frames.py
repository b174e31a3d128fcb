"""The beginnings of loops that a core says: their clauses and conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from lark import Tree

from heptox.errors import GrammarError
from heptox.grammar import QueryText, syntax
from heptox.shell.parts import Part, conjuncts
from heptox.shell.projection import Projection
from heptox.shell.scope import Frame, Node, Path, Place, bound_by_cores


@dataclass(slots=True)
class Beginning:
    """What a frame's core says, with the places of its variables in the ``scope``, but for ``conditions`` left to the
    shell.
    """

    reading: QueryText
    own: Frame
    scope: dict[str, Place]
    conditions: list[Part] = field(default_factory=list)

    def takes(self, clause: Part) -> bool:
        """Whether the core of a frame says a clause, but for ``conditions`` that are left."""
        if not isinstance(clause, Tree) or clause.data not in ("for_clause", "let_clause", "where_clause"):
            return False
        if clause.data == "where_clause":
            for part in conjuncts(clause.children[1]) if self.own.has_loop else ():
                found = self.reading.condition(part, bound_by_cores(self.scope))
                if isinstance(found, GrammarError):
                    self.conditions.append(part)
                else:
                    self.own.where.append(found)
            return self.own.has_loop
        if self.own.where or self.conditions:
            return False
        clauses, known = list(self.own.clauses), dict(self.scope)
        for binding in clause.children[1:]:
            if not self.takes_binding(binding, is_loop=clause.data == "for_clause"):
                self.own.clauses = clauses
                self.scope.clear()
                self.scope.update(known)
                return False
        return True

    def takes_binding(self, binding: Part, *, is_loop: bool) -> bool:
        """Whether the core says the binding of a variable."""
        assert isinstance(binding, Tree)
        found = self.reading.expression(binding.children[-1], bound_by_cores(self.scope))
        is_plain_binding = not any(getattr(each, "type", "") == "OUTSIDE_BINDING" for each in binding.children)
        if not is_plain_binding or not isinstance(found, syntax.PathExpression):
            return False
        variable, start = str(binding.children[0]), self.scope.get(found.start)
        is_of_documents = not found.start.startswith("$") or (isinstance(start, Path) and start.is_of_documents)
        if is_loop:
            self.own.clauses.append(syntax.For(variable, found))
            self.scope[variable] = Node(Projection(), self.own)
        else:
            self.own.clauses.append(syntax.Let(variable, found))
            self.scope[variable] = Path(self.own, found, binding.children[-1], is_of_documents)
        return True
