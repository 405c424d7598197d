"""What each command of the command line does.

May import `mcp_server.services` and `mcp_server.text`.
"""
