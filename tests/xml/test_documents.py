"""Reading and writing documents: what is kept, what is refused, and that nothing else is touched."""

from __future__ import annotations

import io
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, strategies as st
from lxml import etree

from heptox.errors import Fault, InputError
from heptox.xml import (
    MOST_PROLOG,
    XmlElement,
    XmlReader,
    line_of,
    parse_document,
    read_bytes,
    read_document,
    read_text,
    write_document,
    write_element,
)
from tests.support.shared import DATA


def fault_of(text: str | bytes) -> Fault:
    with pytest.raises(InputError) as caught:
        parse_document(text, "f.xml")
    (fault,) = caught.value.faults
    return fault


# -- what is read ------------------------------------------------------------------------------------------------


def test_comments_and_processing_instructions_do_not_split_a_leaf() -> None:
    root = parse_document("<?p q?><!-- c --><r><a>Chest<!-- --> <?y?>pain<![CDATA[ & more]]></a></r><!-- e -->").root
    assert [child.text for child in root] == ["Chest pain & more"]
    assert len(root) == 1
    assert len(root[0]) == 0


def test_entities_and_defaults_of_the_internal_subset_count() -> None:
    document = parse_document(
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd" [<!ENTITY d "Dr. <b>M</b>&#38;#60;"><!ATTLIST a k (p|q) "q" '
        'i NMTOKEN #IMPLIED>]><a i=" z "> &d;</a>'
    )
    assert write_element(document.root) == '<a i="z" k="q"> Dr. <b>M</b>&lt;</a>'


def test_the_internal_subset_is_kept_as_text() -> None:
    subset = '\n<!ELEMENT a (b)*> <!-- ]> --><!ENTITY e "]>"><!ATTLIST a b CDATA "]é">\n'
    for text in (f"<!DOCTYPE a [{subset}]  ><a/>", f"<!DOCTYPE a SYSTEM 'x' [{subset}]><a/>".encode("utf-16")):
        assert parse_document(text).internal_subset == subset
    assert parse_document('<!DOCTYPE a SYSTEM "x"><a/>').internal_subset is None
    assert parse_document("<a>[x]</a>").internal_subset is None


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings(encoding: str) -> None:
    name = encoding.removesuffix("-sig")
    assert parse_document(f'<?xml version="1.0" encoding="{name}"?><a>é</a>'.encode(encoding)).root.text == "é"


def test_a_text_is_read_whatever_encoding_it_names() -> None:
    assert parse_document('\ufeff<?xml version="1.0" encoding="iso-8859-1"?><a>é</a>').root.text == "é"


@pytest.mark.parametrize(
    ("file", "root", "elements"),
    [
        ("courses/reed.xml", "root", 10546),
        ("courses/uwm.xml", "root", 66729),
        ("courses/wsu.xml", "root", 74557),
        ("mondial/mondial-europe.xml", "mondial", 25197),
    ],
)
def test_real_documents_are_read_without_their_dtd(file: str, root: str, elements: int) -> None:
    document = read_document(DATA / file)
    assert document.root.tag == root
    assert sum(1 for _ in document.root.iter()) == elements
    assert document.file == str(DATA / file)


# -- what is refused ---------------------------------------------------------------------------------------------

BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
BILLION = f'<!DOCTYPE a [\n<!ENTITY e0 "{"x" * 10}">{BOMB}]>\n'


