"""Code shared by the command line, the MCP server and the hooks: the repository, the open store, targets, notes,
search sources, settings.

May import `mcp_server.text`, `learner`, `summarizers` and `graph`.
"""
