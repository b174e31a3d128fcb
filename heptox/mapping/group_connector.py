"""The references that connect the source groups of an alternative, and what is reported where none or several do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from heptox.grammar import Arrow, Entity as EntityLine
from heptox.mapping.alternative import Alternative
from heptox.mapping.connections import Component, Connection, NotConnected, Tie
from heptox.mapping.correspondences import Correspondence, Entity
from heptox.mapping.paths import component, path_text
from heptox.mapping.rule_input import RuleInput
from heptox.schema import Path, constrained_leaves, idref_paths


@dataclass(frozen=True, slots=True)
class GroupConnector:
    """Connects the groups that rules need together."""

    input: RuleInput

    def connection(self, chain: Sequence[Path], alternative: Alternative) -> Connection | None:
        """Connect the groups of the outermost node first: a group keeps the connection of the one around it."""
        connection: Connection = ()
        joined: list[Component] = []
        for stop in chain:
            needed = self.input.components(c for c in alternative.bound if c.target.stop == stop)
            anchors = (component(self.input.source.tree, e.source) for e in alternative.entities if e.target == stop)
            needed = [*dict.fromkeys((*(part for part in anchors if part is not None), *needed))]
            result = self.input.network.connect(needed, connection, joined)
            if isinstance(result, NotConnected | Tie):
                self._report_connection(result, alternative)
                return None
            connection = result
            joined += [part for part in needed if part not in joined]
        return connection

    def _report_connection(self, result: NotConnected | Tie, alternative: Alternative) -> None:
        lines = alternative.chosen or alternative.entities
        if isinstance(result, NotConnected):
            self.report_not_connected(result.components, lines[0])
            return
        if not result.complete:
            message = f"too many ways connect the groups that {self._target(lines[-1])} needs"
            self.input.findings.add("HX4017", message, _written(lines[-1]), "declare fewer references")
            return
        common = frozenset.intersection(*(frozenset(connection) for connection in result.connections))
        texts = [
            " and ".join(
                self._reference_text(link.reference.source, link.reference.target)
                for link in connection
                if link not in common
            )
            for connection in result.connections
        ]
        parts = sorted({end for connection in result.connections for link in connection for end in link.ends})
        message = f"{self._list(parts)} are connected in several ways: {'; '.join(texts)}"
        self.input.findings.add(
            "HX4017", message, _written(lines[-1]), f"choose one: {self.input.source.name} join {texts[0]}"
        )

    def report_not_connected(self, parts: Sequence[Component], where: Correspondence | Entity) -> None:
        """Report (HX4016) groups that no reference connects."""
        message = f"no reference connects {self._list(parts)}, which {self._target(where)} needs together"
        self.input.findings.add("HX4016", message, _written(where), self._reference_hint(parts))

    def _reference_hint(self, parts: Sequence[Component]) -> str:
        """What could be declared: a reference that the schema hints at, else the form of one."""
        tree, side = self.input.source.tree, self.input.source.name
        known = {reference.source for reference in self.input.source.references}
        keys, declared = sorted(self.input.source.keys), constrained_leaves(tree)[1]
        for leaf, key in (*declared, *((leaf, key) for leaf in idref_paths(tree, parts) for key in keys)):
            begin, end = component(tree, tree.stop(leaf)), component(tree, tree.stop(key))
            if leaf not in known and begin != end and {begin, end} <= set(parts):
                first = "" if key in keys else f"{side} key {path_text(tree, key)}, and "
                return f"declare it: {first}{side} reference {self._reference_text(leaf, key)}"
        return f"declare one: {side} reference LEAF -> KEY, between {self._list(parts)}"

    def _target(self, line: Correspondence | Entity) -> str:
        end = line.target if isinstance(line, Entity) else line.target.absolute
        return path_text(self.input.target.tree, end)

    def _reference_text(self, source: Path, target: Path) -> str:
        return f"{path_text(self.input.source.tree, source)} -> {path_text(self.input.source.tree, target)}"

    def _list(self, parts: Sequence[Component]) -> str:
        texts = [path_text(self.input.source.tree, part) for part in parts]
        return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _written(line: Correspondence | Entity) -> Arrow | EntityLine | None:
    return line.line if isinstance(line, Entity) else line.arrow
