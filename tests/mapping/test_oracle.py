"""Exchange against section 5 of the specification taken word by word: nested loops, no plans, no sharing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from pathlib import Path
from random import Random
from typing import Final, TypeAlias

import pytest

from heptox.mapping import Mapping, Rule, exchange, parse_mapping_arrows
from heptox.pattern import TAG, Comparison, Term
from heptox.schema import TEXT, Path as SchemaPath, SchemaTree
from heptox.xmlio import XmlElement, parse_document
from tests.mapping.building import as_set, mapping, text_set
from tests.support import evaluate, random_document

DATA: Final = Path(__file__).parents[3] / "shared" / "data"

Binding: TypeAlias = dict[str, XmlElement]
Identity: TypeAlias = tuple[Hashable, ...]


def steps(tree: SchemaTree, element: XmlElement, start: SchemaPath, path: SchemaPath) -> Iterator[XmlElement]:
    """The elements at a path below an element; a box is every child that is in it."""
    if not path:
        yield element
        return
    here = (*start, path[0])
    for child in element:
        name = str(child.tag)
        if (tree.box(here) and tree.value_of_tag(here, name) is not None) or (not tree.box(here) and name == path[0]):
            yield from steps(tree, child, here, path[1:])


def value(tree: SchemaTree, element: XmlElement, node: SchemaPath, path: SchemaPath) -> str | None:
    if path[-1:] == (TAG,):
        return tree.value_of_tag(node, str(element.tag))
    leaf = path[-1] if path and (path[-1].startswith("@") or path[-1] == TEXT) else None
    inner = path[:-1] if leaf else path
    for found in steps(tree, element, node, inner):
        if leaf is None:
            return found.text or ""
        return (found.text or None) if leaf == TEXT else found.get(leaf[1:])
    return None


def all_bindings(rule: Rule, tree: SchemaTree, root: XmlElement) -> Iterator[Binding]:
    def extend(binding: Binding, rest: tuple[int, ...]) -> Iterator[Binding]:
        if not rest:
            yield binding
            return
        variable = rule.variables[rest[0]]
        assert variable.parent is not None
        above = rule.node(variable.parent)
        for element in steps(tree, binding[variable.parent], above, variable.node[len(above) :]):
            yield from extend({**binding, variable.name: element}, rest[1:])

    for binding in extend({rule.variables[0].name: root}, tuple(range(1, len(rule.variables)))):
        if all(holds(condition, rule, tree, binding) for condition in rule.conditions):
            yield binding


def holds(condition: object, rule: Rule, tree: SchemaTree, binding: Binding) -> bool:
    assert isinstance(condition, Comparison)
    assert isinstance(condition.right, Term)
    left, right = (
        value(tree, binding[term.variable], rule.node(term.variable), term.path)
        for term in (condition.left, condition.right)
    )
    return left is not None and left == right


def by_the_letter(rules: Mapping, root: XmlElement) -> tuple[Hashable, Counter[SchemaPath]]:
    """The image as a set, and how many nodes it has: every head node that exists, by its whole identity."""
    numbers = {element: number for number, element in enumerate(root.iter())}
    leaves: dict[tuple[Identity, SchemaPath], str] = {}
    nodes: dict[Identity, SchemaPath] = {("document",): ()}
    for rule in rules.rules:
        for binding in all_bindings(rule, rules.source, root):
            identity: Identity = ("document",)
            chain: list[tuple[Identity, SchemaPath, dict[SchemaPath, str]]] = []
            for node in rule.head:
                arguments: list[Hashable] = []
                present: dict[SchemaPath, str] = {}
                for path, term in node.leaves:
                    owner, start = binding[term.variable], rule.node(term.variable)
                    found = value(rules.source, owner, start, term.path)
                    null = ("null", numbers[owner], start + term.path)
                    arguments.append((path, null if found is None else ("value", found)))
                    if found is not None:
                        present[path] = found
                if node.node:
                    identity = (identity, node.node, tuple(arguments))
                if rules.target.box(node.node) and (TAG,) not in present:
                    break
                chain.append((identity, node.node, present))
            for place, (made, node_path, present) in enumerate(chain):
                if any(below for _, _, below in chain[place:]):
                    nodes[made] = node_path
                    leaves.update({(made, path): found for path, found in present.items()})
    return element_set(rules.target, ("document",), (), nodes, leaves), Counter(nodes.values())


def element_set(
    tree: SchemaTree, identity: Identity, below: SchemaPath, nodes: dict[Identity, SchemaPath],
    leaves: dict[tuple[Identity, SchemaPath], str],
) -> Hashable:  # fmt: skip
    """What stands at the path ``below`` of a node, in the form of ``as_set``."""
    path = nodes[identity] + below
    own = {leaf: found for (node, leaf), found in leaves.items() if node == identity}
    tag = tree.tag_of_value(path, own[(TAG,)]) if tree.box(path) else path[-1] if path else tree.root
    attributes = {
        leaf[-1][1:]: found for leaf, found in own.items() if leaf[:-1] == below and leaf and leaf[-1][0] == "@"
    }
    text = own.get((*below, TEXT), own.get(below, ""))
    children: set[Hashable] = set()
    for child in tree.children(path):
        if not tree.is_element(child):
            continue
        if tree.is_stop(child):
            children |= {
                element_set(tree, node, (), nodes, leaves) for node in nodes
                if nodes[node] == child and node[0] == identity
            }  # fmt: skip
        elif (
            any(leaf[: len(below) + 1] == (*below, child[-1]) for leaf in own)
            or any(nodes[node][: len(child)] == child and node[0] == identity for node in nodes)
        ):  # fmt: skip
            children.add(element_set(tree, identity, (*below, child[-1]), nodes, leaves))
    return tag, frozenset(attributes.items()), text, frozenset(children)


SOURCE: Final = """<!ELEMENT s (title?, info?, a*, b*, c*)> <!ELEMENT title (#PCDATA)> <!ELEMENT info (from?)>
<!ELEMENT from (#PCDATA)> <!ELEMENT a (x, y?, part?, e*, f*)> <!ATTLIST a id CDATA #REQUIRED to CDATA #IMPLIED>
<!ELEMENT x (#PCDATA)> <!ELEMENT y (#PCDATA)> <!ELEMENT part (z?, w*)> <!ELEMENT z (#PCDATA)> <!ELEMENT w (#PCDATA)>
<!ELEMENT e (red | green)*> <!ELEMENT red (n?)> <!ELEMENT green (n?)> <!ELEMENT n (#PCDATA)>
<!ELEMENT f (#PCDATA)> <!ATTLIST f k CDATA #IMPLIED>
<!ELEMENT b (x?)> <!ATTLIST b no CDATA #REQUIRED a CDATA #IMPLIED> <!ELEMENT c (y)> <!ATTLIST c b CDATA #IMPLIED>"""
TARGET: Final = """<!ELEMENT t (head?, list*, (one | two)*)> <!ATTLIST t v CDATA #IMPLIED> <!ELEMENT head (h?)>
<!ELEMENT h (#PCDATA)> <!ELEMENT list (k?, more?, item*)> <!ATTLIST list n CDATA #IMPLIED> <!ELEMENT k (#PCDATA)>
<!ELEMENT more (l?, m*)> <!ELEMENT l (#PCDATA)> <!ELEMENT m (#PCDATA)> <!ELEMENT item (#PCDATA)>
<!ATTLIST item c CDATA #IMPLIED> <!ELEMENT one (p?, q*)> <!ELEMENT two (p?, q*)> <!ELEMENT p (#PCDATA)>
<!ELEMENT q (u?)> <!ELEMENT u (#PCDATA)>"""
DECLARED: Final = """source key a/@id
source key b/@no
source reference b/@a -> a/@id
source reference c/@b -> b/@no
source box Colour = a/e/(red | green)
target box Kind = (one | two)
[Colour] -> [Kind]
"""
FROM_ROOT: Final = ("title", "info/from")
TO_ROOT: Final = ("@v", "head/h")
LEAVES: Final = ("a/x", "a/y", "a/@id", "a/part/z", "a/part/w", "a/f/text()", "a/f/@k", "[Colour]", "[Colour]/n", "b/x",
                 "b/@no", "c/y", "title")  # fmt: skip
ENDS: Final = ("list/k", "list/@n", "list/more/l", "list/more/m", "list/item/text()", "list/item/@c", "[Kind]/p",
               "[Kind]/q/u")  # fmt: skip
VALUES: Final[dict[tuple[str, ...] | str, tuple[str, ...]]] = {
    **dict.fromkeys("xyzwnf", ("1", "2", "")),
    **dict.fromkeys(("@id", "@no", "@a", "@b"), ("1", "2", "3")),
}


def random_mapping(random: Random) -> Mapping:
    """Some arrows at random; each leaf of the target takes one or two."""
    arrows = [f"{random.choice(FROM_ROOT)} -> {end}" for end in TO_ROOT if random.random() < 0.5]
    for end in random.sample(ENDS, random.randint(1, 5)):
        several = 2 if random.random() < 0.2 else 1
        arrows += [f"{begin} -> {end}" for begin in random.sample(LEAVES, several)]
    return mapping(SOURCE, TARGET, DECLARED + "\n".join(arrows))


@pytest.mark.parametrize("seed", range(30))
def test_random_mappings_of_random_documents(seed: int) -> None:
    random = Random(seed)
    rules = random_mapping(random)
    sizes = set()
    for _ in range(8):
        text = random_document(rules.source.graph, random, values=VALUES, repeats=3, elements=25, pool=("1", "2", ""))
        document = parse_document(text)
        made = exchange(rules, document).root
        expected, nodes = by_the_letter(rules, document.root)
        assert as_set(made) == expected, text
        assert {node: len(list(steps(rules.target, made, (), node))) for node in nodes} == nodes, text
        sizes.add(sum(nodes.values()))
    assert len(sizes) > 1, "the documents must differ in their images"


COURSES: Final = """
source "uwm-derived.dtd" root root
target "reed.dtd" root root
course_listing/course -> course/crse
course_listing/title -> course/title
course_listing/section_listing/section -> course/sect
course_listing/section_listing/instructor -> course/instructor
course_listing/section_listing/hours/start -> course/time/start_time
course_listing/section_listing/bldg_and_rm/rm -> course/place/room
"""


def test_a_real_catalogue_of_courses() -> None:
    rules = parse_mapping_arrows(COURSES, DATA / "courses")
    text = (DATA / "courses" / "uwm.xml").read_text(encoding="iso-8859-1")
    query = """
<root>{ for $course in /root/course_listing, $section in $course/section_listing
  group by $number := string($course/course), $name := string($section/section), $title := string($course/title),
    $teacher := string($section/instructor), $start := string($section/hours/start),
    $room := string($section/bldg_and_rm/rm)
  return <course><crse>{ $number }</crse><sect>{ $name }</sect><title>{ $title }</title>
    <instructor>{ $teacher }</instructor><time><start_time>{ $start }</start_time></time>
    <place><room>{ $room }</room></place></course> }</root>"""
    document = text[text.index("<root>") :]
    (expected,) = evaluate(query, document)
    made = exchange(rules, parse_document(document)).root
    assert len(made) > 4000
    assert as_set(made) == text_set(expected)
