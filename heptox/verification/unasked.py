"""What a mapping computes and no query can ask for: XQuery has no one form of it, so it is refused (HX3068)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from heptox.grammar import unsaid_computed
from heptox.mapping import Mapping, path_text
from heptox.pattern import Constraints, is_computed, is_constant
from heptox.schema import Path, plain


def unasked(mapping: Mapping) -> Iterator[str]:
    """The computed leaves of the target that no translated query gives back, or of which none asks whether they are
    absent, and why not.
    """
    constraints = Constraints(mapping.source)
    found: dict[Path, str] = {}
    for rule in mapping.rules:
        for head in rule.head:
            for leaf, term in head.leaves:
                if is_computed(term.path) and not is_constant(term.path):
                    required = partial(constraints.required, plain(rule.node(term.variable)))
                    given = unsaid_computed(term.path, required, absent=False)
                    asked = given or unsaid_computed(term.path, required, absent=True)
                    if asked is not None:
                        path = (*plain(head.node), *leaf)
                        text = path_text(mapping.target, path)
                        refused = f"whether {text} is absent" if given is None else text
                        found.setdefault(path, f"{refused} cannot be asked for: {asked}")
    yield from found.values()
