"""Names: which symbol a text means, which names are similar, and how a text shows a symbol.

May import the modules of `graph.queries`, and `graph.database` and below.
"""
