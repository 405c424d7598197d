"""What `golore` prints without a command, and what the first learn of a repository suggests to do next."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from golore.graph.errors import RepositoryError, StoreMissing
from golore.graph.files.store_path import VECTOR_MODEL_NAME
from golore.graph.phrases import amount, counted, duration, joined
from golore.graph.queries.names.name_resolver import NameResolver
from golore.graph.safety.regular_file import read_regular
from golore.learner.checkout.discovery import discover
from golore.learner.checkout.freshness import changes_since
from golore.learner.checkout.git_directory import top_of
from golore.learner.pipeline.graph_step import Report
from golore.mcp_server.cli.agent_arguments import AGENTS, SCOPES
from golore.mcp_server.install.agent_configs import InstallTarget, setup_for
from golore.mcp_server.install.launch_commands import Program
from golore.mcp_server.services.learn_speed import estimated_seconds
from golore.mcp_server.services.open_store import OpenRepository, open_repository
from golore.mcp_server.services.repository import find_repository
from golore.mcp_server.text.output import columns, print_lines, styled

_CONFIG_LIMIT: Final = 16 << 20
_MODULE_FILES: Final = ("go.mod", "go.work")
_HELP: Final = "`golore --help` lists all commands."


class Step(NamedTuple):
    """A command to run next, and why."""

    command: str
    reason: str


def print_overview(start: Path) -> None:
    """Print what golore knows about the repository here, or how to begin."""
    print_lines([*_overview(start.resolve()), _HELP])


def print_next_steps(root: Path, report: Report) -> None:
    """Print what to do after the first learn of a repository."""
    with open_repository(root) as opened:
        missing = _missing(opened, len(report.missing_imports))
        steps = [*_question(opened), _agent_step(opened.repository.root), missing]
    print_lines([styled("Next:", "bold"), *columns([(step.command, step.reason) for step in steps])])


def _overview(start: Path) -> Iterator[str]:
    try:
        repository = find_repository(start)
    except StoreMissing:
        yield from _unlearned(start)
        return
    with open_repository(start) as opened:
        changes = changes_since(repository.root, opened.store)
        if changes is None or len(changes):
            number = "Files" if changes is None else counted(len(changes), "file")
            yield f"{repository.root} is learned. {number} changed since: `golore learn` updates the graph."
        else:
            yield f"{repository.root} is learned, and nothing has changed since."
        yield from columns([(step.command, step.reason) for step in _question(opened)])


def _unlearned(start: Path) -> Iterator[str]:
    root = _root_to_learn(start)
    found = None
    if root is not None:
        with suppress(RepositoryError):
            found = discover(root)
    if root is None or found is None or not found.files:
        yield f"{start} is not in a Go repository."
        yield "To start, go to one and run `golore learn`. Then `golore install AGENT` shows its cards in your agent."
        return
    size = sum(file.state.size for file in found.files)
    path = "" if root == start else f" {root}"
    files = f"{counted(len(found.files), 'Go file')}, {amount(size)}"
    yield f"{root} is a Go repository that golore has not learned yet: {files}."
    yield (
        f"`golore learn{path}` will read them and write a graph to .golore/, which git ignores. This takes "
        f"{duration(estimated_seconds(size))}. Nothing of the repository is executed, and nothing leaves this machine."
    )


def _root_to_learn(start: Path) -> Path | None:
    """The top of the git checkout, or else the outermost directory with a module file; None for a home directory."""
    root = top_of(start)
    if root is None:
        modules = [path for path in (start, *start.parents) if any((path / name).exists() for name in _MODULE_FILES)]
        root = modules[-1] if modules else None
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111  Path.home() fails if there is none
    return None if root is None or root in (home, *home.parents) else root


def _question(opened: OpenRepository) -> Iterator[Step]:
    """A question about the function that is called from the most others."""
    statement = (
        "MATCH (a:Symbol)-[:CALLS]->(b:Symbol) WHERE NOT b.file ENDS WITH '_test.go' "
        "RETURN b.id, b.qualified_name, count(a) AS callers ORDER BY callers DESC, b.id LIMIT 1"
    )
    for id, qualified_name, callers in opened.store.rows(statement):
        name = _shortest_name(opened.names, id, qualified_name)
        yield Step(f"golore callers {name}", f"lists its {counted(callers, 'caller')}, the most of any function here")


def _shortest_name(names: NameResolver, id: str, qualified_name: str) -> str:
    """The shortest name that means only this symbol."""
    parts = qualified_name.rpartition("/")[2].split(".")
    for start in range(len(parts) - 1, -1, -1):
        text = ".".join(parts[start:])
        meanings = names.find(text).meanings
        if len(meanings) == 1 and id in {symbol.id for symbol in meanings[0].symbols}:
            return text
    return qualified_name


def _agent_step(root: Path) -> Step:
    """How to add golore to the agents whose configuration is on this machine or in the repository."""
    found = {agent: scope for agent in AGENTS if (scope := _scope_of(agent, root))}
    ready = [agent for agent, scope in found.items() if scope == "installed"]
    others = [agent for agent in found if agent not in ready]
    if others:
        first = others[0]
        scope = " --scope user" if found[first] == "user" else ""
        more = f"; {joined(others[1:])} as well" if others[1:] else ""
        return Step(f"golore install {first}{scope}", f"shows cards in {first}, whose configuration was found{more}")
    if ready:
        return Step(ready[0], "has golore's hooks: open a Go file with it")
    return Step("golore install AGENT", f"shows cards in your agent: {', '.join(AGENTS)}")


def _scope_of(agent: str, root: Path) -> str:
    """`installed`, or the scope in which the agent has a configuration; empty if it has none."""
    home = Path(os.path.expanduser("~")).resolve()  # noqa: PTH111  Path.home() fails if there is none
    shared = {*home.parents, home, *root.parents, root, home / ".config", home / ".config/Code", root / ".github"}
    scopes: list[str] = []
    for scope in SCOPES:
        for target in setup_for(agent, InstallTarget(scope, root, home, Program())).targets:
            with suppress(OSError):
                if b"golore" in read_regular(target.file, _CONFIG_LIMIT, follow=True):
                    return "installed"
            if any(path.is_dir() for path in {target.file.parent, target.file.parent.parent} - shared):
                scopes.append(scope)
    return scopes[0] if scopes else ""


def _missing(opened: OpenRepository, missing_imports: int) -> Step:
    """The most useful thing that this store lacks."""
    if missing_imports:
        packages = counted(missing_imports, "imported package")
        return Step("go mod download", f"gets the source of {packages}; the next `golore learn` then resolves more")
    if not (opened.repository.store / VECTOR_MODEL_NAME).exists():
        return Step("golore embed", "adds search by meaning; needs golore[vectors] or Ollama")
    return Step("golore summarize", "adds summaries; needs a model on this machine")
