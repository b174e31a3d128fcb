"""What functions have returned, remembered for keys that Python compares."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def remembered(most: int) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """A decorator for functions that return the same for the same again: the ``most`` results that were used last are
    kept.

    It does what :func:`functools.lru_cache` does. That one changes its list of results while ``__eq__`` of a key runs
    in another thread, and ends the process where keys of one hash are compared in Python: values with a cheap hash, as
    rules and mappings, are remembered here.

    >>> @remembered(2)
    ... def length(text: str) -> int:
    ...     print("counted")
    ...     return len(text)
    >>> length("one"), length("one")
    counted
    (3, 3)
    """

    def decorated(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        known: dict[Hashable, _Result] = {}
        changing = RLock()

        @wraps(function)
        def found(*given: _Given.args, **named: _Given.kwargs) -> _Result:
            key = (given, tuple(sorted(named.items()))) if named else given
            with changing:
                if key in known:
                    result = known[key] = known.pop(key)
                    return result
            result = function(*given, **named)
            with changing:
                known[key] = result
                if len(known) > most:
                    del known[next(iter(known))]
            return result

        return found

    return decorated
