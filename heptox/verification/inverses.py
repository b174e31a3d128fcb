"""Declared inverses, tried: whether they give back what functions were computed of (``semantics.md`` section 2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping as Table, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Final

from heptox.errors import Fault, Position
from heptox.mapping import Mapping, path_text, values_at
from heptox.pattern import (
    Inverse,
    Lookup,
    ValueExpression,
    evaluate_expression,
    leaf_paths,
    parts,
    value_expression,
)
from heptox.schema import Path, ValueType, plain, written_step
from heptox.verification.assumptions import leaves_at
from heptox.xml import Document, XmlElement, line_of

_VALUES: Final = ("", "a", "A", "aB", "1", "a b", "a, b, c", " a", "1.50", "20160404", "2016-04-04", "04.04.2016")
"""What is tried at leaves that hold any string."""
_MOST_TRIED: Final = 2_000
_MOST_CODES: Final = 20


@dataclass(frozen=True, slots=True)
class Trial:
    """Values of leaves, that of the function, and what an inverse gives back for one of them."""

    inverse: Inverse
    values: tuple[tuple[Path, str], ...]
    value: str
    back: str | None

    @property
    def is_right(self) -> bool:
        """Whether the inverse gives the leaf back."""
        return self.back == dict(self.values)[self.inverse.leaf]

    def sentence(self, mapping: Mapping) -> str:
        """The counterexample in a sentence."""
        node = self.inverse.node
        said = ", ".join(f'{path_text(mapping.source, (*node, *path))} = "{value}"' for path, value in self.values)
        found = "nothing" if self.back is None else f'"{self.back}"'
        leaf = path_text(mapping.source, (*node, *self.inverse.leaf))
        return f'for {said} it is "{self.value}", of which the inverse makes {found} at {leaf}'


def broken_inverses(mapping: Mapping, document: Document) -> Iterator[Fault]:
    """The nodes of a source document for which a declared inverse gives another value than the leaf has (HX5019)."""
    for inverses in _by_function(mapping):
        for element in _elements(mapping, document, inverses[0]):
            values = {path: list(values_at(element, path)) for path in leaf_paths(_expression(inverses[0]))}
            for broken in (one for one in _applied(inverses, values) if not one.is_right):
                place = Position(line_of(element), 1, document.file)
                yield _fault(mapping, broken, place)


def wrong_inverses(mapping: Mapping) -> tuple[tuple[Fault, ...], tuple[str, ...]]:
    """Faults (HX5019) for declared inverses that are wrong for most strings that are tried, each with the smallest
    counterexample; and of those that are wrong for some, what is relied upon.
    """
    faults, assumed = [], []
    for inverses in _by_function(mapping):
        tried = list(_tried(mapping, inverses))
        for inverse in inverses:
            own = [one for one in tried if one.inverse is inverse]
            wrong = sorted((one for one in own if not one.is_right), key=_size)
            if 2 * len(wrong) > len(own):
                faults.append(_fault(mapping, wrong[0], None))
            elif wrong:
                assumed.append(f"the inverse of {_name(mapping, inverse)}, though {wrong[0].sentence(mapping)}")
    return tuple(faults), tuple(assumed)


def _fault(mapping: Mapping, broken: Trial, place: Position | None) -> Fault:
    message = f"the inverse of {_name(mapping, broken.inverse)} is none: {broken.sentence(mapping)}"
    hint = "an inverse that a document breaks makes translations wrong there: write another one, or oneway"
    return Fault("HX5019", message, place, hint=hint)


def _name(mapping: Mapping, inverse: Inverse) -> str:
    return written_step(inverse.computed, mapping.source.graph.prefixes.step)


def _size(broken: Trial) -> tuple[int, tuple[tuple[Path, str], ...]]:
    return sum(len(value) for _, value in broken.values), broken.values


def _by_function(mapping: Mapping) -> Iterator[tuple[Inverse, ...]]:
    found: dict[tuple[Path, str], list[Inverse]] = {}
    for inverse in mapping.source_inverses:
        found.setdefault((inverse.node, inverse.computed), []).append(inverse)
    yield from map(tuple, found.values())


def _expression(inverse: Inverse) -> ValueExpression:
    expression = value_expression((inverse.computed,))
    assert expression is not None  # an inverse is one of a function
    return expression


def _tried(mapping: Mapping, inverses: Sequence[Inverse]) -> Iterator[Trial]:
    """All that is tried, whether it is right or wrong."""
    paths = leaf_paths(_expression(inverses[0]))
    lookups = (part for part in parts(_expression(inverses[0])) if isinstance(part, Lookup))
    codes = [code for lookup in lookups for code, _ in lookup.codes[:_MOST_CODES]]
    choices = [[*codes, *_strings(mapping, (*inverses[0].node, *path))] for path in paths]
    for chosen in islice(product(*choices), _MOST_TRIED):
        yield from _applied(inverses, {path: [value] for path, value in zip(paths, chosen, strict=True)})


def _strings(mapping: Mapping, leaf: Path) -> Iterable[str]:
    tree = mapping.source
    if leaf[-1].startswith("@"):
        attribute = tree.attribute(leaf)
        return attribute.values or (_VALUES if attribute.value_type is ValueType.STRING else ())
    element = tree.element(leaf if tree.is_element(leaf) else leaf[:-1])
    return element.values or (_VALUES if element.value_type is ValueType.STRING else ())


def _applied(inverses: Sequence[Inverse], values: Table[Path, Sequence[str]]) -> Iterator[Trial]:
    expression = _expression(inverses[0])
    value = evaluate_expression(expression, lambda path: next(iter(values[path]), None), values.__getitem__)
    if value is None:
        return
    single = tuple((path, several[0]) for path, several in values.items() if several)
    for inverse in inverses:
        if len(values.get(inverse.leaf, ())) == 1:
            back = evaluate_expression(inverse.value, lambda _: value, lambda _: (value,))
            yield Trial(inverse, single, value, back)


def _elements(mapping: Mapping, document: Document, inverse: Inverse) -> list[XmlElement]:
    """The elements for which rules compute what an inverse is of: those of selections, where these are computed."""
    nodes = {
        rule.node(term.variable)
        for rule in mapping.rules
        for term in rule.terms()
        if term.path == (inverse.computed,) and plain(rule.node(term.variable)) == inverse.node
    }
    found = (leaf.element for node in sorted(nodes) for leaf in leaves_at(mapping.source, document.root, node))
    return list(dict.fromkeys(found))
