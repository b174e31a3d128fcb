"""The transformations of the report, each on a schema and, where rows change, on the rows of its documents.

Each finds a place where it can be done, does it, and says how rows follow; ``None`` where there is no place. Renaming,
elements and attributes, inner elements, and tags and values do not touch rows: only how they are written changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Final, TypeAlias

from tests.support.scenarios.instances import Change, Row, declared_names, everywhere
from tests.support.scenarios.model import (
    ROOT,
    Entity,
    Form,
    Holder,
    Inner,
    Leaf,
    Part,
    Type,
    chains,
    children,
    combined,
    entities,
    holders,
    mapped,
    overlap,
    own_leaves,
    substituted,
    without,
)

ENTITY_NAMES: Final = "abdefghijopqr"
KINDS: Final[tuple[tuple[Type, Type], ...]] = (("ID", "IDREF"), ("CDATA", "CDATA"), ("CDATA", "CDATA"))
"""The types of a key and of what refers to it."""

FORMS: Final[tuple[Form, ...]] = ("attribute", "element")

LEAF_NAMES: Final = ("k", "m", "v", "w", "c", "l", "kk", "mm", "vv", "ww")
"""Names of leaves that hold anything; a leaf named ``n`` holds numbers."""


@dataclass(frozen=True, slots=True)
class Link:
    """A reference of the start schema: the leaf that refers, and the key, each with its entity."""

    reference: str
    key: str
    stops: tuple[int, int]
    inferred: bool = False
    tied: bool = False
    """Whether another leaf of the same list refers to the key too, so that a mapping must say which one joins them."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where transformations are made: randomness, the schema so far, and what is known of the start schema."""

    random: Random
    root: Entity
    links: tuple[Link, ...] = ()
    of_root: frozenset[str] = frozenset()
    """The leaves of the start schema's root, which go with whatever else is spoken of."""

    def number(self) -> int:
        """An entity number that no schema of the scenario has used."""
        return next(_NUMBERS)

    def names(self) -> list[str]:
        """Names of elements that nothing is called, shuffled."""
        taken = set(declared_names(self.root)) | {entity.name for entity in entities(self.root)}
        free = [name for name in ENTITY_NAMES if name not in taken]
        return self.random.sample(free, len(free))

    def name(self) -> str:
        return self.names()[0]

    def divided(self, parts: Sequence[Part], ways: int) -> list[tuple[Part, ...]] | None:
        """The parts divided at random so that each share has a leaf."""
        shares: list[list[Part]] = [[] for _ in range(ways)]
        for part in parts:
            self.random.choice(shares).append(part)
        if not all(any(isinstance(part, Leaf | Inner) for part in share) for share in shares):
            return None
        return [tuple(share) for share in shares]


_NUMBERS: Final = count(1000)


@dataclass(frozen=True, slots=True)
class Step:
    """The schema after a transformation, and what became of the rows."""

    root: Entity
    rows: Change = lambda row: row


Transformation: TypeAlias = Callable[[Site], Step | None]


# -- rows that hang together -----------------------------------------------------------------------------------------


def both(one: Row, other: Row, *gone: int) -> Row:
    """One row with what two hold, without the rows of the entities ``gone``."""
    below = {entity: rows for entity, rows in (one.below | other.below).items() if entity not in gone}
    return Row(one.values | other.values, below)


def part_of(row: Row, parts: Iterable[Part]) -> Row:
    """A row with the same values, and of the rows below those of the entities among ``parts``."""
    kept = {entity.number for entity in children(Inner("", tuple(parts)))}
    return Row(row.values, {entity: rows for entity, rows in row.below.items() if entity in kept})


def adding(row: Row, number: int, rows: list[Row]) -> Row:
    return Row(row.values, {**row.below, number: rows})


def instead(root: Entity, number: int, new: Callable[[Row], dict[int, list[Row]]]) -> Change:
    """Each row of the entity ``number`` gives way to the rows, by entity, that ``new`` makes of it, where it stood."""
    above = next(chain[-2].number for chain in chains(root) if chain[-1].number == number)

    def change(row: Row) -> Row:
        below = {entity: rows for entity, rows in row.below.items() if entity != number}
        for each in row.below.get(number, ()):
            for entity, rows in new(each).items():
                below[entity] = [*below.get(entity, ()), *rows]
        return Row(row.values, below)

    return lambda row: everywhere(row, above, change)


