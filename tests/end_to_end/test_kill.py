"""A learn that is killed at any moment leaves a store that opens, and the next learn ends in the right graph.

Creating a store and installing are short, so they are killed at every step.
"""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.graph.errors import StoreMissing
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.learner.pipeline.graph_step import learn_graph

LEARN = """
import sys
from pathlib import Path
from golore.learner.pipeline.graph_step import learn_graph
if __name__ == "__main__":
    learn_graph(Path(sys.argv[1]), store_directory=Path(sys.argv[2]), workers=int(sys.argv[3]))
"""
PACKAGES = 24
CREATE = """
import os, shutil, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from golore.graph.files.claim import claim_store, create_store_directory
from golore.graph.safety.trust import is_trusted
from support.kill_at_each import kill_at_each_step

root, state = Path(sys.argv[2]), Path(os.environ["XDG_STATE_HOME"])
store = root / ".golore"

def create():
    assert claim_store(root, store) == ""
    create_store_directory(store)

def reset():
    for path in (store, state):
        shutil.rmtree(path, ignore_errors=True)

def check():
    create()
    assert is_trusted(str(root), str(store))
    assert (store / ".gitignore").read_text() == "*\\n"
    left = {path.name for folder in (root, state) for path in folder.rglob("*.tmp")}
    assert not left, left

print(kill_at_each_step(create, reset, check))
"""
INSTALL = """
import contextlib, io, os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from golore.mcp_server.cli.main import main
from golore.mcp_server.install import installer
from support.kill_at_each import kill_at_each_step

installer.what_agent_sees = lambda *_: []  # the trial writes nothing and takes seconds
home, root = Path(os.environ["HOME"]), sys.argv[2]
OLD = {".claude/settings.json": '{"a": 1}', ".claude.json": '{"b": [2]}'}

def install():
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["install", "claude", "--scope", "user", "--yes", "--repo", root]) == 0

def reset():
    (home / ".claude").mkdir(exist_ok=True)
    for path in home.rglob("*"):
        if path.is_file() and "golore" in path.name:
            path.unlink()
    for name, text in OLD.items():
        (home / name).write_text(text)

def contents():
    return {path.relative_to(home).as_posix(): path.read_text() for path in home.rglob("*") if path.is_file()}

reset()
install()
done = contents()
assert all(done[name] != text for name, text in OLD.items())
def check():
    found = contents()
    assert all(found[name] in (text, done[name]) for name, text in OLD.items()), found
    install()
    assert contents() == done, set(contents()) ^ set(done)

print(kill_at_each_step(install, reset, check))
"""


def source(package: int, version: int) -> str:
    calls = "".join(f"\tp{other}.F{package % 5}(n)\n" for other in (package + 1, package + 7) if other < PACKAGES)
    imports = "".join(f'\t"example.com/m/p{other}"\n' for other in (package + 1, package + 7) if other < PACKAGES)
    functions = "".join(
        f"// F{i} is number {version}.\nfunc F{i}(n int) int {{\n"
        f"{calls if i == 0 else ''}\treturn F{(i + 1) % 30}(n) + {version}\n}}\n\n"
        for i in range(30)
    )
    types = f'type T{version} struct{{ A, B int }}\n\nfunc (t T{version}) String() string {{ return "" }}\n'
    return f"package p{package}\n\nimport (\n{imports})\n\n{functions}{types}"


def write_package(root: Path, package: int, version: int) -> None:
    path = root / f"p{package}" / f"p{package}.go"
    path.parent.mkdir(exist_ok=True)
    path.write_text(source(package, version))


def start(script: Path, root: Path, store: Path, workers: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(script), str(root), str(store), str(workers)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)


def kill_after(process: subprocess.Popen[bytes], seconds: float, everything: bool) -> bool:
    """Whether the process was still at work, and is dead now: alone, or with its workers."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        if everything:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait()
        return True
    return False


def exported(directory: Path) -> str:
    out = io.StringIO()
    with Store.open(directory, write=False) as store:
        export_jsonl(store, out)
    return out.getvalue()


def check_kills(room: Path, times: int, seed: int) -> None:
    root, kept, script = room / "m", room / "kept", room / "learn.py"
    root.mkdir()
    (root / "go.mod").write_text("module example.com/m\n\ngo 1.22\n")
    script.write_text(LEARN)
    for package in range(PACKAGES):
        write_package(root, package, 0)
    began = time.monotonic()
    assert start(script, root, room / "timed", 2).wait() == 0
    whole = time.monotonic() - began
    chance = random.Random(seed)
    killed = 0
    for turn in range(1, times + 1):
        if chance.random() < 0.3:
            shutil.rmtree(kept, ignore_errors=True)
        for package in chance.sample(range(PACKAGES), chance.choice((1, 3, PACKAGES))):
            write_package(root, package, turn)
        process = start(script, root, kept, chance.choice((0, 2)))
        killed += kill_after(process, chance.uniform(0.1, 1.0) * whole, chance.random() < 0.5)
        with suppress(StoreMissing):
            exported(kept)
        learn_graph(root, store_directory=kept, workers=0)
        fresh = room / f"fresh{turn}"
        learn_graph(root, store_directory=fresh, workers=0)
        assert exported(kept) == exported(fresh), f"after kill number {turn} of seed {seed}"
        shutil.rmtree(fresh)
    assert killed


@pytest.mark.parametrize(("script", "least"), [(CREATE, 8), (INSTALL, 10)], ids=["create", "install"])
def test_a_kill_at_any_step_leaves_the_old_state_or_the_new_and_nothing_else(
    tmp_path: Path, script: str, least: int
) -> None:
    root, home, tests = tmp_path.resolve() / "m", tmp_path / "home", Path(__file__).parents[1]
    root.mkdir()
    home.mkdir()
    environ = {**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [sys.executable, "-c", script, str(tests), str(root)]
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) >= least


def test_a_learn_killed_at_any_moment_does_no_harm(tmp_path: Path) -> None:
    check_kills(tmp_path, 6, 1)


@pytest.mark.slow
def test_fifty_kills_do_no_harm(tmp_path: Path) -> None:
    check_kills(tmp_path, 50, 2)
