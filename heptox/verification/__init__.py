"""Definition 1, tested on random documents and queries: for administrators, and for rules that were edited by hand."""

from heptox.verification.random_queries import Vocabulary, random_query
from heptox.verification.verifying import Counterexample, Law, Verification, verify

__all__ = [
    "Counterexample",
    "Law",
    "Verification",
    "Vocabulary",
    "random_query",
    "verify",
]
