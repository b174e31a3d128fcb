"""Forty schemas of one domain, made of a global one by undoing operators at places that have nothing to do with each
other (section 5.1 of Ni and Chan: their schemas are those of THALIA, their operators the ones counted here).

What of the operators inference finds again is told by :mod:`benchmarks.rewriting.inference`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path as FilePath
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from heptox.mapping import Mapping as SchemaMapping, load_mapping
from heptox.rewriting import Downgrade, Insert, Operator, Rename, Swap, ToElement, Upgrade
from heptox.schema import Path, SchemaTree, read_dtd

SCHEMAS: Final = 40
MIX: Final[Mapping[str, int]] = {
    "Rename": 89, "Insert": 31, "ToElement": 17, "Upgrade": 6, "Downgrade": 3, "Swap": 2,
}  # fmt: skip
"""How many operators of each kind lead from all the schemas to the global one."""

_FILE: Final = FilePath(__file__).with_name("catalogue.dtd")
_KEYS: Final = (("course", "number"), ("course", "section", "crn"))
_OWN: Final = ("remark", "modified", "webpage", "approval")
"""Leaves that the global schema does not have."""
_MOST_LEFT_OUT: Final = 4
_COURSE: Final[Path] = ("course",)
_SECTION: Final[Path] = ("course", "section")
_INSTRUCTOR: Final[Path] = ("course", "section", "instructor")
_BOOK: Final[Path] = ("course", "book")

_SYNONYMS: Final[Mapping[str, tuple[str, ...]]] = {
    "course": ("offering", "class", "unit"),
    "number": ("code", "num", "crse"),
    "title": ("heading", "coursename", "subject"),
    "credits": ("points", "ects", "units"),
    "level": ("year", "stage", "grade"),
    "description": ("abstract", "summary", "content"),
    "department": ("faculty", "dept", "institute"),
    "school": ("college", "division", "branch"),
    "chair": ("head", "dean", "director"),
    "prerequisite": ("requirement", "prereq", "condition"),
    "requires": ("needed", "before", "assumes"),
    "minimum": ("atleast", "mark", "score"),
    "section": ("group", "lecture", "meeting"),
    "crn": ("sln", "regnum", "callnumber"),
    "term": ("semester", "quarter", "session"),
    "status": ("state", "availability", "open"),
    "time": ("times", "schedule", "slot"),
    "days": ("day", "daysofweek", "when"),
    "start": ("begins", "starttime", "opening"),
    "end": ("ends", "endtime", "closing"),
    "place": ("location", "venue", "where"),
    "building": ("bldg", "house", "hall"),
    "room": ("rm", "auditorium", "theatre"),
    "campus": ("site", "grounds", "area"),
    "enrolment": ("registration", "places", "admission"),
    "seats": ("limit", "capacity", "maximum"),
    "enrolled": ("taken", "students", "registered"),
    "instructor": ("lecturer", "teacher", "professor"),
    "name": ("fullname", "person", "called"),
    "email": ("mail", "address", "contact"),
    "office": ("bureau", "desk", "study"),
    "hours": ("officehours", "consultation", "visiting"),
    "weekday": ("dayofweek", "onday", "wday"),
    "from": ("since", "hourfrom", "earliest"),
    "to": ("until", "hourto", "latest"),
    "book": ("textbook", "reading", "literature"),
    "booktitle": ("work", "volume", "text"),
    "author": ("writer", "authors", "by"),
    "isbn": ("booknumber", "ean", "barcode"),
}


@dataclass(slots=True, eq=False)
class Node:
    """An element or an attribute (``@name``) of a schema, and the node of the global schema that it stands for.

    ``sign`` says how often it stands: once, ``?`` or ``*``. One without children is a leaf.
    """

    name: str
    origin: Path | None
    sign: str = ""
    children: list[Node] = field(default_factory=list)

    def walk(self, path: Path = ()) -> Iterator[tuple[Path, Node]]:
        """The node and all below it, each with its path, parents first."""
        yield path, self
        for child in self.children:
            yield from child.walk((*path, child.name))


@dataclass(frozen=True, slots=True)
class Schema:
    """A schema, and the operators that were undone to make it of the global one."""

    name: str
    root: Node
    operators: tuple[Operator, ...] = ()

    @property
    def dtd(self) -> str:
        """The schema as it is written."""
        return "\n".join(line for _, node in self.root.walk() for line in _declarations(node)) + "\n"

    @property
    def arrows(self) -> str:
        """The mapping to the global schema as it is written."""
        places = {node.origin: "/".join(path) for path, node in self.root.walk()}
        lines = [f'source "{self.name}.dtd" root {self.root.name}', f'target "{_FILE.name}" root {self.root.name}']
        lines += [f"source key {places[key]}" for key in _KEYS]
        lines += [
            f"{'/'.join(path)} -> {'/'.join(node.origin)}"
            for path, node in self.root.walk()
            if node.origin and not node.children
        ]
        return "\n".join(lines) + "\n"


def _declarations(node: Node) -> Iterator[str]:
    if node.name.startswith("@"):
        return
    elements = [f"{child.name}{child.sign}" for child in node.children if not child.name.startswith("@")]
    content = f"({', '.join(elements)})" if elements else "EMPTY" if node.children else "(#PCDATA)"
    yield f"<!ELEMENT {node.name} {content}>"
    for child in node.children:
        if child.name.startswith("@"):
            yield f"<!ATTLIST {node.name} {child.name[1:]} CDATA {'#IMPLIED' if child.sign else '#REQUIRED'}>"


@cache
def global_schema() -> SchemaTree:
    """The schema of the subscriptions."""
    return SchemaTree(read_dtd(_FILE, "catalogue"))


def catalogue() -> Schema:
    """The global schema as one of its own domain: what is generated for it is in the words of the subscriptions."""
    return Schema("catalogue", _copied(()))


def _copied(path: Path) -> Node:
    tree = global_schema()
    sign = "" if not path else "*" if tree.edge(path).repeats else "" if tree.edge(path).required else "?"
    children = [_copied(child) for child in tree.children(path)] if not tree.is_leaf(path) else []
    return Node(path[-1] if path else tree.root, path, sign, children)


@cache
def schemas(seed: int = 0) -> tuple[Schema, ...]:
    """All the schemas of the domain, with the operators of :data:`MIX`."""
    random = Random(f"schemas {seed}")
    making = [_Making(f"catalogue{number:02}", Random(f"schema {seed} {number}")) for number in range(SCHEMAS)]
    for kind in reversed(tuple(MIX)):  # those that need most room first
        for number in range(MIX[kind]):
            while not making[random.randrange(SCHEMAS)].undo(kind, number):
                pass
    return tuple(each.schema() for each in making)


def mappings(wanted: tuple[Schema, ...]) -> list[SchemaMapping]:
    """The mappings of schemas to the global one, read from their files."""
    with TemporaryDirectory(prefix="heptox-rewriting-") as name:
        folder = FilePath(name)
        (folder / _FILE.name).write_bytes(_FILE.read_bytes())
        for schema in wanted:
            (folder / f"{schema.name}.dtd").write_text(schema.dtd, encoding="utf-8")
            (folder / f"{schema.name}.arrows").write_text(schema.arrows, encoding="utf-8")
        return [load_mapping(folder / f"{schema.name}.arrows") for schema in wanted]


# -- operators undone --------------------------------------------------------------------------------------------


class _Making:
    """A schema that is being made of the global one."""

    def __init__(self, name: str, random: Random) -> None:
        self._name = name
        self._random = random
        self._root = _copied(())
        self._nodes = dict(self._root.walk())
        self._above = {path: self._nodes[path[:-1]] for path in self._nodes if path}
        self._used: set[Path] = {()}
        self._operators: list[Callable[[Mapping[Path, Path]], Operator]] = []

    def undo(self, kind: str, number: int) -> bool:
        """Undo an operator of a kind, the one of that number of all schemas; false where there is no room for it."""
        match kind:
            case "Swap":
                return self._swap()
            case "Downgrade":
                return self._downgrade_into_each() if number < 2 else self._downgrade_into_one()
            case "Upgrade":
                return self._upgrade_of_several() if number % 2 else self._upgrade_of_one()
            case "ToElement":
                return self._to_element()
            case "Insert":
                return self._insert()
            case _:
                return self._rename()

    def schema(self) -> Schema:
        """The schema; some leaves of the global one are not there, and some are that it does not have."""
        self._leave_out()
        self._add_own()
        places = {node.origin: path for path, node in self._root.walk() if node.origin is not None}
        return Schema(self._name, self._root, tuple(operator(places) for operator in self._operators))

    def _take(self, *places: Path) -> bool:
        """Whether nothing has been done yet at these places; then they are used from now on."""
        if self._used.intersection(places):
            return False
        self._used.update(places)
        return True

    def _move(self, moved: Path, into: Path) -> None:
        """Let a node stand below another one, last."""
        node = self._nodes[moved]
        self._above[moved].children.remove(node)
        self._nodes[into].children.append(node)
        self._above[moved] = self._nodes[into]

    def _inner(self) -> Path:
        """An element that stands once, with leaves in it."""
        single = [path for path, node in self._nodes.items() if path and node.children and node.sign != "*"]
        return self._random.choice(single)

    def _leaf_beside(self, path: Path) -> Path | None:
        beside = [leaf for leaf in self._below(path[:-1]) if not self._nodes[leaf].children and leaf not in _KEYS]
        return self._random.choice(beside) if beside else None

    def _below(self, path: Path) -> tuple[Path, ...]:
        return tuple(child for child in self._nodes if child[:-1] == path and child)

    def _swap(self) -> bool:
        """Sections stand below each of their instructors."""
        if not self._take(_SECTION, _INSTRUCTOR):
            return False
        self._move(_INSTRUCTOR, _COURSE)
        self._move(_SECTION, _INSTRUCTOR)
        self._operators.append(lambda places: Swap(places[_INSTRUCTOR], places[_SECTION]))
        return True

    def _downgrade_into_each(self) -> bool:
        """What all sections have is told once, of the course."""
        leaf = (*_SECTION, self._random.choice(("term", "status")))
        if not self._take(_SECTION, leaf):
            return False
        self._move(leaf, _COURSE)
        self._operators.append(lambda places: Downgrade(places[_COURSE], (places[leaf],), places[_SECTION]))
        return True

    def _downgrade_into_one(self) -> bool:
        """A leaf of an element that stands once is told beside it."""
        inner = self._inner()
        leaf, above = self._random.choice(self._below(inner)), inner[:-1]
        if self._nodes[inner].sign or not self._take(inner, *self._below(inner)):
            return False
        self._move(leaf, above)
        self._operators.append(lambda places: Downgrade(places[above], (places[leaf],), places[inner]))
        return True

    def _upgrade_of_several(self) -> bool:
        """Books are told of each section."""
        if not self._take(_SECTION, _BOOK):
            return False
        self._move(_BOOK, _SECTION)
        self._operators.append(lambda places: Upgrade(places[_SECTION], (places[_BOOK],)))
        return True

    def _upgrade_of_one(self) -> bool:
        """A leaf is told inside of an element that stands once beside it."""
        inner = self._inner()
        leaf = self._leaf_beside(inner)
        if leaf is None or self._nodes[inner].sign or not self._take(inner, *self._below(inner), leaf):
            return False
        self._move(leaf, inner)
        self._operators.append(lambda places: Upgrade(places[inner], (places[leaf],)))
        return True

    def _to_element(self) -> bool:
        """A leaf is an attribute."""
        leaf = self._random.choice([path for path, node in self._nodes.items() if not node.children])
        if not self._take(leaf):
            return False
        self._nodes[leaf].name = f"@{leaf[-1]}"
        self._operators.append(lambda places: ToElement(places[leaf]))
        return True

    def _insert(self) -> bool:
        """What stands in an element that stands once stands in its parent."""
        inner = self._inner()
        below = self._below(inner)
        if not self._take(inner, *below):
            return False
        node, above = self._nodes.pop(inner), self._above[inner]
        place = above.children.index(node)
        above.children[place : place + 1] = node.children
        for child in below:
            self._nodes[child].sign = self._nodes[child].sign or node.sign
            self._above[child] = above
        self._operators.append(
            lambda places: Insert(places[inner[:-1]], inner[-1:], tuple(places[child] for child in below))
        )
        return True

    def _rename(self) -> bool:
        """A node has another name."""
        path = self._random.choice(list(self._nodes))
        if not self._take(path):
            return False
        self._nodes[path].name = self._random.choice(_SYNONYMS[path[-1]])
        self._operators.append(lambda places: Rename(places[path], path[-1]))
        return True

    def _leave_out(self) -> None:
        free = [path for path, node in self._nodes.items()
                if not node.children and path not in _KEYS and path not in self._used]  # fmt: skip
        for path in self._random.sample(free, self._random.randint(0, _MOST_LEFT_OUT)):
            above = self._above[path]
            if len(above.children) > 1:
                above.children.remove(self._nodes[path])

    def _add_own(self) -> None:
        for name in self._random.sample(_OWN, self._random.randint(0, len(_OWN) - 1)):
            above = self._nodes[self._random.choice((_COURSE, _SECTION))]
            above.children.append(Node(name, None, self._random.choice(("", "?"))))
