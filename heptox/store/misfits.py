"""What of a document does not fit its schema, and where: found by reading it again, tag by tag."""

from __future__ import annotations

from typing import Final

from heptox.errors import Fault
from heptox.store.places import DOCUMENT, NOTHING, WHITE_SPACE, Places
from heptox.xml import XmlReader

MOST_REPORTED: Final = 20
"""How many misfits of a document are reported; all are counted."""

_XML_SPACE: Final = " \t\n\r"
_MOST_NAMES: Final = 16
"""How many names of the path to a misfit are reported, the last ones."""


class Misfits:
    """The misfits of a document: the first, ``reported`` (HX6020), and the ``count`` of all.

    Raises :class:`InputError` as :meth:`XmlReader.read`.
    """

    def __init__(self, places: Places, reader: XmlReader) -> None:
        self.reported: list[Fault] = []
        self.count = 0
        self._places = places
        self._elements = places.catalogue.graph.elements
        self._reader = reader
        self._names = [""]
        self._open: list[int | None] = [DOCUMENT]
        """The places of the elements that are open, ``None`` for those that have none."""
        self._single: list[set[str]] = [set()]
        for _ in reader.read(self._start, self._end, self._text):
            pass

    def _start(self, name: str, attributes: list[str]) -> None:
        parent = self._open[-1]
        place = None if parent is None else self._places.child(parent, name)
        if parent is not None and place is None:
            inside = f"in {self._names[-1]}" if self._names[-1] else "as the root"
            self._misfit(f"{name} cannot stand {inside}")
        self._names.append(name)
        self._open.append(place)
        if parent is not None and place is not None and self._places.is_single(parent, place, name):
            if name in self._single[-1]:
                self._misfit(f"{name} stands twice")
            self._single[-1].add(name)
        self._single.append(set())
        if place is not None:
            known = {attribute.name for attribute in self._elements[name].attributes}
            for attribute in attributes[::2]:
                if attribute not in known and not attribute.startswith("xmlns"):
                    self._misfit(f"{name} has no attribute {attribute}")

    def _end(self, _name: str) -> None:
        self._names.pop()
        self._open.pop()
        self._single.pop()

    def _text(self, part: str) -> None:
        place = self._open[-1]
        if place is None:
            return
        allowed = self._places.text[place]
        if allowed == NOTHING or (allowed == WHITE_SPACE and part.strip(_XML_SPACE)):
            self._misfit(f"{self._names[-1]} holds text")

    def _misfit(self, message: str) -> None:
        self.count += 1
        if self.count <= MOST_REPORTED:
            path = "/".join(["..."] * (len(self._names) > _MOST_NAMES + 1) + self._names[-_MOST_NAMES - 1 :])
            self.reported.append(Fault("HX6020", f"{path or '/'}: {message}", self._reader.position))
