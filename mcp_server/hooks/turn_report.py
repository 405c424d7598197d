"""What the edits of an agent's turn touch, and the tests that reach them: a few lines for the end of the turn.

This needs the graph, which a hook process does not load. So another process makes the text and is given a few seconds;
if it takes longer, nothing is said, and the edits count for the next turn.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from golore.graph.database.store import Store

DEADLINE = 7.0
"""Seconds after which the hook ends at the latest. Agents give hooks 10 seconds."""
SECONDS = 6.0
_MODULE = "golore.mcp_server.hooks.turn_report"


def turn_report(root: str, store: str, edits: dict[str, int]) -> str | None:
    """The text about files that were edited, given by path with the time of the first edit; empty if there is nothing
    to say, None if it was not ready in time."""
    import subprocess

    from golore.graph.safety.child_processes import python_command
    from golore.mcp_server.hooks.log import log_line

    since = str(min(edits.values()))
    command = python_command("-m", _MODULE, root, since)
    try:
        done = subprocess.run(
            command, input="\0".join(edits).encode(), capture_output=True, cwd=os.sep, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        log_line(store, f"the end of a turn: {done.stderr.decode('utf-8', 'replace').strip()}")
        return None
    return done.stdout.decode("utf-8", "replace")


def report_on(root: "Path", paths: frozenset[str], since: int) -> str:
    """The text about these files. Runs in the other process."""
    from golore.graph.errors import GoloreError
    from golore.learner.changes.compared_files import Request
    from golore.learner.checkout.git_objects import newest_commit_before
    from golore.mcp_server.services.change_effects import affected
    from golore.mcp_server.services.open_store import open_repository
    from golore.mcp_server.text.turn_text import turn_text

    try:
        with open_repository(root) as opened:
            _build_files(opened.store)
            # A commit that was made since the first edit is taken for one that contains it.
            base = newest_commit_before(opened.repository.root, since)
            return turn_text(affected(opened.repository.root, opened.store, Request(base, paths=paths)))
    except GoloreError:
        return ""  # no git, no commit, an unfinished merge: nothing can be compared


def _build_files(store: "Store") -> None:
    """Build the adjacency and program files in a process that does not end with this one: they make the next report
    faster."""
    from golore.graph.changes.program_builder import is_program_due, start_program_build

    if is_program_due(store):
        start_program_build(store.directory)


def _main() -> None:
    import sys
    from pathlib import Path

    paths = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").split("\0")
    text = report_on(Path(sys.argv[1]), frozenset(paths), int(sys.argv[2]))
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))


if __name__ == "__main__":
    _main()
