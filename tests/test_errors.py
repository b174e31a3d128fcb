"""The table of error codes: each is used, none twice, and none that is retired."""

from __future__ import annotations

import re
from pathlib import Path

from heptox.errors import CODES, LONGEST_MESSAGE, RETIRED, Fault

PACKAGE = Path(__file__).parent.parent / "heptox"


def test_each_code_has_a_meaning_of_its_own_and_is_used() -> None:
    assert len(set(CODES.values())) == len(CODES)
    modules = (file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py") if file.name != "errors.py")
    assert set(re.findall(r'"(HX\d{4})"', "\n".join(modules))) == set(CODES)


def test_the_number_of_a_retired_code_is_not_used_again() -> None:
    assert not RETIRED.keys() & CODES.keys()
    assert {now for now in RETIRED.values() if now is not None} <= CODES.keys()


def test_names_that_others_have_chosen_are_cut() -> None:
    fault = Fault("HX2003", f"{'x' * 10**6} is not declared", hint="y" * 10**6)
    assert len(str(fault)) < 3 * LONGEST_MESSAGE and fault.message.endswith("x is not declared")
