"""DTDs of several files: modules, catalogues, conditional sections, and their bounds."""

from __future__ import annotations

import os
import socket
from io import StringIO
from pathlib import Path

import pytest
from lxml import etree

from heptox.errors import Fault, HeptoxError, SchemaError
from heptox.schema import AttributeType, SchemaGraph, parse_dtd, read_dtd, read_schema_roots, validity_faults
from heptox.schema.dtd_entities import MOST_FILES
from heptox.xml import NO_PREFIXES, XML_NAMESPACE, Prefixes, parse_document
from tests.support.shared import DATA

FIXTURES = Path(__file__).parents[1] / "fixtures" / "schemas"
PAGE = "{http://example.org/page}"
BOOK = "{http://example.org/book}"
SVG = "{http://www.w3.org/2000/svg}"
MATH = "{http://www.w3.org/1998/Math/MathML}"
CATALOGUE = '<catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">{}</catalog>'


def written(folder: Path, **files: str) -> Path:
    """The file ``main.dtd`` among files that are written to a folder; in names, ``_`` stands for the last dot."""
    for name, text in files.items():
        (folder / ".".join(name.rsplit("_", 1))).write_text(text, encoding="utf-8")
    return folder / "main.dtd"


def faults_of(path: Path, *catalogues: Path) -> tuple[Fault, ...]:
    with pytest.raises(HeptoxError) as caught:
        read_dtd(path, catalogues=catalogues)
    return caught.value.faults


def edges(graph: SchemaGraph, name: str) -> str:
    return " ".join(f"{each.name}{each.cardinality}".removesuffix("1") for each in graph.elements[name].children)


# -- DTDs as they are --------------------------------------------------------------------------------------------


def test_a_page_of_modules() -> None:
    graph = read_dtd(FIXTURES / "page" / "page.dtd")
    assert graph.root == f"{PAGE}page"
    assert graph.prefixes == Prefixes.of({"": "http://example.org/page"})
    assert set(graph.elements) == {
        f"{PAGE}{name}"
        for name in "page head title meta body p pre em a img foreign list li term def".split()  # noqa: SIM905
    }
    assert edges(graph, f"{PAGE}list") == f"{PAGE}head? {PAGE}li* {PAGE}term* {PAGE}def*"
    page = {each.name: each for each in graph.elements[f"{PAGE}page"].attributes}
    assert list(page) == [f"{{{XML_NAMESPACE}}}lang", "dir", "version", "state"]
    assert (page["version"].default, page["version"].fixed) == ("-//EX//DTD Page 1.0//EN", True)
    assert (page["state"].values, page["state"].default) == (("draft", "final"), "draft")
    title = {each.name: each for each in graph.elements[f"{PAGE}title"].attributes}
    assert title["owner"].default == 'Müller & "Söhne"'
    image = {each.name: each for each in graph.elements[f"{PAGE}img"].attributes}
    assert (image["src"].type, image["src"].values) == (AttributeType.ENTITY, ("logo",))
    assert (image["kind"].type, image["kind"].values) == (AttributeType.NOTATION, ("gif", "png"))
    foreign = graph.elements[f"{PAGE}foreign"]
    assert (foreign.open, foreign.text, foreign.children, foreign.content) == (True, True, (), None)


def test_drawings_have_a_prefix_or_none(tmp_path: Path) -> None:
    plain = read_dtd(FIXTURES / "compound" / "drawing.mod")
    module = (FIXTURES / "compound" / "drawing.mod").read_text(encoding="utf-8")
    prefixed = read_dtd(written(tmp_path, main_dtd=f'<!ENTITY % SVG.prefixed "INCLUDE">{module}'))
    assert plain == prefixed
    assert plain.root == f"{SVG}svg"
    assert plain.prefixes.namespaces[""] == prefixed.prefixes.namespaces["svg"] == "http://www.w3.org/2000/svg"
    use = {each.name: each for each in prefixed.elements[f"{SVG}use"].attributes}
    assert list(use) == ["{http://www.w3.org/1999/xlink}type", "{http://www.w3.org/1999/xlink}href"]
    svg = [each.name for each in prefixed.elements[f"{SVG}svg"].attributes]
    assert svg == [f"{{{XML_NAMESPACE}}}base", "width"]
    assert "svg:svg" in (prefixed.text or "") and "svg:" not in (plain.text or "")


