"""What documents have besides their text in the one form: comments, processing instructions, and names as they were.

The text and the relations know nothing of it, so no query finds anything else for it. It is put back in place where an
element, or a document, is given back whole. Most documents have nothing of the kind.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final

from heptox.store.written_names import DECLARES, Declaring, Leaves, WrittenNames
from heptox.xml import XmlReader, value_prefixes

WHOLE: Final = -1
"""The place of what is true of a whole document."""
_NAME: Final = re.compile(rb"<([^\s/<>]+)")


@dataclass(frozen=True, slots=True)
class Aside:
    """A comment or an instruction, which stands before a byte of the text; or what is to be said of the tag that begins
    there, or of all tags of the document: how names are written, as JSON.

    ``leaf`` is the name of the element that it is in, where that has no elements inside.
    """

    place: int
    data: str
    leaf: str = ""

    @property
    def is_markup(self) -> bool:
        return self.data.startswith("<")


class Spelling:
    """Learns how the names of a document are written that is read with its prefixes.

    Names are usually written as they were first. ``other`` are those of the tag at hand that are not.
    """

    def __init__(self, written: WrittenNames, reader: XmlReader) -> None:
        self.other: dict[str, str] = {}
        self._written = written
        self._reader = reader
        self._usual: dict[str, str] = {}
        self._usual_attributes: dict[str, str] = {}
        self._spelt: dict[str, str] = {}
        self._keeps_prefixes = False

    def value(self, value: str) -> None:
        """Learn which prefixes a value in the tag at hand, or the text right behind it, uses: what a prefix stands for
        there is kept, but where the schema says the same."""
        for prefix in value_prefixes(value):
            namespace = self._reader.namespace(prefix)
            if namespace is None:
                continue
            if prefix in self._reader.rebound:
                self.other[f"{DECLARES}{prefix}"] = namespace
            if prefix in self._reader.rebound or self._written.prefixes.namespaces.get(prefix) != namespace:
                self._keeps_prefixes = True

    def name(self, name: str, *, taken: bool) -> str:
        """The written name of an element; a part of the document may have been ``taken`` as it stood before."""
        found = self._usual.get(name)
        return self._learnt(name, "", self._usual, taken=taken) if found is None else found

    def attributes(self, attributes: list[str], *, taken: bool) -> list[str]:
        """The attributes of a tag (name, value, name, value and so on)."""
        if any(name[:1] == "{" for name in attributes[::2]):
            known = self._usual_attributes
            attributes[::2] = [
                known.get(name) or (self._learnt(name, "@", known, taken=taken) if name[:1] == "{" else name)
                for name in attributes[::2]
            ]
        return attributes

    def took(self, names: Iterable[str], prefix: str) -> bool:
        """Learn that elements with these names stood without a prefix in a piece that is taken with it; whether that is
        how they are written elsewhere."""
        spelt = {name: name.removeprefix(prefix) for name in names}
        if any(self._spelt.get(name, own) != own for name, own in spelt.items()):
            return False
        self._spelt.update(spelt)
        return True

    def _learnt(self, name: str, sign: str, usual: dict[str, str], *, taken: bool) -> str:
        expanded, prefix = _expanded(name)
        written = self._written.attribute(expanded) if sign else self._written.name(expanded)
        local = expanded.rpartition("}")[2]
        spelt = f"{prefix}:{local}" if prefix else local
        if self._spelt.setdefault(f"{sign}{written}", written if taken else spelt) == spelt:
            usual[name] = written
        else:
            self.other[f"{sign}{written}"] = spelt
            self._keeps_prefixes = True
        return written

    def end(self, name: str) -> str:
        """The written name of an element that ends."""
        return self._usual.get(name) or self._written.name(_expanded(name)[0])

    def aside(self) -> Aside | None:
        """How names are written in all of the document."""
        spelt = {name: own for name, own in self._spelt.items() if own != name.removeprefix("@")}
        if not spelt and not self._keeps_prefixes:
            return None
        return Aside(WHOLE, json.dumps({"names": spelt, "prefixes": self._reader.bound_at_root}))


def _expanded(name: str) -> tuple[str, str]:
    """The expanded name, and the prefix that it is read with."""
    head, parts, prefix = name.rpartition("}")
    return (head, prefix) if parts and "}" in head else (name, "")


class Asides:
    """What one document has besides its text, by the places in that."""

    def __init__(self, asides: Iterable[Aside], names: WrittenNames) -> None:
        found = list(asides)
        whole: dict[str, Any] = {}
        for aside in found:
            if aside.place == WHOLE:
                whole |= json.loads(aside.data)
        self._spelt: dict[str, str] = whole.get("names", {})
        self._prefixes: dict[str, str] = whole.get("prefixes", {})
        self._names = names
        known = names.prefixes.namespaces
        others = (prefix for prefix, uri in self._prefixes.items() if prefix and known.get(prefix) != uri)
        self._signs = (*(name.removeprefix("@") for name in self._spelt), *(f"{prefix}:" for prefix in others))
        self._placed: Sequence[Aside] = [aside for aside in found if aside.place != WHOLE]
        self._places = [aside.place for aside in self._placed]
        self._renames = "names" in whole or not all(aside.is_markup for aside in self._placed)
        self.prefixes = frozenset(self._prefixes)
        """The prefixes that all of it may use in values, where they may be others than those of the schema."""
        self.spelt = frozenset(self._spelt)
        """The written names that the document spells otherwise."""
        self.instance = frozenset[str](whole.get("instance", ()))
        """The elements that have attributes besides those of the schema."""
        self._rewritten = Leaves(lambda text: self._whole(text.encode(), [], 0))
        self.leaves = frozenset(aside.leaf for aside in self._placed if aside.leaf) | self.instance
        """The elements without elements inside that have something besides their text."""

    def leaf(self, text: str) -> str:
        """An element whose name is none of ``leaves``, by its text in the one form."""
        return self._rewritten.rewritten(text) if self._has_sign(text) else text

    def element(self, text: str, node: int) -> str:
        """An element as it stood in the document, which is in the text from ``node`` on."""
        data = text.encode()
        stop = node + len(data)
        inside = [
            aside
            for aside in self._placed[bisect_left(self._places, node) : bisect_left(self._places, stop)]
            if aside.place > node or not aside.is_markup
        ]
        return self._whole(data, inside, node) if inside or self._has_sign(text) else text

    def document(self, text: str, *, splitting: bool) -> str:
        """All of a document; with what stands in a text, and makes two of it, only if that may be ``splitting``."""
        data = text.encode()
        kept = [aside for aside in self._placed if splitting or not _splits(data, aside)]
        return self._whole(data, kept, 0)

    def spellings(self, name: str) -> frozenset[str]:
        """All the ways in which a written name is written in the document; with ``@`` in front for an attribute."""
        others = [json.loads(aside.data) for aside in self._placed if not aside.is_markup]
        usual = self._spelt.get(name, name.removeprefix("@"))
        return frozenset([usual, *(other[name] for other in others if name in other)])

    def _has_sign(self, text: str) -> bool:
        """Whether something in a text may be written, or mean, otherwise than the schema says."""
        return any(sign in text for sign in self._signs)

    def _whole(self, data: bytes, inside: Sequence[Aside], node: int) -> str:
        parts = _parts(data, inside, node)
        if not self._renames:
            return "".join(markup or text for text, markup, _ in parts)
        text = data.decode()
        first = {prefix: uri for prefix, uri in self._prefixes.items() if prefix and f"{prefix}:" in text}
        declaring = Declaring(self._names.prefixes.namespaces, self._spelt, first)
        return "".join(markup or declaring.text(text, names) for text, markup, names in parts)


def instance_aside(names: Sequence[str]) -> Aside:
    """That elements with these names have attributes which no relation has, in a document whose text has them."""
    return Aside(WHOLE, json.dumps({"instance": names}))


def _parts(data: bytes, asides: Sequence[Aside], node: int) -> Iterator[tuple[str, str, dict[str, str]]]:
    """The parts of a text: each is text whose first tag may have names of its own, or is markup that stands beside."""
    begin = 0
    names: dict[str, str] = {}
    for place, found in groupby(asides, key=lambda aside: aside.place - node):
        part = data[begin:place].decode()
        here = list(found)
        markup: list[tuple[str, str, dict[str, str]]] = [("", aside.data, {}) for aside in here if aside.is_markup]
        if markup and data[place : place + 2] == b"/>":  # they stand in an element that has nothing else
            yield f"{part}>", "", names
            yield from markup
            yield f"</{_name_of_tag(data, data.rfind(b'<', 0, place))}>", "", {}
            begin, names = place + 2, {}
        else:
            yield part, "", names
            yield from markup
            begin, names = place, {}
            for aside in here:
                names |= {} if aside.is_markup else json.loads(aside.data)
    yield data[begin:].decode(), "", names


def leaf_of(text: bytes, aside: Aside, place: int) -> str:
    """The name of the element around a place of a text, or that begins there, if it is one without elements inside;
    else nothing."""
    before = place if not aside.is_markup else text.rfind(b"<", 0, place)
    if before < 0 or text[before + 1 : before + 2] == b"/":
        return ""
    end = text.find(b">", before)
    if end < place and text[end - 1 : end] == b"/":
        return ""  # it has ended
    after = text.find(b"<", max(end, place))
    is_leaf = text[end - 1 : end] == b"/" or text[after + 1 : after + 2] == b"/"
    return _name_of_tag(text, before) if is_leaf else ""


def _name_of_tag(text: bytes, begin: int) -> str:
    found = _NAME.match(text, begin)
    return found[1].decode() if found else ""


def _splits(data: bytes, aside: Aside) -> bool:
    """Whether it stands between two texts."""
    before, after = data[: aside.place][-1:], data[aside.place : aside.place + 2]
    return aside.is_markup and before not in (b"", b">") and after[:1] not in (b"", b"<") and after != b"/>"
