"""Work at scale: auction data under ten schemas, ten queries of growing shape, emulated networks, sessions of Spark.

What needs Spark, Arrow or matplotlib is loaded when it is first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from heptox.cluster.documents import auction_document
from heptox.cluster.outcome import Outcome
from heptox.cluster.plan import TOPOLOGIES, Plan, planned, read_plan
from heptox.cluster.workload import MAPPINGS, QUERIES, SCHEMAS, XMARK, Edge, neighbours, paths, query
from heptox.doors import later

if TYPE_CHECKING:
    from heptox.cluster.exchange import ExchangeSummary, check_folders, exchange_folder, exchanged
    from heptox.cluster.experiments import EXPERIMENTS, Experiment, experiment_text, write_experiment
    from heptox.cluster.faults import spark_faults
    from heptox.cluster.filtering import FilteredText, SparkEvaluating, filter_feed, filter_texts
    from heptox.cluster.matching import SubscriptionTables
    from heptox.cluster.network import Network, make_network
    from heptox.cluster.relations import Collection
    from heptox.cluster.report import make_report_folder, report_text, report_value, times_value, write_report
    from heptox.cluster.rewriting import match_in_words
    from heptox.cluster.running import emulate, prepare
    from heptox.cluster.session import BULK, spark_session
    from heptox.cluster.shipping import executor_code
    from heptox.cluster.tables import print_outcome

__all__ = [
    "BULK",
    "EXPERIMENTS",
    "MAPPINGS",
    "QUERIES",
    "SCHEMAS",
    "TOPOLOGIES",
    "XMARK",
    "Collection",
    "Edge",
    "ExchangeSummary",
    "Experiment",
    "FilteredText",
    "Network",
    "Outcome",
    "Plan",
    "SparkEvaluating",
    "SubscriptionTables",
    "auction_document",
    "check_folders",
    "emulate",
    "exchange_folder",
    "exchanged",
    "executor_code",
    "experiment_text",
    "filter_feed",
    "filter_texts",
    "make_network",
    "make_report_folder",
    "match_in_words",
    "neighbours",
    "paths",
    "planned",
    "prepare",
    "print_outcome",
    "query",
    "read_plan",
    "report_text",
    "report_value",
    "spark_faults",
    "spark_session",
    "times_value",
    "write_experiment",
    "write_report",
]

__getattr__ = later(
    __name__,
    {
        "exchange": ("ExchangeSummary", "check_folders", "exchange_folder", "exchanged"),
        "experiments": ("EXPERIMENTS", "Experiment", "experiment_text", "write_experiment"),
        "faults": ("spark_faults",),
        "filtering": ("FilteredText", "SparkEvaluating", "filter_feed", "filter_texts"),
        "matching": ("SubscriptionTables",),
        "network": ("Network", "make_network"),
        "relations": ("Collection",),
        "report": ("make_report_folder", "report_text", "report_value", "times_value", "write_report"),
        "rewriting": ("match_in_words",),
        "running": ("emulate", "prepare"),
        "session": ("BULK", "spark_session"),
        "shipping": ("executor_code",),
        "tables": ("print_outcome",),
    },
)