def plain(parts: Iterable[Part]) -> tuple[Part, ...]:
    """The parts, without leaves that are keys or refer: nothing says that their values still do."""

    def change(part: Part) -> tuple[Part, ...]:
        return (replace(part, type="CDATA", is_key=False, refers=False) if isinstance(part, Leaf) else part,)

    return mapped(Inner("", tuple(parts)), change)


def families(root: Entity) -> list[tuple[Entity, Entity]]:
    """Entities below the root with those directly below them."""
    return [(chain[-2], chain[-1]) for chain in chains(root) if len(chain) > 2]


# -- the order of nesting --------------------------------------------------------------------------------------------


def unnest(site: Site) -> Step | None:
    """Parents and children become one list, in which each child names its parent."""
    if not (pairs := families(site.root)):
        return None
    parent, child = site.random.choice(pairs)
    number = site.number()
    flat = Entity(
        number, site.name(), plain((*without(parent, child.number), *child.parts)),
        parent.some and child.some and child in parent.parts, combined((parent, child)),
    )  # fmt: skip

    def rows(row: Row) -> dict[int, list[Row]]:
        return {number: [both(row, each, child.number) for each in row.below.get(child.number, ())]}

    return Step(substituted(site.root, parent.number, flat), instead(site.root, parent.number, rows))


def nest(site: Site) -> Step | None:
    """Some leaves of a list go to a parent, the others below it: rows with equal parents come together when glued."""
    entity = _any_below_root(site)
    if entity is None or (shares := site.divided(entity.parts, 2)) is None:
        return None
    outer, inner = site.number(), site.number()
    name = site.name()
    child = Entity(inner, entity.name, plain(shares[1]), some=True)
    parent = Entity(outer, name, plain((*shares[0], child)), entity.some, entity.branches)

    def rows(row: Row) -> dict[int, list[Row]]:
        return {outer: [adding(part_of(row, shares[0]), inner, [part_of(row, shares[1])])]}

    return Step(substituted(site.root, entity.number, parent), instead(site.root, entity.number, rows))


def flip(site: Site) -> Step | None:
    """Children become parents, and their parents their children; flop is the same the other way round."""
    if not (pairs := families(site.root)):
        return None
    parent, child = site.random.choice(pairs)
    outer, inner = site.number(), site.number()
    below = Entity(inner, parent.name, plain(without(parent, child.number)), some=True)
    some = parent.some and child.some and child in parent.parts
    above = Entity(outer, child.name, plain((*child.parts, below)), some, combined((parent, child)))

    def rows(row: Row) -> dict[int, list[Row]]:
        parents = [both(row, Row(), child.number)]
        return {
            outer: [adding(both(Row(row.values), each), inner, parents) for each in row.below.get(child.number, ())]
        }

    return Step(substituted(site.root, parent.number, above), instead(site.root, parent.number, rows))


# -- merge and split -------------------------------------------------------------------------------------------------


def merge_by_nesting(site: Site) -> Step | None:
    """Two lists below one node become one, of all their pairs."""
    parents = [entity for entity in entities(site.root)[1:] if len(list(children(entity))) > 1]
    if not parents:
        return None
    parent = site.random.choice(parents)
    one, other = site.random.sample(list(children(parent)), 2)
    if overlap(one, other):
        return None
    number = site.number()
    some = one.some and other.some and one in parent.parts and other in parent.parts
    merged = Entity(number, site.name(), plain((*one.parts, *other.parts)), some, combined((one, other)))

    def change(row: Row) -> Row:
        pairs = [both(a, b) for a in row.below.get(one.number, ()) for b in row.below.get(other.number, ())]
        return adding(both(row, Row(), one.number, other.number), number, pairs)

    root = substituted(substituted(site.root, one.number, merged), other.number)
    return Step(root, lambda row: everywhere(row, parent.number, change))


def split_by_nesting(site: Site) -> Step | None:
    """A list becomes two, which hang together by the node above them."""
    entity = _any_below_root(site)
    if entity is None or (shares := site.divided(entity.parts, 3)) is None:
        return None
    outer, *inner = site.number(), site.number(), site.number()
    one, other = (
        Entity(number, site.name() if place else entity.name, plain(share), some=True)
        for place, (number, share) in enumerate(zip(inner, shares[1:], strict=True))
    )
    parent = Entity(outer, "", plain(shares[0]), entity.some, entity.branches)
    used = replace(site, root=replace(site.root, parts=(*site.root.parts, one, other)))
    parent = replace(parent, name=used.name(), parts=(*parent.parts, one, other))

    def rows(row: Row) -> dict[int, list[Row]]:
        below = [(number, [part_of(row, share)]) for number, share in zip(inner, shares[1:], strict=True)]
        found = part_of(row, shares[0])
        for number, each in below:
            found = adding(found, number, each)
        return {outer: [found]}

    return Step(substituted(site.root, entity.number, parent), instead(site.root, entity.number, rows))


