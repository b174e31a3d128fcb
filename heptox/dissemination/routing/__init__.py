"""Routing: which neighbour needs a subscription or a document (``routing.md``).

Here are the decisions, without I/O: what is advertised, whether a subscription overlaps it, and whether one
subscription covers another.
"""
