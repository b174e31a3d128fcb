"""Patterns as text trees, for people: variables at stop nodes, single-valued leaves below, joins and items beside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from heptox.grammar import print_query, syntax
from heptox.pattern import (
    TAG,
    Absence,
    AttributeItem,
    Comparison,
    Content,
    DeepEqual,
    ElementItem,
    Member,
    NestedItem,
    Number,
    Presence,
    Template,
    Term,
    Text,
    Variable,
    atom_terms,
    template_terms,
)
from heptox.schema import SchemaTree
from heptox.xml import NO_PREFIXES, Prefixes, split_name

DUMMY: Final = "(dummy)"
"""What stands behind a node that the query did not name."""


def draw(member: Member, tree: SchemaTree, dummies: Collection[str] = (), prefixes: Prefixes = NO_PREFIXES) -> str:
    """A member as a tree of lines: each variable at its stop node, below it the leaves that the member speaks of.

    ``dummies`` are the names of variables that the query did not name, ``prefixes`` those of the names in items, where
    they are not all the tree's.

    >>> from heptox.pattern import LeafItem
    >>> from heptox.schema import parse_dtd
    >>> tree = SchemaTree(parse_dtd("<!ELEMENT bib (book*)> <!ELEMENT book (title, pub?)>"
    ...                             "<!ELEMENT title (#PCDATA)> <!ELEMENT pub (#PCDATA)>"))
    >>> book = Variable("v1", ("book",), "root")
    >>> where = frozenset({Comparison("=", Term("v1", ("pub",)), Text("x"))})
    >>> print(draw(Member((Variable("root", ()), book), where, LeafItem("value", "", Term("v1", ("title",)))), tree))
    bib
    └─ book $b
       ├─ title
       └─ pub = "x"
    returns data($b/title)
    """
    return "\n".join(_Drawing(member, tree, dummies, prefixes or tree.graph.prefixes, _names(member)).lines())


@dataclass(frozen=True, slots=True)
class _Branch:
    """A line, and what hangs below it."""

    line: str
    below: tuple[_Branch, ...] = ()

    def lines(self, first: str = "", rest: str = "") -> Iterator[str]:
        yield first + self.line
        for branch in self.below:
            last = branch is self.below[-1]
            yield from branch.lines(rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))


class _Drawing:
    def __init__(
        self, member: Member, tree: SchemaTree, dummies: Collection[str], prefixes: Prefixes, names: Mapping[str, str]
    ) -> None:
        self.member = member
        self.prefixes = prefixes
        self.tree = tree
        self.dummies = dummies
        self.names = names

    def lines(self) -> Iterator[str]:
        for variable in self.member.variables:
            if variable.parent is None:
                yield from self.branch(variable).lines()
        yield from (f"join {join}" for join in self.joins())
        yield f"returns {self.item(self.member.template)}"

    def joins(self) -> Iterator[str]:
        """What the member says of two terms."""
        for atom in sorted(self.member.atoms, key=repr):
            match atom:
                case Comparison(operator, left, Term() as right):
                    yield f"{self.term(left)} {operator} {self.term(right)}"
                case DeepEqual(left, right):
                    yield f"deep-equal({self.term(left)}, {self.term(right)})"

    def branch(self, variable: Variable) -> _Branch:
        below = [_Branch(line) for line in self.leaves(variable)]
        below += [self.branch(child) for child in self.member.variables if child.parent == variable.name]
        return _Branch(self.node(variable), tuple(below))

    def node(self, variable: Variable) -> str:
        if variable.parent is None:
            several = len(set(self.member.roots.values())) > 1
            root = self.tree.written((self.tree.root,))
            return f"{root} {self.names[variable.name]}" if several else root
        above = self.member.node(variable.parent)
        words = [self.tree.written(variable.node[len(above) :]), self.names[variable.name]]
        words += [f"tag {condition}" for condition in self.conditions(Term(variable.name, (TAG,)))]
        words += [condition for condition in self.conditions(Term(variable.name)) if condition]
        return " ".join(words + [DUMMY] * (variable.name in self.dummies))

    def leaves(self, variable: Variable) -> Iterator[str]:
        """The leaves of a variable that the member speaks of, with their conditions, in schema order."""
        used = {term.path for atom in self.member.atoms for term in atom_terms(atom) if term.variable == variable.name}
        used |= {term.path for term in template_terms(self.member.template) if term.variable == variable.name}
        own = {leaf: place for place, leaf in enumerate(self.tree.own_leaves(variable.node))}
        for path in sorted(used - {(), (TAG,)}, key=lambda path: (own.get(path, len(own)), path)):
            conditions = [condition for condition in self.conditions(Term(variable.name, path)) if condition]
            yield " ".join([self.tree.written(path), " and ".join(conditions)]).rstrip()

    def conditions(self, term: Term) -> Iterator[str]:
        """What the member says of one term alone."""
        for atom in sorted(self.member.atoms, key=repr):
            match atom:
                case Comparison(operator, left, Text() | Number() as right) if left == term:
                    yield f"{operator} {_literal(right)}"
                case Presence(left) if left == term:
                    yield "is there"
                case Absence(left) if left == term:
                    yield "is absent"

    # -- items ---------------------------------------------------------------------------------------------------

    def term(self, term: Term) -> str:
        name = self.names[term.variable]
        if term.path == (TAG,):
            return f"tag({name})"
        return "/".join((name, *([self.tree.written(term.path)] if term.path else [])))

    def item(self, template: Template) -> str:
        if isinstance(template, ElementItem):
            return self.element(template)
        value = self.term(template.term) if isinstance(template.term, Term) else _literal(template.term)
        match template.shape:
            case "attribute" | "constructed":
                return f"attribute {self.prefixes.written(template.name, attribute=True)} {{{value}}}"
            case "text":
                return f"text {{{value}}}"
            case "value":
                return value if isinstance(template.term, Text) else f"data({value})"
            case "copy":
                return f"{value}, copied"
            case "element" | "identity":
                name = self.prefixes.written(template.name)
                return f"<{name}>{{{value}}}</{name}> where it is there"

    def element(self, element: ElementItem) -> str:
        attributes = "".join(f" {self.attribute(attribute)}" for attribute in element.attributes)
        content = "".join(map(self.content, element.content))
        name = self.prefixes.written(element.name)
        return f"<{name}{attributes}>{content}</{name}>" if content else f"<{name}{attributes}/>"

    def attribute(self, attribute: AttributeItem) -> str:
        parts = (part if isinstance(part, str) else f"{{{self.term(part)}}}" for part in attribute.parts)
        return f'{self.prefixes.written(attribute.name, attribute=True)}="{"".join(parts)}"'

    def content(self, content: Content) -> str:
        if isinstance(content, str):
            return content
        if isinstance(content, NestedItem):
            return "".join(self.nested(content, member) for member in content.members)
        return self.element(content) if isinstance(content, ElementItem) else f"{{{self.item(content)}}}"

    def nested(self, item: NestedItem, member: Member) -> str:
        """A nested part: the nodes that it is of, what is said of them, and its item for each match."""
        known = {name: self.names[node.variable] for name, node in item.bindings}
        drawn = _Drawing(member, self.tree, self.dummies, self.prefixes, _names(member, known, self.names.values()))
        added = [variable for variable in member.variables if variable.name not in known]
        nodes = [f"{self.tree.written(each.node)} {drawn.names[each.name]}" for each in added if each.parent]
        said = [f"{drawn.names[each.name]}/{line}" for each in member.variables for line in drawn.leaves(each)]
        said = [" where ", " and ".join((*said, *drawn.joins()))] if nodes and said else []
        return f"{{for each {' and '.join(nodes) or 'match'}{''.join(said)}: {drawn.item(member.template)}}}"


def _names(member: Member, known: Mapping[str, str] | None = None, taken: Iterable[str] = ()) -> Mapping[str, str]:
    """Names for people: ``$p`` for the first ``Patient``, ``$p2`` for what begins with the same letter. Some variables
    are ``known`` by others, and names are ``taken``.
    """
    names = dict(known or {})
    used = Counter(name.rstrip("0123456789").lstrip("$") for name in taken)
    for variable in member.variables:
        if variable.name in names:
            continue
        step = split_name(variable.node[-1].strip("[]@/"))[1] if variable.node else "/"
        letter = next((character.lower() for character in step if character.isalpha()), "v")
        if variable.parent is None:
            letter = "root"
        used[letter] += 1
        names[variable.name] = f"${letter}{used[letter] if used[letter] > 1 else ''}"
    return names


def _literal(literal: Text | Number) -> str:
    if isinstance(literal, Number):
        return literal.lexical
    return print_query(syntax.StringLiteral(literal.value))
