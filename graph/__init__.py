"""The knowledge graph: its vocabulary, its store, and the questions it answers.

Imports nothing else of golore; every other room builds on this one.
"""
