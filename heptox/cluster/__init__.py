"""Work at scale: auction data under ten schemas, ten queries of growing shape, emulated networks, sessions of Spark.

What needs Spark, Arrow or matplotlib is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.cluster.documents import auction_document as auction_document
from heptox.cluster.outcome import Outcome as Outcome
from heptox.cluster.plan import TOPOLOGIES as TOPOLOGIES, Plan as Plan, planned as planned, read_plan as read_plan
from heptox.cluster.workload import (
    MAPPINGS as MAPPINGS,
    QUERIES as QUERIES,
    SCHEMAS as SCHEMAS,
    XMARK as XMARK,
    Edge as Edge,
    neighbours as neighbours,
    paths as paths,
    query as query,
)
from heptox.doors import later

if TYPE_CHECKING:
    from heptox.cluster.exchange import (
        ExchangeSummary as ExchangeSummary,
        check_folders as check_folders,
        exchange_folder as exchange_folder,
    )
    from heptox.cluster.experiments import (
        EXPERIMENTS as EXPERIMENTS,
        Experiment as Experiment,
        experiment_text as experiment_text,
        write_experiment as write_experiment,
    )
    from heptox.cluster.faults import spark_faults as spark_faults
    from heptox.cluster.filtering import (
        FilteredText as FilteredText,
        SparkEvaluating as SparkEvaluating,
        filter_feed as filter_feed,
        filter_texts as filter_texts,
    )
    from heptox.cluster.matching import SubscriptionTables as SubscriptionTables
    from heptox.cluster.network import make_network as make_network
    from heptox.cluster.report import (
        make_report_folder as make_report_folder,
        report_text as report_text,
        report_value as report_value,
        times_value as times_value,
        write_report as write_report,
    )
    from heptox.cluster.rewriting import match_in_words as match_in_words
    from heptox.cluster.running import emulate as emulate, prepare as prepare
    from heptox.cluster.session import BULK as BULK, spark_session as spark_session
    from heptox.cluster.shipping import executor_code as executor_code
    from heptox.cluster.tables import print_outcome as print_outcome


__getattr__ = later(__name__)
