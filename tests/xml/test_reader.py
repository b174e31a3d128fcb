"""Documents read piece by piece: what is told is what a tree in memory has, and what is refused is refused alike."""

from __future__ import annotations

import io

import pytest

from heptox.errors import InputError
from heptox.xml import MAXIMUM_SIZE, XmlElement, XmlReader, events, parse_document


class Slow(io.BytesIO):
    """A source that gives a few bytes at a time."""

    step = 5

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(self.step, size or 0))


def told(data: bytes, source: type[io.BytesIO] = io.BytesIO, **limits: int) -> list[object]:
    """What is told of a document; texts that follow each other are one."""
    events: list[object] = []

    def text(part: str) -> None:
        if events and isinstance(events[-1], str):
            part = f"{events.pop()}{part}"
        events.append(part)

    def start(name: str, attributes: list[str]) -> None:
        events.append((name, attributes))

    reader = XmlReader(source(data), "d.xml", maximum_size=limits.get("maximum_size", MAXIMUM_SIZE))
    read = list(reader.read(start, lambda name: events.append((name,)), text))
    assert read == sorted(read)
    assert read[-1] == len(data)
    return events


def in_tree(element: XmlElement) -> list[object]:
    """What should be told of an element."""
    attributes = [str(part) for pair in element.items() for part in pair]
    events: list[object] = [(element.tag, attributes)]
    if element.text:
        events.append(element.text)
    for child in element:
        events += in_tree(child)
        if child.tail:
            events.append(child.tail)
    return [*events, (element.tag,)]


def refusal(data: bytes) -> list[str]:
    with pytest.raises(InputError) as caught:
        told(data)
    assert all(fault.position and fault.position.file == "d.xml" for fault in caught.value.faults)
    return [f"{fault.position}".removeprefix("d.xml:") + f" {fault.code}" for fault in caught.value.faults]


ENTITY = '<!ENTITY e "x&#38;amp;y">'
DOCUMENTS = [
    "<a/>",
    "\n<a b='1' c = \"'\">x<b/>y</a>\n<!-- end -->",
    "<?xml version='1.0'?>\n<a>&lt;&#65;&#x42;<![CDATA[<c>]]><!-- no -->z<?p i?>&amp;</a>",
    "<?xml version='1.1' standalone = 'no'?><a>\r\nx\ry</a>",
    "<a b='\n\t&#10;'/>",
    f"<!DOCTYPE a [{ENTITY}]><a b='&e;'>&e;<b>&e;</b></a>",
    f"<!DOCTYPE a SYSTEM 'none.dtd' [{ENTITY}]><a b='&e;'>1&e;2</a>",
    "<!DOCTYPE a PUBLIC 'p' 'none.dtd'><a/>",
    "<!DOCTYPE a [<!ENTITY e '<b k=\"1\">x</b>'>]><a>&e;&e;</a>",
    "<!DOCTYPE a [<!ATTLIST a z CDATA 'q' i ID #IMPLIED t NMTOKENS ' x  y '>]><a i='  1 '/>",
    "<!DOCTYPE a [<!NOTATION n SYSTEM 'z'><!ENTITY e SYSTEM 'y' NDATA n>]><a/>",
    "<!DOCTYPE a [<!-- %p; --><?p %p;?><!ENTITY % p 'x'>]><a/>",
    f"<a>{'long ' * 200_000}</a>",
    f"<a b='{'long ' * 100_000}'/>",
    f"<a>{'<b>x</b>' * 100_000}</a>",
    "<a>\u00e9\u2028\U0001f600</a>",
]


