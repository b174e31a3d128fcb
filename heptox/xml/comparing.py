"""What an element is, whichever prefixes, comments and instructions it is written with."""

from __future__ import annotations

from typing import Final
from xml.parsers import expat

from heptox.xml.writing import escaped_text, start_tag

_SIGNS: Final = ("xmlns", "<!", "<?", "&#", "&quot;", "&apos;")
"""One of these stands in an element that can be written in another way, by those that write as heptox does."""


def comparable_text(text: str) -> str:
    """The same text for elements that differ in nothing but their prefixes, comments and instructions; any other text
    as it is.

    >>> comparable_text('<p:a xmlns:p="u">x<!-- c -->y</p:a>') == comparable_text('<a xmlns="u">xy</a>')
    True
    >>> comparable_text("<a><?p?><b/></a>"), comparable_text('"<?p?>"')
    ('<a><b/></a>', '"<?p?>"')
    """
    if not text.startswith("<") or not any(sign in text for sign in _SIGNS) or "<!DOCTYPE" in text:
        return text
    parts: list[str] = []
    written: list[str] = []

    def write_texts() -> None:
        parts.append(escaped_text("".join(written)))
        written.clear()

    def start(name: str, attributes: list[str]) -> None:
        write_texts()
        parts.append(start_tag(name, attributes))

    def end(name: str) -> None:
        write_texts()
        if parts[-1] == "" and parts[-2].startswith(f"<{name}") and not parts[-2].endswith("/>"):
            parts[-2] = f"{parts[-2][:-1]}/>"
        else:
            parts.append(f"</{name}>")

    parser = expat.ParserCreate(None, "}", None)
    parser.ordered_attributes = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, written.append
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except (expat.ExpatError, ValueError):
        return text
    return "".join(parts)
