"""Plans and networks: the same for the same seed, as wished, and faults all at once with what would have worked."""

from __future__ import annotations

from pathlib import Path

import pytest

from heptox.cluster import SCHEMAS, TOPOLOGIES, make_network, planned, prepare, read_plan
from heptox.cluster.network import Network
from heptox.cluster.workload import neighbours
from heptox.errors import ClusterError


def faults(error: pytest.ExceptionInfo[ClusterError]) -> list[str]:
    return [str(fault) for fault in error.value.faults]


def reached(network: Network, peer: int = 0) -> set[int]:
    found, waiting = {peer}, [peer]
    while waiting:
        new = {link.peer for link in network.links[waiting.pop()]} - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("schemas", [2, 10])
def test_a_network_has_as_many_acquaintances_as_wished_along_mappings(topology: str, schemas: int) -> None:
    network = make_network(planned({"peers": 200, "schemas": schemas, "topology": topology, "acquaintances": 4}))
    assert set(network.schemas) == set(tuple(SCHEMAS)[:schemas])
    assert min(map(len, network.links)) >= 4
    for peer, links in enumerate(network.links):
        assert len({link.peer for link in links} - {peer}) == len(links)
        for link in links:
            schema, other = network.schemas[peer], network.schemas[link.peer]
            assert (link.edge, link.to, other) in set(neighbours(schema))
            assert peer in {back.peer for back in network.links[link.peer]}
    assert reached(network) == set(range(200))


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_a_network_follows_from_the_seed(topology: str) -> None:
    settings = {"peers": 60, "topology": topology, "delay_spread": 0.5}
    assert make_network(planned(settings)) == make_network(planned(settings))
    assert make_network(planned(settings)) != make_network(planned({**settings, "seed": 2}))


def test_topologies_differ_as_their_names_say() -> None:
    def degrees(topology: str) -> list[int]:
        network = make_network(planned({"peers": 500, "topology": topology}))
        return sorted(map(len, network.links))

    assert degrees("regular")[-1] <= 6 < degrees("random")[-1]

    def near(topology: str) -> int:
        """How many peers are within three hops of a hundred others."""
        network = make_network(planned({"peers": 2000, "topology": topology}))
        found = 0
        for peer in range(100):
            level = {peer}
            for _ in range(3):
                level |= {link.peer for one in level for link in network.links[one]}
            found += len(level)
        return found

    assert near("small-world") < near("random")  # although there are more acquaintances


def test_delays_are_around_the_one_that_is_wished() -> None:
    network = make_network(planned({"peers": 100, "delay_ms": 50, "delay_spread": 0.4}))
    delays = {link.delay for links in network.links for link in links}
    assert 30_000 <= min(delays) < 40_000 and 60_000 < max(delays) <= 70_000
    assert network.least_delay == min(delays)


def test_few_peers_know_as_many_as_there_are() -> None:
    assert make_network(planned({"peers": 1})).links == ((),)
    assert [len(links) for links in make_network(planned({"peers": 2, "schemas": 2})).links] == [1, 1]


def test_a_topology_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text(
        'acquaintances = [["montreal", "boston"], ["boston", "montreal"], ["boston", "lima"]]\n'
        '[peers]\nmontreal = "auction"\nboston = "nested"\nlima = "flat"\n'
    )
    network = make_network(planned({"topology": str(file)}))
    assert network.schemas == ("auction", "nested", "flat")
    assert network.outcome().names == ("montreal", "boston", "lima")
    prepared = prepare(planned({"topology": str(file), "peers": 5}))
    assert prepared.conditions.plan.peers == 3 and prepared.conditions.plan.schemas == network.schemas
    assert [[link.peer for link in links] for links in network.links] == [[1], [0, 2], [1]]


