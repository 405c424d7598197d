"""Corrections that users gave to agents, found in the agents' transcripts.

May import `mcp_server.hooks`, `mcp_server.services` and `mcp_server.text`.
"""
