"""Compares golore's edges with those of Go's own type checker.

May import `graph.errors` only.
"""
