"""The auction workload, translated once for all tests."""

from __future__ import annotations

from functools import cache

from heptox.cluster import Edge, auction_document, paths, query
from heptox.grammar import Expression, parse_query, print_query
from heptox.mapping import Mapping, exchange, load_mapping
from heptox.translate import Direction, Hop, PathTranslation, Translation, translate, translate_path
from heptox.xml import parse_document, write_document

Crossing = tuple[tuple[Edge, Direction], ...]

PEOPLE = 40
SEEDS = (4, 7)


@cache
def mapping(edge: Edge) -> Mapping:
    return load_mapping(edge.file)


@cache
def document(schema: str, seed: int) -> str:
    return "".join(auction_document(schema, PEOPLE, seed))


@cache
def image(schema: str, seed: int, path: tuple[Edge, ...]) -> str:
    """What exchange along ``path`` makes of the generated document of ``schema``."""
    return exchanged(schema, seed, tuple((edge, Direction.SOURCE) for edge in reversed(path)))


@cache
def exchanged(schema: str, seed: int, path: Crossing) -> str:
    """The generated document of ``schema``, where a path of queries ends, in the words of where it begins."""
    if not path:
        return document(schema, seed)
    edge, to = path[0]
    below = parse_document(exchanged(schema, seed, path[1:]))
    return write_document(exchange(to.answered_by(mapping(edge)), below).root)


@cache
def across(name: str, path: Crossing) -> PathTranslation:
    """The query ``name`` over ``auction.dtd`` after a path of mappings, at least one."""
    hops = [Hop(mapping(edge), to, str(edge)) for edge, to in path]
    return translate_path(hops, parse_query(query(name)))


@cache
def asked(name: str, schema: str) -> Expression:
    """The query ``name`` in the words of ``schema``: translated along the shortest path from ``auction.dtd``."""
    path = paths()[schema]
    return across(name, path).query if path else parse_query(query(name))


@cache
def standard(name: str) -> str:
    return print_query(parse_query(query(name)))


@cache
def crossed(name: str, edge: Edge, to: Direction) -> Translation:
    """The query ``name``, as it is asked where a mapping begins in direction ``to``, across that mapping."""
    return translate(mapping(edge), asked(name, edge.target if to is Direction.SOURCE else edge.source), to)