@pytest.mark.parametrize(
    ("text", "code", "line", "column", "part"),
    [
        ("<a>\n  <b></a>", "HX1002", 2, 10, "mismatch"),
        ("", "HX1002", 1, 1, "empty"),
        ("\n", "HX1002", 2, 1, "not found"),
        ("hello", "HX1002", 1, 1, "'<' not found"),
        ("<a/>\n<b/>", "HX1002", 2, 1, "Extra content"),
        ("<a>a & b</a>", "HX1002", 1, 7, "no name"),
        ("<a>\x01</a>", "HX1002", 1, 4, "invalid"),
        ('<a b="1" b="2"/>', "HX1002", 1, 15, "redefined"),
        (b"<a>\n\xff</a>", "HX1003", 2, 1, "encoding"),
        (b'<?xml version="1.0" encoding="x-none"?><a/>', "HX1003", 1, 38, "x-none"),
        ('<?xml version="1.0" encoding="shift_jis"?><a>\u3042</a>'.encode("shift_jis"), "HX1003", 1, 1, "multi-byte"),
        ('<!DOCTYPE a [\n<!ENTITY e SYSTEM "file:///x">]><a>&e;</a>', "HX1004", 2, 30, "e is external (file:///x)"),
        ('<!DOCTYPE a [\n<!ENTITY % p PUBLIC "i" "u">%p;]><a/>', "HX1004", 2, 28, "%p is external (u)"),
        ('<!DOCTYPE a SYSTEM "u"><a>\n&uuml;</a>', "HX1005", 2, 7, "'uuml'"),
        ('<!DOCTYPE a SYSTEM "u"><a b="&uuml;"/>', "HX1005", 1, 36, "'uuml'"),
        ("<!DOCTYPE a [<!ENTITY % p '<!ENTITY e \"v\">'>%p;]><a>&e;</a>", "HX1005", 1, 47, "'p'"),
        (f"{BILLION}<a>&e8;</a>", "HX1006", 1, 13, "amplification"),
        (f'{BILLION}<a b="&e8;"/>', "HX1006", 3, 11, "amplification"),
        ('<!DOCTYPE a [<!ENTITY e "&f;"><!ENTITY f "&e;">]><a>&e;</a>', "HX1006", 1, 13, "loop"),
        ("<a>" * 300 + "</a>" * 300, "HX1006", 1, 771, "depth"),
        ("<a>" + "x" * 10_100_000 + "</a>", "HX1006", 1, None, "too long"),
        ("<p:a/>", "HX1007", 1, 5, "prefix p"),
    ],
)
def test_refused(text: str | bytes, code: str, line: int, column: int | None, part: str) -> None:
    fault = fault_of(text)
    assert fault.code == code
    assert part in fault.message
    assert "XML_PARSE" not in fault.message
    assert fault.position is not None
    assert (fault.position.file, fault.position.line) == ("f.xml", line)
    assert column in (None, fault.position.column)


def test_a_fault_shows_its_line() -> None:
    assert fault_of("<a>\n  <b></a>").excerpt == "<b></a>"
    assert fault_of("<a>\n  <é></a>".encode("utf-16")).excerpt == "<é></a>"


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.setblocking(False)
        yield server


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a SYSTEM "{0}"><a/>',
        '<!DOCTYPE a SYSTEM "{0}" [<!ATTLIST a b CDATA "c">]><a/>',
        '<!DOCTYPE a PUBLIC "p" "{0}"><a>&e;</a>',
        '<!DOCTYPE a [<!ENTITY e SYSTEM "{0}">]><a>&e;</a>',
        '<!DOCTYPE a [<!ENTITY e SYSTEM "{0}">]><a b="&e;"/>',
        '<!DOCTYPE a [<!ENTITY % e SYSTEM "{0}">%e;]><a/>',
        '<a xmlns:i="http://www.w3.org/2001/XInclude"><i:include href="{0}"/></a>',
        '<?xml-stylesheet href="{0}"?><a/>',
    ],
)
def test_neither_network_nor_files_are_touched(text: str, listener: socket.socket, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('<!ATTLIST a secret CDATA "secret"><!ENTITY e "secret">')
    port = listener.getsockname()[1]
    for url in (f"http://127.0.0.1:{port}/x", f"ftp://127.0.0.1:{port}/x", secret.as_uri(), str(secret)):
        try:
            written = write_element(parse_document(text.format(url)).root)
        except InputError:
            continue
        assert "secret" not in written.replace(url, "")  # what names the file is no more than that
    with pytest.raises(BlockingIOError):
        listener.accept()


# -- files -------------------------------------------------------------------------------------------------------


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.xml", tmp_path, str(tmp_path / "nul\0"), tmp_path / ("long" * 100)):
        with pytest.raises(InputError) as caught:
            read_document(path)
        (fault,) = caught.value.faults
        assert (fault.code, fault.file) == ("HX1001", os.fspath(path).replace("\0", r"\x00"))
        assert "\n" not in str(fault)


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "d.xml"
    path.write_text("<a>123</a>")
    assert read_document(path, maximum_size=10).root.text == "123"
    with pytest.raises(InputError, match="HX1006 has more than 9 bytes"):
        read_document(path, maximum_size=9)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"<a>1</a>")))
    assert read_document("-").root.text == "1"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"<a>1")))
    with pytest.raises(InputError, match="<stdin>:1:5: HX1002"):
        read_document("-")


