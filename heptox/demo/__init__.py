"""The demonstration: three hospitals under three schemas, their records, and the network that answers."""

from heptox.demo.network import HOSPITAL, HOSPITALS, QUESTIONS, Network, Question, network
from heptox.demo.records import DTDS, records

__all__ = ["DTDS", "HOSPITAL", "HOSPITALS", "QUESTIONS", "Network", "Question", "network", "records"]
