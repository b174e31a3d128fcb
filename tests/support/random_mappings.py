"""Random small mapping problems: two DTDs, arrows between them, queries over either side, valid documents.

Everything is small and names and values are few, so that things coincide. What is drawn is text, as a person would
write it; arrows that make faults are thrown away and drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path as FilePath
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from heptox.errors import HeptoxError
from heptox.grammar.tag_value import tag_value_form
from heptox.mapping import Mapping, parse_mapping_arrows, spoken_leaves, with_plain_nodes
from heptox.pattern import FUNCTIONS
from heptox.schema import TEXT, AttributeType, Box, Path, SchemaTree, parse_dtd, plain
from heptox.translate import Direction
from heptox.xml import XmlElement, parse_document
from tests.support.definition import making
from tests.support.documents import Values, random_document

POOL: Final = ("1", "2", "", "x", "y")
NUMBERS: Final = ("1", "2", "2.0", "10", " 1")
TAGS: Final = ("x", "y", "1", "", "v", "a b")
"""Values of leaves that can become tags: members of boxes, declared names, values that are escaped."""

TABLES: Final = {"codes.csv": "x,1\n1,y\n2,x\n", "kinds.csv": "x,a\ny,a\nv,\n"}
"""Tables of codes that functions look values up in."""
MOST_RULES: Final = 6
"""More alternatives than these, in either reading, make unions that say nothing new and take long."""

COPIED: Final = (
    "<!ELEMENT z (n?, h*)> <!ATTLIST z m CDATA #IMPLIED> <!ELEMENT h (#PCDATA)> <!ATTLIST h k CDATA #IMPLIED>",
    "<!ELEMENT z (v, h?)> <!ELEMENT h (#PCDATA | z)*>",
)
"""Subtrees that both schemas have, so that they can be copied whole; the second is recursive."""

NUMERIC: Final = frozenset({"n", "@n"})
"""Names of leaves of documents whose values are numbers, so that comparison with a number is no dynamic error."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A mapping with the texts that it was read from; both schemas have the first element declared as root."""

    source: str
    target: str
    arrows: str
    mapping: Mapping

    def __str__(self) -> str:
        return f"-- source\n{self.source}\n-- target\n{self.target}\n-- arrows\n{self.arrows}"


def problem(source: str, target: str, arrows: str) -> Problem:
    """A problem from texts; in the arrows the schemas are not named.

    Raises :class:`HeptoxError` where the texts have faults.
    """
    with TemporaryDirectory() as folder:
        declared = ""
        for side, dtd in (("source", source), ("target", target)):
            (FilePath(folder) / f"{side}.dtd").write_text(dtd, encoding="utf-8")
            declared += f'{side} "{side}.dtd" root {dtd.split(None, 2)[1]}\n'
        for file, table in TABLES.items():
            (FilePath(folder) / file).write_text(table, encoding="utf-8")
        mapping = parse_mapping_arrows(declared + arrows, folder, "test.arrows")
    return Problem(source, target, arrows, mapping)


def random_problem(random: Random) -> Problem:
    """Two random schemas and arrows between them without faults."""
    while random.random() < 0.08:
        try:
            return problem(*_split(random))
        except HeptoxError:
            continue
    while True:
        copied = random.choice(COPIED) if random.random() < 0.25 else None
        source, target = random_schema(random, "s", "abcdef", copied), random_schema(random, "t", "pqrstu", copied)
        for _ in range(12):
            try:
                found = problem(source.dtd, target.dtd, random_arrows(random, source, target))
            except HeptoxError:
                continue
            if 0 < len(found.mapping.rules) <= MOST_RULES and len(found.mapping.against or ()) <= MOST_RULES:
                return found


def _split(random: Random) -> tuple[str, str, str]:
    """Schemas and arrows where one source node makes several target nodes, which refer to one another by identifiers
    that no arrow supplies.
    """

    def some(leaves: str, most: int) -> list[str]:
        return random.sample(list(leaves), random.randint(1, most))

    def held(leaves: Sequence[str]) -> str:
        return ", ".join(leaf + random.choice(("", "?", "?")) for leaf in leaves)

    texts = " ".join(f"<!ELEMENT {leaf} (#PCDATA)>" for leaf in "nvw")
    kinds = random.choice(("#REQUIRED", "#IMPLIED")), random.choice(("#REQUIRED", "#IMPLIED"))
    source = f"""<!ELEMENT s (a*)> <!ELEMENT a ({held("nvw")}, b*)> <!ATTLIST a k CDATA {kinds[0]} m CDATA {kinds[1]}>
<!ELEMENT b ({held("v")})> <!ATTLIST b k CDATA {kinds[0]}> {texts}"""
    nested = random.random() < 0.3
    first, second, inner = some("nvw", 3), some("nvw", 2), some("vw", 1)
    outer = held(some("nvw", 2))
    where = "o/p" if nested else "p"
    more = random.choice(("", ", r*"))
    own = "id ID #REQUIRED " if random.random() < 0.4 else ""
    target = f"""<!ELEMENT t ({"o*" if nested else "p*"}, q*)> <!ELEMENT o ({outer}, p*)> <!ELEMENT p ({held(first)})>
<!ATTLIST p id ID #REQUIRED k CDATA #IMPLIED> <!ELEMENT q ({held(second)}{more})> <!ELEMENT r ({held(inner)})>
<!ATTLIST q {own}ref IDREF #IMPLIED k CDATA #IMPLIED> {texts}"""
    near = ["a/n", "a/v", "a/w", "a/@k", "a/@m"]
    deep = [*near, "b/@k", "b/v"]
    lines = [f"target reference q/@ref -> {where}/@id"]
    lines += [f"{random.choice(near)} -> {where}/{leaf}" for leaf in [*first, *some("k", 1)] if random.random() < 0.9]
    ends = [*(f"q/{leaf}" for leaf in second), "q/@k", *(f"q/r/{leaf}" for leaf in inner if more)]
    ends += [f"o/{leaf.rstrip('?')}" for leaf in outer.split(", ") if nested]
    lines += [f"{random.choice(deep if random.random() < 0.4 else near)} -> {end}" for end in ends]
    lines += ["each a -> q"] if random.random() < 0.2 else []
    lines += ["each a -> o"] if nested and random.random() < 0.3 else []
    lines += [f"target key {where}/{random.choice(first)}"] if random.random() < 0.15 else []
    written = [line.replace("/k", "/@k").replace("@@", "@").replace("b/", "a/b/") for line in lines]
    return source, target, "\n".join(dict.fromkeys(written)) + "\n"