def test_text_files(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes(b"\xef\xbb\xbfa\r\n\xc3\xa9\rb")
    assert read_text(path) == "a\né\nb"
    assert read_bytes(path).startswith(b"\xef")
    path.write_bytes(b"ab\nc\xff")
    with pytest.raises(InputError, match="t:2:2: HX1003"):
        read_text(path)


# -- writing -----------------------------------------------------------------------------------------------------

TEXTS = st.text(
    st.sampled_from("ab \t\n\r<>&\"']é\u2028\U0001f600") | st.characters(exclude_categories=("Cs", "Cc")), max_size=6
).filter(lambda text: not set(text) & {"\ufffe", "\uffff"})
NAMES = st.sampled_from(["a", "b", "é", "_x0000_"])


def built(name: str, attributes: dict[str, str], content: list[tuple[XmlElement, str]], text: str) -> XmlElement:
    element = etree.Element(name, attributes)
    element.text = text or None
    for child, tail in content:
        child.tail = tail or None
        element.append(child)
    return element


ELEMENTS = st.recursive(
    st.builds(built, NAMES, st.dictionaries(NAMES, TEXTS, max_size=2), st.just([]), TEXTS),
    lambda inner: st.builds(
        built,
        NAMES,
        st.builds(dict[str, str]),
        st.lists(st.tuples(inner, TEXTS | st.just("")), max_size=3),
        TEXTS | st.just(""),
    ),
    max_leaves=6,
)


def content(element: XmlElement) -> tuple[object, ...]:
    return (
        element.tag,
        sorted(element.attrib.items()),
        element.text or "",
        [(content(child), child.tail or "") for child in element],
    )


@given(ELEMENTS)
def test_what_is_written_reads_back_as_the_same(element: XmlElement) -> None:
    assert content(parse_document(write_element(element)).root) == content(element)
    assert content(parse_document(write_document(element)).root) == content(element)


@given(ELEMENTS)
def test_indenting_changes_white_space_between_elements_only(element: XmlElement) -> None:
    before = content(element)
    read = parse_document(write_document(element, indent=True)).root
    assert content(element) == before
    assert write_document(read, indent=True) == write_document(element, indent=True)
    for old, new in zip(element.iter(), read.iter(), strict=True):
        assert (old.tag, old.attrib) == (new.tag, new.attrib)
        if not len(old) or "".join([old.text or "", *(child.tail or "" for child in old)]).strip():
            assert new.xpath("string()") == old.xpath("string()")


def test_a_line_is_known() -> None:
    assert line_of(parse_document("<a>\n<b/></a>").root[0]) == 2
    assert line_of(etree.Element("a")) == 1


# -- documents without a prolog are read faster, and as all others ---------------------------------------------------

PIECES = st.sampled_from(
    (
        "<a>", "</a>", "<a/>", "<b x='1'>", "</b>", "<b x='1' x='2'/>", "<é/>", "<a\u0132/>", "<:a/>", "<a:b/>",
        "<xml:a/>",
        "<a xml:lang='en'/>", "<a xmlns='u'/>", "<a xmlns:p='u' p:x=''/>", "<a x=\"'\" y='\"'/>", "<a x='&lt;'/>",
        "<a x='<'/>", "<a x='\t\n'/>", "<a x=1/>", "<a\n x = 'y' />", "text", " ", "\n", "&amp;", "&#65;", "&#0;",
        "&nbsp;",
        "]]>", "<![CDATA[<x>]]>", "<!-- c -->", "<!-- c -- -->", "<?p q?>", "<?xml version='1.0'?>", "<!DOCTYPE a>",
        "<!DOCTYPE a [<!ENTITY e 'v'>]>", "&e;", "xmlns", "xml:", "\x01", "\ufffe", "\ud800", "\U00010000",
    )
)  # fmt: skip
DECLARATIONS = st.sampled_from(
    (
        "", "<?xml version='1.0'?>", '<?xml version="1.0" encoding="UTF-8"?>\n',
        "<?xml version='1.0' encoding='utf-8' ?>",
        "<?xml version='1.0\"?>", "<?xml version='1.1'?>", "<?xml version='1.0' encoding='latin-1'?>",
        "<?xml version='1.0' encoding='utf-16'?>", "<?xml version='1.0' encoding='utf-7'?>",
        "<?xml version='1.0' standalone='yes'?>", "\ufeff", " ", "<!-- c -->", "<!DOCTYPE a>",
    )
)  # fmt: skip


def read_somehow(text: str | bytes) -> tuple[object, ...]:
    try:
        document = parse_document(text, "f.xml")
    except InputError as error:
        return error.faults
    return write_element(document.root), document.file, document.internal_subset, document.subset_position


@given(
    DECLARATIONS,
    st.lists(PIECES, max_size=5).map("".join),
    st.booleans(),
    st.sampled_from((None, "utf-8", "latin-1", "utf-16", "utf-16-le")),
)
def test_plain_documents_are_read_as_all_others(
    declaration: str, inside: str, closed: bool, encoding: str | None
) -> None:
    text: str | bytes = declaration + (f"<a>{inside}</a>" if closed else inside)
    if encoding is not None:
        text = str(text).encode(encoding, "replace")
    fast = read_somehow(text)
    with mock.patch("heptox.xml.trees._parsed_plain", return_value=None):
        assert fast == read_somehow(text)


def test_plain_documents_skip_the_scan_of_a_prolog() -> None:
    with mock.patch("heptox.xml.trees.read_prolog", side_effect=AssertionError):
        for text in ("<a/>", "<a x='1'>é</a>", b'<?xml version="1.0" encoding="UTF-8"?>\n<a><b/>x</a>'):
            assert parse_document(text).root.tag == "a"


# -- what costs much ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 3, 60_000, 1_500_000])
def test_a_fault_shows_its_line_wherever_it_is(number: int) -> None:
    fault = fault_of(f"<r>{number * chr(10)}<a>x</b></r>{5000 * 'x'}")
    assert fault.position is not None
    assert fault.position.line == number + 1
    assert fault.excerpt is not None
    assert fault.excerpt.removeprefix("<r>").startswith("<a>x</b></r>xxx")
    assert len(fault.excerpt) == 120


@pytest.mark.parametrize(
    "beginning", ["<!--{}-->", "<?x {}?>", "<!DOCTYPE r [<!ENTITY e '{}'>]>", "<r a='{}&amp;'>", '<r {}a="&lt;">', "{}"]
)
def test_the_first_tag_has_to_come_soon(beginning: str) -> None:
    def document(spaces: int) -> bytes:
        begun = beginning.format(spaces * " ")
        return (begun if "<r" in begun else f"{begun}<r>").encode() + b"<a/>" * 300_000 + b"</r>"

    assert len(parse_document(document(MOST_PROLOG // 2)).root) == 300_000
    fault = fault_of(document(MOST_PROLOG))
    assert (fault.code, "does not end within" in fault.message) == ("HX1006", True)


@pytest.mark.parametrize("name", ["xmlns", "xmlns:p"])
@pytest.mark.parametrize(
    "text", ["<a {0}/>", "<a><b/><c {0}>x</c></a>", '<!DOCTYPE a [<!ENTITY e "{1}">]><a><b {2}/></a>']
)
def test_namespaces_have_a_length(name: str, text: str) -> None:
    long = "u" * 4001
    told = text.format(f'{name}="{long}"', long, f'{name}="&e;"')
    for read in (
        lambda: parse_document(told),
        lambda: list(XmlReader(io.BytesIO(told.encode())).read(lambda *_: None, lambda _: None, lambda _: None)),
    ):
        with pytest.raises(InputError, match="HX1006 a namespace has more than 4,000 characters"):
            read()
    parse_document(told.replace("uu", "u", 1))
