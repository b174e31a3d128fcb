"""Times and sizes of the store beside other engines: ``python -m benchmarks.store``."""
