"""What the functions of values mean on Spark: what they mean in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from heptox.pattern import Call, Lookup, ValueExpression
from heptox.pattern.value_expression import parts
from heptox.pattern.value_functions import SIGNS
from heptox.pattern.value_meaning import known_form
from heptox.store import sql
from tests.pattern.test_value_functions import EXPRESSIONS, in_python, rows, statement
from tests.support.budget import LONG, usually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST: Final = usually(50, 500)


def covering(expressions: Sequence[ValueExpression]) -> list[ValueExpression]:
    """Some of the expressions, in which all forms of functions are, of comparisons one for each type, and lookups."""
    seen: set[object] = set()
    chosen = []
    for expression in expressions:
        kinds = {_kind(part) for part in parts(expression)}
        if not kinds <= seen:
            chosen.append(expression)
            seen |= kinds
    return list(expressions) if LONG else chosen


def _kind(part: ValueExpression) -> object:
    if not isinstance(part, Call):
        return type(part), isinstance(part, Lookup) and part.other is None
    form = known_form(part)
    return "sign" if form.name in SIGNS else form.name, form.parameters


def test_all_expressions_mean_the_same_on_spark(spark: SparkSession) -> None:
    some = rows()[:MOST]
    names = list(some[0])
    table = spark.createDataFrame([tuple(row.values()) for row in some], ", ".join(f"{name} string" for name in names))
    table.coalesce(1).createOrReplaceTempView("r")
    expressions = covering(EXPRESSIONS)
    found = spark.sql(sql.print_statement(sql.for_spark(statement(expressions)))).collect()
    spark.catalog.dropTempView("r")
    for place, expression in enumerate(expressions):
        both = zip(some, in_python(expression)[:MOST], (row[place] for row in found), strict=True)
        assert [(expression, *each) for each in both if each[1] != each[2]][:3] == []
