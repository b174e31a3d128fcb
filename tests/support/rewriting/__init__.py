"""Random cases of rewriting, and their judges."""
