"""Mappings from files: arrows and boxes, or rules (``semantics.md`` sections 2 and 4)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Final

from heptox.grammar import Arrow, BoxDeclaration, JoinDeclaration, Statement, parse_arrow_lines, parse_rule_parts
from heptox.mapping.correspondences import check_boxes, correspondences
from heptox.mapping.declarations import Declared, declare
from heptox.mapping.findings import Findings
from heptox.mapping.inference import infer_rules
from heptox.mapping.model import Mapping, Rule
from heptox.mapping.reading import read_rules
from heptox.xmlio import STANDARD_INPUT, file_name, read_text

RULES_SUFFIX: Final = ".rules"


def load_mapping(path: str | os.PathLike[str]) -> Mapping:
    """The mapping in an ``.arrows`` file, its rules inferred, or in a ``.rules`` file, its rules as written.

    Schemas that the file names stand relative to it. A file with another name, or standard input (``-``, whose schemas
    stand relative to the current folder), is one of rules when it holds ``<-``.

    Raises :class:`InputError` when the file cannot be read; :class:`MappingError` with every fault of the file (HX3001
    for lines that do not follow the grammar, HX4001 to HX4034 otherwise, and those of the schemas).
    """
    text = read_text(path)
    folder = FilePath() if path == STANDARD_INPUT else FilePath(path).parent
    suffix = FilePath(path).suffix
    is_rules = suffix == RULES_SUFFIX or (suffix != ".arrows" and "<-" in text)
    read = parse_mapping_rules if is_rules else parse_mapping_arrows
    return read(text, folder, file_name(path))


def parse_mapping_arrows(text: str, folder: str | os.PathLike[str], file: str | None = None) -> Mapping:
    """The mapping that the text of an ``.arrows`` file means, its schemas found in ``folder``.

    Raises :class:`MappingError` with every fault.
    """
    statements, faults = parse_arrow_lines(text, file)
    findings = Findings(text, file)
    findings.extend(faults)
    declared, rules = _declare(statements, folder, findings), tuple[Rule, ...]()
    if declared.source and declared.target:
        arrows = [statement for statement in statements if isinstance(statement, Arrow)]
        boxes = [statement for statement in statements if isinstance(statement, BoxDeclaration)]
        found = correspondences(arrows, declared.source, declared.target, findings)
        if not faults:
            # A line that cannot be read may be the very arrow that a box lacks.
            check_boxes(boxes, found, (declared.source, declared.target), findings)
        rules = infer_rules(found, declared, findings)
    return _mapping(declared, rules, findings)


def parse_mapping_rules(text: str, folder: str | os.PathLike[str], file: str | None = None) -> Mapping:
    """The mapping that the text of a ``.rules`` file means, its schemas found in ``folder``.

    Raises :class:`MappingError` with every fault.
    """
    parsed, faults = parse_rule_parts(text, file)
    findings = Findings(text, file)
    findings.extend(faults)
    for declaration in parsed.declarations:
        if isinstance(declaration, JoinDeclaration):
            message = "a join line decides how rules are inferred; these rules are written"
            findings.add("HX4023", message, declaration, "leave it out, and write the equality in the rules")
    declared, rules = _declare(parsed.declarations, folder, findings), tuple[Rule, ...]()
    if declared.source and declared.target:
        rules = read_rules(parsed.rules, declared.source, declared.target, findings)
    return _mapping(declared, rules, findings)


def _declare(statements: Sequence[Statement], folder: str | os.PathLike[str], findings: Findings) -> Declared:
    return declare([s for s in statements if not isinstance(s, Arrow)], FilePath(folder), findings)


def _mapping(declared: Declared, rules: tuple[Rule, ...], findings: Findings) -> Mapping:
    findings.raise_any()
    source, target = declared.source, declared.target
    if source is None or target is None:
        raise AssertionError("a side without a schema is a fault")
    return Mapping(source.tree, target.tree, rules, source.keys, target.keys, source.references, target.references)
