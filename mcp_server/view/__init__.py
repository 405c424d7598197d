"""`golore view`: pages about a learned repository, for people, in a browser on this machine.

Each page answers a question; nothing is drawn whole. Pages are rendered here from the same queries that the commands
use. May import everything in `mcp_server` but `mcp_server.cli`.
"""
