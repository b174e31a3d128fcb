"""Slow and obvious oracles: exchange by nested loops over all bindings, all small documents, all small queries.

Nothing here plans, shares or chases. Of the project only what a mapping is (its rules, its schema trees) and the reader
of XML are used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping as Dictionary, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import chain, combinations, combinations_with_replacement, product
from typing import TypeAlias
from xml.sax.saxutils import escape, quoteattr

from heptox.grammar.tag_value import tag_value_form
from heptox.mapping import HeadNode, Mapping, Rule
from heptox.mapping.model import OptionalPart, Surrogate
from heptox.pattern import NODE, TAG, Absence, Atom, Comparison, NoNode, Presence, Term, Text
from heptox.schema import TEXT, Attribute, AttributeType, Particle, Path, SchemaTree
from heptox.xml import XmlElement, parse_document

Binding: TypeAlias = dict[str, XmlElement]
Identity: TypeAlias = tuple[Hashable, ...]

# -- exchange, word by word (section 5) --------------------------------------------------------------------------------


def steps(tree: SchemaTree, element: XmlElement, start: Path, path: Path) -> Iterator[XmlElement]:
    """The elements at a path below an element; a box is every child that is in it."""
    if not path:
        yield element
        return
    here = (*start, path[0])
    for child in element:
        name = str(child.tag)
        if (tree.box(here) and tree.value_of_tag(here, name) is not None) or (not tree.box(here) and name == path[0]):
            yield from steps(tree, child, here, path[1:])


def value(tree: SchemaTree, element: XmlElement, node: Path, path: Path) -> str | None:
    """The value of a leaf, or the tag, of an element that stands for ``node``; ``None`` where there is none."""
    if path[-1:] == (TAG,):
        return tree.value_of_tag(node, str(element.tag))
    if path[-1:] == (NODE,):
        return ".".join((*(step.strip("[]") for step in node or (tree.root,)), str(number_of(tree, element, node))))
    leaf = path[-1] if path and (path[-1].startswith("@") or path[-1] == TEXT) else None
    inner = path[:-1] if leaf else path
    for found in steps(tree, element, node, inner):
        return found.text or "" if leaf in (None, TEXT) else found.get(leaf[1:])
    return None


def number_of(tree: SchemaTree, element: XmlElement, node: Path) -> int:
    """The place of an element among those of its document that stand for ``node``, from one on."""
    return 1 + list(steps(tree, element.getroottree().getroot(), (), node)).index(element)


def content(element: XmlElement) -> str:
    """What an element holds, attributes first, as text: equal for two elements when ``deep-equal`` says so."""
    attributes = "".join(f" {name}={quoteattr(found)}" for name, found in sorted(_attributes(element)))
    children = (
        f"<{child.tag}{content(child)}</{child.tag}>{escape(child.tail or '')}" for child in element
    )  # fmt: skip
    return f"{attributes}>{escape(element.text or '')}{''.join(children)}"


def _attributes(element: XmlElement) -> list[tuple[str, str]]:
    return [(str(name), str(found)) for name, found in element.attrib.items()]


def all_bindings(rule: Rule, tree: SchemaTree, root: XmlElement) -> Iterator[Binding]:
    """Every choice of elements for the variables of a body, tried one after the other; then part after part."""
    required = [variable.name for variable in rule.required[1:]]
    for binding in choices(rule, tree, {rule.variables[0].name: root}, required):
        if all(holds(condition, rule, tree, binding) for condition in rule.conditions):
            yield from with_parts(rule, tree, binding, rule.optional)


def choices(rule: Rule, tree: SchemaTree, binding: Binding, names: Sequence[str]) -> Iterator[Binding]:
    """Every choice of elements for some more variables; none below one that is not bound."""
    if not names:
        yield binding
        return
    variable = next(each for each in rule.variables if each.name == names[0])
    assert variable.parent is not None
    if variable.parent in binding:
        above = rule.node(variable.parent)
        for element in steps(tree, binding[variable.parent], above, variable.node[len(above) :]):
            yield from choices(rule, tree, {**binding, variable.name: element}, names[1:])


def with_parts(rule: Rule, tree: SchemaTree, binding: Binding, parts: Sequence[OptionalPart]) -> Iterator[Binding]:
    """A binding with each choice for the optional parts; it goes on without one that no element can enter."""
    if not parts:
        yield binding
        return
    part, own = parts[0], [variable for variable in rule.variables if variable.name in parts[0].variables]
    found = [
        bound
        for bound in choices(rule, tree, binding, [variable.name for variable in own])
        if all(holds(condition, rule, tree, bound) for condition in part.conditions)
    ]
    if not found:
        hanging = all(variable.parent in binding for variable in own if variable.parent not in part.variables)
        if not hanging or not can_enter(rule, tree, binding, part):
            found = [binding]
    for bound in found:
        yield from with_parts(rule, tree, bound, parts[1:])


def can_enter(rule: Rule, tree: SchemaTree, binding: Binding, part: OptionalPart) -> bool:
    """Whether some elements lead to the end of a part's link, or, where it has none, to the last of its variables."""
    if not part.conditions:
        return any(True for _ in choices(rule, tree, binding, part.variables))
    link = part.conditions[0]
    assert isinstance(link.right, Term)
    parents = {variable.name: variable.parent for variable in rule.variables}
    chain = [link.right.variable]
    while (above := parents[chain[0]]) in part.variables:
        chain.insert(0, str(above))
    return any(holds(link, rule, tree, bound) for bound in choices(rule, tree, binding, chain))


