"""Definition 1 on the hospitals: every translation is evaluated by Saxon on many random documents."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Final

import pytest

from heptox.translate import Direction
from tests.support.budget import usually
from tests.support.definition import Pair, check_equal, making, pairs
from tests.support.documents import Values, random_document
from tests.support.fixtures import cases
from tests.translate.test_hospital import mapping

DOCUMENTS: Final = usually(100, 200)
PROBLEMS: Final = ("Coronary", "Pulmonary", "Asthma", "Chest pain/acute", "", "Treatment", "_x0041_sthma", "a b")
WORDS: Final = ("a", "b", "3", "12", "x y", "", "Coronary")
DATES: Final = ("12/25/2003", "01/02/2004", "a")
PEOPLE: Final = ("p1", "p2", "p3")
NUMBERS: Final = ("3", "12", "5.0", "5", "1e1")
"""A value that is no number, compared with one, is a dynamic error, and Definition 1 promises nothing then."""
VALUES: Final[Values] = {
    "Problem": PROBLEMS,
    "Diagnosis": PROBLEMS,
    "Date": DATES,
    "Day": DATES,
    "Since": DATES,
    "DisDate": DATES,
    "Person": PEOPLE,
    "MedCrNo": NUMBERS,
    "PolicyNo": NUMBERS,
    "Number": NUMBERS,
}


@cache
def instances(name: str, to: Direction) -> tuple[Pair, ...]:
    """Documents of one side that are valid, small and full of coincidences, with their images in the other's words."""
    hospital, random = mapping(name), Random(name)
    graph = making(hospital, to).source.graph
    texts = [
        random_document(graph, random, repeats=3, elements=45, values=VALUES, pool=WORDS) for _ in range(DOCUMENTS)
    ]
    return tuple(pairs(hospital, texts, to))


BACKWARD: Final = [
    *[given for given, _ in cases("translate/montreal-boston.source.xq")],
    "for $s in //Symptom, $t in //Treatment where $s/Date = $t/Date return <x>{$s/Desc}{data($t/Desc)}</x>",
    "for $c in //Coronary, $p in //Pulmonary where $c/@ID = $p/@ID return <both>{data($c/Patient)}</both>",
    "for $c in //Admission/*, $d in //Admission/* where $c/Leave = $d/Enter and $c/@ID != $d/@ID"
    " return <x>{$c/@ID}</x>",
    "for $c in //Admission/*[empty(Leave)][empty(PolicyNo)] return <x a='{$c/Patient}-{$c/PolicyNo}'>{$c/Leave}</x>",
    "for $c in //Admission/* where $c/Patient/text() = 'a' or $c/Enter != $c/Leave return text {$c/Patient}",
    "for $p in //Progress, $s in $p/Symptom, $t in $p/Symptom where $s/Desc < $t/Desc return <x>{$s/Desc}{$t/Date}</x>",
    "//Progress[Symptom/Date = Treatment/Date]/@PatRef",
    "for $p in //Progress where $p/Symptom and $p/Treatment/Desc >= '5' return data($p/@PatRef)",
    "//Date",
    "/MassGeneral/*/*/Patient",
    "//@ID",
    "for $x in /MassGeneral return <found/>",
    "for $x in /MassGeneral/Admission return <admission/>",
    "for $x in //Symptom return <symptom/>",
]

FORWARD: Final = [
    *[given for given, _ in cases("translate/montreal-boston.target.xq")],
    "//Patient/Name",
    "//Patient/@ID",
    "//Problem",
    "//Date",
    "for $p in //Patient, $e in $p/Hist/Event, $t in $p/Treat where $e/Date = $t/Date"
    " return <x>{$e/Problem}{$t/Desc}</x>",
    "for $a in //Admission, $b in //Admission where $a/@PatRef = $b/@PatRef and $a/AdmDate < $b/AdmDate"
    " return $a/Problem",
    "for $a in //Admission return <x p='{$a/Problem}'>{$a/DisDate}</x>",
    "for $p in //Patient where $p/MedCrNo > 5 return <x>{$p/MedCrNo}{data($p/Name)}</x>",
    "for $p in //Patient where not($p/MedCrNo) return $p/Name",
    "for $p in //Patient, $q in //Patient where $p/Name = $q/Name and $p/@ID != $q/@ID return <same>{$p/@ID}</same>",
    "//Admission[Problem != 'Asthma']/Problem",
    "for $a in //Admission where $a/Problem < 'C' return $a/Problem/text()",
    "for $a in //Admission, $e in //Event where $a/Problem = $e/Problem return <x>{$a/AdmDate}{$e/Date}</x>",
    "//Treat/Desc",
    "//Event/Date",
    "//Admission/DisDate",
    "//Admission[empty(DisDate)]/@PatRef",
    "FOR $A IN //Admission, $P IN //Patient[@ID=$A/@PatRef] WHERE $A/Problem='Coronary' "
    "AND $P/Treat/Date='12/25/2003' RETURN {$P/Name}",
    "//Doc",
]


@pytest.mark.parametrize("query", BACKWARD)
@pytest.mark.parametrize("name", ["montreal-boston", "stluke-boston"])
def test_against_the_arrows_answers_are_equal(name: str, query: str) -> None:
    check_equal(mapping(name), query, instances(name, Direction.SOURCE), Direction.SOURCE)


@pytest.mark.parametrize("query", FORWARD)
def test_along_the_arrows_answers_are_equal(query: str) -> None:
    check_equal(mapping("montreal-boston"), query, instances("montreal-boston", Direction.TARGET), Direction.TARGET)


def test_the_documents_are_no_easy_ones() -> None:
    sources = " ".join(pair.document for pair in instances("montreal-boston", Direction.SOURCE))
    for needed in (
        "<Problem>Coronary<",
        "<Problem>Chest pain/acute<",
        "<Problem></Problem>",
        "<DisDate>",
        "12/25/2003",
    ):
        assert needed in sources
    targets = " ".join(pair.document for pair in instances("montreal-boston", Direction.TARGET))
    for needed in ("<Coronary", "<Pulmonary", "<Leave>", "12/25/2003", "<Progress"):
        assert needed in targets
