"""The store directory (`.golore/`): paths, locks, the manifest, `cache.db`, `knowledge.db`, and the atomic
replacement of a store. Does not use the graph engine.

May import `graph.model`.
"""
