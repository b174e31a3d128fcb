"""What a document holds beside elements, attributes and text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from xml.parsers import expat

_BARE_ENCODINGS: Final = frozenset({"utf-8", "utf-16", "us-ascii", "iso-8859-1"})
"""Those in which all readers of XML see the same text."""


class _BesideError(Exception):
    """Something stands beside the content of a document."""


def beside_content(data: bytes) -> str | None:
    """What the bytes of a document hold besides its elements, their attributes and text, with its line; ``None`` for
    nothing.

    That is a comment, a processing instruction, a DOCTYPE, or an XML declaration from which readers may make different
    texts; in what is not well-formed anything may stand.

    >>> beside_content(b"<a>x</a>"), beside_content(b"<a>\\n<!-- c --></a>"), beside_content(b"<!DOCTYPE a><a/>")
    (None, 'line 2: a comment', 'line 1: a DOCTYPE')
    """
    parser = expat.ParserCreate()

    def found(what: str) -> Callable[..., None]:
        def stop(*_: object) -> None:
            raise _BesideError(what)

        return stop

    def declared(version: str, encoding: str | None, _standalone: int) -> None:
        if version != "1.0" or (encoding or "utf-8").lower() not in _BARE_ENCODINGS:
            raise _BesideError("an XML declaration of another version or encoding than most read")

    parser.XmlDeclHandler = declared
    parser.CommentHandler = found("a comment")
    parser.ProcessingInstructionHandler = found("a processing instruction")
    parser.StartDoctypeDeclHandler = found("a DOCTYPE")
    try:
        parser.Parse(data, True)
    except _BesideError as beside:
        return f"line {parser.CurrentLineNumber}: {beside}"
    except (expat.ExpatError, LookupError, ValueError) as error:
        return f"line {parser.CurrentLineNumber}: what is not well-formed: {error}"
    return None


def is_element(text: str) -> bool:
    """Whether a text is one element, with well-formed names in namespaces that it declares, and nothing beside it.

    >>> is_element("<p:a xmlns:p='urn:p'>1</p:a>")
    True
    >>> [is_element(text) for text in ("<p:a/>", "<a/><b/>", "<!DOCTYPE a><a/>", "<a/><!-- -->", "a")]
    [False, False, False, False, False]
    """
    if text[:1] != "<" or text[1:2] in ("!", "?") or not text.endswith(">") or text.endswith(("-->", "?>")):
        return False
    try:
        expat.ParserCreate(None, _SEPARATOR, None).Parse(text, True)  # no table of names is kept
    except (expat.ExpatError, ValueError):
        return False
    return True


_SEPARATOR: Final = "\f"
"""What no name and no namespace has in it."""
