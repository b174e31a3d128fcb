"""What is said about a schema in its comments: what it was inferred from, keys and references with their evidence."""

from __future__ import annotations

from collections.abc import Iterator

from heptox.schema.inference.model import InferredSchema, Key, Reference
from heptox.xml import Prefixes


def comments(schema: InferredSchema) -> Iterator[str]:
    """The comments at the head of a schema, one a line."""
    yield comment(f"{'extended for' if schema.extended else 'inferred from'} {_counted(schema.documents, 'document')}")
    yield from (comment(_key(key, schema.prefixes)) for key in schema.keys)
    yield from (comment(_reference(reference, schema.prefixes)) for reference in schema.references)


def comment(text: str) -> str:
    """A comment of XML with a text, in which no two hyphens may stand side by side.

    >>> comment("a--b---")
    '<!-- a- -b- - - -->'
    """
    while "--" in text:
        text = text.replace("--", "- -")
    return f"<!-- {text} -->"


def _key(key: Key, prefixes: Prefixes) -> str:
    where = f" within {_counted(key.documents, 'document')}" if key.documents > 1 else ""
    elements = f", {key.elements - key.values} elements have none" if key.is_optional else ""
    return f"key: {key.leaf.written(prefixes)}: {key.values} of {key.values} values differ{where}{elements}"


def _reference(reference: Reference, prefixes: Prefixes) -> str:
    target = reference.target.written(prefixes) if reference.target else "identifiers of several element types"
    values = f"all {reference.values} values, {reference.different} different, are there"
    return f"reference: {reference.leaf.written(prefixes)} -> {target}: {values}"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")
