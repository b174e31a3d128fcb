"""Speed and memory of streaming: ``python -m benchmarks.rewriting.streaming [--megabytes N] [--only NAME]``.

Documents are catalogues of courses of 200 bytes each. The table says megabytes of the document for each second of
processor time, the best of several runs, and how much more memory (Linux: ``VmHWM``) a process of its own takes than
one that rewrites 2 MB in the same way, in percent of the document.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

from heptox.rewriting import (
    Downgrade,
    Insert,
    Operator,
    Program,
    Rename,
    StreamingRewriter,
    Swap,
    ToElement,
)
from heptox.schema import SchemaTree, parse_dtd
from heptox.xml import XmlReader, parse_document, write_document

SCHEMA: Final = """
<!ELEMENT uni (faculty*)> <!ELEMENT faculty (name, department*)> <!ELEMENT department (name, course*)>
<!ELEMENT course (title, time, location, instructor, unit)> <!ATTLIST course code CDATA #REQUIRED>
<!ELEMENT name (#PCDATA)> <!ELEMENT title (#PCDATA)> <!ELEMENT time (#PCDATA)> <!ELEMENT location (#PCDATA)>
<!ELEMENT instructor (#PCDATA)> <!ELEMENT unit (#PCDATA)>
"""
COURSE: Final = ("faculty", "department", "course")
SMALL: Final = 2_000_000
RUNS: Final = 5


def _below(name: str) -> tuple[str, ...]:
    return (*COURSE, name)


INSERT: Final = Insert(COURSE, ("schedule",), (_below("time"), _below("location")))
DOWNGRADE: Final = Downgrade(COURSE, (_below("unit"),), _below("instructor"))
SWAP: Final = Swap(COURSE, _below("instructor"))
RENAME: Final = Rename(COURSE, "subject")
PROGRAMS: Final[dict[str, tuple[Operator, ...]]] = {
    "nothing": (),
    "rename": (RENAME, Rename(_below("title"), "name")),
    "to element": (ToElement(_below("@code")),),
    "insert": (INSERT,),
    "downgrade": (DOWNGRADE,),
    "swap": (SWAP,),
    "five stacked": (RENAME, ToElement(_below("@code")), INSERT, DOWNGRADE, SWAP),
    "insert at the root": (Insert((), ("faculties",), (("faculty",),)),),
    "downgrade in faculties": (Downgrade(COURSE[:1], (("faculty", "name"),), COURSE[:2]),),
}
BESIDE: Final = ("expat with handlers", "parse and write")


class Catalogue:
    """A document of about so many bytes, made while it is read."""

    def __init__(self, size: int) -> None:
        self._rest = b""
        self._parts = _parts(size)

    def read(self, size: int, /) -> bytes:
        while len(self._rest) < size and (part := next(self._parts, b"")):
            self._rest += part
        given, self._rest = self._rest[:size], self._rest[size:]
        return given


def _parts(size: int) -> Iterator[bytes]:
    """A faculty for each megabyte."""
    yield b"<uni>"
    written = number = 0
    while written < size:
        yield f"<faculty><name>F{number}</name>".encode()
        end = min(size, written + 1_000_000)
        while written < end:
            number += 1
            department = "".join(map(_course, range(number * 50, number * 50 + 50)))
            part = f"<department><name>D{number}</name>{department}</department>".encode()
            written += len(part)
            yield part
        yield b"</faculty>"
    yield b"</uni>"


def _course(number: int) -> str:
    return (
        f'<course code="c{number}"><title>Introduction to things {number}</title><time>Mon 10-12</time><location>Room'
        f" {number % 97}</location><instructor>Dr. Somebody {number % 53}</instructor><unit>12</unit></course>"
    )


def program(name: str) -> Program:
    """One of :data:`PROGRAMS`."""
    return Program(SchemaTree(parse_dtd(SCHEMA, "uni")), PROGRAMS[name])


def task(name: str, document: bytes) -> Callable[[], None]:
    """What is timed."""

    def rewrite() -> None:
        for _ in rewriter.rewrite(BytesIO(document)):
            pass

    def told() -> None:
        for _ in XmlReader(BytesIO(document)).read(_nothing, _nothing, _nothing):
            pass

    def parsed() -> None:
        write_document(parse_document(document).root)

    if name in BESIDE:
        return told if name == BESIDE[0] else parsed
    rewriter = StreamingRewriter(program(name))
    return rewrite


def _nothing(*_: object) -> None:
    pass


def speed(name: str, document: bytes) -> float:
    """Megabytes for each second of processor time."""
    run, best = task(name, document), float("inf")
    for _ in range(RUNS):
        begin = time.process_time()
        run()
        best = min(best, time.process_time() - begin)
    return len(document) / 1e6 / best


def peak(name: str, size: int) -> int:
    """The most bytes that this process has had when it has rewritten a document of about this size."""
    for _ in StreamingRewriter(program(name)).rewrite(Catalogue(size)):
        pass
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def risen(name: str, size: int) -> float:
    """How much more memory a process takes for a document of this size than for a small one, in percent of it."""
    peaks = []
    for each in (SMALL, size):
        command = [sys.executable, "-m", "benchmarks.rewriting.streaming", "--peak", str(each), "--only", name]
        peaks.append(int(subprocess.run(command, capture_output=True, check=True, text=True).stdout))
    return 100 * (peaks[1] - peaks[0]) / size


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--only", choices=(*BESIDE, *PROGRAMS))
    parser.add_argument("--peak", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peak:
        print(peak(given.only, given.peak))
        return
    document = b"".join(_parts(1_650_000))
    print(f"{'':24} MB/s  memory, % of {given.megabytes} MB")
    for name in [given.only] if given.only else (*BESIDE, *PROGRAMS):
        memory = "" if name in BESIDE else f"{risen(name, given.megabytes * 1_000_000):6.2f}"
        print(f"{name:24} {speed(name, document):4.0f}  {memory}", flush=True)


if __name__ == "__main__":
    main()
