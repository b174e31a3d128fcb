"""Function terms as standard XQuery 3.1, which any processor evaluates to the same; absent is the empty sequence.

The form, in which ``E`` is a printed expression and ``T`` a type:

* A leaf as the caller writes it (``$x/price``), a string in double quotes, a number as a literal.
* A call as XPath writes it: ``concat($x/first, " ", $x/last)``, ``$x/price = "5"``, ``if (C) then E else ()``.
  Operators in operators stand in parentheses.
* A quotient is ``round(E div E[. != 0], 12)``; by a constant such as 100, whose reciprocal is a decimal, ``E div 100``.
* What may fail when it is cast: ``xs:decimal(E[. castable as xs:decimal])``.
* What may be absent where XPath would take it for an empty string: ``if (exists(E) and ...) then CALL else ()``, for a
  condition ``exists(E) and ... and CALL``.
* A lookup is ``map {"code": "value", ...}?(E)``, with another value for what is not in it
  ``(map {"code": "value", ...}?(E), E)[1]``.
* A number or a date as a string is ``string(E)``, where it may be absent ``E ! string()``.

A number literal is ``Call("xs:decimal", (Constant("5"),))``, with an exponent ``Call("number", (Constant("1e3"),))``;
where a function takes a number, ``Constant("5")`` is one, too.

Leaves that are sure, and those that a condition around an expression has tested, need no guard.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from heptox.pattern.value_expression import Call, Constant, Leaf, Lookup, StringJoin, ValueExpression
from heptox.pattern.value_functions import SIGNS
from heptox.pattern.value_meaning import implied_leaves, is_total, known_form
from heptox.pattern.value_types import CASTS, Type, ValueFunction
from heptox.pattern.value_typing import argument_types, is_cast, result_type
from heptox.schema import Path

_REFERENCES: Final = str.maketrans({"&": "&amp;", "\n": "&#xA;", "\r": "&#xD;", '"': '""'})
_NUMBER: Final = re.compile(r"-?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def expression_in_xquery(
    expression: ValueExpression, leaf: Callable[[Path], str], is_sure: Callable[[Path], bool] = lambda _: False
) -> str:
    """The expression as XQuery: ``leaf`` writes leaves, and ``is_sure`` says which have a value wherever it stands.

    >>> name = Call("concat", (Leaf(("first",)), Constant(" "), Leaf(("last",))))
    >>> print(expression_in_xquery(name, lambda path: "$x/" + "/".join(path), lambda path: path == ("last",)))
    if (exists($x/first)) then concat($x/first, " ", $x/last) else ()
    """
    return _Printer(leaf, is_sure).text(expression)


def quoted(value: str) -> str:
    """A string literal of XQuery."""
    return f'"{value.translate(_REFERENCES)}"'


@dataclass(frozen=True, slots=True)
class _Printer:
    """``assured``: a guard around what is printed says that it has a value."""

    leaf: Callable[[Path], str]
    is_sure: Callable[[Path], bool]
    assured: bool = False

    def text(self, expression: ValueExpression) -> str:
        """The expression, which is the empty sequence where it has no value."""
        match expression:
            case Leaf(path):
                return self.leaf(path)
            case Constant(value):
                return quoted(value)
            case StringJoin(path, separator):
                text = f"string-join({self.leaf(path)}, {quoted(separator)})"
                return text if self.assured or self.is_sure(path) else _guarded([f"exists({self.leaf(path)})"], text)
            case Lookup():
                return self._lookup(expression)
            case Call("if", (condition, *_)):
                outside = replace(self, assured=False)
                return outside._known(condition)._plain(expression, known_form(expression), outside)
            case Call():
                form = known_form(expression)
                guards = self._guards(expression, form)
                printer = replace(self, assured=True) if guards else self
                text = printer._plain(expression, form, printer)
                if not guards:
                    return text
                return " and ".join([*guards, text]) if form.result is Type.BOOLEAN else _guarded(guards, text)

    def _plain(self, call: Call, form: ValueFunction, outside: _Printer) -> str:
        """A call without guards; the condition of a choice, and what is chosen else, stand outside it."""
        printers = (
            (outside, self, outside)[: len(call.arguments)] if form.name == "if" else (self,) * len(call.arguments)
        )
        wanted = argument_types(call, form)
        texts = [
            printer._argument(argument, one, form)
            for printer, argument, one in zip(printers, call.arguments, wanted, strict=True)
        ]
        return texts[0] if form.xquery == "{0}" else form.shown(texts)

    def _argument(self, argument: ValueExpression, wanted: Type, form: ValueFunction) -> str:
        if isinstance(argument, Constant) and wanted in CASTS:
            return _constant(argument.value, wanted)
        text = self.text(argument)
        if wanted is Type.STRING and not form.takes_any and result_type(argument) is not Type.STRING:
            return self._string(argument, text)
        if is_cast(argument, wanted):
            name = CASTS[wanted].name
            return f"{name}({_primary(argument, text)}[. castable as {name}])"
        is_sign = isinstance(argument, Call) and argument.function in SIGNS
        return text if not _has_operands(form) or (wanted is Type.BOOLEAN and is_sign) else _primary(argument, text)

    def _guards(self, call: Call, form: ValueFunction) -> list[str]:
        """What has to hold for all arguments of a call to have a value, where XPath does not see to it."""
        if form.propagates or not form.is_strict or self.assured:
            return []
        return self._needs(call, form)

    def _needs(self, call: Call, form: ValueFunction) -> list[str]:
        wanted = argument_types(call, form)
        guards = (
            guard
            for argument, one in zip(call.arguments, wanted, strict=True)
            for guard in self._presence(argument, one, form)
        )
        return list(dict.fromkeys(guards))

    def _presence(self, argument: ValueExpression, wanted: Type, form: ValueFunction) -> Iterator[str]:
        if isinstance(argument, Constant) or (is_total(argument, self.is_sure) and not is_cast(argument, wanted)):
            return
        inner = known_form(argument) if isinstance(argument, Call) else None
        if (
            isinstance(argument, Call)
            and inner
            and inner.is_strict
            and inner.name != "div"
            and not is_cast(argument, wanted)
        ):
            yield from self._needs(argument, inner)
        elif isinstance(argument, StringJoin):
            yield f"exists({self.leaf(argument.path)})"
        else:
            cast = is_cast(argument, wanted)
            yield f"exists({self._argument(argument, wanted, form) if cast else self.text(argument)})"

    def _lookup(self, lookup: Lookup) -> str:
        codes = ", ".join(f"{quoted(code)}: {quoted(value)}" for code, value in dict(lookup.codes).items())
        argument = self.text(lookup.argument)
        found = f"map {{{codes}}}?({self._string(lookup.argument, argument)})"
        if lookup.other is None:
            return found
        text = f"({found}, {self._string(lookup.other, self.text(lookup.other))})[1]"
        if is_total(lookup.argument, self.is_sure):
            return text
        return text if self.assured else _guarded([f"exists({argument})"], text)

    def _string(self, expression: ValueExpression, text: str) -> str:
        """What may be a number or a date as a string, empty where it is."""
        if result_type(expression) is Type.STRING:
            return text
        is_there = self.assured or is_total(expression, self.is_sure)
        return f"string({text})" if is_there else f"{_primary(expression, text)} ! string()"

    def _known(self, condition: ValueExpression) -> _Printer:
        """A printer for where a condition holds."""
        known = implied_leaves(condition)
        return replace(self, is_sure=lambda path: path in known or self.is_sure(path))


def _has_operands(form: ValueFunction) -> bool:
    """Whether an operator stands between its arguments, in whatever it is written as."""
    return form.xquery is not None and "{0} " in form.xquery


def _guarded(guards: list[str], text: str) -> str:
    return f"if ({' and '.join(guards)}) then {text} else ()"


def _constant(value: str, wanted: Type) -> str:
    if wanted.is_numeric or wanted.is_constant:
        text = value.strip(" \t\n\r").removeprefix("+")
        return text if _NUMBER.fullmatch(text) else f"{CASTS[wanted].name}({quoted(text)})"
    return f"{CASTS[wanted].name}({quoted(value)})"


def _primary(expression: ValueExpression, text: str) -> str:
    """A text to which a predicate, or an operator, can be put."""
    return f"({text})" if text.startswith("if (") or _is_infix(expression) else text


def _is_infix(expression: ValueExpression) -> bool:
    if not isinstance(expression, Call):
        return False
    form = known_form(expression)
    return form.is_infix or (form.xquery == "{0}" and _is_infix(expression.arguments[0]))