def merge_by_reference(site: Site) -> Step | None:
    """What refers and what it refers to become one list of the pairs that belong together."""
    tops = list(children(site.root))
    found = [
        (link, one, other) for link in site.links for one in tops for other in tops
        if len(one.branches) == len(other.branches) == 1 and link.stops[0] in one.branches[0].stops
        and link.stops[1] in other.branches[0].stops and not overlap(one, other)
    ]  # fmt: skip
    if not found:
        return None
    link, one, other = site.random.choice(found)
    number = site.number()
    merged = Entity(number, site.name(), plain((*one.parts, *other.parts)), branches=combined((one, other)))

    def change(row: Row) -> Row:
        pairs = [
            both(a, b) for a in row.below.get(one.number, ()) for b in row.below.get(other.number, ())
            if isinstance(a.values[link.reference], str) and a.values[link.reference] == b.values[link.key]
        ]  # fmt: skip
        return adding(both(row, Row(), one.number, other.number), number, pairs)

    root = substituted(substituted(site.root, one.number, merged), other.number)
    return Step(root, lambda row: everywhere(row, ROOT, change))


def split_by_reference(site: Site) -> Step | None:
    """A list becomes two side by side, in which one refers to the other by a leaf that both get."""
    found = [
        (entity, leaf) for entity in entities(site.root)[1:] for leaf in entity.parts
        if isinstance(leaf, Leaf) and leaf.form != "tag" and leaf.required and leaf.origins
    ]  # fmt: skip
    if not found:
        return None
    entity, leaf = site.random.choice(found)
    shares = site.divided([part for part in entity.parts if part is not leaf], 2)
    if shares is None:
        return None
    id_type, idref_type = site.random.choice(KINDS)
    key = replace(leaf, form="attribute", name="id", type=id_type, is_key=True, refers=False)
    reference = replace(leaf, form="attribute", name="ref", type=idref_type, is_key=False, refers=True)
    numbers = site.number(), site.number()
    referred = Entity(numbers[0], site.name(), (key, *plain(shares[0])), entity.some, entity.branches)
    referring = Entity(numbers[1], entity.name, (reference, *plain(shares[1])), entity.some, entity.branches)

    def rows(row: Row) -> dict[int, list[Row]]:
        return {number: [part_of(row, share)] for number, share in zip(numbers, shares, strict=True)}

    changed = substituted(site.root, entity.number, referred, referring)
    others = {id(key), id(reference)}

    def unkeyed(part: Part) -> tuple[Part, ...]:
        kept = not isinstance(part, Leaf) or id(part) in others
        return (part,) if kept else plain((part,))

    return Step(replace(changed, parts=mapped(changed, unkeyed)), instead(site.root, entity.number, rows))


# -- alternatives and copies -----------------------------------------------------------------------------------------


