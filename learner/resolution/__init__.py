"""Facts become uses, by Go's typing rules. Pure, and mostly compiled: no store, no files.

May import `learner.project` and below.
"""
