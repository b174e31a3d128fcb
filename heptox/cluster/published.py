"""The figures of section 5 of the report of 2005, as data: on 30 machines of Emulab, with Java, FreePastry and QIZX.

Times are milliseconds. The networks had up to 128 peers with at least 4 acquaintances each, links of 70 ms, and schemas
made from XMark's: ten, or as many as a column says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class PublishedQuery:
    """A line of Table 1: average and maximum translation time (ms), and the average semantic path length (hops)."""

    average: float
    maximum: float
    path_length: float


TABLE_1: Final[dict[str, PublishedQuery]] = {
    "Q1": PublishedQuery(1180.02, 2714, 2.38),
    "Q2": PublishedQuery(749.06, 1581, 2.93),
    "Q3": PublishedQuery(2057.57, 4480, 2.97),
    "Q4": PublishedQuery(2236.26, 4566, 2.4),
    "Q5": PublishedQuery(1749.56, 3637, 2.63),
    "Q6": PublishedQuery(2054.27, 4246, 2.98),
    "Q7": PublishedQuery(2299.3, 4651, 2.42),
    "Q8": PublishedQuery(1379.53, 3013, 2.41),
    "Q9": PublishedQuery(2472.03, 4996, 2.87),
    "Q10": PublishedQuery(3172.41, 7069, 2.92),
}

TABLE_2_SCHEMAS: Final = (2, 3, 4, 5, 6, 7, 8, 9, 10)
TABLE_2: Final[dict[str, tuple[int, ...]]] = {
    "Q1": (193, 397, 595, 779, 998, 1142, 1133, 1194, 1274),
    "Q2": (126, 231, 377, 505, 680, 844, 834, 872, 944),
    "Q3": (249, 548, 899, 1187, 1543, 1788, 1808, 1909, 2075),
    "Q4": (276, 576, 947, 1261, 1629, 1907, 1945, 2036, 2155),
    "Q5": (211, 460, 761, 1027, 1331, 1557, 1570, 1651, 1773),
    "Q6": (327, 642, 1064, 1381, 1795, 2074, 2096, 2209, 2328),
    "Q7": (333, 658, 1108, 1437, 1869, 2189, 2209, 2324, 2441),
    "Q8": (212, 430, 705, 911, 1186, 1376, 1495, 1471, 1593),
    "Q9": (308, 657, 1078, 1440, 1855, 2179, 2215, 2340, 2562),
    "Q10": (546, 973, 1513, 1977, 2545, 2975, 2948, 3170, 3275),
}
"""Table 2: the average translation time of each query, by the number of different schemas (the columns above)."""

CUT_OFF: Final = frozenset({"Q7", "Q9", "Q10"})
"""The queries of Figure 12 (top) that never completed there, and timed out."""
