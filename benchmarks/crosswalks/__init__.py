"""Measurements of mappings against official crosswalks: what both make of the same documents, term by term."""
