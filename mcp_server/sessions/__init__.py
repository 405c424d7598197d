"""Finds corrections that users gave to agents, in the agents' transcripts.

May import `mcp_server.hooks`, `mcp_server.services` and `mcp_server.text`.
"""
