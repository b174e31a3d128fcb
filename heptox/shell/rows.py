"""Partial aggregates (``semantics.md`` section 7): items of which only matters what they say, as rows with how many say
the same.

A peer sends rows instead of items where nothing tells whose nodes are the same. In a row, what stands in an element of
:data:`FOLDS` is not a part of what it says: of the values there, one number is left.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final, TypeAlias

from lxml import etree

from heptox.grammar import ITEM, NODES, ROW, syntax
from heptox.shell.counted_items import CountedItem, said_by
from heptox.shell.scope import TUPLE
from heptox.store import Allowance, MemoryUse

COUNT: Final = "heptox-count"
SUM: Final = "heptox-sum"
LEAST: Final = "heptox-least"
MOST: Final = "heptox-most"
FOLDS: Final = (COUNT, SUM, LEAST, MOST)
"""Elements around values of which a row has how many there are, and their sum, or the least or greatest of them."""
HOW_MANY: Final = "n"
"""The attribute of a row, and of a fold in it, with how many items, or values, it stands for."""

_SLOTS: Final = 3
"""The levels of a row, its tuple and the slots of that."""
_ALL: Final = 1_000_000
"""More levels than a document has."""
_SOURCE: Final = "heptox-source"
_MOST_COUNTED: Final = 2**53
_COUNTED: Final = re.compile(r"[1-9][0-9]{0,15}")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF|NaN")
_WHITESPACE: Final = " \t\r\n"
_NO_NUMBER: Final = "no-number"
"""What a fold says instead of a value of which XQuery makes no number: the shell fails, as it would of the value."""

Content: TypeAlias = bytes


def brings_rows(expression: syntax.Expression) -> bool:
    """Whether the items of a query are such that peers may fold them into rows."""
    match expression:
        case syntax.Flwor(result=item) | syntax.Conditional(_, item, None):
            return brings_rows(item)
        case syntax.Sequence(items):
            return bool(items) and all(map(brings_rows, items))
        case syntax.ElementConstructor(name):
            return name == ROW
        case _:
            return False


def with_sources(expression: syntax.Expression, variable: str) -> syntax.Expression:
    """The query that :func:`brings_rows`, of whose items each says, in the element of its nodes, which node of the
    documents the variable is bound to.
    """
    assert isinstance(expression, syntax.Flwor)
    row = expression.result
    assert isinstance(row, syntax.ElementConstructor)
    nodes = row.content[-1] if row.content else ""
    if not isinstance(nodes, syntax.ElementConstructor):
        return expression
    identity = syntax.NodeIdentity(syntax.PathExpression(variable))
    source = syntax.ElementConstructor(_SOURCE, (), (identity,))
    said = replace(nodes, content=(*nodes.content, source))
    return replace(expression, result=replace(row, content=(*row.content[:-1], said)))


def _source_taken(item: CountedItem) -> str:
    """The node of the documents that an item is of, which is not said any more; raises ``ValueError``."""
    source = item.counted[-1][-1] if len(item.counted[-1]) else item.counted
    if source.tag != _SOURCE or not source.text:
        raise ValueError("an item that does not say of which node of documents it is")
    item.counted[-1].remove(source)
    return source.text


def asks_for_extremes(expression: syntax.Expression) -> bool:
    """Whether rows have a value that is one of an item: the least or greatest."""
    nodes = syntax.nodes(expression)
    return any(isinstance(node, syntax.ElementConstructor) and node.name in (LEAST, MOST) for node in nodes)


@dataclass(slots=True)
class Fold:
    """How many values there are so far, of how many items, and what they come to: numbers as XQuery makes them of
    untyped values.
    """

    kind: str
    count: int = 0
    items: int = 0
    is_number: bool = True
    _exact: Fraction = Fraction()
    _rest: float = 0.0
    """What is no fraction: infinity, or NaN."""
    _extreme: float = math.nan

    def take(self, text: str) -> None:
        """Take in a value."""
        self.count += 1
        if self.kind == COUNT:
            return
        number = _number(text)
        if number is None:
            self.is_number = False
        else:
            self._add(number, first=self.count == 1)

    def unite(self, other: Fold) -> None:
        """Take in what other values come to."""
        if other.count:
            first, self.count = not self.count, self.count + other.count
            self.items += other.items
            self.is_number &= other.is_number
            self._exact += other._exact
            self._rest += other._rest
            self._extreme = other._extreme if first else self._further(other._extreme)

    def _add(self, number: float, *, first: bool) -> None:
        if self.kind != SUM:
            self._extreme = number if first else self._further(number)
        elif math.isfinite(number):
            self._exact += Fraction(number)
        else:
            self._rest += number

    def _further(self, number: float) -> float:
        if math.isnan(self._extreme) or math.isnan(number):
            return math.nan
        return min(self._extreme, number) if self.kind == LEAST else max(self._extreme, number)

    @property
    def text(self) -> str:
        """The number that is left of the values."""
        if self.kind == COUNT:
            return ""
        if not self.is_number:
            return _NO_NUMBER
        return _text(self._extreme if self.kind != SUM else _float(self._exact) + self._rest)

    @classmethod
    def of(cls, element: etree._Element) -> Fold:
        """What stands in an element: values, or the number that was left of them."""
        made, said = cls(str(element.tag)), element.get(HOW_MANY)
        if said is None:
            for each in element:
                values = each.attrib.values() if each.attrib else each.itertext()
                made.take("".join(map(str, values)))
        else:
            text = element.text or ""
            if len(element) or not (made.kind == COUNT or text == _NO_NUMBER or _NUMBER.fullmatch(text)):
                raise ValueError("no number")
            made.take(text)
            made.count = how_many(said)
        made.items = int(made.count > 0)
        return made


@dataclass(slots=True)
class Row:
    """What equal items say, how many they are, and their folds; ``content`` has these in the places where they stand,
    empty.
    """

    content: etree._Element
    count: int
    folds: list[Fold]

    @classmethod
    def of(cls, item: CountedItem, ordered: int) -> tuple[Content, Row]:
        """The row of an item, which is taken apart, and what it says, where so many levels have an order.

        Raises ``ValueError`` for a row that is none.
        """
        said = item.counted.get(HOW_MANY)
        element = item.taken_out()
        element.attrib.clear()
        if len(element) != 1 or element[0].tag != TUPLE:
            raise ValueError("a row holds a tuple")
        places = _places(element)
        folds = [Fold.of(place) for place in places]
        for place in places:
            place[:] = []
            place.text = None
            place.attrib.clear()
        return said_by(element, ordered), cls(element, 1 if said is None else how_many(said), folds)

    def unite(self, other: Row) -> None:
        """Take up a row that says the same."""
        self.count += other.count
        for own, fold in zip(self.folds, other.folds, strict=True):
            own.unite(fold)

    def element(self) -> etree._Element:
        """The row in an element that counts it; a fold of no values is left out. This is the last use of the row."""
        made = self.content
        for place, fold in zip(_places(made), self.folds, strict=True):
            place.text = fold.text
            place.set(HOW_MANY, str(fold.count))
            parent = place.getparent()
            if not fold.count and parent is not None:
                parent.remove(place)
        made.set(HOW_MANY, str(self.count))
        return made


@dataclass(slots=True)
class Rows:
    """Rows by what they say: their slots, and what is in these, have their places, and all has that is ``ordered``."""

    ordered: int = _SLOTS
    rows: dict[Content, Row] = field(default_factory=dict)
    _sources: set[tuple[Content, str]] = field(default_factory=set)

    def take(self, item: CountedItem, source: str = "") -> bool:
        """Take in an item, or a row; whether nothing has said the same before. Of one ``source``, if it is told, one
        that says the same is enough. Raises as :meth:`Row.of`.
        """
        content, row = Row.of(item, self.ordered)
        if source and (content, source) in self._sources:
            return False
        self._sources.add((content, source))
        known = self.rows.setdefault(content, row)
        if known is not row:
            known.unite(row)
        return known is row


def folded(query: syntax.Expression, items: Iterable[str], allowance: Allowance, least: int = 0) -> Iterator[str]:
    """Items of a query that :func:`brings_rows` as a peer sends them: those whose nodes all have keys as they are, for
    they may be other peers' too; of all others the rows.

    Where there is a ``least``, the query is one :func:`with_sources`: rows of fewer nodes of documents are held back,
    and so are folds of the values of fewer; nodes are not told by their keys. Else an item that is none is passed on.

    Raises :class:`StoreError` (HX6006, HX6007) where more would be held than is allowed.
    """
    rows, seen = Rows(_ALL if least else _SLOTS), set[bytes]()
    with MemoryUse(allowance) as use, use.share(query) as share:
        for text in items:
            try:
                item = CountedItem.read(text)
                item.counted.attrib.clear()  # whoever asks does not say how many there are
                if item.key is not None and not least:
                    yield text
                elif (identity := _short(item.identity)) not in seen:
                    seen.add(identity)
                    share.hold(1)
                    if rows.take(item, _source_taken(item) if least else ""):
                        share.write(text)
            except ValueError:
                if not least:
                    yield text
        yield from _sent(rows, least)


def _sent(rows: Rows, least: int) -> Iterator[str]:
    for row in rows.rows.values():
        if row.count >= least:
            for each in row.folds:
                each.count *= each.items >= least
            made = row.element()
            made.append(etree.Element(NODES))
            yield etree.tostring(made, encoding="unicode")


def is_sound(item: CountedItem) -> bool:
    """Whether an item that is no row may become one."""
    element = item.counted
    is_made = any(HOW_MANY in place.attrib for place in _places(element))
    return len(element) == 2 and element[0].tag == TUPLE and not element.attrib and not is_made


def is_row(text: str) -> bool:
    """Whether a text is a row that a peer has made."""
    return text.startswith(f'<{ROW} {HOW_MANY}="')


def how_many(said: str) -> int:
    """The number in a text; raises ``ValueError``."""
    if not _COUNTED.fullmatch(said) or int(said) > _MOST_COUNTED:
        raise ValueError("no number of items")
    return int(said)


def as_items(rows: Iterable[Row]) -> Iterator[etree._Element]:
    """Rows as the shell looks at them: what they say, with how many there are of each."""
    for row in rows:
        made = row.element()
        made.tag = ITEM
        made[0].set(HOW_MANY, made.attrib.pop(HOW_MANY))
        yield made


def _short(identity: str) -> bytes:
    return hashlib.blake2b(identity.encode(), digest_size=16).digest()


def _places(element: etree._Element) -> list[etree._Element]:
    """Where the folds of a row are."""
    return [part for part in element.iterfind(f"{TUPLE}/*/*") if part.tag in FOLDS]


def _number(text: str) -> float | None:
    """The double of an untyped value."""
    plain = text.strip(_WHITESPACE)
    return float(plain) if _NUMBER.fullmatch(plain) and not plain.startswith("+I") else None


def _float(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _text(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    return repr(number) if math.isfinite(number) else ("INF" if number > 0 else "-INF")
