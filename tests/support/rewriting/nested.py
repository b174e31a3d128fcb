"""Mappings between schemas of nested records, nested otherwise on the other side: records change places, and what one
says is copied into others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from heptox.errors import HeptoxError
from tests.support.random_mappings import Problem, problem

_SIGNS = ("*", "*", "*", "+", "?")


@dataclass(slots=True)
class _Record:
    """A kind of record: its name, its leaves, each as it is written in its content and as a path, and those in it."""

    name: str
    path: tuple[str, ...] = ()
    sign: str = "*"
    content: list[str] = field(default_factory=list)
    attributes: list[str] = field(default_factory=list)
    leaves: list[str] = field(default_factory=list)
    below: list[_Record] = field(default_factory=list)

    def declared(self) -> str:
        """The declarations of the record and all in it."""
        children = [*self.content, *(record.name + record.sign for record in self.below)]
        found = [f"<!ELEMENT {self.name} ({', '.join(children)})>" if children else f"<!ELEMENT {self.name} EMPTY>"]
        found += [f"<!ATTLIST {self.name} {attribute}>" for attribute in self.attributes]
        return "\n".join((*found, *(record.declared() for record in self.below)))


def nested_problem(random: Random) -> Problem:
    """A mapping without faults between two to four kinds of records and some of them, nested otherwise."""
    while True:
        root, records, leaves = _source(random)
        target, arrows, names = _target(random, records)
        if not arrows:
            continue
        try:
            return problem(f"{root.declared()}\n{leaves}", f"{target.declared()}\n{names}", "\n".join(arrows))
        except HeptoxError:
            continue


def _source(random: Random) -> tuple[_Record, list[_Record], str]:
    root = _Record("r")
    records = [root]
    declared: list[str] = []
    for number in range(random.randint(2, 4)):
        above = random.choice(records if random.random() < 0.3 else records[-1:])
        record = _Record(f"k{number}", (*above.path, f"k{number}"), random.choice(_SIGNS))
        for leaf in range(random.choice((0, 1, 1, 2))):
            name = f"l{number}{leaf}"
            if random.random() < 0.25:
                kind = random.choice(("CDATA #IMPLIED", "CDATA #REQUIRED", "ID #REQUIRED", "ID #IMPLIED"))
                record.attributes.append(f"{name} {kind}")
                record.leaves.append(f"@{name}")
            else:
                declared.append(f"<!ELEMENT {name} (#PCDATA)>")
                inner = f"i{name}" if random.random() < 0.25 else ""
                if inner:
                    declared.append(f"<!ELEMENT {inner} ({name}{random.choice(('', '?'))})>")
                record.content.append((inner or name) + random.choice(("", "?")))
                record.leaves.append(f"{inner}/{name}" if inner else name)
        random.shuffle(record.content)
        above.below.append(record)
        records.append(record)
    return root, records[1:], "\n".join(declared)


def _target(random: Random, records: list[_Record]) -> tuple[_Record, list[str], str]:
    """Records of the target, each for one of the source, below each other in any order; leaves mostly stay with their
    records, else go to others."""
    root = _Record("s")
    made: dict[str, _Record] = {}
    declared: list[str] = []
    arrows: list[str] = []
    for record in random.sample(records, random.randint(1, len(records))):
        above = random.choice([root, *made.values(), *list(made.values())[-1:] * 3]) if made else root
        new = made[record.name] = _Record(f"t{record.name}", (*above.path, f"t{record.name}"))
        above.below.append(new)
    for record in records:
        for leaf in record.leaves:
            into = made.get(record.name) if random.random() < 0.75 else random.choice(list(made.values()))
            if into is None or random.random() < 0.1:
                continue
            name = f"t{leaf.rpartition('/')[2].removeprefix('@')}"
            if random.random() < 0.2:
                into.attributes.append(f"{name} CDATA #IMPLIED")
                end = f"@{name}"
            else:
                declared.append(f"<!ELEMENT {name} (#PCDATA)>")
                inner = f"i{name}" if random.random() < 0.2 else ""
                if inner:
                    declared.append(f"<!ELEMENT {inner} ({name}?)>")
                into.content.append(f"{inner or name}?")
                end = f"{inner}/{name}" if inner else name
            arrows.append(f"{'/'.join((*record.path, leaf))} -> {'/'.join((*into.path, end))}")
    return root, arrows, "\n".join(declared)
