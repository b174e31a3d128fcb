"""Rules from their text: every name resolved, every variable bound, every head a chain (``semantics.md`` section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from heptox.grammar import BodyTree, Constant, HeadLeaf, HeadTree, Label, Node, RuleCondition, RuleText, SchemaPath
from heptox.mapping.content import content_difference
from heptox.mapping.declarations import DeclaredSide, resolve
from heptox.mapping.findings import Findings
from heptox.mapping.model import HeadNode, Rule
from heptox.mapping.naming import function_name
from heptox.mapping.paths import path_text, schema_order
from heptox.mapping.printing import identity_terms
from heptox.pattern import TAG, Comparison, Term, Text, Variable
from heptox.schema import TEXT, Path


def read_rules(
    written: Sequence[RuleText], source: DeclaredSide, target: DeclaredSide, findings: Findings
) -> tuple[Rule, ...]:
    """The rules that can be read, in the order of the file; what is wrong goes to ``findings``."""
    rules: dict[Rule, RuleText] = {}
    for text in written:
        rule = _RuleReader(source, target, findings).rule(text)
        if rule is None:
            continue
        if rule in rules:
            findings.add("HX4004", "the rule stands twice", text, "keep one of them")
        rules.setdefault(rule, text)
    _check_root_leaves(rules, findings)
    _check_overlaps(rules, findings)
    return tuple(rules)


@dataclass(slots=True)
class _RuleReader:
    """What is known of one rule while it is read."""

    source: DeclaredSide
    target: DeclaredSide
    findings: Findings
    variables: list[Variable] = field(default_factory=list)
    terms: dict[str, Term] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    """Variables of nodes that the schema does not have, which is told once."""
    sound: bool = True

    def rule(self, text: RuleText) -> Rule | None:
        if not self._is_root(self.source, text.body.label) or not self._is_root(self.target, text.head.label):
            return None
        self._bind_stop(text.body, (), None)
        conditions = [self._condition(condition) for condition in text.conditions]
        supplied: dict[Path, tuple[Term, bool]] = {}
        inner: list[tuple[Path, HeadTree]] = []
        self._read_head(text.head, (), supplied, inner)
        head = self._chain(text.head, supplied, [path for path, _ in inner])
        if not self.sound or head is None:
            return None
        order = {v.name: schema_order(self.source.tree, v.node) for v in self.variables}
        variables = tuple(sorted(self.variables, key=lambda variable: order[variable.name]))
        rule = Rule(head, variables, tuple(condition for condition in conditions if condition))
        self._check_identities(rule, inner)
        self._check_connected(rule, text)
        return rule if self._is_sound() else None

    def _is_sound(self) -> bool:
        return self.sound

    def _tell(self, code: str, message: str, at: Node, hint: str | None = None) -> None:
        self.sound = False
        self.findings.add(code, message, at, hint)

    def _is_root(self, side: DeclaredSide, label: Label) -> bool:
        if label.name == side.tree.root:
            return True
        message = f"{label.name} is not the root of the {side.name} schema"
        self._tell("HX4001", message, label, f"did you mean {side.tree.root}?")
        return False

    def _node(self, side: DeclaredSide, parent: Path, label: Label) -> Path | None:
        """The schema node that a label below ``parent`` stands for."""
        below = (*parent, label.name)
        steps = (label.name,) if label.name.startswith("[") else tuple(path_text(below).split("/"))
        path = resolve(side, SchemaPath(steps, position=label.position), self.findings)
        if path is None:
            self.sound = False
        elif path != below and label.name != TEXT:
            self._tell("HX4001", f"{label.name} does not stand below {path_text(parent)}", label,
                       f"it stands below {path_text(path[:-1])}")  # fmt: skip
            return None
        return path

    # -- bodies --------------------------------------------------------------------------------------------------

    def _bind(self, name: str, term: Term, at: Node) -> None:
        if name in self.terms:
            self._tell(
                "HX4031", f"{name} stands for two nodes", at, f"use another name, and add the equality with {name}"
            )
        else:
            self.terms[name] = term

    def _bind_stop(self, tree: BodyTree, path: Path, parent: str | None) -> None:
        name = tree.variable[1:]
        self._bind(tree.variable, Term(name), tree)
        if not any(variable.name == name for variable in self.variables):
            self.variables.append(Variable(name, path, parent))
        if tree.label.tag:
            self._bind(tree.label.tag, Term(name, (TAG,)), tree.label)
        self._read_parts(tree, path, name, path)

    def _read_parts(self, tree: BodyTree, path: Path, variable: str, stop: Path) -> None:
        for part in tree.parts:
            below = self._node(self.source, path, part.label)
            if below is None:
                self.unknown |= _variables(part)
                continue
            if self.source.tree.is_stop(below):
                self._bind_stop(part, below, variable)
            else:
                self._bind(part.variable, Term(variable, below[len(stop) :]), part)
                self._read_parts(part, below, variable, stop)

    def _value(self, name: str, at: Node) -> Term | None:
        """The term of a variable that stands for a value."""
        term = self.terms.get(name)
        if term is None and name in self.unknown:
            return None
        if term is None:
            bound = ", ".join(sorted(self.terms))
            self._tell("HX4030", f"{name} is not bound in the body", at, f"variables of the body: {bound}")
            return None
        path = self._source_path(term)
        if term.path[-1:] != (TAG,) and not self.source.tree.is_leaf(path):
            hint = "name the variable of a leaf, or of the tag in a box; => copies a whole subtree"
            self._tell("HX4009", f"{name} stands for the inner node {path_text(path)}", at, hint)
            return None
        return term

    def _source_path(self, term: Term) -> Path:
        return next(variable.node for variable in self.variables if variable.name == term.variable) + term.path

    def _condition(self, condition: RuleCondition) -> Comparison | None:
        left = self._value(condition.left, condition)
        if isinstance(condition.right, Constant):
            return Comparison(condition.operator, left, Text(condition.right.value)) if left else None
        right = self._value(condition.right, condition)
        return Comparison("=", left, right) if left and right else None

    # -- heads ---------------------------------------------------------------------------------------------------

    def _read_head(
        self,
        tree: HeadTree,
        path: Path,
        supplied: dict[Path, tuple[Term, bool]],
        inner: list[tuple[Path, HeadTree]],
    ) -> None:
        """Gather the leaves and the inner nodes of a head."""
        inner.append((path, tree))
        if self.target.tree.box(path):
            self._read_tag(tree, path, supplied)
        for part in tree.parts:
            below = self._node(self.target, path, part.label)
            if below is None:
                continue
            if isinstance(part, HeadTree) and self._holds_more(part, below):
                self._read_head(part, below, supplied, inner)
            elif isinstance(part, HeadLeaf) and (value := self._leaf(part, below)):
                if below in supplied:
                    self._tell("HX4031", f"{path_text(below)} stands twice in the head", part, "keep one of them")
                supplied.setdefault(below, (value, part.copied))

    def _read_tag(self, tree: HeadTree, path: Path, supplied: dict[Path, tuple[Term, bool]]) -> None:
        if tree.label.tag is None:
            hint = f"write {tree.label}:$variable, with the variable whose value is the tag"
            self._tell("HX4020", f"the box {tree.label} has no tag", tree.label, hint)
        elif term := self._value(tree.label.tag, tree.label):
            supplied[(*path, TAG)] = (term, False)

    def _holds_more(self, part: HeadTree, path: Path) -> bool:
        if not self.target.tree.is_leaf(path):
            return True
        hint = f"write {part.label} -> $variable"
        self._tell("HX4009", f"{path_text(path)} is a leaf: its value is a variable", part, hint)
        return False

    def _leaf(self, part: HeadLeaf, path: Path) -> Term | None:
        term = self._copied(part, path) if part.copied else self._plain(part, path)
        if term is not None and not self.target.tree.stop(path) and self.source.tree.stops(self._source_path(term))[1:]:
            message = f"{path_text(path)} stands once below the root and cannot take {part.variable}, which repeats"
            self._tell("HX4013", message, part, "only a leaf that the source's root owns goes there")
        return term

    def _plain(self, part: HeadLeaf, path: Path) -> Term | None:
        if not self.target.tree.is_leaf(path):
            self._tell("HX4009", f"{path_text(path)} is no leaf", part, "give it an identity: f_name(...)[...]")
            return None
        return self._value(part.variable, part)

    def _copied(self, part: HeadLeaf, path: Path) -> Term | None:
        term = self.terms.get(part.variable)
        if term is None:
            return self._value(part.variable, part)
        begin = self._source_path(term)
        source, target = self.source.tree, self.target.tree
        inner = [tree.is_element(end) and not tree.is_leaf(end) and not tree.box(end)
                 for tree, end in ((source, begin), (target, path)) if end[-1:] != (TAG,)]  # fmt: skip
        if inner != [True, True]:
            self._tell("HX4012", f"{part.variable} cannot be copied to {path_text(path)}", part,
                       "=> copies an inner element to an inner element; a leaf takes ->")  # fmt: skip
            return None
        names = source.element(begin).name, target.element(path).name
        if difference := content_difference(source.graph, names[0], target.graph, names[1]):
            self._tell("HX4012", f"{path_text(begin)} cannot be copied to {path_text(path)}: {difference}", part)
            return None
        return term

    def _chain(
        self, tree: HeadTree, supplied: dict[Path, tuple[Term, bool]], inner: Sequence[Path]
    ) -> tuple[HeadNode, ...] | None:
        """The stop nodes of a head with their leaves; a fault when they branch."""
        target = self.target.tree
        shown = [*inner, *(path[:-1] if path[-1:] == (TAG,) else path for path in supplied)]
        lowest = max((target.stop(path) for path in shown), key=len)
        chain = target.stops(lowest)
        for path in shown:
            if target.stop(path) not in chain:
                message = f"{path_text(target.stop(path))} and {path_text(lowest)} repeat side by side in one head"
                self._tell("HX4032", message, tree, "write a rule for each")
                return None
        nodes = []
        for stop in chain:
            own = [path for path in supplied if self._owner(path) == stop]
            own.sort(key=lambda path: schema_order(target, path))
            leaves = tuple((path[len(stop) :], supplied[path][0]) for path in own)
            nodes.append(HeadNode(stop, leaves, frozenset(path[len(stop) :] for path in own if supplied[path][1])))
        return tuple(nodes)

    def _owner(self, path: Path) -> Path:
        return path[:-1] if path[-1:] == (TAG,) else self.target.tree.stop(path)

    # -- whole rules ---------------------------------------------------------------------------------------------

    def _check_identities(self, rule: Rule, inner: Iterable[tuple[Path, HeadTree]]) -> None:
        """A Skolem term must be the one that follows from path and leaves: no other identity has a meaning here."""
        for path, tree in inner:
            function = function_name(self.target.tree, path)
            expected = identity_terms(self.target.tree, rule, path)
            given = [self.terms.get(argument) for argument in tree.identity.arguments]
            if tree.identity.function != function or Counter(given) != Counter(expected):
                names = {term: name for name, term in reversed(self.terms.items())}
                wanted = f"{function}({', '.join(names[term] for term in expected)})"
                message = f"{tree.identity} is not the identity of {path_text(path)}"
                hint = f"a function of its path and of the leaves reached from it by single edges: {wanted}"
                self._tell("HX4033", message, tree.identity, hint)

    def _check_connected(self, rule: Rule, text: RuleText) -> None:
        """Parts that repeat side by side below the root must be connected by equalities."""
        top = _tops(rule)
        parts = {name: {name} for name in top.values() if name}
        for left, right in rule.equalities():
            if (one := top[left.variable]) and (other := top[right.variable]):
                merged = parts[one] | parts[other]
                parts.update(dict.fromkeys(merged, merged))
        first = next(iter(parts.values()), set())
        if apart := [name for name in parts if name not in first]:
            message = f"nothing connects ${min(first)} and ${apart[0]}"
            self._tell("HX4034", message, text.body, "add an equality of a leaf of each")


def _variables(tree: BodyTree) -> set[str]:
    found = {tree.variable} | ({tree.label.tag} if tree.label.tag else set())
    return found.union(*(_variables(part) for part in tree.parts))


def _tops(rule: Rule) -> dict[str, str | None]:
    """For each variable, the topmost one below the root that it hangs from; ``None`` for the root's."""
    top: dict[str, str | None] = {}
    root = rule.variables[0].name
    for variable in rule.variables:
        above = variable.parent
        top[variable.name] = None if above is None else variable.name if above == root else top[above]
    return top


