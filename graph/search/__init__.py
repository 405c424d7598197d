"""The search index and the ranking of results.

May import `graph.knowledge` and below, but not `graph.cards`. `terms` and `prompt_recall` run in the hook process.
"""
