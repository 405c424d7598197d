"""The hook process, which starts for every step of an agent.

May import `mcp_server.services` inside functions only. Imports no pathlib, typing, json, re or enum when it is loaded.
"""
