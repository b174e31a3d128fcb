"""The names of XQuery's constructs outside the query fragment, for those who write one (part 2 of ``query.lark``)."""

from __future__ import annotations

from typing import Final

from lark import Token

_OPERATORS: Final = {
    "arithmetic operator": ("+", "-", "*", "div", "idiv", "mod"),
    "value comparison": ("eq", "ne", "lt", "le", "gt", "ge"),
    "node comparison": ("is", "<<", ">>"),
    "set operator": ("union", "intersect", "except"),
}
_OPERATOR_NAMES: Final = {operator: name for name, operators in _OPERATORS.items() for operator in operators}
_OPERATOR_HINTS: Final = {
    "value comparison": "write = != < <= > or >=",
    "set operator": "write (a | b) as a step, or (q, q)",
}
_CONSTRUCTS: Final = {
    "some": "quantified expression some ... satisfies",
    "every": "quantified expression every ... satisfies",
    "if": "if ... then ... else",
    "switch": "switch",
    "typeswitch": "typeswitch",
    "try": "try ... catch",
    "for": "window clause",
    "ordered": "ordered { }",
    "unordered": "unordered { }",
    "validate": "validate { }",
    "xquery": "version declaration",
    "declare": "prolog (declare)",
    "import": "prolog (import)",
    "module": "module declaration",
    "function": "inline function",
    "map": "map constructor",
    "array": "array constructor",
    "document": "document constructor",
    "comment": "comment constructor",
    "element": "computed element constructor",
    "attribute": "computed name of an attribute constructor",
    "namespace": "namespace constructor",
    "processing-instruction": "processing-instruction constructor",
    "``[": "string constructor",
    "(#": "pragma",
    "<!--": "comment constructor",
    "<?": "processing-instruction constructor",
    "..": "parent step ..",
    "Q{": "name with a namespace URI",
    "[": "array constructor",
    "?": "lookup ?",
}
_CONSTRUCT_HINTS: Final = {"some": "use exists(path[condition])", "element": "write <name>{...}</name>"}


def outside_name(token: Token) -> tuple[str, str | None]:
    """What an ``OUTSIDE_`` token begins, and a hint."""
    words = " ".join(token.split())
    if token.type == "OUTSIDE_OPERATOR":
        kind = _OPERATOR_NAMES.get(words, "operator")
        return f"{kind} '{words}'", _OPERATOR_HINTS.get(kind)
    if token.type == "OUTSIDE_CLAUSE":
        return f"clause {words.lower()}", None
    if token.type == "OUTSIDE_BINDING":
        kind = {"at": "positional variable", "as": "type declaration"}.get(words.split()[0].lower(), "clause")
        kind = "positional variable" if words.lower().startswith("at$") else kind
        return f"{kind} {words}", None
    if token.type == "OUTSIDE_ORDER":
        return f"order modifier {words}", None
    if ":" in words:
        return f"prefixed wildcard {words}", "documents have no namespaces here"
    return _CONSTRUCTS.get(words, words), _CONSTRUCT_HINTS.get(words)


def is_infix(token: Token) -> bool:
    """Whether an ``OUTSIDE_OPERATOR`` stands between two operands; a type or a name follows the others."""
    return " ".join(token.split()) in _OPERATOR_NAMES
