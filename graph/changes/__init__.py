"""A change of the repository: the declarations that differ between two states, what they reach, and the tests to run.

May import `graph.knowledge` and below.
"""
