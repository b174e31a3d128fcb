"""The tags of a text, found all at once: where they stand and what they say, as arrays of numbers.

This reads **one form** of XML alone, that in which documents are kept: ``<a x="1">text</a>``, ``<a/>`` where nothing is
inside; no comments, instructions, CDATA sections. What is written otherwise has no markup here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from heptox.store.places import NOWHERE, Numbers

Kinds: TypeAlias = npt.NDArray[np.int8]
Bytes: TypeAlias = npt.NDArray[np.uint8]

# What a tag does to the depth.
START: Final = 1
EMPTY: Final = 0
END: Final = -1

_NO_ATTRIBUTE: Final = NOWHERE - 1
"""What stands for the attribute of a tag that has none, beside :data:`NOWHERE` for one whose name is not known."""

_STRING: Final = pa.large_string()
_LESS, _GREATER, _QUOTE, _SLASH = b'<>"/'
_NAME: Final = rb"([^\s<>/='\"&!?][^\s<>/='\"&]*)"
_HEAD: Final = re.compile(rb"<(?:/" + _NAME + rb">|" + _NAME + rb"(?: " + _NAME + rb"=|(/)?>))")
_NEXT: Final = re.compile(rb" " + _NAME + rb"=")


@dataclass(frozen=True, slots=True)
class Names:
    """The numbers of the names that are known: of element types, and of attributes."""

    types: dict[str, int]
    attributes: dict[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class Attributes:
    """The attributes of the tags of a text, in order; ``begins`` and ``ends`` are where their values stand."""

    tags: Numbers
    names: Numbers
    begins: Numbers
    ends: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Markup:
    """The tags of a text, in order: where their ``<`` and their ``>`` stand, their kinds and types.

    A type, and the name of an attribute, is :data:`NOWHERE` where it is not known.
    """

    text: bytes
    begins: Numbers
    ends: Numbers
    kinds: Kinds
    types: Numbers
    attributes: Attributes


def markup(text: bytes, names: Names) -> Markup | None:
    """The markup of a text that is well-formed as far as it goes, or ``None`` where it is not in the one form.

    >>> found = markup(b'<a x="1">t<b/></a>', Names({"a": 0, "b": 1}, {"x": 0}))
    >>> found.begins.tolist(), found.ends.tolist(), found.kinds.tolist(), found.types.tolist()
    ([0, 10, 14], [8, 13, 17], [1, 0, -1], [0, 1, 0])
    >>> markup(b"<a ></a>", Names({}, {})) is None
    True
    """
    characters = np.frombuffer(text, np.uint8)
    begins, ends = np.flatnonzero(characters == _LESS), np.flatnonzero(characters == _GREATER)
    if len(begins) != len(ends) or (begins > ends).any() or (begins[1:] < ends[:-1]).any():
        return None
    quotes = _quotes(characters, begins, ends)
    if quotes is None:
        return None
    opened, closed, tags = quotes
    first = np.ones(len(tags), bool)
    first[1:] = tags[1:] != tags[:-1]
    head_ends = ends + 1
    head_ends[tags[first]] = opened[first]
    heads = _told(text, begins, head_ends, _Heads(names))
    follows = ~first
    more = _told(text, closed[:-1][follows[1:]] + 1, opened[follows], _Following(names))
    if heads is None or more is None:
        return None
    kinds, types, attributes = heads
    last = np.ones(len(tags), bool)
    last[:-1] = first[1:]
    attributed, after = tags[last], closed[last] + 1
    empty = characters[after] == _SLASH
    if (after + empty != ends[attributed]).any():
        return None
    kinds[attributed] = np.where(empty, EMPTY, START)
    # a head that ends with an attribute goes with a value, and no other does
    if ((attributes != _NO_ATTRIBUTE) != np.isin(np.arange(len(begins)), attributed)).any():
        return None
    attribute_names = np.empty(len(tags), np.int64)
    attribute_names[first] = attributes[tags[first]]
    attribute_names[follows] = more[0]
    return Markup(
        text, begins, ends, kinds.astype(np.int8), types, Attributes(tags, attribute_names, opened + 1, closed)
    )


def _quotes(characters: Bytes, begins: Numbers, ends: Numbers) -> tuple[Numbers, Numbers, Numbers] | None:
    """Where the values of attributes are opened and closed, and in which tags; ``None`` where one is not closed."""
    quotes = np.flatnonzero(characters == _QUOTE)
    tags = np.searchsorted(begins, quotes) - 1
    inside = tags >= 0
    inside[inside] = quotes[inside] < ends[tags[inside]]
    quotes, tags = quotes[inside], tags[inside]
    if len(quotes) % 2 or (tags[0::2] != tags[1::2]).any():
        return None
    return quotes[0::2], quotes[1::2], tags[0::2]


# -- parts of tags that say the same again and again -----------------------------------------------------------------


class _Heads:
    """What a tag says up to its first value: its kind, its type, its first attribute."""

    width = 3

    def __init__(self, names: Names) -> None:
        self._names = names

    def __call__(self, head: bytes) -> Sequence[int] | None:
        found = _HEAD.fullmatch(head)
        if found is None:
            return None
        closing, name, attribute, slash = found.groups()
        kind = END if closing else EMPTY if slash else START
        number = self._names.types.get(_name(closing or name), NOWHERE)
        return kind, number, _NO_ATTRIBUTE if attribute is None else _number(attribute, self._names)


class _Following:
    """What stands between two values of a tag: the name of an attribute."""

    width = 1

    def __init__(self, names: Names) -> None:
        self._names = names

    def __call__(self, part: bytes) -> Sequence[int] | None:
        found = _NEXT.fullmatch(part)
        return None if found is None else (_number(found[1], self._names),)


def _name(name: bytes) -> str:
    """A name; what is no UTF-8 is refused later."""
    return name.decode(errors="replace")


def _number(attribute: bytes, names: Names) -> int:
    return names.attributes.get(_name(attribute), NOWHERE)


def _told(text: bytes, begins: Numbers, ends: Numbers, tell: _Heads | _Following) -> tuple[Numbers, ...] | None:
    """The numbers that each part of a text says, each different part looked at once; ``None`` where one is no such."""
    different = slices(text, begins, ends).dictionary_encode()
    said = np.empty((len(different.dictionary), tell.width), np.int64)
    for place, part in enumerate(different.dictionary.to_pylist()):
        numbers = tell(part)
        if numbers is None:
            return None
        said[place] = numbers
    indices = different.indices.to_numpy(zero_copy_only=False)
    return tuple(np.ascontiguousarray(column[indices]) for column in said.T)


def slices(text: bytes, begins: Numbers, ends: Numbers) -> pa.Array:
    """Slices of a text, in order, as an array of Arrow.

    >>> import numpy as np
    >>> slices(b"abcdef", np.array([0, 3]), np.array([2, 6])).to_pylist()
    [b'ab', b'def']
    """
    between = slices_between(text, begins, ends, pa.large_binary())
    return between.take(pa.array(np.arange(0, len(between) - 1, 2)))


def slices_between(text: bytes, begins: Numbers, ends: Numbers, kind: pa.DataType = _STRING) -> pa.Array:
    """An array of Arrow whose even entries are slices of a text, in order, and whose last entry is empty.

    It copies nothing: what is between two slices is an entry too.
    """
    bounds = np.empty(2 * len(begins) + 2, np.int64)
    bounds[0:-2:2], bounds[1:-2:2], bounds[-2:] = begins, ends, len(text)
    return pa.Array.from_buffers(kind, len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(text)])
