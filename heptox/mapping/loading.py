"""Mappings from files: arrows and boxes, or rules (``semantics.md`` sections 2 and 4)."""

from __future__ import annotations

import os
from collections.abc import Mapping as Files, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path as FilePath
from typing import Final

from heptox.errors import Fault, MappingError
from heptox.grammar import (
    Arrow,
    BoxDeclaration,
    Entity as EntityLine,
    JoinDeclaration,
    KeyDeclaration,
    Side,
    Statement,
    parse_arrow_lines,
    parse_rule_parts,
)
from heptox.mapping.code_tables import ReadTable
from heptox.mapping.computed_leaves import with_tables
from heptox.mapping.constants import constant_leaves, constant_value
from heptox.mapping.correspondences import (
    Correspondence,
    Entity,
    check_boxes,
    correspondences,
    declared_inverses,
    entities,
    lines_ends,
)
from heptox.mapping.declarations import DeclaredSides, ReadSchema, declare, drawn_path, read_schemas
from heptox.mapping.file_names import FileNames
from heptox.mapping.findings import Findings
from heptox.mapping.model import Mapping, Rule
from heptox.mapping.reading import read_rules
from heptox.mapping.readings import MappingLines, Reading, read_along, read_mirrored
from heptox.schema import Path, SchemaGraph, SchemaTree, parse_schema, read_schema
from heptox.xml import STANDARD_INPUT, decode_dtd, decode_text, file_name, read_text

MOST_TABLE: Final = 16_000_000
"""Bytes of a table of codes at most."""
RULES_SUFFIX: Final = ".rules"


def load_mapping(path: str | os.PathLike[str]) -> Mapping:
    """The mapping in an ``.arrows`` file, its rules inferred, or in a ``.rules`` file, its rules as written.

    Schemas that the file names stand relative to it. A file with another name, or standard input (``-``, whose schemas
    stand relative to the current folder), is one of rules when it holds ``<-``.

    Raises :class:`InputError` when the file cannot be read; :class:`MappingError` with every fault of the file (HX3001
    for lines that do not follow the grammar, HX4001 to HX4035 otherwise, and those of the schemas).
    """
    return load_mapping_text(path)[0]


def load_mapping_text(path: str | os.PathLike[str]) -> tuple[Mapping, ArrowsText | None]:
    """As :func:`load_mapping`, with the text that says the arrows; ``None`` for a file of rules."""
    folder = FilePath() if path == STANDARD_INPUT else FilePath(path).parent
    return _said(read_text(path), FilePath(path).suffix, _in(folder), _tables_in(folder), file_name(path))


def load_packed_mapping(files: Files[str, bytes], mapping: str, folder: str | os.PathLike[str] = "") -> Mapping:
    """The mapping in the file ``mapping`` of some whose contents are given by name; nothing on the disk is opened.

    A schema that it names is one of these files, by the very name, or HX4036 is raised. ``folder`` is where messages
    say that the files stand. Raises as :func:`load_mapping`, and :class:`InputError` for what is no text.
    """
    file = _in_messages(folder, mapping)
    text = decode_text(files[mapping], file)
    return _said(text, FilePath(mapping).suffix, _among(files, folder), _tables_among(files, folder), file)[0]


def _said(text: str, suffix: str, read: ReadSchema, tables: ReadTable, file: str) -> tuple[Mapping, ArrowsText | None]:
    """What the text of a mapping's file means, and the text that says the arrows, if it does."""
    if suffix == RULES_SUFFIX or (suffix != ".arrows" and "<-" in text):
        return read_mapping_rules(text, read, file, lru_cache(tables)), None
    arrows = ArrowsText(text, lru_cache(read), file, lru_cache(tables))
    return _sound(arrows.examined()), arrows


def parse_mapping_arrows(text: str, folder: str | os.PathLike[str], file: str | None = None) -> Mapping:
    """The mapping that the text of an ``.arrows`` file means, its schemas found in ``folder``.

    Raises :class:`MappingError` with every fault.
    """
    return _sound(examine_arrows(text, _in(folder), file, _tables_in(folder)))


def _sound(examined: Examination) -> Mapping:
    if examined.sound is None or examined.faults:
        raise MappingError(examined.faults)
    return examined.sound


