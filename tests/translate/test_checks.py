"""What a translation works out once for a mapping: its check ends that, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from heptox.checks import checked_by
from heptox.errors import Fault, TranslationError
from heptox.grammar import parse_query
from heptox.mapping import Mapping, Rule, parse_mapping_arrows
from heptox.translate import translate
from heptox.translate.knowledge import makers, without_weaker

_VALUES = ", ".join(f'"{value}"' for value in range(6))
_ARROWS = f"""source "s.dtd" root r
target "t.dtd" root s
each a[@b = ({_VALUES}) and @c = ({_VALUES})] -> d
a[@b = ({_VALUES}) and @c = ({_VALUES})]/text() -> d/e
"""


@pytest.fixture
def selecting(tmp_path: Path) -> Mapping:
    """A mapping of 36 rules for one node."""
    (tmp_path / "s.dtd").write_text("<!ELEMENT r (a*)><!ELEMENT a (#PCDATA)><!ATTLIST a b CDATA '' c CDATA ''>")
    (tmp_path / "t.dtd").write_text("<!ELEMENT s (d*)><!ELEMENT d (e?)><!ELEMENT e (#PCDATA)>")
    return parse_mapping_arrows(_ARROWS, tmp_path)


def test_rules_of_one_selection_differ_in_their_hash(selecting: Mapping) -> None:
    assert len({hash(rule) for rule in selecting.rules}) == len(selecting.rules) == 36


def test_the_check_reaches_what_is_remembered_of_a_mapping(selecting: Mapping) -> None:
    def ended() -> None:
        raise TranslationError(Fault("HX5009", "nobody waits"))

    works: list[Callable[[], tuple[Rule, ...]]] = [
        lambda: makers(selecting, ("d",)),
        lambda: without_weaker(selecting, selecting.rules, ("d",), ("e",)),
    ]
    for work in works:
        with checked_by(ended), pytest.raises(TranslationError):
            work()
        assert len(work()) == 36  # what was ended is not remembered


def test_a_translation_calls_its_check_for_each_rule(selecting: Mapping) -> None:
    calls: list[None] = []
    translate(selecting, parse_query('//d[e = "x"]/e'), "source", lambda: calls.append(None))
    assert len(calls) > 36


def test_other_inverses_are_another_mapping(tmp_path: Path) -> None:
    (tmp_path / "s.dtd").write_text("<!ELEMENT r (a*)><!ELEMENT a (b)><!ELEMENT b (#PCDATA)>")
    (tmp_path / "t.dtd").write_text("<!ELEMENT s (d*)><!ELEMENT d (e)><!ELEMENT e (#PCDATA)>")
    texts = []
    for inverse in ('translate(., "xy", "yx")', 'concat(., "!")'):
        schemas = 'source "s.dtd" root r\ntarget "t.dtd" root s\n'
        arrows = f'{schemas}translate(a/b, "xy", "yx") -> d/e inverse {inverse}\n'
        mapping = parse_mapping_arrows(arrows, tmp_path)
        texts.append(translate(mapping, parse_query('//d[e = "x"]/e'), "source").text)
    assert 'b = "y"' in texts[0] and texts[1] == "()"  # x! does not become x
