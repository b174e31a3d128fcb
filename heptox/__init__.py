"""heptox: peers that hold XML under different schemas answer one query, each in its own data, in the asker's words."""

from typing import Final

__version__: Final = "0.1.0"
