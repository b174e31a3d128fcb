"""Why a translation is what it is: the patterns of its four steps, the rules behind each member, and the losses with
the arrows that would carry them (``semantics.md`` section 8).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from heptox.grammar import Expression, print_query, syntax
from heptox.pattern import NODE, TAG, Member, Variable, atom_terms, template_terms
from heptox.schema import ANYWHERE, WILDCARD, Path, SchemaTree
from heptox.translate.arrows import missing_arrow
from heptox.translate.drawing import draw
from heptox.translate.knowledge import with_wholes
from heptox.translate.model import Origin, Step
from heptox.translate.path import HopTranslation


@dataclass(frozen=True, slots=True, order=True)
class RuleUse:
    """The rule that makes a node of the asker's schema; rules are counted from 1 in the section of ``heptox map show``
    that makes it.
    """

    node: Path
    rule: int
    name: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return f"rule {self.rule} makes {self.name or '/'.join(self.node)}"


@dataclass(frozen=True, slots=True)
class ExplainedMember:
    """A member of a union after some step, drawn and printed.

    ``choices`` are the ways to choose rules that lead to it, each a rule for every lowest node of the target schema's
    pattern; none before the rules are applied. ``dummies`` are the schema nodes that the query did not name: before the
    rules are applied, nodes that ``//`` passes; after it, those without a leaf of their own that a chosen rule ties to
    one that the query names.
    """

    tree: str
    text: str
    choices: tuple[tuple[RuleUse, ...], ...] = ()
    dummies: tuple[Path, ...] = ()
    dummy_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """The union after one step."""

    name: str
    members: tuple[ExplainedMember, ...]


@dataclass(frozen=True, slots=True)
class ExplainedLoss:
    """A leaf or node of the asker's schema that is not carried, what that costs, and the arrow that would carry it."""

    path: Path
    effect: str
    arrow: str | None
    name: str = ""
    """How a text has the path, where that is not its steps with slashes between."""

    def __str__(self) -> str:
        return f"{self.name or '/'.join(self.path)}: {self.effect}" if self.path else self.effect


@dataclass(frozen=True, slots=True)
class Explanation:
    """The query of a hop as it was asked, the four steps of its translation, and what was lost."""

    asked: str
    steps: tuple[ExplainedStep, ...]
    losses: tuple[ExplainedLoss, ...]


def explain(hop: HopTranslation) -> Explanation:
    """The explanation of one hop (``semantics.md`` section 8)."""
    return _Explaining(hop).explanation()


def losses(hop: HopTranslation) -> tuple[ExplainedLoss, ...]:
    """What a hop lost, with the arrows that would carry it."""
    lost = {loss.path for loss in hop.translation.losses}
    invented = hop.hop.to.answered_by(hop.hop.mapping).invented_target

    def arrow(path: Path) -> str | None:
        if not path or path in invented or any(other[: len(path)] == path != other for other in lost):
            return None  # an arrow for the leaf below carries the node too
        return missing_arrow(hop.hop.mapping, hop.hop.to, path)

    return tuple(ExplainedLoss(loss.path, loss.effect, arrow(loss.path), loss.name) for loss in hop.translation.losses)


