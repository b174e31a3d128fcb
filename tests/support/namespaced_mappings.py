"""Any random mapping problem with its names in namespaces: schemas, arrows, documents and queries.

Each name of a schema is put in one of a few namespaces, or in none, by chance. What texts write for them is drawn again
for each text: prefixes of the schema or others, one for the names of elements without a prefix, declared at the root or
where they are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final

from heptox.errors import MappingError
from heptox.grammar import ComputedValue, parse_arrow_lines, parse_query, print_query, written_query
from heptox.grammar.arrows import (
    Arrow,
    BoxDeclaration,
    Entity,
    Name,
    NamespaceDeclaration,
    Statement,
)
from heptox.grammar.line_files import SchemaPath
from heptox.mapping import examine_arrows, print_rules
from heptox.mapping.loading import read_mapping_rules
from heptox.pattern import Leaf, StringJoin, ValueExpression, substituted
from heptox.schema import TEXT, SchemaGraph, SchemaTree, renamed, selection_step, split_selection
from heptox.translate import Direction
from heptox.xml import (
    XML_NAMESPACE,
    Prefixes,
    XmlElement,
    escaped_text,
    escaped_value,
    expanded_name,
    parse_document,
    split_name,
)
from tests.support.checking import Outcome
from tests.support.random_mappings import TABLES, Problem
from tests.support.scenarios.generation import Scenario
from tests.support.scenarios.model import MEMBERS
from tests.support.scenarios.paths import ScenarioPath

URIS: Final = ("urn:one", "http://example.org/two#a", "http://example.org/three/b/")
PREFIXES: Final = ("a", "b", "c", "d", "ns1")
ELEMENTS: Final = (*URIS, URIS[0], "")
ATTRIBUTES: Final = (*URIS, XML_NAMESPACE, "", "", "", "")


@dataclass
class Naming:
    """The expanded names of one schema by its plain ones, and the prefixes of the schema."""

    elements: dict[str, str]
    attributes: dict[str, str]
    prefixes: Prefixes
    others: str = ""
    """The namespace of tags that the schema does not declare."""

    @classmethod
    def of(cls, random: Random, graph: SchemaGraph, members: Sequence[str], copied: dict[str, str]) -> Naming:
        """Names for a schema; the ``members`` of a box are mostly in one namespace, names of ``copied`` subtrees have
        the names that they have elsewhere.
        """
        types = graph.elements.values()
        elements = {each.name: expanded_name(random.choice(ELEMENTS), each.name) for each in types}
        attributes = {one.name: _attribute(random, one.name) for each in types for one in each.attributes}
        if random.random() < 0.15:  # two names that differ in their namespaces only
            _share_a_local_name(random, elements, (*members, *copied))
        others = random.choice(ELEMENTS)
        if members and random.random() < 0.8:
            elements |= {member: expanded_name(others, member) for member in members}
        elements |= {name: copied[name] for name in elements if name in copied}
        attributes |= {name: copied[f"@{name}"] for name in attributes if f"@{name}" in copied}
        found = {split_name(elements[member])[0] for member in members}
        return cls(elements, attributes, _table(random), found.pop() if len(found) == 1 else "")

    def element(self, name: str) -> str:
        """The name of an element, declared or not."""
        return self.elements.get(name) or expanded_name(self.others, name)

    def attribute(self, name: str) -> str:
        """The name of an attribute, declared or not."""
        return self.attributes.get(name, name)

    def step(self, step: str) -> str:
        """A step of a path."""
        if step == TEXT or step.startswith("["):
            return step
        return f"@{self.attribute(step[1:])}" if step.startswith("@") else self.element(step)

    def graph(self, graph: SchemaGraph) -> SchemaGraph:
        """The schema with these names."""
        named = renamed(graph, self.element, self.attribute)
        return replace(named, prefixes=self.prefixes, text=None)


def _attribute(random: Random, name: str) -> str:
    namespace = random.choice(ATTRIBUTES)
    return name if namespace == XML_NAMESPACE and name == "id" else expanded_name(namespace, name)


def _share_a_local_name(random: Random, elements: dict[str, str], others: Sequence[str]) -> None:
    free = [name for name in elements if name not in others]
    if len(free) > 1:
        one, other = random.sample(free, 2)
        first, second = random.sample(URIS, 2)
        elements[one], elements[other] = expanded_name(first, one), expanded_name(second, one)


def _table(random: Random) -> Prefixes:
    """Prefixes for most of the namespaces."""
    names = random.sample(PREFIXES, len(URIS))
    bound = {prefix: uri for prefix, uri in zip(names, URIS, strict=True) if random.random() < 0.85}
    if random.random() < 0.3:
        bound[""] = random.choice(URIS)
    return Prefixes.of(bound)


@dataclass
class Namespaced:
    """A problem whose names are in namespaces, and what makes its texts of those of the plain one."""

    random: Random
    problem: Problem
    source: Naming
    target: Naming
    plain: Problem = field(repr=False)

    def naming(self, side: Direction) -> Naming:
        """The names of one side."""
        return self.source if side is Direction.SOURCE else self.target

    def document(self, text: str, side: Direction) -> str:
        """A document of one side, in which the prefixes are any."""
        return written_document(self.random, parse_document(text).root, self.naming(side))

    def query(self, text: str, side: Direction) -> str:
        """A query over one side, in which the prefixes are any."""
        return written(self.random, text, self.naming(side))


def written(random: Random, query: str, naming: Naming) -> str:
    """A query with names in namespaces, in which the prefixes are any."""
    expression = written_query(parse_query(query), naming.element, naming.attribute)
    return print_query(expression, _table(random))


def namespaced(
    random: Random, given: Problem, known_names: tuple[Naming | None, Naming | None] = (None, None)
) -> Namespaced:
    """A problem with its names in namespaces, those of a side as they are known, or drawn."""
    mapping = given.mapping
    copied: dict[str, str] = {}
    if "=>" in given.arrows:
        shared = mapping.source.graph.elements.keys() & mapping.target.graph.elements.keys()
        names = {one.name for name in shared for one in mapping.source.graph.elements[name].attributes}
        copied = {name: expanded_name(random.choice(ELEMENTS), name) for name in shared}
        copied |= {f"@{name}": _attribute(random, name) for name in names}
    sides = [
        Naming.of(random, tree.graph, _members(tree.graph), copied) if known is None else known
        for tree, known in zip((mapping.source, mapping.target), known_names, strict=True)
    ]
    graphs = [naming.graph(tree.graph) for naming, tree in zip(sides, (mapping.source, mapping.target), strict=True)]
    arrows = written_arrows(random, given.arrows, *sides)
    text = f'source "source.dtd"\ntarget "target.dtd"\n{arrows}'
    examined = examine_arrows(text, lambda file, _: graphs[file == "target.dtd"], "test.arrows", TABLES.__getitem__)
    if examined.sound is None or examined.faults:
        raise MappingError(examined.faults)
    problem = replace(given, source=shown(graphs[0]), target=shown(graphs[1]), arrows=arrows, mapping=examined.sound)
    return Namespaced(random, problem, sides[0], sides[1], given)


def _members(graph: SchemaGraph) -> list[str]:
    """The members that a box may have."""
    return [name for name in MEMBERS if name in graph.elements]


@dataclass(frozen=True, slots=True)
class NamespacedPath:
    """A path whose names are in namespaces, and those of its schemas in order."""

    random: Random
    path: ScenarioPath
    schemas: tuple[Naming, ...]

    def document(self, text: str, *, turned: bool) -> str:
        """A document of the schema where the hops end."""
        return written_document(self.random, parse_document(text).root, self.schemas[0 if turned else -1])

    def query(self, text: str, *, turned: bool) -> str:
        """A query over the schema where the hops begin."""
        return written(self.random, text, self.schemas[-1 if turned else 0])


def namespaced_path(random: Random, path: ScenarioPath) -> NamespacedPath:
    """A path with its names in namespaces."""
    found: list[Scenario] = []
    known: Naming | None = None
    schemas: list[Naming] = []
    for place, scenario in enumerate(path.scenarios):
        back = place < path.valley
        named = namespaced(random, scenario.problem, (None, known) if back else (known, None))
        here, there = (named.target, named.source) if back else (named.source, named.target)
        schemas = [*schemas, there] if schemas else [here, there]
        known = there
        found.append(replace(scenario, problem=named.problem))
    return NamespacedPath(random, ScenarioPath(tuple(found), path.valley), tuple(schemas))


def shown(graph: SchemaGraph) -> str:
    """A schema for people who look for what went wrong."""
    return "\n".join((graph.root, *map(repr, graph.elements.values()), repr(graph.prefixes)))


def check_namespaced(named: Namespaced, outcome: Outcome) -> None:
    """The mapping is that of the plain problem but for its names, and its printed rules load as an equal one."""
    mapping = named.problem.mapping
    plain = named.plain.mapping
    for here, there in ((mapping.along, plain.along), (mapping.against, plain.against)):
        if len(here or ()) != len(there or ()):
            outcome.broken.append("\n".join(("rules in namespaces", str(named.problem))))
    files = {"source": mapping.source.graph, "target": mapping.target.graph}
    sides = _of_file(mapping.source, "source"), _of_file(mapping.target, "target")
    try:
        printed = print_rules(replace(mapping, source=sides[0], target=sides[1]))
    except ValueError:
        return  # optional parts that no text says

    def read(file: str, _: str | None) -> SchemaGraph:
        return replace(files[file], prefixes=named.naming(Direction(file)).prefixes)

    again = read_mapping_rules(printed, read, tables=TABLES.__getitem__)
    if again != replace(mapping, source_inverses=(), target_inverses=()):  # rules do not say them
        outcome.broken.append("\n".join(("printed rules", str(named.problem), printed)))


def _of_file(tree: SchemaTree, file: str) -> SchemaTree:
    return SchemaTree(replace(tree.graph, file=file), tree.boxes, tree.whole)


# -- arrows ------------------------------------------------------------------------------------------------------------


def written_arrows(random: Random, arrows: str, source: Naming, target: Naming) -> str:
    """The lines with names in namespaces, and lines for those that the schemas have no prefixes for."""
    statements, faults = parse_arrow_lines(arrows)
    assert not faults
    namings = {"source": source, "target": target}
    tables = {side: naming.prefixes for side, naming in namings.items()}
    lines: list[str] = []
    for side, naming in namings.items():
        if random.random() < 0.5:  # else what has no prefix is written with its namespace
            for uri in URIS:
                if naming.prefixes.prefix_of(uri, attribute=True) is None:
                    prefix = f"{side[0]}{URIS.index(uri)}"
                    tables[side] = tables[side].with_more({prefix: uri})
                    lines.append(str(NamespaceDeclaration(side, prefix, uri)))  # type: ignore[arg-type]

    def step(written: str, side: str) -> str:
        name, tests = split_selection(written)
        if tests:
            named = (replace(test, path=tuple(step(one, side) for one in test.path)) for test in tests)
            return selection_step(step(name, side), tuple(named))
        return written if written == "." else tables[side].step(namings[side].step(written))

    def path(written: SchemaPath, side: str) -> SchemaPath:
        return SchemaPath(tuple(step(one, side) for one in written.steps))

    def end(written: SchemaPath | ComputedValue, side: str) -> SchemaPath | ComputedValue:
        if isinstance(written, SchemaPath):
            return path(written, side)

        def image(leaf: Leaf | StringJoin) -> ValueExpression:
            return replace(leaf, path=tuple(step(one, side) for one in leaf.path))

        return ComputedValue(substituted(written.expression, image))

    def statement(one: Statement) -> Statement:
        match one:
            case Arrow():
                return replace(one, source=end(one.source, "source"), target=path(one.target, "target"))
            case Entity():
                return replace(one, source=path(one.source, "source"), target=path(one.target, "target"))
            case BoxDeclaration():
                names = (tables[one.side].step(namings[one.side].step(member.text)) for member in one.members)
                return replace(one, parent=path(one.parent, one.side), members=tuple(map(Name, names)))
            case _:
                side = one.side or ""
                changes: dict[str, Any] = {
                    name: path(value, side)
                    for name in type(one).__match_args__
                    if isinstance(value := getattr(one, name), SchemaPath)
                }
                return replace(one, **changes)

    lines += map(str, map(statement, statements))
    return "\n".join(lines) + "\n"


# -- documents ---------------------------------------------------------------------------------------------------------


def written_document(random: Random, root: XmlElement, naming: Naming) -> str:
    """A document with names in namespaces, its prefixes declared at the root or where they are needed."""
    at_root = dict(_table(random).bound) if random.random() < 0.7 else {}
    return _written(random, root, naming, {"": "", "xml": XML_NAMESPACE}, at_root)


def _written(
    random: Random, element: XmlElement, naming: Naming, scope: dict[str, str], declared: dict[str, str]
) -> str:
    scope, new = {**scope, **declared}, dict(declared)
    taken = set[str]()  # by names of this element

    def prefix_of(namespace: str, *, attribute: bool) -> str:
        if not namespace and attribute:
            return ""
        known = [one for one, uri in scope.items() if uri == namespace and (one or not attribute)]
        if not known or (random.random() < 0.05 and namespace != XML_NAMESPACE):
            free = [one for one in PREFIXES if one not in taken and one not in new] if namespace else []
            if not attribute and "" not in taken and (not free or random.random() < 0.3):
                free = [""]
            if free:
                scope[free[0]] = new[free[0]] = namespace
                known = free[:1]
        prefix = random.choice(known)
        taken.add(prefix)
        return prefix

    def written(name: str, *, attribute: bool) -> str:
        namespace, local = split_name(name)
        prefix = prefix_of(namespace, attribute=attribute)
        return f"{prefix}:{local}" if prefix else local

    name = written(naming.element(str(element.tag)), attribute=False)
    attributes = [
        (written(naming.attribute(str(one)), attribute=True), str(value)) for one, value in element.attrib.items()
    ]
    lines = [(f"xmlns:{one}" if one else "xmlns", uri) for one, uri in new.items()]
    content = escaped_text(element.text or "") + "".join(
        _written(random, child, naming, scope, {}) + escaped_text(child.tail or "") for child in element
    )
    start = "".join((f"<{name}", *(f' {one}="{escaped_value(value)}"' for one, value in _once(lines + attributes))))
    return f"{start}>{content}</{name}>" if content else f"{start}/>"


def _once(pairs: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    return dict(pairs).items()
