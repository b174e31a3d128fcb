"""A peer's documents and the local query engine: evaluation of the query fragment with XQuery's semantics."""

from heptox.store.allowance import VALUE_BYTES, Allowance
from heptox.store.evaluation import evaluate

__all__ = ["VALUE_BYTES", "Allowance", "evaluate"]
