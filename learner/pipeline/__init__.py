"""`learn`: the order of its steps, the workers, the rows of the graph, and incremental learning.

May import `learner.resolution` and below.
"""
