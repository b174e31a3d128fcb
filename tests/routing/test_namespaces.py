"""Names in namespaces are names like any others: nothing about routes depends on what they are."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random

import pytest

from heptox.errors import DisseminationError
from heptox.matching import LinearPath, MemoryMatcher, Step
from heptox.pattern import PatternNode, TreePattern
from heptox.routing import Conformity, Overlaps, advertised, from_bytes, merged, to_bytes
from heptox.routing.encoding import _NAME, _written_name
from heptox.schema import Cardinality, Child, Element, SchemaGraph, parse_dtd, random_document, read_schema
from heptox.xml import parse_document, write_element
from tests.support.filtering.making import outside
from tests.support.namespaces import Colliding
from tests.support.routing.checking import coverings_over
from tests.support.routing.making import loosened, random_paths, random_subscription
from tests.support.routing.schemas import schema_of


def named_test(test: str, naming: Colliding) -> str:
    if test in ("*", "@*", "text()"):
        return test
    return f"@{naming.attribute(test[1:])}" if test.startswith("@") else naming.element(test)


def named_path(path: LinearPath, naming: Colliding) -> LinearPath:
    return LinearPath(tuple(Step(axis, named_test(test, naming)) for axis, test in path.steps))


def named_pattern(pattern: TreePattern, naming: Colliding) -> TreePattern:
    def node(found: PatternNode) -> PatternNode:
        return replace(found, test=named_test(found.test, naming), children=tuple(map(node, found.children)))

    return TreePattern(tuple(map(node, pattern.children)))


@cache
def check(seed: int) -> Counter[str]:
    random, naming, counts = Random(seed), Colliding(seed), Counter[str]()
    schema = schema_of(random)
    plain, named = advertised(schema), advertised(naming.graph(schema))
    assert from_bytes(to_bytes(named)) == named
    assert to_bytes(from_bytes(to_bytes(named))) == to_bytes(named)
    paths = [*random_paths(random, 20)]
    overlaps, named_overlaps = Overlaps(plain), Overlaps(named)
    for path in paths:
        assert overlaps.path(path) == named_overlaps.path(named_path(path, naming))
        counts["overlapping"] += overlaps.path(path)
    for general in [loosened(random, random.choice(paths)) for _ in range(10)]:
        for special in paths[:10]:
            other = named_path(general, naming), named_path(special, naming)
            for coverings, named_coverings in zip(coverings_over(plain), coverings_over(named), strict=True):
                covers = bool(coverings.path(general, special))
                assert covers == bool(named_coverings.path(*other))
                counts["covered"] += covers
                counts["pairs"] += 1
    found = {frozenset(named_path(path, naming) for path in merger.members) for merger in merged(paths)}
    assert found == {frozenset(merger.members) for merger in merged([named_path(path, naming) for path in paths])}
    counts["mergers"] += len(found)
    subscriptions = [random_subscription(random, 0.2) for _ in range(20)]
    matcher = MemoryMatcher()
    for number, patterns in enumerate(subscriptions):
        matcher.add(number, tuple(named_pattern(pattern, naming) for pattern in patterns))
    may_match = {
        number
        for number, patterns in enumerate(subscriptions)
        if any(named_overlaps.pattern(named_pattern(pattern, naming)) for pattern in patterns)
    }
    for _ in range(6):
        text = random_document(schema, random, repeats=2, elements=12)
        if random.random() < 0.5:
            text = outside(random, write_element(parse_document(text).root), schema)
        document = parse_document(naming.document(text, random.getrandbits(30)))
        fits = Conformity(named).first_misfit(document) is None
        assert fits == (Conformity(plain).first_misfit(parse_document(text)) is None)
        if fits:
            matched = set(matcher.match(document).tolist())
            assert matched <= may_match
            counts["matched"] += len(matched)
        counts["fitting"] += fits
        counts["documents"] += 1
    return counts


@pytest.mark.parametrize("seed", range(40))
def test_decisions_do_not_depend_on_names(seed: int) -> None:
    assert check(seed)["pairs"] == 300


def test_cases_are_of_all_kinds() -> None:
    counts = sum((check(seed) for seed in range(40)), Counter[str]())
    assert 0.1 < counts["covered"] / counts["pairs"] < 0.9
    assert 0.2 < counts["fitting"] / counts["documents"] < 0.9
    assert min(counts["overlapping"], counts["matched"], counts["mergers"]) > 100


@pytest.mark.parametrize("name", ["{urn:a}b", "{http://two.example/a%20b?c=d&e='f'}g", "{a^b~c}d", "{ }é", "{\ue000}x"])
def test_names_are_written_so_that_earlier_versions_take_them_for_names(name: str) -> None:
    graph = SchemaGraph(name, {name: Element(name)})
    assert _NAME.fullmatch(_written_name(name))
    assert from_bytes(to_bytes(advertised(graph))).root == name


@pytest.mark.parametrize("name", ["~", "~a", "~~b", "~urn:a~b", "~^41^~b", "~a~", "~^110000^~b", "~a~{b"])
def test_names_that_are_written_otherwise_are_none(name: str) -> None:
    data = to_bytes(advertised(parse_dtd("<!ELEMENT a EMPTY>"))).replace(b'"a"', f'"{name}"'.encode())
    with pytest.raises(DisseminationError, match="is no name"):
        from_bytes(data)


def test_what_may_hold_anything_is_not_advertised() -> None:
    def graph(open_name: str) -> SchemaGraph:
        children = (Child("b", Cardinality.MANY),)
        elements = {name: Element(name, children if name == "a" else (), open=name == open_name) for name in "abc"}
        return SchemaGraph("a", elements)

    assert advertised(graph("c")).root == "a", "it is in no document"
    for name in "ab":
        with pytest.raises(DisseminationError, match=f"HX9030 anything may stand in {name}"):
            advertised(graph(name))


def test_types_of_one_name_are_advertised_as_one() -> None:
    elements = {
        "a": Element("a", (Child("b", Cardinality.ONE, "b of a"), Child("c", Cardinality.ONE))),
        "b of a": Element("b", text=True, type="b of a"),
        "c": Element("c", (Child("b", Cardinality.ONE),)),
        "b": Element("b", (Child("d", Cardinality.ONE),)),
        "d": Element("d"),
    }
    found = advertised(SchemaGraph("a", elements))
    conformity = Conformity(found)
    assert sorted(found.elements) == ["a", "b", "c", "d"]
    assert conformity.first_misfit(parse_document("<a><b>x</b><c><b><d/></b></c></a>")) is None


def test_documents_that_say_where_their_xsd_is_keep_to_its_advertisement(tmp_path: Path) -> None:
    text = '<xs:element name="r" type="xs:string"/></xs:schema>'
    (tmp_path / "r.xsd").write_text(f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">{text}', encoding="utf-8")
    found = advertised(read_schema(tmp_path / "r.xsd"))
    location = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="r.xsd"'
    assert Conformity(found).first_misfit(parse_document(f"<r {location} xsi:type='xs:string'>x</r>")) is None
    asked = LinearPath((Step("//", "@{http://www.w3.org/2001/XMLSchema-instance}noNamespaceSchemaLocation"),))
    assert Overlaps(found).path(asked)
