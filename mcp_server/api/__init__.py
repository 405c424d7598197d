"""The Python API behind `import golore`: repositories that answer from the graph, as objects of Python.

A thin layer over `services` and `graph`, beside the command line and the MCP server. `public/` has the public names.
"""
