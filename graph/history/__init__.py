"""What git history says about files: which change together (`CHANGES_WITH`), and the newest commits.

May import `graph.queries` and below.
"""
