"""`golore watch`: learns again while files change.

May import `mcp_server.services` and `mcp_server.text`.
"""