def holds(condition: Atom, rule: Rule, tree: SchemaTree, binding: Binding) -> bool:
    """Whether a condition of a rule, or of an optional part, holds; what is not there compares with nothing."""

    def found(side: Term) -> str | None:
        if side.variable not in binding:
            return None
        return value(tree, binding[side.variable], rule.node(side.variable), side.path)

    match condition:
        case Presence(term):
            return found(term) is not None
        case Absence(term):
            return found(term) is None
        case NoNode(name, node, tests):
            start = rule.node(name)
            for element in steps(tree, binding[name], start, node[len(start) :]):
                met = []
                for path, other in tests:
                    here = value(tree, element, node, path)
                    wanted = here if other is None else found(other) if isinstance(other, Term) else other.value
                    met.append(here is not None and here == wanted)
                if all(met):
                    return False
            return True
        case Comparison(operator, left, Term() | Text() as right):
            sides = [found(left), found(right) if isinstance(right, Term) else right.value]
            return None not in sides and (sides[0] == sides[1]) == (operator == "=")
    raise AssertionError(f"no condition of a rule: {condition}")


@dataclass(frozen=True, slots=True)
class Made:
    """An element of an image; a copied one has its whole content as text instead."""

    tag: str
    is_stop: bool = True
    attributes: tuple[tuple[str, str], ...] = ()
    text: str = ""
    children: tuple[Made, ...] = ()
    copied: str | None = None

    def __str__(self) -> str:
        if self.copied is not None:
            return f"<{self.tag}{self.copied}</{self.tag}>"
        attributes = "".join(f" {name}={quoteattr(found)}" for name, found in self.attributes)
        return f"<{self.tag}{attributes}>{escape(self.text)}{''.join(map(str, self.children))}</{self.tag}>"


@dataclass(frozen=True, slots=True)
class BruteForceImage:
    """The image of a document, how many nodes each stop node of the target schema has in it, and how often a leaf of
    them got several values.
    """

    root: Made
    nodes: Counter[Path]
    conflicts: Counter[Path] = field(default_factory=Counter)

    @property
    def text(self) -> str:
        """The image as a document, in the order of the target schema."""
        return str(self.root)


