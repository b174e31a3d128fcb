"""Routing measured."""