@dataclass(frozen=True, slots=True)
class Examination:
    """What the text of an ``.arrows`` file says, as far as it can be understood, and everything that is wrong with it.

    ``faults`` come in the order of the file. ``sound`` is the mapping of what is not wrong, ``None`` where a side has
    no schema; only without faults is it what the text means. ``remarks`` say what the mirrored reading lacks. The
    ``readings`` are what rules were inferred of, along and against the arrows.
    """

    statements: tuple[Statement, ...]
    declared: DeclaredSides
    sound: Mapping | None
    faults: tuple[Fault, ...]
    remarks: tuple[Fault, ...] = ()
    correspondences: tuple[Correspondence, ...] = ()
    entities: tuple[Entity, ...] = ()
    readings: tuple[Reading, ...] = ()

    def rules_with_each(
        self, source: Path, target: Path, *, mirrored: bool, alone: bool = False
    ) -> tuple[Rule, ...] | None:
        """The rules of one reading with one ``each`` line more, between nodes of the lines, which is read in that
        direction ``alone`` or in both: those for what is at and below the node that it makes there, at least, so that
        many lines can be tried. ``None`` where it is a fault.
        """
        along, against = self.readings
        entity, findings = Entity(source, target), Findings("", None)
        if entity in self.entities:
            return None
        if mirrored and alone:
            return against.near(source).with_each(entity.mirrored()).inferred(Findings("", None))[0]
        rules, _ = along.near(target).with_each(entity).inferred(findings)
        if mirrored and not findings:
            rules, _ = against.near(source).with_each(entity.mirrored()).inferred(Findings("", None))
        return None if findings else rules


def no_tables(file: str) -> str:
    """Where there are no tables of codes: raises :class:`MappingError` (HX4042)."""
    raise MappingError(Fault("HX4042", "no tables are here", hint=f"put {file} beside the mapping"))


@dataclass(frozen=True)
class ArrowsText:
    """The text of an ``.arrows`` file, and how what it names is read: schemas and tables. Lines can be tried on it."""

    text: str
    read: ReadSchema
    file: str | None = None
    tables: ReadTable = no_tables

    @cached_property
    def _examined(self) -> Examination:
        return examine_arrows(self.text, self.read, self.file, self.tables)

    def examined(self) -> Examination:
        """What the text says."""
        return self._examined

    def with_line(self, line: str) -> ArrowsText:
        """The text with one line more."""
        return replace(self, text="\n".join((self.text.rstrip("\n"), line, "")))


def examine_arrows(text: str, read: ReadSchema, file: str | None = None, tables: ReadTable = no_tables) -> Examination:
    """Read the text of an ``.arrows`` file that may still be in work; nothing that is wrong with it is raised.

    ``read`` gives the schema of a file name and root, ``tables`` the text of a table of codes; what they raise is a
    fault of the line.
    """
    statements, faults = parse_arrow_lines(text, file)
    findings = Findings(text, file)
    findings.extend(faults)
    declarations = [s for s in statements if not isinstance(s, Arrow | EntityLine)]
    schemas = read_schemas(declarations, read, findings)
    names = FileNames(schemas, findings)
    named = [names.statement(statement) for statement in statements]
    shown = tuple(read or written for read, written in zip(named, statements, strict=True))
    statements = tuple(statement for statement in named if statement is not None)
    declared = declare([s for s in statements if not isinstance(s, Arrow | EntityLine)], schemas, findings)
    if declared.source is None or declared.target is None:
        return Examination(shown, declared, None, findings.faults)
    drawn = (with_tables(statement, tables, findings) for statement in statements if isinstance(statement, Arrow))
    arrows = [arrow for arrow in drawn if arrow is not None]
    boxes = [statement for statement in statements if isinstance(statement, BoxDeclaration)]
    each = [statement for statement in statements if isinstance(statement, EntityLine)]
    sides = declared.source, declared.target
    remarks = Findings(text, file)
    constants = constant_leaves(arrows, sides[1], findings, remarks)
    found = correspondences([arrow for arrow in arrows if constant_value(arrow) is None], *sides, findings)
    if not faults and None not in named:
        # A line that cannot be read may be the very arrow that a box lacks.
        check_boxes(boxes, found, sides, findings)
    every = entities(each, *sides, findings)
    source_nodes, target_nodes = lines_ends(found, every)
    sides = sides[0].with_identifiers(source_nodes), sides[1].with_identifiers(target_nodes)
    lines = MappingLines(found, every, constants, *sides)
    along, (against, references) = read_along(lines), read_mirrored(lines, remarks)
    rules, invented_target = along.inferred(findings)
    mirrored, invented_source = against.inferred(remarks)
    sound = _mapping(DeclaredSides(sides[0], replace(sides[1], references=references)), rules, mirrored)
    sound = replace(sound, invented_source=invented_source, invented_target=invented_target)
    sound = replace(sound, source_inverses=declared_inverses(found))
    return Examination(shown, declared, sound, findings.faults, remarks.faults, found, every, (along, against))


def written_path(examined: Examination, side: Side, text: str) -> tuple[SchemaTree, Path]:
    """The schema of a side, and where a path in it is drawn that is written as lines of an examined text have it.

    Raises :class:`MappingError` (HX4002 where the side has no schema).
    """
    statements, faults = parse_arrow_lines(f"{side} key {text}")
    declared = examined.declared.source if side == "source" else examined.declared.target
    findings = Findings(text, None)
    findings.extend(faults)
    if declared is None:
        findings.add("HX4002", f"the {side} schema is not declared", None)
    else:
        named = FileNames({side: declared.tree.graph}, findings).statement(statements[0]) if statements else None
        path = drawn_path(declared, named.path, findings) if isinstance(named, KeyDeclaration) else None
        if path is not None:
            return declared.tree, path
    raise MappingError(findings.faults or Fault("HX3001", f"{text!r} is no path", hint="such as item/name"))


