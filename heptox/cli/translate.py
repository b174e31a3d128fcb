"""``heptox translate``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Final

import typer

from heptox.cli.inputs import Json, QueryFile, read_query_text
from heptox.cli.output import print_json, print_note, print_result
from heptox.grammar import NameTable, check_names, declared_namespaces, doubtful_names, parse_query
from heptox.mapping import load_mapping
from heptox.schema import SchemaTree
from heptox.translate import (
    Direction,
    ExplainedLoss,
    ExplainedMember,
    Explanation,
    Hop,
    HopTranslation,
    PathTranslation,
    explain as explain_hop,
    losses,
    translate_path,
)
from heptox.xml import Prefixes, file_name

MOST_SHOWN: Final = 12
"""Members of a union that an explanation shows to people; ``--json`` has them all."""


def translate(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE... [QUERY]",
            help="The mapping, FILE.arrows or FILE.rules, or those of a path in order; then the query, or - for "
            "standard input, unless -f names its file.",
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="source|target[,...]",
            help="The schema whose words the translation speaks; for a path one for each mapping, as target,source.",
        ),
    ],
    file: QueryFile = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show the steps of the translation, on stderr.")] = False,
    json: Json = False,
) -> None:
    """Translate a query along or against a mapping, or along a path of mappings.

    Along the mapping (--to target) the query speaks of the source schema, against it (--to source) of the target
    schema. What is printed on stdout is an XQuery expression and nothing else; () is the query without answers. What
    the mapping does not carry is named on stderr, with the arrow that would carry it. A name that the query's own
    schema does not have is refused.

    With several mappings, what one makes of the query is what the next one reads, and each hop is shown on stderr.
    """
    files, query = (arguments, None) if file else (arguments[:-1], arguments[-1])
    path = _path(files, _directions(to), [query, file])
    text, source = read_query_text(query, file)
    expression = parse_query(text, source, names=NameTable.of(path[0].start))
    trees = SchemaTree(path[0].start), path[0].start_tree
    check_names(expression, *trees)
    for note in doubtful_names(expression, *trees):
        print_note(note)
    translated = translate_path(path, expression, prefixes=Prefixes.of(declared_namespaces(text)[0]))
    explanations = [explain_hop(hop) if explain else None for hop in translated.hops]
    if json:
        print_json(_as_json(translated, explanations))
        return
    for number, (hop, explanation) in enumerate(zip(translated.hops, explanations, strict=True), start=1):
        _tell(hop, explanation, f"hop {number} of {len(path)}" if len(path) > 1 else "")
    print_result(translated.text)


def _directions(to: str) -> list[Direction]:
    try:
        return [Direction(word.strip()) for word in to.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{to!r} is not source, target, or several of these with commas between") from None


def _path(files: Sequence[str], directions: Sequence[Direction], others: Sequence[str | None]) -> list[Hop]:
    if not files:
        raise typer.BadParameter("give a mapping and a query")
    if len(files) != len(directions):
        raise typer.BadParameter(f"--to names {len(directions)} directions for {len(files)} mappings")
    if [*files, *others].count("-") > 1:
        raise typer.BadParameter("standard input can be read only once")
    return [Hop(load_mapping(file), to, file_name(file)) for file, to in zip(files, directions, strict=True)]


# -- for people ------------------------------------------------------------------------------------------------------


def _tell(hop: HopTranslation, explanation: Explanation | None, place: str) -> None:
    if place:
        print_note(f"{place}: {hop.hop}, {hop.seconds * 1000:.1f} ms")
    if explanation is not None:
        for line in _explained(explanation):
            print_note(line)
    elif place:
        print_note(_indented(hop.translation.text))
    lost = losses(hop)
    for loss in lost:
        print_note(f"lost: {loss}")
    for arrow in dict.fromkeys(loss.arrow for loss in lost if loss.arrow is not None):
        print_note(f"add: {arrow}")


def _explained(explanation: Explanation) -> Iterator[str]:
    before: tuple[ExplainedMember, ...] | None = None
    for step in explanation.steps:
        count = len(step.members)
        same = "; the same as before" if before == step.members else ""
        yield f"{step.name}: {count} {'member' if count == 1 else 'members'}{same}"
        if not same:
            for member in step.members[:MOST_SHOWN]:
                yield from _drawn(member)
            if count > MOST_SHOWN:
                yield f"  and {count - MOST_SHOWN} more; --json shows all"
        before = step.members


def _drawn(member: ExplainedMember) -> Iterator[str]:
    yield _indented(member.tree)
    if any(member.choices):
        yield f"  {' or '.join(', '.join(map(str, choice)) for choice in member.choices)}"
    yield _indented(member.text, "    ")


def _indented(text: str, indent: str = "  ") -> str:
    return "\n".join(f"{indent}{line}" for line in text.splitlines())


# -- for programs ----------------------------------------------------------------------------------------------------


def _as_json(translated: PathTranslation, explanations: Sequence[Explanation | None]) -> dict[str, Any]:
    hops = zip(translated.hops, explanations, strict=True)
    return {"query": translated.text, "empty": translated.empty, "hops": [_hop(hop, found) for hop, found in hops]}


def _hop(hop: HopTranslation, explanation: Explanation | None) -> dict[str, Any]:
    steps = {} if explanation is None else {"steps": [_step(step.name, step.members) for step in explanation.steps]}
    return {
        "mapping": hop.hop.name,
        "to": str(hop.hop.to),
        "query": hop.translation.text,
        "empty": hop.translation.empty,
        "seconds": round(hop.seconds, 6),
        "lost": [_loss(loss) for loss in losses(hop)],
        **steps,
    }


def _loss(loss: ExplainedLoss) -> dict[str, Any]:
    return {"path": loss.name or "/".join(loss.path) or None, "effect": loss.effect, "arrow": loss.arrow}


def _step(name: str, members: Sequence[ExplainedMember]) -> dict[str, Any]:
    return {"step": name, "members": [_member(member) for member in members]}


def _member(member: ExplainedMember) -> dict[str, Any]:
    return {
        "query": member.text,
        "pattern": member.tree.splitlines(),
        "dummies": list(member.dummy_names),
        "rules": [
            [{"node": use.name or "/".join(use.node), "rule": use.rule} for use in choice] for choice in member.choices
        ],
    }
