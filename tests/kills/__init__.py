"""Kills of a peer under load, which loses nothing that it has acknowledged: ``python -m tests.kills --help``."""
