"""What the project's targets run: set-up, and the generated pages of ``docs/``."""
