"""The names of XQuery's constructs outside the query fragment, to refuse one by its name (part 2 of ``query.lark``)."""

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
_TYPES: Final = "values have no types here: leave it out; number(path) <= 5 compares numbers"
ARITHMETIC: Final = "the fragment does not compute: write the number that it comes to, or compute with the answer"
_OPERATOR_HINTS: Final = {
    "arithmetic operator": ARITHMETIC,
    "value comparison": "write = != < <= > or >=",
    "node comparison": "nothing in the fragment tells nodes apart: compare values with =",
    "set operator": "write (a | b) as a step, or (q, q)",
    "||": "enclose each value by itself: <name>{data($x/a)}{data($x/b)}</name>",
    "=>": "write name(argument)",
    "to": "write each number: ($x/a = 1 or $x/a = 2)",
    "!": "write for $x in path return ...",
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
    "[": "array constructor",
    "?": "lookup ?",
}
NOTHING: Final = "it cannot be said in the fragment"
"""What is said where there is no other way to write it."""
_ONE_EXPRESSION: Final = "leave it out: a query is one expression; let binds variables"
_CASES: Final = "write (q, q), each with its case in where"
_SET: Final = "leave it out: an answer is a set"
_CONSTRUCT_HINTS: Final = {
    "some": "use exists(path[condition])",
    "every": "nothing in the fragment speaks of all; exists(path[condition]) speaks of some",
    "if": _CASES,
    "switch": _CASES,
    "typeswitch": "name the elements: (a | b) as a step",
    "try": "leave it out: comparisons raise no errors here",
    "ordered": _SET,
    "unordered": _SET,
    "validate": "leave it out",
    "xquery": _ONE_EXPRESSION,
    "declare": _ONE_EXPRESSION,
    "import": _ONE_EXPRESSION,
    "module": _ONE_EXPRESSION,
    "document": "write the element alone",
    "comment": "leave it out",
    "element": "write <name>{...}</name>",
    "attribute": "write the name: attribute name {...}",
    "namespace": "declare namespaces at the beginning of the query",
    "processing-instruction": "leave it out",
    "``[": 'write "..."',
    "(#": "leave it out",
    "<!--": "leave it out",
    "<?": "leave it out",
    "..": "bind the parent with for, and go down from it",
}
_CLAUSE_HINTS: Final = {
    "group by": "nothing in the fragment groups: `heptox query` does, with what peers answer",
    "stable order by": "write order by",
}
_AGGREGATE: Final = "nothing in the fragment counts or sums: `heptox query` does, with what peers answer"
_WHOLE_TEXTS: Final = (
    'the fragment asks of a text only how it begins, starts-with(path, "text"), and how it compares whole: = < <= > >='
)
_POSITION: Final = "nothing in the fragment tells positions: an answer is a set"
_NAME: Final = "name the elements: (a | b) as a step"
_PATH: Final = "write the path alone"
_FUNCTION_HINTS: Final = {
    **dict.fromkeys(("count", "sum", "avg", "min", "max"), _AGGREGATE),
    **dict.fromkeys(("contains", "ends-with", "matches", "string-length", "substring"), _WHOLE_TEXTS),
    **dict.fromkeys(("position", "last"), _POSITION),
    **dict.fromkeys(("name", "local-name", "node-name"), _NAME),
    **dict.fromkeys(("zero-or-one", "one-or-more", "exactly-one"), _PATH),
    **dict.fromkeys(("doc", "root"), "begin the path with /, // or collection()"),
    **dict.fromkeys(("id", "idref"), "join by the values: //a[@id = $b/@ref]"),
    **dict.fromkeys(("concat", "string-join"), _OPERATOR_HINTS["||"]),
    "boolean": "write exists(path)",
    "collection": "write collection()//name, without an argument: all documents of a peer",
    "distinct-values": "write data(path): an answer is a set",
    "number": "write number(path)",
    "string": "write data(path)",
}


def function_hint(name: str) -> str | None:
    """What to write instead of a function that the fragment does not have, if there is something."""
    return _FUNCTION_HINTS.get(name)


def outside_name(token: Token) -> tuple[str, str | None]:
    """What an ``OUTSIDE_`` token begins, and a hint."""
    words = " ".join(token.split())
    match token.type:
        case "OUTSIDE_OPERATOR":
            kind = _OPERATOR_NAMES.get(words, "operator")
            return f"{kind} '{words}'", _OPERATOR_HINTS.get(kind) or _OPERATOR_HINTS.get(words)
        case "OUTSIDE_TYPE":
            return f"operator '{' '.join(words.split()[:2])}'", _TYPES
        case "OUTSIDE_CASTABLE_TEST":
            cast = words.removesuffix("]").split()[-1]
            return "operator 'castable as'", f"it stands in a cast to the same type: {cast}(path{words})"
        case "OUTSIDE_CLAUSE" | "OUTSIDE_GROUP_BY" | "OUTSIDE_COUNT":
            return f"clause {words.lower()}", _CLAUSE_HINTS.get(words.lower(), _POSITION)
        case "OUTSIDE_BINDING":
            kind = {"at": "positional variable", "as": "type declaration"}.get(words.split()[0].lower(), "clause")
            kind = "positional variable" if words.lower().startswith("at$") else kind
            return f"{kind} {words}", {"positional variable": _POSITION, "type declaration": _TYPES}.get(kind)
        case "OUTSIDE_ORDER":
            return f"order modifier {words}", "leave it out"
        case "OUTSIDE_VARIABLE_CALL":
            return f"a call of {words.removesuffix('(').strip()}", "write what the function does"
        case "OUTSIDE_INLINE":
            return "inline function", NOTHING
        case _:
            first = words.split()[0]
            known = words if words in _CONSTRUCTS else first
            return _CONSTRUCTS.get(known, words), _CONSTRUCT_HINTS.get(known)


def is_infix(token: Token) -> bool:
    """Whether an ``OUTSIDE_OPERATOR`` stands between two operands; a type or a name follows the others."""
    return " ".join(token.split()) in _OPERATOR_NAMES
