"""Analyses of the whole graph: import and directory cycles, and code that nothing reaches.

May import `graph.queries` and below.
"""
