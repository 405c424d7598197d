"""Diagrams: boxes and arrows as Mermaid, DOT, SVG and HTML, with all texts escaped. Knows nothing of the graph.

May import `graph.safety`.
"""
