"""`golore install AGENT` and `golore uninstall AGENT`: golore's entries in an agent's configuration files.

The change is shown before it is made. A file that changes meanwhile is not overwritten: the change is made from its new
content and shown again. Other content of the files is kept, with its comments and layout, and a changed file is backed
up beside itself. Installing again changes nothing. Uninstalling removes what was added, and nothing where nothing was
installed; a file that was not changed in between is restored byte for byte, and its backup removed. Files of
instructions (CLAUDE.md, AGENTS.md) are never written.
"""

from __future__ import annotations

import difflib
import os
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import GoloreError, StoreError, UsageError
from golore.graph.files.atomic_write import replacing, sync_directory
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.safety.child_processes import find_program
from golore.graph.safety.regular_file import NotRegularError, read_regular
from golore.mcp_server.hooks.precompile import compile_ahead
from golore.mcp_server.install import config_entries
from golore.mcp_server.install.agent_configs import AgentFile, AgentSetup, InstallTarget, is_our_file, setup_for
from golore.mcp_server.services.repository import find_repository, store_of
from golore.mcp_server.text.output import print_lines

BACKUP: Final = ".golore-backup"
_MAX_BYTES: Final = 64 << 20
_ATTEMPTS: Final = 5


class FileChange(NamedTuple):
    """The text of a file before and after the change; None if the file does not exist."""

    target: AgentFile
    before: str | None
    after: str | None
    remarks: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        return self.target.file


class _ChangedMeanwhile(GoloreError):
    pass


def run_install(agent: str, *, scope: str, repo: Path, is_agreed: bool) -> int:
    where = _where(scope, repo)
    setup = setup_for(agent, where)

    def changes() -> list[FileChange]:
        return [_install_change(target, agent) for target in setup.targets]

    def write(change: FileChange) -> None:
        _back_up(change, agent)
        _replace(change)

    def remarks(made: list[FileChange]) -> list[str]:
        return [*(remark for change in made for remark in change.remarks), *_remarks(setup, where)]

    code = _apply(changes, write, remarks, is_agreed=is_agreed, done=f"golore is installed for {agent}.")
    if code == 0:
        compile_ahead()
    return code


def run_uninstall(agent: str, *, scope: str, repo: Path, is_agreed: bool) -> int:
    where = _where(scope, repo)
    targets = setup_for(agent, where).targets

    def changes() -> list[FileChange]:
        return [_uninstall_change(target, agent) for target in targets]

    def write(change: FileChange) -> None:
        if change.after is not None:
            _replace(change)
        else:
            _remove(change)
            if not where.is_user:
                _remove_if_empty(change.file.parent)
        if _read_text(_backup_of(change.file), follow=False) == change.after:
            _backup_of(change.file).unlink(missing_ok=True)

    def remarks(made: list[FileChange]) -> list[str]:
        backups = [_backup_of(change.file) for change in made if change.before != change.after]
        return [
            f"{backup} is kept: the file was changed after the installation." for backup in backups if backup.exists()
        ]

    return _apply(changes, write, remarks, is_agreed=is_agreed, done=f"golore is uninstalled from {agent}.")


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
    before = _read_text(target.file, follow=not target.text)
    if target.text:
        return FileChange(target, before, target.text)
    with _naming_file(target.file):
        after, remarks = _add_entries(before, target, agent)
    return FileChange(target, before, after, remarks)


def _add_entries(before: str | None, target: AgentFile, agent: str) -> tuple[str, tuple[str, ...]]:
    ending = _line_ending(before)
    after, remarks = config_entries.add_entries(before and before.replace(ending, "\n"), target, agent)
    return after.replace("\n", ending), remarks


def _line_ending(text: str | None) -> str:
    """The line ending of added lines: CRLF if all lines have it, else LF."""
    lines = text.count("\n") if text else 0
    return "\r\n" if text and lines and text.count("\r\n") == lines else "\n"


def _uninstall_change(target: AgentFile, agent: str) -> FileChange:
    before = _read_text(target.file, follow=not target.text)
    original = _read_text(_backup_of(target.file), follow=False)
    if before is None or "golore" not in before:
        return FileChange(target, before, before)
    if target.text:
        is_ours = before == target.text or is_our_file(before, agent)
        return FileChange(target, before, original if is_ours else before)
    with _naming_file(target.file):
        # The file was not changed since the installation: restore the original.
        if original is not None and _add_entries(original, target, agent)[0] == before != original:
            return FileChange(target, before, original)
        ending = _line_ending(before)
        after = config_entries.remove_entries(before.replace(ending, "\n"), target, agent, original)
    return FileChange(target, before, after and after.replace("\n", ending))


