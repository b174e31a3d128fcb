"""Catalogue records exchanged to Dublin Core and MODS, beside what the Library of Congress makes of them itself.

``python -m benchmarks.crosswalks.library [--write PAGE]`` compares record by record: the values that its stylesheets
make, each with its path, and those that ``examples/library`` makes of the same record. Records, schemas and judged
documents are not part of this project: ``--data`` is the folder that has them. Another collection is compared with
``--records FILE --judged FILE --mapping marc-mods``. ``--write`` puts the tables into a page, between the comments that
name them.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.crosswalks.values import Comparison, Difference, compare, total, values
from benchmarks.translation import show, table
from heptox.mapping import exchange, load_mapping
from heptox.xml import read_document

DATA: Final = Path(__file__).parents[3] / "shared" / "data" / "library"
FOLDER: Final = Path(__file__).parents[2] / "examples" / "library"
JUDGED: Final = {"marc-dc": "loc_general.dc.xml", "marc-mods": "loc_general.mods.xml"}
RECORDS: Final = "loc_general.xml"


def compared(mapping: str, records: Path, judged: Path) -> Comparison:
    """All records of a file, in its order: what exchange makes of them, and what is judged right.

    Raises ``ValueError`` where the two do not have equally many records.
    """
    image = exchange(load_mapping(FOLDER / f"{mapping}.arrows"), read_document(records))
    return total(
        compare(values(made), values(right)) for made, right in zip(image.root, read_document(judged).root, strict=True)
    )


def by_element(found: Comparison) -> str:
    """A row for each element right below a record, with what stands in it; then one for all."""
    judged, equal, missing, surplus = (_shortened(count) for count in (found.judged, found.equal, *_sides(found)))
    names = [*(name for name, _ in judged.most_common()), *sorted(surplus.keys() - judged.keys())]
    rows = [_row(f"`{name}`", judged[name], equal[name], missing[name], surplus[name]) for name in names]
    rows.append(_row("together", judged.total(), equal.total(), missing.total(), surplus.total()))
    return table(["element", "judged values", "equal", "", "missing", "surplus"], rows)


def _row(name: str, judged: int, equal: int, missing: int, surplus: int) -> list[str]:
    share = f"{100 * equal / judged:.1f} %" if judged else ""
    return [name, *(f"{count:,}" for count in (judged, equal)), share, f"{missing:,}", f"{surplus:,}"]


def _sides(found: Comparison) -> tuple[Counter[str], Counter[str]]:
    """How often a value is missing at each path, and how often there is one that is not judged right."""
    missing = Counter(each.path for each in found.differences if each.judged is not None)
    return missing, Counter(each.path for each in found.differences if each.made is not None)


def _shortened(counted: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for path, count in counted.items():
        found[path.split("/", 1)[0]] += count
    return found


def classes(found: Comparison) -> str:
    """The classes of difference, the largest first: where, of which kind, how often, and one of them."""
    groups: dict[tuple[str, str], list[Difference]] = {}
    for each in found.differences:
        groups.setdefault((each.path, each.kind), []).append(each)
    rows = (
        [f"`{path}`", kind, str(len(members)), _quoted(members[0].judged), _quoted(members[0].made)]
        for (path, kind), members in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))
    )
    return table(["path", "difference", "times", "judged, for example", "made"], rows)


def _quoted(value: str | None) -> str:
    short = "" if value is None else value if len(value) <= 60 else f"{value[:60]}..."
    return short.replace("\\", "\\\\").replace("|", "\\|")


def cases(given: argparse.Namespace) -> Iterator[tuple[str, Path, Path]]:
    """The mappings to look at, each with records and what is judged right."""
    for mapping, judged in JUDGED.items():
        if given.mapping in (None, mapping):
            records = given.records or given.data / "marc" / RECORDS
            yield mapping, records, given.judged or given.data / "judged" / judged


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.crosswalks.library", description="Catalogue records in other formats."
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    parser.add_argument("--data", type=Path, default=DATA, metavar="FOLDER", help=f"default {os.path.relpath(DATA)}")
    parser.add_argument("--mapping", choices=list(JUDGED), help="one of the two mappings only")
    parser.add_argument("--records", type=Path, metavar="FILE", help="other records")
    parser.add_argument("--judged", type=Path, metavar="FILE", help="what is judged right for them; with --mapping")
    given = parser.parse_args()
    if given.judged and not given.mapping:
        parser.error("--judged is for one mapping: name it by --mapping")
    for mapping, records, judged in cases(given):
        found = compared(mapping, records, judged)
        show(f"{mapping} by element", by_element(found), given.write)
        show(f"{mapping} by class of difference", classes(found), given.write)


if __name__ == "__main__":
    main()
