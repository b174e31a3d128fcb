"""libp2p 0.8.1 without what heptox never uses: its first module imports all others, QUIC and web servers too. The
library by which it resolves names imports QUIC as well.

A process that has imported libp2p before has it whole.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Final

_PACKAGES: Final = frozenset({"libp2p", "libp2p.transport"})
"""Packages that import all that is in them: they are left empty, and their modules are imported one by one."""
_ABSENT: Final = {
    "dns.quic": ("AsyncQuicConnection", "Headers", "SyncQuicConnection", "SyncQuicManager"),
    "libp2p.transport.quic": (),
    "libp2p.transport.quic.config": ("QUICTransportConfig",),
    "libp2p.transport.quic.exceptions": ("QUICStreamClosedError", "QUICStreamResetError"),
    "libp2p.transport.quic.stream": ("QUICStream",),
}
"""Modules that the others import, and the classes that they want of them: nothing is ever an instance of one."""


class _Stand(Loader):
    """Makes a module of nothing but some classes."""

    def __init__(self, classes: Sequence[str]) -> None:
        self._classes = classes

    def exec_module(self, module: ModuleType) -> None:
        for name in self._classes:
            setattr(module, name, type(name, (Exception,), {}))


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        del target
        if name in _ABSENT:
            return ModuleSpec(name, _Stand(_ABSENT[name]), is_package=True)
        found = PathFinder.find_spec(name, path) if name in _PACKAGES else None
        if found is None:
            return None
        empty = ModuleSpec(name, _Stand(()), origin=found.origin, is_package=True)
        empty.submodule_search_locations = found.submodule_search_locations
        return empty


def leave_out() -> None:
    """Import libp2p from now on without what heptox never uses."""
    sys.meta_path.insert(0, _Finder())
