"""Measurements of schemas that are inferred from documents."""
