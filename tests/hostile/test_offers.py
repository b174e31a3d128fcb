"""What strangers offer, to real daemons: it is refused in fixed words, and the owner is served all the while."""

from __future__ import annotations

import json
import re
import secrets
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest
import trio

from heptox.demo import HOSPITAL
from heptox.errors import MappingError, PeerError
from heptox.peer import ControlAddress, PeerFolder, Standing
from heptox.peer.acquaintance.acquainting import schema_key
from heptox.peer.acquaintance.offer_answers import COMING
from heptox.peer.folder.audit import read_audit
from heptox.peer.wire.libp2p import Libp2pTransport
from heptox.peer.wire.mapping_files import MOST_DECLARATIONS, MappingFiles
from heptox.peer.wire.offers import PROTOCOL, Offer, Reply, decode_reply, encode_call
from heptox.peer.wire.standing import Side
from heptox.schema import read_dtd
from heptox.settings import PeerSettings, peer_settings_text
from tests.cli.running import Ended, heptox_ended
from tests.hostile import brief_reading
from tests.peer.daemons import DEADLINE, Daemon, ask, heptox, hospital_peer, memory_of, starting, wait_until
from tools.daemons import daemon

ARROWS: Final = HOSPITAL / "montreal-boston.arrows"
GOOD: Final = MappingFiles.pack(ARROWS)
MONTREAL: Final = schema_key(read_dtd(HOSPITAL / "mongenhosp.dtd"))
ELSEWHERE: Final = "/ip4/192.0.2.1/tcp/4001"
"""An address of a network that there is only in texts (RFC 5737)."""
QUERY: Final = "//Patient"
READ: Final = {
    "HX7100 to read the offer takes more of the processor or of memory than it may",
    "HX7103 the offer is larger than it may be",
    "HX7104 the mapping that is offered cannot be read, or has faults",
    "HX7058 the mapping is not between the schemas of the two peers",
}
MEGABYTE: Final = 2**20
ATTEMPTS: Final = 5
PAUSE: Final = 0.3
"""Seconds between two looks of the owner."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stranger:
    """Somebody with a key that nobody knows, connected to a daemon."""

    transport: Libp2pTransport
    asked: str

    @property
    def peer(self) -> str:
        return self.transport.peer

    def offer(self, files: MappingFiles = GOOD, name: str = "stranger", address: str | None = None) -> Offer:
        """An offer of its own; ``address`` is where it says that it listens, else that is true."""
        said = f"{address}/p2p/{self.peer}" if address else self.transport.addresses[0]
        return Offer(name, (said,), files, Side.SOURCE, MONTREAL)

    async def make(self, offer: Offer) -> Reply:
        """The answer to an offer, which is made some times where a loaded machine takes longer than a call may."""
        for attempt in range(ATTEMPTS):
            try:
                return decode_reply(await self.transport.call(self.asked, PROTOCOL, encode_call(offer)))
            except PeerError as error:
                last = attempt == ATTEMPTS - 1 or not self.transport.connected(self.asked)
                if last or error.faults[0].code != "HX7011":
                    raise
        raise AssertionError("an attempt returns or raises")


@asynccontextmanager
async def stranger(to: Daemon, seed: bytes | None = None) -> AsyncIterator[Stranger]:
    transport = Libp2pTransport(seed or secrets.token_bytes(32), "/ip4/127.0.0.1/tcp/0")

    async def hang_up(_: Any) -> None:
        pass

    async with transport.serving(hang_up):
        await transport.dial(to.peer_id, (to.address,))
        yield Stranger(transport, to.peer_id)


def run(attack: Callable[[], Awaitable[T]]) -> T:
    async def limited() -> T:
        with trio.fail_after(DEADLINE):
            return await attack()

    return trio.run(limited)


def offered(to: Daemon, files: MappingFiles, **more: str) -> Reply:
    """What a new stranger is told who offers some files."""

    async def attack() -> Reply:
        async with stranger(to) as made:
            return await made.make(made.offer(files, **more))

    return run(attack)


def attacked(to: Daemon, attack: Callable[[], Awaitable[T]]) -> tuple[T, int]:
    """What comes of an attack, and how often the owner was served while it went on: at least once."""

    async def test() -> tuple[T, int]:
        rounds, ended = 0, trio.Event()
        results: list[T] = []

        async def go() -> None:
            results.append(await attack())
            ended.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(go)
            while not (rounds and ended.is_set()):
                await trio.to_thread.run_sync(served, to)
                rounds += 1
                with trio.move_on_after(
                    PAUSE
                ):  # what is asked without a pause would take the processor from the attack
                    await ended.wait()
        return results[0], rounds

    return run(test)


def served(to: Daemon) -> None:
    """The owner looks whether the daemon serves, and asks it: both are answered."""
    address = ControlAddress.read(to.folder)
    assert address
    with urllib.request.urlopen(f"{address.url}/healthz", timeout=DEADLINE) as answer:
        assert json.load(answer)["status"] == "ok"
    items, receipt = ask(to.folder, QUERY, hops=0)
    held = (to.folder / "documents" / "records.xml").read_text().count("<Patient>")
    assert (len(items), receipt.complete) == (held, True)


def boston_peer(path: Path, **changes: Any) -> Path:
    folder = hospital_peer(path, "boston", 3)
    settings: PeerSettings = PeerFolder.open(folder).settings
    (folder / "peer.toml").write_text(peer_settings_text(replace(settings, **changes)))
    return folder


@pytest.fixture(scope="module")
def boston(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A peer that decides on each offer, and reads more of them than others do."""
    folder = boston_peer(tmp_path_factory.mktemp("door") / "boston", offers=1000)
    with daemon(folder, beginning=brief_reading.starting) as running:
        yield running
        served(running)
        stopped = heptox("peer", "stop", running.folder)
        assert (stopped.returncode, running.process.wait(DEADLINE)) == (0, 0), stopped.stderr


