"""Parts evaluated in other processes."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from io import BytesIO
from multiprocessing import active_children

import pytest

from heptox.errors import DisseminationError, InputError
from heptox.filtering import DocumentFilter, FilterSet, PlanEvaluator, ProcessEvaluator
from heptox.schema import parse_dtd

SCHEMA = parse_dtd("<!ELEMENT a (b | c)*> <!ELEMENT b (#PCDATA)> <!ELEMENT c (#PCDATA)>")
DOCUMENT = f"<a>{''.join(f'<b>{number}</b><c>{number}</c>' for number in range(5000))}</a>".encode()
LONG = "x" * 10_000_001
"""A text that lxml refuses, and expat does not."""


def filters() -> FilterSet:
    made = FilterSet(SCHEMA)
    for number, text in enumerate(("//b[. > 4990]", "/a/*[. = '77']", "count(//c)", "//c[contains(., '499')]/text()")):
        made.add(number, text)
    return made


def test_processes_give_what_one_gives_in_the_same_order() -> None:
    plan = replace(filters().plan(2), size=4096)
    expected = list(DocumentFilter(plan, PlanEvaluator(plan)).results(BytesIO(DOCUMENT)))
    with ProcessEvaluator(plan, 2) as evaluating:
        filtering = DocumentFilter(plan, evaluating)
        assert list(filtering.results(BytesIO(DOCUMENT))) == expected
        assert list(filtering.results(BytesIO(DOCUMENT))) == expected
    assert sum(len(each.found) for each in expected if each.number == 1) == 2


def test_what_is_wrong_comes_from_the_processes() -> None:
    plan = filters().plan(2)
    with ProcessEvaluator(plan, 1) as evaluating, pytest.raises(InputError) as raised:
        list(DocumentFilter(plan, evaluating).results(BytesIO(f"<a><b>{LONG}</b></a>".encode()), "long.xml"))
    assert {fault.code for fault in raised.value.faults} <= {"HX1002", "HX1006"}


def test_a_process_that_ends_is_told() -> None:
    plan = replace(filters().plan(2), size=4096)
    with ProcessEvaluator(plan, 1) as evaluating:
        filtering = DocumentFilter(plan, evaluating)
        results = filtering.results(BytesIO(DOCUMENT), "a.xml")
        next(results)
        for child in active_children():
            os.kill(child.pid or 0, signal.SIGKILL)
        with pytest.raises(DisseminationError, match="HX9206"):
            list(results)
        with pytest.raises(DisseminationError, match="HX9206"):
            list(filtering.results(BytesIO(DOCUMENT), "a.xml"))
