"""Protects the user from what a repository contains: whose store it is, which files are read, which programs run, and
which characters and secrets are let through.

May import `graph.errors` and `graph.phrases`. `system`, `regular_file`, `state_directory`, `git_index`, `trust`,
`child_processes` and `visible_text` run in the hook process.
"""