def acquaintances(peer: Daemon, *arguments: str) -> Ended:
    return heptox_ended("peer", "acquaintances", peer.folder, *arguments)


def listed(peer: Daemon) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(acquaintances(peer, "--json").out)
    return found


def packed(mapping: str, **schemas: str) -> MappingFiles:
    files = {"mapping.arrows": mapping, **{f"{name}.dtd": text for name, text in schemas.items()}}
    return MappingFiles({name: text.encode() for name, text in files.items()}, "mapping.arrows")


def both(schema: str, arrows: str = "") -> MappingFiles:
    """A mapping of a schema to itself."""
    return packed(f'source "s.dtd" root r\ntarget "s.dtd" root r\n{arrows}', s=schema)


# -- files ------------------------------------------------------------------------------------------------------------


def test_names_in_an_offer_are_names_of_its_files_and_of_nothing_else(boston: Daemon) -> None:
    here = str(boston.folder.resolve())
    names = [
        "/dev/ptmx", "/dev/zero", "/dev/stdin", "/proc/self/fd/0", "/proc/self/environ", "/etc/passwd", "/nowhere",
        f"{here}/schema.dtd", f"{here}/identity.key", "../schema.dtd", "../../../../../../../../dev/ptmx", "schema.dtd",
        "./s.dtd", "-",
    ]  # fmt: skip
    schema = "<!ELEMENT a (#PCDATA)>"
    files = [packed(f'source "{name}"\ntarget "s.dtd"\na -> a\n', s=schema) for name in names]
    before = memory_of(boston.process.pid)

    async def attack() -> list[Reply]:
        async with stranger(boston) as made:
            return [await made.make(made.offer(one)) for one in files]

    replies, _ = attacked(boston, attack)
    fixed = "HX7104 the mapping that is offered cannot be read, or has faults"
    assert {(reply.standing, reply.reason, reply.schema) for reply in replies} == {(Standing.REFUSED, fixed, "")}
    assert memory_of(boston.process.pid) - before < 200 * MEGABYTE
    reasons = [f'HX4036 "{name}" is not among the files of the mapping' for name in names]
    wait_until(lambda: any(reasons[0] in line.get("reason", "") for line in audited(boston, "not taken")))
    assert listed(boston) == []
    for one, reason in zip(files, reasons, strict=True):  # what the daemon's worker has done, and did not name
        with pytest.raises(MappingError, match=re.escape(reason)):
            one.load()


def audited(peer: Daemon, event: str) -> list[dict[str, Any]]:
    lines = map(json.loads, read_audit(peer.folder, 1000))
    return [line for line in lines if line["event"] == event]


# -- what it costs to read --------------------------------------------------------------------------------------------

