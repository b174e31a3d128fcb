"""Step 3: leave out what the documents' schema implies (``semantics.md`` section 8)."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.pattern import Member, minimise_member, with_contracted_parts
from heptox.translate.draft import Draft
from heptox.translate.model import Origin


def contract(draft: Draft) -> Draft:
    """The same members, each chased with what the documents obey and without redundant nodes and conditions.

    A condition that is not implied stays: a patient that was never admitted has no ``Progress``.
    """

    def normal() -> Iterator[tuple[Member, tuple[Origin, ...]]]:
        for member, origins in draft.members.items():
            draft.check()
            if (form := draft.forms.of(member)) is not None:
                yield form.member, origins

    def least(member: Member) -> Member:
        return with_contracted_parts(minimise_member(member, draft.forms, draft.check), draft.forms, draft.check)

    chased = draft.become(normal())
    return chased.become((least(member), origins) for member, origins in chased.members.items())
