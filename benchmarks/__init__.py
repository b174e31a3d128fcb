"""Measurements of heptox on generated hospitals; ``make bench`` runs them."""
