"""Statements of SQL as trees, printed in a form that DuckDB and Spark both run.

Names are generated and never quoted. Strings are spelled without backslashes, which Spark takes as escapes, and without
``${``, which it takes for the name of a setting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Final, TypeAlias, TypeVar

from heptox.pattern import OPERATORS, Operator


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a source, by the source's alias."""

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class String:
    """A string; ``None`` is no string, of the type of strings."""

    value: str | None


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer; ``None`` is none, of the type of node numbers."""

    value: int | None


@dataclass(frozen=True, slots=True)
class Double:
    """A number as ``xs:double``."""

    value: float


@dataclass(frozen=True, slots=True)
class Coalesce:
    """The first value that is not null."""

    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A function of values; an aggregate, where a select groups its rows.

    >>> rows = (Source("r1", "a"),)
    >>> least = Named(Call("min", (Column("a", "node"),)), "first")
    >>> print(print_statement(Statement((Select((least,), rows, TRUE, group=(Column("a", "c0"),)),))))
    SELECT min(a.node) AS first
    FROM r1 AS a
    GROUP BY a.c0
    """

    function: str
    arguments: tuple[Expression | Condition, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A text with ``{0}``, ``{1}`` for arguments, which is another one for Spark where ``spark`` says so.

    >>> whole = Template("ends_with({0}, {1})", (String("ab"), String("b")), "endswith({0}, {1})")
    >>> for each in (whole, for_spark(whole)):
    ...     print(print_statement(Statement((Select((each,), (), TRUE),))))
    SELECT ends_with('ab', 'b') AS k0
    SELECT endswith('ab', 'b') AS k0
    """

    text: str
    arguments: tuple[Expression | Condition, ...]
    spark: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One value where the condition holds, and the other one, or null, where it does not."""

    condition: Condition
    value: Expression
    otherwise: Expression | None = None


@dataclass(frozen=True, slots=True)
class RowNumber:
    """The number of a row, from 1 on, in the order of some values."""

    order: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class JoinedStrings:
    """The strings that rows of the sources have, in an order, with a separator between; null where there are none.

    >>> found = JoinedStrings(Column("a", "c0"), String(", "), Column("a", "node"), (Source("r1", "a"),), TRUE)
    >>> print(print_statement(Statement((Select((found,), (), TRUE),))))
    SELECT (SELECT string_agg(a.c0, ', ' ORDER BY a.node) FROM r1 AS a WHERE TRUE) AS k0
    """

    value: Expression
    separator: String
    order: Expression
    sources: tuple[Source, ...]
    where: Condition


@dataclass(frozen=True, slots=True)
class AsDouble:
    """The ``xs:double`` that a string stands for, none where it stands for none. ``NaN`` counts as none."""

    value: Expression


@dataclass(frozen=True, slots=True)
class IsNaN:
    """A string stands for no number, by its name: ``NaN``."""

    value: Expression


@dataclass(frozen=True, slots=True)
class Compare:
    """Neither side may be null for it to hold."""

    operator: Operator
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Same:
    """Both sides are equal, or both null."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class OneOf:
    """A column of integers has one of some values, in order."""

    column: Column
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NotNull:
    value: Expression


@dataclass(frozen=True, slots=True)
class All:
    """All conditions hold; without conditions it is true."""

    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Some:
    """Some condition holds; without conditions it is false."""

    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Fails:
    """The condition does not hold: it is false, or unknown."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Exists:
    """Some rows of the sources meet the condition."""

    sources: tuple[Source, ...]
    where: Condition


@dataclass(frozen=True, slots=True)
class Among:
    """A value is one of those in a column of another table, which is planned faster than that they exist."""

    value: Expression
    column: Column
    source: Source


@dataclass(frozen=True, slots=True)
class Source:
    table: str
    alias: str


@dataclass(frozen=True, slots=True)
class DerivedTable:
    """The rows of a statement as a source."""

    statement: Statement
    alias: str


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """A source whose columns are null where none of its rows meets the condition.

    >>> names = DerivedTable(Statement((Select((Column("a", "c0"),), (Source("r1", "a"),), TRUE, distinct=True),)), "n")
    >>> join = LeftJoin(names, Compare("=", Column("n", "k0"), Column("b", "c1")))
    >>> value = Coalesce((Column("n", "k0"), String("")))
    >>> print(print_statement(Statement((Select((value,), (Source("r2", "b"),), TRUE, (join,)),))))
    SELECT coalesce(n.k0, '') AS k0
    FROM r2 AS b
    LEFT JOIN (SELECT DISTINCT a.c0 AS k0
    FROM r1 AS a) AS n ON n.k0 = b.c1
    """

    source: Source | DerivedTable
    on: Condition


@dataclass(frozen=True, slots=True)
class Named:
    """A column of a select, by a name of its own."""

    value: Expression | Condition
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """Rows of columns ``k0``, ``k1``, ..., one for each expression without a name; of equal rows one where they are
    ``distinct``, and one for each group of rows that have the values ``group``.
    """

    columns: tuple[Expression | Named, ...]
    sources: tuple[Source | DerivedTable, ...]
    where: Condition
    joins: tuple[LeftJoin, ...] = ()
    distinct: bool = False
    group: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """A column of the result to order by, by its place; nulls are least."""

    place: int
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """The rows of all selects, which have columns of the same types, in order."""

    selects: tuple[Select, ...]
    order: tuple[Key, ...] = ()


Expression: TypeAlias = (
    Column | String | Integer | Double | Coalesce | Call | Template | Case | RowNumber | JoinedStrings | AsDouble
)
Condition: TypeAlias = (
    Column | Call | Template | Compare | IsNaN | Same | OneOf | NotNull | All | Some | Fails | Exists | Among
)

TRUE: Final = All()

_BY_CODE: Final = ("\\", "\x00", "$")
_ARGUMENT: Final = re.compile(r"\{(\d+)\}")
_NAN: Final = "^[ \t\n\r]*(NaN)[ \t\n\r]*$"
_NUMBER: Final = "^[ \t\n\r]*([+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?INF)[ \t\n\r]*$"


def subqueries(select: Select) -> int:
    """How many subqueries the condition of a select has, those in others included.

    >>> inner = Exists((Source("r1", "a"),), TRUE)
    >>> subqueries(Select((), (), Some((inner, Fails(Exists((Source("r2", "b"),), inner))))))
    3
    """
    return sum(isinstance(part, Exists) for part in _parts(select.where))


def used_columns(statement: Statement) -> dict[str, frozenset[str]]:
    """The tables of a statement without derived tables, in which no alias stands for two tables, and the columns that
    it uses of each.

    >>> select = Select((Column("a", "node"),), (Source("r1", "a"),), Compare("=", Column("a", "c0"), String("x")))
    >>> {table: sorted(columns) for table, columns in used_columns(Statement((select,))).items()}
    {'r1': ['c0', 'node']}
    """
    parts = list(_parts(statement))
    tables = {part.alias: part.table for part in parts if isinstance(part, Source)}
    columns = {part for part in parts if isinstance(part, Column)}
    used: dict[str, set[str]] = {table: set() for table in tables.values()}
    for column in columns:
        used[tables[column.source]].add(column.name)
    return {table: frozenset(names) for table, names in used.items()}


def looks_far(statement: Statement) -> bool:
    """Whether a subquery uses a column of a select that is not the one right around it, which Spark cannot run.

    >>> inner = Exists((Source("r2", "b"),), Compare("=", Column("b", "c0"), Column("a", "c0")))
    >>> between = Exists((Source("r3", "c"),), inner)
    >>> [looks_far(Statement((Select((), (Source("r1", "a"),), each),))) for each in (inner, between)]
    [False, True]
    """
    return any(_looks_far(select, frozenset(), frozenset()) for select in statement.selects)


def _looks_far(part: object, own: frozenset[str], around: frozenset[str]) -> bool:
    if isinstance(part, tuple):
        return any(_looks_far(each, own, around) for each in part)
    if isinstance(part, Column):
        return part.source not in own | around
    if not is_dataclass(part):
        return False
    if isinstance(part, (Select, Exists, JoinedStrings, Among)):
        own, around = frozenset(_aliases(part)), own
    return any(_looks_far(getattr(part, each.name), own, around) for each in fields(part))


def _aliases(part: Select | Exists | JoinedStrings | Among) -> Iterator[str]:
    """What a select or subquery calls its sources."""
    match part:
        case Among(source=source):
            yield source.alias
        case Select(sources=sources, joins=joins):
            yield from (each.alias for each in (*sources, *(join.source for join in joins)))
        case Exists(sources=sources) | JoinedStrings(sources=sources):
            yield from (each.alias for each in sources)


def _parts(whole: object) -> Iterator[object]:
    """All parts of a statement, or of a part of one."""
    waiting = [whole]
    while waiting:
        part = waiting.pop()
        if isinstance(part, tuple):
            waiting.extend(part)
        elif is_dataclass(part):
            yield part
            waiting.extend(getattr(part, each.name) for each in fields(part))


_Part = TypeVar("_Part")


def renamed(part: _Part, tables: Mapping[str, str]) -> _Part:
    """A statement, or a part of one, over other tables: those that have another name in ``tables``.

    >>> renamed(Source("r1", "a"), {"r1": "people"})
    Source(table='people', alias='a')
    """
    return _replaced(part, lambda each: _other_table(each, tables))


def _other_table(part: object, tables: Mapping[str, str]) -> object:
    return replace(part, table=tables.get(part.table, part.table)) if isinstance(part, Source) else part


def for_spark(part: _Part) -> _Part:
    """A statement, or a part of one, as Spark runs it."""
    return _replaced(part, _spark_template)


def _spark_template(part: object) -> object:
    return replace(part, text=part.spark or part.text, spark=None) if isinstance(part, Template) else part


def _replaced(part: _Part, change: Callable[[object], object]) -> _Part:
    """A statement, or a part of one, of which each part has been changed, the inner ones first."""
    if isinstance(part, tuple):
        return type(part)(_replaced(each, change) for each in part)
    if is_dataclass(part) and not isinstance(part, type):
        inner = {each.name: _replaced(getattr(part, each.name), change) for each in fields(part)}
        part = replace(part, **inner)
    return change(part)  # type: ignore[return-value]


def print_statement(statement: Statement) -> str:
    """The statement as text.

    >>> select = Select((Column("a", "node"),), (Source("r1", "a"),), Compare("=", Column("a", "c0"), String("it's")))
    >>> print(print_statement(Statement((select,), (Key(0),))))
    SELECT a.node AS k0
    FROM r1 AS a
    WHERE a.c0 = 'it''s'
    ORDER BY k0 NULLS FIRST
    """
    texts = [_select(select) for select in statement.selects]
    whole = texts[0] if len(texts) == 1 else "SELECT * FROM (\n" + "\nUNION ALL\n".join(texts) + "\n) AS u"
    if not statement.order:
        return whole
    return f"{whole}\nORDER BY {print_keys(statement.order)}"


def print_table(table: str, statement: Statement) -> str:
    """The text that keeps the rows of a statement as a temporary table.

    >>> print_table("t", Statement((Select((Integer(1),), (), TRUE),)))
    'CREATE TEMP TABLE t AS SELECT CAST(1 AS BIGINT) AS k0'
    """
    return f"CREATE TEMP TABLE {table} AS {print_statement(statement)}"


def print_keys(keys: tuple[Key, ...]) -> str:
    """What stands after ``ORDER BY``."""
    return ", ".join(map(_key, keys))


def _key(key: Key) -> str:
    return f"k{key.place} DESC NULLS LAST" if key.descending else f"k{key.place} NULLS FIRST"


def _select(select: Select) -> str:
    columns = ", ".join(_named(column, f"k{place}") for place, column in enumerate(select.columns))
    where = "" if select.where == TRUE else f"\nWHERE {_top(select.where)}"
    source = f"\nFROM {_sources(select.sources)}" if select.sources else ""
    joins = "".join(f"\nLEFT JOIN {_source(join.source)} ON {_condition(join.on)}" for join in select.joins)
    group = f"\nGROUP BY {', '.join(map(_expression, select.group))}" if select.group else ""
    return f"SELECT {'DISTINCT ' if select.distinct else ''}{columns}{source}{joins}{where}{group}"


def _named(column: Expression | Named, name: str) -> str:
    return f"{_value(column.value)} AS {column.name}" if isinstance(column, Named) else f"{_value(column)} AS {name}"


def _sources(sources: tuple[Source | DerivedTable, ...]) -> str:
    return ", ".join(map(_source, sources))


def _source(source: Source | DerivedTable) -> str:
    if isinstance(source, DerivedTable):
        return f"({print_statement(source.statement)}) AS {source.alias}"
    return f"{source.table} AS {source.alias}"


def _value(value: Expression | Condition) -> str:
    return _expression(value) if isinstance(value, Expression) else _condition(value)


def _expression(expression: Expression) -> str:
    match expression:
        case Column(source, name):
            return f"{source}.{name}"
        case String(text):
            return "CAST(NULL AS STRING)" if text is None else print_string(text)
        case Integer(number):
            return f"CAST({'NULL' if number is None else number} AS BIGINT)"
        case Double(value):
            return f"CAST('{value!r}' AS DOUBLE)"
        case Coalesce(values):
            return f"coalesce({', '.join(map(_expression, values))})"
        case Call(function, values):
            return f"{function}({', '.join(map(_value, values))})"
        case Template(text, values):
            return _ARGUMENT.sub(lambda found: _value(values[int(found[1])]), text)
        case Case(condition, value, otherwise):
            other = "" if otherwise is None else f" ELSE {_expression(otherwise)}"
            return f"CASE WHEN {_condition(condition)} THEN {_expression(value)}{other} END"
        case RowNumber(order):
            return f"row_number() OVER (ORDER BY {', '.join(map(_expression, order))})"
        case JoinedStrings(value, separator, order, sources, where):
            joined = f"string_agg({_expression(value)}, {_expression(separator)} ORDER BY {_expression(order)})"
            return f"(SELECT {joined} FROM {_sources(sources)} WHERE {_condition(where)})"
        case AsDouble(value):
            return f"TRY_CAST(regexp_extract({_expression(value)}, {print_string(_NUMBER)}, 1) AS DOUBLE)"


def print_string(value: str) -> str:
    """A string literal; backslashes, which engines read differently, are named by their code.

    >>> print_string("it's ${x}")
    "concat('it''s ', chr(36), '{x}')"
    """
    parts = [part for part in re.split(r"([\\\x00]|\$(?={))", value) if part]
    texts = [f"chr({ord(part)})" if part in _BY_CODE else "'" + part.replace("'", "''") + "'" for part in parts]
    return "''" if not texts else texts[0] if len(texts) == 1 else f"concat({', '.join(texts)})"


def _top(condition: Condition) -> str:
    """A condition on lines of its own."""
    if isinstance(condition, All) and condition.conditions:
        return "\n  AND ".join(map(_condition, condition.conditions))
    return _condition(condition)


def _condition(condition: Condition) -> str:
    match condition:
        case Column() | Call() | Template():
            return _expression(condition)
        case Compare(operator, left, right):
            return OPERATORS[operator].sql.format(left=_expression(left), right=_expression(right))
        case IsNaN(value):
            return f"regexp_extract({_expression(value)}, {print_string(_NAN)}, 1) = 'NaN'"
        case Same(left, right):
            return f"{_expression(left)} IS NOT DISTINCT FROM {_expression(right)}"
        case OneOf(column, (value,)):
            return f"{_expression(column)} = {value}"
        case OneOf(column, values):
            return f"{_expression(column)} IN ({', '.join(map(str, values))})"
        case NotNull(value):
            return f"{_expression(value)} IS NOT NULL"
        case All(()):
            return "TRUE"
        case Some(()):
            return "FALSE"
        case All(conditions):
            return "(" + " AND ".join(map(_condition, conditions)) + ")"
        case Some(conditions):
            return "(" + " OR ".join(map(_condition, conditions)) + ")"
        case Fails(inner):
            return f"coalesce(NOT ({_condition(inner)}), TRUE)"
        case Exists(sources, where):
            return f"EXISTS (SELECT 1 FROM {_sources(sources)} WHERE {_condition(where)})"
        case Among(value, column, source):
            return f"{_expression(value)} IN (SELECT {_expression(column)} FROM {_source(source)})"