@dataclass(slots=True)
class _Nodes:
    """All nodes of an image by their whole identity, and the values of their leaves."""

    tree: SchemaTree
    nodes: dict[Identity, Path] = field(default_factory=lambda: {("document",): ()})
    leaves: dict[tuple[Identity, Path], str] = field(default_factory=dict)
    copies: set[tuple[Identity, Path]] = field(default_factory=set)

    def made(self, identity: Identity, below: Path = ()) -> Made:
        """What stands at the path ``below`` of a node."""
        path = self.nodes[identity] + below
        own = {leaf: found for (node, leaf), found in self.leaves.items() if node == identity}
        tag = self.tree.tag_of_value(path, own[(TAG,)]) if self.tree.box(path) else path[-1] if path else self.tree.root
        is_stop = self.tree.is_stop(path)
        if (identity, below) in self.copies:
            return Made(tag, is_stop, copied=own[below])
        attributes = {
            leaf[-1][1:]: found for leaf, found in own.items() if leaf[:-1] == below and leaf and leaf[-1][0] == "@"
        }
        text = own.get((*below, TEXT), own.get(below, ""))
        children = chain.from_iterable(
            self.children(identity, below, child) for child in self.tree.children(path) if self.tree.is_element(child)
        )
        return Made(tag, is_stop, tuple(sorted(attributes.items())), text, tuple(children))

    def children(self, identity: Identity, below: Path, child: Path) -> Iterator[Made]:
        under = [node for node in self.nodes if node[0] == identity]
        if self.tree.is_stop(child):
            yield from (self.made(node) for node in under if self.nodes[node] == child)
            return
        here = (*below, child[-1])
        supplied = any(node == identity and leaf[: len(here)] == here for node, leaf in self.leaves)
        if supplied or any(self.nodes[node][: len(child)] == child for node in under):
            yield self.made(identity, here)


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that a binding gives to a leaf: where its element stands in the source, and the place of the rule."""

    element: int
    rule: int
    value: str
    copied: bool


def surrogate_of(surrogate: Surrogate, rule: Rule, tree: SchemaTree, binding: Binding) -> str | None:
    """A name for the function of a surrogate with the arguments that a binding gives to it."""
    found: dict[Path, str] = {}
    for each in surrogate.arguments:
        owner = binding.get(each.term.variable)
        given = None if owner is None else value(tree, owner, rule.node(each.term.variable), each.term.path)
        if given is not None:
            found[each.stop + each.path] = given
    if not any(each.stop + each.path in found for each in surrogate.own):
        return None
    places = sorted((each.stop, each.path) for each in surrogate.arguments if each.stop + each.path in found)
    paths = [stop + path for stop, path in places]
    text = "".join(f"{'/'.join(path)}={len(found[path])}:{found[path]};" for path in paths)
    return f"{surrogate.node[-1].strip('[]')}.{sha256(text.encode()).hexdigest()[:32]}"


def by_the_letter(rules: Mapping, document: str) -> BruteForceImage:
    """The image of a document: every head node that exists, by its whole identity."""
    root = parse_document(document).root
    numbers = {element: number for number, element in enumerate(root.iter())}
    image = _Nodes(rules.target)
    given: dict[tuple[Identity, Path], list[_Given]] = {}
    for rank, rule in enumerate(sorted(rules.rules, key=lambda rule: len(rule.head))):
        for binding in all_bindings(rule, rules.source, root):
            identity: Identity = ("document",)
            made: list[tuple[Identity, HeadNode, dict[Path, _Given]]] = []
            for head in rule.head:
                present: dict[Path, _Given] = {}
                for path, term in head.leaves:
                    owner, start = binding.get(term.variable), rule.node(term.variable)
                    if owner is None:
                        continue
                    if path in head.copied:
                        found = next(map(content, steps(rules.source, owner, start, term.path)), None)
                    else:
                        found = value(rules.source, owner, start, term.path)
                    if found is not None:
                        present[path] = _Given(numbers[owner], rank, found, path in head.copied)
                for path, surrogate in head.surrogates:
                    if made_up := surrogate_of(surrogate, rule, rules.source, binding):
                        owners = (each.term.variable for each in surrogate.own)
                        first_owner = next(binding[name] for name in owners if name in binding)
                        present[path] = _Given(numbers[first_owner], rank, made_up, copied=False)
                tag = present.get((TAG,))
                if rules.target.box(head.node) and tag is None:
                    break
                argument: Hashable
                if head.each is not None:
                    if head.each not in binding:
                        break
                    argument = "each", numbers[binding[head.each]], tag and tag.value
                elif head.key is not None:
                    if head.key not in present:
                        break
                    argument = "key", head.key, present[head.key].value, tag and tag.value
                else:
                    argument = "values", frozenset((path, one.value) for path, one in present.items())
                if head.node:
                    identity = (identity, head.node, argument)
                made.append((identity, head, present))
            for place, (node, head, present) in enumerate(made):
                if any(below or other.each is not None for _, other, below in made[place:]):
                    image.nodes[node] = head.node
                    for path, one in present.items():
                        given.setdefault((node, path), []).append(one)
    conflicts: Counter[Path] = Counter()
    for (node, path), several in given.items():
        first = min(several, key=lambda one: (one.element, one.rule))
        image.leaves[node, path] = first.value
        if first.copied:
            image.copies.add((node, path))
        conflicts[image.nodes[node] + path] += any(one.value != first.value for one in several)
    return BruteForceImage(image.made(("document",)), Counter(image.nodes.values()), +conflicts)


# -- all small documents -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bound:
    """How small documents are: ``values`` of each leaf by its name (``@k``, ``n``, else ``pool``), and occurrences.

    ``repeats`` bounds how often an element stands for each ``*`` or ``+``; ``ordered`` are the names of elements within
    which order counts, since they are copied whole.
    """

    pool: tuple[str, ...] = ("1", "2")
    values: Dictionary[str, tuple[str, ...]] = field(default_factory=dict)
    repeats: int = 2
    of: Dictionary[str, int] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()

    def of_leaf(self, name: str) -> tuple[str, ...]:
        return self.values.get(name, self.pool)


def small_documents(rules: Mapping, bound: Bound) -> list[str]:
    """All documents within a bound, up to the order of siblings, that are valid and obey the keys of the source."""
    texts = _Enumeration(rules.source, bound).elements(rules.source.root, ordered=False)
    return [text for text in texts if _is_valid(rules, text)]


@dataclass(frozen=True, slots=True)
class _Enumeration:
    tree: SchemaTree
    bound: Bound

    def elements(self, name: str, ordered: bool) -> list[str]:
        """All elements of a type as texts."""
        element = self.tree.graph.elements[name]
        if element.mixed:
            raise ValueError("mixed content is not enumerated")
        ordered = ordered or name in self.bound.ordered
        attributes = product(*(self.attributes(attribute) for attribute in element.attributes))
        if element.text:
            inner = [escape(text) for text in self.bound.of_leaf(name)]
        elif element.content is None:
            inner = [""]
        else:
            inner = ["".join(parts) for parts in self.contents(element.content, ordered)]
        return [f"<{name}{''.join(given)}>{text}</{name}>" for given in attributes for text in inner]

    def attributes(self, attribute: Attribute) -> list[str]:
        found = [f" {attribute.name}={quoteattr(text)}" for text in self.bound.of_leaf(f"@{attribute.name}")]
        return found if attribute.cardinality.required else ["", *found]

    def contents(self, particle: Particle, ordered: bool) -> list[tuple[str, ...]]:
        """All sequences of children, as texts; where order does not count, one of each multiset that repeats."""
        once = self.once(particle, ordered)
        least = 1 if particle.occurrence.required else 0
        most = self.bound.of.get(particle.name, self.bound.repeats) if particle.occurrence.repeats else 1
        found: list[tuple[str, ...]] = []
        for times in range(least, most + 1):
            several = product(once, repeat=times) if ordered else combinations_with_replacement(once, times)
            found += [tuple(chain.from_iterable(parts)) for parts in several]
        return list(dict.fromkeys(found))

    def once(self, particle: Particle, ordered: bool) -> list[tuple[str, ...]]:
        if particle.kind == "name":
            return [(element,) for element in self.elements(particle.name, ordered)]
        members = [self.contents(member, ordered) for member in particle.members]
        if particle.kind == "choice":
            return list(chain.from_iterable(members))
        return [tuple(chain.from_iterable(parts)) for parts in product(*members)]


def _is_valid(rules: Mapping, text: str) -> bool:
    """Whether IDs are unique, references refer, and keys identify."""
    root = parse_document(text).root
    typed: dict[AttributeType, list[str]] = {AttributeType.ID: [], AttributeType.IDREF: []}
    for element in root.iter():
        for attribute in rules.source.graph.elements[str(element.tag)].attributes:
            if attribute.name in element.attrib and attribute.type in typed:
                typed[attribute.type].append(str(element.attrib[attribute.name]))
    ids = typed[AttributeType.ID]
    if len(set(ids)) < len(ids) or not set(typed[AttributeType.IDREF]) <= set(ids):
        return False
    return all(_identifies(rules.source, root, key) for key in rules.source_keys)


def _identifies(tree: SchemaTree, root: XmlElement, key: Path) -> bool:
    if key[-1] == TEXT or key[-1].startswith("@"):
        found = [value(tree, owner, key[:-1], key[-1:]) for owner in steps(tree, root, (), key[:-1])]
    else:
        found = [value(tree, leaf, key, ()) for leaf in steps(tree, root, (), key)]
    values = [text for text in found if text is not None]
    return len(set(values)) == len(values)


# -- all small queries -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SmallQuery:
    """Variables, conditions, and an item; items name nothing of a schema, so that both sides can ask for them."""

    clauses: str
    conditions: tuple[str, ...]
    item: str

    def __str__(self) -> str:
        where = f" where {' and '.join(self.conditions)}" if self.conditions else ""
        return f"for {self.clauses}{where} return {self.item}"


@dataclass(frozen=True)
class Grammar:
    """The small queries over a schema tree: up to two variables over stop nodes, comparisons and tests of their leaves.

    A leaf is compared with ``literals`` and with other leaves; an item has up to two leaves as slots.
    """

    tree: SchemaTree
    literals: tuple[str, ...] = ("1",)
    operators: tuple[str, ...] = ("=", "!=")

    @cached_property
    def stops(self) -> tuple[Path, ...]:
        found: list[Path] = []
        waiting: list[Path] = [()]
        while waiting:
            stop = waiting.pop(0)
            found.append(stop)
            waiting.extend(self.tree.child_stops(stop))
        return tuple(found)

    def steps(self, path: Path, above: Path) -> str:
        boxed = [path[:length] for length in range(len(above) + 1, len(path) + 1)]
        return "".join(f"/{'*' if self.tree.box(node) else node[-1]}" for node in boxed)

    def clauses(self, several: bool = True) -> Iterator[tuple[str, tuple[tuple[str, Path], ...]]]:
        """The ways to bind one variable, or two: below each other, or apart."""
        for x in self.stops:
            first = f"$x in /{self.tree.root}{self.steps(x, ())}"
            if self.terms("$x", x):
                yield first, (("$x", x),)
            for y in self.stops if several and x else ():
                if y and y >= x and self.terms("$x", x) and self.terms("$y", y):
                    yield f"{first}, $y in /{self.tree.root}{self.steps(y, ())}", (("$x", x), ("$y", y))
                if y[: len(x)] == x and y != x and self.terms("$y", y):
                    yield f"{first}, $y in $x{self.steps(y, x)}", (("$x", x), ("$y", y))

    def terms(self, name: str, stop: Path) -> list[str]:
        """The leaves that a variable owns, the tag of a box node first."""
        tag = [tag_value_form(name)] if self.tree.box(stop) else []
        return tag + ["/".join((name, *leaf)) for leaf in self.tree.own_leaves(stop)]

    def conditions(self, terms: Sequence[str]) -> list[str]:
        found = [f"{left} {operator} {right}" for left, right in combinations(terms, 2) for operator in self.operators]
        for term in terms:
            found += [f"{term} {operator} '{literal}'" for operator in self.operators for literal in self.literals]
            if not term.startswith("data(") and "/" in term:
                found += [f"exists({term})", f"empty({term})"]
        return found

    def items(self, terms: Sequence[str]) -> list[str]:
        slots = [term if term.startswith("data(") else f"data({term})" for term in terms]
        return [
            "<r/>",
            *(f"<r>{{{slot}}}</r>" for slot in slots),
            *(f"<r>{{{left}}}-{{{right}}}</r>" for left, right in product(slots, repeat=2)),
            *(f"<r>{literal}-{{{slot}}}</r>" for slot in slots for literal in self.literals),
        ]

    def queries(self, most_conditions: int = 1, several: bool = True) -> Iterator[SmallQuery]:
        """All queries of the grammar, those with few variables and conditions first."""
        for number in range(most_conditions + 1):
            for clauses, variables in self.clauses(several):
                terms = [term for name, stop in variables for term in self.terms(name, stop)]
                for conditions in combinations(self.conditions(terms), number):
                    for item in self.items(terms):
                        yield SmallQuery(clauses, conditions, item)
