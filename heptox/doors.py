"""Front doors of rooms: what needs a heavy library is loaded when it is first asked for, or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from heptox.garbage import uncollected


def later(package: str, names: Mapping[str, Iterable[str]]) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package whose ``names``, by the modules in it that have them, are loaded when they are
    first asked for.

    >>> later("heptox.xml", {"trees": ("parse_document",)})("parse_document").__name__
    'parse_document'
    """
    modules = {name: module for module, several in names.items() for name in several}

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package} has no attribute {name}")
        with uncollected():
            found = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return load


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Let a library that is imported meanwhile go without those of ``modules`` that are not loaded, as if they were not
    installed. Only for modules that the library can do without.

    >>> with without("wave"):
    ...     import wave
    Traceback (most recent call last):
    ModuleNotFoundError: import of wave halted; None in sys.modules
    """
    left_out = [module for module in modules if module not in sys.modules]
    for module in left_out:
        sys.modules[module] = None  # type: ignore[assignment]  # an import of it fails
    try:
        yield
    finally:
        for module in left_out:
            del sys.modules[module]
