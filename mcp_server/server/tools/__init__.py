"""The tools of the MCP server: one module for each, with its parameters, its description and its code."""
