"""One document written in many ways: what it means stays, and nothing else does."""

from __future__ import annotations

import codecs
import re
from collections import defaultdict
from random import Random
from typing import Final

from heptox.xml import XmlElement, parse_document

_NOTES: Final = (
    "<!---->", "<!-- c -->", "<!-- <a>1</a> & -->", "<!--</a>-->", "<!-- ]]> [ -->", "<!--\n-->", "<?p?>", "<?p q?>",
    "<?p <a x='1'> ?>", "<?p </b>\n?>", "<!--'-->", '<!--"-->',
)  # fmt: skip
"""Comments and processing instructions, some with what looks like markup."""
_SPACES: Final = (" ", " ", "\n", "\t", "  ", " \n ")
_OUTER: Final = ("", "", "\n", " ")


_MARKS: Final = {"utf-16-le": codecs.BOM_UTF16_LE, "utf-16-be": codecs.BOM_UTF16_BE}


def respell(random: Random, text: str) -> bytes:
    """A document in another spelling, and perhaps another encoding; ``parse_document`` reads the same of both.

    Attributes may come in another order. What an internal subset of it declares stays declared.

    >>> from random import Random
    >>> respell(Random(2), "<a>x</a>") != b"<a>x</a>"
    True
    """
    document = parse_document(text)
    return _Speller(random, document.internal_subset or "").document(document.root)


