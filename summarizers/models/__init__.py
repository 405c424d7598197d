"""Clients of model servers, and embeddings.

May import `graph.errors` and `graph.safety`.
"""
