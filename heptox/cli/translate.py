"""``heptox translate``."""

from __future__ import annotations

from typing import Annotated

import typer

from heptox.cli.inputs import MappingFile, QueryFile, read_query
from heptox.cli.output import print_note, print_result
from heptox.mapping import load_mapping
from heptox.translate import Direction, Translation, translate as translate_query


def translate(
    mapping: MappingFile,
    to: Annotated[Direction, typer.Option("--to", help="The schema whose words the translation speaks.")],
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="The query, or - for standard input.")] = None,
    file: QueryFile = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the steps of the translation, on stderr.")] = False,
) -> None:
    """Translate a query along or against a mapping.

    Along the mapping (--to target) the query speaks of the source schema, against it (--to source) of the target
    schema. What is printed on stdout is an XQuery expression and nothing else; () is the query without answers. What
    the mapping does not carry is named on stderr.
    """
    translation = translate_query(load_mapping(mapping), read_query(query, file), to)
    if explain:
        _explain(translation)
    for loss in translation.losses:
        print_note(f"lost: {loss}")
    print_result(translation.text)


def _explain(translation: Translation) -> None:
    for step in translation.steps:
        count = len(step.members)
        print_note(f"{step.name}: {count} {'member' if count == 1 else 'members'}")
        for member in step.members:
            print_note("\n".join(f"  {line}" for line in member.splitlines()))