def test_a_compound_of_three_namespaces() -> None:
    graph = read_dtd(FIXTURES / "compound" / "compound.dtd")
    assert edges(graph, f"{BOOK}book") == f"{BOOK}para* {SVG}svg* {MATH}math*"
    assert edges(graph, f"{SVG}foreignObject") == f"{BOOK}para* {MATH}math*"
    assert graph.elements[f"{MATH}annotation"].open
    assert graph.prefixes.written(f"{SVG}svg") == "svg:svg"
    assert graph.prefixes.written(f"{BOOK}para") == "para"


def test_a_presentation() -> None:
    graph = read_dtd(FIXTURES / "compound" / "presentation.dtd")
    smil = "{http://www.w3.org/ns/SMIL}"
    assert edges(graph, f"{smil}head") == f"{smil}layout {smil}meta* {smil}metadata?"
    assert [each.name for each in graph.elements[f"{smil}video"].attributes] == [
        "src",
        "region",
        "begin",
        "dur",
        "fill",
    ]


DTDS = ["page/page.dtd", "compound/compound.dtd", "compound/drawing.mod", "compound/formula.mod"]


@pytest.mark.parametrize("file", [*DTDS, "compound/presentation.dtd"])
def test_the_text_of_a_graph_needs_no_other(file: str) -> None:
    graph = read_dtd(FIXTURES / file)
    text = graph.text or ""
    again = parse_dtd(text, graph.root)
    assert (again, again.prefixes) == (graph, graph.prefixes)
    if file != "compound/presentation.dtd":
        assert again.text == text and "%" not in text.replace('"100%"', "") and "<![" not in text


@pytest.mark.parametrize(
    ("document", "is_valid"),
    [
        ("<para/>", True),
        ("<svg:svg><svg:g id='x'><svg:g/></svg:g><svg:use xlink:href='#x'/></svg:svg>", True),
        ("<svg:svg><svg:use/></svg:svg>", False),
        ("<svg:svg><svg:g a='1'/></svg:svg>", False),
        ("<svg:svg xml:base='u'><svg:foreignObject><para>x</para></svg:foreignObject></svg:svg>", True),
        ("<svg:svg><svg:foreignObject><svg:g/></svg:foreignObject></svg:svg>", False),
        ("<para><para/></para>", False),
        (f"<math xmlns='{MATH[1:-1]}' display='block'><mrow><mi>x</mi></mrow></math>", True),
        (f"<math xmlns='{MATH[1:-1]}'><annotation encoding='x'>y</annotation></math>", True),
        (f"<math xmlns='{MATH[1:-1]}'><annotation/></math>", False),
        (f"<math xmlns='{MATH[1:-1]}'><annotation encoding='x'/><mi/></math>", False),
    ],
)
def test_documents_of_a_compound_are_those_of_libxml2(document: str, is_valid: bool) -> None:
    text = (
        "<book xmlns='http://example.org/book' xmlns:svg='http://www.w3.org/2000/svg'"
        f" xmlns:xlink='http://www.w3.org/1999/xlink'>{document}</book>"
    )
    graph = read_dtd(FIXTURES / "compound" / "compound.dtd")
    assert (validity_faults(parse_document(text), graph) == ()) is is_valid
    # for libxml2, declarations of namespaces are attributes, which these elements do not have
    judge = etree.DTD(StringIO(f"{graph.text}<!ATTLIST book xmlns:svg CDATA #IMPLIED xmlns:xlink CDATA #IMPLIED>"))
    assert judge.validate(etree.fromstring(text)) is is_valid


SHOWN = [
    ("schemas/docbook-4.5/docbookx.dtd", "book", 406),
    ("schemas/fonts.dtd", None, 55),
    ("schemas/xkb.dtd", None, 21),
    ("nitf/nitf-2-5.dtd", None, 123),
    ("xmark/auction.dtd", "site", 77),
]


@pytest.mark.parametrize(("file", "root", "count"), SHOWN)
def test_real_dtds(file: str, root: str | None, count: int) -> None:
    graph = read_dtd(DATA / file, root)
    assert len(graph.elements) == count
    again = parse_dtd(graph.text or "", graph.root)
    assert (again, again.prefixes) == (graph, NO_PREFIXES)