def _supplied(rules: dict[Rule, RuleText]) -> Iterable[tuple[Path, Path, bool, RuleText]]:
    """For each leaf of each rule: target path, source path, whether it is copied, and where."""
    for rule, text in rules.items():
        for node in rule.head:
            for path, term in node.leaves:
                yield node.node + path, rule.node(term.variable) + term.path, path in node.copied, text


def _check_root_leaves(rules: dict[Rule, RuleText], findings: Findings) -> None:
    taken: dict[Path, Path] = {}
    for rule, text in rules.items():
        for path, term in rule.head[0].leaves:
            begin = rule.node(term.variable) + term.path
            if taken.setdefault(path, begin) != begin:
                message = f"{path_text(path)} stands once below the root and takes {path_text(taken[path])} already"
                findings.add("HX4019", message, text, "a leaf that the root owns takes one value")


def _check_overlaps(rules: dict[Rule, RuleText], findings: Findings) -> None:
    supplied = list(_supplied(rules))
    copies = {path for path, _, copied, _ in supplied if copied}
    for path, _, _, text in supplied:
        if above := next((path[:length] for length in range(1, len(path)) if path[:length] in copies), None):
            message = f"{path_text(path)} lies in {path_text(above)}, which is filled whole"
            findings.add("HX4022", message, text, "keep either the copy or what is below it")
