"""Export, import and snapshots of whole stores, and the differences between two graphs.

May import everything in `graph`.
"""