def test_all_faults_of_a_topology_are_told_with_what_would_work(tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text(
        'acquaintances = [["a", "b"], ["a", "x"], ["c", "c"], ["a"], ["a", "d"]]\n'
        '[peers]\na = "auction"\nb = "nestde"\nc = "flat"\nd = "flat"\n'
    )
    with pytest.raises(ClusterError) as error:
        make_network(planned({"topology": str(file)}))
    told = [fault.removeprefix(f"{file}: ") for fault in faults(error)]
    assert told == [
        "HX8042 the peer b has an unknown schema nestde (did you mean nested?)",
        "HX8042 no peer x for the pair a and x (name it under peers)",
        "HX8042 c is its own acquaintance (pair it with another)",
        "HX8042 ['a'] is no pair of peers"
        ' (such as peers = {montreal = "auction", boston = "flat"}, acquaintances = [["montreal", "boston"]])',
        "HX8042 there is no mapping between auction and flat, the schemas of a and d"
        " (auction has mappings with attributes, nested, split, elements, flipped, kinds, merged)",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "peers = 3",
        "peers = {}",
        "what = 1\nacquaintances = []\npeers = {a = 1}",
        "[",
        'acquaintances = []\npeers = {"" = "flat"}',
    ],
)
def test_what_is_no_topology_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "net.toml"
    file.write_text(text)
    with pytest.raises(ClusterError) as error:
        make_network(planned({"topology": str(file)}))
    assert all(fault.code == "HX8042" and fault.file == str(file) for fault in error.value.faults)


def test_an_unknown_topology_is_refused() -> None:
    with pytest.raises(ClusterError) as error:
        make_network(planned({"topology": "ring"}))
    assert faults(error) == [
        "HX8041 no topology 'ring' (there are random, regular, small-world, or the name of a TOML file)"
    ]


def test_schemas_that_no_mappings_connect_are_refused() -> None:
    with pytest.raises(ClusterError) as error:
        make_network(planned({"schemas": ["auction", "flat"]}))
    assert faults(error) == ["HX8042 no mappings lead from auction to flat (flat has mappings with flipped, nested)"]


def test_all_faults_of_a_plan_are_told_at_once() -> None:
    with pytest.raises(ClusterError) as error:
        planned({"peer": 3, "peers": "many", "hops": True, "queries": "Q1", "loss": 1, "schemas": 11})
    assert faults(error) == [
        "HX8040 peer is no setting of an emulation (did you mean peers?)",
        "HX8040 peers = 'many' is no whole number",
        "HX8040 hops = True is no whole number",
        "HX8040 queries = 'Q1' is no list of names",
        "HX8040 schemas = 11 is no list of names, nor a number of them from 1 to 10",
    ]
    with pytest.raises(ClusterError) as error:
        planned({"peers": 0, "loss": float("nan"), "queries": ["Q1", "Q11", "Q1"], "schemas": [], "costs": "low"})
    assert faults(error) == [
        "HX8041 peers = 0 is out of range (from 1 to 1,000,000)",
        "HX8041 loss = nan is out of range (from 0 to 1)",
        "HX8041 no schema at all (there are auction, attributes, elements, nested, flat, regions, kinds, flipped,"
        " merged, split)",
        "HX8041 no query Q11 (did you mean Q1?)",
        "HX8041 the query Q1 is named twice",
        "HX8041 no costs 'low' (there are fixed, measured)",
    ]


def test_a_plan_survives_being_written(tmp_path: Path) -> None:
    plan = planned({"peers": 128, "queries": ["Q1", "Q5"], "loss": 0.01, "together": True})
    assert planned(plan.value()) == plan
    file = tmp_path / "plan.toml"
    file.write_text('peers = 128\nqueries = ["Q1", "Q5"]\nloss = 0.01\ntogether = true\n')
    assert planned(read_plan(file), str(file)) == plan
    for text in ("peers 128", "\x00"):
        file.write_text(text)
        with pytest.raises(ClusterError) as error:
            read_plan(file)
        assert error.value.faults[0].code == "HX8040"
    with pytest.raises(ClusterError):
        read_plan(tmp_path / "none.toml")
