"""From files to the graph: the order of the steps, the workers, the rows of the graph, and incremental learning.

May import `learner.resolution` and below.
"""
