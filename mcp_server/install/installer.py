"""`golore install AGENT` and `golore uninstall AGENT`: golore's entries in an agent's configuration files.

The change is shown before it is made. A file that changes meanwhile is not overwritten: the change is made from its new
content and shown again. Other content of the files is kept, with its comments and layout, and a changed file is backed
up beside itself. Installing again changes nothing. An installation ends with a trial of the commands that are written;
if one does not work, all files are put back. Uninstalling removes what was added, and nothing where nothing was
installed; a file that was not changed in between is restored byte for byte, and its backup removed. Files of
instructions (CLAUDE.md, AGENTS.md) are never written.
"""

from __future__ import annotations

from pathlib import Path

from golore.graph.errors import GoloreError
from golore.graph.files.atomic_write import remove_leftovers_beside
from golore.graph.files.manifest import MANIFEST_NAME
from golore.mcp_server.hooks.precompile import compile_ahead
from golore.mcp_server.install.agent_check import what_agent_sees
from golore.mcp_server.install.agent_configs import AgentSetup, InstallTarget, setup_for
from golore.mcp_server.install.config_changes import apply_changes, back_up, install_change, uninstall_change
from golore.mcp_server.install.config_files import (
    FileChange,
    Undo,
    backup_of,
    read_text,
    remove_config,
    remove_if_empty,
    replace_config,
)
from golore.mcp_server.install.install_targets import install_target
from golore.mcp_server.install.program_link import (
    forget_notice,
    install_command,
    link_program,
    link_program_to,
    linked_program,
    program_on_path,
)
from golore.mcp_server.install.proof import ProofError
from golore.mcp_server.services.repository import store_of


def run_install(agent: str, *, scope: str, repo: Path, is_agreed: bool) -> int:
    where = install_target(scope, repo)
    setup = setup_for(agent, where)
    _remove_leftovers(setup)
    undo = Undo()
    linked = linked_program()

    def changes() -> list[FileChange]:
        return [install_change(target, agent) for target in setup.targets]

    def write(change: FileChange) -> None:
        undo.remember(change)
        back_up(change, agent)
        replace_config(change)

    def finish(made: list[FileChange]) -> list[str]:
        compile_ahead()
        link_program()
        seen = what_agent_sees(agent, where)
        remarks = [remark for change in made for remark in change.remarks]
        return [f"golore is installed for {agent}.", *seen, *remarks, *_remarks(setup, where)]

    try:
        return apply_changes(changes, write, finish, is_agreed=is_agreed)
    except BaseException as failure:
        link_program_to(linked)
        forget_notice()
        left = undo.restore()
        if isinstance(failure, ProofError):
            raise GoloreError(f"golore was not installed. {failure} {_undone(left)} {_advice()}") from failure
        raise


def run_uninstall(agent: str, *, scope: str, repo: Path, is_agreed: bool) -> int:
    where = install_target(scope, repo)
    setup = setup_for(agent, where)
    targets = setup.targets
    _remove_leftovers(setup)

    def changes() -> list[FileChange]:
        return [uninstall_change(target, agent) for target in targets]

    def write(change: FileChange) -> None:
        write_uninstalled(change, is_user=where.is_user)

    def finish(made: list[FileChange]) -> list[str]:
        is_changed = any(change.before != change.after for change in made)
        return [*([f"golore is uninstalled from {agent}."] if is_changed else []), *kept_backups(made)]

    return apply_changes(changes, write, finish, is_agreed=is_agreed)


def _remove_leftovers(setup: AgentSetup) -> None:
    """Remove temporary files of killed processes, also where there is nothing to change."""
    for target in setup.targets:
        for path in (target.file.resolve(), backup_of(target.file)):
            remove_leftovers_beside(path)


def write_uninstalled(change: FileChange, *, is_user: bool) -> None:
    """Make the change of an uninstall, and remove the backup if the file is the original again."""
    if change.after is not None:
        replace_config(change)
    else:
        remove_config(change)
        if not is_user:
            remove_if_empty(change.file.parent)
    backup = backup_of(change.file)
    if read_text(backup, follow=False) == change.after:
        backup.unlink(missing_ok=True)


def kept_backups(made: list[FileChange]) -> list[str]:
    backups = [backup_of(change.file) for change in made if change.before != change.after]
    return [f"{backup} is kept: the file was changed after the installation." for backup in backups if backup.exists()]


def _undone(left: list[str]) -> str:
    return f"Look at {', '.join(left)}, which another program has changed." if left else "All files are as they were."


def _advice() -> str:
    fix = "" if program_on_path() else f"Run `{install_command()}`, and try again. "
    return f"{fix}`golore doctor` says more about this machine."


def _remarks(setup: AgentSetup, where: InstallTarget) -> list[str]:
    remarks = [setup.hint] if setup.hint else []
    if not program_on_path():
        remarks.append(
            f"`golore` is not on your PATH. Run `{install_command()}`, so that your shell finds it, too, and the agent "
            "still does when this copy is gone."
        )
    if not where.is_user and not (store_of(where.root) / MANIFEST_NAME).exists():
        remarks.append("This repository has not been learned yet. Run `golore learn`.")
    return remarks
