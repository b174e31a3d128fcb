"""What lies beside the project, in ``../shared``: schemas and documents of others, and cases.

Where it is not, tests that read it are skipped, as ``tests/conftest.py`` has it; where ``CI`` is ``true`` they fail.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

SHARED: Final = Path(__file__).resolve().parents[3] / "shared"
DATA: Final = SHARED / "data"
CASES: Final = SHARED / "cases"

MISSING: Final = "what it reads lies beside the project, in ../shared, which is not here"


def may_be_missing() -> bool:
    """Whether tests that read what lies beside the project are skipped: it is not there, and need not be."""
    return not SHARED.is_dir() and os.environ.get("CI") != "true"


def tells_missing(error: BaseException) -> bool:
    """Whether something failed by reading what may be missing."""
    return may_be_missing() and str(SHARED) in str(error)


reads_shared = pytest.mark.skipif(may_be_missing(), reason=MISSING)
"""Of tests that would fail otherwise than by reading what is not there."""
