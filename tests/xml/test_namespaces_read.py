"""Names in namespaces while a document is read, however few bytes come at a time."""

from __future__ import annotations

from io import BytesIO

import pytest

from heptox.xml import XmlReader


class _Slow:
    """A source that gives so many bytes at a time."""

    def __init__(self, data: bytes, size: int) -> None:
        self._source = BytesIO(data)
        self._size = size

    def read(self, _: int, /) -> bytes:
        return self._source.read(self._size)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 8, 9, 64])
@pytest.mark.parametrize(
    ("document", "names"),
    [
        (b"<a>" + b"x" * 2000 + b"<b xmlns='u'/><c p:d='1' xmlns:p='v'/></a>", ["a", "{u}b", "c", "{v}d"]),
        (
            b"<a>" + b" " * 1500 + b"<b xml:lang='e'/></a>",
            ["a", "b", "{http://www.w3.org/XML/1998/namespace}lang"],
        ),
    ],
)
def test_names_are_expanded_wherever_blocks_end(document: bytes, names: list[str], size: int) -> None:
    found: list[str] = []

    def start(name: str, attributes: list[str]) -> None:
        found.extend((name, *attributes[::2]))

    for _ in XmlReader(_Slow(document, size)).read(start, lambda _: None, lambda _: None, at_once=size):
        pass
    assert found == names
