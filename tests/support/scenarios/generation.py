"""Random scenarios: a start schema, transformations, an end schema, the arrows between them, and what exchange makes.

What is expected comes from doing the transformations on rows, one after the other. A mapping from start to end says the
same in one step wherever the start nodes that a list is made from are those that its arrows speak of, or nodes that are
surely there; other sequences are drawn again (:func:`says_the_same`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from tests.support.random_mappings import MOST_RULES, Problem, problem
from tests.support.scenarios.instances import ConflictError, read, write
from tests.support.scenarios.model import (
    BOX,
    ROOT,
    Branch,
    Entity,
    Holder,
    Inner,
    Leaf,
    Part,
    as_start,
    binds_once,
    chains,
    children,
    combined,
    declarations,
    dtd,
    entities,
    holders,
    mapped,
    own_leaves,
    places,
    settled,
)
from tests.support.scenarios.site import ENTITY_NAMES, FORMS, KINDS, LEAF_NAMES, Link, Site, Step, plain
from tests.support.scenarios.transformations import LIKELY, TRANSFORMATIONS

MOST_LEAVES: Final = 14


@dataclass(frozen=True, slots=True)
class Scenario:
    """A problem, and what it was made by; the image of a document does not need its mapping."""

    start: Entity
    end: Entity
    names: tuple[str, ...]
    """The transformations, in order."""
    problem: Problem
    steps: tuple[Step, ...] = field(repr=False, default=())

    def expected(self, document: str, seen: Counter[str] | None = None) -> str | None:
        """The image of a document of the start schema, ``None`` where keys of the end schema do not hold.

        ``seen`` counts what happened on the way.
        """
        row = read(self.start, document)
        for step in self.steps:
            row = step.rows(row)
        try:
            return write(self.end, row, Counter() if seen is None else seen)
        except ConflictError:
            return None

    def __str__(self) -> str:
        return f"{', '.join(self.names)}\n{self.problem}"


def random_scenario(random: Random, start: Entity | None = None, most: int = 4) -> Scenario:
    """One to ``most`` transformations of a schema, a random one unless ``start`` is given."""
    given = start
    while True:
        start = as_start(random_start(random) if given is None else given)
        links, of_root = links_of(start), frozenset(leaf.origins[0] for leaf in own_leaves(start))
        root = start
        names: list[str] = []
        steps: list[Step] = []
        wanted = random.randint(1, most)
        for _ in range(12):
            (transformation,) = random.choices(TRANSFORMATIONS, LIKELY)
            step = transformation(Site(random, root, links, of_root))
            changed = normal(random, step.root) if step is not None and len(steps) < wanted else None
            if step is not None and changed is not None and binds_once(changed):
                root = changed
                names.append(transformation.__name__)
                steps.append(step)
        end = settled(without_dangling(root))
        if steps and fits(end) and says_the_same(start, links, end):
            found = problem(dtd(start), dtd(end), arrows(random, start, links, end))
            if len(found.mapping.rules) <= MOST_RULES:
                return Scenario(start, end, tuple(names), found, tuple(steps))


def fits(root: Entity) -> bool:
    """Whether a schema has leaves to ask for, and not too many."""
    return 0 < sum(place.leaf.form != "tag" for place in places(root)) <= MOST_LEAVES


def arrows(random: Random, start: Entity, links: Sequence[Link], end: Entity) -> str:
    """Declarations and arrows, as an administrator would write them."""
    found = [(origin, place.path) for place in places(end) for origin in place.leaf.origins]
    used = {origin for origin, _ in found}
    boxed = any(map(_boxed, used))
    lines = [line for line in declarations(start, "source") if boxed or not (" box " in line or BOX in line)]
    lines += declarations(end, "target")
    joins = (f"source join {link.reference} -> {link.key}" for link in links if link.tied)
    lines += [line for line in joins if boxed or BOX not in line]
    random.shuffle(found)
    return "\n".join([*lines, *(f"{origin} -> {path}" for origin, path in dict.fromkeys(found))]) + "\n"


def _boxed(path: str) -> bool:
    return path.startswith(BOX)


# -- whether one mapping says what the steps say ----------------------------------------------------------------------


def says_the_same(start: Entity, links: Sequence[Link], end: Entity) -> bool:
    """Whether the steps make each list from the nodes that its arrows alone would make it from.

    Those are the nodes of the leaves in it and in the lists around it, and what refers between them; besides, the steps
    may only have bound nodes that are surely there.
    """
    homes = {place.path: place.entity.number for place in places(start)}
    if any(map(_boxed, _used(end))) and BOX not in _used(end):
        return False
    for chain in chains(end):
        branches = combined(chain)
        several = False
        for branch in branches:
            origins = [_origin(leaf, branch, homes) for entity in chain for leaf in own_leaves(entity)]
            own = [_origin(leaf, branch, homes) for leaf in own_leaves(chain[-1])]
            tags = [_origin(entity.tag, branch, homes) for entity in chain if entity.tag]
            several |= len(branches) > 1 and not all(origins)
            if not any(own):
                continue
            needed = _meant({homes[origin] for origin in origins if origin}, start, links)
            if not all(tags) or not branch.stops <= _surely(needed, branch.stops, start, links):
                return False
            if any(_stays_without(leaf, branch, chain, homes, start, links) for leaf in _united(chain)):
                return False
        if several and not _united(chain):
            return False
    return True


def _united(chain: Sequence[Entity]) -> list[Leaf]:
    """The leaves for which several arrows compete."""
    return [leaf for entity in chain for leaf in own_leaves(entity) if len(leaf.origins) > 1]


def _stays_without(
    leaf: Leaf, branch: Branch, chain: Sequence[Entity], homes: dict[str, int], start: Entity, links: Sequence[Link]
) -> bool:
    """Whether a mapping says something else of other leaves than rows do, where an origin of a united leaf is missing.

    It makes nodes without the leaf where none of its origins is there, and none where only another one is.
    """
    origin = _origin(leaf, branch, homes)
    others = [_origin(other, branch, homes) for entity in chain for other in own_leaves(entity) if other is not leaf]
    rest = {homes[other] for other in others if other} - {ROOT}
    surely = _surely(_meant(rest, start, links), branch.stops, start, links)
    homes_of = {homes[each] for each in leaf.origins}
    tops = [{entity.number for entity in entities(top)} | {ROOT} for top in children(start)]
    connected = bool(links) or any(homes_of <= top for top in tops)
    missing = (connected and not leaf.required) or homes.get(origin or "", ROOT) not in surely
    return origin is not None and bool(rest) and missing


def _used(end: Entity) -> set[str]:
    return {origin for place in places(end) for origin in place.leaf.origins}


def _origin(leaf: Leaf, branch: Branch, homes: dict[str, int]) -> str | None:
    """Where a leaf's value comes from in the nodes of one branch; ``None`` where nothing supplies it."""
    origin = dict(branch.united).get(leaf.key or "") or (leaf.origins[0] if len(leaf.origins) == 1 else None)
    return origin if origin is not None and homes[origin] in branch.stops | {ROOT} else None