# -- resolving ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "identifier"),
    [
        ('<public publicId="-//EX//X  Y//EN" uri="a/b.mod"/>', 'PUBLIC "-//EX//X\n Y//EN" "http://example.org/b"'),
        ('<system systemId="http://example.org/b" uri="a/b.mod"/>', 'SYSTEM "http://example.org/b"'),
        ('<uri name="http://example.org/b" uri="a/b.mod"/>', 'SYSTEM "http://example.org/b"'),
        ('<group xml:base="a/"><system systemId="urn:b" uri="b.mod"/></group>', 'SYSTEM "urn:b"'),
        (
            '<rewriteSystem systemIdStartString="http://e/" rewritePrefix="no/"/>'
            '<rewriteSystem systemIdStartString="http://e/x/" rewritePrefix="a/"/>',
            'SYSTEM "http://e/x/b.mod"',
        ),
        ('<rewriteURI uriStartString="http://e/" rewritePrefix="a/"/>', 'SYSTEM "http://e/b.mod"'),
        ('<systemSuffix systemIdSuffix="/b.mod" uri="a/b.mod"/>', 'SYSTEM "http://anywhere/x/b.mod"'),
        ('<public publicId="-//EX//B//EN" uri="a/b.mod"/>', 'SYSTEM "urn:publicid:-:EX:B:EN"'),
        ('<nextCatalog catalog="none.xml"/><nextCatalog catalog="next.xml"/>', 'SYSTEM "urn:next"'),
        ('<delegateSystem systemIdStartString="urn:n" catalog="next.xml"/>', 'SYSTEM "urn:next"'),
        ('<delegatePublic publicIdStartString="-//EX" catalog="next.xml"/>', 'PUBLIC "-//EX//N//EN" "http://e/n"'),
    ],
)
def test_catalogues_name_files(entry: str, identifier: str, tmp_path: Path) -> None:
    (tmp_path / "dtd").mkdir()
    (tmp_path / "files" / "a").mkdir(parents=True)
    (tmp_path / "files" / "a" / "b.mod").write_text("<!ELEMENT b EMPTY>")
    (tmp_path / "files" / "named.xml").write_text(CATALOGUE.format(entry))
    following = '<system systemId="urn:next" uri="a/b.mod"/><public publicId="-//EX//N//EN" uri="a/b.mod"/>'
    (tmp_path / "files" / "next.xml").write_text(CATALOGUE.format(following + '<nextCatalog catalog="next.xml"/>'))
    path = written(tmp_path / "dtd", main_dtd=f"<!ENTITY % b {identifier}> %b; <!ELEMENT a (b)>")
    assert set(read_dtd(path, catalogues=[tmp_path / "files" / "named.xml"]).elements) == {"a", "b"}
    (fault,) = faults_of(path)
    assert (fault.code, str(fault.position)) == ("HX2002", f"{path}:1:1")


def test_a_preference_for_system_identifiers_is_kept(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        main_dtd='<!ENTITY % b PUBLIC "-//EX//B//EN" "b.mod"> %b; <!ELEMENT a (b)>',
        b_mod="<!ELEMENT b EMPTY>",
        public_mod="<!ELEMENT b (#PCDATA)>",
    )
    for prefer, text in (("public", True), ("system", False)):
        entry = f'<group prefer="{prefer}"><public publicId="-//EX//B//EN" uri="public.mod"/></group>'
        (tmp_path / "catalog.xml").write_text(CATALOGUE.format(entry))
        assert read_dtd(path).elements["b"].text is text


@pytest.mark.parametrize(
    ("catalogue", "code"),
    [("<catalog/>", "HX2015"), ("<catalog>", "HX1002"), (None, "HX1001")],
)
def test_a_catalogue_that_is_none_is_told(catalogue: str | None, code: str, tmp_path: Path) -> None:
    path = written(tmp_path, main_dtd='<!ENTITY % b SYSTEM "urn:b"> %b; <!ELEMENT a EMPTY>')
    if catalogue is not None:
        (tmp_path / "named.xml").write_text(catalogue)
    (fault, *_) = faults_of(path, tmp_path / "named.xml")
    assert fault.code == code
    assert "named.xml" in str(fault)


