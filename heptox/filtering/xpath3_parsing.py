"""Filters of XPath 3.1 as tokens of elementpath, and what is refused of them.

Saxon evaluates them: what is refused has a value that is not that of the document alone (files, clocks), or is read by
elementpath in another way than it is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from elementpath import XPath1Parser, XPathToken
from elementpath.exceptions import ElementPathError
from elementpath.xpath31 import XPath31Parser

from heptox.filtering.naming import without_comments

_Scope: TypeAlias = frozenset[str]
_NO_PREFIXES: Final[dict[str, str]] = {}
_CODE_POINTS: Final = "http://www.w3.org/2005/xpath-functions/collation/codepoint"


class RefusedError(Exception):
    """A filter has a construct that is refused: ``construct``, at ``offset`` in its text."""

    def __init__(self, construct: str, offset: int) -> None:
        super().__init__(construct)
        self.construct = construct
        self.offset = offset


class UnboundError(Exception):
    """A filter has a variable that nothing binds, at ``offset`` in its text."""

    def __init__(self, offset: int) -> None:
        super().__init__("a filter has no variables")
        self.offset = offset


class _Parser(XPath31Parser):
    """Evaluates nothing while it parses, as the original does."""

    def parse(self, source: str) -> XPathToken:
        return super(XPath1Parser, self).parse(source)


def parse(text: str, prefixes: Mapping[str, str] = _NO_PREFIXES) -> XPathToken:
    """The tokens of an expression; ``prefixes`` are bound in it.

    Raises :class:`ElementPathError` for what is no XPath 3.1, :class:`RecursionError` for what is nested too deeply,
    and :class:`RefusedError` and :class:`UnboundError` for what filters cannot have.
    """
    parser = _Parser(namespaces=dict(prefixes), default_collation=_CODE_POINTS)
    try:
        token = parser.parse(without_comments(text))
    except (ElementPathError, RecursionError):
        raise
    except (ArithmeticError, AssertionError, AttributeError, LookupError, SyntaxError, TypeError, ValueError):
        raise ElementPathError("is no XPath 3.1") from None
    _check(token, frozenset())
    return token


# -- what filters may have ----------------------------------------------------------------------------------------

_AXES: Final = {
    "child", "descendant", "descendant-or-self", "self", "attribute", "parent", "ancestor", "ancestor-or-self",
    "following-sibling", "preceding-sibling", "following", "preceding",
}  # fmt: skip
_KINDS: Final = {"node", "text", "element", "attribute", "document-node", "comment", "processing-instruction"}
_COMPARISONS: Final = {"=", "!=", "<", "<=", ">", ">=", "eq", "ne", "lt", "le", "gt", "ge", "is", "<<", ">>"}
_PLAIN: Final = (
    _COMPARISONS
    | {"(string)", "(integer)", "(decimal)", "(float)", "/", "//", "[", "(", ",", ".", "!", "and", "or", "if"}
    | {"+", "-", "*", "div", "idiv", "mod", "to", "||", "|", "union", "intersect", "except"}
)
"""What has nothing but other expressions in it."""
_CASTS: Final = {
    "string", "untypedAtomic", "boolean", "integer", "decimal", "double", "date", "dateTime", "time",
    "dayTimeDuration", "yearMonthDuration",
}  # fmt: skip
_TYPES: Final = _CASTS | {"anyAtomicType", "duration"}
_OF_CONTEXT: Final = {
    "string", "string-length", "normalize-space", "number", "name", "local-name", "namespace-uri", "root", "path",
    "has-children", "data", "position", "last",
}  # fmt: skip
"""The functions that take the context, where they are given nothing."""
_FUNCTIONS: Final = _OF_CONTEXT | {
    "true", "false", "not", "boolean", "count", "exists", "empty", "head", "tail", "reverse", "unordered",
    "zero-or-one", "one-or-more", "exactly-one", "deep-equal", "innermost", "outermost", "subsequence",
    "insert-before", "remove", "distinct-values", "index-of", "sum", "avg", "min", "max", "abs", "floor", "ceiling",
    "round", "concat", "string-join", "substring", "substring-before", "substring-after", "upper-case", "lower-case",
    "translate", "contains", "starts-with", "ends-with", "compare", "codepoint-equal", "string-to-codepoints",
    "codepoints-to-string", "matches", "replace", "tokenize", "for-each", "filter", "fold-left", "fold-right",
    "for-each-pair", "sort", "year-from-date", "month-from-date", "day-from-date", "year-from-dateTime",
    "month-from-dateTime", "day-from-dateTime", "hours-from-dateTime", "minutes-from-dateTime", "hours-from-time",
    "minutes-from-time",
}  # fmt: skip


def _check(token: XPathToken, scope: _Scope) -> None:
    """Refuse what filters cannot have, with variables in scope."""
    if _is_step(token):
        _check_step(token)
    elif token.label == "function" or (token.symbol == ":" and len(token) == 2 and "function" in str(token[1].label)):
        _check_call(token, scope)
    elif token.symbol in _CHECKS:
        _CHECKS[token.symbol](token, scope)
    elif token.symbol in _PLAIN and token.label != "array":
        _check_pair(token)
        _check_all(reversed([*token]) if token.symbol == "[" else token, scope)
    else:
        raise _refused(token)


def _check_all(tokens: Iterable[XPathToken], scope: _Scope) -> None:
    for each in tokens:
        _check(each, scope)


def _refused(token: XPathToken, name: str | None = None) -> RefusedError:
    return RefusedError(name or _shown(token), _begin(token) if token.symbol == ":" else token.span[0])


def _shown(token: XPathToken) -> str:
    names = {"?": "a lookup", "map": "a map", "array": "an array", "Q{": "a name with a namespace", ":": "a prefix"}
    if token.symbol in names:
        return names[token.symbol]
    if token.label in {"array", "map"}:
        return names[str(token.label)]
    if token.label == "partial function":
        return "a partial function"
    return f"{token.symbol}()" if "test" in str(token.label) or "type" in str(token.label) else token.symbol


def _begin(token: XPathToken) -> int:
    """Where the first token of an expression stands."""
    return min([token.span[0], *(_begin(each) for each in token)])


def _is_step(token: XPathToken) -> bool:
    symbol, label = token.symbol, token.label
    return (
        symbol in {"@", "..", "(name)"}
        or _is_name_in_namespace(token)
        or (symbol == "*" and not len(token))
        or (symbol in _AXES and label == "axis")
        or (symbol in _KINDS and label == "kind test")
    )


def _is_name_in_namespace(token: XPathToken) -> bool:
    """Whether a token is a name with a prefix or a namespace, or a wildcard of such names."""
    is_one = token.symbol in {":", "Q{"} and len(token) == 2
    return is_one and all(each.symbol in {"(name)", "*", "(string)"} and not len(each) for each in token)


def _check_step(token: XPathToken) -> None:
    if any(each.occurrence for each in (token, *token)):
        raise _refused(token, "a sign behind node() without parentheses")  # the parser takes it for a type
    test = token[0] if token.label == "axis" or token.symbol == "@" else token
    is_name = test.symbol in {"..", "(name)"} or _is_name_in_namespace(test)
    if not is_name and not (test.symbol == "*" and not len(test)):
        _check_kind(test)


def _check_kind(token: XPathToken) -> None:
    symbol = token.symbol
    if token.label != "kind test" or symbol not in _KINDS:
        raise _refused(token)
    is_named = symbol in {"element", "attribute", "processing-instruction"}
    if len(token) and not (is_named and len(token) == 1 and token[0].symbol in {"(name)", "*", "(string)"}):
        raise _refused(token, f"{symbol}() with a type")


def _check_pair(token: XPathToken) -> None:
    """Refuse operators that the parser lets stand beside others that they cannot stand beside."""
    if token.symbol == "/" and len(token) and token[0].symbol == "/" and not len(token[0]):
        raise _refused(token, "a path behind / alone")
    if token.symbol == "!" and token[1].symbol in {"-", "+"}:
        raise _refused(token[1], "a sign behind ! without parentheses")
    if token.symbol in _COMPARISONS and any(each.symbol in _COMPARISONS and len(each) for each in token):
        raise _refused(token, "a comparison of a comparison without parentheses")


# -- variables and types ------------------------------------------------------------------------------------------


def _check_variable(token: XPathToken, scope: _Scope) -> None:
    if token[0].symbol != "(name)":
        raise _refused(token, "a variable with a namespace")
    if str(token[0].value) not in scope:
        raise UnboundError(token.span[0])


def _check_bindings(token: XPathToken, scope: _Scope) -> None:
    """Variables that are bound one after another, and what is evaluated then."""
    for place in range(0, len(token) - 1, 2):
        if token[place][0].symbol != "(name)":
            raise _refused(token[place], "a variable with a namespace")
        _check(token[place + 1], scope)
        scope |= {str(token[place][0].value)}
    _check(token[len(token) - 1], scope)


def _check_instance(token: XPathToken, scope: _Scope) -> None:
    _check(token[0], scope)
    wanted = token[1]
    if wanted.label == "kind test":
        _check_kind(wanted)
    elif wanted.symbol not in {"item", "empty-sequence"}:
        _check_type(wanted, _TYPES)


def _check_cast(token: XPathToken, scope: _Scope) -> None:
    _check(token[0], scope)
    _check_type(token[1], _CASTS)


def _check_type(token: XPathToken, known: set[str]) -> None:
    if token.symbol != ":" or token[0].value != "xs":
        raise _refused(token)
    name = str(token[1].value) if token[1].symbol == "(name)" else token[1].symbol
    if name not in known:
        raise _refused(token, f"the type xs:{name}")


# -- functions ----------------------------------------------------------------------------------------------------


def _check_call(token: XPathToken, scope: _Scope) -> None:
    function = token[1] if token.symbol == ":" else token
    if function.label == "partial function":
        raise _refused(function)
    if len(function) and "," in token.parser.source[function.span[1] : _begin(function[0])]:
        raise _refused(token, "a comma before the first argument")
    _check_all(function, scope)
    _check_named(token, token if token.symbol == ":" else function)


def _check_named(token: XPathToken, name: XPathToken) -> None:
    """Refuse functions that filters cannot call, and types that they cannot make."""
    prefix, function = (str(name[0].value), name[1]) if name.symbol == ":" else ("fn", name)
    local = str(function.value) if function.symbol == "(name)" else function.symbol
    if prefix == "xs" and local not in _CASTS:
        raise _refused(token, f"the type xs:{local}")
    if prefix != "xs" and (prefix != "fn" or local not in _FUNCTIONS):
        raise _refused(token, f"the function {'' if prefix == 'fn' else f'{prefix}:'}{local}()")


def _check_arrow(token: XPathToken, scope: _Scope) -> None:
    _check(token[0], scope)
    _check_all(token[2], scope)
    if token[1].symbol in {"$", "("}:
        _check(token[1], scope)
    else:
        _check_named(token, token[1])


def _check_inline_function(token: XPathToken, scope: _Scope) -> None:
    body = getattr(token, "body", None)
    if token.label != "inline function" or body is None or any(t != "item()*" for t in token.sequence_types):  # type: ignore[attr-defined]
        raise _refused(token, "a function with types")
    if body.symbol != "(value)":
        _check(body, scope | {str(each[0].value) for each in token})


def _check_reference(token: XPathToken, _: _Scope) -> None:
    _check_named(token, token[0])
    name = token[0][1] if token[0].symbol == ":" else token[0]
    local = str(name.value) if name.symbol == "(name)" else name.symbol
    if not int(str(token[1].value)) and local in _OF_CONTEXT:
        raise _refused(token, f"a reference to {local}#0")


_CHECKS: Final[dict[str, Callable[[XPathToken, _Scope], None]]] = {
    "$": _check_variable,
    "for": _check_bindings,
    "let": _check_bindings,
    "some": _check_bindings,
    "every": _check_bindings,
    "instance": _check_instance,
    "treat": _check_instance,
    "cast": _check_cast,
    "castable": _check_cast,
    "=>": _check_arrow,
    "function": _check_inline_function,
    "#": _check_reference,
}
