"""Records of three hospitals that nobody has, generated: the same numbers give the same documents, on every machine.

The records are made to be asked about: hospitals share problems and treatments; some patients were never admitted,
some twice; a patient who is still in hospital has no discharge date; optional parts are missing now and then; and
dates, written ``MM/DD/YYYY`` as in the report, lie around the ``12/25/2003`` of its Example 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

BOXED: Final = ("Coronary", "Pulmonary")
"""The problems that are element types in Boston; the hospital there takes no others."""

PROBLEMS: Final = (*BOXED, *BOXED, "Asthma", "Diabetes", "Hip fracture", "Migraine", "Pneumonia", "Chest pain/acute")
SYMPTOMS: Final = (
    "Chest pain",
    "Chills",
    "Cough",
    "Dizziness",
    "Dyspnoea",
    "Fatigue",
    "Fever",
    "Headache",
    "Nausea",
    "Oedema of the legs",
    "Palpitations",
    "Wheezing",
)
TREATMENTS: Final = (
    "Angioplasty",
    "Aspirin 81 mg",
    "Beta blocker",
    "Blood transfusion",
    "Bronchodilator",
    "Chest X-ray",
    "Echocardiogram",
    "Heparin",
    "Insulin",
    "Nitroglycerin",
    "Oxygen therapy",
    "Physiotherapy",
)
DOCTORS: Final = ("Dr Bouchard", "Dr Chen", "Dr Haddad", "Dr Lavoie", "Dr Okafor", "Dr Singh")
NURSES: Final = ("A. Novak", "B. Costa", "C. Dubois", "D. Mbeki")
INSURERS: Final = ("Atlantic Mutual", "Bay State Health", "Harbor Life", "Pilgrim Care")
GIVEN_NAMES: Final = (
    "Agnès", "Ahmed", "Alice", "Bernard", "Camille", "Chloé", "Daniel", "Élise", "Emma", "Fatima", "Gabriel", "Grace",
    "Henri", "Ines", "James", "Jeanne", "Karim", "Laura", "Louis", "Marie", "Mei", "Nathan", "Olga", "Patrick", "Priya",
    "Rosa", "Samuel", "Sophie", "Thomas", "Yusuf",
)  # fmt: skip
FAMILY_NAMES: Final = (
    "Adams", "Beaulieu", "Bélanger", "Chang", "Côté", "Da Silva", "Fortin", "Gagnon", "Girard", "Haddad", "Ho", "Jones",
    "Kovacs", "Lefebvre", "Martin", "Morin", "Nguyen", "O'Brien", "Okonkwo", "Ouellet", "Patel", "Rivera", "Roy",
    "Santos", "Smith", "St-Pierre", "Tremblay", "Walsh", "Weber", "Young",
)  # fmt: skip

FIRST_DAY: Final = date(2003, 11, 20)
DAYS: Final = 60


@dataclass(frozen=True, slots=True)
class Stay:
    """A stay in hospital; ``left`` is ``None`` for who is still there."""

    problem: str
    entered: date
    left: date | None


@dataclass(frozen=True, slots=True)
class Record:
    """What a hospital knows of one person: ``symptoms`` and ``treatments`` with their days, and the stays in order."""

    number: int
    name: str
    policy: str | None
    insurer: str | None
    symptoms: tuple[tuple[str, date], ...]
    treatments: tuple[tuple[str, date], ...]
    stays: tuple[Stay, ...]


def records(hospital: str, patients: int, seed: int = 1) -> str:
    """The records of a hospital as an XML document that is valid for its DTD.

    Args:
        hospital: ``"montreal"``, ``"boston"`` or ``"stluke"``, the keys of :data:`DTDS`.
        patients: how many persons the records are about, 0 or more.
        seed: equal arguments give equal documents.

    Returns:
        The document's text, indented, without XML declaration.

    Raises:
        ValueError: the hospital is unknown, or the number of patients negative.

    >>> print(records("montreal", patients=0))
    <MonGenHosp />
    """
    if hospital not in _WRITERS or patients < 0:
        raise ValueError(f"no records of {patients} patients of {hospital}; hospitals are {', '.join(_WRITERS)}")
    random = Random(f"{hospital} {seed}")
    root = _WRITERS[hospital](_people(random, hospital, patients), random)
    indent(root)
    return tostring(root, encoding="unicode")


def _people(random: Random, hospital: str, count: int) -> Iterator[Record]:
    problems = BOXED if hospital == "boston" else PROBLEMS
    names = [f"{given} {family}" for given in GIVEN_NAMES for family in FAMILY_NAMES]
    random.shuffle(names)
    for index in range(count):
        # An ID of Boston's says who stays, so nobody stays there twice; those in St Luke's records stayed there.
        stays_wanted = {"montreal": (0, 1, 1, 1, 1, 1, 2), "boston": (1,), "stluke": (1, 1, 1, 1, 2)}[hospital]
        stays = tuple(_stays(random, problems, random.choice(stays_wanted)))
        insured = random.random() < 0.8
        yield Record(
            number=1001 + index,
            name=names[index % len(names)],
            policy=f"{random.choice('ABCDEFGH')}{random.randrange(10**6, 10**7)}" if insured else None,
            insurer=random.choice(INSURERS) if insured else None,
            symptoms=tuple(_dated(random, SYMPTOMS, random.randrange(4), stays)),
            treatments=tuple(_dated(random, TREATMENTS, random.randrange(5), stays)),
            stays=stays,
        )


def _stays(random: Random, problems: tuple[str, ...], count: int) -> Iterator[Stay]:
    entered = FIRST_DAY + timedelta(random.randrange(DAYS))
    for position in range(count):
        left = entered + timedelta(random.randrange(2, 22))
        last = position == count - 1
        yield Stay(random.choice(problems), entered, None if last and random.random() < 0.2 else left)
        entered = left + timedelta(random.randrange(5, 40))


def _dated(random: Random, values: tuple[str, ...], count: int, stays: tuple[Stay, ...]) -> Iterator[tuple[str, date]]:
    """``count`` values with days in the last stay (around the first day for who never stayed), the earliest first."""
    first = stays[-1].entered if stays else FIRST_DAY + timedelta(random.randrange(DAYS))
    last = stays[-1].left or first + timedelta(20) if stays else first
    days = sorted(first + timedelta(random.randrange((last - first).days + 1)) for _ in range(count))
    return zip(random.sample(values, count), days, strict=True)


def _montreal(people: Iterator[Record], random: Random) -> Element:
    root = Element("MonGenHosp")
    admissions: list[tuple[str, Stay]] = []
    for person in people:
        identifier = f"m{person.number}"
        patient = SubElement(root, "Patient", ID=identifier)
        _leaves(patient, MedCrNo=person.policy, Name=person.name)
        history = SubElement(patient, "Hist")
        for problem, day in person.symptoms:
            _leaves(SubElement(history, "Event"), Problem=problem, Date=_text(day))
        for description, day in person.treatments:
            doctor = random.choice(DOCTORS) if random.random() < 0.7 else None
            _leaves(SubElement(patient, "Treat"), Date=_text(day), Desc=description, Doc=doctor)
        admissions.extend((identifier, stay) for stay in person.stays)
    for identifier, stay in admissions:
        admission = SubElement(root, "Admission", PatRef=identifier)
        _leaves(admission, Problem=stay.problem, AdmDate=_text(stay.entered), DisDate=_text(stay.left))
    return root


def _boston(people: Iterator[Record], random: Random) -> Element:
    root = Element("MassGeneral")
    admission = SubElement(root, "Admission")
    for person in people:
        identifier = f"b{person.number}"
        for stay in person.stays:
            illness = SubElement(admission, stay.problem, ID=identifier)
            _leaves(illness, InsName=person.insurer, PolicyNo=person.policy)
            _leaves(illness, Enter=_text(stay.entered), Leave=_text(stay.left), Patient=person.name)
        if random.random() < 0.1:  # nothing is noted yet about some
            continue
        progress = SubElement(root, "Progress", PatRef=identifier)
        for description, day in person.symptoms:
            _leaves(SubElement(progress, "Symptom"), Desc=description, Date=_text(day))
        for description, day in person.treatments:
            _leaves(SubElement(progress, "Treatment"), Date=_text(day), Desc=description)
    return root


def _stluke(people: Iterator[Record], random: Random) -> Element:
    root = Element("StLuke")
    for person in people:
        for count, stay in enumerate(person.stays, start=1):
            element = SubElement(root, "Stay", Case=f"c{person.number}-{count}")
            _leaves(element, Person=f"l{person.number}", Name=person.name)
            if person.policy:
                _leaves(SubElement(element, "Insurance"), Company=person.insurer, Number=person.policy)
            _leaves(element, Diagnosis=stay.problem, Arrived=_text(stay.entered), Left=_text(stay.left))
            if stay is not person.stays[-1]:
                continue
            for what, day in person.symptoms:
                _leaves(SubElement(element, "Complaint"), What=what, Since=_text(day))
            for measure, day in person.treatments:
                nurse = random.choice(NURSES) if random.random() < 0.7 else None
                _leaves(SubElement(element, "Care"), Day=_text(day), Measure=measure, Nurse=nurse)
    return root


def _leaves(parent: Element, **values: str | None) -> None:
    """Append an element for each value that is there, in the order given."""
    for name, value in values.items():
        if value is not None:
            SubElement(parent, name).text = value


def _text(day: date | None) -> str | None:
    return None if day is None else day.strftime("%m/%d/%Y")


_WRITERS: Final[dict[str, Callable[[Iterator[Record], Random], Element]]] = {
    "montreal": _montreal,
    "boston": _boston,
    "stluke": _stluke,
}

DTDS: Final = {"montreal": "mongenhosp.dtd", "boston": "massgeneral.dtd", "stluke": "stluke.dtd"}
"""The hospitals that have records, and the file in ``heptox/demo/hospital`` that holds the schema of each."""
