"""Commands about a change or the whole repository: affected code, breaking changes, dead code, cycles, accuracy.

May import what `mcp_server.commands` may.
"""