def _apply(
    changes: Callable[[], list[FileChange]],
    write: Callable[[FileChange], None],
    remarks: Callable[[list[FileChange]], list[str]],
    *,
    is_agreed: bool,
    done: str,
) -> int:
    for _ in range(_ATTEMPTS):
        found = changes()
        needed = [change for change in found if change.before != change.after]
        if not needed:
            print_lines(["There is nothing to change.", *remarks(found)])
            return 0
        print_lines(line for change in needed for line in _diff(change))
        if not is_agreed and not _is_confirmed():
            print_lines(["Nothing was changed. Use `--yes` to make the change without asking."])
            return 1
        try:
            for change in needed:
                write(change)
        except _ChangedMeanwhile as refusal:
            if is_agreed:
                raise
            print_lines([str(refusal)])
            continue
        print_lines([done, *remarks(found)])
        return 0
    raise GoloreError("The files change too often. End the agent that writes them, and try again.")


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
    link = [f"{change.file} is a link to {change.file.resolve()}:"] if change.file.is_symlink() else []
    return link + [line.rstrip("\n") for line in difflib.unified_diff(before, after, old, new)]


def _back_up(change: FileChange, agent: str) -> None:
    """Save the file as it is before the installation. The backup of an earlier installation is kept, unless golore was
    uninstalled since."""
    backup = _backup_of(change.file)
    if change.before is None:
        return
    if backup.exists() and _uninstall_change(change.target, agent).after != change.before:
        return
    with _naming_errors(backup), replacing(backup, durable=True, keep_status=True) as file:
        os.fchmod(file.fileno(), change.file.stat().st_mode & 0o777)
        file.write(change.before.encode())


def _replace(change: FileChange) -> None:
    file = change.file.resolve()  # a symbolic link, such as one to a file in a dotfiles repository, is kept
    with _naming_errors(change.file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file, durable=True, keep_status=True) as temporary:
            temporary.write((change.after or "").encode())
            temporary.flush()
            os.fsync(temporary.fileno())
            _require_unchanged(change)


def _remove(change: FileChange) -> None:
    file = change.file.resolve()
    _require_unchanged(change)
    file.unlink(missing_ok=True)
    sync_directory(file.parent)


def _require_unchanged(change: FileChange) -> None:
    """Raise `_ChangedMeanwhile` if the file is not as it was when the change was shown. Agents write their files while
    they run."""
    if _read_text(change.file, follow=not change.target.text) != change.before:
        raise _ChangedMeanwhile(
            f"{change.file} was changed by another program meanwhile and was left as that wrote it. Try again."
        )


def _remove_if_empty(folder: Path) -> None:
    """Remove a directory of an agent in a repository, such as `.github/hooks` or `.cursor`, and its parent, if they are
    empty: git does not know empty directories. Those in the user's home stay."""
    for directory in (folder, folder.parent):
        if not directory.name.startswith(".") and directory.name not in ("hooks", "plugins"):
            return
        try:
            directory.rmdir()
        except OSError:
            return


def _backup_of(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def _read_text(file: Path, *, follow: bool) -> str | None:
    try:
        return read_regular(file, _MAX_BYTES, follow=follow).decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise GoloreError(f"{file} is not UTF-8 and was left alone. Save it as UTF-8 and try again.") from None
    except NotRegularError:
        raise GoloreError(f"{file} is not a regular file and was left alone. Remove it and try again.") from None


class _naming_errors:  # noqa: N801  reads as a clause: with _naming_errors(path)
    """Turns the error of a file whose owner cannot be kept into a message."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PermissionError):
            raise GoloreError(
                f"{self._file} was left alone: this user may not write it and keep its owner and group. "
                "Run the command as the owner of the file."
            ) from error


class _naming_file:  # noqa: N801  reads as a clause: with _naming_file(path)
    """Re-raises a `GoloreError` with the path of the file in its message."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GoloreError):
            raise GoloreError(f"{self._file} was left alone. {error}") from error