LEAF: Final = "(#PCDATA)"


def declared(contents: dict[str, str]) -> str:
    return "\n".join(f"<!ELEMENT {name} {content}>" for name, content in contents.items())


def optional(number: int) -> str:
    """A schema of 47 KB for 1,500 children: whether it is deterministic takes the square of their number."""
    children = [f"e{child}" for child in range(number)]
    return declared({"r": f"({','.join(f'{child}?' for child in children)})", **dict.fromkeys(children, LEAF)})


def nested(number: int) -> str:
    """A chain of element types, each in the one before."""
    chain = [f"e{child}" for child in range(number)]
    inner = {name: f"({below})" for name, below in pairwise(chain)}
    return declared({"r": f"({chain[0]})", **inner, chain[-1]: LEAF})


def missing(number: int) -> MappingFiles:
    """Arrows of names that are all nearly those of the schema."""
    schema = declared(
        {
            "r": f"({','.join(f'name{child:04}y*' for child in range(number))})",
            **{f"name{child:04}y": LEAF for child in range(number)},
        }
    )
    return both(schema, "".join(f"r/name{child:04}x -> r/name{child:04}z\n" for child in range(number)))


@pytest.mark.parametrize(
    "files",
    [
        pytest.param(both(optional(2500)), id="optional children"),
        pytest.param(both(nested(MOST_DECLARATIONS)), id="too many nested types"),
        pytest.param(both(nested(MOST_DECLARATIONS - 10)), id="nested types"),
        pytest.param(missing(700), id="near misses"),
        pytest.param(both(f"<!ELEMENT r ({'a' * 100_000}*)>"), id="a long name"),
    ],
)
def test_what_is_costly_to_read_costs_the_owner_nothing(boston: Daemon, files: MappingFiles) -> None:
    before = memory_of(boston.process.pid)

    async def attack() -> Reply:
        async with stranger(boston) as made:
            return await made.make(made.offer(files))

    reply, _ = attacked(boston, attack)
    assert reply.standing is Standing.REFUSED
    assert reply.reason in READ
    assert memory_of(boston.process.pid) - before < 200 * MEGABYTE
    assert offered(boston, GOOD, name="next").standing is Standing.PROPOSED  # another worker is there
    assert [one["name"] for one in listed(boston)] == ["next"]
    assert acquaintances(boston, "--refuse", "next").code == 0
    assert "Traceback" not in (boston.folder / "daemon.log").read_text()


def test_a_daemon_ends_while_it_is_attacked(tmp_path: Path) -> None:
    with daemon(boston_peer(tmp_path / "boston"), beginning=starting) as running:

        async def attack() -> int:
            async with trio.open_nursery() as nursery:
                for files in (both(optional(2500)), packed('source "/dev/ptmx"\ntarget "/dev/ptmx"')):
                    nursery.start_soon(insist, running, files)
                await until_working(running)
                stop = partial(heptox, "peer", "stop", running.folder)
                stopped = await trio.to_thread.run_sync(stop)
                assert stopped.returncode == 0, stopped.stderr
                nursery.cancel_scope.cancel()
            return running.process.wait(DEADLINE)

        assert run(attack) == 0


async def insist(to: Daemon, files: MappingFiles) -> None:
    """Offer, and wait for the answer whatever happens."""
    async with stranger(to) as made:
        try:
            await made.make(made.offer(files))
        except Exception:  # the daemon has ended
            await trio.sleep_forever()


async def until_working(peer: Daemon) -> None:
    """Wait until the daemon has a worker."""
    while not children(peer.process.pid):
        await trio.sleep(0.01)


def children(process: int) -> list[str]:
    return Path(f"/proc/{process}/task/{process}/children").read_text().split() + [
        child
        for thread in Path(f"/proc/{process}/task").iterdir()
        for child in (thread / "children").read_text().split()
    ]


def test_a_daemon_that_gets_no_offer_starts_no_worker(tmp_path: Path) -> None:
    with daemon(boston_peer(tmp_path / "boston"), beginning=starting) as running:
        served(running)
        assert children(running.process.pid) == []


# -- what is accepted -------------------------------------------------------------------------------------------------


