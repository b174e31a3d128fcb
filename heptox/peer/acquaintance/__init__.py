"""Acquaintances: offers and their answers, agreed mappings, links that are kept up."""
