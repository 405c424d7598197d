"""The MCP server. `tools` has one module for each tool.

May import `mcp_server.services` and `mcp_server.text`.
"""
