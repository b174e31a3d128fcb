"""Files of XPaths, one a line: the namespaces that they declare before these."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from heptox.errors import Fault, GrammarError
from heptox.grammar.parsing import fault_at, offset_position
from heptox.grammar.query_prolog import PrologError, declared_namespaces
from heptox.xml import Prefixes

_DECLARATION: Final = re.compile(r"\s*declare\s+(?:namespace|default)\b")
_PREFIX: Final = re.compile(r"(?!xml(?:ns)?\Z)[^\W\d][\w.-]*")
_BRACE: Final = re.compile(r"[{}]")


def declared_prefixes(
    lines: Sequence[tuple[int, str]], file: str | None = None
) -> tuple[Prefixes, Sequence[tuple[int, str]]]:
    """The prefixes that the first of some lines bind, as the prolog of a query does, and the lines behind these, all
    with their numbers.

    Raises :class:`GrammarError` (HX3001) with a position.

    >>> declared_prefixes([(1, 'declare namespace a = "urn:a";'), (2, "//a:b")])
    (Prefixes(bound=(('a', 'urn:a'),)), [(2, '//a:b')])
    """
    bound: dict[str, str] = {}
    for place, (number, line) in enumerate(lines):
        if not _DECLARATION.match(line):
            return Prefixes.of(bound), lines[place:]
        declared = _declared(line, number, file)
        if twice := declared.keys() & bound.keys():
            prefix = min(twice)
            message = f"the prefix {prefix} is declared twice" if prefix else "unprefixed names are declared twice"
            raise GrammarError(_fault(message, line, 0, number, file))
        bound.update(declared)
    return Prefixes.of(bound), []


def _declared(line: str, number: int, file: str | None) -> dict[str, str]:
    try:
        declared, rest = declared_namespaces(line)
    except PrologError as error:
        message, offset = error.args
        raise GrammarError(_fault(message, line, offset, number, file)) from None
    if rest.strip():
        offset = len(rest) - len(rest.lstrip())
        hint = 'a line of declarations: declare namespace p = "uri"; or declare default element namespace "uri";'
        raise GrammarError(_fault("this is no declaration of a namespace", line, offset, number, file, hint))
    for namespace in declared.values():
        if found := _BRACE.search(namespace):
            raise GrammarError(_fault("a namespace has no braces", line, line.find(found[0]), number, file))
    return declared


def _fault(message: str, line: str, offset: int, number: int, file: str | None, hint: str | None = None) -> Fault:
    return fault_at("HX3001", message, line, offset_position(line, offset, file, number), hint, number)


def bound_prefix(argument: str) -> tuple[str, str]:
    """The prefix and the namespace of ``PREFIX=NAMESPACE``; ``""`` is the prefix of elements without one.

    Raises ``ValueError`` with what would have worked.

    >>> bound_prefix("p=urn:p"), bound_prefix("=urn:d")
    (('p', 'urn:p'), ('', 'urn:d'))
    """
    prefix, equals, namespace = argument.partition("=")
    namespace = " ".join(namespace.split())
    if not equals or not namespace or (prefix and not _PREFIX.fullmatch(prefix)) or _BRACE.search(namespace):
        raise ValueError(f"{argument}: write PREFIX=NAMESPACE, or =NAMESPACE for elements without a prefix")
    return prefix, namespace
