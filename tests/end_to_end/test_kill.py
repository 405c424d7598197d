"""A learn that is killed at any moment leaves a store that opens, and the next learn ends in the right graph."""

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


def test_a_learn_killed_at_any_moment_does_no_harm(tmp_path: Path) -> None:
    check_kills(tmp_path, 6, 1)


@pytest.mark.slow
def test_fifty_kills_do_no_harm(tmp_path: Path) -> None:
    check_kills(tmp_path, 50, 2)
