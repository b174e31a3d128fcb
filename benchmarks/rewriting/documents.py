"""Documents of course catalogues, written in the words of one schema, of about the size that is wanted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Final

from benchmarks.rewriting.schemas import Node, Schema

MOST_BEYOND: Final = 10_000
"""Section 5.1: a document of the size x has between x and x + 10 KB."""

_SUBJECTS: Final = (
    "Algebra", "Analysis", "Anthropology", "Astronomy", "Biochemistry", "Botany", "Chemistry", "Databases", "Drama",
    "Econometrics", "Ethics", "Genetics", "Geology", "Geometry", "Greek", "History", "Journalism", "Latin", "Logic",
    "Mechanics", "Networks", "Optics", "Painting", "Physics", "Poetry", "Statistics", "Topology", "Zoology",
)  # fmt: skip
_KINDS: Final = ("Introduction to {}", "Advanced {}", "Topics in {}", "Seminar: {}", "{} I", "{} II", "Applied {}")
_FIRST: Final = ("Ada", "Alan", "Barbara", "Carl", "Edsger", "Emmy", "Grace", "Hedy", "Kurt", "Leslie", "Maria", "Tony")
_LAST: Final = (
    "Abel", "Bernoulli", "Cantor", "Dirac", "Euler", "Fermat", "Gauss", "Hopper", "Iverson", "Jordan", "Klein",
    "Lovelace", "Minkowski", "Noether", "Peano", "Riemann", "Shannon", "Turing", "Weyl", "Zermelo",
)  # fmt: skip
_BUILDINGS: Final = ("Main Hall", "Science Hall", "Library", "Tower", "Engineering", "Physics Annex", "Old College")
_WORDS: Final = (
    "basic", "concepts", "covers", "examples", "exercises", "foundations", "laboratory", "lectures", "methods",
    "practice", "problems", "proofs", "readings", "recent", "research", "results", "students", "techniques", "theory",
)  # fmt: skip


def document(schema: Schema, size: int, seed: int = 0, repetitions: int | None = None) -> str:
    """A valid document of at least ``size`` bytes, and less than :data:`MOST_BEYOND` more.

    ``repetitions``: so many sections stand in each element that has any, and so many instructors in each course where
    instructors have sections.

    >>> from benchmarks.rewriting.schemas import catalogue
    >>> len(document(catalogue(), 20_000)) - 20_000 < MOST_BEYOND
    True
    """
    return _Writing(Random(f"document {schema.name} {size} {seed}"), repetitions).document(schema.root, size)


class _Writing:
    def __init__(self, random: Random, repetitions: int | None) -> None:
        self._random = random
        self._repetitions = repetitions
        self._numbered = 0

    def document(self, root: Node, size: int) -> str:
        (record,) = root.children
        parts = [f"<{root.name}>"]
        left = size - 2 * len(root.name) - 5
        while left > 0:
            parts.append(self._element(record))
            left -= len(parts[-1])
        return "".join((*parts, f"</{root.name}>"))

    def _element(self, node: Node) -> str:
        attributes, content = "", ""
        for child in node.children:
            if child.name.startswith("@"):
                if self._count(child):
                    attributes += f' {child.name[1:]}="{self._value(child)}"'
            else:
                content += "".join(self._element(child) for _ in range(self._count(child)))
        return f"<{node.name}{attributes}>{content or ('' if node.children else self._value(node))}</{node.name}>"

    def _count(self, node: Node) -> int:
        """How often an element or an attribute stands in its parent."""
        if node.sign == "*":
            kind = node.origin[-1] if node.origin else ""
            if kind == "section" and self._repetitions is not None:
                return self._repetitions
            least, most = _COUNTS[kind]
            return self._random.randint(least, most)
        return 1 if not node.sign else int(self._random.random() < _THERE)

    def _value(self, node: Node) -> str:
        kind = node.origin[-1] if node.origin else ""
        if kind in ("number", "crn"):
            self._numbered += 1
            return (
                f"{self._random.choice(_LAST)[:3].upper()} {self._numbered}"
                if kind == "number"
                else str(10_000 + self._numbered)
            )
        return _VALUES.get(kind, _words)(self._random)


_COUNTS: Final[Mapping[str, tuple[int, int]]] = {"section": (1, 3), "instructor": (1, 2), "book": (0, 2)}
_THERE: Final = 0.7


def _title(random: Random) -> str:
    return random.choice(_KINDS).format(random.choice(_SUBJECTS))


def _name(random: Random) -> str:
    return f"{random.choice(_FIRST)} {random.choice(_LAST)}"


def _words(random: Random) -> str:
    return " ".join(random.choices(_WORDS, k=random.randint(4, 20)))


def _clock(random: Random) -> str:
    return f"{random.randint(8, 20)}:{random.choice(('00', '15', '30', '45'))}"


def _one_of(*values: str) -> Callable[[Random], str]:
    return lambda random: random.choice(values)


def _number(least: int, most: int) -> Callable[[Random], str]:
    return lambda random: str(random.randint(least, most))


_VALUES: Final[Mapping[str, Callable[[Random], str]]] = {
    "title": _title,
    "credits": _number(1, 12),
    "level": _one_of("undergraduate", "graduate", "doctoral"),
    "school": _one_of("Arts", "Sciences", "Engineering", "Medicine", "Law"),
    "chair": _name,
    "requires": _title,
    "minimum": _one_of("A", "B", "C"),
    "term": _one_of("Autumn 2004", "Spring 2005", "Summer 2005"),
    "status": _one_of("open", "closed", "waiting list"),
    "days": _one_of("MWF", "TR", "MW", "F", "MTWRF"),
    "start": _clock,
    "end": _clock,
    "building": _one_of(*_BUILDINGS),
    "room": _number(1, 500),
    "campus": _one_of("North", "South", "City"),
    "seats": _number(10, 300),
    "enrolled": _number(0, 300),
    "name": _name,
    "email": lambda random: f"{random.choice(_LAST).lower()}@example.edu",
    "office": lambda random: f"{random.choice(_BUILDINGS)} {random.randint(1, 500)}",
    "weekday": _one_of("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"),
    "from": _clock,
    "to": _clock,
    "booktitle": _title,
    "author": _name,
    "isbn": _number(10**9, 10**10 - 1),
}
