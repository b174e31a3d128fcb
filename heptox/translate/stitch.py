"""Step 4: the union over all choices, without members that another contains (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.pattern import NormalForms, Query, without_cases, without_contained
from heptox.translate.model import Check, no_check


def stitch(query: Query, forms: NormalForms, check: Check = no_check) -> Query:
    """The union as it is printed: no member is contained in another on the documents that it is for, and none keeps a
    condition that distinguishes it from others for nothing.
    """
    apart = without_contained(query, forms, check)
    smaller = without_cases(apart, forms, check)
    return apart if smaller == apart else without_contained(smaller, forms, check)
