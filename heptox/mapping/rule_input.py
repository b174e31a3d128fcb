"""What rules are inferred from: two declared schemas, the arrows between them, and the references that connect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from heptox.mapping.connections import Component, Network
from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.declarations import DeclaredSide
from heptox.mapping.findings import Findings
from heptox.mapping.paths import component
from heptox.mapping.surrogates import ArrowSet


@dataclass(frozen=True, slots=True)
class RuleInput:
    """One reading of a mapping; in the ``mirrored`` one a missing connection is no fault."""

    source: DeclaredSide
    target: DeclaredSide
    network: Network
    findings: Findings
    mirrored: bool
    arrow_set: ArrowSet
    entities: tuple[Entity, ...]

    def components(self, chosen: Iterable[Correspondence]) -> list[Component]:
        """The components that the source leaves of some arrows belong to, each once."""
        parts = (component(self.source.tree, c.source.stop) for c in chosen)
        return [part for part in dict.fromkeys(parts) if part is not None]

    def is_connectable(self, chosen: Iterable[Correspondence], lines: Iterable[Entity] = ()) -> bool:
        """Whether references can connect all that some arrows and ``each`` lines lead out of."""
        parts = (part for line in lines if (part := component(self.source.tree, line.source)) is not None)
        return len(self.network.classes((*self.components(chosen), *parts))) <= 1
