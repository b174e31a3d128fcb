"""``heptox rewrite``."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.mapping import exchange, load_mapping
from heptox.xml import parse_document, write_document
from tests.cli.running import HOSPITAL, heptox_ended
from tests.mapping.building import text_set

AUTHORS = (
    '<!ELEMENT authors (author*)> <!ELEMENT author (name, book*)> <!ELEMENT name (#PCDATA)> <!ELEMENT book (title)>\
<!ATTLIST book kind NMTOKEN "novel"> <!ELEMENT title (#PCDATA)>'
)
BOOKS = (
    "<!ELEMENT list (books)> <!ELEMENT books (book*)> <!ELEMENT book (called, kind, by)> <!ELEMENT called (#PCDATA)>\
<!ELEMENT kind (#PCDATA)> <!ELEMENT by (#PCDATA)>"
)
ARROWS = """\
source "authors.dtd" root authors
target "books.dtd" root list
author/name -> books/book/by
author/book/title -> books/book/called
author/book/@kind -> books/book/kind
"""
PROGRAM = """\
source "authors.dtd" root authors
# each book with its author
swap author with author/book
rename author/book to work
"""
DOCUMENT = """\
<authors>
  <author><name>Zoë</name><book kind=" play "><title>T1</title></book><book><title>T2</title></book></author>
  <author><name>Bo</name></author>
