"""The `golore` command's first module: a hook goes a short way of its own, everything else goes to `cli`.

An agent waits for its hook at every step, so nothing may be imported here that a hook does not need.
"""

import os
import sys


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        from golore.mcp_server.hooks.hook import run_hook

        # A wrong call must not fail either: some agents take a failing hook for a veto. Leaving at once spares the
        # agent Python's clearing up, which takes as long as reading the card.
        os._exit(run_hook(arguments[1] if len(arguments) > 1 else ""))
    from golore.mcp_server.cli.main import main as run

    return run()
