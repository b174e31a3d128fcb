"""Documents of feeds are parsed once, whatever comes of it."""

from __future__ import annotations

import pytest

from heptox.errors import InputError
from heptox.feed import FeedDocument, messages
from heptox.xml import Document, parse_document


@pytest.mark.parametrize(("data", "code"), [(b"<a/>", None), (b"<a>", "HX1002")])
def test_a_document_is_parsed_once(data: bytes, code: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []

    def counting(text: bytes, file: str, *, most_nodes: int) -> Document:
        parsed.append(file)
        return parse_document(
            text,
            file,
            most_nodes=most_nodes,
        )

    monkeypatch.setattr(messages, "parse_document", counting)
    document = FeedDocument("P", "feed", 1, "a.xml", "id", data)
    for _ in range(2):
        try:
            assert document.parsed.root.tag == "a"
            assert code is None
        except InputError as error:
            assert [fault.code for fault in error.faults] == [code]
    assert parsed == ["a.xml"]
