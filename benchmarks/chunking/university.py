"""Scenario 1 of Lehner and Irmert: one organization, whose members of five kinds are mixed, and filters over it.

Appendix A1 says how large the five chunks are, not which kind each of them has, and Figure 10, which shows how filters
are spread, is not at hand but for what section 5.1 says of it: with four chunks the students are the potpourri of 100
filters, the secretaries that of 500 and the professors that of 2,000. :data:`KILOBYTES` and :data:`SPREADS` are choices
that agree with this. With three chunks the kind that has the second fewest filters joins the potpourri.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.chunking.filters import Filter, drawn_filters
from heptox.schema import SchemaGraph, read_dtd
from heptox.xml import XmlElement, parse_document

SIZE: Final = 4_850_000
"""Bytes of the paper's document, which then has about :data:`ELEMENTS`."""
ELEMENTS: Final = 130_000

KILOBYTES: Final[Mapping[str, int]] = {
    "professor": 170,
    "secretary": 206,
    "assistant": 1233,
    "lecturer": 1145,
    "student": 1537,
}
"""Appendix A1: how large the part of each kind is, relative to the others."""

SPREADS: Final[Mapping[int, Mapping[str, int]]] = {
    100: {"student": 9, "secretary": 15, "professor": 20, "assistant": 26, "lecturer": 30},
    500: {"secretary": 8, "professor": 16, "assistant": 22, "lecturer": 25, "student": 29},
    2_000: {"professor": 7, "secretary": 16, "lecturer": 22, "assistant": 25, "student": 30},
    10_000: dict.fromkeys(("student", "professor", "assistant", "secretary", "lecturer"), 20),
}
"""Figure 10: percent of the filters by kind, the potpourri of four chunks first; other numbers of filters are spread as
the next larger one here, or else the largest."""

_FIRST: Final = ("Ada", "Alan", "Barbara", "Carl", "Edsger", "Emmy", "Grace", "Hedy", "Kurt", "Leslie", "Maria", "Tony")
_LAST: Final = (
    "Abel", "Bernoulli", "Cantor", "Dirac", "Erdős", "Fermat", "Gödel", "Hopper", "Iverson", "Jordan", "Klein",
    "Lovelace", "Minkowski", "Noether", "Peano", "Riemann", "Shannon", "Turing", "Weyl", "Zermelo",
)  # fmt: skip
_EMAIL: Final = 0.7
_URL: Final = 0.58
_LINK: Final = 0.6
"""How often what is optional is there."""


@cache
def schema() -> SchemaGraph:
    """The DTD of appendix A1."""
    return read_dtd(Path(__file__).with_name("university.dtd"), "db")


def pieces(size: int = SIZE, seed: int = 0) -> Iterator[bytes]:
    """A valid document in UTF-8 of at least ``size`` bytes and less than 1,000 more, one member at a time.

    Documents of one seed begin alike, so that a smaller one has the values of a larger one.

    >>> piece = b"".join(pieces(2_000))
    >>> piece[:43], piece[-6:]
    (b'<?xml version="1.0" encoding="UTF-8"?>\\n<db>', b'</db>\\n')
    """
    head, tail = b'<?xml version="1.0" encoding="UTF-8"?>\n<db>\n', b"</db>\n"
    yield head
    written, members = len(head) + len(tail), _members(seed)
    while written < size or not written > len(head) + len(tail):
        member = next(members)
        written += len(member)
        yield member
    yield tail


def document(size: int = SIZE, seed: int = 0) -> bytes:
    """The same in one piece."""
    return b"".join(pieces(size, seed))


def write(path: Path, size: int = SIZE, seed: int = 0) -> None:
    """Write such a document, of which one member at a time is in memory.

    Raises ``OSError``.
    """
    with path.open("wb") as file:
        file.writelines(pieces(size, seed))


def _members(seed: int) -> Iterator[bytes]:
    """Members without end; links lead to earlier ones, so that every part of them is valid."""
    random = Random(f"university {seed}")
    draw = random.random
    counts = dict.fromkeys(KILOBYTES, 0)

    def some(kind: str) -> str:
        return f"{kind[:2]}{1 + int(draw() * counts[kind])}"

    while True:
        for kind in random.choices([*KILOBYTES], [*KILOBYTES.values()], k=1000):
            counts[kind] += 1
            code = f"{kind[:2]}{counts[kind]}"
            name = f"{_FIRST[int(draw() * len(_FIRST))]} {_LAST[int(draw() * len(_LAST))]}"
            parts = [f'<{kind} id="{code}"><name>{name}</name>']
            if draw() < _EMAIL:
                parts.append(f"<email>{code}@example.edu</email>")
            if draw() < _URL:
                parts.append(f'<url href="http://example.edu/~{code}">home page</url>')
            if draw() < _LINK and counts["professor"] > 1 and counts["assistant"] > 1:
                below = " ".join(dict.fromkeys(some("assistant") for _ in range(int(draw() * 4))))
                subordinates = f' subordinates="{below}"' if below else ""
                parts.append(f'<link manager="{some("professor")}"{subordinates}>{1960 + int(draw() * 43)}</link>')
            parts.append(f"</{kind}>\n")
            yield "".join(parts).encode()


# -- filters -----------------------------------------------------------------------------------------------------


def spread(count: int) -> Mapping[str, int]:
    """Percent of ``count`` filters by kind: see :data:`SPREADS`."""
    return SPREADS[min((size for size in SPREADS if size >= count), default=max(SPREADS))]


def filters(count: int, seed: int = 0, size: int | None = None) -> tuple[Filter, ...]:
    """Filters over documents of ``seed``; each has as its part the prefix of one kind, such as ``/db/student``.

    30 % have ``//``, 30 % a predicate, independently of one another. What they compare with are values of the document
    of :data:`SIZE`, and most filters select something there.

    ``size``: they are for a document of so many bytes, of which results have to stay small. Each filter then names one
    member by its ``id``, anywhere in the document; other predicates, which 30 % have, ask whether something is there.
    """
    shares = {f"/db/{kind}": percent for kind, percent in spread(count).items()}
    made = drawn_filters(_sample(seed), shares, count, Random(f"filters {seed} {count}"), comparisons=size is None)
    return made if size is None else tuple(_of_one(made, size, Random(f"members {seed} {count}"), seed))


def _of_one(made: tuple[Filter, ...], size: int, random: Random, seed: int) -> Iterator[Filter]:
    """Filters of one member each: the name of a kind is followed by the test of an identifier."""
    counts = Counter(str(member.tag) for member in _sample(seed))
    for one in made:
        kind = one.part.rpartition("/")[2]
        most = max(1, int(0.95 * counts[kind] * size / SIZE))  # a kind may have fewer members than is expected
        test = f"{kind}[@id='{kind[:2]}{random.randint(1, most)}']"
        yield Filter(one.text.replace(kind, test, 1), one.part)


@cache
def _sample(seed: int) -> XmlElement:
    return parse_document(document(SIZE, seed)).root
