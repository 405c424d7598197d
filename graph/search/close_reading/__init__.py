"""Reads a question, and the best candidates for it, more closely than an index can.

Nothing here is stored: the work is done when a question is asked, for a few dozen files.
"""
