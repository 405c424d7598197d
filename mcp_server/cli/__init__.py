"""The `golore` command line: argparse declarations and error messages.

May import every package of `mcp_server`, but only imports them when a command runs.
"""
