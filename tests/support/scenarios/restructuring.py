"""Transformations that change rows: the order of nesting, merge and split, alternatives and copies.

Each finds a place where it can be done, does it, and says how rows follow; ``None`` where there is no place.
"""

from __future__ import annotations

from dataclasses import replace

from tests.support.scenarios.instances import Row, everywhere
from tests.support.scenarios.model import (
    ROOT,
    Entity,
    Leaf,
    Part,
    chains,
    children,
    combined,
    entities,
    mapped,
    overlap,
    own_leaves,
    substituted,
    without,
)
from tests.support.scenarios.site import (
    FORMS,
    KINDS,
    Site,
    Step,
    adding,
    any_below_root,
    both,
    families,
    instead,
    part_of,
    plain,
)

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
    entity = any_below_root(site)
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
    entity = any_below_root(site)
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
    """What refers and what it refers to become one list of the pairs that belong together.

    Each of the first refers to one of the others: what refers to nothing would stay, but not in lists below.
    """
    tops = list(children(site.root))
    found = [
        (link, one, other) for link in site.links for one in tops for other in tops
        if link.sure and len(one.branches) == len(other.branches) == 1 and link.stops[0] in one.branches[0].stops
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
            if a.values[link.reference] == b.values[link.key]
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
    combinations of alternatives are meant there; others several, and one may have more than the other. Numbers are
    united with numbers, so that comparing them with numbers raises no error in any words.
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
                fit = all(len(a.origins) == len(b.origins) == 1 and a.number == b.number for a, b in pairs)
                if one is not other and pairs and fit and (apart or sizes == (1, 1)):
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
        given = ((key, row.values.get(pair[place].key or "")) for key, pair in zip(keys, pairs, strict=True))
        taken = {key: value for key, value in given if value is not None}
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
