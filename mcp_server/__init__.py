"""What people and agents touch: the command line, hooks, the MCP server, `watch`, and the installer for agents."""
