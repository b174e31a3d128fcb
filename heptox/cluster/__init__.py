"""Work at scale: auction data under ten schemas, ten queries of growing shape, and documents of any size."""

from heptox.cluster.documents import auction_document
from heptox.cluster.market import Market
from heptox.cluster.workload import MAPPINGS, QUERIES, SCHEMAS, XMARK, Edge, neighbours, paths, query

__all__ = [
    "MAPPINGS",
    "QUERIES",
    "SCHEMAS",
    "XMARK",
    "Edge",
    "Market",
    "auction_document",
    "neighbours",
    "paths",
    "query",
]