def parse_mapping_rules(text: str, folder: str | os.PathLike[str], file: str | None = None) -> Mapping:
    """The mapping that the text of a ``.rules`` file means, its schemas found in ``folder``.

    A section that it does not have is ``None``: the mapping serves one direction.

    Raises :class:`MappingError` with every fault.
    """
    return read_mapping_rules(text, _in(folder), file, _tables_in(folder))


def read_mapping_rules(text: str, read: ReadSchema, file: str | None = None, tables: ReadTable = no_tables) -> Mapping:
    """As :func:`parse_mapping_rules`; ``read`` gives the schema of a file and root, ``tables`` the text of a table."""
    parsed, faults = parse_rule_parts(text, file)
    findings = Findings(text, file)
    findings.extend(faults)
    for declaration in parsed.declarations:
        if isinstance(declaration, JoinDeclaration):
            message = "a join line decides how rules are inferred; these rules are written"
            findings.add("HX4023", message, declaration, "leave it out, and write the equality in the rules")
    schemas = read_schemas(parsed.declarations, read, findings)
    names = FileNames(schemas, findings)
    declarations = [known for one in parsed.declarations if (known := names.statement(one)) is not None]
    declared = declare(declarations, schemas, findings)
    along = against = None
    if declared.source and declared.target:
        if parsed.along is not None:
            written = names.rules(parsed.along, "source", "target")
            along = read_rules(written, declared.source, declared.target, findings, tables)
        if parsed.against is not None:
            written = names.rules(parsed.against, "target", "source")
            against = read_rules(written, declared.target, declared.source, findings, tables)
    if findings.faults:
        raise MappingError(findings.faults)
    source, target = declared.source, declared.target
    if source is not None and target is not None:
        source = source.with_identifiers(_nodes(along or (), against or ()))
        target = target.with_identifiers(_nodes(against or (), along or ()))
    return _mapping(DeclaredSides(source, target), along, against)


def _nodes(bodies: Sequence[Rule], heads: Sequence[Rule]) -> list[Path]:
    """The nodes that some rules have in their bodies, and others in their heads."""
    found = [variable.node for rule in bodies for variable in rule.variables]
    found += [rule.path(term) for rule in bodies for term in rule.terms()]
    return [*found, *((*head.node, *leaf) for rule in heads for head in rule.head for leaf in head.paths)]


def _in(folder: str | os.PathLike[str]) -> ReadSchema:
    """Reads the schemas that stand in a folder."""

    def read(file: str, root: str | None) -> SchemaGraph:
        return read_schema(os.fspath(FilePath(folder) / file), root)

    return read


def _among(files: Files[str, bytes], folder: str | os.PathLike[str]) -> ReadSchema:
    """Reads the schemas that are among some files; a name of any other is refused, whatever stands there on a disk."""

    def read(file: str, root: str | None) -> SchemaGraph:
        if file not in files:
            reason = f'"{file}" is not among the files of the mapping'
            raise MappingError(Fault("HX4036", reason, hint=f"these are {', '.join(files)}"))
        name = _in_messages(folder, file)
        return parse_schema(decode_dtd(files[file], name), root, name)

    return read


def _tables_in(folder: str | os.PathLike[str]) -> ReadTable:
    """Reads the tables that stand in a folder: files that are called so, and no devices."""

    def read(file: str) -> str:
        path = FilePath(folder) / file
        if path.suffix.lower() != ".csv" or (path.exists() and not path.is_file()):
            raise MappingError(Fault("HX4042", "it is no file called *.csv", hint="name a table of codes CODES.csv"))
        return read_text(path, maximum_size=MOST_TABLE)

    return read


def _tables_among(files: Files[str, bytes], folder: str | os.PathLike[str]) -> ReadTable:
    """Reads the tables that are among some files."""

    def read(file: str) -> str:
        if file not in files:
            reason = f'"{file}" is not among the files of the mapping'
            raise MappingError(Fault("HX4036", reason, hint=f"these are {', '.join(files)}"))
        return decode_text(files[file], _in_messages(folder, file))

    return read


def _in_messages(folder: str | os.PathLike[str], file: str) -> str:
    return file_name(FilePath(folder) / file)


def _mapping(declared: DeclaredSides, along: tuple[Rule, ...] | None, against: tuple[Rule, ...] | None) -> Mapping:
    """The mapping of what is declared; ``None`` for rules that its text does not say."""
    source, target = declared.source, declared.target
    if source is None or target is None:
        raise AssertionError("a side without a schema is a fault")
    return Mapping(
        source.tree,
        target.tree,
        along,
        against,
        source.keys,
        target.keys,
        source.references,
        target.references,
        source.declared_keys,
        target.declared_keys,
    )