def random_documents(
    random: Random,
    problem: Problem,
    count: int,
    elements: int = 16,
    pool: Sequence[str] = POOL,
    side: Direction = Direction.SOURCE,
) -> list[str]:
    """Valid documents of one side that obey the keys declared for it too; leaves have values of ``pool``."""
    mapping = making(problem.mapping, side)
    tree = mapping.source
    values: Values = {**dict.fromkeys(NUMERIC, NUMBERS), "v": TAGS}
    found: list[str] = []
    for _ in range(20 * count):
        if len(found) < count:
            repeats = random.randint(1, 3)
            try:
                text = random_document(tree.graph, random, repeats=repeats, elements=elements, values=values, pool=pool)
            except ValueError:
                continue  # a reference is required, and by chance no ID came
            if keys_hold(mapping, text):
                found.append(text)
    return found


def keys_hold(mapping: Mapping, document: str) -> bool:
    """Whether a document of the source obeys the keys that the mapping declares for it."""
    return all(_identifies(mapping.source, key, document) for key in mapping.source_keys)


def _identifies(tree: SchemaTree, key: Path, document: str) -> bool:
    found = list(_values(tree, parse_document(document).root, (), key))
    return len(set(found)) == len(found)


def _values(tree: SchemaTree, element: XmlElement, here: Path, path: Path) -> Iterator[str]:
    if path in ((), (TEXT,)):
        yield element.text or ""
    elif path[0].startswith("@"):
        value = element.get(path[0][1:])
        yield from [] if value is None else [value]
    else:
        below = (*here, path[0])
        for child in element:
            name = str(child.tag)
            boxed = tree.box(below) is not None and tree.value_of_tag(below, name) is not None
            if boxed or name == path[0]:
                yield from _values(tree, child, below, path[1:])


def _numeric(mapping: Mapping) -> frozenset[Path]:
    """The leaves of images that take only numbers."""
    sources: dict[Path, set[str]] = {}
    for rule in mapping.rules:
        for head in rule.head:
            for leaf, term in head.leaves:
                name = _leaf_name((*rule.node(term.variable), *term.path))
                sources.setdefault((*head.node, *leaf), set()).add(name)
    return frozenset(path for path, names in sources.items() if names <= NUMERIC)


def _is_copied(path: Path) -> bool:
    return path[-1:] == ("z",)


def _relative(path: str) -> str:
    """A path from the context node without its dot; ``.//a`` keeps it."""
    return path if path.startswith(".//") else path.removeprefix("./")


def _identifiers(paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path.endswith(("@id", "@ref"))]


def _leaf_name(path: Path) -> str:
    return "" if not path else path[-2] if path[-1] == TEXT and len(path) > 1 else path[-1]


def _surely(tree: SchemaTree, numeric: frozenset[Path]) -> frozenset[Path]:
    """The leaves whose name stands for numbers wherever it stands, so that a descendant step meets no others."""
    others = {_leaf_name(path) for path in tree.walk() if tree.is_leaf(path) and path not in numeric}
    return frozenset(path for path in numeric if _leaf_name(path) not in others)


# -- schemas ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Schema:
    """A DTD with a box that could be drawn on it."""

    dtd: str
    tree: SchemaTree
    box: Box | None = None

    @property
    def boxed(self) -> SchemaTree:
        return SchemaTree(self.tree.graph, (self.box,)) if self.box else self.tree


