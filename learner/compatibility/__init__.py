"""Compares the exported API of two states of a repository by Go's compatibility rules.

May import `learner.changes` and below.
"""
