"""Resolves the uses in facts by Go's typing rules. Pure, mostly compiled with mypyc: no store, no source files.

May import `learner.project` and below.
"""