@pytest.mark.parametrize("content", ["<catalog><book/></catalog>", "<catalog>", "none"])
def test_what_is_only_called_like_a_catalogue_is_none(content: str, tmp_path: Path) -> None:
    path = written(
        tmp_path,
        main_dtd='<!ENTITY % b SYSTEM "b.mod"> %b; <!ELEMENT a (b)>',
        b_mod="<!ELEMENT b EMPTY>",
        catalog_xml=content,
    )
    assert set(read_dtd(path).elements) == {"a", "b"}
    (tmp_path / "b.mod").unlink()
    (fault,) = faults_of(path)
    assert fault.code == "HX2002" and f"{tmp_path / 'catalog.xml'}: " in (fault.hint or "")


def test_addresses_are_those_of_the_file_that_has_them(tmp_path: Path) -> None:
    (tmp_path / "below" / "more").mkdir(parents=True)
    (tmp_path / "below" / "one.mod").write_text('<!ENTITY % two SYSTEM "more/two%20files.mod"> %two;')
    (tmp_path / "below" / "more" / "two files.mod").write_text('<!ENTITY % three SYSTEM "../../three.mod"> %three;')
    path = written(
        tmp_path,
        main_dtd='<!ENTITY % one SYSTEM "below/one.mod"> <!ELEMENT a (b)> %one;',
        three_mod="\ufeff<?xml encoding='utf-8'?><!ELEMENT b EMPTY>",
    )
    assert set(read_dtd(path).elements) == {"a", "b"}
    relative = Path(os.path.relpath(path))
    assert read_dtd(relative) == read_dtd(path) == read_schema_roots(path)["a"]


def test_what_is_missing_is_told_with_where_it_was_looked_for(tmp_path: Path) -> None:
    main = '<!ENTITY % x SYSTEM "x.mod">\n<!ENTITY % y\n PUBLIC "-//EX//Y//EN" "http://example.org/y"> %x; %y;'
    path = written(tmp_path, main_dtd=main + "<!ELEMENT a (b)>", catalog_xml=CATALOGUE.format(""))
    one, other = faults_of(path)
    assert (one.code, str(one.position)) == ("HX2002", f"{path}:1:1")
    assert one.message == "the parameter entity x is external (x.mod)"
    assert f"{tmp_path / 'x.mod'}: cannot be read: No such file" in (one.hint or "")
    assert (str(other.position), other.code) == (f"{path}:2:1", "HX2002")
    assert f"the catalogue {tmp_path / 'catalog.xml'}" in (other.hint or "")


def test_nothing_outside_of_the_folder_is_read_unless_a_catalogue_names_it(tmp_path: Path) -> None:
    (tmp_path / "dtd").mkdir()
    outside = tmp_path / "outside.mod"
    outside.write_text("<!ELEMENT b EMPTY>")
    (tmp_path / "dtd" / "link.mod").symlink_to(outside)
    os.mkfifo(tmp_path / "dtd" / "pipe.mod")
    for address in (str(outside), outside.as_uri(), "../outside.mod", "link.mod", "pipe.mod", ".", "x" * 5000, ""):
        path = written(tmp_path / "dtd", main_dtd=f'<!ENTITY % b SYSTEM "{address}"> %b; <!ELEMENT a (b)>')
        assert [fault.code for fault in faults_of(path)] == ["HX2002"]
    named = tmp_path / "dtd" / "catalog.xml"
    named.write_text(CATALOGUE.format('<system systemId="../outside.mod" uri="../outside.mod"/>'))
    path = written(tmp_path / "dtd", main_dtd='<!ENTITY % b SYSTEM "../outside.mod"> %b; <!ELEMENT a (b)>')
    assert set(read_dtd(path).elements) == {"a", "b"}