@dataclass
class _Drawing:
    random: Random
    names: list[str]
    content: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)

    def element(self, name: str, depth: int) -> None:
        self.content[name] = ""  # the root comes first
        random = self.random
        parts: list[str] = []
        leaves = random.sample(["n", "v", "w"], random.choice((0, 1, 1, 2)))
        inner = self.names[: random.choice((0, 1, 1, 2))] if depth > 0 else []
        del self.names[: len(inner)]
        for leaf in leaves:
            self.content.setdefault(leaf, "#PCDATA")
            parts.append(leaf + random.choice(("", "", "?", "*")))
        for child in inner:
            if random.random() < 0.25:
                self.text(child)
            else:
                self.element(child, depth - 1)
            parts.append(child + random.choice(("", "?", "*", "*", "*", "+")))
        if depth == 1 and random.random() < 0.15:
            shared = [known for known, content in self.content.items() if content and "#" not in content]
            parts += [shared[0] + random.choice("?*")] if shared else []
        self.attributes[name] = {
            attribute: f"CDATA {random.choice(('#REQUIRED', '#IMPLIED'))}"
            for attribute in random.sample(["k", "m", "n"], random.choice((0, 1, 1, 2)))
        }
        if not parts:
            self.content[name] = "EMPTY" if self.attributes[name] else "#PCDATA"
        elif len(parts) > 1 and random.random() < 0.12:
            members = dict.fromkeys(part.rstrip("?*+") for part in parts)
            self.content[name] = f"({' | '.join(members)}){random.choice(('', '*'))}"
        else:
            self.content[name] = "(" + ", ".join(parts) + ")"

    def relations(self, root: str) -> None:
        """Elements side by side below the root, which refer to one another by declared keys, or by one ID."""
        random = self.random
        names = self.names[:3]
        self.content[root] = "(" + ", ".join(f"{name}*" for name in names) + ")"
        one = random.choice(names) if random.random() < 0.5 else None
        for name in names:
            leaves = random.sample(["n", "v", "w"], random.choice((0, 1, 1, 2)))
            self.content.update(dict.fromkeys(leaves, "#PCDATA"))
            parts = [leaf + random.choice(("", "?", "*")) for leaf in leaves]
            self.content[name] = f"({', '.join(parts)})" if parts else "EMPTY"
            kinds = self.attributes.setdefault(name, {})
            if one is None:
                kinds["id"] = f"CDATA {random.choice(('#REQUIRED', '#REQUIRED', '#IMPLIED'))}"
                kinds["ref"] = f"CDATA {random.choice(('#REQUIRED', '#IMPLIED'))}"
            elif one == name:
                kinds["id"] = f"ID {random.choice(('#REQUIRED', '#REQUIRED', '#IMPLIED'))}"
            else:
                kinds["ref"] = f"IDREF {random.choice(('#REQUIRED', '#IMPLIED'))}"
            if random.random() < 0.5:
                kinds["k"] = f"CDATA {random.choice(('#REQUIRED', '#IMPLIED'))}"

    def text(self, name: str) -> None:
        self.content[name] = "#PCDATA"
        if self.random.random() < 0.5:
            self.attributes[name] = {"m": f"CDATA {self.random.choice(('#REQUIRED', '#IMPLIED'))}"}

    def dtd(self) -> str:
        lines = []
        for name, content in self.content.items():
            model = content if content == "EMPTY" or content.startswith("(") else f"({content})"
            lines.append(f"<!ELEMENT {name} {model}>")
            kinds = " ".join(f"{attribute} {kind}" for attribute, kind in self.attributes.get(name, {}).items())
            lines += [f"<!ATTLIST {name} {kinds}>"] if kinds else []
        return "\n".join(lines)


def random_schema(random: Random, root: str, names: str, copied: str | None = None) -> Schema:
    """A schema of depth 2 to 4, often with an ID and what refers to it, sometimes with a box to draw.

    Subtrees as ``copied`` declares them, with the root ``z``, stand in one place or two.
    """
    while True:
        drawing = _Drawing(random, list(names))
        if random.random() < 0.3:
            drawing.relations(root)
        else:
            drawing.element(root, random.choice((1, 2, 2, 3)))
        inner = [name for name, content in drawing.content.items() if name != root and "#" not in content]
        if not inner:
            continue
        boxed = random.choice([name for name in drawing.content if "#" not in drawing.content[name]])
        members: tuple[str, ...] = ()
        if random.random() < 0.35 and drawing.content[boxed].startswith("("):
            members = _draw_box(drawing, boxed)
        if random.random() < 0.5 and not any("id" in kinds for kinds in drawing.attributes.values()):
            _draw_references(drawing, inner)
        holders = [name for name in (root, *inner) if drawing.content[name].startswith("(")]
        if copied is not None:
            drawing.content.update({"n": "#PCDATA", "v": "#PCDATA"})
            for holder in random.sample(holders, min(len(holders), random.choice((1, 1, 2)))):
                drawing.content[holder] = f"({drawing.content[holder]}, z{random.choice(('', '?', '?', '*'))})"
        dtd = drawing.dtd() + (f"\n{copied}" if copied else "")
        try:
            tree = SchemaTree(parse_dtd(dtd, root))
        except HeptoxError:
            continue
        if (tree.types.recursive and not copied) or len(list(tree.walk())) > 40:
            continue
        parents = [path for path in tree.walk() if tree.is_element(path) and tree.element(path).name == boxed]
        box = Box("B", random.choice(parents), members) if members and parents else None
        return Schema(dtd, tree, box)


def _draw_box(drawing: _Drawing, parent: str) -> tuple[str, ...]:
    random = drawing.random
    parts = ["v" + random.choice(("", "?"))] if random.random() < 0.5 else []
    drawing.content.setdefault("v", "#PCDATA")
    attributes = {"k": random.choice(("CDATA #REQUIRED", "CDATA #IMPLIED"))} if random.random() < 0.6 else {}
    content = f"({', '.join(parts)})" if parts else "EMPTY"
    for member in ("x", "y"):
        drawing.content[member], drawing.attributes[member] = content, attributes
    whole = drawing.content[parent]
    if whole.endswith(")"):
        drawing.content[parent] = f"({whole}, {random.choice(('(x | y)*', 'x*, y?', '(x | y)?'))})"
        return "x", "y"
    return ()


def _draw_references(drawing: _Drawing, inner: Sequence[str]) -> None:
    random = drawing.random
    holder = random.choice(inner)
    declared = random.random() < 0.35
    drawing.attributes.setdefault(holder, {})["id"] = (
        "CDATA #REQUIRED" if declared else random.choice(("ID #REQUIRED", "ID #REQUIRED", "ID #IMPLIED"))
    )
    for name in random.sample(inner, min(len(inner), random.choice((1, 1, 2)))):
        kind = "CDATA" if declared else "IDREF"
        drawing.attributes.setdefault(name, {})["ref"] = f"{kind} {random.choice(('#REQUIRED', '#IMPLIED'))}"


# -- arrows ----------------------------------------------------------------------------------------------------------


