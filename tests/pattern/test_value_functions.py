"""What the functions of values mean: the same in Python, in SQL and in XQuery, which Saxon evaluates."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Final

import duckdb
import pyarrow as pa
import pytest

from heptox.errors import StoreError
from heptox.pattern import (
    VALUE_FUNCTIONS,
    Call,
    Constant,
    Lookup,
    SqlParts,
    StringJoin,
    ValueExpression,
    evaluate_expression,
    expression_faults,
    expression_in_sql,
    inverse,
    is_one_to_one,
    is_total,
    leaf_paths,
    needed_leaves,
    preimage,
)
from heptox.pattern.value_expression import parts
from heptox.pattern.value_functions import SIGNS
from heptox.pattern.value_patterns import MOST_REPLACED
from heptox.pattern.value_typing import form_of_call
from heptox.store import sql
from tests.pattern.random_expressions import RandomExpressions, call, leaf
from tests.support.budget import tries, usually
from tests.support.saxon import evaluate as judged
from tests.support.value_printing import expression_in_xquery

A, B, N, M, D, T, S = map(leaf, "abnmdts")
ROWS: Final = usually(1_500, 10_000)


def number(lexical: str) -> Call:
    return call("xs:decimal", lexical)


EXPRESSIONS: Final[tuple[ValueExpression, ...]] = (
    call("concat", A, B),
    call("concat", A, ' & "', N, call("string-length", B)),
    call("normalize-space", A),
    call("string", call("substring", A, "2")),
    call("translate", A, B, "xé"),
    call("translate", A, "abß", "bad"),
    call("substring", A, 2),
    call("substring", A, 0, 3),
    call("substring", A, call("string-length", B), 2),
    call("substring", A, 4_294_967_300),
    call("substring-before", A, B),
    call("substring-after", A, B),
    call("substring-after", A, "b"),
    call("upper-case", call("concat", A, "ßﬁΐ")),
    call("lower-case", call("concat", A, "İΑΣ")),
    call("string-length", A),
    *(
        call("replace", A, pattern, replacement)
        for pattern, replacement in (
            ("[ab]+", "<$0>"),
            ("a|ab|b", "\\$"),
            ("(a)|(b)", "$2\\\\$1"),
            ("(\\s|\\d)(.)", "$2$1x"),
            ("^[^a-cA-C]", ""),
            (".$", "!"),
            ("(a+?)(b*)", "[$1,$2]"),
            ("[\\-\\]\\[^&~|.-]{1,2}?", "$0$0"),
            ("(?:a|b){2}(c)?", "$1-"),
            ("(a|b)+", "<$1>"),
            ("(?:(a)|b)?c|(\\()", "$1$2|"),
        )
    ),
    *(
        call("matches", A, pattern)
        for pattern in (
            "a",
            "^a*$",
            "^[^\\s]+$",
            "\\d",
            "^.{2,4}$",
            "b$|^a",
            "(ab|ba).?",
            "^$",
            "[$^.]",
            "\\\\|\\(|\\{",
            "[^\\d\\s]$",
        )
    ),
    call("contains", A, B),
    call("starts-with", A, B),
    call("ends-with", A, B),
    call("exists", A),
    call("exists", call("xs:integer", N)),
    call("not", call("contains", A, B)),
    call("and", call("=", A, B), call("exists", N), call("<", N, number("5"))),
    call("or", call("=", A, "b"), call("not", call(">", B, A))),
    call("if", call("contains", A, "a"), B),
    call("if", call("starts-with", A, "a"), call("concat", B, "x"), call("upper-case", N)),
    call("if", call(">", N, number("0")), call("xs:integer", N), call("string-length", A)),
    *(call(sign, A, B) for sign in ("=", "!=", "<", "<=", ">", ">=")),
    *(call(sign, N, number("0.5")) for sign in ("=", "!=", "<", "<=", ">", ">=")),
    *(call(sign, call("xs:decimal", N), call("xs:decimal", M)) for sign in ("=", "!=", "<", "<=", ">", ">=")),
    call("xs:decimal", N),
    call("xs:integer", N),
    call("xs:integer", call("xs:decimal", N)),
    call("+", N, M),
    call("+", call("string-length", A), call("*", "2", call("-", call("string-length", B), "1"))),
    call("-", N, call("*", M, "2")),
    call("*", N, M),
    call("*", call("*", N, "0.000001"), M),
    call("div", N, M),
    call("div", call("+", N, "1"), "3"),
    call("div", N, "-100"),
    call("round", N),
    call("round", call("div", N, "40"), "1"),
    call("round", call("*", N, M), "12"),
    call("abs", N),
    call("floor", call("div", N, "4")),
    call("ceiling", call("div", N, "4")),
    call(">", call("+", N, M), call("number", N)),
    *(call(sign, call("number", N), number("0.5")) for sign in ("=", "!=", "<", "<=", ">", ">=")),
    call("concat", call("*", call("-", N, M), call("-", M, "0.5")), "!"),
    call("concat", call("xs:decimal", N), "|", call("upper-case", call("xs:integer", M))),
    call("upper-case", call("if", call("=", A, "a"), B)),
    call("xs:date", D),
    *(
        call(sign, call(f"xs:{kind}", leaf), other)
        for sign in ("=", "!=", "<", "<=", ">", ">=")
        for kind, leaf, other in (
            ("date", D, call("xs:date", call("xs:dateTime", T))),
            ("dateTime", T, Constant("2000-06-01T12:00:00")),
            ("dateTime", T, Constant("2000-06-01T12:00:00-01:30")),
            ("time", S, call("xs:time", call("xs:dateTime", T))),
        )
    ),
    call("xs:date", call("xs:dateTime", T)),
    call("xs:dateTime", T),
    call("xs:time", call("xs:dateTime", T)),
    call("xs:time", S),
    call("format-date", D, "[D01]/[M01]/[Y0001] it's"),
    call("format-date", call("xs:date", D), "[D].[M].[Y]"),
    call("format-dateTime", T, "[Y0001][M01][D01]-[H01]:[m01]:[s01], [H]"),
    call("format-time", S, "[H01].[m01] [s01]"),
    call("-", call("year-from-date", D), call("*", call("month-from-date", D), call("day-from-date", D))),
    call("if", call("exists", call("xs:date", D)), call("xs:date", D), call("xs:dateTime", T)),
    Lookup(A, (("a", "1"), ("b", "x\"&'"), ("", "empty"))),
    Lookup(A, (("a", "1"), ("b", "2")), B),
    Lookup(call("xs:integer", N), (("1", "one"), ("0", "none")), Constant("many")),
)


def _words(chance: random.Random) -> str | None:
    if chance.random() < 0.1:
        return None
    return "".join(chance.choices(_CHARACTERS, k=chance.choice((0, 1, 1, 2, 3, 5, 9))))


_CHARACTERS: Final = (
    *"aab bcABZ09 .,-_$\\'\"&<[](){}*?+|^%#",
    " ",
    "\t",
    "\n",
    "\r",
    "é",
    "e\u0301",
    "É",
    "œ",
    "🙂",
    "漢",
    "Ω",
    "ы",
    "{0}",
)


def _numbers(chance: random.Random) -> str | None:
    kind = chance.random()
    if kind < 0.08:
        return None
    if kind < 0.16:
        return chance.choice(
            ("", "abc", "1e3", "NaN", "INF", "-INF", "1,5", ".", "+", "- 1", "1 2", "0x1", "٣", "-1.5E-2")
        )
    digits = "".join(chance.choices("0123456789", k=chance.choice((1, 1, 2, 3, 5))))
    places = "".join(chance.choices("0059", k=chance.choice((0, 0, 1, 2, 3))))
    text = f"{digits}.{places}" if places or chance.random() < 0.1 else digits
    text = chance.choice(("", "", "-", "+")) + text
    return chance.choice((" ", "\n", "\t")) + text + " " if chance.random() < 0.1 else text


def _times(chance: random.Random, *, has_date: bool, has_time: bool) -> str | None:
    if chance.random() < 0.08:
        return None
    zone = chance.choice(("", "", "", "Z", "+00:00", "-00:00", "+05:30", "-14:00", "+15:00", "+1:00"))
    year = chance.choice(("2003", "1999", "2000", "0001", "0987", "9999", "203", "0x11"))
    day = f"{year}-{chance.randint(0, 13):02}-{chance.randint(0, 32):02}"
    second = chance.choice(("00", "07", "59", "60", "7", "30.50", "30.000", "01.123456", "02.", "05.00100"))
    time = f"{chance.randint(0, 23):02}:{chance.choice(('00', '59', '60', '30'))}:{second}"
    text = chance.choice("TTTTT ").join([day] * has_date + [time] * has_time) + zone
    return chance.choice((" ", "\n")) + text + " " if chance.random() < 0.1 else text


Row = Mapping[str, str | None]


@lru_cache(maxsize=1)
def rows() -> Sequence[Row]:
    chance = random.Random(7)
    return [
        {
            "a": _words(chance),
            "b": _words(chance),
            "n": _numbers(chance),
            "m": _numbers(chance),
            "d": _times(chance, has_date=True, has_time=False),
            "t": _times(chance, has_date=True, has_time=True),
            "s": _times(chance, has_date=False, has_time=True),
        }
        for _ in range(ROWS)
    ]


@lru_cache(maxsize=1)
def document() -> str:
    def element(name: str, value: str | None) -> str:
        return "" if value is None else f"<{name}>{escape(value).replace(chr(13), '&#13;')}</{name}>"

    return "<t>" + "".join(f"<r>{''.join(element(*pair) for pair in row.items())}</r>" for row in rows()) + "</t>"


@lru_cache(maxsize=1)
def database() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    table = pa.table({name: pa.array([row[name] for row in rows()], pa.string()) for name in rows()[0]})
    connection.register("given", table)
    connection.execute("CREATE TABLE r AS SELECT * FROM given")
    return connection


def statement(expressions: Sequence[ValueExpression]) -> sql.Statement:
    made: SqlParts[sql.Expression] = SqlParts(
        lambda path: sql.Column("x", path[-1]), lambda _: sql.String(None), sql.String, sql.Template
    )
    columns = tuple(sql.Template("CAST({0} AS STRING)", (expression_in_sql(each, made),)) for each in expressions)
    return sql.Statement((sql.Select(columns, (sql.Source("r", "x"),), sql.TRUE),))


def in_python(expression: ValueExpression) -> list[str | None]:
    return [evaluate_expression(expression, lambda path, row=row: row[path[-1]], lambda _: ()) for row in rows()]  # type: ignore[misc]


def compares_other_zones(expression: ValueExpression, row: Row) -> bool:
    """Whether a date without a time zone is compared with one that has one: Saxon takes the zone of the machine."""
    if not (isinstance(expression, Call) and expression.function in SIGNS and "xs:" in str(expression)):
        return False
    leaves = [row[path[-1]] or "" for path in leaf_paths(expression)]
    texts = [*leaves, *(part.value for part in parts(expression) if isinstance(part, Constant))]
    return len({re.search("(Z|[+-]..:..) ?$", text) is None for text in texts}) > 1


def complete(expression: ValueExpression) -> list[str | None]:
    """The values for the rows in which all leaves are."""
    values = zip(rows(), in_python(expression), strict=True)
    return [value for row, value in values if None not in row.values()]


def by_saxon(expression: ValueExpression) -> list[str | None]:
    text = expression_in_xquery(expression, lambda path: f"$x/{path[-1]}")
    (answer,) = judged(
        "string-join(for $x in /t/r return string-join((let $v := "
        + text
        + ' return if (exists($v)) then ("+", $v) else "-"), ""), "\ue000")',
        document(),
    )
    answers = answer[1:-1].replace('""', '"').split("\ue000")
    return [each[1:] if each.startswith("+") else None for each in answers]


def by_duckdb(expression: ValueExpression) -> list[str | None]:
    rows = database().execute(sql.print_statement(statement((expression,)))).fetchall()
    return [value for (value,) in rows]


@pytest.mark.parametrize(("start", "count"), [(2, 10**18 - 1), (4_294_967_300, 1), (-4_294_967_295, 4_294_967_299)])
def test_a_substring_may_be_said_by_any_numbers(start: int, count: int) -> None:
    """Saxon takes no such counts."""
    expression = call("substring", A, start, count)
    assert by_duckdb(expression) == in_python(expression)


def test_what_could_make_too_much_is_refused_alike() -> None:
    """Where all characters would become very many, also if the regular expression finds none of them."""
    few, many = (call("replace", A, "no such text", "x" * count) for count in (1_000, MOST_REPLACED))
    assert by_duckdb(few) == in_python(few)
    with pytest.raises(StoreError, match="HX6019 replace could make a value of over 16,777,216 characters"):
        in_python(many)
    with pytest.raises(duckdb.InvalidInputException, match="replace could make a value of over"):
        by_duckdb(many)


FAULTY: Final = (
    (call("uppercase", A), "HX4071", "did you mean upper-case?"),
    (call("substring", A), "HX4072", "takes 2 or 3 arguments, not 1"),
    (call("concat", A), "HX4072", "takes 2 or more arguments, not 1"),
    (call("substring", A, "one"), "HX4073", '"one", is no integer'),
    (call("substring", A, call("div", N, "2")), "HX4073", "is of type decimal, not integer"),
    (call("concat", A, call("contains", A, B)), "HX4073", "is of type boolean, not string"),
    (call("if", A, B), "HX4073", "is of type string, not boolean"),
    (call("=", call("not", call("=", A, B)), "true"), "HX4073", "a condition cannot be compared"),
    (call("concat", call("number", N), "x"), "HX4073", "is of type double, not string"),
    (call("round", N, M), "HX4073", "is no constant"),
    (call("round", N, "13"), "HX4073", '"13", is no number of digits'),
    (call("*", N, "0.0000000000001"), "HX4073", "is no decimal"),
    (Lookup(call("=", A, B), (("true", "1"),)), "HX4073", "lookup takes strings, not the type boolean"),
    (call("matches", A, B), "HX4073", "is no constant"),
    (call("format-date", D, "[MNn]"), "HX4074", "it has more than text and [Y0001]"),
    (call("format-date", D, "[H01]"), "HX4074", "it has more than text and [Y0001]"),
    *(
        (call("matches", A, pattern), "HX4074", reason)
        for pattern, reason in (
            ("(a+)+", "repeated without a bound is repeated again"),
            ("(a*)?", "what may be empty is repeated"),
            ("\\w+", "no escape that all have"),
            ("\\p{Lu}", "no escape that all have"),
            ("(a)\\1", "no escape that all have"),
            ("a++", "+ stands for itself"),
            ("(?=a)", "begins what not all have"),
            ("[a-z-[aeiou]]", "in a class"),
            ("[z-a]", "goes from a character to a later one"),
            ("(?:(a)b)*", "a group stands inside of what is repeated"),
            ("a{201}", "repeats too often"),
            ("(?:a{20}){20}", "repeats too often"),
            ("a)", "is not open"),
            ("(a", "it ends too early"),
            ("[a", "it ends too early"),
            ("a" * 501, "over 500 characters"),
        )
    ),
    *(
        (call("replace", A, pattern, replacement), "HX4074", reason)
        for pattern, replacement, reason in (
            ("a*", "b", "may find the empty string"),
            ("(a)", "$2", "$2 is no group of it"),
            ("(a)", "$10", "$ stands before one digit"),
            ("a", "$", "$ stands before one digit"),
            ("a", "\\n", "\\ before"),
        )
    ),
)


@pytest.mark.parametrize(("expression", "code", "reason"), FAULTY, ids=lambda each: str(each)[:40])
def test_what_is_wrong_is_said(expression: ValueExpression, code: str, reason: str) -> None:
    (fault,) = expression_faults(expression)
    assert fault.code == code and reason in str(fault)
    assert fault.hint or code == "HX4073"


def test_all_forms_of_the_table_are_tried() -> None:
    calls = [part for expression in EXPRESSIONS for part in parts(expression) if isinstance(part, Call)]
    tried = {id(form_of_call(each)) for each in calls}
    assert [form for forms in VALUE_FUNCTIONS.values() for form in forms if id(form) not in tried] == []


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (call("+", "999999999999999999", "0.999999999999"), "999999999999999999.999999999999"),
        (call("+", "999999999999999999", "1"), None),
        (call("-", "-999999999999999999.5", "0.5"), None),
        (call("-", "9780306406157", "0.000000000001"), "9780306406156.999999999999"),
        (call("*", "1000000000", "1000000000"), None),
        (call("*", "1000000000", "-100000000.000000001"), None),
        (call("*", "1000", "-100000000.000000001"), "-100000000000.000001"),
        (call("*", "1000000000000", "1"), None),
        (call("div", "1000000000000", "7"), None),
        (call("div", "100000000000", "0.03"), None),
        (call("abs", "-999999999999999999.999999999999"), "999999999999999999.999999999999"),
        (call("round", "999999999999999999.4999", "3"), "999999999999999999.5"),
        (call("*", "0.000001", "-0.000001"), "-0.000000000001"),
        (call("*", "0.0000001", "0.000001"), None),
        (call("*", "999999.999999", "-999999.999999"), "-999999999998.000000000001"),
        (call("div", "999999999999.999999999999", "7"), "142857142857.142857142857"),
        (call("div", "-1", "3"), "-0.333333333333"),
        (call("div", "2", "-3"), "-0.666666666667"),
        (call("div", "1", "999999999999.999999999999"), "0.000000000001"),
        (call("div", "1", "0"), None),
        (call("div", "0.000000000001", "100"), None),
        (call("round", "-0.5"), "0"),
        (call("round", "999999999999999999.5"), None),
        (call("round", "2.5"), "3"),
        (call("round", "-0.0000000000005", "12"), None),
        (call("xs:decimal", Constant("00000000000000000001.50000000000000000000")), "1.5"),
        (call("string-length", call("xs:decimal", Constant("-.50"))), "4"),
    ],
)
def test_decimals_are_exact_or_absent(expression: Call, value: str | None) -> None:
    if all(fault.code == "HX4073" for fault in expression_faults(expression)) and expression_faults(expression):
        assert value is None  # a constant with more digits
        return
    assert evaluate_expression(expression, lambda _: None, lambda _: ()) == value
    assert by_duckdb(expression)[0] == value


def test_joined_values_are_absent_where_there_are_none() -> None:
    join = StringJoin(("a",), ", ")
    expression = call("concat", "[", join, "]")
    given: tuple[list[str], ...] = (["x", "", "y"], ["x"], [])
    values = [evaluate_expression(expression, lambda _: None, lambda _, some=some: some) for some in given]  # type: ignore[misc]
    assert values == ["[x, , y]", "[x]", None]
    text = expression_in_xquery(expression, lambda path: f"$x/{path[-1]}")
    assert text == 'if (exists($x/a)) then concat("[", string-join($x/a, ", "), "]") else ()'
    assert judged(f"for $x in /r return {text}", "<r><a>x</a><a/><a>y</a></r>") == ['"[x, , y]"']
    assert expression_in_xquery(join, lambda _: "$x/a", lambda _: True) == 'string-join($x/a, ", ")'
    assert not is_total(expression, lambda _: False) and needed_leaves(expression) == {("a",)}


INVERTED: Final[tuple[ValueExpression, ...]] = (
    A,
    call("concat", "a", A),
    call("concat", A, " b"),
    call("concat", "[", A, "]"),
    call("translate", A, "abc", "cab"),
    call("translate", call("concat", "ab", A, "!"), "ab", "ba"),
    Lookup(A, (("a", "1"), ("b", "2"), ("", "3"))),
    call("xs:decimal", N),
    call("xs:integer", N),
    call("+", N, "0.5"),
    call("-", "7", N),
    call("-", call("*", N, "100"), "3"),
    call("*", "-0.3", N),
    call("div", N, "8"),
    call("format-date", D, "[D01]/[M01] [Y0001]"),
    call("concat", "CAD ", call("+", call("xs:integer", N), "1")),
)


@pytest.mark.parametrize(
    "expression", INVERTED, ids=lambda each: expression_in_xquery(each, lambda path: path[-1])[:60]
)
def test_an_inverse_gives_the_leaf_back(expression: ValueExpression) -> None:
    (path,) = leaf_paths(expression)
    back = inverse(expression, path)
    assert back is not None and expression_faults(back) == []
    kind = "xs:integer" if "xs:integer" in str(expression) else "xs:decimal"
    forms: dict[str, ValueExpression] = {"a": A, "n": call(kind, N), "d": call("substring", call("xs:date", D), 1, 10)}
    canonical = forms[path[0]]
    for value, source in zip(in_python(expression)[::8], in_python(canonical)[::8], strict=True):
        if value is not None:
            assert evaluate_expression(back, lambda _, value=value: value, lambda _: ()) == source  # type: ignore[misc]
            assert preimage(expression, path, value) == source
    assert is_one_to_one(expression, path) is (path == ("a",))


@pytest.mark.parametrize(
    "expression",
    [
        call("concat", A, B),
        call("upper-case", A),
        call("translate", A, ",", "."),
        call("translate", A, "ab", "ba "),
        call("*", N, "0"),
        call("div", N, "3"),
        call("+", N, N),
        call("xs:integer", call("xs:decimal", N)),
        Lookup(A, (("a", "1"), ("b", "1"))),
        Lookup(A, (("a", "1"),), Constant("2")),
        Constant("a"),
    ],
)
def test_what_is_not_one_to_one_has_no_inverse(expression: ValueExpression) -> None:
    assert inverse(expression, ("n",)) is None and inverse(expression, ("a",)) is None
    assert not is_one_to_one(expression, ("a",))


@pytest.mark.parametrize(
    "expression", EXPRESSIONS, ids=lambda each: expression_in_xquery(each, lambda path: path[-1])[:60]
)
def test_an_expression_means_the_same_in_all_engines(expression: ValueExpression) -> None:
    assert expression_faults(expression) == []
    expected = in_python(expression)
    assert not is_total(expression, lambda _: True) or None not in complete(expression)
    needed = {path[-1] for path in needed_leaves(expression)}
    assert all(row[name] is not None for row, value in zip(rows(), expected, strict=True) if value for name in needed)
    for engine in (by_saxon, by_duckdb):
        found = zip(rows(), expected, engine(expression), strict=True)
        differ = [(row, python, other) for row, python, other in found if python != other]
        if engine is by_saxon:
            differ = [each for each in differ if not compares_other_zones(expression, each[0])]
        assert differ[:3] == []


@pytest.mark.parametrize("seed", range(tries(80)))
def test_functions_in_each_other_mean_the_same_in_all_engines(seed: int) -> None:
    expression = RandomExpressions(random.Random(seed)).any(3)
    test_an_expression_means_the_same_in_all_engines(expression)
