"""``python -m heptox`` is the command ``heptox``."""

from heptox.cli import main

if __name__ == "__main__":
    main()
