"""Declared inverses: wrong ones are refuted, and what is relied upon is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.mapping import Mapping, parse_mapping_arrows
from heptox.verification import verify
from heptox.verification.inverses import broken_inverses, wrong_inverses
from heptox.xml import parse_document

SOURCE = "<!ELEMENT s (p*)> <!ELEMENT p (a?, b?)> <!ELEMENT a (#PCDATA)> <!ELEMENT b (#PCDATA)>"
TARGET = "<!ELEMENT t (q*)> <!ELEMENT q (x?)> <!ELEMENT x (#PCDATA)>"


def mapping(folder: Path, line: str) -> Mapping:
    (folder / "s.dtd").write_text(SOURCE)
    (folder / "t.dtd").write_text(TARGET)
    (folder / "codes.csv").write_text("k1,v1\nk2,v2\n")
    return parse_mapping_arrows(f'source "s.dtd"\ntarget "t.dtd"\neach p -> q\n{line}\n', folder)


@pytest.mark.parametrize(
    ("line", "counterexample"),
    [
        ('upper-case(p/a) -> q/x inverse "c"', 'for p/a = "" it is "", of which the inverse makes "c" at p/a'),
        ('concat("x-", p/a) -> q/x inverse substring-after(., "y-")', 'for p/a = "1" it is "x-1"'),
        ('concat(p/a, ", ", p/b) -> q/x inverse substring-after(., ", ")', 'for p/a = "", p/b = "1" it is ", 1"'),
        ('lookup("codes.csv", p/a) -> q/x inverse if (. = "v1") then "k2" else "k1"', 'for p/a = "k1" it is "v1"'),
    ],
)
def test_a_wrong_inverse_is_refuted_by_its_smallest_counterexample(
    tmp_path: Path, line: str, counterexample: str
) -> None:
    (fault,), _ = wrong_inverses(mapping(tmp_path, line))
    assert fault.code == "HX5019" and counterexample in fault.message
    assert not verify(mapping(tmp_path, line), 1).passed


def test_what_an_inverse_relies_upon_is_said_and_looked_for_in_documents(tmp_path: Path) -> None:
    given = mapping(tmp_path, "upper-case(p/a) -> q/x inverse lower-case(.)")
    faults, (assumed,) = wrong_inverses(given)
    assert faults == () and 'though for p/a = "A" it is "A"' in assumed
    assert verify(given, 1).inverses == (assumed,)
    document = parse_document("<s>\n<p><a>abc</a></p>\n<p><a>ABC</a></p></s>")
    (fault,) = broken_inverses(given, document)
    assert fault.position is not None and fault.position.line == 3
    assert list(broken_inverses(mapping(tmp_path, 'concat("x", p/a) -> q/x'), document)) == []


@pytest.mark.parametrize(
    ("lines", "lines_of_faults"),
    [
        ('upper-case(p[b = "1"]/a) -> q/x inverse lower-case(.)', [2]),  # of selected nodes alone
        ("source box K = (p | r)\n[K] -> q/x\nupper-case([K]/a) -> q/y inverse lower-case(.)", [2, 3, 4]),
    ],
)
def test_inverses_are_tried_where_arrows_compute(tmp_path: Path, lines: str, lines_of_faults: list[int]) -> None:
    (tmp_path / "s.dtd").write_text(SOURCE.replace("(p*)", "(p | r)*") + "<!ELEMENT r (a?, b?)>")
    (tmp_path / "t.dtd").write_text(TARGET.replace("(x?)", "(x?, y?)") + "<!ELEMENT y (#PCDATA)>")
    given = parse_mapping_arrows(f'source "s.dtd"\ntarget "t.dtd"\n{lines}\n', tmp_path)
    text = "<s>\n<p><a>A</a><b>1</b></p>\n<p><a>B</a><b>2</b></p>\n<r><a>C</a></r></s>"
    found = [fault.position.line for fault in broken_inverses(given, parse_document(text)) if fault.position]
    assert found == lines_of_faults
