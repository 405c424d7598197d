"""Notes, ratings, documents and summaries, and the detection of stale summaries.

May import `graph.history` and below.
"""
