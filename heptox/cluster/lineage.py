"""How rows came about, as Spark keeps it in mind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def without_plan(frame: DataFrame) -> DataFrame:
    """The same rows, of which Spark SQL does not ask any more how they came about; what is lost is still made again.

    A frame that is made from itself again and again would be planned anew from its beginning each time, and a
    checkpoint in the memory of the cluster would not outlive a machine. Spark has this for its own use alone.
    """
    session = frame.sparkSession
    rows = frame._jdf.queryExecution().toRdd()
    plain = session._jsparkSession.internalCreateDataFrame(rows, frame._jdf.schema(), False)
    return type(frame)(plain, session)
