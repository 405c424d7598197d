"""Reading the graph: names, single edges, questions, impact and path, and the facts around one file.

May import `graph.database` and below.
"""
