"""Rules from their text: every name resolved, every variable bound, every head a chain (``semantics.md`` section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from heptox.grammar import (
    BodyTree,
    ConditionText,
    Constant,
    HeadLeaf,
    HeadTree,
    Identity,
    Label,
    LeafCondition,
    Node,
    NodeAbsence,
    NodeTest,
    RuleCondition,
    RuleText,
    SchemaPath,
    SurrogateArgument,
    SurrogateTerm,
    node_value,
)
from heptox.mapping.content import content_difference
from heptox.mapping.declarations import DeclaredSide, resolve
from heptox.mapping.findings import Findings
from heptox.mapping.identity import declared_key, identity_terms, is_always_there
from heptox.mapping.model import Argument, Condition, HeadNode, OptionalPart, Rule, Surrogate
from heptox.mapping.naming import function_name
from heptox.mapping.optional import Body
from heptox.mapping.paths import known_prefix, path_text, schema_order
from heptox.pattern import NODE, TAG, Absence, Comparison, NoNode, Presence, Term, Text, Variable, atom_terms
from heptox.schema import TEXT, Path


def read_rules(
    written: Sequence[RuleText], source: DeclaredSide, target: DeclaredSide, findings: Findings
) -> tuple[Rule, ...]:
    """The rules of a section that can be read, in the order of the file; what is wrong goes to ``findings``.

    Their bodies are in the schema of ``source``, their heads in that of ``target``: in a section ``against:`` these are
    the mapping's target and source.
    """
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
    entered: dict[str, Node] = field(default_factory=dict)
    """The variables of nodes that need not be there, by ``->?``."""
    unknown: set[str] = field(default_factory=set)
    """Variables of nodes that the schema does not have, which is told once."""
    made: dict[Path, Surrogate] = field(default_factory=dict)
    """The leaves that take what nodes are identified by."""
    sound: bool = True

    def rule(self, text: RuleText) -> Rule | None:
        if not self._is_root(self.source, text.body.label) or not self._is_root(self.target, text.head.label):
            return None
        self._bind_stop(text.body, (), None)
        said = [(condition, at) for at in text.conditions if (condition := self._condition(at))]
        links = [(link, at) for at in text.conditions if (link := self._link(at))]
        supplied: dict[Path, tuple[Term, bool]] = {}
        inner: list[tuple[Path, HeadTree]] = []
        self._read_head(text.head, (), supplied, inner)
        head = self._chain(text.head, supplied, inner)
        if not self.sound or head is None:
            return None
        order = {v.name: schema_order(self.source.tree, v.node) for v in self.variables}
        variables = tuple(sorted(self.variables, key=lambda variable: order[variable.name]))
        parts = Body(variables, self.entered, links, said, self._tell).optional(text.body)
        if parts is None:
            return None
        conditions = self._of_required(said, variables, parts)
        if not self._is_sound():
            return None
        rule = Rule(head, variables, conditions, parts)
        self._check_identities(rule, inner)
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
        if tree.optional:
            self._enter(tree, path)
        self._bind(tree.variable, Term(name), tree)
        self.terms[node_value(tree.variable)] = Term(name, (NODE,))
        if not any(variable.name == name for variable in self.variables):
            self.variables.append(Variable(name, path, parent))
        if tree.label.tag:
            self._bind(tree.label.tag, Term(name, (TAG,)), tree.label)
        self._read_parts(tree, path, name, path)

    def _enter(self, tree: BodyTree, path: Path) -> None:
        if path and self.source.tree.is_stop(path):
            self.entered[tree.variable[1:]] = tree
        else:
            message = f"{path_text(path)} stands once" if path else "the root is always there"
            hint = "write ->: what stands once and is absent loses nothing"
            self._tell("HX4035", f"{message}: ->? is for nodes that repeat", tree, hint)

    def _read_parts(self, tree: BodyTree, path: Path, variable: str, stop: Path) -> None:
        for part in tree.parts:
            below = self._node(self.source, path, part.label)
            if below is None:
                self.unknown |= _variables(part)
                continue
            if self.source.tree.is_stop(below):
                self._bind_stop(part, below, variable)
            else:
                if part.optional:
                    self._enter(part, below)
                self._bind(part.variable, Term(variable, below[len(stop) :]), part)
                self._read_parts(part, below, variable, stop)

    def _bound(self, name: str, at: Node) -> Term | None:
        """The term of a variable."""
        term = self.terms.get(name)
        if term is None and name not in self.unknown:
            bound = ", ".join(sorted(name for name, term in self.terms.items() if term.path != (NODE,)))
            self._tell("HX4030", f"{name} is not bound in the body", at, f"variables of the body: {bound}")
        return term

    def _value(self, name: str, at: Node) -> Term | None:
        """The term of a variable that stands for a value."""
        term = self._bound(name, at)
        if term is None:
            return None
        path = self._source_path(term)
        if term.path[-1:] not in ((TAG,), (NODE,)) and not self.source.tree.is_leaf(path):
            hint = "name the variable of a leaf, or of the tag in a box; => copies a whole subtree"
            self._tell("HX4009", f"{name} stands for the inner node {path_text(path)}", at, hint)
            return None
        return term

    def _source_path(self, term: Term) -> Path:
        return next(variable.node for variable in self.variables if variable.name == term.variable) + term.path

    # -- conditions ----------------------------------------------------------------------------------------------

    def _condition(self, condition: ConditionText) -> Condition | None:
        """What a condition means; ``None`` for ``=?``, and after telling what is wrong with it."""
        match condition:
            case RuleCondition(left_name, Constant(value), "=" | "!=" as operator):
                left = self._value(left_name, condition)
                return Comparison(operator, left, Text(value)) if left else None
            case RuleCondition():
                return self._comparison(condition) if condition.operator == "=" else None
            case LeafCondition():
                return self._presence(condition)
            case NodeAbsence():
                return self._no_node(condition)

    def _link(self, condition: ConditionText) -> Comparison | None:
        is_link = isinstance(condition, RuleCondition) and condition.operator == "=?"
        return self._comparison(condition) if is_link and isinstance(condition, RuleCondition) else None

    def _comparison(self, condition: RuleCondition) -> Comparison | None:
        assert isinstance(condition.right, str)
        left, right = self._value(condition.left, condition), self._value(condition.right, condition)
        return Comparison("=", left, right) if left and right else None

    def _presence(self, condition: LeafCondition) -> Presence | Absence | None:
        term = self._bound(condition.variable, condition)
        if term is None:
            return None
        if condition.present:
            return Presence(term)
        if not term.path:
            hint = "write it with the path from the variable above it: absent $variable/path"
            self._tell("HX4009", f"{condition.variable} stands for a node that is there", condition, hint)
            return None
        return Absence(term)

    def _no_node(self, absence: NodeAbsence) -> NoNode | None:
        name = absence.variable or f"${self.variables[0].name}"
        above = self._bound(name, absence)
        if above is None:
            return None
        if above.path:
            hint = f"write the path from ${above.variable}"
            self._tell("HX4009", f"{name} stands for {path_text(self._source_path(above))}, which stands once", absence,
                       hint)  # fmt: skip
            return None
        node = self._walk(self._source_path(above), absence.path)
        if node is None:
            return None
        if not self.source.tree.is_stop(node):
            hint = "bind it in the body with ->, and write absent with its variable"
            self._tell("HX4009", f"{path_text(node)} stands once", absence.path, hint)
            return None
        tests = [self._test(node, test) for test in absence.tests]
        found = tuple(test for test in tests if test is not None)
        return NoNode(above.variable, node, found) if len(found) == len(tests) else None

    def _walk(self, path: Path, steps: SchemaPath) -> Path | None:
        for step in steps.steps:
            below = self._node(self.source, path, Label(step, position=steps.position))
            if below is None:
                return None
            path = below
        return path

    def _test(self, node: Path, test: NodeTest) -> tuple[Path, Term | Text | None] | None:
        path = self._tested(node, test)
        if path is None:
            return None
        match test.right:
            case None:
                return path, None
            case Constant(value):
                return path, Text(value)
            case name:
                term = self._value(name, test)
                return (path, term) if term else None

    def _tested(self, node: Path, test: NodeTest) -> Path | None:
        """The path of a test, relative to its node."""
        tree = self.source.tree
        if test.path.steps == (TAG,):
            if tree.box(node):
                return (TAG,)
            self._tell("HX4001", f"{path_text(node)} is no box", test, "only a node in a box has a tag to test")
            return None
        end = node if test.path.steps == (".",) else self._walk(node, test.path)
        if end is None:
            return None
        if tree.stop(end) != node:
            hint = "test what stands once, or write the path of what repeats before the brackets"
            self._tell("HX4009", f"{path_text(end)} repeats below {path_text(node)}", test, hint)
            return None
        if test.right is not None and not tree.is_leaf(end):
            self._tell("HX4009", f"{path_text(end)} is no leaf", test, "only a leaf has a value to compare")
            return None
        return end[len(node) :]

    def _of_required(
        self, said: Iterable[tuple[Condition, Node]], variables: Iterable[Variable], parts: Iterable[OptionalPart]
    ) -> tuple[Condition, ...]:
        """The conditions besides those that connect optional parts, told where they speak of optional variables."""
        behind = {name for part in parts for name in part.variables}
        inner = {condition for part in parts for condition in part.conditions}
        kept = []
        for condition, at in said:
            if isinstance(condition, Comparison) and condition in inner:
                continue
            kept.append(condition)
            named = {term.variable for term in atom_terms(condition)}
            named |= {condition.variable} if isinstance(condition, NoNode) else set()
            if optional := next((v.name for v in variables if v.name in named & behind), None):
                hint = "conditions speak of what is always there: bind it with -> and =, in a rule of its own"
                self._tell("HX4035", f"${optional} is optional: it cannot be required of", at, hint)
        return tuple(kept)

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
            below = self._own(tree, path, part) if part.label.name == "." else self._node(self.target, path, part.label)
            if below is None:
                continue
            if isinstance(part, HeadTree) and self._holds_more(part, below):
                self._read_head(part, below, supplied, inner)
            elif isinstance(part, HeadLeaf):
                if below in supplied or below in self.made:
                    self._tell("HX4031", f"{path_text(below)} stands twice in the head", part, "keep one of them")
                if isinstance(part.variable, SurrogateTerm):
                    self._read_surrogate(part.variable, below)
                elif value := self._leaf(part, part.variable, below):
                    supplied.setdefault(below, (value, part.copied))

    def _own(self, tree: HeadTree, path: Path, part: HeadTree | HeadLeaf) -> Path | None:
        """The node itself, which is a leaf or copied, where it needs an identity besides its value."""
        if tree.identity.each and self.target.tree.is_stop(path) and isinstance(part, HeadLeaf):
            return path
        hint = f"write {tree.label} -> $variable or => $variable; only by each it has brackets"
        self._tell("HX4009", f"{path_text(path)} is identified by its value", part, hint)
        return None

    def _read_tag(self, tree: HeadTree, path: Path, supplied: dict[Path, tuple[Term, bool]]) -> None:
        if tree.label.tag is None:
            hint = f"write {tree.label}:$variable, with the variable whose value is the tag"
            self._tell("HX4020", f"the box {tree.label} has no tag", tree.label, hint)
        elif term := self._value(tree.label.tag, tree.label):
            supplied[(*path, TAG)] = (term, False)

    def _holds_more(self, part: HeadTree, path: Path) -> bool:
        if not self.target.tree.is_leaf(path) or (part.identity.each and self.target.tree.is_stop(path)):
            return True
        hint = f"write {part.label} -> $variable"
        self._tell("HX4009", f"{path_text(path)} is a leaf: its value is a variable", part, hint)
        return False

    def _read_surrogate(self, written: SurrogateTerm, leaf: Path) -> None:
        """Note that a leaf takes what a node is identified by."""
        tree = self.target.tree
        if not tree.stop(leaf) or leaf == tree.stop(leaf) or not tree.is_leaf(leaf):
            hint = "write it to an attribute or a leaf below a node that repeats"
            self._tell("HX4033", f"{path_text(leaf)} cannot take what a node is identified by", written, hint)
            return
        arguments = [found for argument in written.arguments if (found := self._argument(argument))]
        if len(arguments) < len(written.arguments):
            return
        node = max((argument.stop for argument in arguments), key=len)
        places = {(argument.stop, argument.path) for argument in arguments}
        if not node or written.function != function_name(tree, node) or len(places) < len(arguments):
            hint = (
                f"{function_name(tree, node)} has each leaf of {path_text(node)} and those above it once, by its path"
            )
            self._tell("HX4033", f"{written} identifies no node", written, hint if node else None)
            return
        self.made[leaf] = Surrogate(node, tuple(arguments))

    def _argument(self, written: SurrogateArgument) -> Argument | None:
        """What a surrogate is a function of; ``None`` after telling that it is nothing of the kind."""
        tree, path = self.target.tree, written.path.steps
        if written.is_each:
            name = self._each(written.variable, written)
            if name is not None and path in tree and tree.is_stop(path):
                return Argument(path, (NODE,), Term(name, (NODE,)))
        elif term := self._value(written.variable, written):
            if path[-1] == TAG and tree.box(path[:-1]):
                return Argument(path[:-1], (TAG,), term)
            known = known_prefix(tree, path)
            if known and tree.is_leaf(known):
                stop = tree.stop(known) if known == path else ()
                return Argument(stop, path[len(stop) :], term)
        if self.sound:
            hint = "write the path from the root of a leaf, or of what each stands for"
            self._tell("HX4033", f"{written.path} identifies no node", written, hint)
        return None

    def _leaf(self, part: HeadLeaf, variable: str, path: Path) -> Term | None:
        term = self._copied(part, variable, path) if part.copied else self._plain(part, variable, path)
        if term is not None and not self.target.tree.stop(path) and self.source.tree.stops(self._source_path(term))[1:]:
            message = f"{path_text(path)} stands once below the root and cannot take {part.variable}, which repeats"
            self._tell("HX4013", message, part, "only a leaf that the source's root owns goes there")
        return term

    def _plain(self, part: HeadLeaf, variable: str, path: Path) -> Term | None:
        if not self.target.tree.is_leaf(path):
            self._tell("HX4009", f"{path_text(path)} is no leaf", part, "give it an identity: f_name(...)[...]")
            return None
        return self._value(variable, part)

    def _copied(self, part: HeadLeaf, variable: str, path: Path) -> Term | None:
        term = self.terms.get(variable)
        if term is None:
            return self._value(variable, part)
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
        self, tree: HeadTree, supplied: dict[Path, tuple[Term, bool]], inner: Sequence[tuple[Path, HeadTree]]
    ) -> tuple[HeadNode, ...] | None:
        """The stop nodes of a head with their leaves; a fault when they branch."""
        target = self.target.tree
        shown = [*(path for path, _ in inner), *(path[:-1] if path[-1:] == (TAG,) else path for path in supplied)]
        shown += self.made
        lowest = max((target.stop(path) for path in shown), key=len)
        chain = target.stops(lowest)
        for path in shown:
            if target.stop(path) not in chain:
                message = f"{path_text(target.stop(path))} and {path_text(lowest)} repeat side by side in one head"
                self._tell("HX4032", message, tree, "write a rule for each")
                return None
        identities = {path: below.identity for path, below in inner}
        return tuple(self._head_node(stop, supplied, identities.get(stop)) for stop in chain)

    def _head_node(self, stop: Path, supplied: dict[Path, tuple[Term, bool]], identity: Identity | None) -> HeadNode:
        own = [path for path in supplied if self._owner(path) == stop]
        own.sort(key=lambda path: schema_order(self.target.tree, path))
        leaves = tuple((path[len(stop) :], supplied[path][0]) for path in own)
        copied = frozenset(path[len(stop) :] for path in own if supplied[path][1])
        made = [path for path in self.made if self._owner(path) == stop]
        made.sort(key=lambda path: schema_order(self.target.tree, path))
        surrogates = tuple((path[len(stop) :], self.made[path]) for path in made)
        if stop and identity is not None and identity.each:
            return HeadNode(stop, leaves, copied, each=self._each(identity.each, identity), surrogates=surrogates)
        values = [path for path, _ in leaves if path not in copied]
        key = declared_key(self.target.tree, self.target.declared_keys, stop, values)
        return HeadNode(stop, leaves, copied, key=key, surrogates=surrogates)

    def _each(self, name: str, at: Node) -> str | None:
        """The variable of the source node that a node of a head stands for."""
        term = self._bound(name, at)
        if term is not None and term.path:
            message = f"{name} stands for {path_text(self._source_path(term))}, which is no node that repeats"
            self._tell("HX4033", message, at, f"write each ${term.variable}, or the values that identify the node")
            return None
        return term.variable if term else None

    def _owner(self, path: Path) -> Path:
        return path[:-1] if path[-1:] == (TAG,) else self.target.tree.stop(path)

    # -- whole rules ---------------------------------------------------------------------------------------------

    def _check_identities(self, rule: Rule, inner: Iterable[tuple[Path, HeadTree]]) -> None:
        """A Skolem term must be the one that follows from path, leaves and keys, but for ``each``.

        No other identity has a meaning here.
        """
        heads = {node.node: node for node in rule.head}
        for path, tree in inner:
            head = heads[self.target.tree.stop(path)]
            each = head.each if head.node == path else None
            expected = identity_terms(self.target.tree, rule, path)
            names = {term: name for name, term in reversed(self.terms.items())}
            wanted = Identity(
                function_name(self.target.tree, path), tuple(names[term] for term in expected), each and f"${each}"
            )
            given = [self.terms.get(argument) for argument in tree.identity.arguments]
            same = (tree.identity.function, tree.identity.each) == (wanted.function, wanted.each)
            if not same or Counter(given) != Counter(expected):
                message = f"{tree.identity} is not the identity of {path_text(path)}"
                self._tell("HX4033", message, tree.identity, f"{_reason(head, path)}: {wanted}")
            elif head.node == path:
                self._check_key(rule, head, tree.identity)

    def _check_key(self, rule: Rule, head: HeadNode, at: Identity) -> None:
        """A key must have a value wherever the rule binds."""
        term = head.term(head.key) if head.key is not None else None
        if term is None or is_always_there(self.source.tree, rule, term):
            return
        name = next(name for name, bound in self.terms.items() if bound == term)
        hint = f"require it: present {name}; what has none is made by another rule, without it, with absent {name}"
        if not any(variable.name == term.variable for variable in rule.required):
            hint = "bind its node with -> and =, and make what has none in another rule, without it"
        self._tell("HX4033", f"{name} identifies {path_text(head.node)}, and may be absent", at, hint)


def _reason(head: HeadNode, path: Path) -> str:
    """Why a node that ``head`` owns has the identity that it has."""
    if head.each is None and head.key is None:
        return "a function of its path and of the leaves reached from it by single edges"
    if head.node != path:
        return f"a function of its path, for {path_text(head.node)} has one"
    if head.key is not None:
        return f"a function of its path and of the key {path_text(head.node + head.key)} that the mapping declares"
    return "a function of its path and of the node that it stands for, and of its tag in a box"


def _variables(tree: BodyTree) -> set[str]:
    found = {tree.variable} | ({tree.label.tag} if tree.label.tag else set())
    return found.union(*(_variables(part) for part in tree.parts))


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
