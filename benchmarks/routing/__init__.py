"""What routing decisions take, and what they save: ``python -m benchmarks.routing``."""
