"""The demonstration: three hospitals under three schemas, their records, and the network that answers."""

from heptox.demo.network import (
    BOSTON as BOSTON,
    HOSPITAL as HOSPITAL,
    HOSPITALS as HOSPITALS,
    MONTREAL as MONTREAL,
    QUESTIONS as QUESTIONS,
    ST_LUKE as ST_LUKE,
    Network as Network,
    Question as Question,
    network as network,
)
from heptox.demo.records import DTDS as DTDS, records as records
