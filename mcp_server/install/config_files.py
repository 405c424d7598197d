"""Reads and replaces the configuration files of agents, which belong to the user.

A file is replaced as a whole, keeps its owner, group and mode, and is backed up beside itself before golore changes it.
A file that another program changed meanwhile is not overwritten. `Undo` puts everything back if an installation fails.
"""

from __future__ import annotations

import difflib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import GoloreError
from golore.graph.files.atomic_write import replacing, sync_directory
from golore.graph.safety.regular_file import NotRegularError, read_regular
from golore.graph.safety.system import set_mode
from golore.mcp_server.install.agent_configs import AgentFile

BACKUP: Final = ".golore-backup"
_MAX_BYTES: Final = 64 << 20


class FileChange(NamedTuple):
    """The text of a file before and after the change; None if the file does not exist."""

    target: AgentFile
    before: str | None
    after: str | None
    remarks: tuple[str, ...] = ()

    @property
    def file(self) -> Path:
        return self.target.file


class ChangedMeanwhile(GoloreError):
    pass


class Undo:
    """Remembers files before they are changed, and puts them back."""

    def __init__(self) -> None:
        self._changes: dict[Path, FileChange] = {}
        self._backups: dict[Path, str | None] = {}
        self._new_folders: list[Path] = []

    def remember(self, change: FileChange) -> None:
        """Call it before the file is written."""
        first = self._changes.setdefault(change.file, change)
        self._changes[change.file] = first._replace(after=change.after)
        backup = backup_of(change.file)
        self._backups.setdefault(backup, read_text(backup, follow=False))
        folders = change.file.resolve().parents
        self._new_folders += [folder for folder in folders if not folder.exists() and folder not in self._new_folders]

    def restore(self) -> list[str]:
        """Put all files back that golore has written. Returns the paths of those that others changed since, and that
        were left alone."""
        left: list[str] = []
        for change in reversed(self._changes.values()):
            found = read_config(change.target)
            if found == change.before:
                continue
            if found != change.after:
                left.append(str(change.file))
            elif change.before is None:
                change.file.resolve().unlink()
            else:
                replace_config(change._replace(before=change.after, after=change.before))
        for backup, text in self._backups.items():
            if text is None:
                backup.unlink(missing_ok=True)
            elif read_text(backup, follow=False) != text:
                with replacing(backup, keep_status=True) as file:
                    file.write(text.encode())
        for folder in self._new_folders:  # the innermost of each file comes first
            with suppress(OSError):
                folder.rmdir()
        return left


def read_config(target: AgentFile) -> str | None:
    return read_text(target.file, follow=not target.text)


def read_text(file: Path, *, follow: bool) -> str | None:
    try:
        return read_regular(file, _MAX_BYTES, follow=follow).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeDecodeError:
        raise GoloreError(f"{file} is not UTF-8 and was left alone. Save it as UTF-8 and try again.") from None
    except NotRegularError:
        raise GoloreError(f"{file} is not a regular file and was left alone. Remove it and try again.") from None


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def write_backup(change: FileChange) -> None:
    backup = backup_of(change.file)
    with _naming_errors(backup), replacing(backup, durable=True, keep_status=True) as file:
        set_mode(file.fileno(), change.file.stat().st_mode & 0o777)
        file.write((change.before or "").encode())


def replace_config(change: FileChange) -> None:
    file = change.file.resolve()  # a symbolic link, such as one to a file in a dotfiles repository, is kept
    with _naming_errors(change.file):
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file, durable=True, keep_status=True) as temporary:
            temporary.write((change.after or "").encode())
            temporary.flush()
            os.fsync(temporary.fileno())
            _require_unchanged(change)


def remove_config(change: FileChange) -> None:
    file = change.file.resolve()
    _require_unchanged(change)
    file.unlink(missing_ok=True)
    sync_directory(file.parent)


def remove_if_empty(folder: Path) -> None:
    """Remove a directory of an agent in a repository, such as `.github/hooks` or `.cursor`, and its parent, if they are
    empty: git does not know empty directories. Those in the user's home stay."""
    for directory in (folder, folder.parent):
        if not directory.name.startswith(".") and directory.name not in ("hooks", "plugins"):
            return
        try:
            directory.rmdir()
        except OSError:
            return


def diff_lines(change: FileChange) -> list[str]:
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    old, new = (str(change.file) if text is not None else "/dev/null" for text in (change.before, change.after))
    link = [f"{change.file} is a link to {change.file.resolve()}:"] if change.file.is_symlink() else []
    return link + [line.rstrip("\n") for line in difflib.unified_diff(before, after, old, new)]


def _require_unchanged(change: FileChange) -> None:
    """Raise `ChangedMeanwhile` if the file is not as it was when the change was shown. Agents write their files while
    they run."""
    if read_config(change.target) != change.before:
        raise ChangedMeanwhile(
            f"{change.file} was changed by another program meanwhile and was left as that wrote it. Try again."
        )


class naming_file:  # noqa: N801  reads as a clause: with naming_file(path)
    """Re-raises a `GoloreError` with the path of the file in its message."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GoloreError):
            raise GoloreError(f"{self._file} was left alone. {error}") from error


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
