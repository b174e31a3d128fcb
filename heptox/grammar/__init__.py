"""Text and syntax: the query fragment, arrows and rules; lowering to patterns and printing as XQuery.

``syntax`` is the module of the query's syntax tree.
"""

from heptox.grammar import query as syntax
from heptox.grammar.lower import Lowering, lower
from heptox.grammar.query import Expression
from heptox.grammar.query_parser import parse_query
from heptox.grammar.query_printer import print_query
from heptox.grammar.render import render

__all__ = [
    "Expression",
    "Lowering",
    "lower",
    "parse_query",
    "print_query",
    "render",
    "syntax",
]
