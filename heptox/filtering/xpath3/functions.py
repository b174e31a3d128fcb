"""The functions of XPath 3.1 that filters may call, by name and number of arguments.

Those are missing whose value is not that of the document alone (``doc``, ``unparsed-text``, ``current-date``,
``environment-variable``), and those that nobody has compared with another implementation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from functools import cmp_to_key, reduce
from itertools import pairwise
from typing import Any, Final, Protocol, TypeAlias

from elementpath.xpath_nodes import AttributeNode, DocumentNode, ElementNode, TextNode, XPathNode

from heptox.filtering.xpath3.values import (
    CASTS,
    TYPES,
    EvaluationError,
    Items,
    UnsupportedError,
    Untyped,
    atomized,
    calculate,
    compare,
    is_number,
    node_text,
    number_or_nan,
    same,
    single,
    text_of,
    to_double,
    truth,
)


class Focus(Protocol):
    """Where an expression is evaluated."""

    @property
    def item(self) -> Any:
        """The context item. Raises :class:`EvaluationError` where there is none."""

    @property
    def position(self) -> int:
        """Its position."""

    @property
    def size(self) -> int:
        """How many items it is among."""

    @property
    def document(self) -> DocumentNode:
        """The document that is filtered."""

    def spend(self, steps: int) -> None:
        """Count steps of the evaluation. Raises :class:`EvaluationError` when they are too many."""


class Function:
    """A function as a value: what it does with so many arguments."""

    __slots__ = ("arity", "call")

    def __init__(self, arity: int, call: Callable[..., Items]) -> None:
        self.arity = arity
        self.call = call


Implementation: TypeAlias = Callable[..., Items]
"""What a function does: it is given the focus and the arguments."""


def called(function: Items, *arguments: Items) -> Items:
    """What a function gives that is a value itself."""
    if len(function) != 1 or not isinstance(function[0], Function):
        raise EvaluationError("what is called is no function")
    if function[0].arity != len(arguments):
        raise EvaluationError(f"a function of {function[0].arity} arguments is given {len(arguments)}")
    return function[0].call(*arguments)


# -- arguments ----------------------------------------------------------------------------------------------------


def _text(items: Items) -> str:
    value = single(items)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise EvaluationError("a value is no text")
    return str(value)


def _needed_text(items: Items) -> str:
    if not items:
        raise EvaluationError("there is no text where one is needed")
    return _text(items)


def _any_text(items: Items) -> str:
    value = single(items)
    return "" if value is None else text_of(value)


def _number(items: Items) -> Any:
    value = single(items)
    if isinstance(value, Untyped):
        return to_double(value)
    if value is not None and not is_number(value):
        raise EvaluationError("a value is no number")
    return value


def _double(items: Items) -> float:
    value = _number(items)
    if value is None:
        raise EvaluationError("there is no number where one is needed")
    return to_double(value)


def _integer(items: Items) -> int:
    value = single(items)
    if isinstance(value, Untyped):
        value = re.fullmatch(r"[ \t\r\n]*[+-]?[0-9]{1,99}[ \t\r\n]*", value) and int(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise EvaluationError("a value is no integer")
    return value


def _node(items: Items) -> XPathNode | None:
    if len(items) > 1 or (items and not isinstance(items[0], XPathNode)):
        raise EvaluationError("a value is no single node")
    return items[0] if items else None


def _nodes(items: Items) -> list[XPathNode]:
    if not all(isinstance(item, XPathNode) for item in items):
        raise EvaluationError("a value is no node")
    return items


# -- nodes --------------------------------------------------------------------------------------------------------


def position_of(node: XPathNode) -> int:
    """Where a node stands in document order."""
    return node.position


def in_order(nodes: Iterable[XPathNode]) -> Items:
    """Nodes in document order, each once."""
    found = list(nodes)
    if any(one.position >= other.position for one, other in pairwise(found)):
        found = sorted(dict.fromkeys(found), key=position_of)
    return found


def _name(_: Focus, items: Items) -> Items:
    node = _node(items)
    return [(node.name or "") if isinstance(node, ElementNode | AttributeNode) else ""]


def _namespace(_: Focus, items: Items) -> Items:
    _node(items)
    return [""]  # documents with namespaces are refused


def _root(focus: Focus, items: Items) -> Items:
    return [focus.document] if _node(items) is not None else []


def _path(_: Focus, items: Items) -> Items:
    node = _node(items)
    return [] if node is None else ["".join(reversed([*_steps_up(node)])) or "/"]


def _steps_up(node: XPathNode) -> Iterable[str]:
    while node.parent is not None:
        if isinstance(node, AttributeNode):
            yield f"/@{node.name}"
        else:
            name = node.name
            twins = [each for each in node.parent.children if each.name == name]
            yield f"/{'text()' if isinstance(node, TextNode) else f'Q{{}}{name}'}[{twins.index(node) + 1}]"  # type: ignore[arg-type]
        node = node.parent


def _has_children(_: Focus, items: Items) -> Items:
    node = _node(items)
    return [isinstance(node, ElementNode | DocumentNode) and bool(node.children)]


def _ancestors(node: XPathNode) -> Iterable[XPathNode]:
    above: XPathNode | None = node.parent
    while above is not None:
        yield above
        above = above.parent


def _innermost(_: Focus, items: Items) -> Items:
    nodes = _nodes(items)
    above = {each for node in nodes for each in _ancestors(node)}
    return in_order(node for node in nodes if node not in above)


def _outermost(_: Focus, items: Items) -> Items:
    nodes = set(_nodes(items))
    return in_order(node for node in nodes if nodes.isdisjoint(_ancestors(node)))


# -- sequences ----------------------------------------------------------------------------------------------------


def _round_double(value: float) -> float:
    if not math.isfinite(value) or abs(value) >= 2**52:
        return value
    down = math.floor(value)
    return math.copysign(float(down if value - down < 0.5 else down + 1), value)


def _between(items: Any, first: float, end: float) -> Any:
    """The items, or characters, at positions from ``first`` on and before ``end``; nothing if one is NaN."""
    if math.isnan(first) or math.isnan(end) or end <= first or end <= 1 or first > len(items):
        return items[:0]
    begin = 0 if first <= 1 else int(first) - 1
    return items[begin:] if end > len(items) else items[begin : int(end) - 1]


def _subsequence(_: Focus, items: Items, start: Items, length: Items | None = None) -> Items:
    first = _round_double(_double(start))
    end = math.inf if length is None else first + _round_double(_double(length))
    found: Items = _between(items, first, end)
    return found


def _insert_before(_: Focus, items: Items, position: Items, new: Items) -> Items:
    place = max(_integer(position) - 1, 0)
    return items[:place] + new + items[place:]


def _remove(_: Focus, items: Items, position: Items) -> Items:
    place = _integer(position) - 1
    return items[:place] + items[place + 1 :] if place >= 0 else items


def _distinct(focus: Focus, items: Items) -> Items:
    found: Items = []
    seen: set[str] = set()
    for value in atomized(items):
        if isinstance(value, str):
            if value not in seen:
                seen.add(str(value))
                found.append(value)
            continue
        others = [each for each in found if not isinstance(each, str)]
        focus.spend(len(others))
        if not any(same(value, each) for each in others):
            found.append(value)
    return found


def _index_of(_: Focus, items: Items, search: Items) -> Items:
    wanted = single(search)
    if wanted is None:
        raise EvaluationError("there is nothing to look for")
    found = enumerate(atomized(items), 1)
    return [place for place, value in found if same(value, wanted) and value == value]  # NaN is not found


def _at_most(items: Items, least: int, most: int | None) -> Items:
    if len(items) < least or (most is not None and len(items) > most):
        raise EvaluationError(f"a sequence has {len(items)} items")
    return items


# -- numbers ------------------------------------------------------------------------------------------------------


def _summed(values: Items) -> list[Any]:
    found = [to_double(each) if isinstance(each, Untyped) else each for each in values]
    if not all(map(is_number, found)):
        raise EvaluationError("what is summed is no number")
    return found


def _sum(_: Focus, items: Items, zero: Items | None = None) -> Items:
    values = _summed(atomized(items))
    if not values:
        return [0] if zero is None else zero
    return [reduce(lambda one, other: calculate("+", one, other), values)]


def _average(focus: Focus, items: Items) -> Items:
    values = _sum(focus, items, [])
    return [calculate("div", values[0], len(items))] if values else []


def _extreme(symbol: str) -> Implementation:
    def extreme(_: Focus, items: Items) -> Items:
        values = [to_double(each) if isinstance(each, Untyped) else each for each in atomized(items)]
        if not values:
            return []
        if all(map(is_number, values)) and any(isinstance(each, float) for each in values):
            values = [to_double(each) for each in values]
            if any(map(math.isnan, values)):
                return [math.nan]
        return [reduce(lambda one, other: other if compare(symbol, other, one) else one, values)]

    return extreme


def _of_number(exact: Callable[[Decimal], Decimal], double: Callable[[float], float]) -> Implementation:
    def of_number(_: Focus, items: Items) -> Items:
        value = _number(items)
        if value is None or isinstance(value, int):
            return [] if value is None else [value]
        return [double(value) if isinstance(value, float) else exact(value)]

    return of_number


def _absolute(_: Focus, items: Items) -> Items:
    value = _number(items)
    return [] if value is None else [value.copy_abs() if isinstance(value, Decimal) else abs(value)]


def _floor_double(value: float) -> float:
    return math.copysign(math.floor(value), value) if math.isfinite(value) else value


def _ceiling_double(value: float) -> float:
    return math.copysign(math.ceil(value), value) if math.isfinite(value) else value


def _round_exact(value: Decimal) -> Decimal:
    return (value + Decimal("0.5")).to_integral_value(ROUND_FLOOR)


# -- text ---------------------------------------------------------------------------------------------------------


def _built(focus: Focus, parts: Iterable[str], between: str = "") -> Items:
    found = list(parts)
    focus.spend((sum(map(len, found)) + len(between) * len(found)) // 16)
    return [between.join(found)]


def _concat(focus: Focus, *arguments: Items) -> Items:
    return _built(focus, map(_any_text, arguments))


def _string_join(focus: Focus, items: Items, between: Items | None = None) -> Items:
    return _built(focus, map(text_of, atomized(items)), "" if between is None else _needed_text(between))


def _substring(_: Focus, items: Items, start: Items, length: Items | None = None) -> Items:
    first = _round_double(_double(start))
    end = math.inf if length is None else first + _round_double(_double(length))
    return [_between(_text(items), first, end)]


def _normalized(text: str) -> str:
    return " ".join(re.findall(r"[^ \t\r\n]+", text))


def _translate(_: Focus, items: Items, these: Items, those: Items) -> Items:
    text, by = _text(items), _needed_text(those)
    table: dict[int, str | None] = {}
    for place, character in enumerate(_needed_text(these)):
        table.setdefault(ord(character), by[place] if place < len(by) else None)
    return [text.translate(table)]


def _before(_: Focus, items: Items, mark: Items) -> Items:
    text = _text(items)
    end = text.find(_text(mark))
    return [text[: max(end, 0)]]


def _after(_: Focus, items: Items, mark: Items) -> Items:
    text, wanted = _text(items), _text(mark)
    return [text.partition(wanted)[2] if wanted else text]


def _compared_texts(_: Focus, items: Items, others: Items) -> Items:
    one, other = _text(items), _text(others)
    return [(one > other) - (one < other)] if items and others else []


def _equal_texts(_: Focus, items: Items, others: Items) -> Items:
    one, other = _text(items), _text(others)
    return [one == other] if items and others else []


def _from_code_points(_: Focus, items: Items) -> Items:
    points = [_integer([each]) for each in items]
    if not all(each in (9, 10, 13) or 32 <= each < 0xD800 or 0xE000 <= each < 0xFFFE or 65535 < each < 0x110000
               for each in points):  # fmt: skip
        raise EvaluationError("a number is the code point of no character")
    return ["".join(map(chr, points))]


# -- regular expressions ------------------------------------------------------------------------------------------

_PART: Final = re.compile(
    r"""\\[nrt\\|.\-^?*+{}()\[\]$] | \\[dDsS] | \[\^?(?:[^\[\]\\^\-&~|]|\\[nrt\\|.\-^?*+{}()\[\]$]|\\[ds]
    |(?<=[^\[^\-])-(?=[^\]\[\\\-]))+\] | \((?:\?:)? | \) | [|^$.] | (?:[*+?]|\{[0-9]{1,4}(?:,[0-9]{0,4})?\})\??
    | [^\\\[\](){}|^$.*+?]""",
    re.VERBOSE | re.DOTALL,
)
_PYTHON: Final = {"^": r"\A", "$": r"\Z", ".": r"[^\n\r]", r"\s": r"[ \t\n\r]", r"\S": r"[^ \t\n\r]"}


def pattern(text: str, flags: str = "") -> re.Pattern[str]:
    """A regular expression of XPath, of constructs that mean the same to Python.

    Raises :class:`UnsupportedError` for others: classes of characters but ``\\d`` and ``\\s``, references back,
    subtraction, flags but ``s`` and ``i``, and repeated groups that have repetitions or alternatives in them, whose
    matching may never end.
    """
    parts: list[str] = []
    groups = _Groups()
    place = 0
    while place < len(text):
        found = _PART.match(text, place)
        if found is None:
            raise UnsupportedError(f"the regular expression {text[:40]!r} is not evaluated")
        part = found[0]
        quantifies = part[0] in "*+?{"
        if quantifies and (not parts or parts[-1] in {"(", "(?:", "|", r"\A", r"\Z"} or place == 0):
            raise EvaluationError(f"the regular expression {text[:40]!r} is none")
        if not groups.may_follow(part):
            raise UnsupportedError("a group with repetitions or alternatives in it is not repeated")
        parts.append(_in_class(part) if part[0] == "[" else _PYTHON.get(part, part))
        place = found.end()
    if set(flags) - set("si"):
        raise UnsupportedError(f"the flags {flags[:10]!r} of a regular expression are not known")
    if "s" in flags:
        parts = [r"(?s:.)" if part == _PYTHON["."] else part for part in parts]
    try:
        return re.compile("".join(parts), re.IGNORECASE if "i" in flags else 0)
    except (re.error, OverflowError):
        raise EvaluationError(f"the regular expression {text[:40]!r} is none") from None


class _Groups:
    """The groups of a regular expression: those that may take a time without bounds are not repeated."""

    def __init__(self) -> None:
        self._open = [False]
        self._last = False

    def may_follow(self, part: str) -> bool:
        """Whether a part may stand behind those before."""
        if part in {"(", "(?:"}:
            self._open.append(False)
        elif part == "|" or part[0] in "*+?{":
            if part[0] in "*+{" and self._last:
                return False
            self._open[-1] = True
        self._last = False
        if part == ")" and len(self._open) > 1:
            self._last = self._open.pop()
            self._open[-1] |= self._last
        return True


def _in_class(part: str) -> str:
    return part.replace(r"\s", r" \t\n\r")


def _pattern(text: Items, flags: Items | None) -> re.Pattern[str]:
    return pattern(_needed_text(text), "" if flags is None else _needed_text(flags))


def _matches(_: Focus, items: Items, text: Items, flags: Items | None = None) -> Items:
    return [_pattern(text, flags).search(_text(items)) is not None]


def _cutting(text: Items, flags: Items | None) -> re.Pattern[str]:
    found = _pattern(text, flags)
    if found.search(""):
        raise EvaluationError("a regular expression matches nothing at all")
    return found


def _replace(focus: Focus, items: Items, text: Items, by: Items, flags: Items | None = None) -> Items:
    found, new = _cutting(text, flags), _needed_text(by)
    if re.fullmatch(r"[^\\$]*", new) is None:
        raise UnsupportedError("a replacement with $ or a backslash is not evaluated")
    replaced = found.sub(lambda _: new, _text(items))
    return _built(focus, [replaced])


def _tokenize(_: Focus, items: Items, text: Items | None = None, flags: Items | None = None) -> Items:
    given = _text(items)
    if text is None:
        return [*_normalized(given).split(" ")] if _normalized(given) else []
    cuts = [each.span() for each in _cutting(text, flags).finditer(given)]
    if not given:
        return []
    return [given[end:begin] for (_, end), (begin, _) in zip([(0, 0), *cuts], [*cuts, (len(given), 0)], strict=True)]


# -- functions of functions ---------------------------------------------------------------------------------------


def _for_each(_: Focus, items: Items, function: Items) -> Items:
    return [each for item in items for each in called(function, [item])]


def _filter(_: Focus, items: Items, function: Items) -> Items:
    found: Items = []
    for item in items:
        kept = called(function, [item])
        if len(kept) != 1 or not isinstance(kept[0], bool):
            raise EvaluationError("a function that filters gives no truth value")
        found += [item] if kept[0] else []
    return found


def _fold_left(_: Focus, items: Items, zero: Items, function: Items) -> Items:
    return reduce(lambda so_far, item: called(function, so_far, [item]), items, zero)


def _fold_right(_: Focus, items: Items, zero: Items, function: Items) -> Items:
    return reduce(lambda so_far, item: called(function, [item], so_far), reversed(items), zero)


def _for_each_pair(_: Focus, items: Items, others: Items, function: Items) -> Items:
    return [each for one, other in zip(items, others, strict=False) for each in called(function, [one], [other])]


def _sort(focus: Focus, items: Items, collation: Items | None = None, function: Items | None = None) -> Items:
    if collation:
        raise UnsupportedError("sorting has no collations")
    keys: list[Items] = [atomized([item] if function is None else called(function, [item])) for item in items]
    focus.spend(len(items) * max(len(items).bit_length(), 1))
    by_keys: Callable[[int], Any] = cmp_to_key(lambda one, other: _compare_keys(keys[int(one)], keys[int(other)]))
    places: list[int] = sorted(range(len(items)), key=by_keys)
    return [items[place] for place in places]


def _compare_keys(ones: Items, others: Items) -> int:
    for one, other in zip(ones, others, strict=False):
        is_nan = [isinstance(each, float) and math.isnan(each) for each in (one, other)]
        if any(is_nan):
            if is_nan[0] != is_nan[1]:
                return -1 if is_nan[0] else 1
        elif not compare("eq", one, other):
            return -1 if compare("lt", one, other) else 1
    return len(ones) - len(others)


# -- the table ----------------------------------------------------------------------------------------------------


def deep_equal(focus: Focus, ones: Items, others: Items) -> bool:
    """Whether two sequences are equal, their nodes compared with all that is in them."""
    focus.spend(len(ones) + len(others))
    return len(ones) == len(others) and all(
        _equal_items(focus, one, other) for one, other in zip(ones, others, strict=True)
    )


def _equal_items(focus: Focus, one: Any, other: Any) -> bool:
    if not isinstance(one, XPathNode) or not isinstance(other, XPathNode):
        if isinstance(one, XPathNode) or isinstance(other, XPathNode):
            return False
        return same(*atomized([one, other]))
    if one.node_kind != other.node_kind or one.name != other.name:
        return False
    if isinstance(one, ElementNode) and isinstance(other, ElementNode):
        attributes = [{each.name: each.value for each in node.attributes} for node in (one, other)]
        return attributes[0] == attributes[1] and deep_equal(focus, one.children, other.children)
    if isinstance(one, DocumentNode) and isinstance(other, DocumentNode):
        return deep_equal(focus, one.children, other.children)
    return node_text(one) == node_text(other)


def _component(kind: str, name: str) -> Implementation:
    def component(_: Focus, items: Items) -> Items:
        value = single(items)
        if isinstance(value, Untyped):
            value = CASTS[kind](value)
        if value is None:
            return []
        if not TYPES[kind](value):
            raise EvaluationError("a value is no date or time of that type")
        return [getattr(value, name)]

    return component


FUNCTIONS: Final[dict[tuple[str, int], Implementation]] = {
    ("position", 0): lambda focus: [focus.position],
    ("last", 0): lambda focus: [focus.size],
    ("true", 0): lambda _: [True],
    ("false", 0): lambda _: [False],
    ("not", 1): lambda _, items: [not truth(items)],
    ("boolean", 1): lambda _, items: [truth(items)],
    ("count", 1): lambda _, items: [len(items)],
    ("exists", 1): lambda _, items: [bool(items)],
    ("empty", 1): lambda _, items: [not items],
    ("head", 1): lambda _, items: items[:1],
    ("tail", 1): lambda _, items: items[1:],
    ("reverse", 1): lambda _, items: items[::-1],
    ("unordered", 1): lambda _, items: items,
    ("data", 1): lambda _, items: atomized(items),
    ("zero-or-one", 1): lambda _, items: _at_most(items, 0, 1),
    ("one-or-more", 1): lambda _, items: _at_most(items, 1, None),
    ("exactly-one", 1): lambda _, items: _at_most(items, 1, 1),
    ("deep-equal", 2): lambda focus, ones, others: [deep_equal(focus, ones, others)],
    ("name", 1): _name,
    ("local-name", 1): _name,
    ("namespace-uri", 1): _namespace,
    ("root", 1): _root,
    ("path", 1): _path,
    ("has-children", 1): _has_children,
    ("innermost", 1): _innermost,
    ("outermost", 1): _outermost,
    ("subsequence", 2): _subsequence,
    ("subsequence", 3): _subsequence,
    ("insert-before", 3): _insert_before,
    ("remove", 2): _remove,
    ("distinct-values", 1): _distinct,
    ("index-of", 2): _index_of,
    ("sum", 1): _sum,
    ("sum", 2): _sum,
    ("avg", 1): _average,
    ("min", 1): _extreme("lt"),
    ("max", 1): _extreme("gt"),
    ("number", 1): lambda _, items: [number_or_nan(single(items))],
    ("abs", 1): _absolute,
    ("floor", 1): _of_number(lambda value: value.to_integral_value(ROUND_FLOOR), _floor_double),
    ("ceiling", 1): _of_number(lambda value: value.to_integral_value(ROUND_CEILING), _ceiling_double),
    ("round", 1): _of_number(_round_exact, _round_double),
    ("string", 1): lambda _, items: [text_of(_at_most(items, 0, 1)[0]) if items else ""],
    ("string-length", 1): lambda _, items: [len(_text(items))],
    ("normalize-space", 1): lambda _, items: [_normalized(_text(items))],
    ("concat", 2): _concat,
    ("string-join", 1): _string_join,
    ("string-join", 2): _string_join,
    ("substring", 2): _substring,
    ("substring", 3): _substring,
    ("substring-before", 2): _before,
    ("substring-after", 2): _after,
    ("upper-case", 1): lambda _, items: [_text(items).upper()],
    ("lower-case", 1): lambda _, items: [_text(items).lower()],
    ("translate", 3): _translate,
    ("contains", 2): lambda _, items, part: [_text(part) in _text(items)],
    ("starts-with", 2): lambda _, items, part: [_text(items).startswith(_text(part))],
    ("ends-with", 2): lambda _, items, part: [_text(items).endswith(_text(part))],
    ("compare", 2): _compared_texts,
    ("codepoint-equal", 2): _equal_texts,
    ("string-to-codepoints", 1): lambda _, items: [*map(ord, _text(items))],
    ("codepoints-to-string", 1): _from_code_points,
    ("matches", 2): _matches,
    ("matches", 3): _matches,
    ("replace", 3): _replace,
    ("replace", 4): _replace,
    ("tokenize", 1): _tokenize,
    ("tokenize", 2): _tokenize,
    ("tokenize", 3): _tokenize,
    ("for-each", 2): _for_each,
    ("filter", 2): _filter,
    ("fold-left", 3): _fold_left,
    ("fold-right", 3): _fold_right,
    ("for-each-pair", 3): _for_each_pair,
    ("sort", 1): _sort,
    ("sort", 2): _sort,
    ("sort", 3): _sort,
    ("year-from-date", 1): _component("date", "year"),
    ("month-from-date", 1): _component("date", "month"),
    ("day-from-date", 1): _component("date", "day"),
    ("year-from-dateTime", 1): _component("dateTime", "year"),
    ("month-from-dateTime", 1): _component("dateTime", "month"),
    ("day-from-dateTime", 1): _component("dateTime", "day"),
    ("hours-from-dateTime", 1): _component("dateTime", "hour"),
    ("minutes-from-dateTime", 1): _component("dateTime", "minute"),
    ("hours-from-time", 1): _component("time", "hour"),
    ("minutes-from-time", 1): _component("time", "minute"),
}

OF_CONTEXT: Final = frozenset(
    {"string", "string-length", "normalize-space", "number", "name", "local-name", "namespace-uri"}
    | {"root", "path", "has-children", "data"}
)
"""The functions that take the context item, where they are given nothing."""


def implementation(name: str, arity: int) -> Implementation | None:
    """What a function does, ``None`` where it is not known."""
    if name == "concat" and arity > 2:
        return _concat
    if not arity and name in OF_CONTEXT:
        of_item = FUNCTIONS[name, 1]
        if name == "string-length" or name == "normalize-space":
            return lambda focus: of_item(focus, [text_of(focus.item)])
        return lambda focus: of_item(focus, [focus.item])
    return FUNCTIONS.get((name, arity))
