"""The tools of the MCP server, one module each: its parameters, its description and what it does."""
