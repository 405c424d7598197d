"""The commands of the command line, one module each.

May import `mcp_server.install`, `mcp_server.services` and `mcp_server.text`.
"""
