"""Metrics: numbers of what a peer does, for whoever holds its token, which stays the same."""

from __future__ import annotations

import socket
import stat
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from heptox.demo import BOSTON, MONTREAL, QUESTIONS, Network
from heptox.peer import ControlAddress
from heptox.peer.control.endpoint import kept_token
from heptox.peer.record.metrics import Metrics
from tests.peer.daemons import acquaint, ask, daemon, daemons, heptox, hospital_peer

Numbers = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def scrape(folder: Path) -> Callable[..., float]:
    """What Prometheus reads, with the token from its file: a number by its name and labels."""
    address = ControlAddress.read(folder)
    assert address
    headers = {"Authorization": f"Bearer {(folder / 'token').read_text().strip()}"}
    answer = httpx.get(f"{address.url}/metrics", headers=headers, trust_env=False)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = numbers(answer.text)
    return lambda name, **labels: found[name, tuple(sorted(labels.items()))]


def numbers(text: str) -> Numbers:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_query_counts_at_the_asker_and_at_those_who_are_asked(hospitals: Network) -> None:
    montreal, boston = hospitals.path(MONTREAL), hospitals.path(BOSTON)
    before = scrape(montreal), scrape(boston)
    parts, receipt = ask(montreal, QUESTIONS[0].text, hops=1)
    after = scrape(montreal), scrape(boston)
    assert [found.lack for found in receipt.missing] == ["hop limit"]
    came = [part.item for part in parts if part.origin.name == BOSTON.name]
    size = sum(len(item.encode()) for item in came)

    def grown(peer: int, name: str, **labels: str) -> float:
        return after[peer](name, **labels) - before[peer](name, **labels)

    assert grown(0, "heptox_own_queries_total", end="incomplete") == 1
    assert grown(0, "heptox_asked_queries_total") == grown(0, "heptox_heard_queries_total", status="answered") == 1
    assert (grown(0, "heptox_received_items_total"), grown(0, "heptox_received_bytes_total")) == (len(came), size)
    assert grown(0, "heptox_translation_seconds_count") == 1
    assert grown(0, "heptox_evaluation_seconds_count") == grown(1, "heptox_evaluation_seconds_count") == 1
    assert grown(1, "heptox_evaluation_seconds_sum") > 0
    assert grown(1, "heptox_arrived_queries_total") == 1
    assert grown(1, "heptox_answered_queries_total", status="answered") == 1
    assert (grown(1, "heptox_sent_items_total"), grown(1, "heptox_sent_bytes_total")) == (len(came), size)
    assert grown(1, "heptox_audit_lines") == 2
    for peer in after:
        assert peer("heptox_queries_in_flight", asker="own") == peer("heptox_queries_in_flight", asker="neighbour") == 0
        assert peer("heptox_documents") == 1
        assert peer("process_resident_memory_bytes") > 0
    assert after[1]("heptox_acquaintances") == 2
    assert after[1]("heptox_connections") >= 1
    assert after[0]("heptox_store_bytes") == (montreal / "store.duckdb").stat().st_size


def test_who_is_denied_and_what_fails_counts(tmp_path: Path) -> None:
    montreal, boston = (hospital_peer(tmp_path / name, name, 0) for name in ("montreal", "boston"))
    with daemons(montreal, boston) as (asker, asked):
        acquaint(montreal, asked, "montreal-boston.arrows")
        ask(montreal, "//Patient/Name")
        assert scrape(boston)("heptox_denied_streams_total") == 1
        assert scrape(boston)("heptox_arrived_queries_total") == 0
        assert scrape(montreal)("heptox_heard_queries_total", status="denied") == 1
        assert scrape(montreal)("heptox_own_queries_total", end="incomplete") == 1
        acquaint(boston, asker, "montreal-boston.arrows")
        assert heptox("query", "--peer", montreal, "//Patient[").returncode == 1
        assert scrape(montreal)("heptox_own_queries_total", end="refused") == 1


def test_the_numbers_of_two_peers_in_one_process_are_their_own() -> None:
    one, other = Metrics(), Metrics()
    one.arrived.inc()
    found, others = (
        numbers(metrics.exposition().decode())["heptox_arrived_queries_total", ()] for metrics in (one, other)
    )
    assert (found, others) == (1, 0)


def test_the_token_outlives_the_daemon_and_is_its_owners(tmp_path: Path) -> None:
    folder = hospital_peer(tmp_path / "peer", "montreal", 0)
    file = folder / "token"
    assert not file.exists()
    with daemon(folder):
        token = file.read_text().strip()
        address = ControlAddress.read(folder)
        assert address and address.token == token
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o640)  # Prometheus may be let in
    with daemon(folder):
        assert file.read_text().strip() == token
        assert stat.S_IMODE(file.stat().st_mode) == 0o640
        scrape(folder)
    file.write_text("short")
    with daemon(folder):
        assert len(file.read_text().strip()) >= 32, "nobody can guess it"
        assert file.read_text().strip() != "short"
        scrape(folder)


@pytest.mark.parametrize("damaged", ["", "short", "x" * 40 + "\n" + "y" * 40])
def test_a_damaged_token_is_made_anew(tmp_path: Path, damaged: str) -> None:
    file = tmp_path / "token"
    file.write_text(damaged)
    token = kept_token(tmp_path)
    assert token == file.read_text().strip() != damaged
    assert len(token) >= 32, "nobody can guess it"


def test_the_control_api_listens_where_it_is_told_to(tmp_path: Path, free_port: int) -> None:
    one, other = (hospital_peer(tmp_path / name, "montreal", 0) for name in ("one", "other"))
    for settings in (one / "peer.toml", other / "peer.toml"):
        settings.write_text(settings.read_text().replace("control_port = 0", f"control_port = {free_port}"))
    with daemon(one):
        address = ControlAddress.read(one)
        assert address and address.url == f"http://127.0.0.1:{free_port}"
        refused = heptox("peer", "start", other)
        assert refused.returncode == 1
        assert f"HX7062 the control API cannot listen at 127.0.0.1:{free_port}: the address is in use" in refused.stderr


@pytest.fixture
def free_port() -> int:
    """A port that nobody listens at now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
