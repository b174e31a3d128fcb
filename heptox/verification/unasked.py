"""What a mapping computes and no query can ask for: XQuery has no one form of it, so it is refused (HX3068)."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.errors import GrammarError
from heptox.grammar import render
from heptox.mapping import Mapping, path_text
from heptox.pattern import (
    Absence,
    Atom,
    Constraints,
    LeafItem,
    Member,
    Presence,
    Query,
    Term,
    Text,
    Variable,
    is_computed,
    is_constant,
)
from heptox.schema import Path, plain

_ROOT, _NODE = "root", "node"


def unasked(mapping: Mapping) -> Iterator[str]:
    """The computed leaves of the target that no translated query gives back, or of which none asks whether they are
    absent, and why not.
    """
    constraints = Constraints(mapping.source)
    found: dict[Path, str] = {}
    for rule in mapping.rules:
        for head in rule.head:
            for leaf, term in head.leaves:
                if is_computed(term.path) and not is_constant(term.path):
                    node = plain(rule.node(term.variable))
                    variables = (Variable(_ROOT, ()), *((Variable(_NODE, node, _ROOT),) if node else ()))
                    computed = Term(variables[-1].name, term.path)
                    given = _refusal(variables, Presence(computed), computed, constraints)
                    asked = given or _refusal(variables, Absence(computed), Text(""), constraints)
                    if asked is not None:
                        path = (*plain(head.node), *leaf)
                        text = path_text(mapping.target, path)
                        refused = f"whether {text} is absent" if given is None else text
                        found.setdefault(path, f"{refused} cannot be asked for: {asked}")
    yield from found.values()


def _refusal(variables: tuple[Variable, ...], atom: Atom, item: Term | Text, constraints: Constraints) -> str | None:
    """Why a query for an item, on a condition, cannot be said."""
    member = Member(variables, frozenset((atom,)), LeafItem("element", "item", item))
    try:
        render(Query((member,)), constraints)
    except GrammarError as error:
        return error.faults[0].message
    return None
