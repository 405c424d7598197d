"""Entry point of the `golore` command: runs a hook directly, and hands every other command to `cli`.

An agent waits for its hook at every step, so nothing may be imported here that a hook does not need.
"""

import gc
import os
import sys

QUESTIONS = frozenset(("show", "callers", "callees", "implementers", "users", "tests", "path", "impact", "context"))
"""Commands that answer from the graph and do nothing else."""
SEARCHES = frozenset(("search", "explore", "status", "recent", "query"))
"""Commands that answer from other files of the store too, so that the limit of memory does not fit them."""

_MANY_OBJECTS = 50_000
"""New objects after which Python looks for cycles: with its own 700, imports took 7 to 11 % longer."""


def main() -> int:
    arguments = sys.argv[1:]
    is_hook = arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments)
    if not is_hook or "PYTHONPATH" in os.environ or sys.path[:1] == [""]:
        from golore.graph.safety.child_processes import guard_imports

        guard_imports()
    if is_hook:
        from golore.mcp_server.hooks.hook import run_hook

        # Wrong arguments must not fail either: some agents treat a failing hook as a veto. `_exit` skips Python's
        # shutdown, which takes as long as reading the card.
        os._exit(run_hook(arguments[1] if len(arguments) > 1 else ""))
    if arguments[:2] == ["completion", "names"]:
        from golore.mcp_server.cli.completion import names_from
        from golore.mcp_server.text.output import print_lines

        names = names_from(os.curdir, arguments[2] if len(arguments) > 2 else "")
        if names:
            print_lines(names)
        return 0

    command = arguments[0] if arguments else ""
    if command not in QUESTIONS | SEARCHES | {"learn"}:
        gc.set_threshold(_MANY_OBJECTS)
        from golore.mcp_server.cli.main import main as run_cli

        try:
            return run_cli()
        finally:
            gc.freeze()  # at its end, Python looks for cycles among all objects
    # What a question or a learn makes lives until its end. Looking for cycles and taking the interpreter apart took a
    # seventh of the time of a question, and 60 ms after a learn.
    gc.disable()
    from golore.mcp_server.cli.main import main as run_cli

    if command not in ("learn", "recent"):  # `recent` asks git instead of the graph
        from golore.graph.database.engine import leave_databases_open, limit_memory

        leave_databases_open()
        if command in QUESTIONS:
            limit_memory()
    code = run_cli()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
