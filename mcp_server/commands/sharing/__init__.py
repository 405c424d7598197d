"""Commands that move a store, or what it holds, to other places: exports, snapshots, adopted stores and lakes.

May import what `mcp_server.commands` may.
"""
