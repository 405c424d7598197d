"""The vocabulary of the graph: its nodes and edges, their tables, and deltas between two states. Performs no I/O.

May import `graph.errors`.
"""
