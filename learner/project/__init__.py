"""The Go project: its modules, its packages, the code outside it, and the facts of every file.

May import `learner.extraction`, `learner.checkout` and `learner.go_rules`.
"""
