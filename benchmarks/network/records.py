"""Whole records over two hops: ``python -m benchmarks.network.records [--records N] [--write PAGE]``.

Three daemons in a row under three schemas. The first is asked for whole records, of about two kilobytes with two kinds
of nested elements, and all are at the last one.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.translation import show, table
from heptox.peer import AcquaintanceRequest, ItemLine, PeerFolder, QuestionRequest, ReceiptLast, propose
from tools.daemons import Daemon, daemons, memory_of, work_of

PEERS: Final = 3
SECONDS: Final = 3600.0
RATE_TARGET: Final = 10
FIRST_TARGET: Final = 60
_NESTED: Final = 6
_TEXT: Final = 130


def main() -> None:
    """Print the table, or write it into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network.records", description="Whole records.")
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the table")
    arguments = parser.parse_args()
    show("whole records", measured(arguments.records), arguments.write)


def measured(records: int) -> str:
    """The table of so many records."""
    with TemporaryDirectory(prefix="heptox-records-") as name:
        folder = Path(name)
        mappings = [_mapping(folder, number) for number in range(PEERS - 1)]
        folders = [_peer(folder, number, records if number == PEERS - 1 else 0) for number in range(PEERS)]
        with daemons(*folders) as running:
            for number, mapping in enumerate(mappings):
                for here, there in ((number, number + 1), (number + 1, number)):
                    with running[here].client() as client:
                        proposal = propose(running[there].address, mapping, name=f"peer {there}")
                        client.acquaint(AcquaintanceRequest.of(proposal))
            _asked(running, "//rec0[@key0 = 'none']")  # which makes the connections
            early = [memory_of(peer.process.pid) / 1e6 for peer in running]
            before = [work_of(peer.process.pid) for peer in running]
            first, seconds, size, items = _asked(running, "//rec0")
            spent = [work_of(peer.process.pid) - was for peer, was in zip(running, before, strict=True)]
            late = [memory_of(peer.process.pid) / 1e6 for peer in running]
    assert items == records, items
    rate = size / 1e6 / seconds
    figures = table(
        ["records", "MB", "seconds", "MB a second", "target", "first record, ms", "target for it"],
        [
            [
                f"{records:,}",
                f"{size / 1e6:.0f}",
                f"{seconds:.1f}",
                f"{rate:.1f}",
                str(RATE_TARGET),
                f"{first * 1000:.0f}",
                str(FIRST_TARGET),
            ]
        ],
    )
    rows = zip(("asker", "relay", "last peer"), spent, early, late, strict=True)
    peers = table(
        ["", "seconds of processor", "memory before, MB", "after, MB"],
        [[name, f"{work:.1f}", f"{was:.0f}", f"{grown:.0f}"] for name, work, was, grown in rows],
    )
    return f"{figures}\n{peers}"


def _asked(running: tuple[Daemon, ...], query: str) -> tuple[float, float, int, int]:
    """Seconds to the first item and to the receipt, bytes of items, and how many."""
    size = items = 0
    first = 0.0
    with running[0].client() as client:
        client.status()
        began = time.perf_counter()
        for part in client.query(QuestionRequest(query=query, timeout=SECONDS)):
            if isinstance(part, ItemLine):
                first = first or time.perf_counter() - began
                size, items = size + len(part.item), items + 1
            elif isinstance(part, ReceiptLast):
                assert part.receipt.complete, part.receipt
    return first, time.perf_counter() - began, size, items


def _mapping(folder: Path, number: int) -> Path:
    for one in (number, number + 1):
        (folder / f"{one}.dtd").write_text(_schema(one), encoding="utf-8")
    here, there = number, number + 1
    leaves = [
        ("@key{0}", "@key{0}"),
        ("title{0}", "title{0}"),
        ("person{0}/@role{0}", "person{0}/@role{0}"),
        ("person{0}/name{0}", "person{0}/name{0}"),
        ("part{0}/text{0}", "part{0}/text{0}"),
        ("part{0}/note{0}", "part{0}/note{0}"),
    ]
    file = folder / f"{number}.arrows"
    file.write_text(
        f'source "{here}.dtd" root log{here}\n'
        f'target "{there}.dtd" root log{there}\n'
        f"each rec{here} -> rec{there}\n"
        f"each rec{here}/person{here} -> rec{there}/person{there}\n"
        f"each rec{here}/part{here} -> rec{there}/part{there}\n"
        + "".join(f"rec{here}/{one.format(here)} -> rec{there}/{other.format(there)}\n" for one, other in leaves),
        encoding="utf-8",
    )
    return file


def _schema(number: int) -> str:
    return _SCHEMA.replace("_N", str(number))


_SCHEMA: Final = """
<!ELEMENT log_N (rec_N*)>
<!ELEMENT rec_N (title_N, person_N*, part_N*)> <!ATTLIST rec_N key_N ID #REQUIRED>
<!ELEMENT title_N (#PCDATA)>
<!ELEMENT person_N (name_N)> <!ATTLIST person_N role_N CDATA #REQUIRED> <!ELEMENT name_N (#PCDATA)>
<!ELEMENT part_N (text_N, note_N?)> <!ELEMENT text_N (#PCDATA)> <!ELEMENT note_N (#PCDATA)>
"""


def _peer(folder: Path, number: int, records: int) -> Path:
    path = folder / f"peer-{number}"
    PeerFolder.create(path, folder / f"{number}.dtd", name=f"peer {number}", root=f"log{number}")
    settings = path / "peer.toml"
    changed = ("budget", "timeout", "query_seconds")
    kept = [line for line in settings.read_text(encoding="utf-8").splitlines() if not line.startswith(changed)]
    more = [f"budget = {2**33}", "timeout = 3600", "query_seconds = 100000"]
    settings.write_text("\n".join([*kept, *more, ""]), encoding="utf-8")
    with (path / "documents" / "log.xml").open("w", encoding="utf-8") as file:
        file.write(f"<log{number}>\n")
        for key in range(records):
            file.write(_record(number, key))
        file.write(f"</log{number}>\n")
    return path


def _record(number: int, key: int) -> str:
    def text(of: int) -> str:
        return (f"{key}.{of} " * _TEXT)[:_TEXT]

    persons = "".join(
        f'<person{number} role{number}="r{of}"><name{number}>{text(of)}</name{number}></person{number}>'
        for of in range(_NESTED)
    )
    parts = "".join(f"<part{number}><text{number}>{text(of)}</text{number}></part{number}>" for of in range(_NESTED))
    return (
        f'<rec{number} key{number}="k{key}"><title{number}>{text(99)}</title{number}>{persons}{parts}</rec{number}>\n'
    )


if __name__ == "__main__":
    main()
