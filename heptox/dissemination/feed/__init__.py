"""Feeds: documents come to the peers that have subscribed to them, from broker to broker (``routing.md``).

Every peer is a broker. What it does about subscriptions, routes and documents is decided here, without I/O.
"""
