"""The hook process, which an agent starts at every step.

May import `mcp_server.services` inside functions only. Loading it must not import pathlib, typing, json, re or enum.
"""
