"""What transformations are made of: where they are made, what they give, and how rows follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Final, TypeAlias

from tests.support.scenarios.instances import Change, Row, declared_names, everywhere
from tests.support.scenarios.model import Entity, Form, Inner, Leaf, Part, Type, chains, children, entities, mapped

ENTITY_NAMES: Final = "abdefghijopqr"
KINDS: Final[tuple[tuple[Type, Type], ...]] = (("ID", "IDREF"), ("ID", "IDREF"), ("CDATA", "CDATA"))
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
    sure: bool = False
    """Whether each node of the first list refers to one: else the connection is optional."""
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


def any_below_root(site: Site) -> Entity | None:
    below = entities(site.root)[1:]
    return site.random.choice(below) if below else None
