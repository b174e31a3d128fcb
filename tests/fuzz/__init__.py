"""Definition 1 on as many random cases as one has time for: ``python -m tests.fuzz --help``."""
