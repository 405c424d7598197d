"""The bytes of one file become facts. Pure, and mostly compiled.

May import `learner.go_rules`. Only `parser` may import tree-sitter.
"""
