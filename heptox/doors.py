"""Front doors of rooms: what needs a heavy library is loaded when it is first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
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
