"""What the functions of values mean on Spark: what they mean in Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from heptox.pattern import Call, Constant, Leaf, ValueExpression
from heptox.pattern.value_expression import parts
from heptox.pattern.value_typing import form_of_call
from heptox.store import sql
from tests.pattern.test_value_functions import EXPRESSIONS, in_python, rows, statement
from tests.support.budget import LONG, usually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST: Final = usually(50, 500)


def covering(expressions: Sequence[ValueExpression]) -> list[ValueExpression]:
    """Some of the expressions, in which all forms of functions are, and all lookups."""
    seen: set[int] = set()
    chosen = []
    for expression in expressions:
        forms = {id(form_of_call(part)) if isinstance(part, Call) else id(part) for part in parts(expression)}
        leaves = {id(part) for part in parts(expression) if isinstance(part, Leaf | Constant)}
        if not forms - leaves <= seen:
            chosen.append(expression)
            seen |= forms
    return list(expressions) if LONG else chosen


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
