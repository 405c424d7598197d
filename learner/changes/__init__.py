"""Compares two states of a repository, such as a commit and the working tree, by the facts of their files.

May import `learner.documents` and below.
"""