def unite(site: Site) -> Step | None:
    """Two lists side by side become one: alternatives, which a leaf with several arrows says.

    Lists whose nodes are connected (below one node, or made from the same nodes) have just one leaf each, as all
    combinations of alternatives are meant there; others several, and one may have more than the other.
    """
    if any(branch.label is not None for entity in entities(site.root) for branch in entity.branches):
        return None
    found = []
    for parent in entities(site.root):
        lists = [c for c in children(parent) if not list(children(c)) and c.tag is None and len(c.branches) == 1]
        for one in lists:
            for other in lists:
                pairs = list(zip(own_leaves(one), own_leaves(other), strict=False))
                sizes = len(list(own_leaves(one))), len(list(own_leaves(other)))
                apart = parent.number == ROOT and not _connected(site, one, other)
                apart &= not any(site.of_root & {*leaf.origins} for each in (one, other) for leaf in own_leaves(each))
                origins = all(len(leaf.origins) == 1 for pair in pairs for leaf in pair)
                if one is not other and pairs and origins and (apart or sizes == (1, 1)):
                    found.append((parent, one, other))
    if not found:
        return None
    parent, one, other = site.random.choice(found)
    number = site.number()
    pairs = list(zip(own_leaves(one), own_leaves(other), strict=False))
    keys = [f"united{place}" for place, _ in enumerate(pairs)]
    leaves = [
        replace(a, key=key, origins=(*a.origins, *b.origins), required=a.required and b.required,
                number=a.number and b.number, form="element" if a.form == "text" else a.form)
        for key, (a, b) in zip(keys, pairs, strict=True)
    ]  # fmt: skip
    more = [
        replace(leaf, required=False, form="element" if leaf.form == "text" else leaf.form)
        for entity in (one, other)
        for leaf in list(own_leaves(entity))[len(pairs) :]
    ]
    branches = tuple(
        replace(
            entity.branches[0],
            united=frozenset(zip(keys, [pair[place].origins[0] for pair in pairs], strict=True)),
            label=place,
        )
        for place, entity in enumerate((one, other))
    )
    some = (one.some and one in parent.parts) or (other.some and other in parent.parts)
    united = Entity(number, site.name(), plain((*leaves, *more)), some, branches)

    def rekeyed(row: Row, place: int) -> Row:
        taken = dict(zip(keys, [row.values[pair[place].key or ""] for pair in pairs], strict=True))
        rest = {leaf.key for leaf in list(own_leaves((one, other)[place]))[len(pairs) :]}
        return Row(taken | {key: value for key, value in row.values.items() if key in rest})

    def change(row: Row) -> Row:
        rows = [
            rekeyed(each, place)
            for place, entity in enumerate((one, other))
            for each in row.below.get(entity.number, ())
        ]
        return adding(both(row, Row(), one.number, other.number), number, rows)

    root = substituted(substituted(site.root, one.number, united), other.number)
    return Step(root, lambda row: everywhere(row, parent.number, change))


def _connected(site: Site, one: Entity, other: Entity) -> bool:
    """Whether two lists below the root are, or may be, made from nodes that the start schema connects."""
    stops = one.branches[0].stops - {ROOT}, other.branches[0].stops - {ROOT}
    return bool(stops[0] & stops[1]) or not stops[0] or not stops[1] or bool(site.links)


def copy(site: Site) -> Step | None:
    """A leaf goes to another place too: beside itself, or to each node of a list below."""
    found = [
        (chain[-1], target, leaf) for chain in chains(site.root) for leaf in own_leaves(chain[-1])
        for target in (chain[-1], *children(chain[-1]))
        if leaf.form != "tag" and len(leaf.origins) == 1 and target.number != ROOT
    ]  # fmt: skip
    if not found:
        return None
    source, target, leaf = site.random.choice(found)
    form = site.random.choice(FORMS)
    whole = replace(target, parts=(*target.parts, *plain((replace(leaf, form=form),))))

    def change(row: Row) -> Row:
        return adding(row, target.number, [both(Row(row.values), each) for each in row.below.get(target.number, ())])

    root = substituted(site.root, target.number, whole)
    if source is target or leaf.key is None:
        return Step(root)
    return Step(root, lambda row: everywhere(row, source.number, change))


# -- what is written otherwise ---------------------------------------------------------------------------------------


def values_to_tags(site: Site) -> Step | None:
    """The values of a leaf become the tags of what holds it."""
    if any(entity.tag for entity in entities(site.root)):
        return None
    found = [
        (entity, leaf) for entity in entities(site.root)[1:] for leaf in entity.parts
        if isinstance(leaf, Leaf) and leaf.origins and (len(entity.parts) > 1 or leaf.form != "text")
    ]  # fmt: skip
    if not found:
        return None
    entity, leaf = site.random.choice(found)
    parts = tuple(part for part in entity.parts if part is not leaf)
    (tag,) = plain((replace(leaf, form="tag"),))
    return Step(substituted(site.root, entity.number, replace(entity, parts=(tag, *parts))))


def tags_to_values(site: Site) -> Step | None:
    """The tags of a box become values of a leaf."""
    boxes = [entity for entity in entities(site.root) if entity.tag]
    if not boxes:
        return None
    (entity,) = boxes
    form = site.random.choice(FORMS)
    parts = tuple(
        replace(part, form=form) if isinstance(part, Leaf) and part.form == "tag" else part for part in entity.parts
    )
    return Step(substituted(site.root, entity.number, replace(entity, name=site.name(), parts=parts)))


