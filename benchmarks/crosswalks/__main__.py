"""How far a mapping does what an official crosswalk does:
``python -m benchmarks.crosswalks ARROWS DOCUMENT... --judged FOLDER [--only TERMS] [--differences] [--write PAGE]``.

Each document is exchanged, and compared with that of its name in the folder, which is what the crosswalk made of it:
term by term as multisets of values, and group by group with what the groups hold. Which term an element is, the judged
documents say, and the ``appinfo`` of the elements in the target's schema. A term is right where every document has the
same of it; one that no judged document has is right where none is made. ``--write`` puts the tables into a page,
between comments with the name of the mapping's file. The same is printed on every machine.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Mapping as AnyMapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.crosswalks.scoring import Score, Values, attributes, groups, right, scores, values
from benchmarks.crosswalks.terms import Terms, annotated_terms, judged_terms
from benchmarks.translation import show, table
from heptox.errors import SchemaError
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.schema import conform, is_xsd
from heptox.xml import Document, XmlElement, read_document, read_text

ANY_TERM = ".*"


@dataclass(frozen=True, slots=True)
class Results:
    """How the terms, their attributes and the groups of a crosswalk came out; ``names`` are those of the terms."""

    documents: int
    terms: Sequence[Score]
    attributes: Sequence[Score]
    groups: Sequence[Score]
    names: AnyMapping[str, str]


def measured(mapping: Mapping, documents: Sequence[Path], judged: Path, only: str = ANY_TERM) -> Results:
    """What a mapping makes of documents, against those of their names in a folder; ``only`` of terms that match."""
    should = {file.name: read_document(judged / file.name) for file in documents}
    does = {file.name: exchange(mapping, conformed(mapping, read_document(file))) for file in documents}
    terms = _annotated(mapping) | judged_terms(should.values())
    names = {term: name for term, name in terms.leaves.items() if re.fullmatch(only, term)}

    def compared(take: Callable[[XmlElement, Terms], Values], wanted: Iterable[str] = ()) -> list[Score]:
        made, expected = ({name: take(one.root, terms) for name, one in of.items()} for of in (does, should))
        found = (term for values_of in (*expected.values(), *made.values()) for term in values_of)
        return list(scores(wanted or dict.fromkeys(found), made, expected))

    return Results(len(documents), compared(values, names), compared(attributes), compared(groups), names)


def conformed(mapping: Mapping, document: Document) -> Document:
    """The document with what its schema adds to it; as it is where it is not valid."""
    try:
        return conform(document, mapping.source.graph)
    except SchemaError:
        return document


def _annotated(mapping: Mapping) -> Terms:
    file = mapping.target.graph.file
    if file is None or not is_xsd(read_text(file)):
        return Terms({})
    return annotated_terms(read_document(file))


def summary(found: Results) -> str:
    """How many terms, attributes and groups are right."""
    rows = [
        [name, str(sum(score.occurrences for score in several)), right(several, occurring=True), right(several)]
        for name, several in (
            ("terms", found.terms),
            ("attributes of terms", found.attributes),
            ("groups, with what they hold", found.groups),
        )
    ]
    return table([f"{found.documents} documents", "values", "right, of those that occur", "right, of all"], rows)


def by_term(found: Results) -> str:
    """Each term that occurs, or is wrong."""
    rows = [
        [
            f"{score.term} {found.names[score.term]}",
            str(score.occurrences),
            str(score.documents),
            str(found.documents - len(score.differences)),
            str(len(score.differences) or ""),
        ]
        for score in found.terms
        if score.occurrences or not score.is_right
    ]
    return table(["term", "values", "documents", "right in", "wrong in"], rows)


def differences(found: Results) -> Iterable[str]:
    """A line for each document that has not what it should have of a term, an attribute or a group."""
    for score in (*found.terms, *found.attributes, *found.groups):
        for one in score.differences:
            yield f"{score.term} {one.document}: missing {[*one.missing]}, made {[*one.invented]}"


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crosswalks", description="Mappings against crosswalks.")
    parser.add_argument("arrows", type=Path, metavar="ARROWS", help="a mapping to the model of the crosswalk")
    parser.add_argument("documents", type=Path, nargs="+", metavar="DOCUMENT", help="documents of its source")
    parser.add_argument("--judged", type=Path, required=True, metavar="FOLDER", help="what the crosswalk made of them")
    parser.add_argument("--only", default=ANY_TERM, metavar="TERMS", help="the terms to count, a regular expression")
    parser.add_argument("--differences", action="store_true", help="say what differs, too")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page that has the comments of the tables")
    given = parser.parse_args()
    found = measured(load_mapping(given.arrows), given.documents, given.judged, given.only)
    show(given.arrows.stem, summary(found), given.write)
    show(f"{given.arrows.stem} by term", by_term(found), given.write)
    if given.differences:
        print(*differences(found), sep="\n")


if __name__ == "__main__":
    main()
