"""Step 3: leave out what the documents' schema implies (``semantics.md`` section 8)."""

from __future__ import annotations

from heptox.pattern import Member, NormalForms, Query, minimise_member
from heptox.translate.model import Check, no_check


def contract(query: Query, forms: NormalForms, check: Check = no_check) -> Query:
    """The same members, each chased with what the documents obey and without redundant nodes and conditions.

    A condition that is not implied stays: a patient that was never admitted has no ``Progress``.
    """
    normals: dict[Member, None] = {}
    for member in query.members:
        check()
        if (form := forms.of(member)) is not None:
            normals[form.member] = None
    minimal = (minimise_member(normal, forms, check) for normal in normals)
    return Query(tuple(dict.fromkeys(minimal)))