def _with_ancestors(stops: set[int], start: Entity) -> set[int]:
    return {entity.number for chain in chains(start) if chain[-1].number in stops for entity in chain} | {ROOT}


def _meant(stops: set[int], start: Entity, links: Sequence[Link]) -> set[int]:
    """The nodes that leaves of ``stops`` speak of together: those around them, and what connects them.

    Links make a tree, so a link connects them just when some of them are on either side of it.
    """
    found = _with_ancestors(stops, start)
    tops = [{entity.number for entity in entities(top)} for top in children(start)]
    for link in links:
        side = next(top for top in tops if link.stops[0] in top)
        others = [other for other in links if set(other.stops) != set(link.stops)]
        side = _reached(side, tops, others)
        if stops & side and stops - side - {ROOT}:
            found |= _with_ancestors(set(link.stops), start)
    return found


def _reached(side: set[int], tops: list[set[int]], links: Sequence[Link]) -> set[int]:
    """A component with all that links connect it with."""
    reached = set(side)
    for _ in links:
        for link in links:
            if reached & set(link.stops):
                reached |= {number for top in tops if top & set(link.stops) for number in top}
    return reached


def _surely(stops: set[int], bound: frozenset[int], start: Entity, links: Sequence[Link]) -> set[int]:
    """The nodes, and those that are there whenever they are: at least one child, what an IDREF refers to.

    A list below the root has nodes whenever it must, but they need not be those that something else refers to.
    """
    found = set(stops)
    sure = {place.path for place in places(start) if place.sure and place.leaf.required}
    joined = sum(any(entity.number in bound for entity in entities(top)) for top in children(start)) > 1
    for _ in entities(start):
        for *_, parent, child in (chain for chain in chains(start) if len(chain) > 1):
            if parent.number in found and child.some and _directly(parent, child) and (parent.number or not joined):
                found.add(child.number)
        for link in links:
            if link.inferred and link.stops[0] in found and link.reference in sure:
                found |= _with_ancestors({link.stops[1]}, start)
    return found