def test_the_network_is_never_asked(tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        entries = f'<nextCatalog catalog="{address}"/><system systemId="urn:x" uri="{address}"/>'
        for system in (address, "urn:x"):
            path = written(
                tmp_path,
                main_dtd=f'<!ENTITY % x SYSTEM "{system}"> %x; <!ELEMENT a EMPTY>',
                catalog_xml=CATALOGUE.format(entries),
            )
            assert [fault.code for fault in faults_of(path)] == ["HX2002"]
        with pytest.raises(BlockingIOError):
            server.accept()


# -- faults ------------------------------------------------------------------------------------------------------


def test_faults_in_modules_have_their_places(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        main_dtd='<!ENTITY % m SYSTEM "m.mod">\n%m;\n<!ELEMENT a (b, d)>',
        m_mod="<!ELEMENT b (c)>\n<!ENTITY % more ', e'>\n  <!ELEMENT d (b\n%more;)>",
    )
    assert [(str(fault.position), fault.message) for fault in faults_of(path)] == [
        (f"{tmp_path / 'm.mod'}:1:14", "c, a child of b, is not declared"),
        (f"{tmp_path / 'm.mod'}:4:1", "e, a child of d, is not declared"),
    ]


def test_all_that_is_malformed_is_told_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        main_dtd='<!ENTITY % m SYSTEM "m.mod"> %m;\n<!ELEMENT a (b,)>\n<!-- fine --><!ATTLIST a b>\n%none;',
        m_mod="<!ELEMENT b\n  (c & d)>\n<!ELEMENT d EMPTY>\n<!ATTLIST d e CDATA 'f'g CDATA #IMPLIED>\n<![MAYBE[ ]]>",
    )
    assert [str(fault.position).removeprefix(f"{tmp_path}{os.sep}") for fault in faults_of(path)] == [
        "m.mod:2:6",
        "m.mod:4:24",
        "m.mod:5:4",
        "main.dtd:2:16",
        "main.dtd:3:27",
        "main.dtd:4:7",
    ]


@pytest.mark.parametrize(
    ("dtd", "part"),
    [
        ("<!ENTITY % a '&#37;a;'> %a;", "the parameter entity a refers to itself"),
        (
            "<!ENTITY % a '&#37;b;'> <!ENTITY % b '&#37;a;'> <!ELEMENT r (%a;)>",
            "the parameter entity a refers to itself",
        ),
        ("<!ENTITY a '&b;'> <!ENTITY b '&a;'> <!ATTLIST r k CDATA '&a;'>", "the entity a refers to itself"),
        ('<!ENTITY % m SYSTEM "main.dtd"> %m;', "main.dtd includes itself"),
        ('<!ENTITY % m SYSTEM "m.mod"> %m;', "m.mod includes itself"),
    ],
)
def test_circles_are_told(dtd: str, part: str, tmp_path: Path) -> None:
    path = written(tmp_path, main_dtd=f"<!ELEMENT r EMPTY> {dtd}", m_mod='<!ENTITY % n SYSTEM "m.mod"> %n;')
    fault = faults_of(path)[0]
    assert fault.code == "HX2001" and part in fault.message


