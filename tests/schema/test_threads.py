"""Schemas and documents that are read in several threads at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from heptox.schema import parse_dtd
from heptox.xml import parse_document

DTD: Final = "<!ELEMENT r (a*)>" + "".join(
    f"<!ELEMENT {name} (#PCDATA)>" for name in ("a", *map("n{}".format, range(40)))
)
THREADS: Final = 8
ROUNDS: Final = 200


def test_none_reads_what_another_was_to_be_given_or_a_file(tmp_path: Path) -> None:
    other = tmp_path / "other.dtd"
    other.write_text("<!ATTLIST a found CDATA 'in a file'>")
    document = f'<!DOCTYPE a SYSTEM "{other}"><a/>'

    def read(_: int) -> None:
        for _ in range(ROUNDS):
            assert len(parse_dtd(DTD, "r").elements) == 42
            assert not parse_document(document).root.attrib

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(read, range(THREADS)))
