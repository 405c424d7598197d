"""`golore install AGENT` and `golore uninstall AGENT`: golore's entries in an agent's own configuration files.

The change is shown before it is made. What others wrote in the files stays, with its comments and layout; a copy of a
changed file is left beside it. Done twice it changes nothing more, and uninstalling takes out what was put in, to the
byte where nobody changed the file in between. It writes to no file of instructions (CLAUDE.md, AGENTS.md).
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

from golore.graph.errors import GoloreError, StoreError, UsageError
from golore.graph.files.manifest import MANIFEST_NAME
from golore.mcp_server.hooks.precompile import compile_ahead
from golore.mcp_server.install import config_entries
from golore.mcp_server.install.agent_configs import AgentFile, Setup, Where, setup_for
from golore.mcp_server.services.repository import find_repository, store_of
from golore.mcp_server.text.output import print_lines

BACKUP: Final = ".golore-backup"


class FileChange(NamedTuple):
    """What becomes of a file; None for one that is not there, before or afterwards."""

    file: Path
    before: str | None
    after: str | None
    notes: tuple[str, ...] = ()


def run_install(agent: str, *, scope: str, repo: Path, is_agreed: bool) -> int:
    where = _where(scope, repo)
    setup = setup_for(agent, where)
    changes = [_installed(target, agent) for target in setup.targets]
    notes = [*(note for change in changes for note in change.notes), *_remarks(setup, where)]
    return _carried_out(changes, notes, is_agreed=is_agreed, done=f"golore is installed for {agent}.", backup=True)


def run_uninstall(agent: str, *, scope: str, repo: Path, is_agreed: bool) -> int:
    where = _where(scope, repo)
    changes = [_uninstalled(target, agent) for target in setup_for(agent, where).targets]
    return _carried_out(changes, [], is_agreed=is_agreed, done=f"golore is uninstalled from {agent}.", backup=False)


def _where(scope: str, repo: Path) -> Where:
    if not repo.is_dir():
        raise UsageError(f"There is no directory {repo}. Check the path.")
    found = shutil.which("golore")
    own = Path(sys.executable).with_name("golore")
    # What a team shares must not name a directory of one machine.
    program = "golore" if found or scope == "project" or not own.exists() else shlex.quote(str(own))
    return Where(scope, _root(repo.resolve()), Path.home(), program)


def _root(repo: Path) -> Path:
    with suppress(StoreError):
        return find_repository(repo).root
    return next((folder for folder in (repo, *repo.parents) if (folder / ".git").exists()), repo)


def _remarks(setup: Setup, where: Where) -> list[str]:
    remarks = [setup.hint] if setup.hint else []
    if where.program == "golore" and not shutil.which("golore"):
        remarks.append("The command `golore` is not on the PATH; the agent will not find it until it is.")
    if not where.is_user and not (store_of(where.root) / MANIFEST_NAME).exists():
        remarks.append("Nothing is known of this repository yet: run `golore learn`.")
    return remarks


def _installed(target: AgentFile, agent: str) -> FileChange:
    before = _text(target.file)
    if target.text:
        return FileChange(target.file, before, target.text)
    with _naming(target.file):
        after, notes = _added(before, target, agent)
    return FileChange(target.file, before, after, notes)


def _added(before: str | None, target: AgentFile, agent: str) -> tuple[str, tuple[str, ...]]:
    ending = _line_ending(before)
    after, notes = config_entries.added(before and before.replace(ending, "\n"), target, agent)
    return after.replace("\n", ending), notes


def _line_ending(text: str | None) -> str:
    """That of all lines; where they differ, what is added has the usual one."""
    lines = text.count("\n") if text else 0
    return "\r\n" if text and lines and text.count("\r\n") == lines else "\n"


def _uninstalled(target: AgentFile, agent: str) -> FileChange:
    before = _text(target.file)
    original = _text(_backup_of(target.file))
    if before is None or target.text:
        return FileChange(target.file, before, original)
    with _naming(target.file):
        # Nobody has touched the file since: then it is again what it was.
        if original is not None and _added(original, target, agent)[0] == before:
            return FileChange(target.file, before, original)
        ending = _line_ending(before)
        after = config_entries.removed(before.replace(ending, "\n"), target, agent, original)
    return FileChange(target.file, before, after and after.replace("\n", ending))


def _carried_out(changes: list[FileChange], notes: Iterable[str], *, is_agreed: bool, done: str, backup: bool) -> int:
    wanted = [change for change in changes if change.before != change.after]
    if not wanted:
        print_lines(["There is nothing to change.", *notes])
        return 0
    print_lines(line for change in wanted for line in _shown(change))
    if not is_agreed and not _is_confirmed():
        print_lines(["Nothing was changed. `--yes` makes the change without asking."])
        return 1
    for change in wanted:
        _write(change, backup=backup)
    if backup:
        compile_ahead()
    print_lines([done, *notes])
    return 0


def _is_confirmed() -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        return input("Make this change? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _shown(change: FileChange) -> list[str]:
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    old, new = (str(change.file) if text is not None else "/dev/null" for text in (change.before, change.after))
    return [line.rstrip("\n") for line in difflib.unified_diff(before, after, old, new)]


def _write(change: FileChange, *, backup: bool) -> None:
    file = change.file.resolve()  # a link into a directory of settings stays one
    kept = _backup_of(change.file)
    if change.after is None:
        file.unlink(missing_ok=True)
    else:
        file.parent.mkdir(parents=True, exist_ok=True)
        if backup and change.before is not None and not kept.exists():
            shutil.copy2(file, kept)
        _replace(file, change.after)
    if not backup:
        kept.unlink(missing_ok=True)
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
    """Directories that were made for our files alone: `.github/hooks`, `.cursor`."""
    for one in (folder, folder.parent):
        if not one.name.startswith(".") and one.name not in ("hooks", "plugins"):
            return
        try:
            one.rmdir()
        except OSError:
            return


def _backup_of(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def _text(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise GoloreError(f"{file} is not UTF-8, and was left alone. Save it as UTF-8 and try again.") from None


class _naming:  # noqa: N801  reads as a clause: with _naming(file)
    """Says in which file it was that something could not be read."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GoloreError):
            raise GoloreError(f"{self._file} was left alone. {error}") from error
