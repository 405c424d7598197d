"""golore's entries in the configuration files of agents.

May import `mcp_server.hooks`, `mcp_server.services` and `mcp_server.text`.
"""
