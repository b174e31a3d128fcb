"""Hospitals under three schemas, a fifth of whose patients are known to several: what is counted of their answers is
what a list of all patients says.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Final

import pytest

from heptox.grammar import syntax
from heptox.mapping import Mapping, parse_mapping_arrows
from heptox.schema import SchemaTree
from heptox.shell import split, with_schema
from heptox.store import evaluate
from heptox.translate import Direction, translate
from heptox.xml import parse_document
from tests.support import shells
from tools.console import ROOT

FOLDER: Final = ROOT / "examples" / "hospital"
HOSPITALS: Final = 12
KEY: Final = "source key Patient/@ID\n"
MEASURES: Final = ("Heparin", "Insulin", "Oxygen")

Patients = dict[str, list[tuple[str, str]]]
"""The treatments, a day and a measure each, of patients by their numbers."""


def patients(random: Random) -> list[Patients]:
    """Those of each hospital."""
    found: list[Patients] = [{} for _ in range(HOSPITALS)]
    for number in range(12 * HOSPITALS):
        for known_to in random.sample(found, 3 if random.random() < 0.2 else 1):
            days = random.sample(range(1, 28), random.randint(0, 3))
            known_to[f"p{number}"] = [(f"2020-01-{day:02}", random.choice(MEASURES)) for day in days]
    return found


def montreal(known: Patients) -> str:
    people = "".join(
        f'<Patient ID="{number}"><Name>n</Name><Hist/>'
        + "".join(f"<Treat><Date>{day}</Date><Desc>{what}</Desc></Treat>" for day, what in treated)
        + "</Patient>"
        for number, treated in known.items()
    )
    stays = "".join(
        f'<Admission PatRef="{n}"><Problem>Pulmonary</Problem><AdmDate>d</AdmDate></Admission>' for n in known
    )
    return f"<MonGenHosp>{people}{stays}</MonGenHosp>"


def boston(known: Patients) -> str:
    stays = "".join(f'<Pulmonary ID="{n}"><Enter>d</Enter><Patient>n</Patient></Pulmonary>' for n in known)
    progress = "".join(
        f'<Progress PatRef="{number}">'
        + "".join(f"<Treatment><Date>{day}</Date><Desc>{what}</Desc></Treatment>" for day, what in treated)
        + "</Progress>"
        for number, treated in known.items()
    )
    return f"<MassGeneral><Admission>{stays}</Admission>{progress}</MassGeneral>"


def st_luke(known: Patients) -> str:
    """Each treatment in a stay of its own."""
    stays = [(number, [one]) for number, treated in known.items() for one in treated]
    stays += [(number, []) for number in known]
    return f"<StLuke>{''.join(_stay(place, *stay) for place, stay in enumerate(stays))}</StLuke>"


def _stay(place: int, number: str, treated: list[tuple[str, str]]) -> str:
    care = "".join(f"<Care><Day>{day}</Day><Measure>{what}</Measure></Care>" for day, what in treated)
    head = f"<Person>{number}</Person><Name>n</Name><Diagnosis>Pulmonary</Diagnosis><Arrived>d</Arrived>"
    return f'<Stay Case="c{place}">{head}{care}</Stay>'


@dataclass(frozen=True, slots=True)
class World:
    mapping: Mapping
    documents: list[tuple[str, Callable[[syntax.Expression], syntax.Expression]]]
    patients: list[Patients]

    def computed(self, query: str, *, keys: bool = True) -> list[str]:
        """The items of a query in Montreal's words."""
        found = split(query)
        declared = self.mapping.declared_source_keys if keys else frozenset()
        tree = SchemaTree(self.mapping.source.graph)

        def asked(document: str, said: shells.Said) -> shells.Asked:
            return lambda query: evaluate(said(query), [parse_document(document)])

        peers = {str(number): asked(*each) for number, each in enumerate(self.documents)}
        return shells.computed(found, peers, lambda query: with_schema(query, tree, declared))


@pytest.fixture(scope="module")
def world() -> World:
    texts = {name: (FOLDER / f"{name}-boston.arrows").read_text() for name in ("montreal", "stluke")}
    near = parse_mapping_arrows(texts["montreal"] + KEY, FOLDER, "montreal-boston.arrows")
    far = parse_mapping_arrows(texts["stluke"], FOLDER, "stluke-boston.arrows")

    def in_boston(query: syntax.Expression) -> syntax.Expression:
        return translate(near, query, Direction.TARGET).query

    def in_st_luke(query: syntax.Expression) -> syntax.Expression:
        return translate(far, in_boston(query), Direction.SOURCE).query

    kinds = ((montreal, lambda query: query), (boston, in_boston), (st_luke, in_st_luke))
    known = patients(Random(7))
    documents = [(kinds[number % 3][0](each), kinds[number % 3][1]) for number, each in enumerate(known)]
    return World(near, documents, known)


def test_patients_of_several_hospitals_count_once(world: World) -> None:
    numbers = {number for known in world.patients for number in known}
    assert world.computed("count(//Patient)") == [str(len(numbers))]
    assert world.computed("count(//Patient)", keys=False) == [str(sum(map(len, world.patients)))]


def test_what_several_hospitals_did_is_added_in_groups(world: World) -> None:
    query = 'for $t in //Treat group by $d := string($t/Desc) order by $d return concat($d, " ", count($t))'
    done = Counter(what for known in world.patients for treated in known.values() for _, what in treated)
    assert world.computed(query) == [f"{what} {number}" for what, number in sorted(done.items())]


def test_a_patient_of_several_hospitals_has_what_all_of_them_did(world: World) -> None:
    query = 'for $p in //Patient group by $n := count($p/Treat) order by $n return concat($n, " ", count($p))'
    treated: dict[str, int] = defaultdict(int)
    for known in world.patients:
        for number, done in known.items():
            treated[number] += len(done)
    groups = Counter(treated.values())
    assert world.computed(query) == [f"{number} {groups[number]}" for number in sorted(groups)]


def test_peers_that_are_missing_only_take_away(world: World) -> None:
    """A count of what some have is a lower bound of the count of all."""
    some = World(world.mapping, world.documents[::2], world.patients[::2])
    assert int(some.computed("count(//Patient)")[0]) <= int(world.computed("count(//Patient)")[0])
