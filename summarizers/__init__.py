"""Summaries of code, written by models from facts of the graph and checked against it; and vectors for search."""
