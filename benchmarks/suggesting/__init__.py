"""Suggested arrows beside those that people drew."""
