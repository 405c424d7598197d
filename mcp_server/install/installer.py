"""`golore install AGENT` and `golore uninstall AGENT`: golore's entries in an agent's configuration files.

The change is shown before it is made. Other content of the files is kept, with its comments and layout, and a changed
file is backed up beside itself. Installing again changes nothing. Uninstalling removes what was added; a file that was
not changed in between is restored byte for byte. Files of instructions (CLAUDE.md, AGENTS.md) are never written.
"""

from __future__ import annotations

import difflib
import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.child_processes import find_program
from golore.graph.errors import GoloreError, StoreError, UsageError
from golore.graph.files.manifest import MANIFEST_NAME
from golore.mcp_server.hooks.precompile import compile_ahead
from golore.mcp_server.install import config_entries
from golore.mcp_server.install.agent_configs import AgentFile, AgentSetup, InstallTarget, setup_for
from golore.mcp_server.services.repository import find_repository, store_of
from golore.mcp_server.text.output import print_lines

BACKUP: Final = ".golore-backup"


class FileChange(NamedTuple):
    """The text of a file before and after the change; None if the file does not exist."""

    file: Path
    before: str | None
    after: str | None
    remarks: tuple[str, ...] = ()


def run_install(agent: str, *, scope: str, repo: Path, is_agreed: bool) -> int:
    where = _where(scope, repo)
    setup = setup_for(agent, where)
    changes = [_install_change(target, agent) for target in setup.targets]
    remarks = [*(remark for change in changes for remark in change.remarks), *_remarks(setup, where)]
    return _apply(changes, remarks, is_agreed=is_agreed, done=f"golore is installed for {agent}.", backup=True)


def run_uninstall(agent: str, *, scope: str, repo: Path, is_agreed: bool) -> int:
    where = _where(scope, repo)
    changes = [_uninstall_change(target, agent) for target in setup_for(agent, where).targets]
    return _apply(changes, [], is_agreed=is_agreed, done=f"golore is uninstalled from {agent}.", backup=False)


def _where(scope: str, repo: Path) -> InstallTarget:
    if not repo.is_dir():
        raise UsageError(f"There is no directory {repo}. Check the path.")
    on_path = find_program("golore")
    sibling = Path(sys.executable).with_name("golore")
    # A configuration that a team shares must not contain a path of one machine.
    program = "golore" if on_path or scope == "project" or not sibling.exists() else shlex.quote(str(sibling))
    return InstallTarget(scope, _repository_root(repo.resolve()), Path.home(), program)


def _repository_root(repo: Path) -> Path:
    with suppress(StoreError):
        return find_repository(repo).root
    return next((folder for folder in (repo, *repo.parents) if (folder / ".git").exists()), repo)


def _remarks(setup: AgentSetup, where: InstallTarget) -> list[str]:
    remarks = [setup.hint] if setup.hint else []
    if where.program == "golore" and not find_program("golore"):
        remarks.append("The command `golore` is not on the PATH. Add its directory, so that the agent finds it.")
    if not where.is_user and not (store_of(where.root) / MANIFEST_NAME).exists():
        remarks.append("This repository has not been learned yet. Run `golore learn`.")
    return remarks


def _install_change(target: AgentFile, agent: str) -> FileChange:
    before = _read_text(target.file)
    if target.text:
        return FileChange(target.file, before, target.text)
    with _naming_file(target.file):
        after, remarks = _add_entries(before, target, agent)
    return FileChange(target.file, before, after, remarks)


def _add_entries(before: str | None, target: AgentFile, agent: str) -> tuple[str, tuple[str, ...]]:
    ending = _line_ending(before)
    after, remarks = config_entries.add_entries(before and before.replace(ending, "\n"), target, agent)
    return after.replace("\n", ending), remarks


def _line_ending(text: str | None) -> str:
    """The line ending of added lines: CRLF if all lines have it, else LF."""
    lines = text.count("\n") if text else 0
    return "\r\n" if text and lines and text.count("\r\n") == lines else "\n"


def _uninstall_change(target: AgentFile, agent: str) -> FileChange:
    before = _read_text(target.file)
    original = _read_text(_backup_of(target.file))
    if before is None or target.text:
        return FileChange(target.file, before, original)
    with _naming_file(target.file):
        # The file was not changed since the installation: restore the original.
        if original is not None and _add_entries(original, target, agent)[0] == before:
            return FileChange(target.file, before, original)
        ending = _line_ending(before)
        after = config_entries.remove_entries(before.replace(ending, "\n"), target, agent, original)
    return FileChange(target.file, before, after and after.replace("\n", ending))


def _apply(changes: list[FileChange], remarks: Iterable[str], *, is_agreed: bool, done: str, backup: bool) -> int:
    needed = [change for change in changes if change.before != change.after]
    if not needed:
        print_lines(["There is nothing to change.", *remarks])
        return 0
    print_lines(line for change in needed for line in _diff(change))
    if not is_agreed and not _is_confirmed():
        print_lines(["Nothing was changed. Use `--yes` to make the change without asking."])
        return 1
    for change in needed:
        _write(change, backup=backup)
    if backup:
        compile_ahead()
    print_lines([done, *remarks])
    return 0


def _is_confirmed() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("Make this change? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _diff(change: FileChange) -> list[str]:
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    old, new = (str(change.file) if text is not None else "/dev/null" for text in (change.before, change.after))
    return [line.rstrip("\n") for line in difflib.unified_diff(before, after, old, new)]


def _write(change: FileChange, *, backup: bool) -> None:
    file = change.file.resolve()  # a symbolic link, such as one to a file in a dotfiles repository, is kept
    backup_file = _backup_of(change.file)
    if change.after is None:
        file.unlink(missing_ok=True)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        if backup and change.before is not None and not backup_file.exists():
            shutil.copy2(file, backup_file)
        _replace(file, change.after)
    if not backup:
        backup_file.unlink(missing_ok=True)
        _remove_if_empty(change.file.parent)


def _replace(file: Path, text: str) -> None:
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as temporary:
        temporary.write(text)
    if file.exists():
        shutil.copymode(file, name)
    else:
        Path(name).chmod(0o644)
    Path(name).replace(file)


def _remove_if_empty(folder: Path) -> None:
    """Remove a directory of an agent, such as `.github/hooks` or `.cursor`, and its parent, if they are empty."""
    for directory in (folder, folder.parent):
        if not directory.name.startswith(".") and directory.name not in ("hooks", "plugins"):
            return
        try:
            directory.rmdir()
        except OSError:
            return


def _backup_of(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def _read_text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise GoloreError(f"{file} is not UTF-8 and was left alone. Save it as UTF-8 and try again.") from None


class _naming_file:  # noqa: N801  reads as a clause: with _naming_file(path)
    """Re-raises a `GoloreError` with the path of the file in its message."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GoloreError):
            raise GoloreError(f"{self._file} was left alone. {error}") from error
