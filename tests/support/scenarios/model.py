"""The schemas of scenarios: entities that repeat, what they hold, and where each leaf comes from.

A schema is the tree of what repeats, an :class:`Entity` for each stop node, with leaves and inner elements between. It
is printed as a DTD. Beside its shape, every leaf knows the leaves of the start schema that its values come from, and
every entity which start entities one of its nodes is made from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

MEMBERS: Final = ("x", "y")
"""The members of every box."""

BOX: Final = "[B]"
ROOT: Final = 0
"""The number of the root, which is an entity that stands once."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One way in which nodes of an entity are made, from one node of each start entity in ``stops``.

    Of leaves that are united from several, ``united`` tells the origin of each. Branches whose labels differ are of
    different nodes all the way down.
    """

    stops: frozenset[int]
    united: frozenset[tuple[str, str]] = frozenset()
    label: int | None = None

    def joined(self, other: Branch) -> Branch | None:
        """Both at once, ``None`` when they are of different nodes."""
        labels = {self.label, other.label} - {None}
        if len(labels) > 1:
            return None
        return Branch(self.stops | other.stops, self.united | other.united, next(iter(labels), None))


_NOTHING: Final = Branch(frozenset())


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value; ``key`` is where rows keep it, ``None`` when nothing fills it.

    The form ``text`` is the text of the element around it, ``tag`` the tag of the entity's element.
    """

    name: str
    form: Form
    key: str | None
    origins: tuple[str, ...] = ()
    required: bool = True
    number: bool = False
    type: Type = "CDATA"
    is_key: bool = False
    refers: bool = False
    """To the only leaf that is a key."""


@dataclass(frozen=True, slots=True)
class Inner:
    """An element that stands at most once in what is around it."""

    name: str
    parts: tuple[Part, ...]
    required: bool = True


@dataclass(frozen=True, slots=True)
class Entity:
    """An element that repeats (``some``: at least once), known by its number whatever its name becomes."""

    number: int
    name: str
    parts: tuple[Part, ...]
    some: bool = False
    branches: tuple[Branch, ...] = (_NOTHING,)
    """What its nodes are made from besides what those around them are."""

    @property
    def tag(self) -> Leaf | None:
        """The leaf whose values are the tags, when the entity is a box."""
        return next((part for part in self.parts if isinstance(part, Leaf) and part.form == "tag"), None)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that its elements are declared under."""
        return MEMBERS if self.tag else (self.name,)


Type: TypeAlias = Literal["CDATA", "ID", "IDREF"]
Form: TypeAlias = Literal["attribute", "element", "text", "tag"]
Part: TypeAlias = Leaf | Inner | Entity
Holder: TypeAlias = Inner | Entity


# -- walking -------------------------------------------------------------------------------------------------------


def own_leaves(holder: Holder) -> Iterator[Leaf]:
    """The leaves of an entity, those in its inner elements too."""
    for part in holder.parts:
        if isinstance(part, Leaf):
            yield part
        elif isinstance(part, Inner):
            yield from own_leaves(part)


def children(holder: Holder) -> Iterator[Entity]:
    """The entities directly below one, those in its inner elements too."""
    for part in holder.parts:
        if isinstance(part, Entity):
            yield part
        elif isinstance(part, Inner):
            yield from children(part)


def chains(entity: Entity, above: tuple[Entity, ...] = ()) -> Iterator[tuple[Entity, ...]]:
    """Each entity at or below one, with those around it from the root down."""
    here = (*above, entity)
    yield here
    for child in children(entity):
        yield from chains(child, here)


def entities(root: Entity) -> list[Entity]:
    return [chain[-1] for chain in chains(root)]


def holders(root: Holder) -> Iterator[Holder]:
    yield root
    for part in root.parts:
        if not isinstance(part, Leaf):
            yield from holders(part)


def combined(chain: tuple[Entity, ...]) -> tuple[Branch, ...]:
    """The ways in which the nodes of a chain are made together."""
    found: tuple[Branch, ...] = (_NOTHING,)
    for entity in chain:
        pairs = (one.joined(other) for one in found for other in entity.branches)
        found = tuple(dict.fromkeys(pair for pair in pairs if pair is not None))
    return found


def overlap(one: Entity, other: Entity) -> bool:
    """Whether two entities are made from nodes of the same start entity, each from its own."""
    pairs = ((a, b) for a in one.branches for b in other.branches)
    return any(a.joined(b) is not None and a.stops & b.stops for a, b in pairs)


def binds_once(root: Entity) -> bool:
    """Whether no entity is made from nodes of a start entity of which one around it is made from others.

    A mapping cannot say that: in a rule, a leaf of the start schema is that of one node.
    """
    return not any(overlap(chain[-1], above) for chain in chains(root) for above in chain[:-1])


@dataclass(frozen=True, slots=True)
class Place:
    """A leaf, its path as arrows write it, and the entity it belongs to."""

    leaf: Leaf
    path: str
    entity: Entity
    sure: bool
    """Whether every node of the entity has what is around the leaf."""


def places(entity: Entity) -> Iterator[Place]:
    """All leaves of a schema, in its order."""
    yield from _places(entity, entity, (), sure=True)


def _places(holder: Holder, entity: Entity, above: tuple[str, ...], *, sure: bool) -> Iterator[Place]:
    for part in holder.parts:
        if isinstance(part, Leaf):
            yield Place(part, "/".join((*above, *step(part, holder))), entity, sure)
        elif isinstance(part, Inner):
            yield from _places(part, entity, (*above, part.name), sure=sure and part.required)
        else:
            yield from _places(part, part, (BOX,) if part.tag else (*above, part.name), sure=True)


def step(leaf: Leaf, holder: Holder) -> tuple[str, ...]:
    """The last step of a leaf's path; the text of an element that holds nothing else is the element itself."""
    match leaf.form:
        case "tag":
            return ()
        case "attribute":
            return (f"@{leaf.name}",)
        case "element":
            return (leaf.name,)
        case "text":
            return () if holder.parts == (leaf,) else ("text()",)


