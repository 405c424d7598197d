"""The `golore` command line: argparse declarations and error messages.

May import every package of `mcp_server`, and does so when a command runs.
"""
