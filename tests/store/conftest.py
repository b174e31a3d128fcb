"""What several tests of the store need."""

from __future__ import annotations

import pytest

from heptox.xml import events


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that a document has many."""
    for name in ("_FIRST_BLOCK", "_LARGE_BLOCK", "_LONGEST_DECLARATION"):
        monkeypatch.setattr(events, name, 64)
