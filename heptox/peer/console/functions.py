"""The functions that an arrow can apply to a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from heptox.pattern import VALUE_FUNCTIONS, Type
from heptox.peer.console.mapping_shapes import FunctionModel

_VALUE: Final = "\0"
_GATHERED: Final = FunctionModel(
    name="string-join",
    before="string-join(",
    after=', " ")',
    meaning="the values of a leaf that repeats, one after the other",
)
_LOOKED_UP: Final = FunctionModel(
    name="lookup", before='lookup("codes.csv", ', after=")", meaning="what a table of codes has for the value"
)


def applicable() -> Iterator[FunctionModel]:
    """The functions that give a value for a value, as calls with arguments to be replaced: 1, or an empty string."""
    yield from (_GATHERED, _LOOKED_UP)
    for form in (form for forms in VALUE_FUNCTIONS.values() for form in forms):
        if form.result not in (Type.BOOLEAN, Type.ANY):
            others = (
                "1" if kind.is_numeric or kind in (Type.DIGITS, Type.DIVISOR) else '""' for kind in form.parameters[1:]
            )
            before, _, after = form.shown([_VALUE, *others]).partition(_VALUE)
            yield FunctionModel(name=form.name, before=before, after=after, meaning=form.summary)