def insert_node(site: Site) -> Step | None:
    """An inner element comes between some parts and what holds them, or a leaf that nothing fills is new."""
    holder = site.random.choice(list(holders(site.root)))
    if site.random.random() < 0.15:
        leaf = Leaf(site.random.choice(LEAF_NAMES), site.random.choice(FORMS), None, required=False)
        return Step(_with_parts(site.root, holder, (*holder.parts, leaf)))
    parts = [part for part in holder.parts if not isinstance(part, Leaf) or part.form != "tag"]
    if not parts:
        return None
    chosen = site.random.sample(parts, site.random.randint(1, len(parts)))
    inner = Inner(site.name(), plain(part for part in parts if part in chosen))
    rest = tuple(part for part in holder.parts if part not in chosen)
    return Step(_with_parts(site.root, holder, (*rest, inner)))


def delete_node(site: Site) -> Step | None:
    """An inner element goes, and leaves what it holds, or a leaf or a whole list goes."""
    found = [(holder, part) for holder in holders(site.root) for part in holder.parts]
    inner = [(holder, part) for holder, part in found if isinstance(part, Inner)]
    if not found:
        return None
    holder, part = site.random.choice(inner if inner and site.random.random() < 0.6 else found)
    new: tuple[Part, ...] = ()
    if isinstance(part, Inner):
        new = tuple(
            replace(each, required=each.required and part.required) if isinstance(each, Leaf | Inner)
            else replace(each, some=each.some and part.required)
            for each in part.parts
        )  # fmt: skip
    place = holder.parts.index(part)
    return Step(_with_parts(site.root, holder, (*holder.parts[:place], *new, *holder.parts[place + 1 :])))


def rename(site: Site) -> Step | None:
    """Some elements and attributes are called otherwise."""
    names = site.names()

    def change(part: Part) -> tuple[Part, ...]:
        if site.random.random() < 0.4:
            return (part,)
        if isinstance(part, Leaf):
            return (replace(part, name=site.random.choice(LEAF_NAMES)),)
        return (replace(part, name=names.pop()) if names else part,)

    root = replace(site.root, parts=mapped(site.root, change))
    return Step(root if not names or site.random.random() < 0.5 else replace(root, name=names.pop()))


def element_to_attribute(site: Site) -> Step | None:
    """Elements with a single value, or texts of elements, become attributes."""
    return _recast(site, ("element", "text"), "attribute")


def attribute_to_element(site: Site) -> Step | None:
    """Attributes become elements, or the text of their element where that holds only attributes."""
    return _recast(site, ("attribute",), "text" if site.random.random() < 0.4 else "element")


def _recast(site: Site, old: Sequence[Form], new: Form) -> Step | None:
    leaves = [leaf for holder in holders(site.root) for leaf in holder.parts if isinstance(leaf, Leaf)]
    found = [leaf for leaf in leaves if leaf.form in old]
    if not found:
        return None
    chosen = {id(leaf) for leaf in site.random.sample(found, site.random.randint(1, min(2, len(found))))}

    def change(part: Part) -> tuple[Part, ...]:
        if isinstance(part, Leaf) and id(part) in chosen:
            return plain((replace(part, form=new),))
        return (part,)

    return Step(replace(site.root, parts=mapped(site.root, change)))


def _any_below_root(site: Site) -> Entity | None:
    below = entities(site.root)[1:]
    return site.random.choice(below) if below else None


def _with_parts(root: Entity, holder: Holder, parts: tuple[Part, ...]) -> Entity:
    def change(here: Holder) -> Holder:
        if here is holder:
            return replace(here, parts=parts)
        return replace(here, parts=tuple(part if isinstance(part, Leaf) else change(part) for part in here.parts))

    changed = change(root)
    assert isinstance(changed, Entity)
    return changed


TRANSFORMATIONS: Final[tuple[Transformation, ...]] = (
    unnest, nest, flip, merge_by_nesting, split_by_nesting, merge_by_reference, split_by_reference, unite, copy,
    values_to_tags, tags_to_values, insert_node, delete_node, rename, element_to_attribute, attribute_to_element,
)  # fmt: skip
LIKELY: Final = (3, 3, 3, 5, 4, 5, 3, 5, 2, 2, 2, 1, 1, 1, 1, 1)
"""How likely each transformation is drawn: those more often that find a place more seldom."""

ROWS_STAY: Final = frozenset(
    each.__name__ for each in (values_to_tags, tags_to_values, insert_node, rename, element_to_attribute,
                               attribute_to_element)
)  # fmt: skip
"""The transformations that change neither rows nor what can be known of them."""
