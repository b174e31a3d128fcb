"""XPath 3.1 on documents: parsed by elementpath, evaluated here.

elementpath 5.1.4 parses XPath 3.1, but gives wrong answers for much of it: paths are not in document order, the string
value of mixed content has its parts in another order, ``following`` of a text is empty, ``mod`` of negative numbers has
the sign of the divisor, and so on. So its trees of nodes, its tokens and its dates are used, and none of its
evaluation; nothing of it is changed for others in the process. A construct that is not known here is refused by name
when a filter is read. The value of a filter is that of the document alone: no network, no files, no clock, no locale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from decimal import localcontext
from typing import Any, Final, cast

from elementpath import XPathToken
from elementpath.xpath_nodes import AttributeNode, DocumentNode, ElementNode, TextNode, XPathNode

from heptox.filtering.xpath3.axes import ALONG, descendants, descendants_or_self
from heptox.filtering.xpath3.focus import Evaluated, Focus, Steps
from heptox.filtering.xpath3.functions import (
    OF_CONTEXT,
    Function,
    called,
    implementation,
    in_order,
    position_of,
)
from heptox.filtering.xpath3.parsing import RefusedError, UnboundError, parse
from heptox.filtering.xpath3.values import (
    CALCULATING,
    CASTS,
    GENERAL,
    SPENDING,
    TYPES,
    EvaluationError,
    Items,
    UnsupportedError,
    Untyped,
    atomized,
    calculate,
    compare,
    compare_any,
    is_number,
    single,
    to_double,
    truth,
)

LEAST_STEPS: Final = 10_000_000
STEPS_OF_ELEMENT: Final = 2_000
"""How many steps an evaluation may take: so many, and so many more for each element of the document. A step is about
a microsecond."""


class Compiled3:
    """An expression of XPath 3.1, ready to be evaluated.

    >>> from elementpath import get_node_tree
    >>> from lxml import etree
    >>> from heptox.filtering.xpath3.values import text_of
    >>> tree = get_node_tree(etree.ElementTree(etree.fromstring("<a><b>1</b><b>2</b></a>")))
    >>> [text_of(item) for item in Compiled3("for $b in //b return $b + 1").select(tree)]
    ['2', '3']

    Raises :class:`ElementPathError` and :class:`RecursionError` as :func:`parse`, and :class:`RefusedError` and
    :class:`UnboundError` for what is not evaluated.
    """

    def __init__(self, text: str, token: XPathToken | None = None) -> None:
        self._evaluated = _Compiler().compiled(parse(text) if token is None else token, frozenset())

    def select(self, document: DocumentNode, steps: int | None = None) -> Items:
        """The items that are selected, the document node among them.

        ``steps`` is how many steps that may take. Raises :class:`EvaluationError` where the expression has no value,
        or takes more, and :class:`RecursionError` for functions that call each other without end.
        """
        most = LEAST_STEPS + STEPS_OF_ELEMENT * len(document.elements) if steps is None else steps
        focus = Focus(document, Steps(most), {}, document)
        before = SPENDING.set(focus.spend)
        try:
            with localcontext(CALCULATING):
                return self._evaluated(focus)
        finally:
            SPENDING.reset(before)


_AXES: Final = {
    "child", "descendant", "descendant-or-self", "self", "attribute", "parent", "ancestor", "ancestor-or-self",
    "following-sibling", "preceding-sibling", "following", "preceding",
}  # fmt: skip
_REVERSE: Final = {"ancestor", "ancestor-or-self", "preceding-sibling", "preceding"}
_KINDS: Final = {"node", "text", "element", "attribute", "document-node", "comment", "processing-instruction"}
_VALUE_COMPARISONS: Final = {"eq", "ne", "lt", "le", "gt", "ge"}
_NODE_COMPARISONS: Final = {"is", "<<", ">>"}
_ARITHMETIC: Final = {"+", "-", "*", "div", "idiv", "mod"}
_ALL_COMPARISONS: Final = {*GENERAL, *_VALUE_COMPARISONS, *_NODE_COMPARISONS}
_SET_OPERATIONS: Final = {"|", "union", "intersect", "except"}


class _Compiler:
    """Compiles tokens to functions of the focus."""

    def compiled(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        """What a token evaluates to, with variables in scope."""
        if self._axis_of(token) is not None:
            return self._step(token)
        symbol = token.symbol
        if symbol in {"(string)", "(integer)", "(decimal)", "(float)"}:
            constant: Items = [token.value]
            return lambda _: constant
        if token.label == "function" or (symbol == ":" and len(token) == 2 and "function" in str(token[1].label)):
            return self._call(token, scope)
        for symbols, make in self._operations():
            if symbol in symbols:
                return make(token, scope)
        raise self._refused(token)

    def _operations(self) -> Iterator[tuple[Iterable[str], Callable[[XPathToken, frozenset[str]], Evaluated]]]:
        yield ("/", "//"), self._path
        yield ("[",), self._predicate
        yield ("(",), self._parenthesised
        yield (",",), self._sequence
        yield (".",), lambda *_: lambda focus: [focus.item]
        yield ("$",), self._variable
        yield ("!",), self._map
        yield ("=>",), self._arrow
        yield ("and", "or"), self._logical
        yield GENERAL, self._general
        yield _VALUE_COMPARISONS, self._value_comparison
        yield _NODE_COMPARISONS, self._node_comparison
        yield _ARITHMETIC, self._arithmetic
        yield ("to",), self._range
        yield ("||",), self._concatenation
        yield _SET_OPERATIONS, self._set_operation
        yield ("if",), self._if
        yield ("for",), self._for
        yield ("let",), self._let
        yield ("some", "every"), self._quantified
        yield ("instance", "treat"), self._instance
        yield ("cast", "castable"), self._cast
        yield ("function",), self._inline_function
        yield ("#",), lambda token, _: self._reference(token)

    def _refused(self, token: XPathToken, name: str | None = None) -> RefusedError:
        return RefusedError(name or _shown(token), _begin(token) if token.symbol == ":" else token.span[0])

    # -- steps and paths

    def _axis_of(self, token: XPathToken) -> str | None:
        """The axis of a step, ``None`` for another expression."""
        symbol, label = token.symbol, token.label
        if symbol in _AXES and label == "axis":
            return symbol
        if symbol == "@":
            return "attribute"
        if symbol == "..":
            return "parent"
        if symbol == "(name)" or (symbol == "*" and not len(token)):
            return "child"
        if symbol in _KINDS and label == "kind test":
            return "attribute" if symbol == "attribute" else "child"
        return None

    def _step(self, token: XPathToken) -> Evaluated:
        """The nodes of a step in document order."""
        led = self._led(token)
        if self._axis_of(token) in _REVERSE:
            return lambda focus: led(focus)[::-1]
        return led

    def _led(self, token: XPathToken) -> Evaluated:
        """The nodes of a step in the order of its axis."""
        axis = self._axis_of(token) or "child"
        if any(each.occurrence for each in (token, *token)):
            raise self._refused(token, "a sign behind node() without parentheses")  # the parser takes it for a type
        is_test = not (token.label == "axis" or token.symbol in {"@", ".."})
        fulfils = self._test(token if is_test else token[0], axis) if token.symbol != ".." else None
        along = ALONG[axis]

        def led(focus: Focus) -> Items:
            item = focus.item
            if not isinstance(item, XPathNode):
                raise EvaluationError("a step leads on from a value that is no node")
            nodes = along(item)
            focus.spend(len(nodes) + 1)
            return list(nodes) if fulfils is None else [node for node in nodes if fulfils(node)]

        return led

    def _test(self, token: XPathToken, axis: str) -> Callable[[XPathNode], bool] | None:
        """Whether a node fulfils a test; ``None`` for one that all do."""
        principal = AttributeNode if axis == "attribute" else ElementNode
        symbol = token.symbol
        if symbol == "*" and not len(token):
            return lambda node: isinstance(node, principal)
        if symbol == "(name)":
            name = token.value
            return lambda node: node.name == name and isinstance(node, principal)
        if symbol == "node" and token.label == "kind test":
            return None
        return self._kind(token)

    def _kind(self, token: XPathToken) -> Callable[[Any], bool]:
        symbol = token.symbol
        if token.label != "kind test" or symbol not in _KINDS:
            raise self._refused(token)
        if symbol == "node":
            return lambda item: isinstance(item, XPathNode)
        if symbol in {"comment", "processing-instruction"}:
            return lambda _: False  # documents have neither
        kind = {"text": TextNode, "element": ElementNode, "attribute": AttributeNode}.get(symbol, DocumentNode)
        if not len(token):
            return lambda item: isinstance(item, kind)
        if len(token) > 1 or symbol == "document-node" or token[0].symbol not in {"(name)", "*"}:
            raise self._refused(token, f"{symbol}() with a type")
        name = token[0].value if token[0].symbol == "(name)" else None
        return lambda item: isinstance(item, kind) and (name is None or cast(XPathNode, item).name == name)

    def _path(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        if not len(token):
            return lambda focus: [_root(focus)]
        if token[0].symbol == "/" and not len(token[0]):
            raise self._refused(token, "a path behind / alone")
        begin = self.compiled(token[0], scope) if len(token) == 2 else lambda focus: [_root(focus)]
        last = token[len(token) - 1]
        if token.symbol == "/":
            return _path(begin, self.compiled(last, scope))
        if self._axis_of(last) == "child" and last.symbol not in {"child", "node", "document-node"}:
            test = self._test(last, "child")

            def below(focus: Focus) -> Items:
                nodes = descendants(focus.item)
                focus.spend(len(nodes))
                return [node for node in nodes if test is None or test(node)]

            return _path(begin, below)
        return _path(_path(begin, descendants_or_self), self.compiled(last, scope))

    def _predicate(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        if token.label == "array":
            raise self._refused(token, "an array")
        predicates: list[Evaluated] = []
        while token.symbol == "[" and token.label != "array":
            predicates.insert(0, self.compiled(token[1], scope))
            token = token[0]
        axis = self._axis_of(token)
        begin = self.compiled(token, scope) if axis is None else self._led(token)
        is_reverse = axis in _REVERSE

        def selected(focus: Focus) -> Items:
            items = begin(focus)
            for predicate in predicates:
                items = _fulfilling(items, predicate, focus)
            return items[::-1] if is_reverse else items

        return selected

    # -- sequences and variables

    def _parenthesised(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        if not len(token):
            return lambda _: []
        inside = self.compiled(token[0], scope)
        if len(token) == 1 and token[0].span[0] > token.span[0]:
            return inside
        if len(token) == 1 and _begin(token[0]) > token.span[0]:
            return inside
        return self._called(inside, self._arguments(token[1], scope) if len(token) > 1 else [])

    def _arguments(self, token: XPathToken, scope: frozenset[str]) -> list[Evaluated]:
        """The arguments in parentheses; a comma that is not in others stands between them."""
        if token.symbol == ",":
            return [*self._arguments(token[0], scope), self.compiled(token[1], scope)]
        return [self.compiled(token, scope)]

    def _called(self, function: Evaluated, arguments: list[Evaluated]) -> Evaluated:
        def value(focus: Focus) -> Items:
            focus.spend(1)
            return called(function(focus), *(argument(focus) for argument in arguments))

        return value

    def _sequence(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        one, other = self.compiled(token[0], scope), self.compiled(token[1], scope)

        def sequence(focus: Focus) -> Items:
            items = one(focus) + other(focus)
            focus.spend(len(items))
            return items

        return sequence

    def _variable(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        name = str(token[0].value)
        if token[0].symbol != "(name)":
            raise self._refused(token, "a variable with a namespace")
        if name not in scope:
            raise UnboundError(token.span[0])
        return lambda focus: focus.variables[name]

    def _map(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        if token[1].symbol in {"-", "+"}:
            raise self._refused(token[1], "a sign behind ! without parentheses")
        one, other = self.compiled(token[0], scope), self.compiled(token[1], scope)

        def mapped(focus: Focus) -> Items:
            items = one(focus)
            found: Items = []
            for position, item in enumerate(items, 1):
                found += other(focus.at(item, position, len(items)))
            focus.spend(len(items) + len(found))
            return found

        return mapped

    def _if(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        if len(token) != 3:
            raise self._refused(token)
        condition, then, otherwise = (self.compiled(each, scope) for each in token)
        return lambda focus: then(focus) if truth(condition(focus)) else otherwise(focus)

    def _bindings(self, token: XPathToken, scope: frozenset[str]) -> tuple[list[tuple[str, Evaluated]], Evaluated]:
        """The variables that an expression binds one after another, and what it then evaluates."""
        bindings: list[tuple[str, Evaluated]] = []
        for place in range(0, len(token) - 1, 2):
            if token[place][0].symbol != "(name)":
                raise self._refused(token[place], "a variable with a namespace")
            name = str(token[place][0].value)
            bindings.append((name, self.compiled(token[place + 1], scope)))
            scope |= {name}
        return bindings, self.compiled(token[len(token) - 1], scope)

    def _for(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        bindings, body = self._bindings(token, scope)

        def found(focus: Focus) -> Items:
            items: Items = []
            for each in _bound(focus, bindings):
                more = body(each)
                focus.spend(len(more) + 1)
                items += more
            return items

        return found

    def _let(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        bindings, body = self._bindings(token, scope)

        def found(focus: Focus) -> Items:
            for name, value in bindings:
                focus = focus.bound(name, value(focus))
            return body(focus)

        return found

    def _quantified(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        bindings, body = self._bindings(token, scope)
        is_some = token.symbol == "some"
        found = any if is_some else all
        return lambda focus: [found(truth(body(each)) for each in _bound(focus, bindings))]

    # -- operators

    def _operands(self, token: XPathToken, scope: frozenset[str]) -> tuple[Evaluated, Evaluated]:
        if len(token) != 2:
            raise self._refused(token)
        return self.compiled(token[0], scope), self.compiled(token[1], scope)

    def _logical(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        one, other = self._operands(token, scope)
        if token.symbol == "and":
            return lambda focus: [truth(one(focus)) and truth(other(focus))]
        return lambda focus: [truth(one(focus)) or truth(other(focus))]

    def _compared(self, token: XPathToken, scope: frozenset[str]) -> tuple[Evaluated, Evaluated]:
        if any(each.symbol in _ALL_COMPARISONS and len(each) for each in token):
            raise self._refused(token, "a comparison of a comparison without parentheses")
        return self._operands(token, scope)

    def _general(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        one, other = self._compared(token, scope)
        symbol = token.symbol

        def compared(focus: Focus) -> Items:
            ones, others = atomized(one(focus)), atomized(other(focus))
            focus.spend(len(ones) * len(others) + 1)
            return [compare_any(symbol, ones, others)]

        return compared

    def _value_comparison(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        operands = self._compared(token, scope)
        symbol = token.symbol

        def compared(focus: Focus) -> Items:
            one, other = (single(operand(focus)) for operand in operands)
            return [] if one is None or other is None else [compare(symbol, one, other)]

        return compared

    def _node_comparison(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        operands = self._compared(token, scope)
        symbol = token.symbol

        def compared(focus: Focus) -> Items:
            found = [operand(focus) for operand in operands]
            if not all(found):
                return []
            if any(len(items) > 1 or not isinstance(items[0], XPathNode) for items in found):
                raise EvaluationError("what is compared is no single node")
            one, other = (position_of(items[0]) for items in found)
            return [one == other if symbol == "is" else one < other if symbol == "<<" else one > other]

        return compared

    def _arithmetic(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        symbol = token.symbol
        if len(token) == 1:
            operand = self.compiled(token[0], scope)

            def signed(focus: Focus) -> Items:
                value = single(operand(focus))
                value = to_double(value) if isinstance(value, Untyped) else value
                if value is not None and not is_number(value):
                    raise EvaluationError("what has a sign is no number")
                return [] if value is None else [-value if symbol == "-" else value]

            return signed
        operands = self._operands(token, scope)

        def calculated(focus: Focus) -> Items:
            one, other = (single(each(focus)) for each in operands)
            return [] if one is None or other is None else [calculate(symbol, one, other)]

        return calculated

    def _range(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        operands = self._operands(token, scope)

        def numbers(focus: Focus) -> Items:
            ends = [single(each(focus)) for each in operands]
            if None in ends:
                return []
            first, last = (CASTS["integer"](end) if isinstance(end, Untyped) else end for end in ends)
            if not (TYPES["integer"](first) and TYPES["integer"](last)):
                raise EvaluationError("a range is not between integers")
            focus.spend(max(last - first + 1, 0))
            return [*range(first, last + 1)]

        return numbers

    def _concatenation(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        concat = implementation("concat", 2)
        one, other = self._operands(token, scope)
        return lambda focus: concat(focus, one(focus), other(focus)) if concat else []

    def _set_operation(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        operands = self._operands(token, scope)
        symbol = token.symbol

        def together(focus: Focus) -> Items:
            ones, others = (operand(focus) for operand in operands)
            if not all(isinstance(item, XPathNode) for item in (*ones, *others)):
                raise EvaluationError(f"{symbol} is given what is no node")
            focus.spend(len(ones) + len(others))
            if symbol in {"|", "union"}:
                return in_order(ones + others)
            known = set(others)
            return in_order(item for item in ones if (item in known) == (symbol == "intersect"))

        return together

    # -- types

    def _type(self, token: XPathToken) -> Callable[[Any], bool]:
        """Whether an item is of a type."""
        if token.label == "kind test":
            return self._kind(token)
        if token.symbol == "item":
            return lambda _: True
        name = self._type_name(token)
        if name not in TYPES:
            raise self._refused(token, f"the type xs:{name}")
        return TYPES[name]

    def _type_name(self, token: XPathToken) -> str:
        if token.symbol != ":" or token[0].value != "xs":
            raise self._refused(token)
        name = token[1].value
        return str(name if token[1].symbol == "(name)" else token[1].symbol)

    def _instance(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        operand = self.compiled(token[0], scope)
        wanted = token[1]
        is_of = (lambda _: False) if wanted.symbol == "empty-sequence" else self._type(wanted)
        occurrence = "0" if wanted.symbol == "empty-sequence" else wanted.occurrence
        is_instance = token.symbol == "instance"

        def instance(focus: Focus) -> Items:
            items = operand(focus)
            focus.spend(len(items))
            found = _occurs(len(items), occurrence) and all(map(is_of, items))
            if is_instance:
                return [found]
            if not found:
                raise EvaluationError("a value is not of the type that it is treated as")
            return items

        return instance

    def _cast(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        name = self._type_name(token[1])
        if name not in CASTS:
            raise self._refused(token[1], f"the type xs:{name}")
        operand, cast = self.compiled(token[0], scope), CASTS[name]
        may_be_empty = token[1].occurrence == "?"

        def value(focus: Focus) -> Items:
            found = single(operand(focus))
            if found is None and not may_be_empty:
                raise EvaluationError(f"there is nothing to cast to xs:{name}")
            return [] if found is None else [cast(found)]

        def is_castable(focus: Focus) -> Items:
            items = atomized(operand(focus))
            if len(items) != 1:
                return [not items and may_be_empty]
            try:
                cast(items[0])
            except UnsupportedError:
                raise
            except EvaluationError:
                return [False]
            return [True]

        return value if token.symbol == "cast" else is_castable

    # -- functions

    def _call(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        function = token[1] if token.symbol == ":" else token
        prefix = str(token[0].value) if token.symbol == ":" else "fn"
        if function.label == "partial function":
            raise self._refused(function)
        if len(function) and "," in token.parser.source[function.span[1] : _begin(function[0])]:
            raise self._refused(token, "a comma before the first argument")
        arguments = [self.compiled(each, scope) for each in function]
        if prefix == "xs":
            return self._constructed(token, function.symbol, arguments)
        return self._applied(self._known(token, prefix, function.symbol, len(arguments)), arguments)

    def _constructed(self, token: XPathToken, name: str, arguments: list[Evaluated]) -> Evaluated:
        if name not in CASTS or len(arguments) != 1:
            raise self._refused(token, f"the type xs:{name}")
        argument, cast = arguments[0], CASTS[name]

        def value(focus: Focus) -> Items:
            found = single(argument(focus))
            return [] if found is None else [cast(found)]

        return value

    def _known(self, token: XPathToken, prefix: str, name: str, arity: int) -> Callable[..., Items]:
        found = implementation(name, arity) if prefix == "fn" else None
        if found is None:
            shown = f"{name}()" if prefix == "fn" else f"{prefix}:{name}()"
            raise self._refused(token, f"the function {shown}")
        return found

    def _applied(self, function: Callable[..., Items], arguments: list[Evaluated]) -> Evaluated:
        def value(focus: Focus) -> Items:
            given = [argument(focus) for argument in arguments]
            focus.spend(sum(map(len, given)) + 1)
            return function(focus, *given)

        return value

    def _arrow(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        first = self.compiled(token[0], scope)
        others = self._arguments(token[2][0], scope) if len(token[2]) else []
        function = token[1]
        if function.symbol in {"$", "("}:
            return self._called(self.compiled(function, scope), [first, *others])
        prefix = "fn"
        if function.symbol == ":":
            prefix, function = str(function[0].value), function[1]
        name = str(function.value) if function.symbol == "(name)" else function.symbol
        if prefix == "xs":
            return self._constructed(token, name, [first, *others])
        return self._applied(self._known(token, prefix, name, 1 + len(others)), [first, *others])

    def _inline_function(self, token: XPathToken, scope: frozenset[str]) -> Evaluated:
        body = getattr(token, "body", None)
        if token.label != "inline function" or body is None or any(t != "item()*" for t in token.sequence_types):  # type: ignore[attr-defined]
            raise self._refused(token, "a function with types")
        names = [str(each[0].value) for each in token]
        found = self.compiled(body, scope | {*names}) if body.symbol != "(value)" else lambda _: []

        def function(focus: Focus) -> Items:
            def call(*arguments: Items) -> Items:
                focus.spend(1)
                return found(focus.nowhere({**focus.variables, **dict(zip(names, arguments, strict=True))}))

            return [Function(len(names), call)]

        return function

    def _reference(self, token: XPathToken) -> Evaluated:
        function = token[0]
        prefix = "fn"
        if function.symbol == ":":
            prefix, function = str(function[0].value), function[1]
        name = str(function.value) if function.symbol == "(name)" else function.symbol
        arity = int(str(token[1].value))
        if not arity and (name in OF_CONTEXT or name in {"position", "last"}):
            raise self._refused(token, f"a reference to {name}#0")
        known = self._known(token, prefix, name, arity)

        def reference(focus: Focus) -> Items:
            def call(*arguments: Items) -> Items:
                focus.spend(1 + sum(map(len, arguments)))
                return known(focus, *arguments)

            return [Function(arity, call)]

        return reference


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


def _occurs(count: int, occurrence: str) -> bool:
    least, most = {"0": (0, 0), "": (1, 1), "?": (0, 1), "+": (1, count)}.get(occurrence, (0, count))
    return least <= count <= most


def _root(focus: Focus) -> DocumentNode:
    if not isinstance(focus.item, XPathNode):
        raise EvaluationError("a path begins at a value that is no node")
    return focus.document


def _bound(focus: Focus, bindings: list[tuple[str, Evaluated]]) -> Iterator[Focus]:
    """The focus for each of the items that variables stand for, one after another."""
    if not bindings:
        yield focus
        return
    (name, values), others = bindings[0], bindings[1:]
    for item in values(focus):
        focus.spend(1)
        yield from _bound(focus.bound(name, [item]), others)


def _fulfilling(items: Items, predicate: Evaluated, focus: Focus) -> Items:
    """The items that fulfil a predicate: a number is a position."""
    size = len(items)
    focus.spend(size)
    found: Items = []
    for position, item in enumerate(items, 1):
        value = predicate(focus.at(item, position, size))
        is_position = len(value) == 1 and is_number(value[0])
        if (value[0] == position) if is_position else truth(value):
            found.append(item)
    return found


def _path(begin: Evaluated, step: Evaluated) -> Evaluated:
    def path(focus: Focus) -> Items:
        items = begin(focus)
        found: Items = []
        for position, item in enumerate(items, 1):
            if not isinstance(item, XPathNode):
                raise EvaluationError("a step leads on from a value that is no node")
            found += step(focus.at(item, position, len(items)))
        focus.spend(len(items) + len(found))
        nodes = sum(isinstance(item, XPathNode) for item in found)
        if nodes == len(found):
            return in_order(found)
        if nodes:
            raise EvaluationError("a step leads to nodes and to other values")
        return found

    return path
