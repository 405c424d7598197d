"""Shows a long answer in a pager, if standard output is a terminal: in `$PAGER`, else in `less`.

An answer that fits on the screen is printed, and one that goes into a pipe or a file never comes here. An empty PAGER,
and `cat`, switch the pager off, as `--no-pager` does (see `use_pager`).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import Final, TextIO

_LESS: Final = "FRX"
"""How `less` is called unless LESS says otherwise: it keeps colours, and leaves the answer on the screen."""
_is_used = False


def use_pager(is_used: bool) -> None:
    """Let long answers of this process go through a pager, or not, as before the first call."""
    global _is_used
    _is_used = is_used


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def show_in_pager(lines: Sequence[str]) -> bool:
    """Show the lines in a pager if they do not fit on the terminal. Returns False if they are still to be printed."""
    if not (_is_used and is_terminal(sys.stdout) and is_terminal(sys.stdin)):
        return False
    size = shutil.get_terminal_size()
    height = sum(max(1, -(-len(line) // max(1, size.columns))) for line in lines)
    command = _command() if height >= size.lines else []
    if not command:
        return False
    import signal
    import subprocess

    environ = {"LESS": _LESS, **os.environ}
    text = "\n".join(lines).encode(sys.stdout.encoding or "utf-8", "backslashreplace") + b"\n"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the pager
    try:
        subprocess.run(command, input=text, env=environ, check=False)
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True


def _command() -> list[str]:
    """The command line of the pager; empty if there is none."""
    import shlex

    from golore.graph.safety.child_processes import find_program

    try:
        words = shlex.split(os.environ.get("PAGER", "less"))
    except ValueError:
        return []
    program = find_program(words[0]) if words else None
    return [program, *words[1:]] if program is not None and words[0] != "cat" else []