def _directly(holder: Holder, child: Entity) -> bool:
    """Whether each node of the holder has the list, so that no optional element is between."""
    return any(
        part is child or (isinstance(part, Inner) and part.required and _directly(part, child)) for part in holder.parts
    )


# -- schemas as they can be ------------------------------------------------------------------------------------------


def normal(random: Random, root: Entity) -> Entity | None:
    """The schema with names apart and nothing empty, ``None`` where there would be two tags or two boxes."""
    if sum(part.form == "tag" for holder in holders(root) for part in holder.parts if isinstance(part, Leaf)) > 1:
        return None

    def change(part: Part) -> tuple[Part, ...]:
        if isinstance(part, Leaf):
            return (part,)
        return (replace(part, parts=_apart(random, part)),) if part.parts else ()

    changed = replace(root, parts=mapped(root, change))
    changed = replace(changed, parts=_apart(random, changed, is_root=True))
    misplaced = any(
        isinstance(holder, Inner) and any(isinstance(part, Leaf) and part.form == "tag" for part in holder.parts)
        for holder in holders(changed)
    )
    return None if misplaced or len(entities(changed)) < 2 else changed


def _apart(random: Random, holder: Holder, *, is_root: bool = False) -> tuple[Part, ...]:
    """The parts with unique names; a text beside elements becomes an element."""
    texts = [part for part in holder.parts if isinstance(part, Leaf) and part.form == "text"]
    others = [part for part in holder.parts if not isinstance(part, Leaf) or part.form == "element"]
    taken: set[tuple[str, str]] = set()
    found: list[Part] = []
    for part in holder.parts:
        if isinstance(part, Leaf) and part.form != "tag":
            form = "element" if part.form == "text" and (others or len(texts) > 1 or is_root) else part.form
            name = part.name
            while (form, name) in taken:
                name = random.choice(LEAF_NAMES)
            taken.add((form, name))
            found.append(replace(part, form=form, name=name))
        else:
            found.append(part)
    return tuple(found)


def without_dangling(root: Entity) -> Entity:
    """The schema without leaves that refer to a key that is gone."""
    keys = [place.leaf for place in places(root) if place.leaf.is_key]

    def change(part: Part) -> tuple[Part, ...]:
        return plain((part,)) if isinstance(part, Leaf) and part.refers else (part,)

    return root if keys else replace(root, parts=mapped(root, change))


