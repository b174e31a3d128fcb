"""The demonstration: three hospitals under three schemas, their records, and the network that answers."""

from heptox.demo.network import BOSTON, HOSPITAL, HOSPITALS, MONTREAL, QUESTIONS, ST_LUKE, Network, Question, network
from heptox.demo.records import DTDS, records

__all__ = [
    "BOSTON",
    "DTDS",
    "HOSPITAL",
    "HOSPITALS",
    "MONTREAL",
    "QUESTIONS",
    "ST_LUKE",
    "Network",
    "Question",
    "network",
    "records",
]
