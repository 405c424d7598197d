"""The graph database: the engine, the store, the bulk load, the delta writer, and the copies of notes, summaries and
documents in the graph.

May import `graph.files` and below.
"""