def links_of(start: Entity) -> tuple[Link, ...]:
    """The references of a start schema between lists that stand side by side below the root.

    Where two leaves of a list refer to the key, the last one is the one to use.
    """
    found = list(places(start))
    key = next((place for place in found if place.leaf.is_key), None)
    if key is None:
        return ()
    tops = {entity.number: top.number for top in children(start) for entity in entities(top)}
    links: dict[tuple[int, int], Link] = {}
    for place in found:
        ends = tops.get(place.entity.number, ROOT), tops.get(key.entity.number, ROOT)
        if place.leaf.refers and ROOT not in ends and ends[0] != ends[1]:
            stops = place.entity.number, key.entity.number
            inferred = place.leaf.type == "IDREF"
            sure = inferred and place.sure and place.leaf.required
            links[ends] = Link(place.path, key.path, stops, inferred, sure, ends in links)
    return tuple(links.values())


# -- start schemas ---------------------------------------------------------------------------------------------------


@dataclass
class _Drawing:
    random: Random
    names: list[str]
    boxed: bool = False

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def leaf(self, name: str) -> Leaf:
        return Leaf(name, self.random.choice((*FORMS, "element")), None, required=self.chance(0.65))

    def leaves(self, least: int, most: int) -> tuple[Part, ...]:
        count = self.random.randint(least, most)
        return tuple(self.leaf(name) for name in self.random.sample(("k", "m", "v", "w", "n"), count))

    def entity(self, number: int, depth: int) -> Entity:
        name = self.names.pop()
        if depth == 0 and self.chance(0.15):
            return Entity(number, name, (Leaf("v", "text", None),), self.chance(0.3))
        parts = self.leaves(1, 3)
        if len(parts) > 1 and self.chance(0.2):
            parts = (*parts[1:], Inner(self.names.pop(), parts[:1], self.chance(0.5)))
        if not self.boxed and self.chance(0.2):
            self.boxed = True
            parts = (Leaf("v", "tag", None), *parts)
        below = self.random.choice((1, 1, 2)) if depth > 0 else 0
        lists = tuple(self.entity(number * 10 + place, depth - 1) for place in range(1, below + 1))
        return Entity(number, name, (*parts, *lists), self.chance(0.3))


def random_start(random: Random) -> Entity:
    """A small schema: lists below lists, or lists side by side, which may refer to one of them."""
    while not fits(found := _drawn(random)):
        pass
    return found


def _drawn(random: Random) -> Entity:
    drawing = _Drawing(random, random.sample(ENTITY_NAMES, len(ENTITY_NAMES)))
    kind = random.random()
    tops: list[Entity]
    if kind < 0.55:
        tops = [drawing.entity(1, random.choice((0, 1, 1, 1, 2)))]
    else:
        tops = [drawing.entity(number, random.choice((0, 0, 0, 1))) for number in range(1, random.choice((3, 3, 4)))]
    if kind > 0.7:
        tops = _referring(random, tops)
    leaves = drawing.leaves(0, 1) if random.random() < 0.4 else ()
    parts: tuple[Part, ...] = (*leaves, *tops)
    if random.random() < 0.15:
        parts = (*leaves, Inner(drawing.names.pop(), tuple(tops)))
    found = normal(random, Entity(ROOT, "s", parts))
    assert found is not None
    return found


def _referring(random: Random, tops: list[Entity]) -> list[Entity]:
    """The lists, of which one has a key and the others refer to it."""
    id_type, idref_type = random.choice(KINDS)
    required = id_type == "ID" or random.random() < 0.8
    key = Leaf("id", "attribute", None, required=required, type=id_type, is_key=True)
    found = [replace(tops[0], parts=(*tops[0].parts, key), some=tops[0].some or id_type == "ID")]
    for top in tops[1:]:
        names = ["ref", "ref2"] if random.random() < 0.15 else ["ref"]
        refs = (
            Leaf(name, "attribute", None, required=random.random() < 0.7, type=idref_type, refers=True)
            for name in names
        )
        found.append(replace(top, parts=(*top.parts, *refs)))
    return found
