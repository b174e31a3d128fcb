"""Front doors of rooms: what needs a heavy library is loaded when it is first asked for, or not at all."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pkgutil import get_data
from typing import Any

from heptox.garbage import uncollected


def later(package: str) -> Callable[[str], Any]:
    """The ``__getattr__`` of a package: what it imports for type checkers alone is loaded when it is first asked for.

    >>> later("heptox.xml")("parse_document").__name__
    'parse_document'
    """

    def load(name: str) -> Any:
        module = _modules(package).get(name)
        if module is None:
            raise AttributeError(f"module {package} has no attribute {name}")
        with uncollected():
            found = getattr(import_module(module), name)
        setattr(sys.modules[package], name, found)
        return found

    return load


@cache
def _modules(package: str) -> dict[str, str]:
    """The modules of the names that a package imports for type checkers alone."""
    source = ast.parse(get_data(package, "__init__.py") or b"")
    blocks = (one for one in source.body if isinstance(one, ast.If))
    imports = (one for block in blocks for one in block.body if isinstance(one, ast.ImportFrom))
    return {name.name: one.module or "" for one in imports for name in one.names}


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
