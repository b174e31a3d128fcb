"""Front doors of rooms: what needs a heavy library is loaded when it is first asked for, or not at all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
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


class _Hidden:
    """Finds none of some modules."""

    def __init__(self, modules: Collection[str]) -> None:
        self._modules = modules

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:  # noqa: ARG002
        if name in self._modules:
            raise ModuleNotFoundError(f"{name} is left out here", name=name)


@contextmanager
def without(*modules: str) -> Iterator[None]:
    """Let a library that is imported meanwhile go without those of ``modules`` that are not loaded, as if they were not
    installed. Only for modules that the library can do without.

    >>> with without("wave"):
    ...     import wave
    Traceback (most recent call last):
    ModuleNotFoundError: wave is left out here
    """
    hidden = _Hidden(modules)
    sys.meta_path.insert(0, hidden)
    try:
        yield
    finally:
        sys.meta_path.remove(hidden)
