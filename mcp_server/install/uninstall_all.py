"""`golore uninstall --all`: removes golore's entries for all agents, in a repository and for the user, and its state.

Stores stay, because their notes cannot be learned again, and so do the records that they are this user's: a golore that
is installed later uses them at once. Records of stores that no longer exist are removed.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import GoloreError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.files.shared_knowledge import FOLDER
from golore.graph.phrases import counted
from golore.graph.safety.state_directory import state_directory
from golore.graph.safety.trust import STORE_NAME, forget_store, registered_stores
from golore.mcp_server.hooks.first_learn import FIRST_LEARNS
from golore.mcp_server.hooks.log import LOG_NAME
from golore.mcp_server.install.agent_configs import all_agents, setup_for
from golore.mcp_server.install.config_changes import is_confirmed, uninstall_change
from golore.mcp_server.install.config_files import FileChange, diff_lines
from golore.mcp_server.install.install_targets import SCOPES, install_target
from golore.mcp_server.install.installer import kept_backups, write_uninstalled
from golore.mcp_server.install.launch_commands import BARE, MISSING_NAME
from golore.mcp_server.services.learn_speed import SPEED_NAME
from golore.mcp_server.text.output import columns, print_lines, print_message

_STATE_PATTERNS: Final = (
    LOG_NAME,
    f"{LOG_NAME}.old",
    MISSING_NAME,
    "serve.token*",
    "stores.lock",
    f"bin/{BARE}",
    SPEED_NAME,
    f"{FIRST_LEARNS}/*",
)


class _Removal(NamedTuple):
    agent: str
    scope: str
    change: FileChange


def run_uninstall_all(*, repo: Path, is_agreed: bool) -> int:
    removals, problems = _removals(repo)
    files, vanished = _state_files(), [store for store in registered_stores() if not Path(store).is_dir()]
    print_lines(line for removal in removals for line in diff_lines(removal.change))
    print_lines([f"{file} will be removed." for file in files])
    if not removals and not files and not vanished:
        print_lines(["There is nothing to remove."])
    elif not is_agreed and not is_confirmed():
        print_lines(["Nothing was changed. Use `--yes` to make the change without asking."])
        return 1
    for removal in removals:
        write_uninstalled(removal.change, is_user=removal.scope == "user")
    _remove_state(files, vanished)
    print_lines(_summary(removals, repo))
    for problem in problems:
        print_message(f"golore: {problem}")
    return 1 if problems else 0


def _removals(repo: Path) -> tuple[list[_Removal], list[str]]:
    """The changes that remove golore's entries, and what is wrong with the files that cannot be read."""
    removals: dict[Path, _Removal] = {}  # by file: Copilot and VS Code share one
    problems: list[str] = []
    for scope in SCOPES:
        where = install_target(scope, repo)
        for agent in all_agents():
            for target in setup_for(agent, where).targets:
                try:
                    change = uninstall_change(target, agent)
                except GoloreError as failure:
                    problems.append(str(failure))
                    continue
                if change.before != change.after:
                    removals.setdefault(target.file, _Removal(agent, scope, change))
    return list(removals.values()), problems


def _state_files() -> list[Path]:
    state = Path(state_directory())
    return sorted(path for pattern in _STATE_PATTERNS for path in state.glob(pattern))


def _remove_state(files: list[Path], vanished: list[str]) -> None:
    for store in vanished:
        forget_store(store)
    for file in files:
        file.unlink(missing_ok=True)
    state = Path(state_directory())
    for folder in (state / "bin", state / FIRST_LEARNS, state / "stores", state):
        with suppress(OSError):  # it is not empty, or does not exist
            folder.rmdir()


def _summary(removals: list[_Removal], repo: Path) -> list[str]:
    lines: list[str] = []
    if removals:
        places = dict.fromkeys(f"{removal.agent} ({removal.scope})" for removal in removals)
        lines.append(f"golore is uninstalled from {', '.join(places)}.")
    lines += kept_backups([removal.change for removal in removals])
    stores = [Path(store) for store in registered_stores()]
    if stores:
        lines.append("These stores stay. A golore that you install later uses them; delete those that you do not need:")
        lines += columns([(str(store), _notes_in(store)) for store in stores])
    shared = Path(state_directory()) / FOLDER
    if shared.is_dir():
        lines.append(f"The notes that worktrees share stay in {shared}.")
    here = install_target("project", repo).root
    for root in sorted({store.parent for store in stores if store.name == STORE_NAME} - {here}):
        if any(removal.scope == "project" for removal in _removals(root)[0]):
            lines.append(f"golore is still installed in {root}. Run `golore uninstall --all --repo {root}`.")
    lines.append("To remove the program: `uv tool uninstall golore`, or `pipx uninstall golore`.")
    return lines


def _notes_in(store: Path) -> str:
    try:
        if not Knowledge.exists(store):
            return "no notes"
        with Knowledge.open(store) as knowledge:
            notes: int = next(knowledge.rows("SELECT count(*) FROM notes"))[0]
        return counted(notes, "note") if notes else "no notes"
    except GoloreError as failure:
        return str(failure)
