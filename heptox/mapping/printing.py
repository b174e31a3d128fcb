"""Rules as text that can be edited and loaded again (``semantics.md`` section 4)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping as Dictionary, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Literal

from heptox.grammar import (
    BodyTree,
    BoxDeclaration,
    ComputedValue,
    ConditionText,
    Constant,
    Declaration,
    HeadLeaf,
    HeadTree,
    Identity,
    KeyDeclaration,
    Label,
    LeafCondition,
    Name,
    NamespaceDeclaration,
    NodeAbsence,
    NodeTest,
    ReferenceDeclaration,
    RuleCondition,
    RulesFile,
    RuleText,
    RuleValue,
    SchemaDeclaration,
    SchemaPath,
    Side,
    SurrogateArgument,
    SurrogateTerm,
    node_value,
    path_of_absence,
    print_rule as print_rule_text,
    print_rules_file,
    value_text,
)
from heptox.mapping.file_names import SidePrefixes
from heptox.mapping.identity import identity_terms
from heptox.mapping.model import Mapping, Reference, Rule, Surrogate
from heptox.mapping.naming import function_name, leaf_names, terms_of_leaves
from heptox.mapping.optional import is_sayable
from heptox.mapping.paths import path_steps, schema_order
from heptox.pattern import (
    NODE,
    TAG,
    Absence,
    Comparison,
    Leaf,
    NoNode,
    Presence,
    StringJoin,
    Term,
    Text,
    ValueExpression,
    Variable,
    substituted,
    value_expression,
    with_table_names,
)
from heptox.schema import TEXT, Path, SchemaTree


def print_rules(
    mapping: Mapping, folder: str | os.PathLike[str] | None = None, tables: str | os.PathLike[str] = ""
) -> str:
    """A mapping as the text of a ``.rules`` file, which loads as an equal mapping.

    Schema files are named relative to ``folder``, where the text is going to stand; without it, as they were read.
    Tables of codes are named as they were, in the folder ``tables``.

    Raises ``ValueError`` for a schema that was not read from a file, and for a rule with optional parts that ``->?``
    and ``=?`` cannot say.
    """
    mapping = replace(mapping, source=_with_all_prefixes(mapping.source), target=_with_all_prefixes(mapping.target))
    declared = (
        _schema("source", mapping.source, folder),
        _schema("target", mapping.target, folder),
        *namespaces("source", mapping.source),
        *namespaces("target", mapping.target),
        *declarations("source", mapping.source, mapping.declared_source_keys, mapping.source_references),
        *declarations("target", mapping.target, mapping.declared_target_keys, mapping.target_references),
    )
    against = None if mapping.against is None else _texts(mapping.mirrored(), mapping.against, tables)
    along = None if mapping.along is None else _texts(mapping, mapping.along, tables)
    return print_rules_file(RulesFile(declared, along, against))


def print_rule(mapping: Mapping, rule: Rule) -> str:
    """One of the rules that make target documents as text, as :func:`print_rules` has it.

    Raises ``ValueError`` for a rule with optional parts that ``->?`` and ``=?`` cannot say.
    """
    return print_rule_text(_RulePrinter(mapping, rule).text())


def _texts(mapping: Mapping, rules: Sequence[Rule], tables: str | os.PathLike[str]) -> tuple[RuleText, ...]:
    return tuple(_RulePrinter(mapping, rule, tables).text() for rule in rules)


# -- declarations ------------------------------------------------------------------------------------------------


def _schema(side: Side, tree: SchemaTree, folder: str | os.PathLike[str] | None) -> SchemaDeclaration:
    file = tree.graph.file
    if file is None:
        raise ValueError(f"the {side} schema was not read from a file")
    if folder is not None:
        file = FilePath(os.path.relpath(file, folder)).as_posix()
    return SchemaDeclaration(side, file, tree.written((tree.root,)))


def _with_all_prefixes(tree: SchemaTree) -> SchemaTree:
    """The tree with a prefix for each namespace of its names; those that its schema does not have are declared."""
    types = tree.graph.elements.values()
    attributes = {attribute.name for element in types for attribute in element.attributes}
    known = tree.graph.prefixes
    needed = known.covering({element.name for element in types}, attributes=attributes).namespaces
    fresh = {
        prefix: namespace
        for prefix, namespace in needed.items()
        if prefix and known.namespaces.get(prefix) != namespace and known.prefix_of(namespace, attribute=True) is None
    }
    if not fresh:
        return tree
    declared = (*(known.declared if isinstance(known, SidePrefixes) else ()), *fresh.items())
    prefixes = SidePrefixes((*known.bound, *fresh.items()), declared)
    return SchemaTree(replace(tree.graph, prefixes=prefixes), tree.boxes, tree.whole, tree.entered)


def namespaces(side: Side, tree: SchemaTree) -> Iterator[Declaration]:
    """What declares the prefixes of a side that its schema does not have."""
    prefixes = tree.graph.prefixes
    for prefix, namespace in prefixes.declared if isinstance(prefixes, SidePrefixes) else ():
        yield NamespaceDeclaration(side, prefix, namespace)


def declarations(
    side: Side, tree: SchemaTree, keys: frozenset[Path] = frozenset(), references: Sequence[Reference] = ()
) -> Iterator[Declaration]:
    """What declares the boxes of a side, keys, and the references that are not inferred."""
    for box in tree.boxes:
        members = tuple(Name(member, tree.written((member,))) for member in box.members)
        yield BoxDeclaration(side, box.name, _written(tree, box.parent), members)
    for key in sorted(keys, key=lambda key: schema_order(tree, key)):
        yield KeyDeclaration(side, _written(tree, key))
    for reference in references:
        if not reference.inferred:
            yield ReferenceDeclaration(side, _written(tree, reference.source), _written(tree, reference.target))


def _written(tree: SchemaTree, path: Path) -> SchemaPath:
    """A path as declarations have it."""
    steps = path_steps(path)
    return SchemaPath(steps, tree.written(steps))


def _label(tree: SchemaTree, step: str, tag: RuleValue | None = None) -> Label:
    return Label(step, tag, tree.written((step,)))


# -- rules -------------------------------------------------------------------------------------------------------


class _RulePrinter:
    """One rule as syntax: the stop nodes of the model, with the single-valued nodes between them."""

    def __init__(self, mapping: Mapping, rule: Rule, tables: str | os.PathLike[str] = "") -> None:
        if rule.optional and not is_sayable(rule):
            raise ValueError("a rule has optional parts that no text says: only those below the root are found by =?")
        self._mapping, self._rule, self._tables = mapping, rule, FilePath(tables)
        self._terms = {leaf for term in rule.terms() for leaf in terms_of_leaves(term) if leaf.path != (NODE,)}
        self._below = {variable.name: self._nodes_below(variable) for variable in rule.variables}
        inner = [Term(name, path) for name, paths in self._below.items() for path in paths if path[-1:] != (TAG,)]
        self._names = leaf_names(rule, inner)
        self._stands_for = {node.node: node.each for node in rule.head if node.each is not None}
        self._entered = {part.variables[0] for part in rule.optional if not part.conditions}

    def text(self) -> RuleText:
        return RuleText(self._head(), self._body(self._rule.variables[0]), tuple(self._conditions()))

    def _conditions(self) -> Iterator[ConditionText]:
        for condition in self._rule.conditions:
            match condition:
                case Comparison("=" | "!=" as operator, left, Text(value)):
                    yield RuleCondition(self._written(left), Constant(value), operator)
                case Comparison():
                    yield self._equality(condition)
                case Presence(term) | Absence(term):
                    yield LeafCondition(self._written(term), isinstance(condition, Presence))
                case NoNode():
                    yield self._no_node(condition)
        for part in self._rule.optional:
            for number, link in enumerate(part.conditions):
                yield self._equality(link, "=" if number else "=?")

    def _equality(self, condition: Comparison, operator: Literal["=", "=?"] = "=") -> RuleCondition:
        assert isinstance(condition.right, Term)
        return RuleCondition(self._written(condition.left), self._written(condition.right), operator)

    def _path(self, tree: SchemaTree, path: Path) -> SchemaPath:
        return SchemaPath(path, "" if path == (".",) else tree.written(path))

    def _no_node(self, condition: NoNode) -> NodeAbsence:
        above = self._rule.node(condition.variable)
        tests = []
        for path, right in condition.tests:
            value = Constant(right.value) if isinstance(right, Text) else right and self._written(right)
            tests.append(NodeTest(self._tested(path), value))
        variable = f"${condition.variable}" if above else None
        steps = condition.node[len(above) :]
        node = SchemaPath(steps, path_of_absence(steps, self._mapping.source.graph.prefixes.step))
        return NodeAbsence(variable, node, tuple(tests))

    def _tested(self, path: Path) -> SchemaPath | ComputedValue:
        expression = value_expression(path)
        if expression is None:
            return self._path(self._mapping.source, path or (".",))
        return self._computed(expression)

    def _written(self, term: Term) -> RuleValue:
        expression = value_expression(term.path)
        if expression is None:
            return node_value(f"${term.variable}") if term.path == (NODE,) else f"${self._names[term]}"

        def image(leaf: Leaf | StringJoin) -> ValueExpression:
            if isinstance(leaf, Leaf):
                return Leaf((f"${self._names[Term(term.variable, leaf.path)]}",))
            return StringJoin((f"${term.variable}", *leaf.path), leaf.separator)

        return self._computed(substituted(expression, image))

    def _computed(self, expression: ValueExpression) -> ComputedValue:
        names = self._mapping.source.graph.prefixes.step
        expression = with_table_names(expression, lambda table: (self._tables / table).as_posix())
        written = value_text(expression, lambda step: step if step.startswith(("$", "[")) else names(step))
        return ComputedValue(expression, text=written)

    # -- bodies --------------------------------------------------------------------------------------------------

    def _children(self, variable: Variable) -> list[Variable]:
        return [child for child in self._rule.variables if child.parent == variable.name]

    def _nodes_below(self, variable: Variable) -> list[Path]:
        """The single-valued nodes that the body shows below a variable, relative to it, in the order of the schema."""
        ends = [term.path for term in self._terms if term.variable == variable.name]
        ends += [child.node[len(variable.node) : -1] for child in self._children(variable)]
        nodes = {end[:length] for end in ends for length in range(1, len(end) + 1)}
        return sorted(nodes, key=lambda path: schema_order(self._mapping.source, variable.node + path))

    def _body(self, variable: Variable) -> BodyTree:
        tag = Term(variable.name, (TAG,))
        step = variable.node[-1] if variable.node else self._mapping.source.root
        label = _label(self._mapping.source, step, self._written(tag) if tag in self._terms else None)
        optional = variable.name in self._entered
        return BodyTree(label, f"${variable.name}", self._body_parts(variable, ()), optional)

    def _body_parts(self, variable: Variable, path: Path) -> tuple[BodyTree, ...]:
        """What stands directly below a single-valued node of a variable: such nodes, and other variables."""
        found: list[tuple[Path, BodyTree]] = []
        for below in self._below[variable.name]:
            if below[:-1] == path and below[-1] != TAG:
                written = f"${self._names[Term(variable.name, below)]}"
                parts = self._body_parts(variable, below)
                found.append((variable.node + below, BodyTree(_label(self._mapping.source, below[-1]), written, parts)))
        here = variable.node + path
        found += [(child.node, self._body(child)) for child in self._children(variable) if child.node[:-1] == here]
        found.sort(key=lambda part: schema_order(self._mapping.source, part[0]))
        return tuple(tree for _, tree in found)

    def _surrogate(self, surrogate: Surrogate) -> SurrogateTerm:
        arguments = []
        for argument in surrogate.arguments:
            is_each = argument.path == (NODE,)
            path = self._path(self._mapping.target, argument.stop if is_each else (*argument.stop, *argument.path))
            value = f"${argument.term.variable}" if is_each else self._written(argument.term)
            arguments.append(SurrogateArgument(path, value, is_each))
        return SurrogateTerm(function_name(self._mapping.target, surrogate.node), tuple(arguments))

    # -- heads ---------------------------------------------------------------------------------------------------

    def _head(self) -> HeadTree:
        supplied = {
            node.node + path: (term, path in node.copied) for node in self._rule.head for path, term in node.leaves
        }
        made = {node.node + path: surrogate for node in self._rule.head for path, surrogate in node.surrogates}
        ends = [*supplied, *made, *(node.node for node in self._rule.head)]
        return self._head_tree((), {end[:length] for end in ends for length in range(1, len(end) + 1)}, supplied, made)

    def _head_tree(
        self,
        path: Path,
        shown: set[Path],
        supplied: Dictionary[Path, tuple[Term, bool]],
        made: Dictionary[Path, Surrogate],
    ) -> HeadTree:
        tree = self._mapping.target
        parts: list[HeadTree | HeadLeaf] = []
        if path in supplied:  # of the root, or of a leaf with an identity besides its value
            term, copied = supplied[path]
            parts.append(HeadLeaf(Label("." if path else TEXT), self._written(term), copied))
        below = [child for child in shown if child[:-1] == path and child[-1] != TAG]
        for child in sorted(below, key=lambda child: schema_order(tree, child)):
            if child in supplied and child not in self._stands_for:
                term, copied = supplied[child]
                parts.append(HeadLeaf(_label(tree, child[-1]), self._written(term), copied))
            elif child in made:
                parts.append(HeadLeaf(_label(tree, child[-1]), self._surrogate(made[child])))
            else:
                parts.append(self._head_tree(child, shown, supplied, made))
        tag = supplied.get((*path, TAG))
        label = _label(tree, path[-1] if path else tree.root, self._written(tag[0]) if tag else None)
        arguments = tuple(map(self._written, identity_terms(tree, self._rule, path)))
        each = self._stands_for.get(path)
        return HeadTree(label, Identity(function_name(tree, path), arguments, each and f"${each}"), tuple(parts))
