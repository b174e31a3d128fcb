"""Documents written anew in **one form** while they are read: that in which answers are written.

It is ``<a x="1">text</a>``, ``<a/>`` where nothing is inside, attributes as they come and then those that the schema
gives a default; no comments, instructions, CDATA sections, declarations, and no entities but those that XML needs, in
UTF-8. What is not in it is kept besides (see :mod:`asides <heptox.store.asides>`). Most documents are in it already for
the most part. Such pieces are recognised by their :mod:`markup <heptox.store.markup>`, all tags at once, and taken as
they stand; the others are written tag by tag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from heptox.errors import Fault, InputError
from heptox.schema import AttributeType, SchemaGraph, amended, tokens
from heptox.store.asides import Aside, Spelling, leaf_of
from heptox.store.markup import EMPTY, END, START, Markup, Names, markup, slices
from heptox.store.places import NOWHERE, Numbers, Table
from heptox.store.relations import Catalogue
from heptox.store.text import escaped_attribute, escaped_text
from heptox.store.written_names import WrittenNames
from heptox.xml import XmlReader, end_of_last_element

MAXIMUM_DEPTH: Final = 1_000_000
"""How deep elements may be nested."""

_WRITTEN_ANEW: Final = (b"\r", b"\x7f")
"""What an answer never holds: it is written as a reference. So are these, beyond ASCII."""
_LINE_SEPARATOR: Final = "\N{LINE SEPARATOR}".encode()
_CONTROL: Final = re.compile(rb"\xc2[\x80-\x9f]")
_REFERENCES: Final = (b"&amp;", b"&lt;", b"&gt;")


class Form:
    """The form of the documents of a schema: the names that are known, and what is to be done with attributes."""

    def __init__(
        self,
        schema: SchemaGraph | None,
        names: Names,
        written: WrittenNames,
        instance: frozenset[str] = frozenset(),
    ) -> None:
        """``instance`` are attributes that any element may have."""
        elements = {} if schema is None else schema.elements
        changed = {} if schema is None else amended(schema)
        self.names = names
        self.written = written
        self.elements = frozenset(elements)
        self.declared = {
            name: frozenset(each.name for each in element.attributes) for name, element in elements.items()
        }
        self.tokenised = {
            name: frozenset(each.name for each in changed.get(name, ()) if each.type != AttributeType.CDATA)
            for name in elements
        }
        self.defaults = {
            name: [
                (each.name, each.normalised(each.default)) for each in changed.get(name, ()) if each.default is not None
            ]
            for name in elements
        }
        pairs = [
            (names.types[name], names.attributes[attribute], name, attribute)
            for name, attributes in self.declared.items()
            for attribute in attributes | instance
        ]
        width = max(1, len(names.attributes))
        self._known = Table({(kind, attribute): 0 for kind, attribute, _, _ in pairs}, width)
        self._tokenised = Table(
            {(kind, number): 0 for kind, number, name, attribute in pairs if attribute in self.tokenised[name]}, width
        )
        self._default = Table(
            {(kind, number): 0 for kind, number, name, attribute in pairs if attribute in dict(self.defaults[name])},
            width,
        )
        self._defaults = np.array([len(self.defaults[name]) for name in elements], np.int64)

    @classmethod
    def of(cls, catalogue: Catalogue, names: Names) -> Form:
        """The form of the documents of a store."""
        return cls(catalogue.graph, names, catalogue.names, catalogue.instance)

    def recognised(self, piece: bytes) -> Markup | None:
        """The markup of a piece of a document, without white space that tags need not have, if it is in the form.

        ``None`` also for some pieces that are. A piece that is not well-formed may be taken for one that is.
        """
        if any(part in piece for part in _WRITTEN_ANEW):
            return None
        if not piece.isascii() and (_LINE_SEPARATOR in piece or _CONTROL.search(piece)):
            return None
        characters = np.frombuffer(piece, np.uint8)
        if not _are_references(characters):
            return None
        # where a ">" that ends no tag stands, there is no markup, so these end tags and nothing else
        if ((characters[:-2] == ord(" ")) & (characters[1:-1] == ord("/")) & (characters[2:] == ord(">"))).any():
            piece = piece.replace(b" />", b"/>")
        found = markup(piece, self.names)
        if found is None or (found.types == NOWHERE).any():
            return None
        found = self._with_empty_tags(found)
        return found if self._has_its_attributes(found) else None

    def _with_empty_tags(self, found: Markup) -> Markup:
        """The markup with one tag for each element that has nothing inside."""
        pairs = (found.kinds[:-1] == START) & (found.kinds[1:] == END) & (found.begins[1:] == found.ends[:-1] + 1)
        if not pairs.any():
            return found
        characters = np.frombuffer(found.text, np.uint8).copy()
        characters[found.ends[:-1][pairs]] = ord("/")
        dropped = np.zeros(len(characters), np.int8)
        dropped[found.begins[1:][pairs]] = 1
        dropped[found.ends[1:][pairs]] = -1
        kept = np.cumsum(dropped, dtype=np.int8) == 0
        again = markup(characters[kept].tobytes(), self.names)
        assert again is not None  # the tags are the same but for these
        return again

    def _has_its_attributes(self, found: Markup) -> bool:
        """Whether attributes are declared, none is missing that has a default, and values are normalised."""
        attributes = found.attributes
        types = found.types[attributes.tags]
        if (attributes.names == NOWHERE).any() or (self._known(types, attributes.names) == NOWHERE).any():
            return False
        given = np.count_nonzero(self._default(types, attributes.names) != NOWHERE)
        if given != self._defaults[found.types[found.kinds >= EMPTY]].sum():
            return False
        several = self._tokenised(types, attributes.names) != NOWHERE
        tokens = self._are_tokens(found.text, attributes.begins[several], attributes.ends[several])
        return tokens and self._is_normalised(found)

    def _is_normalised(self, found: Markup) -> bool:
        """Whether the values of attributes have no white space but spaces."""
        attributes = found.attributes
        if not len(attributes.tags) or not (b"\n" in found.text or b"\t" in found.text):
            return True
        characters = np.frombuffer(found.text, np.uint8)
        white = np.flatnonzero((characters == ord("\n")) | (characters == ord("\t")))
        return bool((np.searchsorted(white, attributes.begins) == np.searchsorted(white, attributes.ends)).all())

    def _are_tokens(self, text: bytes, begins: Numbers, ends: Numbers) -> bool:
        if not len(begins):
            return True
        values = slices(text, begins, ends)
        spaced = values.filter(pc.match_substring(values, b" ")).to_pylist()
        return all(tokens(value) == value for value in (value.decode(errors="replace") for value in spaced))


def _are_references(characters: npt.NDArray[np.uint8]) -> bool:
    """Whether each ampersand begins a reference that answers have."""
    at = np.flatnonzero(characters == ord("&"))
    found = np.zeros(len(at), np.bool_)
    for reference in _REFERENCES:
        matches = [characters.take(at + place, mode="clip") == byte for place, byte in enumerate(reference)]
        found |= np.logical_and.reduce(matches)
    return bool(found.all())


@dataclass(frozen=True, slots=True)
class _Noted:
    """An aside that comes after so many pieces; the last of them may be the tag of the element that it is in."""

    pieces: int
    data: str
    inside: bool


class CanonicalReader:
    """Reads one document, and gives it back in the one form.

    ``keeps_asides`` says whether it tells what it leaves out, for which the reader has to keep prefixes.
    """

    def __init__(self, form: Form, reader: XmlReader, *, keeps_asides: bool = False) -> None:
        self.asides: list[Aside] = []
        """What was left out of the blocks so far, in order; of the whole document, once all blocks have come."""
        self._form = form
        self._reader = reader
        self._keeps_asides = keeps_asides
        self._spelling = Spelling(form.written, reader)
        self._noted: list[_Noted] = []
        self._waiting_asides: list[Aside] = []
        self._length = 0
        self._blocks_length = 0
        self._pieces: list[str] = []
        self._open = False
        self._taken: Markup | None = None
        self._waiting: list[bytes] = []
        self._depth = 0
        self.taken = 0
        """How many bytes of the document were taken as they stood."""

    def blocks(self) -> Iterator[Markup]:
        """Read on, block by block, each of which ends where an element does.

        Raises :class:`InputError` as :meth:`XmlReader.read`, and HX1006 when elements are nested deeper than
        :data:`MAXIMUM_DEPTH`.
        """
        for _ in self._reader.read(*self._handlers(), self._take, aside=self._note if self._keeps_asides else None):
            taken, self._taken = self._taken, None
            block = taken if taken is not None and not self._waiting else self._cut(taken)
            if block is not None:
                self._check_depth(block)
                self._settle(block.text)
                yield block
        self._settle(b"", last=True)

    def whole(self) -> bytes:
        """All of the document's text at once, tag by tag: the fastest way to read one of some kilobytes.

        How deep elements are nested is not looked at. Raises :class:`InputError` as :meth:`XmlReader.read`.
        """
        for _ in self._reader.read(*self._handlers()):
            pass
        return self._written()

    def _take(self, piece: bytes) -> bool:
        """Take a piece as it stands, but for prefixes."""
        if self._open and piece.startswith(b"</"):
            return False
        self._taken = self._recognised(piece)
        if self._taken is not None:
            self.taken += len(piece)
        if self._taken is not None and self._pieces:
            self._waiting.append(self._written())
            self._open = False
        if self._taken is not None:
            self._length += len(self._taken.text)
        return self._taken is not None

    def _recognised(self, piece: bytes) -> Markup | None:
        """The markup of a piece with the names of the form; ``None`` where it has others, and for some pieces that have
        not."""
        form = self._form
        if not self._reader.has_namespaces:
            return None if form.written.prefixes.namespaces.get("") else form.recognised(piece)
        before = None if b"xmlns" in piece else form.written.before_names(self._reader.bound, piece)
        if not before:
            return form.recognised(piece) if before == "" else None
        if b"<!" in piece or b"<?" in piece:  # where a "<" begins no tag
            return None
        prefix = before.encode()
        found = form.recognised(piece.replace(b"<", b"<" + prefix).replace(b"<" + prefix + b"/", b"</" + prefix))
        if found is None or not self._keeps_asides:
            return found
        names = list(form.names.types)
        return found if self._spelling.took([names[kind] for kind in np.unique(found.types)], before) else None

    def _cut(self, taken: Markup | None) -> Markup | None:
        """The next block, where what was written or taken has the end of an element."""
        held = self._pieces.pop() if self._open else None  # may turn out to be the tag of an empty element
        part = self._written() if taken is None else taken.text
        if held is not None:
            self._pieces.append(held)
        cut = end_of_last_element(part)
        if not cut:
            self._waiting.append(part)
            self._refuse_depth(self._depth + sum(each.count(b"<") for each in self._waiting))
            return None
        block = b"".join([*self._waiting, part[:cut]])
        self._waiting = [part[cut:]] if cut < len(part) else []
        found = markup(block, self._form.names)
        assert found is not None  # this is the form that was written
        return found

    def _check_depth(self, block: Markup) -> None:
        depths = np.cumsum(block.kinds, dtype=np.int64)
        self._refuse_depth(self._depth + int(depths.max()))
        self._depth += int(depths[-1])

    def _refuse_depth(self, depth: int) -> None:
        if depth > MAXIMUM_DEPTH:
            message = f"elements are nested more than {MAXIMUM_DEPTH} deep"
            raise InputError(Fault("HX1006", message, self._reader.position))

    def _written(self) -> bytes:
        if self._noted:
            self._place_noted()
        text = "".join(self._pieces).encode()
        self._pieces.clear()
        self._length += len(text)
        return text

    def _note(self, data: str) -> None:
        self._noted.append(_Noted(len(self._pieces), data, self._open))

    def _note_tag(self, data: str) -> None:
        """Note what comes before the tag that was written last, or stands in what is noted for it already."""
        tag = len(self._pieces) - 1
        at = len(self._noted)
        while at and self._noted[at - 1].pieces > tag:
            at -= 1
        self._noted.insert(at, _Noted(tag, data, inside=False))

    def _place_noted(self) -> None:
        """Find the places of what comes before what is about to be written, or right behind it."""
        pieces = self._pieces
        place, done = self._length, 0
        noted, self._noted = self._noted, []
        for each in noted:
            if each.pieces > len(pieces):
                self._noted.append(replace(each, pieces=each.pieces - len(pieces)))
                continue
            place += len("".join(pieces[done : each.pieces]).encode())
            done = each.pieces
            empty = each.inside and pieces[each.pieces - 1].endswith("/>")
            self._waiting_asides.append(Aside(place - len("/>") if empty else place, each.data))

    def _settle(self, text: bytes, *, last: bool = False) -> None:
        """Tell what was left out of the next block."""
        begin, self._blocks_length = self._blocks_length, self._blocks_length + len(text)
        if not (self._waiting_asides or self._noted or last):
            return
        if last:
            self._place_noted()
        waiting, self._waiting_asides = self._waiting_asides, []
        for each in waiting:
            if each.place < self._blocks_length:
                self.asides.append(replace(each, leaf=leaf_of(text, each, each.place - begin)))
            elif last:
                self.asides.append(each)
            else:
                self._waiting_asides.append(each)
        if last and self._keeps_asides and (whole := self._spelling.aside()) is not None:
            self.asides.insert(0, whole)

    def _handlers(self) -> tuple[Callable[[str, list[str]], None], Callable[[str], None], Callable[[str], None]]:
        """What is written at each tag and text. One function, for these run millions of times."""
        pieces = self._pieces
        write = pieces.append
        form = self._form
        plain = {name for name in form.elements if not form.defaults[name]}
        spelling = self._spelling
        other = spelling.other

        def start(name: str, attributes: list[str]) -> None:
            if name[0] == "{" or form.written:
                name = spelling.name(name, taken=self.taken > 0)
            if self._keeps_asides:
                for value in attributes[1::2]:
                    if ":" in value:
                        spelling.value(value)
            written = f"<{name}>" if not attributes and name in plain else tag(name, attributes)
            if other:
                self._open = False
                self._note(json.dumps(other))
                other.clear()
            write(written)
            self._open = True

        def tag(name: str, attributes: list[str]) -> str:
            several = form.tokenised.get(name, frozenset())
            parts = [f"<{name}"]
            pairs = iter(spelling.attributes(attributes, taken=self.taken > 0))
            for attribute in pairs:
                value = next(pairs)
                if " " in value and attribute in several:
                    value = tokens(value)
                parts.append(f' {attribute}="{escaped_attribute(value)}"')
            for attribute, value in form.defaults.get(name, ()):
                if attribute not in attributes[::2]:
                    parts.append(f' {attribute}="{escaped_attribute(value)}"')
            parts.append(">")
            return "".join(parts)

        def end(name: str) -> None:
            if self._open:
                pieces[-1] = pieces[-1][:-1] + "/>"
                self._open = False
            else:
                write(f"</{spelling.end(name) if name[0] == '{' or form.written else name}>")

        def text(part: str) -> None:
            if self._open and ":" in part and self._keeps_asides:
                spelling.value(part)
                if other:
                    self._note_tag(json.dumps(other))
                    other.clear()
            self._open = False
            write(escaped_text(part))

        return start, end, text
