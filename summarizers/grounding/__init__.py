"""Checks a text that a model wrote: is it a summary, and does everything it names exist?

May import `graph`.
"""