def _written(tree: SchemaTree, path: Path) -> str:
    for box in tree.boxes:
        if path[: len(box.path)] == box.path:
            path = (box.step, *path[len(box.path) :])
    return "/".join(path)


def _written_end(random: Random, tree: SchemaTree, path: Path) -> str:
    """The path as an arrow has it: what lies in a box is reached through all its members or, at times, through one."""
    box = next((box for box in tree.boxes if path[: len(box.path)] == box.path != path), None)
    if box is None or random.random() < 0.65:
        return _written(tree, path)
    return "/".join((*box.parent, random.choice(box.members), *path[len(box.path) :]))


def random_arrows(random: Random, source: Schema, target: Schema) -> str:
    """Declarations and arrows, with faults or without."""
    lines: list[str] = []
    sides: list[SchemaTree] = []
    for side, schema in (("source", source), ("target", target)):
        tree = schema.boxed if random.random() < 0.7 else schema.tree
        sides.append(tree)
        lines += [f"{side} box B = {'/'.join((*box.parent, ''))}({' | '.join(box.members)})" for box in tree.boxes]
    lines += _declarations(random, "source", sides[0]) + _declarations(random, "target", sides[1])
    leaves = [path for path in sides[0].walk() if path and sides[0].is_leaf(path) and "z" not in path]
    ends = [path for path in sides[1].walk() if path and sides[1].is_leaf(path) and "z" not in path]
    stops = list(dict.fromkeys(sides[0].stop(path) for path in leaves))
    preferred = set(random.sample(stops, min(len(stops), random.choice((1, 2, 2, 3)))))
    likely = [path for path in leaves if sides[0].stop(path) in preferred] * 3 + leaves
    from_root = [path for path in leaves if not sides[0].stop(path)]
    without = ("@id", "@ref") if random.random() < 0.1 else ()  # identifiers are invented then
    drawn: list[tuple[Path, Path]] = []
    choosing = random.random() < 0.45
    begin_selections = Selections.random(random, sides[0]) if choosing else Selections({})
    end_selections = Selections.random(random, sides[1]) if choosing else Selections({})
    for box in sides[0].boxes:
        likely += [box.path, box.path]
    for end in [*ends, *(box.path for box in sides[1].boxes)]:
        boxed = sides[1].box(end) is not None
        begins = likely if sides[1].stop(end) else from_root
        if begins and (boxed or random.random() < 0.75) and end[-1] not in without:
            inside = any(end[: len(box.path)] == box.path != end for box in sides[1].boxes)
            several = 2 if random.random() < (0.3 if inside else 0.1) else 1
            chosen = dict.fromkeys(random.choice(begins) for _ in range(several))
            for begin in chosen:
                ends_of = begin_selections.at(begin), end_selections.at(end)
                value = _written_end(random, sides[0], ends_of[0])
                if random.random() < 0.12 and choosing:
                    value = _value(random, sides[0], begin, value)
                lines.append(f"{value} -> {_written_end(random, sides[1], ends_of[1])}{_inverse(random, value)}")
                lines[-1] += _reading(random)
                drawn.append((begin, end))
        elif choosing and not boxed and random.random() < 0.15:
            lines.append(f'"{random.choice(POOL)}" -> {_written_end(random, sides[1], end_selections.at(end))}')
    made = _entities(random, sides, (begin_selections, end_selections), drawn)
    return "\n".join([*lines, *_copies(random, *sides), *made]) + "\n"


@dataclass(frozen=True, slots=True)
class Selections:
    """The conditions by which nodes of a schema are selected, by their paths, as texts."""

    steps: dict[Path, str]

    @classmethod
    def random(cls, random: Random, tree: SchemaTree) -> Selections:
        """Conditions on one node or two."""
        found: dict[Path, str] = {}
        stops = [path for path in tree.walk() if path and tree.is_element(path) and tree.is_stop(path)]
        stops = [stop for stop in stops if tree.box(stop) is None and "z" not in stop]
        for stop in random.sample(stops, min(len(stops), random.choice((1, 1, 2)))):
            leaves = [leaf for leaf in tree.own_leaves(stop) if leaf[-1:] != ("z",)]
            if leaves:
                leaf, value = "/".join(random.choice(leaves)) or ".", random.choice(POOL)
                other = random.choice(POOL)
                several = f'{leaf} = ("{value}", "{other}")'
                plain = f'{leaf} = "{value}"', f'{leaf} != "{value}"', leaf, f"not({leaf})", several
                found[stop] = random.choices(plain, (12, 3, 2, 2, 2))[0] if leaf != "." else plain[0]
            if random.random() < 0.25 and (gathered := _repeating(random, tree, stop)):
                several = gathered if random.random() < 0.5 else f"not({gathered})"
                found[stop] = several if random.random() < 0.5 or stop not in found else f"{found[stop]} and {several}"
        return cls(found)

    def at(self, path: Path) -> Path:
        """A path with the conditions at its nodes."""
        steps = (f"{step}[{self.steps[path[:place]]}]" if path[:place] in self.steps else step
                 for place, step in enumerate(path, 1))  # fmt: skip
        return tuple(steps)


def _repeating(random: Random, tree: SchemaTree, stop: Path) -> str | None:
    """The path from a node to a leaf that repeats below it, perhaps with a condition on the way."""
    nodes = [path for path in tree.walk() if len(path) > len(stop) and path[: len(stop)] == stop]
    nodes = [path for path in nodes if tree.is_stop(path) and "z" not in path and "[B]" not in path]
    leaves = [(node, leaf) for node in nodes if tree.is_element(node) for leaf in tree.own_leaves(node)]
    if not leaves:
        return None
    node, leaf = random.choice(leaves)
    steps = list(node[len(stop) :])
    others = [other for other in tree.own_leaves(node) if other]
    if others and random.random() < 0.4:
        steps[-1] += f'[{"/".join(random.choice(others))} = "{random.choice(POOL)}"]'
    return "/".join((*steps, *leaf))