@pytest.mark.parametrize(
    ("dtd", "part"),
    [
        ("<!ELEMENT r (%p; b)> <!ELEMENT b EMPTY>", "'p' not defined"),
        ("<!ENTITY % p '(b)'> <!ELEMENT r %p;*>", "before * is white space"),
        ("<!ENTITY % p 'b)>'> <!ELEMENT r (%p;", "p ends a declaration that it does not begin"),
        ("<!ELEMENT r EMPTY> <![INCLUDE[ <!ELEMENT b EMPTY>", "not closed"),
        ("<!ELEMENT r EMPTY> <![IGNORE[ <![ ]]>", "not closed"),
        ("<!ELEMENT r EMPTY> ]]>", "external subset"),
        ("<!ELEMENT r EMPTY> <!-- ", "not closed"),
        ("<!ELEMENT r EMPTY> <?p ", "not closed"),
        ("<!ELEMENT r EMPTY> <?xml version='1.0'?>", "only where a file begins"),
        ("<!ELEMENT r EMPTY> <!ENTITY a '50%'>", "write &#37;"),
        ("<!ELEMENT r EMPTY> <!ENTITY a 'a & b'>", "write &#38;"),
        ("<!ELEMENT r EMPTY> <!ENTITY a '&#0;'>", "no character of XML"),
        ("<!ELEMENT r EMPTY> <!ATTLIST r a CDATA '&none;'>", "'none' not defined"),
        ("<!ELEMENT r EMPTY> <!ENTITY e SYSTEM 'e'> <!ATTLIST r a CDATA '&e;'>", "e is external"),
        ("<!ELEMENT r EMPTY> <!ATTLIST r a CDATA '<'>", "a < cannot stand"),
        ("<!ELEMENT r EMPTY> <!ATTLIST r a NOTATION (n) #IMPLIED>", "notation n, which is not declared"),
        ("<!ELEMENT r EMPTY> <!ENTITY e SYSTEM 'e' NDATA n>", "notation n, which is not declared"),
        ("<!ELEMENT r EMPTY> <!ATTLIST r a ID 'x'>", "has to be #IMPLIED or #REQUIRED"),
        ("<!ELEMENT r EMPTY> <!ATTLIST r a IDREF '1'>", "is none of its values"),
        ("<!ELEMENT r EMPTY> <!ATTLIST r a (u|u) #IMPLIED>", "stands twice"),
        ("<!ELEMENT r EMPTY> \x01", "U+0001"),
        ("<!ELEMENT 1 EMPTY>", "the name of an element type, which 1 is not"),
        ("<!ELEMENT r (a:b:c)>", "expected a name or '(', which a:b:c is not"),
        ("<!ELEMENTr EMPTY>", "external subset"),
        ("<!ELEMENT r(a)>", "white space"),
        ("<!ELEMENT r (#PCDATA | a)>", "'*'"),
        ("<!ELEMENT r (a | b, c)>", "'|' or ')'"),
    ],
)
def test_what_is_malformed_is_told(dtd: str, part: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse_dtd(dtd, "r")
    fault = caught.value.faults[0]
    assert fault.code == "HX2001" and part in fault.message


# -- bounds ------------------------------------------------------------------------------------------------------


def limit_of(text: str) -> str:
    with pytest.raises(SchemaError) as caught:
        parse_dtd(text, "r")
    (fault,) = caught.value.faults
    assert fault.code == "HX2014" and fault.position is not None
    return fault.message


def nested(reference: str, base: str) -> str:
    """Entities of which each refers ten times to that before it."""
    lines = "".join(f"<!ENTITY % e{n} '{reference.format(n - 1) * 10}'>" for n in range(1, 10))
    return f"<!ENTITY % e0 '{base}'>{lines}"


@pytest.mark.parametrize(
    "dtd",
    [
        nested("%e{};", " ") + "%e9; <!ELEMENT r EMPTY>",
        nested("&#37;e{};", "") + "%e9; <!ELEMENT r EMPTY>",
        nested("&#37;e{};", "<!-- -->") + "%e9; <!ELEMENT r EMPTY>",
        nested("&#37;e{};", "") + "<!ELEMENT r (%e9; b)>",
        nested("&#37;e{};", "") + "<![%e9;INCLUDE[ ]]>",
        nested("&e{};", "").replace("ENTITY %", "ENTITY") + "<!ATTLIST r k CDATA '&e9;'>",
    ],
)
def test_entities_that_expand_without_end_are_refused(dtd: str) -> None:
    assert "amplification" in limit_of(dtd)


def test_other_bounds() -> None:
    chain = "".join(f"<!ENTITY % e{n} '&#37;e{n + 1};'>" for n in range(200))
    assert "inside each other" in limit_of(f"{chain}<!ENTITY % e200 ''>%e0;")
    assert "128 groups" in limit_of(f"<!ELEMENT r {'(' * 3000}a{')' * 3000}>")
    assert "20,000 names" in limit_of(f"<!ELEMENT r ({'a,' * 30_000}a)>")
    assert "20,000 names" in limit_of(f"<!ELEMENT r (#PCDATA{''.join(f'|a{n}' for n in range(30_000))})*>")
    assert "characters" in limit_of(" " * (17 << 20))


def test_a_large_content_model_is_read() -> None:
    names = [f"c{number}" for number in range(3000)]
    declared = "".join(f"<!ELEMENT {name} EMPTY>" for name in names)
    graph = parse_dtd(f"<!ELEMENT r ({'*, '.join(names)}*)>{declared}")
    assert len(graph.elements["r"].children) == 3000
    with pytest.raises(SchemaError, match="HX2009 the content model of r is not deterministic: c0"):
        parse_dtd(f"<!ELEMENT r ({'*, '.join(names + names)}*)>{declared}")


def test_very_many_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.mod").write_text(" ")
    lines = "".join(f'<!ENTITY % m{number} SYSTEM "m.mod"> %m{number};' for number in range(MOST_FILES + 1))
    (fault,) = faults_of(written(tmp_path, main_dtd=f"{lines}<!ELEMENT r EMPTY>"))
    assert fault.code == "HX2014" and "files" in fault.message
