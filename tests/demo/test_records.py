"""Generated records are valid, reproducible, and hold what the demonstration's questions are about."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from lxml import etree

import heptox.demo
from heptox.demo.records import BOXED, DTDS, records

HOSPITAL = Path(heptox.demo.__file__).parent / "hospital"


@pytest.mark.parametrize("hospital", DTDS)
@pytest.mark.parametrize(("patients", "seed"), [(0, 1), (1, 2), (300, 1), (300, 7), (2000, 3)])
def test_records_are_valid_for_the_hospital_s_dtd(hospital: str, patients: int, seed: int) -> None:
    dtd = etree.DTD(str(HOSPITAL / DTDS[hospital]))
    document = etree.fromstring(records(hospital, patients, seed))
    assert dtd.validate(document), dtd.error_log


@pytest.mark.parametrize("hospital", DTDS)
def test_the_same_arguments_give_the_same_records(hospital: str) -> None:
    assert records(hospital, 50, 4) == records(hospital, 50, 4)
    assert records(hospital, 50, 4) != records(hospital, 50, 5)


def test_montreal_has_every_kind_of_patient() -> None:
    document = etree.fromstring(records("montreal", 200))
    patients = [patient.get("ID", "") for patient in document.iterfind("Patient")]
    assert len(patients) == 200
    stays = Counter(admission.get("PatRef") for admission in document.iterfind("Admission"))
    assert {stays[patient] for patient in patients} == {0, 1, 2}
    for condition in ("Admission[not(DisDate)]", "Admission[DisDate]", "Patient[not(MedCrNo)]", "Patient[MedCrNo]"):
        assert document.xpath(condition), condition
    problems = {problem.text for problem in document.iterfind("Admission/Problem")}
    assert set(BOXED) < problems


@pytest.mark.parametrize(
    ("hospital", "coronary", "day"),
    [
        ("montreal", "Patient[@ID = //Admission[Problem = 'Coronary']/@PatRef]", "Treat/Date"),
        ("boston", "Progress[@PatRef = //Coronary/@ID]", "Treatment/Date"),
        ("stluke", "Stay[Diagnosis = 'Coronary']", "Care/Day"),
    ],
)
def test_each_hospital_has_an_answer_to_example_1(hospital: str, coronary: str, day: str) -> None:
    document = etree.fromstring(records(hospital, 200))
    assert document.xpath(f"{coronary}[{day} = '12/25/2003']")


@pytest.mark.parametrize(("hospital", "patients"), [("paris", 1), ("boston", -1)])
def test_what_cannot_be_generated_is_refused(hospital: str, patients: int) -> None:
    with pytest.raises(ValueError, match="hospitals are montreal, boston, stluke"):
        records(hospital, patients)
