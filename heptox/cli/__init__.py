"""The command line: commands parse, call and print, nothing else (``architecture.md``, "Command line")."""

from heptox.cli.application import main

__all__ = ["main"]
