"""Adds golore's entries to the configuration files of agents, and removes them.

May import `mcp_server.hooks`, `mcp_server.services` and `mcp_server.text`.
"""
