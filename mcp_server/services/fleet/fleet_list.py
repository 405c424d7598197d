"""Reads the list of repositories that `golore fleet learn` learns.

One line for each: a URL or a path, and after a space a branch, tag or commit. `#` starts a comment.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from golore.graph.errors import GoloreError, UsageError
from golore.learner.checkout.git_clone import require_source


class Source(NamedTuple):
    """`address`: a URL, or the absolute path of a repository on this machine. `revision` may be empty: HEAD."""

    address: str
    revision: str


def read_list(path: Path) -> list[Source]:
    """The sources in their order, each once. Relative paths are relative to the list."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError) as failure:
        raise UsageError(f"The list {path} cannot be read: {failure}.") from failure
    found: dict[Source, None] = {}
    for number, line in enumerate(lines, 1):
        words = line.partition("#")[0].split() if not line.lstrip().startswith("#") else []
        if not words:
            continue
        if len(words) > 2:
            raise UsageError(f"{path}, line {number}: write a URL or a path, and perhaps a revision; nothing else.")
        address, revision = words[0], "".join(words[1:])
        try:
            require_source(address, revision)
        except GoloreError as failure:
            raise UsageError(f"{path}, line {number}: {failure}") from failure
        found[Source(_absolute(address, path.parent), revision)] = None
    if not found:
        raise UsageError(f"The list {path} names no repository. Write a URL or a path on each line.")
    return list(found)


def is_path(address: str) -> bool:
    """Whether git takes an address for a path: it has no scheme, and no host before a colon."""
    return "://" not in address and ":" not in address.partition("/")[0]


def _absolute(address: str, folder: Path) -> str:
    return str((folder / Path(address).expanduser()).resolve()) if is_path(address) else address
