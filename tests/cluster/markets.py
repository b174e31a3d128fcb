"""Documents that executors make; what they load for it is little."""

from __future__ import annotations

from heptox.cluster import auction_document


def market(schema: str, doc: int) -> str:
    """A document of 3 to 10 people."""
    return "".join(auction_document(schema, people=3 + doc % 8, seed=doc))


def one_is_large(doc: int) -> str:
    """A document; number 1 is one of some 400 KB."""
    return "".join(auction_document("auction", people=250 if doc == 1 else 3, seed=doc))
