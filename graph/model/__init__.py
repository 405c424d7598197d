"""The data model of the graph: nodes, edges, their tables, and deltas between two states. Performs no I/O.

May import `graph.errors`.
"""