class _Speller:
    """The ways of one document: some do much with it, some little."""

    def __init__(self, random: Random, subset: str) -> None:
        self.random = random
        self.subset = subset
        self.density = random.choice((0.0, 0.05, 0.2, 0.5))
        self.declares = bool(subset) or random.random() < 0.5
        self.entities: dict[str, str] = {}
        self.defaults: dict[tuple[str, str], str] = {}
        self.encoding = random.choice(("utf-8", "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "iso-8859-1"))

    def document(self, root: XmlElement) -> bytes:
        if self.encoding == "iso-8859-1" and not _has_latin_markup(root, self.subset):
            self.encoding = "utf-8"
        if self.declares:
            self.defaults = self._random_defaults(root)
        body = self._element(root)
        parts = [self._declaration(), self._outer(), self._document_type(root), body, self._outer()]
        text = "".join(parts)
        text = text.replace("\n", self.random.choice(("\n", "\n", "\r\n", "\r")))
        return _MARKS.get(self.encoding, b"") + text.encode(self.encoding)

    def often(self) -> bool:
        return self.random.random() < self.density

    # -- prolog

    def _declaration(self) -> str:
        quote = self.random.choice("'\"")
        start = f"<?xml version={quote}1.0{quote}"
        if self.encoding == "iso-8859-1":
            return f"{start} encoding={quote}{self.random.choice(('ISO-8859-1', 'iso-8859-1'))}{quote}?>"
        name = "UTF-16" if self.encoding.startswith("utf-16") else self.random.choice(("UTF-8", "utf-8"))
        return self.random.choice(("", f"{start}?>", f"{start} encoding={quote}{name}{quote} ?>"))

    def _outer(self) -> str:
        return "".join(self.random.choice(_OUTER) + note for note in self._notes()) + self.random.choice(_OUTER)

    def _notes(self) -> list[str]:
        return [self.random.choice(_NOTES)] * self.often() + [self.random.choice(_NOTES)] * self.often()

    def _document_type(self, root: XmlElement) -> str:
        if not self.declares:
            return ""
        declared = [self.subset]
        for name, value in self.entities.items():
            declared += (f'<!ENTITY {name} "{_embedded(value)}">', *self._notes())
        for (element, name), value in self.defaults.items():
            fixed = self.random.choice(("", "#FIXED ")) if self._is_always(root, element, name, value) else ""
            declared += (f"<!ATTLIST {element} {name} CDATA {fixed}{self._value(value, plain=True)}>", *self._notes())
        place = self.random.choice(("", "", " SYSTEM 'none.dtd'", ' PUBLIC "-//N//N" "none.dtd"'))
        before, behind = self.random.choice(_OUTER), self.random.choice(_OUTER)
        return f"<!DOCTYPE {root.tag}{place} [{before}{''.join(declared)}]{behind}>\n"

    def _random_defaults(self, root: XmlElement) -> dict[tuple[str, str], str]:
        """Attributes that all elements of a type have, with a value of one of them."""
        values: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        elements: defaultdict[str, int] = defaultdict(int)
        for element in root.iter():
            elements[str(element.tag)] += 1
            for name, value in element.attrib.items():
                values[str(element.tag), str(name)].append(str(value))
        return {
            key: self.random.choice(found)
            for key, found in values.items()
            if len(found) == elements[key[0]] and self.random.random() < 0.5 and not self._is_declared(*key)
        }

    def _is_declared(self, element: str, name: str) -> bool:
        return re.search(rf"<!ATTLIST\s+{re.escape(element)}\s[^>]*\b{re.escape(name)}\s", self.subset) is not None

    @staticmethod
    def _is_always(root: XmlElement, tag: str, name: str, value: str) -> bool:
        return all(element.get(name) == value for element in root.iter(tag))

    # -- elements

    def _element(self, element: XmlElement) -> str:
        start = f"<{element.tag}{self._attributes(element)}{self._blank()}"
        content = self._content(element)
        if not content and self.random.random() < 0.5:
            return f"{start}/>"
        if not content and self.often():
            content = self.random.choice((*_NOTES, "<![CDATA[]]>"))
        return f"{start}>{content}</{element.tag}{self._blank()}>"

    def _blank(self) -> str:
        return self.random.choice(_SPACES) if self.often() else ""

    def _content(self, element: XmlElement) -> str:
        pieces = [*self._text(element.text or "")]
        for child in element:
            pieces.append(self._element(child))
            pieces += self._text(child.tail or "")
        if self.declares and len(pieces) > 0 and self.random.random() < self.density / 2:
            begin = self.random.randrange(len(pieces))
            end = self.random.randint(begin, len(pieces))
            pieces[begin:end] = [self._entity("".join(pieces[begin:end]))]
        return "".join(pieces)

    def _entity(self, replacement: str) -> str:
        """A reference to an entity, declared here or before."""
        known = [name for name, value in self.entities.items() if value == replacement]
        name = known[0] if known else f"n{len(self.entities)}.\u00e9"
        self.entities[name] = replacement
        return f"&{name};"

    # -- text

    def _text(self, text: str) -> list[str]:
        """Pieces of text, with notes between them."""
        pieces = self._notes() if self.often() else []
        while text:
            length = self.random.randint(1, len(text)) if self.often() else len(text)
            pieces.append(self._piece(text[:length]))
            pieces += self._notes()
            text = text[length:]
        return pieces

    def _piece(self, text: str) -> str:
        kind = self.random.randrange(4) if self.often() else 0
        if kind == 1 and "]]>" not in text and "\r" not in text and self._fits(text):
            return f"<![CDATA[{text}]]>"
        if kind == 2:
            return "".join(map(self._reference, text))
        escaped = "".join(map(self._character, text)).replace("]]>", "]]&gt;")
        return self._entity(escaped) if kind == 3 and self.declares else escaped

    def _character(self, character: str) -> str:
        if character in _NAMED and character != ">":
            return _NAMED[character] if self.random.random() < 0.5 else self._reference(character)
        if character == "\r" or not self._fits(character):
            return self._reference(character)
        return character

    def _reference(self, character: str) -> str:
        return self.random.choice((f"&#{ord(character)};", f"&#x{ord(character):x};", f"&#x{ord(character):04X};"))

    def _fits(self, text: str) -> bool:
        return self.encoding != "iso-8859-1" or all(ord(character) < 0x100 for character in text)

    # -- attributes

    def _attributes(self, element: XmlElement) -> str:
        pairs = [(str(name), str(value)) for name, value in element.attrib.items()]
        if self.often():
            self.random.shuffle(pairs)
        parts = []
        for name, value in pairs:
            if self.defaults.get((str(element.tag), name)) == value and self.random.random() < 0.7:
                continue
            equals = f"{self._blank()}={self._blank()}"
            parts.append(f"{self.random.choice(_SPACES) if self.often() else ' '}{name}{equals}{self._value(value)}")
        return "".join(parts)

    def _value(self, value: str, *, plain: bool = False) -> str:
        """A quoted value, ``plain`` without entities."""
        quote = self.random.choice("'\"")
        parts = []
        for character in value:
            if character == " " and self.often():
                parts.append(self.random.choice(" \n\t"))
            elif character in "\n\t\r" or character == quote:
                parts.append(self._reference(character))
            else:
                parts.append(self._reference(character) if self.often() else self._character_of_value(character))
        # libxml2 makes two spaces of CR LF in an entity, where an attribute refers to it
        if self.declares and not plain and "\n" not in parts and self.random.random() < self.density:
            return quote + self._entity("".join(parts)) + quote
        return quote + "".join(parts) + quote

    def _character_of_value(self, character: str) -> str:
        return character if character in "'\">" else self._character(character)


_NAMED: Final = {"<": "&lt;", "&": "&amp;", ">": "&gt;", "'": "&apos;", '"': "&quot;"}


def _embedded(replacement: str) -> str:
    """What an entity's declaration has in quotation marks, so that a reference stands for the replacement exactly."""
    return replacement.replace("&", "&#38;").replace("%", "&#37;").replace('"', "&#34;")


def _has_latin_markup(root: XmlElement, subset: str) -> bool:
    names = [subset, *(name for element in root.iter() for name in (str(element.tag), *map(str, element.attrib)))]
    return all(ord(character) < 0x100 for name in names for character in name)
