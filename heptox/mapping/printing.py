"""Rules as text that can be edited and loaded again (``semantics.md`` section 4)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping as Dictionary, Sequence
from pathlib import Path as FilePath

from heptox.grammar import (
    BodyTree,
    BoxDeclaration,
    Constant,
    Declaration,
    HeadLeaf,
    HeadTree,
    Identity,
    KeyDeclaration,
    Label,
    Name,
    ReferenceDeclaration,
    RuleCondition,
    RulesFile,
    RuleText,
    SchemaDeclaration,
    SchemaPath,
    Side,
    print_rule as print_rule_text,
    print_rules_file,
)
from heptox.mapping.model import Mapping, Reference, Rule
from heptox.mapping.naming import function_name, leaf_names
from heptox.mapping.paths import path_text, schema_order
from heptox.pattern import TAG, Comparison, Term, Text, Variable
from heptox.schema import TEXT, Path, SchemaTree, id_paths


def print_rules(mapping: Mapping, folder: str | os.PathLike[str] | None = None) -> str:
    """A mapping as the text of a ``.rules`` file, which loads as an equal mapping.

    Schema files are named relative to ``folder``, where the text is going to stand; without it, as they were read.

    Raises ``ValueError`` for a schema that was not read from a file.
    """
    declarations = (
        _schema("source", mapping.source, folder),
        _schema("target", mapping.target, folder),
        *_declarations("source", mapping.source, mapping.source_keys, mapping.source_references),
        *_declarations("target", mapping.target, mapping.target_keys, mapping.target_references),
    )
    rules = tuple(_RulePrinter(mapping, rule).text() for rule in mapping.rules)
    return print_rules_file(RulesFile(declarations, rules))


def print_rule(mapping: Mapping, rule: Rule) -> str:
    """One rule of a mapping as text, as :func:`print_rules` has it."""
    return print_rule_text(_RulePrinter(mapping, rule).text())


# -- declarations ------------------------------------------------------------------------------------------------


def _schema(side: Side, tree: SchemaTree, folder: str | os.PathLike[str] | None) -> SchemaDeclaration:
    file = tree.graph.file
    if file is None:
        raise ValueError(f"the {side} schema was not read from a file")
    if folder is not None:
        file = FilePath(os.path.relpath(file, folder)).as_posix()
    return SchemaDeclaration(side, file, tree.root)


def _declarations(
    side: Side, tree: SchemaTree, keys: frozenset[Path], references: Sequence[Reference]
) -> Iterator[Declaration]:
    for box in tree.boxes:
        yield BoxDeclaration(side, box.name, _written(box.parent), tuple(Name(member) for member in box.members))
    for key in sorted(keys - set(id_paths(tree)), key=lambda key: schema_order(tree, key)):
        yield KeyDeclaration(side, _written(key))
    for reference in references:
        if not reference.inferred:
            yield ReferenceDeclaration(side, _written(reference.source), _written(reference.target))


def _written(path: Path) -> SchemaPath:
    return SchemaPath(tuple(path_text(path).split("/")) if path else ())


# -- rules -------------------------------------------------------------------------------------------------------


class _RulePrinter:
    """One rule as syntax: the stop nodes of the model, with the single-valued nodes between them."""

    def __init__(self, mapping: Mapping, rule: Rule) -> None:
        self._mapping, self._rule = mapping, rule
        self._terms = set(rule.terms())
        self._below = {variable.name: self._nodes_below(variable) for variable in rule.variables}
        inner = [Term(name, path) for name, paths in self._below.items() for path in paths if path[-1:] != (TAG,)]
        self._names = leaf_names(rule, inner)

    def text(self) -> RuleText:
        return RuleText(self._head(), self._body(self._rule.variables[0]), tuple(self._conditions()))

    def _conditions(self) -> Iterator[RuleCondition]:
        for condition in self._rule.conditions:
            match condition:
                case Comparison("=" | "!=" as operator, left, Text(value)):
                    yield RuleCondition(self._written(left), Constant(value), operator)
                case Comparison(left=left, right=Term() as right):
                    yield RuleCondition(self._written(left), self._written(right))

    def _written(self, term: Term) -> str:
        return f"${self._names[term]}"

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
        label = Label(step, self._written(tag) if tag in self._terms else None)
        return BodyTree(label, f"${variable.name}", self._body_parts(variable, ()))

    def _body_parts(self, variable: Variable, path: Path) -> tuple[BodyTree, ...]:
        """What stands directly below a single-valued node of a variable: such nodes, and other variables."""
        found: list[tuple[Path, BodyTree]] = []
        for below in self._below[variable.name]:
            if below[:-1] == path and below[-1] != TAG:
                written = self._written(Term(variable.name, below))
                parts = self._body_parts(variable, below)
                found.append((variable.node + below, BodyTree(Label(below[-1]), written, parts)))
        here = variable.node + path
        found += [(child.node, self._body(child)) for child in self._children(variable) if child.node[:-1] == here]
        found.sort(key=lambda part: schema_order(self._mapping.source, part[0]))
        return tuple(tree for _, tree in found)

    # -- heads ---------------------------------------------------------------------------------------------------

    def _head(self) -> HeadTree:
        supplied = {
            node.node + path: (term, path in node.copied) for node in self._rule.head for path, term in node.leaves
        }
        ends = [*supplied, *(node.node for node in self._rule.head)]
        return self._head_tree((), {end[:length] for end in ends for length in range(1, len(end) + 1)}, supplied)

    def _head_tree(self, path: Path, shown: set[Path], supplied: Dictionary[Path, tuple[Term, bool]]) -> HeadTree:
        tree = self._mapping.target
        parts: list[HeadTree | HeadLeaf] = []
        if not path and path in supplied:
            parts.append(HeadLeaf(Label(TEXT), self._written(supplied[path][0])))
        below = [child for child in shown if child[:-1] == path and child[-1] != TAG]
        for child in sorted(below, key=lambda child: schema_order(tree, child)):
            if child in supplied:
                term, copied = supplied[child]
                parts.append(HeadLeaf(Label(child[-1]), self._written(term), copied))
            else:
                parts.append(self._head_tree(child, shown, supplied))
        tag = supplied.get((*path, TAG))
        label = Label(path[-1] if path else tree.root, self._written(tag[0]) if tag else None)
        terms = identity_terms(self._mapping.target, self._rule, path)
        return HeadTree(label, Identity(function_name(tree, path), tuple(map(self._written, terms))), tuple(parts))


def identity_terms(tree: SchemaTree, rule: Rule, path: Path) -> tuple[Term, ...]:
    """The arguments of a head node's Skolem term: the leaves reachable from it by single-valued edges.

    The root's argument is the source document, whose variable is the first of the body.
    """
    if not path:
        return (Term(rule.variables[0].name),)
    stop = tree.stop(path)
    below = path[len(stop) :]
    leaves = next(node.leaves for node in rule.head if node.node == stop)
    return tuple(term for leaf, term in leaves if leaf[: len(below)] == below)