</authors>
"""
REWRITTEN = (
    "<authors><work kind='play'><title>T1</title><author><name>Zoë</name></author></work><work kind='novel'>"
    "<title>T2</title><author><name>Zoë</name></author></work><author><name>Bo</name></author></authors>\n"
).replace("'", '"')

LONG = f"<authors><author><name/>{'<book/>' * 20000}</author></authors>"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "authors.dtd": AUTHORS,
        "books.dtd": BOOKS,
        "books.arrows": ARROWS,
        "books.operators": PROGRAM,
        "authors.xml": DOCUMENT,
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def squeezed(text: str) -> str:
    return text.replace("\n", "").replace("  ", "")


def test_a_program_rewrites_a_document(folder: Path) -> None:
    ended = heptox_ended("rewrite", folder / "books.operators", folder / "authors.xml")
    assert (ended.code, squeezed(ended.out), ended.err) == (0, REWRITTEN.strip(), "")
    assert heptox_ended("rewrite", folder / "books.operators", "-", stdin=DOCUMENT.encode()).out == ended.out


def test_a_mapping_is_carried_out_by_operators_that_make_what_it_makes(folder: Path) -> None:
    ended = heptox_ended("rewrite", folder / "books.arrows", folder / "authors.xml")
    applied = heptox_ended("map", "apply", folder / "books.arrows", folder / "authors.xml")
    assert (ended.code, ended.err) == (0, "")
    assert text_set(ended.out) == text_set(applied.out)
    assert "<kind>novel</kind>" in ended.out


def test_a_document_of_the_target_is_rewritten_into_the_source(folder: Path) -> None:
    books = folder / "books.xml"
    books.write_text(heptox_ended("rewrite", folder / "books.arrows", folder / "authors.xml").out)
    ended = heptox_ended("rewrite", folder / "books.arrows", books, "--to", "source")
    mapping = load_mapping(folder / "books.arrows").mirrored()
    image = exchange(mapping, parse_document(books.read_bytes()))
    assert ended.code == 0
    assert text_set(ended.out) == text_set(write_document(image.root))
    arrows = HOSPITAL / "montreal-boston.arrows"
    ill = "<Coronary ID='c'><Enter>1</Enter><Patient>Ann</Patient></Coronary>"
    text = f"<MassGeneral><Admission>{ill}</Admission></MassGeneral>"
    ended = heptox_ended("rewrite", arrows, "-", "--to", "source", stdin=text)
    assert (ended.code, ended.out) == (0, heptox_ended("map", "apply", arrows, "-", "--to", "source", stdin=text).out)
    assert heptox_ended("rewrite", folder / "books.operators", books, "--to", "source").code == 2


def test_operators_are_printed_edited_and_loaded(folder: Path) -> None:
    program = folder / "printed.operators"
    printed = heptox_ended("rewrite", folder / "books.arrows", "--operators", "-o", program)
    assert (printed.code, printed.out, printed.err) == (0, "", "")
    assert program.read_text().startswith('source "authors.dtd" root authors\n')
    same = heptox_ended("rewrite", program, folder / "authors.xml")
    assert same == heptox_ended("rewrite", folder / "books.arrows", folder / "authors.xml")
    program.write_text(program.read_text().replace(" to called", " to heading"))
    edited = heptox_ended("rewrite", program, folder / "authors.xml")
    assert edited.out.count("<heading>") == same.out.count("<called>") - edited.out.count("<called>") > 0


def test_the_operators_of_the_paper_leave_what_has_no_place(folder: Path) -> None:
    (folder / "books.arrows").write_text(ARROWS.replace("author/book/@kind -> books/book/kind\n", ""))
    paper = heptox_ended("rewrite", folder / "books.arrows", folder / "authors.xml", "--paper")
    assert (paper.code, paper.err) == (0, "")
    assert "Bo" in paper.out
    assert "Bo" not in heptox_ended("rewrite", folder / "books.arrows", folder / "authors.xml").out


def test_what_operators_cannot_make_is_exchanged_and_the_reason_told() -> None:
    arrows, document = HOSPITAL / "montreal-boston.arrows", HOSPITAL / "montreal.xml"
    arguments = ("rewrite", arrows, "-")
    text = "<MonGenHosp><Admission PatRef='p'><Problem>P</Problem><AdmDate>1</AdmDate></Admission></MonGenHosp>"
    ended = heptox_ended(*arguments, stdin=text)
    mapping = load_mapping(arrows)
    assert ended.code == 0
    assert ended.out == write_document(exchange(mapping, parse_document(text)).root)
    assert "exchanged, not rewritten: a rule has conditions" in ended.err
    assert not document.exists() or heptox_ended("rewrite", arrows, document).code == 0
    told = heptox_ended("rewrite", arrows, "--operators")
    assert (told.code, told.out) == (1, "")
    assert "HX9101 a rule has conditions" in told.err


def test_elements_that_may_have_to_be_made_one_are_exchanged_unless_they_may_stay_apart(folder: Path) -> None:
    (folder / "flat.dtd").write_text(
        "<!ELEMENT all (b*)> <!ELEMENT b (t, a)> <!ELEMENT t (#PCDATA)> <!ELEMENT a (#PCDATA)>"
    )
    (folder / "deep.dtd").write_text(
        "<!ELEMENT all (a*)> <!ELEMENT a (n, t*)> <!ELEMENT n (#PCDATA)> <!ELEMENT t (#PCDATA)>"
    )
    arrows = folder / "deep.arrows"
    arrows.write_text('source "flat.dtd" root all\ntarget "deep.dtd" root all\nb/a -> a/n\nb/t -> a/t\n')
    text = "<all><b><t>1</t><a>x</a></b><b><t>2</t><a>x</a></b></all>"
    ended = heptox_ended("rewrite", arrows, "-", stdin=text)
    assert ended.out == "<all><a><n>x</n><t>1</t><t>2</t></a></all>\n"
    assert ended.err == "exchanged, not rewritten: elements a may have to be made one\n"
    apart = heptox_ended("rewrite", arrows, "-", "--apart", stdin=text)
    assert (apart.out, apart.err) == ("<all><a><n>x</n><t>1</t></a><a><n>x</n><t>2</t></a></all>\n", "")


@pytest.mark.parametrize(
    ("arguments", "text", "code", "message"),
    [
        (["books.operators"], DOCUMENT, 2, "give either DOCUMENT or --operators"),
        (["books.operators", "-", "--paper"], DOCUMENT, 2, "--paper, --apart and --to are for mappings"),
        (["books.operators", "none.xml"], "", 1, "none.xml: HX1001 cannot be read"),
        (["none.operators", "-"], "", 1, "none.operators: HX1001 cannot be read"),
        (["books.operators", "-"], "<books/>", 1, "<stdin>:1:1: HX9103 the root element is books, not authors"),
        (["books.operators", "-"], "<authors><author></authors>", 1, "<stdin>:1:20: HX1002"),
        (["books.operators", "-", "--most-held", "65536"], LONG, 1, "HX9104 an element author has more than 65536"),
        (["bad.operators", "-"], DOCUMENT, 1, "bad.operators:2:1: HX9102 dissolve cannot be applied to the root"),
    ],
)  # fmt: skip
def test_bad_input_is_told(folder: Path, arguments: list[str], text: str, code: int, message: str) -> None:
    (folder / "bad.operators").write_text('source "authors.dtd"\ndissolve .\n')
    given = [str(folder / each) if "." in each else each for each in arguments]
    ended = heptox_ended("rewrite", *given, stdin=text)
    assert (ended.code, message in " ".join(ended.err.split())) == (code, True), ended.err


def test_a_file_is_written_when_all_is_there(folder: Path) -> None:
    out = folder / "out.xml"
    ended = heptox_ended("rewrite", folder / "books.operators", "-", "-o", out, stdin="<authors><author/>")
    assert (ended.code, [each.name for each in folder.glob("out*")]) == (1, [])
    heptox_ended("rewrite", folder / "books.operators", folder / "authors.xml", "-o", out)
    assert squeezed(out.read_text()) == REWRITTEN.strip()


def test_what_is_written_goes_through_links_and_into_devices(folder: Path) -> None:
    real, link, beside = folder / "real.xml", folder / "link.xml", folder / "real.xml.part"
    real.write_text("old")
    beside.write_text("kept")
    link.symlink_to(real)
    ended = heptox_ended("rewrite", folder / "books.operators", folder / "authors.xml", "-o", link)
    assert (ended.code, link.is_symlink(), beside.read_text()) == (0, True, "kept")
    assert squeezed(real.read_text()) == REWRITTEN.strip()
    assert heptox_ended("rewrite", folder / "books.operators", folder / "authors.xml", "-o", "/dev/null").code == 0
    assert not Path("/dev/null").is_file()
    ended = heptox_ended("rewrite", folder / "books.operators", folder / "authors.xml", "-o", folder / "no" / "x.xml")
    assert ended.code == 1 and "x.xml: HX1001 cannot be written" in ended.err


def test_a_document_that_is_not_valid_is_refused_by_a_mapping(folder: Path) -> None:
    wrong = "<authors><author><other/></author></authors>"
    for document in (folder / "wrong.xml", "-"):
        (folder / "wrong.xml").write_text(wrong)
        ended = heptox_ended("rewrite", folder / "books.arrows", document, stdin=wrong)
        assert (ended.code, ended.out) == (1, "") and "HX2007" in ended.err
