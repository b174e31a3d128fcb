"""Definition 1, tested on random documents and queries, and what a mapping does to real ones."""

from heptox.verification.coverage import Coverage as Coverage
from heptox.verification.documents import side_of as side_of
from heptox.verification.images import Images as Images
from heptox.verification.laws import Law as Law, served as served
from heptox.verification.random_queries import Vocabulary as Vocabulary, random_query as random_query
from heptox.verification.remarks import (
    Remark as Remark,
    checked as checked,
    random_documents as random_documents,
    remarks as remarks,
)
from heptox.verification.round_trips import LossyDocument as LossyDocument
from heptox.verification.verifying import (
    Counterexample as Counterexample,
    RoundTrip as RoundTrip,
    Verification as Verification,
    verify as verify,
)
