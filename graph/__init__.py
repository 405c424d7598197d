"""The knowledge graph: its data model, its storage, and the queries, searches and cards derived from it.

Imports no other top-level package of golore.
"""
