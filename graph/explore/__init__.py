"""Explore: the source that explains something, chosen by words, names, places or a stack trace, within a budget.

May import everything in `graph` but `graph.transfer`.
"""
