"""No command imports a Python module of the repository, or runs a program of it, when it is the working directory."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from golore.graph.errors import StoreBusy
from golore.learner.audit.go_judge import default_cache
from golore.learner.pipeline.graph_step import SMALL_BYTES
from golore.mcp_server.cli.main import build_parser
from mcp import Client, StdioServerParameters
from support.git_repository import git
from support.hook_process import event, read
from support.hostile_git import ATTACKS, Trap, make_trap
from support.mcp_client import told
from support.shop import make_shop
from support.watching import GOLORE, Watch, exported, until

PLANTED: Final = (
    (sys.stdlib_module_names | set(packages_distributions()) | {"golore", "sitecustomize", "usercustomize"})
    - set(sys.builtin_module_names)  # Python never searches for these
)
ARGUMENTS: Final[dict[str, list[str]]] = {
    "learn": ["--full", "--workers=2"],
    "context": ["main.go"],
    "show": ["store.New"],
    "callers": ["store.New"],
    "callees": ["main"],
    "implementers": ["Saver"],
    "users": ["store.New"],
    "tests": ["store.New"],
    "impact": ["store.New"],
    "path": ["main", "store.New"],
    "explore": ["how are things saved"],
    "search": ["store"],
    "completion": ["bash"],
    "query": ["MATCH (s:Symbol) RETURN s.name LIMIT 1"],
    "recent": ["main.go"],
    "note": ["main.go", "text"],
    "notes": ["sync"],
    "embed": ["--limit=1"],
    "install": ["claude", "--yes"],
    "uninstall": ["claude", "--yes"],
    "hook": ["claude"],
    "export": ["--output=../export.jsonl"],
    "import": ["--replace", "../export.jsonl"],
    "snapshot": ["one"],
    "adopt": ["--yes", ".golore"],
    "restore": ["one"],
    "diff": ["one"],
    "view": ["--once=../site"],
    "publish": ["../lake", "--name=example.org/shop"],
    "pull": ["../lake", "--replace", "--name=example.org/shop"],
    "fleet": ["list", "../lake"],
}
"""What a command is run with, where it needs arguments. The others are run without any."""
NEED_A_MODEL: Final = {"embed", "summarize", "upgrade"}
UNTIL_STOPPED: Final = {"mcp", "serve", "watch"}


def commands() -> list[str]:
    parser = build_parser()
    found = [action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]
    return [str(name) for name in found[0]]


def plant(root: Path, marker: Path) -> None:
    """A module of each name, which writes its name into the marker file. As a package too, for some."""
    for name in PLANTED:
        text = (
            "import posix\n"
            f"file = posix.open({str(marker)!r}, posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND)\n"
            f"posix.write(file, {f'{name} '.encode()!r})\nposix.close(file)\n"
        )
        file = root / name / "__init__.py" if len(name) % 2 else root / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)


class Repository:
    """A repository that has modules and programs of well-known names, and is large enough for worker processes."""

    def __init__(self, directory: Path) -> None:
        self.root = make_shop(directory / "shop")
        (directory / "lake").mkdir()
        (self.root / "large.go").write_text("package main\n" + "// A line of a comment.\n" * (SMALL_BYTES // 24 + 1))
        self.trap: Trap = make_trap(directory)
        plant(self.root, self.trap.marker)
        git(self.root, "init", "-q")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "begin")
        for attack in ("fsmonitor", "clean", "textconv", "pager", "aliases", "hooks"):
            ATTACKS[attack](self.root, self.trap)
        for name in ("git", "go", "golore", "python", "python3", "ollama"):
            if not (self.root / name).exists():
                (self.root / name).symlink_to(self.trap.program)
        home = directory / "home"
        home.mkdir()
        self.environ = {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(default_cache().parent),  # has the program that `audit` would build
            "HF_HUB_OFFLINE": "1",
            "OLLAMA_HOST": "127.0.0.1:9",
            "PATH": os.pathsep.join((os.environ["PATH"], ".", "")),
        }

    def run(self, *command: str | Path, payload: object = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.root,
            env={name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"} | self.environ,
            input=json.dumps(payload) if payload else "",
            capture_output=True,
            text=True,
            check=False,
        )

    def append(self, name: str) -> Path:
        file = self.root / "main.go"
        file.write_text(f"{file.read_text()}\nfunc {name}() {{}}\n")
        return file

    def knows(self, name: str) -> bool:
        try:
            return any(f'"example.com/shop.{name}"' in line for line in exported(self.root / ".golore"))
        except StoreBusy:  # a learn is writing
            return False


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    found = Repository(tmp_path_factory.mktemp("planted").resolve())
    assert found.run(GOLORE, "learn", "--workers=2").returncode == 0
    return found


def test_the_planted_modules_would_be_imported_by_an_unguarded_python(repository: Repository) -> None:
    repository.run(sys.executable, "-c", "import json, multiprocessing, msgspec, golore")
    assert set(repository.trap.calls.split()) >= {"json", "multiprocessing", "msgspec", "golore"}
    repository.trap.clear()


@pytest.mark.parametrize("name", [name for name in commands() if name not in UNTIL_STOPPED])
def test_a_command_runs_nothing_of_the_repository(name: str, repository: Repository) -> None:
    done = repository.run(GOLORE, name, *ARGUMENTS.get(name, []))
    assert done.returncode != 2, f"ARGUMENTS needs a row: {done.stderr}"
    assert done.returncode == 0 or name in NEED_A_MODEL, done.stderr
    assert repository.trap.calls == ""


@pytest.mark.parametrize("path", [".", ":/nonexistent"])
def test_a_relative_python_path_is_removed_before_other_modules_are_imported(path: str, tmp_path: Path) -> None:
    trap = make_trap(tmp_path)
    root = make_shop(tmp_path / "shop")
    for name in ("msgspec", "multiprocessing", "argparse", "json", "pyarrow"):
        (root / f"{name}.py").write_text(f"open({str(trap.marker)!r}, 'a').write({name!r})\n")
    environ = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([GOLORE, "learn", "--workers=2"], cwd=root, env=environ, capture_output=True, check=False)
    assert (done.returncode, trap.calls) == (0, "")


def test_hooks_and_the_learn_that_they_start_run_nothing_of_the_repository(repository: Repository) -> None:
    root = repository.root
    edited = repository.append("addedByHook")
    repository.run(GOLORE, "hook", "claude", payload=event("SessionStart", root, source="startup"))
    repository.run(GOLORE, "hook", "claude", payload=event("UserPromptSubmit", root, prompt="Why does store.New fail?"))
    repository.run(GOLORE, "hook", "claude", payload=read(root / "store" / "store.go"))
    content: dict[str, Any] = {"file_path": str(edited), "content": edited.read_text()}
    repository.run(GOLORE, "hook", "claude", payload=read(edited, tool_name="Write", tool_input=content))
    assert until(lambda: repository.knows("addedByHook"))
    repository.run(GOLORE, "hook", "claude", payload=event("Stop", root))
    assert repository.trap.calls == ""


def test_an_mcp_server_and_the_learn_that_it_starts_run_nothing_of_the_repository(repository: Repository) -> None:
    command = StdioServerParameters(
        command=str(GOLORE), args=["mcp"], cwd=repository.root, env=os.environ | repository.environ
    )

    async def talk() -> None:
        async with Client(command) as client:
            await told(client, "memory_search", query="store")
            await told(client, "memory_learn", full=True)

    anyio.run(talk)
    assert repository.trap.calls == ""


def test_a_server_over_http_runs_nothing_of_the_repository(repository: Repository) -> None:
    process = subprocess.Popen(
        [GOLORE, "serve", "--json", "--port=0"],
        cwd=repository.root,
        env=os.environ | repository.environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        started = process.stdout.readline()
        process.kill()
    assert "127.0.0.1" in started
    assert repository.trap.calls == ""


def test_a_watch_runs_nothing_of_the_repository(repository: Repository) -> None:
    with Watch(repository.root, cwd=repository.root, **repository.environ) as watch:
        watch.event("watching")
        repository.append("addedBeforeWatch")
        assert until(lambda: repository.knows("addedBeforeWatch"))
    assert repository.trap.calls == ""


def test_the_build_of_the_program_file_imports_nothing_of_the_repository(repository: Repository) -> None:
    program = (
        "from pathlib import Path; from golore.graph.changes.program_builder import start_program_build; "
        "raise SystemExit(start_program_build(Path('.golore').resolve()).wait())"
    )
    assert repository.run(sys.executable, "-P", "-c", program).returncode == 0
    assert repository.trap.calls == ""


def test_drafts_of_a_watch_import_nothing_of_the_repository(repository: Repository) -> None:
    (repository.root / ".golore" / "settings.toml").write_text("[models]\nwatch = true\n")
    program = (
        "from pathlib import Path; from golore.mcp_server.services.repository import find_repository; "
        "from golore.mcp_server.watching.background_drafts import BackgroundDrafts; "
        "drafts = BackgroundDrafts(find_repository(Path()), first=0.0); drafts.look(); drafts.running.wait()"
    )
    done = repository.run(sys.executable, "-P", "-c", program)
    (repository.root / ".golore" / "settings.toml").unlink()
    assert (done.returncode, repository.trap.calls) == (0, "")
