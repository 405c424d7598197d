"""The changes of configuration files that install and uninstall make; shows them, asks, and makes them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from golore.graph.errors import GoloreError
from golore.mcp_server.install import config_entries
from golore.mcp_server.install.agent_configs import AgentFile, is_our_file
from golore.mcp_server.install.config_files import (
    ChangedMeanwhile,
    FileChange,
    backup_of,
    diff_lines,
    naming_file,
    read_config,
    read_text,
    write_backup,
)
from golore.mcp_server.text.output import print_lines

_ATTEMPTS: Final = 5


def install_change(target: AgentFile, agent: str) -> FileChange:
    before = read_config(target)
    if target.text:
        return FileChange(target, before, target.text)
    with naming_file(target.file):
        after, remarks = _add_entries(before, target, agent)
    return FileChange(target, before, after, remarks)


def uninstall_change(target: AgentFile, agent: str) -> FileChange:
    before = read_config(target)
    original = read_text(backup_of(target.file), follow=False)
    if before is None or "golore" not in before:
        return FileChange(target, before, before)
    if target.text:
        is_ours = before == target.text or is_our_file(before, agent)
        return FileChange(target, before, original if is_ours else before)
    with naming_file(target.file):
        # The file was not changed since the installation: restore the original.
        if original is not None and _add_entries(original, target, agent)[0] == before != original:
            return FileChange(target, before, original)
        ending = _line_ending(before)
        after = config_entries.remove_entries(before.replace(ending, "\n"), target, agent, original)
    return FileChange(target, before, after and after.replace("\n", ending))


def back_up(change: FileChange, agent: str) -> None:
    """Save the file as it is before the installation. The backup of an earlier installation is kept, unless golore was
    uninstalled since."""
    if change.before is None:
        return
    if backup_of(change.file).exists() and uninstall_change(change.target, agent).after != change.before:
        return
    write_backup(change)


def apply_changes(
    changes: Callable[[], list[FileChange]],
    write: Callable[[FileChange], None],
    finish: Callable[[list[FileChange]], list[str]],
    *,
    is_agreed: bool,
) -> int:
    """Show the changes, ask, and make them. `finish` returns the lines to print at the end."""
    for _ in range(_ATTEMPTS):
        found = changes()
        needed = [change for change in found if change.before != change.after]
        if not needed:
            print_lines(["There is nothing to change."])
            print_lines(finish(found))
            return 0
        print_lines(line for change in needed for line in diff_lines(change))
        if not is_agreed and not is_confirmed():
            print_lines(["Nothing was changed. Use `--yes` to make the change without asking."])
            return 1
        try:
            for change in needed:
                write(change)
        except ChangedMeanwhile as refusal:
            if is_agreed:
                raise
            print_lines([str(refusal)])
            continue
        print_lines(finish(found))
        return 0
    raise GoloreError("The files change too often. End the agent that writes them, and try again.")


def _add_entries(before: str | None, target: AgentFile, agent: str) -> tuple[str, tuple[str, ...]]:
    ending = _line_ending(before)
    after, remarks = config_entries.add_entries(before and before.replace(ending, "\n"), target, agent)
    return after.replace("\n", ending), remarks


def _line_ending(text: str | None) -> str:
    """The line ending of added lines: CRLF if all lines have it, else LF."""
    lines = text.count("\n") if text else 0
    return "\r\n" if text and lines and text.count("\r\n") == lines else "\n"


def is_confirmed() -> bool:
    """Ask the user, if there is a terminal."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("Make this change? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
