"""Step 1: resolve every path over the asker's schema tree (``semantics.md`` section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from heptox.errors import Fault, TranslationError
from heptox.grammar import lower
from heptox.mapping import Mapping
from heptox.pattern import Member, atom_terms, expression_in_xquery, normalise, template_terms, value_expression
from heptox.schema import ANYWHERE, Path, SchemaTree
from heptox.translate.draft import Draft
from heptox.translate.knowledge import image_constraints, is_large
from heptox.translate.model import Loss, Origin

_NAMED: Final = 3
"""Places that a loss names."""


def expand(draft: Draft) -> Draft:
    """The union of pattern joins that the query stands for, each in normal form, contradictory ones gone.

    Steps that no schema path can stand for are losses, not raised: the query is empty there. So is what ``//name``
    might mean in a large schema where no rule makes anything: documents made by the rules have nothing there.

    Raises :class:`heptox.errors.GrammarError` for queries outside the fragment, and :class:`TranslationError` (HX5017)
    for what computes.
    """
    constraints = image_constraints(draft.mapping)
    tree = constraints.tree
    if is_large(tree):
        tree = SchemaTree(tree.graph, tree.boxes, tree.whole, tree.entered, _makes(draft.mapping))
    lowering = lower(draft.expression, tree, valid=constraints.valid, check=draft.check)

    def normal() -> Iterator[tuple[Member, tuple[Origin, ...]]]:
        for member in lowering.query.members:
            _refuse_computed(member)
            if (found := normalise(member, constraints, draft.check)) is not None:
                yield found, ()

    unmatched = map(_unmatched, (*lowering.unmatched, *lowering.open))
    return draft.become(normal(), (*unmatched, *_passed(tree, tree.passed)))


def _refuse_computed(member: Member) -> None:
    """Refuse (HX5017) a query that computes: its terms are leaves that rules make."""
    terms = (*template_terms(member.template), *(term for atom in member.atoms for term in atom_terms(atom)))
    for expression in (value_expression(term.path) for term in terms):
        if expression is not None:
            shown = expression_in_xquery(expression, lambda path: "/".join(path) or ".")
            hint = "ask for the leaves, and compute with the answer"
            raise TranslationError(Fault("HX5017", f"{shown} is computed, and is not translated yet", hint=hint))


def _makes(mapping: Mapping) -> Callable[[Path], bool]:
    """Whether documents that the rules make can have anything at a path, or below it."""
    made: set[Path] = set()
    copied: set[Path] = set()
    for rule in mapping.rules:
        for head in rule.head:
            for leaf in ((), *head.paths):
                path = (*head.node, *leaf)
                made.update(path[:length] for length in range(len(path) + 1))
            copied.update((*head.node, *leaf) for leaf in head.copied)

    def makes(path: Path) -> bool:
        return path in made or any(path[:length] in copied for length in range(len(path)))

    return makes


def _passed(tree: SchemaTree, places: Iterable[Path]) -> Iterator[Loss]:
    """What ``//name`` has passed by, one loss for each name."""
    named: dict[str, list[Path]] = {}
    for path in places:
        named.setdefault(path[-1].removeprefix(ANYWHERE), []).append(path)
    for name, several in named.items():
        written = [tree.written(path).replace(f"/{ANYWHERE}", ANYWHERE) for path in several[:_NAMED]]
        more = f" and {len(several) - _NAMED:,} more" if len(several) > _NAMED else ""
        yield Loss((), f"no arrow leads to other places of {tree.written((name,))}: {', '.join(written)}{more}")


def _unmatched(fault: Fault) -> Loss:
    return Loss((), f"{fault.message}" + (f" ({fault.hint})" if fault.hint else ""))
