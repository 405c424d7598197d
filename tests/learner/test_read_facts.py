"""Facts of files are read by several processes, of which one may die."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

READING = """
import os, sys, time
from pathlib import Path
from golore.graph.files.cache_db import Cache
from golore.graph.files.file_state import state_from
from golore.learner.checkout.content_digest import digest
from golore.learner.project import read_facts
from golore.learner.worker_pool import WorkerPool

real = read_facts._read_batch

def read(batch):
    if batch.files[0].name == "bad.go":
        os._exit(1)
    time.sleep(0.02)  # another process is busy when one dies
    return real(batch)

if __name__ == "__main__":
    root = Path(sys.argv[1])
    read_facts._read_batch = read
    read_facts.BATCH_BYTES = 1  # each file is a batch
    files = [read_facts.FileToRead(path.name, str(path), state_from(path.stat())) for path in sorted(root.glob("*.go"))]
    with WorkerPool(2, fork=True) as pool, Cache.open(root / "cache.db") as cache:
        found = read_facts.read_files(cache, pool, files, {}, lambda _: None)
    assert [(problem.file, problem.message) for problem in found.problems] == [
        ("bad.go", "file not learned: the parser crashed on it")
    ]
    assert {name: file.digest for name, file in found.files.items()} == {
        file.name: digest(Path(file.path).read_bytes()) for file in files if file.name != "bad.go"
    }
    assert all(found.heads[name].package == name.removesuffix(".go") for name in found.files)
    print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_a_file_on_which_a_process_dies_is_reported_and_no_file_gets_the_facts_of_another(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("bad", *(f"p{number}" for number in range(30))):
        (tree / f"{name}.go").write_text(f"package {name}\n")
    script = tmp_path / "reading.py"
    script.write_text(READING)
    done = subprocess.run([sys.executable, str(script), str(tree)], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("done\n", "")