def _value(random: Random, tree: SchemaTree, leaf: Path, written: str) -> str:
    """A function of the leaf that is written so, and perhaps of another one of its node."""
    stop = tree.stop(leaf)
    above = written[: len(written) - len("/".join(leaf[len(stop) :]))]
    others = [other for other in tree.own_leaves(stop) if other and other[-1] not in ("z", "@id", "@ref", "@of")]
    other = above + "/".join(random.choice(others)) if others and "[B]" not in written and leaf != stop else '"b"'
    return random.choice((
        f'concat({written}, "-", {other})', f'concat("x", {written})', f"upper-case({written})",
        f"substring({written}, 1, 1)", f'if ({written} = "x") then {other} else {written}',
        f'if ({other} = "1") then {written} else ()', f'string-join({written}, ",")',
        f'lookup("codes.csv", {written})', f'lookup("kinds.csv", {written}, {other})',
    ))  # fmt: skip


def _inverse(random: Random, value: str) -> str:
    """Mostly nothing: what is computed does not come back."""
    if value.startswith('concat("x", '):
        return random.choice(("", ' inverse substring-after(., "x")'))
    return " inverse ." if value.startswith("string-join(") and random.random() < 0.5 else ""


def _reading(random: Random) -> str:
    """Mostly nothing: an arrow is read both ways."""
    return random.choices(("", " oneway", " mirrored"), (20, 1, 1))[0]


def _entities(
    random: Random,
    sides: Sequence[SchemaTree],
    selections: Sequence[Selections],
    drawn: Sequence[tuple[Path, Path]],
) -> Iterator[str]:
    """Lines that make a target node of each source node, between nodes that arrows connect."""
    source, target = sides
    pairs = dict.fromkeys((source.stop(begin), target.stop(end)) for begin, end in drawn)
    likely = random.choice((0.0, 0.0, 0.35, 0.9))
    made: set[Path] = set()
    for begin, end in pairs:
        if begin and end and end not in made and random.random() < likely:
            made.add(end)
            ends = (chosen.at(path) for chosen, path in zip(selections, (begin, end), strict=True))
            written = " -> ".join(map(_written, sides, ends))
            yield f"each {written}{_reading(random)}"


def _copies(random: Random, source: SchemaTree, target: SchemaTree) -> Iterator[str]:
    begins, ends = (
        [path for path in tree.walk() if path[-1:] == ("z",) and "z" not in path[:-1]] for tree in (source, target)
    )
    for end in ends:
        allowed = begins if target.stop(end) else [path for path in begins if not source.stop(path)]
        if allowed:
            begin = random.choice(allowed)
            yield f"{_written_end(random, source, begin)} => {_written_end(random, target, end)}"


def _declarations(random: Random, side: str, tree: SchemaTree) -> list[str]:
    """Keys and references of one side, and at times the connection to use."""
    ids = [path for path in tree.walk() if path and path[-1] == "@id"]
    references = [path for path in tree.walk() if path and path[-1] == "@ref"]
    declared = [key for key in ids if tree.attribute(key).type != AttributeType.ID]
    lines = [f"{side} key {_written(tree, key)}" for key in declared]
    if (len(ids) == 1 and lines) or len(ids) > 1:
        ends = [f"{_written(tree, ref)} -> {_written(tree, random.choice(ids))}" for ref in references]
        lines += [f"{side} reference {end}" for end in ends]
        lines += [f"{side} join {end}" for end in ends if random.random() < 0.15]
    if random.random() < 0.2:
        owned = [path for path in tree.walk() if path and tree.is_leaf(path) and tree.stop(path) not in ((), path)]
        lines += [f"{side} key {_written(tree, random.choice(owned))}"] if owned else []
    return lines


# -- queries ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Bound:
    """A variable of a query, with the schema node that it stands for, and maybe others when it is not ``named``."""

    name: str
    node: Path
    named: bool = True


