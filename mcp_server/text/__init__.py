"""The layout of answers: columns, colours, JSON, progress.

May import `graph`.
"""
