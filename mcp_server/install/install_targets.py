"""Where golore is installed: the files of a repository or those of the user, and the program that is named in them."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from golore.graph.errors import StoreError, UsageError
from golore.mcp_server.install.agent_configs import InstallTarget
from golore.mcp_server.install.launch_commands import Program
from golore.mcp_server.install.program_link import program_for_user
from golore.mcp_server.services.repository import find_repository

SCOPES: Final = ("project", "user")


def install_target(scope: str, repo: Path) -> InstallTarget:
    if not repo.is_dir():
        raise UsageError(f"There is no directory {repo}. Check the path.")
    # A configuration that a team shares must not contain a path of one machine.
    program = Program() if scope == "project" else Program(program_for_user())
    return InstallTarget(scope, repository_root(repo.resolve()), Path.home(), program)


def repository_root(repo: Path) -> Path:
    with suppress(StoreError):
        return find_repository(repo).root
    return next((folder for folder in (repo, *repo.parents) if (folder / ".git").exists()), repo)
