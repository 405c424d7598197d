"""Pictures as SVG: the neighbours of a symbol, layers of directories, and a treemap. Works on plain values alone.

May import nothing else of golore.
"""
