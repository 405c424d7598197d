"""What people and models wrote: notes, ratings, documents, summaries, and when a summary is stale.

May import `graph.history` and below.
"""
