"""Leaves of the target's root, which is one node whichever rules make it; rules written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.errors import TranslationError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, parse_mapping_rules
from heptox.translate import Direction, translate
from tests.support.definition import check_equal, pairs

SOURCE = "<!ELEMENT s (a*)> <!ATTLIST s v CDATA #IMPLIED> <!ELEMENT a (m)> <!ELEMENT m (#PCDATA)>"
TARGET = "<!ELEMENT t (p*)> <!ATTLIST t v CDATA #IMPLIED> <!ELEMENT p (#PCDATA)>"
ALONE = "t -> f_t($s)[@v -> $v] <- s -> $s[@v -> $v].\n"
BOUND = "t -> f_t($s)[@v -> $v, p -> $m] <- s -> $s[@v -> $v, a -> $a[m -> $m]].\n"


def mapping(folder: Path, rules: str) -> Mapping:
    (folder / "s.dtd").write_text(SOURCE)
    (folder / "t.dtd").write_text(TARGET)
    return parse_mapping_rules(f'source "s.dtd"\ntarget "t.dtd"\n{rules}', folder, "by-hand.rules")


def test_a_leaf_that_the_root_alone_gives(tmp_path: Path) -> None:
    given = mapping(tmp_path, ALONE + BOUND)
    instances = pairs(given, ['<s v="1"/>', '<s v="1"><a><m>x</m></a></s>', "<s/>"])
    check_equal(given, "/t/@v", instances, Direction.SOURCE)


def test_a_leaf_that_depends_on_more_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TranslationError) as raised:
        translate(mapping(tmp_path, BOUND), parse_query("/t/@v"), Direction.SOURCE)
    assert [(fault.code, fault.message[:4]) for fault in raised.value.faults] == [("HX5002", "t/@v")]
