"""Everything that is made from the graph after it is written: notes that follow their code, cards, the search index,
co-change.

May import `learner.documents` and below.
"""
