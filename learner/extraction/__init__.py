"""Turns the bytes of one Go file into facts. Pure functions, mostly compiled with mypyc.

May import `learner.go_rules`. Only `parser` may import tree-sitter.
"""
