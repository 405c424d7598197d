"""Checks whether a text that a model wrote is a summary, and whether everything that it names exists.

May import `graph`.
"""
