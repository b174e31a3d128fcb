"""Times of peers that ask each other over libp2p on one machine: ``python -m benchmarks.network``."""
