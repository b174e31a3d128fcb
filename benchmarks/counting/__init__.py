"""Counts and sums over very many hospitals, against one that has all of it."""
