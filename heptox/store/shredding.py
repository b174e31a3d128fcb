"""Documents become rows while they are read: what is kept of a document at rest.

Every document is written anew in **one form**, that in which answers are written: ``<a x="1">text</a>``, ``<a/>`` where
nothing is inside, attributes as they come and then those that the schema gives a default; no comments, instructions,
CDATA sections, declarations. Places are counted in the characters of that text, so an element is a slice of it.

A document **fits** when all of its elements, attributes and texts have a place in the relations of its schema. One that
does not fit is written in the same form, and has no rows; what does not fit is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from heptox.errors import Fault, InputError
from heptox.store.places import HAS_ONCE, KEPT, NODE, NOTHING, ONCE, PARENT, ROW, Place, Plan, Row, tokens
from heptox.store.text import escaped_attribute, escaped_text
from heptox.xmlio import XmlReader

MOST_MISFITS: Final = 20
"""How many misfits of a document are told; all are counted."""
MAXIMUM_DEPTH: Final = 1_000_000
"""How deep elements may be nested."""

_XML_SPACE: Final = " \t\n\r"
_LONG: Final = 1 << 16
"""From which length on the parts of a value are put together at its end only."""
_MOST_NAMES: Final = 16
"""How many names of the path to a misfit are told, the last ones."""


class Shredder:
    """Reads one document; what it makes of it is to be taken away after each block, see :meth:`blocks`.

    ``rows`` holds, for each relation of the catalogue, its rows that are complete; who takes them clears the lists.
    They mean nothing once ``misfits`` are found. ``characters`` is the length of the text so far.
    """

    def __init__(self, plan: Plan, reader: XmlReader) -> None:
        self.rows: list[list[Row]] = [[] for _ in plan.catalogue.relations]
        self.misfits: list[Fault] = []
        self.misfit_count = 0
        self.characters = 0
        self._plan = plan
        self._reader = reader

    def blocks(self) -> Iterator[tuple[int, str]]:
        """Read on, block by block: how many bytes have been read, and the text that comes next.

        Raises :class:`InputError` as :meth:`XmlReader.read`, and HX1006 when elements are nested deeper than
        :data:`MAXIMUM_DEPTH`.
        """
        pieces: list[str] = []
        places: list[Place] = []
        for read in self._reader.read(*self._handlers(pieces, places)):
            if len(places) > MAXIMUM_DEPTH:
                message = f"elements are nested more than {MAXIMUM_DEPTH} deep"
                raise InputError(Fault("HX1006", message, self._reader.position))
            text = "".join(pieces[:-1])  # the last may be a tag that turns out to be that of an empty element
            del pieces[:-1]
            self.characters += len(text)
            yield read, text
        self.characters += len("".join(pieces))
        yield read, "".join(pieces)

    def _handlers(
        self, pieces: list[str], places: list[Place]
    ) -> tuple[Callable[[str, list[str]], None], Callable[[str], None], Callable[[str], None]]:
        """What is done at each tag and text. One function, as they share what they know, and run millions of times."""
        place = self._plan.document
        row: Row = []
        rows_above: list[Row] = []
        singles: list[set[str]] = []
        more: list[str] = []
        at = 0
        empty = False
        rows, strange = self.rows, self._plan.strange
        write, above, below = pieces.append, places.append, places.pop

        def start(name: str, attributes: list[str]) -> None:
            nonlocal place, row, at, empty
            try:
                entry = place.children[name]
            except KeyError:
                entry = stray(name)
            above(place)
            place = entry
            node = entry.node
            if node:
                if row[node] is not None:
                    misfit(f"{name} stands twice")
                row[node] = at
                if entry.text > 0:
                    row[entry.text] = ""
            if entry.flags:
                if entry.flags & ROW:
                    parent = row[NODE] if row else -1
                    rows_above.append(row)
                    row = [*entry.template]
                    row[NODE] = at
                    row[PARENT] = parent
                    if entry.text > 0:
                        row[entry.text] = ""
                if entry.flags & ONCE:
                    if name in singles[-1]:
                        misfit(f"{name} stands twice")
                    singles[-1].add(name)
                if entry.flags & HAS_ONCE:
                    singles.append(set())
            if attributes or entry.defaults:
                opening = tag(entry, attributes)
                write(opening)
                at += len(opening)
            else:
                write(entry.opening)
                at += entry.extent
            empty = True

        def tag(entry: Place, attributes: list[str]) -> str:
            known = entry.attributes
            parts = [entry.unclosed]
            pairs = iter(attributes)
            for name in pairs:
                value = next(pairs)
                slot = known.get(name) if known is not None else None
                if slot is None and foreign(name, value):
                    continue
                if " " in value and name in entry.tokenised:
                    value = tokens(value)
                if slot:
                    row[slot] = value
                if "&" in value or not value.isprintable() or "<" in value or ">" in value or '"' in value:
                    value = escaped_attribute(value)
                parts.append(f' {name}="{value}"')
            for name, value in entry.defaults:
                if name not in attributes[::2]:
                    if known and known[name]:
                        row[known[name]] = value
                    parts.append(f' {name}="{escaped_attribute(value)}"')
            parts.append(">")
            return "".join(parts)

        def text(part: str) -> None:
            nonlocal at, empty
            empty = False
            slot = place.text
            if slot > 0:
                value = row[slot]
                if len(value) < _LONG:  # type: ignore[arg-type]  # a cell of text
                    row[slot] = value + part  # type: ignore[operator]
                else:
                    more.append(part)
            elif slot != KEPT and (slot == NOTHING or part.strip(_XML_SPACE)):
                misfit(f"{place.name} holds text")
            # a search for all of these in one is slower
            if "&" in part or "<" in part or ">" in part or "\r" in part or "\x7f" in part or not part.isascii():
                part = escaped_text(part)
            write(part)
            at += len(part)

        def end(_name: str) -> None:
            nonlocal place, row, at, empty
            if empty:
                pieces[-1] = pieces[-1][:-1] + "/>"
                at += 1
                empty = False
            else:
                write(place.closing)
                at += place.extent + 1
            if more:
                row[place.text] += "".join(more)  # type: ignore[operator]
                more.clear()
            if place.stop:
                row[place.stop] = at
            if place.flags:
                if place.flags & ROW:
                    rows[place.relation].append(row)
                    row = rows_above.pop()
                if place.flags & HAS_ONCE:
                    singles.pop()
            place = below()

        def stray(name: str) -> Place:
            """Where an element goes for which there is no place."""
            self._reader.refuse_namespace(name)
            more.clear()
            if not place.lenient:
                inside = f"in {place.name}" if place.name else "as the root"
                misfit(f"{name} cannot stand {inside}")
            return strange(name)

        def foreign(name: str, value: str) -> bool:
            """Whether an attribute that is not known is none: it declares a namespace that nothing belongs to."""
            if name.startswith("xmlns:") or (name == "xmlns" and not value):
                return True
            self._reader.refuse_namespace(name)
            if not place.lenient:
                misfit(f"{place.name} has no attribute {name}")
            return False

        def misfit(message: str) -> None:
            self.misfit_count += 1
            if self.misfit_count <= MOST_MISFITS:
                names = [each.name for each in [*places[-_MOST_NAMES:], place]]
                path = "/".join(["..."] * (len(places) > _MOST_NAMES) + names)
                self.misfits.append(Fault("HX6020", f"{path or '/'}: {message}", self._reader.position))

        return start, end, text