def test_an_offer_never_takes_the_name_of_an_acquaintance(boston: Daemon) -> None:
    assert offered(boston, GOOD, name="montreal").standing is Standing.PROPOSED
    assert acquaintances(boston, "--accept", "montreal").code == 0
    (known,) = listed(boston)
    for name in ("montreal", "Montreal", "\N{FULLWIDTH LATIN SMALL LETTER M}ontreal"):
        assert offered(boston, GOOD, name=name).standing is Standing.PROPOSED
        (waits,) = [one for one in listed(boston) if one["standing"] == "offered"]
        assert waits["name"] == f"{name} 2"
        refused = acquaintances(boston, "--accept", name)
        assert (refused.code, refused.err[:7]) == (1, "HX7067 ")
        assert acquaintances(boston, "--accept", waits["name"]).code == 0
        assert known["peer_id"] in [one["peer_id"] for one in listed(boston) if one["name"] == "montreal"]
        assert acquaintances(boston, "--withdraw", waits["peer_id"]).code == 0
    assert acquaintances(boston, "--withdraw", "montreal").code == 0
    assert listed(boston) == []


def test_an_offer_that_was_replaced_after_it_was_shown_is_not_accepted(boston: Daemon) -> None:
    other = MappingFiles({**GOOD.files, GOOD.mapping: b"# other\n" + GOOD.files[GOOD.mapping]}, GOOD.mapping)

    async def replaced() -> str:
        async with stranger(boston) as made:
            await made.make(made.offer(name="changing"))
            (first,) = await trio.to_thread.run_sync(listed, boston)
            shown = await trio.to_thread.run_sync(acquaintances, boston, "--show", "changing")
            assert f"digest {first['digest']}" in shown.out
            await made.make(made.offer(other, name="changing"))
            digest: str = first["digest"]
            return digest

    digest = run(replaced)
    refused = acquaintances(boston, "--accept", "changing", "--digest", digest)
    assert (refused.code, refused.out, refused.err[:7]) == (1, "", "HX7101 ")
    (waits,) = listed(boston)
    assert (waits["standing"], waits["digest"] in refused.err, "--show" in refused.err) == ("offered", True, True)
    accepted = acquaintances(boston, "--accept", "changing", "--digest", waits["digest"])
    assert (accepted.code, waits["digest"] in accepted.err) == (0, True)
    assert [line["digest"] for line in audited(boston, "accepted")][-1] == waits["digest"]
    assert acquaintances(boston, "--withdraw", "changing").code == 0


# -- how much strangers may -------------------------------------------------------------------------------------------


def test_a_flood_of_keys_is_bounded_under_an_open_policy(tmp_path: Path) -> None:
    with daemon(boston_peer(tmp_path / "boston", policy="open"), beginning=starting) as running:
        began = time.monotonic()

        async def attack() -> Sequence[Reply]:
            replies = []
            for number in range(30):
                async with stranger(running) as made:
                    replies.append(await made.make(made.offer(name=f"stranger {number}")))
            return replies

        replies, _ = attacked(running, attack)
        most = min(12 + (time.monotonic() - began) / 5 + 1, COMING)
        known = [one for one in listed(running) if one["standing"] == "agreed"]
        assert 0 < len(known) <= most
        refused = "HX7102 this peer reads no more offers of strangers now: offer it again in some minutes"
        assert [reply.reason for reply in replies].count(refused) >= 30 - most - 1
        stopped = heptox("peer", "stop", running.folder)
        assert (stopped.returncode, running.process.wait(DEADLINE)) == (0, 0), stopped.stderr


def test_addresses_that_strangers_say_are_not_dialled_unseen(tmp_path: Path) -> None:
    with daemon(boston_peer(tmp_path / "boston", policy="open"), beginning=starting) as running:
        assert offered(running, GOOD, address=ELSEWHERE).standing is Standing.PROPOSED
        (waits,) = listed(running)
        assert (waits["standing"], waits["address"].startswith(ELSEWHERE)) == ("offered", True)

        async def moved() -> str:
            async with stranger(running) as made:
                first = made.offer(name="moves")
                assert (await made.make(first)).standing is Standing.AGREED
                again = replace(first, addresses=made.offer(address=ELSEWHERE).addresses, agreed=True)
                assert (await made.make(again)).standing is Standing.AGREED
                return first.addresses[0]

        address = run(moved)
        wait_until(lambda: len(listed(running)) == 2)
        (known,) = [one for one in listed(running) if one["standing"] == "agreed"]
        assert known["address"] == address
