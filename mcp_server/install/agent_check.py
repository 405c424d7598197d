"""Checks golore's entries in the files of an agent: what the agent will see, or what is wrong.

`golore install` checks the agent that it has installed golore for, `golore doctor` all agents that it finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import GoloreError
from golore.graph.phrases import counted
from golore.mcp_server.install.agent_configs import InstallTarget, all_agents
from golore.mcp_server.install.install_targets import SCOPES, install_target
from golore.mcp_server.install.installed_commands import InstalledCommands, read_commands
from golore.mcp_server.install.proof import OpenedFile, ProofError, ServerAnswer, card_seen, opened_file, server_seen

_SHOWN_LINES: Final = 5
_SHOWN_LENGTH: Final = 110


class AgentState(NamedTuple):
    """An agent that golore is installed for. `problem` is empty if everything works."""

    agent: str
    scope: str
    works: str = ""
    problem: str = ""
    is_users_own: bool = False
    """The problem is that an MCP server named golore is there that golore did not write."""

    @property
    def fix(self) -> str:
        """The command that corrects the problem, once an entry that is the user's own is removed."""
        return f"golore install {self.agent}{' --scope user' if self.scope == 'user' else ''}"


def what_agent_sees(agent: str, where: InstallTarget) -> list[str]:
    """The lines that tell the user what the agent will see. Raises `ProofError` if a command does not work."""
    commands = read_commands(agent, where)
    lines = ["What it will see, tried with its own commands in an empty environment:"]
    with opened_file(where.root) as opened:
        if commands.hooks:
            sample = " of a sample repository" if opened.is_sample else ""
            cards = [card_seen(command, agent, opened) for command in commands.hooks]
            lines += [f"  hook, when it opens {opened.path}{sample}:", *_beginning(cards[0])]
        if commands.server:
            lines.append(f"  MCP server: {_answer_text(server_seen(commands.server, where.root))}")
    return lines


def check_agents(start: Path) -> Iterator[AgentState]:
    """The state of every agent that golore is installed for, in this repository or for the user."""
    servers: dict[tuple[str, ...], ServerAnswer | ProofError] = {}
    found: list[tuple[str, str, Path, InstalledCommands]] = []
    for scope in SCOPES:
        where = install_target(scope, start)
        for agent in all_agents():
            try:
                commands = read_commands(agent, where)
            except GoloreError as failure:
                yield AgentState(agent, scope, problem=str(failure))
                continue
            if commands:
                found.append((agent, scope, where.root, commands))
    if not found:
        return
    with opened_file(start) as opened:
        for agent, scope, root, commands in found:
            yield _state(AgentState(agent, scope), root, commands, opened, servers)


def _state(
    state: AgentState,
    root: Path,
    commands: InstalledCommands,
    opened: OpenedFile,
    servers: dict[tuple[str, ...], ServerAnswer | ProofError],
) -> AgentState:
    if commands.missing:
        return state._replace(problem=f"Not all of it is installed: {' and '.join(commands.missing)} missing.")
    if commands.foreign:
        problem = f"Not written by this golore, and therefore not run: {' and '.join(commands.foreign)}."
        return state._replace(problem=problem, is_users_own=bool(commands.hooks))
    works: list[str] = []
    try:
        for command in commands.hooks:
            card_seen(command, state.agent, opened)
        works += ["the hook shows cards"] if commands.hooks else []
        if commands.server:
            works.append(f"the MCP server answers ({_answer_text(_answer(commands.server, root, servers))})")
    except ProofError as failure:
        return state._replace(problem=str(failure))
    return state._replace(works=", ".join(works))


def _answer(
    words: tuple[str, ...], root: Path, servers: dict[tuple[str, ...], ServerAnswer | ProofError]
) -> ServerAnswer:
    """The answer of a server. Each command is run once, because most agents have the same."""
    if words not in servers:
        try:
            servers[words] = server_seen(words, root)
        except ProofError as failure:
            servers[words] = failure
    answer = servers[words]
    if isinstance(answer, ProofError):
        raise answer
    return answer


def _answer_text(answer: ServerAnswer) -> str:
    return f"golore {answer.version}, {counted(answer.tools, 'tool')}"


def _beginning(text: str) -> list[str]:
    lines = [line for line in text.splitlines() if line.strip("`")]
    shown = [line if len(line) <= _SHOWN_LENGTH else f"{line[: _SHOWN_LENGTH - 1]}…" for line in lines[:_SHOWN_LINES]]
    more = [f"and {counted(len(lines) - _SHOWN_LINES, 'more line')}"] if len(lines) > _SHOWN_LINES else []
    return [f"    {line}" for line in (*shown, *more)]
