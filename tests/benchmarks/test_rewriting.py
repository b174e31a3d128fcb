"""The benchmark of rewriting measures what it says, on less than it does."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from benchmarks.rewriting.__main__ import main
from benchmarks.rewriting.documents import MOST_BEYOND, document
from benchmarks.rewriting.emulation import (
    LINEAR,
    LINEAR_LEAF,
    TREE,
    DisagreementError,
    Topology,
    Work,
    response,
    work_of,
)
from benchmarks.rewriting.experiments import Network, Sizes, over
from benchmarks.rewriting.front_end import IDDR, NDDR, PLAIN, REWRITTEN, front_end
from benchmarks.rewriting.inference import found_again
from benchmarks.rewriting.joining import joining
from benchmarks.rewriting.peers import Given, responses
from benchmarks.rewriting.routers import Handled, Parcel, Router
from benchmarks.rewriting.schemas import MIX, SCHEMAS, Schema, catalogue, global_schema, mappings, schemas
from benchmarks.rewriting.subscriptions import MOST_STEPS, PATHS, domain_subscriptions
from benchmarks.rewriting.tables import measurements
from benchmarks.translation import block
from heptox.grammar import parse_subscription
from heptox.mapping import exchange
from heptox.pattern import PatternNode
from heptox.rewriting import Publisher, Strategy
from heptox.schema import parse_dtd, validity_faults
from heptox.xml import parse_document
from tests.support.rewriting.ways import as_set
from tools.console import ROOT

PAGE = ROOT / "docs" / "rewriting.md"
KINDS = ("Rename", "Insert", "ToElement", "Upgrade", "Downgrade", "Swap")


@pytest.fixture(scope="module")
def various() -> tuple[Schema, ...]:
    """Schemas of which all kinds of operators lead to the global one."""
    found = {kind: next(schema for schema in schemas() if kind in kinds(schema)) for kind in KINDS}
    return tuple(dict.fromkeys(found.values()))


@pytest.fixture(scope="module")
def publishers(various: tuple[Schema, ...]) -> list[Publisher]:
    return [*map(Publisher, mappings(various))]


def kinds(schema: Schema) -> list[str]:
    return [type(operator).__name__ for operator in schema.operators]


# -- what is generated -------------------------------------------------------------------------------------------


def test_the_mix_is_that_of_the_paper() -> None:
    for seed in (0, 1):
        made = schemas(seed)
        assert len(made) == SCHEMAS
        assert Counter(kind for schema in made for kind in kinds(schema)) == MIX
    assert sum(MIX.values()) == 148


def test_schemas_are_of_one_size_and_differ() -> None:
    sizes = [sum(1 for _ in schema.root.walk()) for schema in schemas()]
    assert min(sizes) >= 25 and max(sizes) <= 45
    assert len({schema.dtd for schema in schemas()}) == SCHEMAS
    assert {schema.dtd for schema in schemas(1)}.isdisjoint({schema.dtd for schema in schemas()})


@pytest.mark.parametrize("size", [10_000, 20_000])
def test_documents_are_valid_and_as_large_as_asked(size: int) -> None:
    for schema in (catalogue(), *schemas()):
        text = document(schema, size)
        assert size <= len(text.encode()) < size + MOST_BEYOND
        assert validity_faults(parse_document(text), parse_dtd(schema.dtd, "catalogue")) == ()
    assert document(catalogue(), size) == document(catalogue(), size) != document(catalogue(), size, 1)


def test_other_machines_draw_the_same() -> None:
    """Once written down, so that a change of a generator, which spoils what was measured before, is noticed."""
    drawn = [text for schema in schemas() for text in (schema.dtd, schema.arrows, document(schema, 2_000))]
    assert sha256("".join((*drawn, *domain_subscriptions(50))).encode()).hexdigest()[:16] == "b07e09609ee3dfa3"


def test_keys_are_kept_and_sections_repeat_as_often_as_asked() -> None:
    schema = next(schema for schema in schemas() if "Swap" in kinds(schema))
    for repetitions in (2, 6):
        root = parse_document(document(schema, 20_000, repetitions=repetitions)).root
        (instructor, *_), (section, *_) = root.findall("course/instructor"), root.findall("course/instructor/section")
        assert len(instructor.findall(str(section.tag))) == repetitions
        numbers = [crn.text for crn in root.iter("crn")]
        assert len(set(numbers)) == len(numbers) > repetitions


def test_programs_make_what_exchange_makes(various: tuple[Schema, ...], publishers: list[Publisher]) -> None:
    for schema, publisher in zip(various, publishers, strict=True):
        assert publisher.made.is_exact, schema.name
        given = parse_document(document(schema, 5_000))
        assert as_set(publisher.rewritten(given).root) == as_set(exchange(publisher.mapping, given).root)


# -- subscriptions -----------------------------------------------------------------------------------------------


def test_subscriptions_are_in_the_words_of_the_global_schema_and_can_be_fulfilled() -> None:
    texts = domain_subscriptions(300)
    assert len(set(texts)) == 300
    assert set(domain_subscriptions(300, 1)) != set(texts)
    names = {node.name for _, node in catalogue().root.walk()}
    for text in texts:
        (pattern,) = parse_subscription(text)
        assert {node.test for child in pattern.children for node in nodes(child)} <= {*names, "*"}
        assert max(map(depth, pattern.children)) <= MOST_STEPS
    identity = Publisher(mappings((catalogue(),))[0])
    router = Router(global_schema(), [identity], domain_subscriptions(300, shape=PATHS))
    found = router.handle(Parcel(0, document(catalogue(), 100_000).encode()), Strategy.NDDR).found
    assert len(found) == len(router) == 300, "paths lead somewhere in a document that has everything"


def nodes(node: PatternNode) -> list[PatternNode]:
    return [node, *(each for child in node.children for each in nodes(child))]


def depth(node: PatternNode) -> int:
    return 1 + max(map(depth, node.children), default=0)


# -- routers and links -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def routers(publishers: list[Publisher]) -> list[Router]:
    return [Router(global_schema(), publishers, domain_subscriptions(60, seed)) for seed in range(2)]


@pytest.mark.parametrize("topology", [LINEAR, LINEAR_LEAF, TREE], ids=lambda topology: topology.name)
def test_all_ways_deliver_the_same(topology: Topology, various: tuple[Schema, ...], routers: list[Router]) -> None:
    for number, schema in enumerate(various):
        sent = document(schema, 4_000).encode()
        works = work_of(topology, routers, Parcel(number, sent), turns=1)
        deliveries = {response(topology, 10, [(len(sent), works[way])]).deliveries for way in Strategy}
        assert len(deliveries) == 1 and 0 not in deliveries
        assert {work.size for way in Strategy if way is not Strategy.SDR for work in works[way]} == {len(sent)}
        assert min(work.size for work in works[Strategy.SDR]) > 1.3 * len(sent), "both forms go on"


def test_ways_that_differ_are_seen(various: tuple[Schema, ...], publishers: list[Publisher]) -> None:
    class Forgetful(Router):
        def handle(self, parcel: Parcel, way: Strategy) -> Handled:
            handled = super().handle(parcel, way)
            return handled if way is not Strategy.IDDR else replace(handled, found=handled.found[1:])

    router = Forgetful(global_schema(), publishers, domain_subscriptions(20))
    with pytest.raises(DisagreementError, match=r"nddr and iddr differ at router 0: subscriptions \[\d+\]"):
        work_of(LINEAR, [router], Parcel(0, document(various[0], 4_000).encode()), turns=1)


def test_emulated_times_add_up() -> None:
    works = [Work(seconds=1.0, size=1_000_000, found=1) for _ in range(4)]
    found = response(LINEAR, 8, [(500_000, works)])
    assert found.querying == pytest.approx((1 + 2 + 3 + 4) / 4)
    assert found.transmitting == pytest.approx((0.5 + 1.5 + 2.5 + 3.5) / 4)
    assert found.seconds == found.querying + found.transmitting
    assert found.deliveries == 4
    at_the_leaf = response(LINEAR_LEAF, 8, [(500_000, works)])
    assert (at_the_leaf.querying, at_the_leaf.transmitting, at_the_leaf.deliveries) == (4.0, 3.5, 1)
    weighed = response(LINEAR, 8, [(500_000, [*works[:3], Work(1.0, 1_000_000, 7)])])
    assert weighed.querying == pytest.approx((1 + 2 + 3 + 7 * 4) / 10)


def test_the_tree_is_complete_and_has_four_levels() -> None:
    below = Counter(parent for parent in TREE.parents if parent is not None)
    assert len(TREE.parents) == 15 and set(below.values()) == {2}
    assert Counter(level_of(router) for router in range(15)) == {0: 1, 1: 2, 2: 4, 3: 8}


def level_of(router: int) -> int:
    parent = TREE.parents[router]
    return 0 if parent is None else 1 + level_of(parent)


def test_peers_deliver_what_emulated_routers_do() -> None:
    sizes = Sizes(subscriptions=20, publishers=2, turns=1)
    network = Network(sizes, sizes.chosen)
    real = responses(Given(20, 0, sizes.chosen), network.documents(3_000), turns=1)
    emulated = over(LINEAR, 10, network.sent(LINEAR, 3_000))
    assert {way: each.deliveries for way, each in real.items()} == {
        way: each.deliveries for way, each in emulated.items()
    }
    assert all(each.querying > 0 and each.transmitting > 0 for each in real.values())


# -- figures -----------------------------------------------------------------------------------------------------


def test_what_inference_finds_is_counted() -> None:
    known = schemas()
    found = found_again(known, [*map(Publisher, mappings(known))])
    assert found.undone == MIX
    assert found.programs == found.maps == SCHEMAS
    assert found.reasons == ()
    assert found.undone.total() - found.again.total() == len(found.instead) == 4
    assert {type(operator).__name__ for _, operator, _ in found.instead} == {"Upgrade", "Downgrade"}
    assert all({"Insert", "Dissolve"} <= {type(each).__name__ for each in rest} for _, _, rest in found.instead)


def test_who_joins_is_a_burden_by_qra_only() -> None:
    qra, iddr = (joining(schemas()[0], 10, way) for way in (Strategy.QRA, Strategy.IDDR))
    assert (qra.touched, iddr.touched) == (10, 0)
    assert min(qra.seconds, iddr.seconds) > 0
    assert qra.kept > iddr.kept > 0
    assert qra.sent == iddr.sent > 1000


def test_the_front_end_is_measured_by_stage(various: tuple[Schema, ...], publishers: list[Publisher]) -> None:
    paths = publishers[0].paths.root
    assert paths is not None
    data = document(various[0], 4_000).encode()
    found = front_end(publishers[0], paths, data, domain_subscriptions(50), turns=2)
    assert found.share(PLAIN, parsed=True) == found.share(PLAIN, parsed=False) == 1
    for stage in (REWRITTEN, IDDR, NDDR):
        assert 0 < found.rate(stage, parsed=False) < found.rate(stage, parsed=True)


def test_all_tables_can_be_made_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["operators", "bandwidth", "size", "topology", "repetition", "subscriptions", "paths", "front-end"]
    small = ["--subscriptions=8", "--publishers=1", "--turns=1", "--document-sizes=2000"]
    small += ["--subscription-sizes=8", "--repetitions=2,4"]
    page = tmp_path / "page.md"
    page.write_text("".join(f"<!-- rewriting {name} -->\n\n\n<!-- end -->\n" for name in names), encoding="utf-8")
    main([*names, *small, "--json", "--write", str(page)])
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert list(found) == names
    assert [row["setting"] for row in found["bandwidth"]] == ["10 Mbit/s", "50 Mbit/s", "100 Mbit/s"]
    assert [row["setting"] for row in found["repetition"]][1:3] == ["4 times", "2 times, paths alone"]
    assert all(row["deliveries"] > 0 for name in names[1:-1] for row in found[name])
    assert all(name in printed.err for name in names)
    text = page.read_text(encoding="utf-8")
    for name in names:
        assert heads(text, name) == heads(PAGE.read_text(encoding="utf-8"), name)


def test_the_page_has_all_tables() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert all(block(text, f"rewriting {name}").count("\n") > 2 for name in measurements(Sizes()))


def heads(page: str, name: str) -> list[str]:
    """The first lines of a table on a page."""
    return block(page, f"rewriting {name}").splitlines()[:2]