class _Explaining:
    def __init__(self, hop: HopTranslation) -> None:
        self.asked = hop.asked
        self.hop = hop
        self.mapping = with_wholes(hop.hop.to.answered_by(hop.hop.mapping))
        self.named = _NamedSteps.of(hop.asked)

    def explanation(self) -> Explanation:
        expand, *others = self.hop.translation.steps
        steps = (self.expanded(expand), *map(self.translated, others))
        return Explanation(print_query(self.asked, self.mapping.target.graph.prefixes), steps, losses(self.hop))

    def expanded(self, step: Step) -> ExplainedStep:
        tree = step.constraints.tree
        drawn = []
        for member, text in zip(step.query.members, step.members, strict=True):
            passed = [v for v in member.variables if v.parent is not None and not self.named.names(tree, v.node)]
            drawn.append(_explained(member, step, text, (), passed))
        return ExplainedStep(step.name, tuple(drawn))

    def translated(self, step: Step) -> ExplainedStep:
        drawn = []
        for member, text, origins in zip(step.query.members, step.members, step.origins, strict=True):
            tied = {leaf for origin in origins for leaf in self.tied(origin)}
            passed = [
                v for v in member.variables if v.parent is not None and not _owns(step.constraints.tree, v.node, tied)
            ]
            choices = tuple(sorted({self.uses(origin) for origin in origins}))
            drawn.append(_explained(member, step, text, choices, passed))
        return ExplainedStep(step.name, tuple(drawn))

    # -- which rules ---------------------------------------------------------------------------------------------

    def uses(self, origin: Origin) -> tuple[RuleUse, ...]:
        """The rules that were chosen, by the nodes that they make."""
        nodes = {variable.name: variable.node for variable in origin.asked.variables}
        used = ((nodes[name], self.mapping.rules.index(rule) + 1) for name, rule in origin.rules)
        return tuple(sorted(RuleUse(node, rule, self.mapping.target.written(node)) for node, rule in used))

    # -- what the query named ------------------------------------------------------------------------------------

    def tied(self, origin: Origin) -> Iterator[Path]:
        """The leaves on the answering side that the chosen rules tie to a leaf that the query names."""
        named = set(self.named_leaves(origin.asked))
        for target, source in self.correspondences(origin):
            if any(target[: len(path)] == path or path[: len(target)] == target for path in named):
                yield source

    def named_leaves(self, member: Member) -> Iterator[Path]:
        """The leaves that a member speaks of, and those of the nodes that the query names."""
        tree = self.mapping.target
        terms = [term for atom in member.atoms for term in atom_terms(atom)]
        for term in (*terms, *template_terms(member.template)):
            yield member.path(term)
        for variable in member.variables:
            if variable.parent is not None and self.named.names(tree, variable.node):
                yield from ((*variable.node, *leaf) for leaf in tree.own_leaves(variable.node))

    def correspondences(self, origin: Origin) -> Iterator[tuple[Path, Path]]:
        """The pairs of target and source leaf that the chosen rules relate at or above the nodes asked for."""
        nodes = {variable.name: variable.node for variable in origin.asked.variables}
        for name, rule in origin.rules:
            for head in rule.head:
                if nodes[name][: len(head.node)] == head.node:
                    for leaf, term in head.leaves:
                        if term.path != (NODE,):
                            yield (*head.node, *leaf), rule.path(term)


def _explained(
    member: Member, step: Step, text: str, choices: tuple[tuple[RuleUse, ...], ...], passed: list[Variable]
) -> ExplainedMember:
    tree = step.constraints.tree
    drawn = draw(member, tree, {variable.name for variable in passed}, step.prefixes)
    dummies = tuple(dict.fromkeys(variable.node for variable in passed))
    return ExplainedMember(drawn, text, choices, dummies, tuple(map(tree.written, dummies)))


def _owns(tree: SchemaTree, node: Path, leaves: Iterable[Path]) -> bool:
    """Whether a stop node owns one of the leaves, or stands inside a subtree that is one."""
    for leaf in leaves:
        owner = leaf[:-1] if leaf[-1] == TAG else tree.stop(leaf)
        if owner == node or (tree.is_whole(leaf) and node[: len(leaf)] == leaf):
            return True
    return False


@dataclass(frozen=True, slots=True)
class _NamedSteps:
    """The element names that a query writes, ``*`` among them where it has a wildcard."""

    written: frozenset[str]

    @classmethod
    def of(cls, expression: Expression) -> _NamedSteps:
        steps = (node for node in syntax.nodes(expression) if isinstance(node, syntax.Step))
        return cls(frozenset(name for step in steps for name in step.names))

    def names(self, tree: SchemaTree, node: Path) -> bool:
        """Whether a step of the query can stand for an element node itself, and not only pass it."""
        if WILDCARD in self.written:
            return True
        box = tree.box(node)
        if box is None:
            return node[-1].removeprefix(ANYWHERE) in self.written
        return any(tree.value_of_tag(node, name) is not None for name in self.written)
