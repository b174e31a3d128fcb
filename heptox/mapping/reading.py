"""Rules from their text: every name resolved, every variable bound, every head a chain (``semantics.md`` section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from heptox.grammar import BodyTree, HeadTree, Identity, Node, RuleText, node_value
from heptox.mapping.code_tables import ReadTable
from heptox.mapping.declarations import DeclaredSide
from heptox.mapping.findings import Findings
from heptox.mapping.identity import identity_terms, is_always_there
from heptox.mapping.model import HeadNode, Rule
from heptox.mapping.naming import function_name
from heptox.mapping.nil_values import NIL_HINT, NilFault, without_nil
from heptox.mapping.optional import Body
from heptox.mapping.paths import path_text, schema_order
from heptox.mapping.rule_conditions import ConditionReader
from heptox.mapping.rule_heads import HeadReader
from heptox.mapping.rule_scope import RuleScope
from heptox.mapping.selected_nodes import MOST_BY_VALUES, TooManyRulesError, by_values
from heptox.pattern import NODE, TAG, Term, Variable
from heptox.schema import Path, SchemaTree


def read_rules(
    written: Sequence[RuleText], source: DeclaredSide, target: DeclaredSide, findings: Findings, tables: ReadTable
) -> tuple[Rule, ...]:
    """The rules of a section that can be read, in the order of the file; what is wrong goes to ``findings``.

    Their bodies are in the schema of ``source``, their heads in that of ``target``: in a section ``against:`` these are
    the mapping's target and source. ``tables`` gives the texts of the tables of codes that they name.
    """
    rules: dict[Rule, RuleText] = {}
    for text in written:
        rule = _RuleReader(RuleScope(source, target, findings, tables)).rule(text)
        if rule is None:
            continue
        if rule in rules:
            findings.add("HX4004", "the rule stands twice", text, "keep one of them")
        rules.setdefault(rule, text)
    _check_root_leaves(rules, source.tree, target.tree, findings)
    _check_overlaps(rules, target.tree, findings)

    def report(rule: Rule, fault: NilFault) -> None:
        for path in fault.leaves:
            message = f"{path_text(source.tree, path)} is not taken: {fault.reason}"
            findings.add("HX4037", message, single[rule], NIL_HINT)

    single: dict[Rule, RuleText] = {}
    for rule, text in rules.items():
        try:
            single |= dict.fromkeys(by_values(rule), text)
        except TooManyRulesError:
            message = (
                f"the conditions of the rule have too many values: at most {MOST_BY_VALUES} rules are made of them"
            )
            findings.add("HX4021", message, text, "write several rules")
    return tuple(without_nil(single, source.tree, report))


@dataclass(slots=True)
class _RuleReader:
    """Reads one rule."""

    scope: RuleScope
    entered: dict[str, Node] = field(default_factory=dict)
    """The variables of nodes that need not be there, by ``->?``."""

    def rule(self, text: RuleText) -> Rule | None:
        scope = self.scope
        if not (scope.is_root(scope.source, text.body.label) and scope.is_root(scope.target, text.head.label)):
            return None
        self._bind_stop(text.body, (), None)
        reader, head_reader = ConditionReader(scope), HeadReader(scope)
        conditions = [(condition, at) for at in text.conditions if (condition := reader.condition(at))]
        links = [(link, at) for at in text.conditions if (link := reader.link(at))]
        head = head_reader.chain(text.head)
        if head is None or not scope.is_sound():
            return None
        order = {v.name: schema_order(scope.source.tree, v.node) for v in scope.variables}
        variables = tuple(sorted(scope.variables, key=lambda variable: order[variable.name]))
        parts = Body(variables, self.entered, links, conditions, scope.report).optional(text.body)
        if parts is None:
            return None
        required = reader.of_required(conditions, variables, parts)
        if not scope.is_sound():
            return None
        rule = Rule(head, variables, required, parts)
        self._check_identities(rule, head_reader.inner)
        return rule if scope.is_sound() else None

    def _bind_stop(self, tree: BodyTree, path: Path, parent: str | None) -> None:
        name = tree.variable[1:]
        if tree.optional:
            self._enter(tree, path)
        self.scope.bind(tree.variable, Term(name), tree)
        self.scope.terms[node_value(tree.variable)] = Term(name, (NODE,))
        if not any(variable.name == name for variable in self.scope.variables):
            self.scope.variables.append(Variable(name, path, parent))
        if isinstance(tree.label.tag, str):
            self.scope.bind(tree.label.tag, Term(name, (TAG,)), tree.label)
        elif tree.label.tag:
            hint = "write $variable, and a condition that says what it equals"
            self.scope.report("HX4020", "a tag in a body has a variable", tree.label, hint)
        self._read_parts(tree, path, name, path)

    def _enter(self, tree: BodyTree, path: Path) -> None:
        if path and self.scope.source.tree.is_stop(path):
            self.entered[tree.variable[1:]] = tree
        else:
            message = f"{self.scope.source_text(path)} stands once" if path else "the root is always there"
            hint = "write ->: what stands once and is absent loses nothing"
            self.scope.report("HX4035", f"{message}: ->? is for nodes that repeat", tree, hint)

    def _read_parts(self, tree: BodyTree, path: Path, variable: str, stop: Path) -> None:
        for part in tree.parts:
            below = self.scope.node(self.scope.source, path, part.label)
            if below is None:
                self.scope.unknown |= _variables(part)
                continue
            if self.scope.source.tree.is_stop(below):
                self._bind_stop(part, below, variable)
            else:
                if part.optional:
                    self._enter(part, below)
                self.scope.bind(part.variable, Term(variable, below[len(stop) :]), part)
                self._read_parts(part, below, variable, stop)

    def _check_identities(self, rule: Rule, inner: Iterable[tuple[Path, HeadTree]]) -> None:
        """A Skolem term must be the one that follows from path, leaves and keys, but for ``each``.

        No other identity has a meaning here.
        """
        heads = {node.node: node for node in rule.head}
        for path, tree in inner:
            head = heads[self.scope.target.tree.stop(path)]
            each = head.each if head.node == path else None
            expected = identity_terms(self.scope.target.tree, rule, path)
            names = {term: name for name, term in reversed(self.scope.terms.items())}
            wanted = Identity(
                function_name(self.scope.target.tree, path),
                tuple(names[term] for term in expected),
                each and f"${each}",
            )
            given = [
                self.scope.terms.get(argument)
                if isinstance(argument, str)
                else self.scope.value(argument, tree.identity)
                for argument in tree.identity.arguments
            ]
            same = (tree.identity.function, tree.identity.each) == (wanted.function, wanted.each)
            if not same or Counter(given) != Counter(expected):
                message = f"{tree.identity} is not the identity of {self.scope.target_text(path)}"
                self.scope.report(
                    "HX4033", message, tree.identity, f"{_reason(self.scope.target.tree, head, path)}: {wanted}"
                )
            elif head.node == path:
                self._check_key(rule, head, tree.identity)

    def _check_key(self, rule: Rule, head: HeadNode, at: Identity) -> None:
        """A key must have a value wherever the rule binds."""
        term = head.term(head.key) if head.key is not None else None
        if term is None or is_always_there(self.scope.source.tree, rule, term):
            return
        name = next(name for name, bound in self.scope.terms.items() if bound == term)
        hint = f"require it: present {name}; what has none is made by another rule, without it, with absent {name}"
        if not any(variable.name == term.variable for variable in rule.required):
            hint = "bind its node with -> and =, and make what has none in another rule, without it"
        self.scope.report(
            "HX4033", f"{name} identifies {self.scope.target_text(head.node)}, and may be absent", at, hint
        )


def _reason(tree: SchemaTree, head: HeadNode, path: Path) -> str:
    """Why a node that ``head`` owns has the identity that it has."""
    if head.each is None and head.key is None:
        return "a function of its path and of the leaves reached from it by single edges"
    if head.node != path:
        return f"a function of its path, for {path_text(tree, head.node)} has one"
    if head.key is not None:
        return (
            f"a function of its path and of the key {path_text(tree, head.node + head.key)} that the mapping declares"
        )
    return "a function of its path and of the node that it stands for, and of its tag in a box"


def _variables(tree: BodyTree) -> set[str]:
    found = {tree.variable} | ({tree.label.tag} if isinstance(tree.label.tag, str) else set())
    return found.union(*(_variables(part) for part in tree.parts))


def _supplied(rules: dict[Rule, RuleText]) -> Iterable[tuple[Path, Path, bool, RuleText]]:
    """For each leaf of each rule: target path, source path, whether it is copied, and where."""
    for rule, text in rules.items():
        for node in rule.head:
            for path, term in node.leaves:
                yield node.node + path, rule.path(term), path in node.copied, text


def _check_root_leaves(rules: dict[Rule, RuleText], source: SchemaTree, tree: SchemaTree, findings: Findings) -> None:
    taken: dict[Path, Path] = {}
    for rule, text in rules.items():
        for path, term in rule.head[0].leaves:
            begin = rule.path(term)
            if taken.setdefault(path, begin) != begin:
                other = path_text(source, taken[path])
                message = f"{path_text(tree, path)} stands once below the root and takes {other} already"
                findings.add("HX4019", message, text, "a leaf that the root owns takes one value")


def _check_overlaps(rules: dict[Rule, RuleText], tree: SchemaTree, findings: Findings) -> None:
    supplied = list(_supplied(rules))
    copies = {path for path, _, copied, _ in supplied if copied}
    for path, _, _, text in supplied:
        if above := next((path[:length] for length in range(1, len(path)) if path[:length] in copies), None):
            message = f"{path_text(tree, path)} lies in {path_text(tree, above)}, which is filled whole"
            findings.add("HX4022", message, text, "keep either the copy or what is below it")
