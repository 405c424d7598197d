"""Summaries of code, written by models from the graph's facts. Empty so far."""
