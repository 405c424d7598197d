"""`golore doctor`: checks the installation, and prints what is missing and what to do about it."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Final

from golore.graph.database.engine import engine_name
from golore.graph.database.store import Store
from golore.graph.errors import GoloreError, StoreMissing, StoreUntrusted, ToolchainError
from golore.graph.files.claim import require_trust
from golore.graph.phrases import counted
from golore.graph.safety.child_processes import find_program
from golore.learner.checkout.freshness import changes_since
from golore.mcp_server.hooks.hook import OFF, SETTINGS_NAME, SWITCH_VARIABLE
from golore.mcp_server.hooks.hook_settings import read_hook_settings
from golore.mcp_server.install.agent_check import check_agents
from golore.mcp_server.install.program_link import install_command, linked_program, program_on_path
from golore.mcp_server.services.repository import find_repository, store_of
from golore.mcp_server.text.learn_text import HOW_TO_COMPILE
from golore.mcp_server.text.output import columns, print_json, print_lines, styled

_STYLES: Final = {"fine": "green", "optional": "yellow", "wrong": "red"}


@dataclass(frozen=True, slots=True)
class Finding:
    """`state` is `fine`, `optional` (something useful is missing) or `wrong` (golore does not work without it)."""

    name: str
    state: str
    found: str
    advice: str = ""


def run_doctor(start: Path, *, as_json: bool) -> int:
    findings = list(examine(start))
    works = all(finding.state != "wrong" for finding in findings)
    if as_json:
        print_json({"works": works, "findings": findings})
    else:
        print_lines(_lines(findings))
        print_lines(["golore works here." if works else "golore does not work here: see what is marked wrong."])
    return 0 if works else 1


def examine(start: Path) -> Iterator[Finding]:
    yield Finding("golore", "fine", metadata.version("golore"))
    yield Finding("python", "fine", f"{platform.python_version()} ({sys.executable})")
    for name in ("tree-sitter", "tree-sitter-go"):
        yield _package(name)
    yield _checked("parser", _check_parser)
    yield _package(engine_name())
    yield _checked("graph store", _check_store)
    yield _compiled()
    yield _standard_library()
    yield _toolchain()
    yield _git()
    yield _path()
    yield _store_finding(start)
    yield from _staleness(start)
    yield from _hooks(start)
    yield from _agents(start)
    yield _models(start)


def _package(name: str) -> Finding:
    try:
        return Finding(name, "fine", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Finding(name, "wrong", "not installed", f"Run `pip install {name}`, or install golore again.")


def _checked(name: str, check: Callable[[], str]) -> Finding:
    try:
        return Finding(name, "fine", check())
    except GoloreError as error:
        return Finding(name, "wrong", str(error), "Install golore again.")
    except Exception as error:  # noqa: BLE001  any failure is a finding
        return Finding(name, "wrong", f"{type(error).__name__}: {error}", "Install golore again.")


def _check_parser() -> str:
    from golore.learner.extraction.extract import extract

    symbols = extract(b"package p\n\nfunc F() {}\n").outline.symbols
    if [symbol.name for symbol in symbols] != ["F"]:
        raise GoloreError("The parser does not understand a line of Go.")
    return "parses Go"


def _check_store() -> str:
    with tempfile.TemporaryDirectory() as directory, Store.open(Path(directory), write=True) as store:
        with store.bulk_load():
            pass
        store.meta()
    return "can be created, locked and read"


def _compiled() -> Finding:
    from golore.learner import compiled

    if compiled():
        return Finding("compiled", "fine", "the hot modules are compiled to C")
    return Finding("compiled", "optional", "the hot modules are not compiled: learning is slower", HOW_TO_COMPILE)


def _standard_library() -> Finding:
    from golore.learner.project.stdlib_index import index

    found = index()
    if found.packages:
        return Finding("standard library", "fine", f"{found.version}, {len(found.packages)} packages")
    return Finding("standard library", "wrong", "the index is missing", "Install golore again.")


def _toolchain() -> Finding:
    from golore.learner.audit.go_judge import find_toolchain

    try:
        found = find_toolchain()
    except ToolchainError as error:
        return Finding("go", "optional", "not found; only `golore audit` needs it", str(error))
    return Finding("go", "fine", f"{found.version} ({found.go})")


def _git() -> Finding:
    found = find_program("git")
    if found:
        return Finding("git", "fine", found)
    return Finding(
        "git",
        "optional",
        "not found; commits on cards, files that change together and `golore recent` need it",
        "Install git, and run `golore learn` again.",
    )


def _store_finding(start: Path) -> Finding:
    try:
        store = find_repository(start).store
        found = f"{store}"
    except StoreUntrusted as failure:
        return Finding("store", "wrong", "not trusted", str(failure))
    except GoloreError:
        store = store_of(start)
        found = f"{store} (nothing learned yet)"
    existing = next(path for path in (store, *store.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        advice = f"Make {existing} writable, or set GOLORE_HOME to a directory that is."
        return Finding("store", "wrong", f"{found}: no permission to write", advice)
    return Finding("store", "fine", found)


def _path() -> Finding:
    found = program_on_path()
    if found:
        return Finding("PATH", "fine", f"has golore: {found}")
    if linked_program() is None:
        found = "has no golore"
    else:
        found = f"has no golore; hooks find {linked_program()}"
    advice = f"Run `{install_command()}`, then `uv tool update-shell`, and open a new shell."
    return Finding("PATH", "optional", found, advice)


def _staleness(start: Path) -> Iterator[Finding]:
    """Whether the learned repository is up to date with its files."""
    try:
        repository = find_repository(start)
        with Store.open(repository.store, write=False) as store:
            changes = changes_since(repository.root, store)
    except StoreUntrusted:
        return
    except StoreMissing:
        yield Finding("learned", "optional", "this repository has not been learned", "Run `golore learn`.")
    except GoloreError as failure:
        yield Finding("learned", "wrong", str(failure), "Run `golore learn`.")
    else:
        if changes is None:
            yield Finding("learned", "optional", "the store has no cache", "Run `golore learn`.")
        elif len(changes):
            found = f"{counted(len(changes), 'file')} changed since the last learn"
            yield Finding("learned", "optional", found, "Run `golore learn`, or `golore watch` while you work.")
        else:
            yield Finding("learned", "fine", "up to date with the files")


def _hooks(start: Path) -> Iterator[Finding]:
    """Whether hooks are switched off."""
    if os.environ.get(SWITCH_VARIABLE, "").strip().lower() in OFF:
        yield Finding("hooks", "optional", f"off: {SWITCH_VARIABLE} is set", f"Run `unset {SWITCH_VARIABLE}`.")
    with suppress(GoloreError):
        settings = find_repository(start).store / SETTINGS_NAME
        try:
            is_on = not settings.exists() or read_hook_settings(str(settings)).get("enabled", True)
        except (OSError, ValueError, AttributeError) as failure:
            yield Finding("hooks", "wrong", f"off: {settings} cannot be read", f"Correct the file: {failure}.")
        else:
            if not is_on:
                advice = "Set `enabled = true` in its table `[hooks]` to switch them on."
                yield Finding("hooks", "optional", f"off in {settings}", advice)


def _agents(start: Path) -> Iterator[Finding]:
    """Every agent that golore is installed for: its commands are run as the agent runs them."""
    states = list(check_agents(start)) if start.is_dir() else []
    for state in states:
        name = f"{state.agent} ({state.scope})"
        if state.is_users_own:
            advice = f"If you did not write the server's entry, remove it and run `{state.fix}`."
            yield Finding(name, "optional", state.problem, advice)
        elif state.problem:
            yield Finding(name, "wrong", state.problem, f"Run `{state.fix}`.")
        else:
            yield Finding(name, "fine", state.works)
    if not states:
        advice = "Run `golore install claude`, or another agent that `golore install --help` lists."
        yield Finding("agents", "optional", "golore is installed for no agent here", advice)


def _models(start: Path) -> Finding:
    """Whether a model for drafts is available. Only a server on this machine is contacted."""
    from golore.mcp_server.commands.summaries.summarize import open_model
    from golore.mcp_server.services.settings import model_settings
    from golore.summarizers.models.endpoint import is_loopback

    needed = "only `golore summarize` needs one"
    try:
        try:
            store = find_repository(start).store
        except StoreMissing:
            store = store_of(start)
            require_trust(start.resolve(), store)
        settings = model_settings(store, {})
        with closing(open_model(settings)) as model:
            if not is_loopback(model.host):
                return Finding("models", "fine", f"{model.name} at {model.host}, which is not contacted here")
            model.check()
            return Finding("models", "fine", f"{model.name} at {model.host}, {model.context:,} tokens of context")
    except GoloreError as error:
        missing = "" if find_program("ollama") else " Ollama is not installed: see https://ollama.com/download."
        return Finding("models", "optional", f"no model for drafts; {needed}", f"{error}{missing}")


def _lines(findings: list[Finding]) -> list[str]:
    rows = columns([(finding.state, finding.name, finding.found) for finding in findings], indent=0)
    lines: list[str] = []
    for finding, row in zip(findings, rows, strict=True):
        state = finding.state
        lines.append(styled(state, _STYLES[state]) + row[len(state) :])
        if finding.advice:
            lines.append(f"{'':>10}→ {finding.advice}")
    return lines
