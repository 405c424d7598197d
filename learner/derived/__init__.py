"""The steps after the graph is written: notes that follow their code, cards, the search index and co-change.

May import `learner.documents` and below.
"""
