"""How answers look: columns, colours, JSON, progress.

May import `graph`.
"""
