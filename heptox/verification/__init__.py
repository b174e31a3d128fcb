"""Definition 1, tested on random documents and queries, and what a mapping does to real ones."""

from heptox.verification.documents import side_of
from heptox.verification.laws import Law, served
from heptox.verification.random_queries import Vocabulary, random_query
from heptox.verification.remarks import Remark, random_documents, remarks
from heptox.verification.round_trips import LossyDocument
from heptox.verification.verifying import Counterexample, RoundTrip, Verification, verify

__all__ = [
    "Counterexample",
    "Law",
    "LossyDocument",
    "Remark",
    "RoundTrip",
    "Verification",
    "Vocabulary",
    "random_documents",
    "random_query",
    "remarks",
    "served",
    "side_of",
    "verify",
]
