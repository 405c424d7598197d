"""The Go project: its modules, its packages, the external packages it imports, and the facts of every file.

May import `learner.extraction`, `learner.checkout` and `learner.go_rules`.
"""
