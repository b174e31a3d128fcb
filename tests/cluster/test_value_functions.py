"""What the functions of values mean on Spark: what they mean in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from heptox.store import sql
from tests.pattern.test_value_functions import EXPRESSIONS, in_python, rows, statement
from tests.support.budget import usually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST: Final = usually(50, 500)


def test_all_expressions_mean_the_same_on_spark(spark: SparkSession) -> None:
    some = rows()[:MOST]
    names = list(some[0])
    table = spark.createDataFrame([tuple(row.values()) for row in some], ", ".join(f"{name} string" for name in names))
    table.coalesce(1).createOrReplaceTempView("r")
    found = spark.sql(sql.print_statement(sql.for_spark(statement(EXPRESSIONS)))).collect()
    spark.catalog.dropTempView("r")
    for place, expression in enumerate(EXPRESSIONS):
        both = zip(some, in_python(expression)[:MOST], (row[place] for row in found), strict=True)
        assert [(expression, *each) for each in both if each[1] != each[2]][:3] == []