@pytest.mark.parametrize("text", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_what_is_told_is_what_a_tree_has(text: str) -> None:
    wanted = in_tree(parse_document(text.encode()).root)
    assert told(text.encode()) == wanted
    if len(text) < 1000:
        assert told(text.encode(), Slow) == wanted
        assert told(f"\ufeff{text}".encode()) == wanted
        assert told(text.encode("utf-16")) == wanted
        assert told(text.encode("utf-16"), Slow) == wanted


def test_encodings() -> None:
    assert told("<?xml version='1.0' encoding='koi8-r'?><a>ц</a>".encode("koi8-r")) == [("a", []), "ц", ("a",)]
    assert told("<a>ц</a>".encode("utf-16-le")) == [("a", []), "ц", ("a",)]
    assert told("<?xml version='1.0' encoding='utf-16'?><a>ц</a>".encode("utf-16")) == [("a", []), "ц", ("a",)]


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ["1:1 HX1002"]),
        ("  \n ", ["2:2 HX1002"]),
        ("<a", ["1:1 HX1002"]),
        ("<a>", ["1:4 HX1002"]),
        ("<a></b>", ["1:6 HX1002"]),
        ("<?xml version='1.0'?><a></b>", ["1:27 HX1002"]),
        ("<?xml version='1.0' standalone='no'?><a></b>", ["1:43 HX1002"]),
        ("<?xml version='1.0'\n?><a>\n</b>", ["3:3 HX1002"]),
        ("<a/>x", ["1:5 HX1002"]),
        (" <?xml version='1.0'?><a/>", ["1:2 HX1002"]),
        ("<a b='1' b='2'/>", ["1:10 HX1002"]),
        ("<a>\x01</a>", ["1:4 HX1002"]),
        ("<a>&#0;</a>", ["1:4 HX1002"]),
        ("<a>]]></a>", ["1:6 HX1002"]),
        ("<a>&e;</a>", ["1:4 HX1005"]),
        ("<!DOCTYPE a SYSTEM 'x'>\n<a>&e;</a>", ["2:4 HX1005"]),
        ("<!DOCTYPE a SYSTEM 'x'>\n<a b='&e;'/>", ["2:1 HX1005"]),
        ("<!DOCTYPE a [<!ENTITY % p '<!ENTITY e \"x\">'>\n%p;]><a>&e;</a>", ["2:1 HX1005"]),
        ("<!DOCTYPE a [\n%p;]><a/>", ["2:1 HX1005"]),
        ("<!DOCTYPE a [<!ENTITY e SYSTEM 'x'>\n<!ENTITY % f PUBLIC 'p' 'y'>]><a/>", ["1:35 HX1004", "2:28 HX1004"]),
        ("<!DOCTYPE a [<!ENTITY e '&e;'>]><a>&e;</a>", ["1:36 HX1006"]),
    ],
)
def test_refusals_have_positions(text: str, faults: list[str]) -> None:
    assert refusal(text.encode()) == faults
    codes = [fault.split()[1] for fault in faults]
    with pytest.raises(InputError) as caught:
        parse_document(text.encode())
    assert [fault.code for fault in caught.value.faults] == codes


@pytest.mark.parametrize(
    "data",
    [
        b"<a>\xff</a>",
        b"<a>\xed\xa0\x80</a>",
        b"<?xml version='1.0' encoding='us-ascii'?><a>\xc3\xa9</a>",
        b"<?xml version='1.0' encoding='shift_jis'?><a>\x82\xa0</a>",
        b"<?xml version='1.0' encoding='none'?><a/>",
    ],
)
def test_encodings_that_are_not_kept(data: bytes) -> None:
    assert [fault.split()[1] for fault in refusal(data)] == ["HX1003"]


def test_an_excerpt_shows_the_line() -> None:
    with pytest.raises(InputError) as caught:
        told(b"<?xml version='1.0'?>\n<a>\n  <b>\xc3\xa9</c>\n</a>")
    assert caught.value.faults[0].excerpt == "<b>\u00e9</c>"


def test_a_source_that_fails() -> None:
    class Failing(io.BytesIO):
        def read(self, _size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(InputError, match="HX1001 cannot be read: Input/output error"):
        told(b"", Failing)


# -- limits ------------------------------------------------------------------------------------------------------


def test_a_document_has_a_size() -> None:
    assert told(b"<a>123</a>", maximum_size=10)
    with pytest.raises(InputError, match="HX1006 has more than 9 bytes"):
        told(b"<a>123</a>", maximum_size=9)


@pytest.mark.parametrize("text", ["<a b='{}'/>", "<a><!--{}--></a>", "<a><?p {}?></a>"])
def test_a_tag_has_a_size(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MAXIMUM_TAG", 600_000)
    assert told(text.format("x" * 500_000).encode())
    assert [fault.split()[1] for fault in refusal(text.format("x" * 2_000_000).encode())] == ["HX1006"]


TENFOLD = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(9))


@pytest.mark.parametrize(
    "text",
    [
        f"<!DOCTYPE a [<!ENTITY e0 '0123456789'>{TENFOLD}]><a>&e9;</a>",
        f"<!DOCTYPE a [<!ENTITY e0 '0123456789'>{TENFOLD}]><a b='&e9;'/>",
        f"<!DOCTYPE a [<!ENTITY e0 '<b/>'>{TENFOLD}]><a>&e9;</a>",
        f"<!DOCTYPE a [<!ENTITY e '{'x' * 100_000}'>]><a>{'&e;' * 1000}</a>",
        f"<!DOCTYPE a [<!ATTLIST b c CDATA '{'x' * 1000}'>]><a>{'<b/>' * 100_000}</a>",
    ],
)
def test_entities_and_defaults_come_to_a_limited_length(text: str) -> None:
    assert [fault.split()[1] for fault in refusal(text.encode())] == ["HX1006"]


def test_entities_come_to_a_million_characters() -> None:
    text = f"<!DOCTYPE a [<!ENTITY e '{'x' * 1000}'>]><a>{'&e;' * 990}</a>"
    assert told(text.encode()) == [("a", []), "x" * 990_000, ("a",)]
