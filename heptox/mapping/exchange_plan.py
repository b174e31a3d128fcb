"""What an exchange on a store works on: rules with the statements of their bodies, and the shapes of the image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from heptox.mapping.bodies import Body, copied_terms, rule_body
from heptox.mapping.exchange import applied
from heptox.mapping.identity import headed_arguments
from heptox.mapping.image_names import image_prefixes
from heptox.mapping.model import HeadNode, Mapping, Rule, Surrogate
from heptox.mapping.templates import Columns, Shape, Slot, shapes, tokens
from heptox.mapping.written_mapping import Names, WrittenMapping, WrittenTree
from heptox.pattern import Absence, Presence, Term, atom_terms
from heptox.schema import Path, is_selection, plain
from heptox.store import NotCompiledError, Store
from heptox.xml import declarations


@dataclass(frozen=True, slots=True)
class StoredRule:
    """A rule with its body; its bindings are the rows of ``table``, numbered from where ``rank`` says."""

    rule: Rule
    body: Body
    table: str
    rank: int


class ExchangePlan:
    """The rules of a mapping for one document of a store, which is ``length`` long.

    ``numbers`` numbers the shapes, ``below`` has for each the next ones below it, ``templates`` its text. ``bits`` are
    those of a position in the document.

    Raises :class:`NotCompiledError` where the relations of the store do not give what the rules ask for.
    """

    def __init__(self, mapping: Mapping, store: Store, doc: int, length: int) -> None:
        source, self.tree, given = mapping.source, mapping.target, mapping.rules
        self.prefixes = image_prefixes(mapping.target)
        self.written: WrittenMapping | None = None
        if self.prefixes or store.catalogue.names:
            names = Names(store.catalogue.names.name, store.catalogue.names.attribute)
            image = Names(self.prefixes.written, partial(self.prefixes.written, attribute=True))
            self.written = WrittenMapping(mapping, names, image)
            source, self.tree = WrittenTree(source, names), WrittenTree(self.tree, image)
            given = tuple(self.written.rules)
        rules = applied(given)
        self.shapes = shapes(rules)
        self.numbers = {node: number for number, node in enumerate(self.shapes)}
        self.below = {node: self._below(node) for node in self.shapes}
        self.rules = [
            StoredRule(rule, rule_body(rule, source, store.catalogue, doc), f"bindings{rank}", rank)
            for rank, rule in enumerate(rules)
        ]
        self.bits = length.bit_length()
        for rule in rules:
            if tuple(node.node for node in rule.head) != self.tree.stops(rule.head[-1].node):
                raise NotCompiledError("the head of a rule leaves out a stop node")
        for shape in self.shapes.values():
            if any(path in shape.leaves and path not in shape.copied for path in self._partly_copied(shape)):
                raise NotCompiledError("a leaf takes copied subtrees and values")
            if is_selection((shape.node or ("",))[-1]) and not self.tree.is_stop(plain(shape.node)):
                raise NotCompiledError("nodes are selected of an element that stands once")
        _check_copies(rules)
        self.templates = {
            node: tokens(self.tree, self.shapes, Columns(shape, self.below[node]), declarations(self.prefixes.bound))
            for node, shape in self.shapes.items()
        }

    def _below(self, node: Path) -> list[Path]:
        """The next stop nodes below another one; of those of one element selected ones first, as an image has them."""
        found = [each for each in self.shapes if each and self.parent(each) == node]
        return sorted(found, key=lambda each: (not is_selection(each[-1]), self.first_path(each)))

    def first_path(self, path: Path) -> Path:
        """A stop node or leaf of the target by its absolute path as the mapping has it."""
        return path if self.written is None else self.written.first_paths[path]

    def headed_terms(self, surrogate: Surrogate) -> Iterator[tuple[Term, str]]:
        """The terms of a surrogate, as :func:`~heptox.mapping.identity.headed_arguments` orders and heads them."""
        first = self.first_surrogate(surrogate)
        terms = dict(zip(first.arguments, surrogate.arguments, strict=True))
        return ((terms[argument].term, heading) for argument, heading in headed_arguments(first))

    def first_surrogate(self, surrogate: Surrogate) -> Surrogate:
        """A surrogate as the mapping has it."""
        return surrogate if self.written is None else self.written.first_surrogates[surrogate]

    def parent(self, node: Path) -> Path:
        """The stop node above another."""
        return self.tree.stops(node)[-2]

    def slots(self, node: Path) -> list[tuple[int, Slot]]:
        """The slots of a stop node in the template of the one above, each with its place there."""
        template = self.templates[self.parent(node)]
        return [
            (place, token) for place, token in enumerate(template) if isinstance(token, Slot) and token.node == node
        ]

    def is_united(self, shape: Shape) -> bool:
        """Whether some rule unites nodes of a shape."""
        return any(map(is_united, self._heads(shape)))

    def _partly_copied(self, shape: Shape) -> set[Path]:
        heads = self._heads(shape)
        return {path for head in heads for path, _ in head.leaves if (path in shape.copied) != (path in head.copied)}

    def _heads(self, shape: Shape) -> Iterator[HeadNode]:
        return (head for each in self.rules for head in each.rule.head if head.node == shape.node)


def is_united(node: HeadNode) -> bool:
    """Whether several bindings can add to one node, because it is not one by its values."""
    return node.each is not None or node.key is not None


def _check_copies(rules: Sequence[Rule]) -> None:
    """Refuse a subtree that one rule copies and another one takes for a value."""
    copied, others = set[Path](), set[Path]()
    for rule in rules:
        whole = copied_terms(rule)
        for term in _values(rule):
            (copied if term in whole else others).add(plain(rule.path(term)))
    if not copied.isdisjoint(others):
        raise NotCompiledError("a subtree that is copied is taken for a value too")


def _values(rule: Rule) -> Iterator[Term]:
    """The terms whose values a rule takes or compares."""
    yield from (term for node in rule.head for term in node.terms)
    for condition in (*rule.conditions, *(link for part in rule.optional for link in part.conditions)):
        if not isinstance(condition, Presence | Absence):
            yield from atom_terms(condition)
