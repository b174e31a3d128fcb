"""Step 4: the union over all choices, without members that another contains (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.pattern import without_cases, without_contained
from heptox.translate.draft import Draft


def stitch(draft: Draft) -> Draft:
    """The union as it is printed: no member is contained in another on the documents that it is for, and none keeps a
    condition that distinguishes it from others for nothing.
    """
    apart = _apart(draft)
    wider = without_cases(apart.query, draft.forms, draft.check)
    if wider == apart.query:
        return apart
    return _apart(apart.become(zip(wider.members, apart.members.values(), strict=True)))


def _apart(draft: Draft) -> Draft:
    kept = without_contained(draft.query, draft.forms, draft.check)
    return draft.become((member, draft.members[member]) for member in kept.members)
