"""Commands that write and improve summaries and make vectors.

May import what `mcp_server.commands` may.
"""
