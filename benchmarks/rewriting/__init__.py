"""What rewriting takes: ``python -m benchmarks.rewriting.streaming``."""