@dataclass(frozen=True, slots=True)
class QueryMaker:
    """Random queries over one schema tree.

    ``numeric`` are the leaves that may be compared with numbers, ``carried`` those that arrows reach or leave; they are
    asked for more often than others.
    """

    random: Random
    tree: SchemaTree
    numeric: frozenset[Path]
    carried: frozenset[Path]
    copied: frozenset[Path]
    """Inner nodes that are copied whole, which may be returned and compared."""

    @classmethod
    def asking(cls, random: Random, problem: Problem, to: Direction) -> QueryMaker:
        """Queries of the peer that is answered by side ``to``, about images of its documents."""
        made = making(problem.mapping, to)
        heads = [head for rule in made.rules for head in rule.head]
        carried = frozenset((*plain(head.node), *leaf) for head in heads for leaf in head.paths)
        numeric = _surely(made.target, _numeric(made))
        return cls(random, made.target, numeric, carried, frozenset(filter(_is_copied, carried)))

    @classmethod
    def of_documents(cls, random: Random, problem: Problem) -> QueryMaker:
        """Queries of the source about its own documents."""
        tree = problem.mapping.source
        numeric = _surely(tree, frozenset(path for path in tree.walk() if _leaf_name(path) in NUMERIC))
        rules = problem.mapping.rules
        carried = {path for rule in map(with_plain_nodes, rules) for path in spoken_leaves(rule)}
        return cls(random, tree, numeric, frozenset(carried), frozenset(filter(_is_copied, carried)))

    def query(self) -> str:
        """A query as text."""
        kind = self.random.random()
        if kind < 0.15:
            return self.bare()
        if kind < 0.22:
            return f"({self.flwor()}, {self.flwor()})"
        if kind < 0.26:
            return self.from_root(self.random.choice([node for node in self.nodes() if node] or [()]))
        return self.flwor()

    # -- paths -----------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def leaves(self) -> list[Path]:
        found = [path for path in self.tree.walk() if path and self.tree.is_leaf(path)]
        return [path for path in found if path in self.carried] * 5 + found

    def step(self, path: Path) -> str:
        box = self.tree.box(path)
        if box is not None:
            return self.random.choice(("*", "*", *box.members, "_x0031_", "_x0000_", f"({'|'.join(box.members)})"))
        if path[-1].startswith("@") or path[-1] == TEXT:
            return path[-1] if path[-1] == TEXT or not self.chance(0.05) else "@*"
        if self.chance(0.03):
            names = [child[-1] for child in self.tree.children(path[:-1]) if self.tree.is_element(child)]
            return f"({'|'.join(dict.fromkeys((path[-1], *(name for name in names if name[0] != '['))))})"
        return path[-1] if not self.chance(0.07) else "*"

    def steps(self, path: Path, above: int) -> str:
        if len(path) > above and self.chance(0.07):
            start = self.random.randint(above + 1, len(path))
            return f"//{self.step(path[:start])}" + self.steps(path, start)
        return "".join("/" + self.step(path[:length]) for length in range(above + 1, len(path) + 1))

    def from_root(self, path: Path) -> str:
        if not path:
            return f"/{self.tree.root}"
        if self.chance(0.6):
            start = self.random.randint(0, len(path) - 1)
            first = self.step(path[: start + 1])
            return f"//{first}" + self.steps(path, start + 1)
        return f"/{self.tree.root}" + self.steps(path, 0)

    def bare(self) -> str:
        path = self.random.choice(self.leaves())
        owner = self.tree.stop(path)
        if owner and owner != path and self.chance(0.6):
            context = _Bound(".", owner)
            predicate = "".join(f"[{self.condition([context])}]" for _ in range(self.random.choice((1, 1, 2))))
            return f"{self.from_root(owner)}{predicate}{self.steps(path, len(owner))}"
        return self.from_root(path) + (
            "/text()" if path[-1][0] != "@" and path[-1] != TEXT and self.chance(0.1) else ""
        )

    # -- flwor -----------------------------------------------------------------------------------------------------

    def flwor(self) -> str:
        bound: list[_Bound] = []
        clauses = []
        for number in range(self.random.choice((1, 1, 2, 2, 2, 3))):
            name = f"${'xyz'[number]}"
            text, node = self.clause(bound)
            if self.chance(0.06):
                clauses.append(f"let ${'abc'[number]} := {text} for {name} in ${'abc'[number]}")
            else:
                clauses.append(f"for {name} in {text}")
            bound.append(_Bound(name, node, named="*" not in text and "|" not in text))
        conditions = [self.condition(bound) for _ in range(self.random.choice((0, 0, 1, 1, 2)))]
        for one, other in pairwise(bound):
            if other.node[: len(one.node)] != one.node and self.chance(0.5):
                conditions += self.joining(one, other)
        where = f" where {' and '.join(conditions)}" if conditions else ""
        return f"{' '.join(clauses)}{where} return {self.item(bound)}"

    def joining(self, one: _Bound, other: _Bound) -> list[str]:
        lefts, rights = self.single(one), self.single(other)
        if not lefts or not rights:
            return []
        if self.chance(0.3):
            lefts, rights = _identifiers(lefts) or lefts, _identifiers(rights) or rights
        return [f"{self.random.choice(lefts)} = {self.random.choice(rights)}"]

    def nodes(self) -> list[Path]:
        """Nodes that a variable may stand for: stop nodes mostly, inner nodes and leaves now and then."""
        paths = [path for path in self.tree.walk() if self.tree.is_element(path)]
        stops = [path for path in paths if path and self.tree.is_stop(path)]
        carried = [path for path in stops if any(leaf[: len(path)] == path for leaf in self.carried)]
        return carried * 8 + stops * 2 + paths

    def clause(self, bound: Sequence[_Bound]) -> tuple[str, Path]:
        if bound and self.chance(0.55):
            above = self.random.choice(bound)
            below = [node for node in self.nodes() if node[: len(above.node)] == above.node and node != above.node]
            if below:
                node = self.random.choice(below)
                return self.restricted(f"{above.name}{self.steps(node, len(above.node))}", node, bound), node
        node = self.random.choice(self.nodes())
        return self.restricted(self.from_root(node), node, bound), node

    def restricted(self, text: str, node: Path, bound: Sequence[_Bound]) -> str:
        """The path with a predicate now and then, which may speak of variables that are bound before."""
        if not node or self.chance(0.85):
            return text
        context = _Bound(".", node)
        if bound and self.chance(0.6) and (found := self.between(context, [self.random.choice(bound)])):
            return f"{text}[{found}]"
        return f"{text}[{self.condition([context])}]"

    def single(self, bound: _Bound, numeric: bool = False) -> list[str]:
        """Paths to single-valued leaves of a variable."""
        found = []
        if self.tree.is_leaf(bound.node) and bound.node:
            paths: list[Path] = [()] if bound.named or not numeric else []
        else:
            paths = [
                path[len(bound.node) :]
                for path in self.tree.walk(bound.node)
                if self.tree.is_leaf(path)
                and path != bound.node
                and not any(self.tree.is_stop(path[:length]) for length in range(len(bound.node) + 1, len(path) + 1))
            ]
        for path in paths:
            if not numeric or (*bound.node, *path) in self.numeric:
                text = "/".join((bound.name, *path)) if bound.name != "." or not path else "/".join(path)
                found += [text] * (6 if (*bound.node, *path) in self.carried else 1)
        return found

    def repeating(self, bound: _Bound, numeric: bool = False) -> list[str]:
        """Paths to leaves that repeat below a variable."""
        if not self.tree.is_element(bound.node):
            return []
        found = []
        for path in self.tree.walk(bound.node):
            inside = any(self.tree.is_stop(path[:length]) for length in range(len(bound.node) + 1, len(path) + 1))
            if path != bound.node and self.tree.is_leaf(path) and inside and (not numeric or path in self.numeric):
                text = bound.name + self.steps(path, len(bound.node))
                found += [_relative(text)] * (4 if path in self.carried else 1)
        return found

    # -- conditions ------------------------------------------------------------------------------------------------

    def condition(self, bound: Sequence[_Bound]) -> str:
        if self.chance(0.12):
            return f"({self.simple(bound)} or {self.simple(bound)})"
        return self.simple(bound)

    def simple(self, bound: Sequence[_Bound]) -> str:
        variable = self.random.choice(bound)
        makers: list[Callable[[_Bound], str | None]] = [
            self.with_literal,
            self.with_literal,
            self.with_number,
            *([self.by_function] if FUNCTIONS else []),
            self.by_value,
            lambda variable: self.between(variable, bound),
            lambda variable: self.between(variable, bound),
            self.empty,
            self.exists,
            self.unreferred,
            self.with_text,
            lambda variable: self.copies(variable, bound),
            lambda variable: self.copies(variable, bound),
        ]
        for _ in range(8):
            found = self.random.choice(makers)(variable)
            if found is not None:
                return found
        return "'1' = '1'"

    def operand(self, variable: _Bound, numeric: bool = False) -> str | None:
        if not numeric and self.tree.box(variable.node) is not None and self.chance(0.4):
            return tag_value_form(variable.name)
        several = self.repeating(variable, numeric) if self.chance(0.3) else []
        options = several or self.single(variable, numeric)
        return self.random.choice(options) if options else None

    def operator(self) -> str:
        return self.random.choice(("=", "=", "=", "!=", "<", "<=", ">", ">="))

    def with_literal(self, variable: _Bound) -> str | None:
        left = self.operand(variable)
        value = self.random.choice(("1", "2", "", "x", "y", "v"))
        return None if left is None else f"{left} {self.operator()} '{value}'"

    def by_function(self, variable: _Bound) -> str | None:
        """A function of what has one value, and of the beginning of a string."""
        options = self.single(variable) + ([tag_value_form(variable.name)] * 2 if self.tree.box(variable.node) else [])
        value = self.random.choice(("1", "2", " ", "x", "a ", "v", "10"))
        return f"{self.random.choice(tuple(FUNCTIONS))}({self.random.choice(options)}, '{value}')" if options else None

    def by_value(self, variable: _Bound) -> str | None:
        """A condition on what is computed of one value, or two of one node."""
        options = [option for option in self.single(variable) if "*" not in option and "|" not in option]
        if not options:
            return None
        value, computed = self.random.choice(("1", "2", "x", "X", "y", "x-1")), self.computed(options)
        test = self.random.choice(("contains", "ends-with"))
        return self.random.choice((
            f"{computed} {self.operator()} '{value}'", f"{test}({computed}, '{value}')",
            f"not({test}({self.random.choice(options)}, '{value}'))",
        ))  # fmt: skip

    def computed(self, options: Sequence[str]) -> str:
        """A function of one of some paths, or of two of one node."""
        one = self.random.choice(options)
        other = self.random.choice([path for path in options if path.split("/")[0] == one.split("/")[0]])
        return self.random.choice((
            f"upper-case({one})", f"concat({one}, '-', {other})", f"substring({one}, 1, 1)", f"normalize-space({one})",
        ))  # fmt: skip

    def with_number(self, variable: _Bound) -> str | None:
        left = self.operand(variable, numeric=True)
        if left is None or "*" in left or "|" in left:
            return None
        return f"{left} {self.operator()} {self.random.choice(('1', '2', '5'))}"

    def between(self, variable: _Bound, bound: Sequence[_Bound]) -> str | None:
        left, right = self.operand(variable), self.operand(self.random.choice(bound))
        return None if left is None or right is None else f"{left} {self.operator()} {right}"

    def empty(self, variable: _Bound) -> str | None:
        if self.chance(0.4) and (below := self.below(variable)):
            with_value = self.chance(0.3) and self.single(_Bound(".", below))
            predicate = ""
            if with_value:
                operator = "=" if self.chance(0.7) else self.operator()
                other = self.random.choice(with_value) if self.chance(0.1) else f"'{self.random.choice('12xv')}'"
                predicate = f"[{self.random.choice(with_value)} {operator} {other}]"
            return f"empty({_relative(variable.name + self.steps(below, len(variable.node)))}{predicate})"
        options = self.single(variable)
        if not options:
            return None
        option = self.random.choice(options)
        text = "/text()" if self.chance(0.15) and "@" not in option and not option.endswith(TEXT) else ""
        return f"empty({option}{text})"

    def unreferred(self, variable: _Bound) -> str | None:
        """That no node refers to this one, or is referred to by it."""
        mine = _identifiers(self.single(variable))
        ends = [path for path in self.tree.walk() if path[-1:] in (("@id",), ("@ref",)) and self.tree.stop(path)]
        others = [path for path in ends if self.tree.stop(path) == path[:-1]]
        if not mine or not others:
            return None
        other = self.random.choice(others)
        return f"empty({self.from_root(other[:-1])}[{other[-1]} = {self.random.choice(mine)}])"

    def copies(self, variable: _Bound, bound: Sequence[_Bound]) -> str | None:
        mine, others = self.whole([variable]), self.whole(bound)
        if not mine:
            return None
        copy = self.random.choice(mine)
        kind = self.random.random()
        if kind < 0.3:
            return f"deep-equal({copy}, {self.random.choice(others)})"
        return f"empty({copy})" if kind < 0.5 else f"exists({copy}{self.random.choice(('', '/h', '//h'))})"

    def exists(self, variable: _Bound) -> str | None:
        if self.chance(0.4) and (below := self.below(variable)):
            return f"exists({_relative(variable.name + self.steps(below, len(variable.node)))})"
        option = self.operand(variable)
        return None if option is None or option.startswith("data(") else f"exists({option})"

    def below(self, variable: _Bound) -> Path | None:
        """A node or leaf below a variable."""
        if not self.tree.is_element(variable.node):
            return None
        found = [path for path in self.tree.walk(variable.node) if path != variable.node]
        return self.random.choice(found) if found else None

    def with_text(self, variable: _Bound) -> str | None:
        left = self.operand(variable)
        if left is None or left.startswith("data(") or "@" in left or left.endswith(TEXT):
            return None
        return f"{left}/text() {self.operator()} '{self.random.choice(('1', '', 'x'))}'"

    # -- items -----------------------------------------------------------------------------------------------------

    def whole(self, bound: Sequence[_Bound]) -> list[str]:
        """Paths to copied nodes that are single-valued from one of the variables."""
        return [
            "/".join((variable.name, *node[len(variable.node) :]))
            for variable in bound
            for node in sorted(self.copied)
            if self.tree.stop(node) == self.tree.stop(variable.node) and node[: len(variable.node)] == variable.node
        ]

    def item(self, bound: Sequence[_Bound]) -> str:
        copies = self.whole(bound)
        if copies and self.chance(0.4):
            copy = self.random.choice(copies)
            kind = self.random.random()
            below = "" if kind < 0.6 else self.random.choice(("/h", "/n", "/*", "//h", "//v", "/h/text()", "/@m"))
            return f"{copy}{below}" if self.chance(0.5) else f"<r>{{{copy}{below}}}</r>"
        options = [path for variable in bound for path in self.single(variable)]
        if self.chance(0.15):
            options += [path for variable in bound for path in self.repeating(variable)]
        if not options or self.chance(0.05):
            return "<r/>"
        boxed = [variable.name for variable in bound if self.tree.box(variable.node) is not None]
        if boxed and self.chance(0.3):
            value = tag_value_form(self.random.choice(boxed))
            return value if self.chance(0.3) else f"<r>{{{value}}}{self.slot(self.random.choice(options))}</r>"
        path = self.random.choice(options)
        kind = self.random.random()
        if kind < 0.3:
            return path
        if kind < 0.4:
            return f"data({path})"
        if kind < 0.45:
            return f"text {{data({path})}}"
        if kind < 0.5:
            return f"attribute a {{data({path})}}"
        plain = [option for option in options if "*" not in option and "|" not in option]
        if plain and self.chance(0.06):
            return f"<r><i>{{{self.computed(plain)}}}</i></r>"
        slots = "".join(self.slot(self.random.choice(options)) for _ in range(self.random.choice((1, 2, 2, 3))))
        attribute = f' a="{{data({self.random.choice(options)})}}"' if self.chance(0.2) else ""
        attributes = [option for option in options if option.rpartition("/")[2].startswith("@")]
        first = f"{{{self.random.choice(attributes)}}}" if attributes and self.chance(0.2) else ""
        if self.chance(0.4):
            slots += self.nested(bound)
        return f"<r{attribute}>{first}{slots}</r>"

    def nested(self, bound: Sequence[_Bound], depth: int = 0) -> str:
        """What hangs below a variable, or is joined with one: a path, or a loop with items of its own."""
        one = self.random.choice(bound)
        below = [node for node in self.nodes() if node[: len(one.node)] == one.node and node != one.node]
        if below and self.chance(0.7):
            node = self.random.choice(below)
            source = self.restricted(f"{one.name}{self.steps(node, len(one.node))}", node, bound)
        else:
            node = self.random.choice(self.nodes())
            source = self.restricted(self.from_root(node), node, bound)
        if self.chance(0.3):
            return f"{{{source}}}"
        inner = _Bound(f"${'vw'[depth]}", node, named="*" not in source and "|" not in source)
        conditions = [self.condition([*bound, inner])] if self.chance(0.3) else []
        conditions += self.joining(one, inner) if self.chance(0.5) else []
        where = f" where {' and '.join(conditions)}" if conditions else ""
        options = self.single(inner) + (self.single(one) if self.chance(0.2) else [])
        slot = self.slot(self.random.choice(options)) if options else ""
        more = self.nested([*bound, inner], 1) if depth == 0 and self.chance(0.3) else ""
        return f"{{for {inner.name} in {source}{where} return <n>{slot}{more}</n>}}"

    def slot(self, path: str) -> str:
        kind = self.random.random()
        if kind < 0.5 and "@" not in path:
            return f"{{{path}}}"
        if kind < 0.8:
            return f"<i>{{data({path})}}</i>"
        if kind < 0.9 and path.count("/"):
            made = self.random.choice(("<j>{data($u)}</j>", "data($u)", "text {data($u)}"))
            return f"{{for $u in {path} return {made}}}"
        return f"{{data({path})}}" + self.random.choice(("-", "", "<k/>"))
