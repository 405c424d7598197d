"""How golore starts other programs, so that nothing in the working directory is executed.

The working directory is usually the repository, which may contain a `json.py` or a program named `git`. Every Python
process is started with `python_command`, and every other program is found with `find_program`.

A PYTHONPATH with an empty or relative entry makes Python import from the working directory before golore runs;
`guard_imports` limits that to what Python has imported by then.

Runs in the hook process: imports only `os`, `sys` and `system`.
"""

import os
import sys

from golore.graph.safety.system import DETACHED


def python_command(*arguments: str) -> list[str]:
    """The command line of a Python process that does not import modules from its working directory."""
    guard_children()
    return [sys.executable, "-P", *arguments]


def start_detached(command: list[str]) -> None:
    """Start a process that outlives this one and has neither its terminal nor its pipes."""
    import subprocess

    quiet = subprocess.DEVNULL
    subprocess.Popen(
        command, stdin=quiet, stdout=quiet, stderr=quiet, cwd=os.sep, start_new_session=True, creationflags=DETACHED
    )


def guard_children() -> None:
    """Keep the working directory off the module search path of all Python processes that this process starts."""
    os.environ["PYTHONSAFEPATH"] = "1"
    entries = os.environ.get("PYTHONPATH", "")
    if entries and (kept := absolute_entries(entries)) != entries:
        os.environ["PYTHONPATH"] = kept


def guard_imports() -> None:
    """Keep the working directory off the module search path of this process, and of those that it starts."""
    given = os.environ.get("PYTHONPATH", "")
    guard_children()
    if not sys.flags.safe_path and sys.path and sys.path[0] in ("", _working_directory()):
        del sys.path[0]  # as `python -c` and `python -m` add it
    if given:
        unwanted = {os.path.abspath(entry) for entry in given.split(os.pathsep) if not os.path.isabs(entry)}
        sys.path[:] = [entry for entry in sys.path if entry not in unwanted]


def find_program(name: str, path: str | None = None) -> str | None:
    """The path of a program in the absolute entries of `path`, by default of PATH; None if there is none."""
    import shutil

    return shutil.which(name, path=absolute_entries(os.environ.get("PATH", "") if path is None else path))


def absolute_entries(path: str) -> str:
    """A search path without its empty and relative entries, which stand for the working directory or are below it."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
