"""Summaries of code, written by models from the graph's facts and checked against it; and vectors for search."""
