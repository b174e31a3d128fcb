"""``heptox schema infer``."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

from tests.cli.running import heptox_ended

ORDERS = """<orders><order id="o1" by="c2"><line>1</line><line>2</line></order><order id="o2" by="c1"><line>3</line>
<note>soon</note></order></orders>"""
FEED = '<f:feed xmlns:f="urn:f" xmlns="urn:g" xml:lang="en"><entry/></f:feed>'


def written(folder: Path, **texts: str) -> list[Path]:
    files = [folder / f"{name}.xml" for name in texts]
    for file, text in zip(files, texts.values(), strict=True):
        file.write_text(text, encoding="utf-8")
    return files


def test_an_xsd_is_printed(tmp_path: Path) -> None:
    ended = heptox_ended("schema", "infer", *written(tmp_path, a=ORDERS))
    assert (ended.code, ended.err) == (0, "")
    assert '<xs:element ref="note" minOccurs="0"/>' in ended.out
    assert '<xs:element name="line" type="xs:integer"/>' in ended.out
    assert etree.XMLSchema(etree.fromstring(ended.out.encode())).validate(etree.fromstring(ORDERS))


def test_a_dtd_is_printed() -> None:
    ended = heptox_ended("schema", "infer", "--dtd", "-", stdin="<a><b/><c/><b/></a>")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        "<!-- inferred from 1 document -->\n\n<!ELEMENT a (b | c)+>\n<!ELEMENT b EMPTY>\n<!ELEMENT c EMPTY>\n"
    )


def test_namespaces_have_files_that_import_each_other(tmp_path: Path) -> None:
    out = tmp_path / "out" / "feed.xsd"
    out.parent.mkdir()
    ended = heptox_ended("schema", "infer", *written(tmp_path, a=FEED), "--output", out)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    assert sorted(file.name for file in out.parent.iterdir()) == ["feed-1.xsd", "feed-xml.xsd", "feed.xsd"]
    assert etree.XMLSchema(etree.parse(out)).validate(etree.fromstring(FEED))


def test_several_namespaces_need_a_file(tmp_path: Path) -> None:
    ended = heptox_ended("schema", "infer", *written(tmp_path, a=FEED))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "HX2062 an XSD of 3 namespaces has 3 files (say with --output FILE where they are written)\n"


def test_all_documents_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    files = written(tmp_path, a="<a>", b="<b/>", c="<c></d>")
    ended = heptox_ended("schema", "infer", *files, tmp_path / "none.xml")
    assert (ended.code, ended.out) == (1, "")
    first, second, third = ended.err.splitlines()
    assert first.startswith(f"{files[0]}:1:4: HX1002 ") and second.startswith(f"{files[2]}:1:8: HX1002 ")
    assert third == f"{tmp_path / 'none.xml'}: HX1001 cannot be read: No such file or directory"


def test_no_document_is_wrong_usage() -> None:
    ended = heptox_ended("schema", "infer")
    assert ended.code == 2 and "Missing argument 'DOC...'" in ended.err


def test_a_dtd_needs_one_prefix_for_a_namespace(tmp_path: Path) -> None:
    files = written(tmp_path, a='<a xmlns="urn:f"/>', b='<f:a xmlns:f="urn:f"/>')
    ended = heptox_ended("schema", "infer", "--dtd", *files)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("HX2061 elements in the namespace urn:f have different prefixes: none and f (in a DTD")


def test_a_dtd_has_no_local_types(tmp_path: Path) -> None:
    text = "<a><b><name>x</name></b><c><name><first>y</first></name></c></a>"
    files = written(tmp_path, a=text)
    ended = heptox_ended("schema", "infer", "--dtd", *files)
    assert ended.code == 1 and "HX2061 name holds text alone below b, and elements below c" in ended.err
    printed = heptox_ended("schema", "infer", *files)
    assert etree.XMLSchema(etree.fromstring(printed.out.encode())).validate(etree.fromstring(text))


def test_constraints_are_for_xsds() -> None:
    ended = heptox_ended("schema", "infer", "--dtd", "--constraints", "-", stdin="<a/>")
    assert ended.code == 2 and "--constraints is for an XSD" in ended.err


def test_an_inferred_xsd_is_extended(tmp_path: Path) -> None:
    old, new = written(tmp_path, a=ORDERS, b='<orders><order id="o3"><line>4.5</line></order><sum/></orders>')
    xsd = tmp_path / "orders.xsd"
    assert heptox_ended("schema", "infer", old, "-o", xsd).code == 0
    ended = heptox_ended("schema", "infer", "--extend", xsd, new, "-o", xsd)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "orders: sum added, optional",
        "orders/order: @by was required, now optional",
        "orders/order/line: was integer, now decimal",
        "orders/sum: declared, empty",
    ]
    schema = etree.XMLSchema(etree.parse(xsd))
    assert all(schema.validate(etree.parse(file)) for file in (old, new))
    again = heptox_ended("schema", "infer", "--extend", xsd, old, new, "-o", xsd)
    assert (again.code, again.out, again.err) == (0, "", "")


def test_a_dtd_is_extended_in_its_own_text(tmp_path: Path) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text('<!-- a list -->\n<!ELEMENT a (b)>\n<!ELEMENT b EMPTY>\n<!ATTLIST b k (x | y) "x">\n')
    ended = heptox_ended("schema", "infer", "--extend", dtd, "-", stdin='<a><b k="z"/><c>t</c></a>')
    assert ended.code == 0
    assert ended.err == "a: c added, optional\na/b: @k was x | y, now x | y | z\na/c: declared, text\n"
    assert ended.out.splitlines() == [
        "<!-- extended for 1 document -->",
        '<!ATTLIST b k (x | y | z) "x">',
        "<!-- a list -->",
        "<!ELEMENT a (b, c?)>",
        "<!ELEMENT b EMPTY>",
        '<!ATTLIST b k (x | y) "x">',
        "<!ELEMENT c (#PCDATA)>",
    ]


def test_a_dtd_of_parameter_entities_is_written_anew(tmp_path: Path) -> None:
    dtd = tmp_path / "a.dtd"
    dtd.write_text('<?xml version="1.0" encoding="UTF-8"?><!ENTITY % n "a"> <!ELEMENT %n; (b)> <!ELEMENT b EMPTY>')
    ended = heptox_ended("schema", "infer", "--extend", dtd, "-", stdin="<a><b/><b/></a>")
    assert (ended.code, ended.err) == (0, "a: b was required, now one or more\n")
    assert ended.out == "<!-- extended for 1 document -->\n\n<!ELEMENT a (b+)>\n<!ELEMENT b EMPTY>\n"


def test_an_xsd_of_others_is_not_extended(tmp_path: Path) -> None:
    xsd = tmp_path / "a.xsd"
    xsd.write_text('<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">\n<xs:group name="g"/></xs:schema>')
    ended = heptox_ended("schema", "infer", "--extend", xsd, "-", stdin="<a/>")
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"{xsd}:2:1: HX2063 group is not as heptox writes it (extend what heptox schema infer")


def test_extending_takes_the_kind_of_its_schema() -> None:
    ended = heptox_ended("schema", "infer", "--extend", "a.dtd", "--dtd", "-", stdin="<a/>")
    assert ended.code == 2 and "--extend takes what SCHEMA is" in ended.err