# -- changing ------------------------------------------------------------------------------------------------------


def mapped(holder: Holder, change: Callable[[Part], tuple[Part, ...]]) -> tuple[Part, ...]:
    """The parts of a holder, each replaced by what ``change`` makes of it, from below."""
    found: list[Part] = []
    for part in holder.parts:
        found += change(part if isinstance(part, Leaf) else replace(part, parts=mapped(part, change)))
    return tuple(found)


def substituted(root: Entity, number: int, *new: Part) -> Entity:
    """The schema with ``new`` in the place of the entity ``number``; inner elements left without parts go."""

    def change(part: Part) -> tuple[Part, ...]:
        if isinstance(part, Entity) and part.number == number:
            return new
        return () if isinstance(part, Inner) and not part.parts else (part,)

    return replace(root, parts=mapped(root, change))


def without(holder: Holder, number: int) -> tuple[Part, ...]:
    """The parts of a holder without the entity ``number``."""

    def change(part: Part) -> tuple[Part, ...]:
        gone = part.number == number if isinstance(part, Entity) else isinstance(part, Inner) and not part.parts
        return () if gone else (part,)

    return mapped(holder, change)


def is_solid(holder: Holder) -> bool:
    """Whether every node of it has a value, so that it stands in an image."""
    for part in holder.parts:
        if isinstance(part, Leaf):
            solid = part.required and bool(part.origins)
        else:
            solid = (part.some if isinstance(part, Entity) else part.required) and is_solid(part)
        if solid:
            return True
    return False


def settled(root: Entity) -> Entity:
    """The schema with what is no longer sure to stand in an image optional."""

    def change(part: Part) -> tuple[Part, ...]:
        match part:
            case Leaf():
                return (replace(part, required=part.required and bool(part.origins)),)
            case Inner():
                return (replace(part, required=part.required and is_solid(part)),)
            case Entity():
                solid = part.tag is None or part.tag.required
                return (replace(part, some=part.some and solid and is_solid(part)),)

    return replace(root, parts=mapped(root, change))


def as_start(root: Entity) -> Entity:
    """The schema as one to start from: each leaf comes from itself, each entity is made from itself."""
    paths = {id(place.leaf): place for place in places(root)}

    def change(part: Part) -> tuple[Part, ...]:
        match part:
            case Leaf():
                place = paths[id(part)]
                optional_text = place.path.endswith("text()")
                return (replace(part, key=place.path, origins=(place.path,),
                                required=part.required and not optional_text, number=part.name == "n"),)  # fmt: skip
            case Inner():
                return (part,)
            case Entity():
                return (replace(part, branches=(Branch(frozenset({part.number})),)),)

    return replace(root, parts=mapped(root, change), branches=(Branch(frozenset({ROOT})),))


# -- printing ------------------------------------------------------------------------------------------------------


def dtd(root: Entity) -> str:
    """The DTD, the root first."""
    declared: dict[str, str] = {}
    for holder in holders(root):
        for name in holder.names if isinstance(holder, Entity) else (holder.name,):
            declared[name] = _declaration(name, holder)
        for part in holder.parts:
            if isinstance(part, Leaf) and part.form == "element":
                declared.setdefault(part.name, f"<!ELEMENT {part.name} (#PCDATA)>")
    return "\n".join(declared.values())


def _declaration(name: str, holder: Holder) -> str:
    content, attributes = [], []
    text = False
    for part in holder.parts:
        match part:
            case Leaf(form="attribute"):
                attributes.append(f"{part.name} {part.type} {'#REQUIRED' if part.required else '#IMPLIED'}")
            case Leaf(form="element"):
                content.append(part.name + ("" if part.required else "?"))
            case Leaf():
                text = text or part.form == "text"
            case Inner():
                content.append(part.name + ("" if part.required else "?"))
            case Entity():
                names = part.names if part.tag is None else (f"({' | '.join(part.names)})",)
                content.append(names[0] + ("+" if part.some else "*"))
    model = "(#PCDATA)" if text else f"({', '.join(content)})" if content else "EMPTY"
    return f"<!ELEMENT {name} {model}>" + (f" <!ATTLIST {name} {' '.join(attributes)}>" if attributes else "")


def declarations(root: Entity, side: str) -> Iterator[str]:
    """The box, the keys and the references of one side of a mapping."""
    for holder in holders(root):
        for part in holder.parts:
            if isinstance(part, Entity) and part.tag:
                yield f"{side} box B = {_path_of(root, holder)}({' | '.join(MEMBERS)})"
    found = list(places(root))
    key = next((place for place in found if place.leaf.is_key), None)
    if key is not None and key.leaf.type != "ID":
        yield f"{side} key {key.path}"
    if key is not None:
        yield from (f"{side} reference {place.path} -> {key.path}" for place in found
                    if place.leaf.refers and place.leaf.type != "IDREF")  # fmt: skip


def _path_of(root: Entity, wanted: Holder) -> str:
    def search(holder: Holder, above: str) -> Iterator[str]:
        if holder is wanted:
            yield above
        for part in holder.parts:
            if not isinstance(part, Leaf):
                yield from search(part, f"{above}{part.name}/")

    return next(search(root, ""))
