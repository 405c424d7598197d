"""Whole stores in and out: export, import, snapshots, and the difference between two graphs.

May import everything in `graph`.
"""
