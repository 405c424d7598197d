"""One checkout on disk: its files, ignore rules, `.git`, log and blame, and the changes since the last learn.

May import `learner.go_rules`.
"""
