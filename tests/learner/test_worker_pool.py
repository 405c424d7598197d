"""Worker processes, spawned or forked, do their tasks, may die, and keep nothing open that belongs to the learn."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from golore.learner.worker_pool import WorkerPool

FORKED = """
import os, sys
from pathlib import Path
from golore.learner.worker_pool import WorkerPool

def files(_):
    return sorted(os.readlink(path) for path in Path("/proc/self/fd").iterdir() if path.exists())

def die(task):
    return os._exit(1) if task else os.getppid()

if __name__ == "__main__":
    with open(sys.argv[1], "w"), WorkerPool(2, fork=True) as pool:
        assert dict(pool.run(die, [0])) == {0: os.getpid()}
        assert sys.argv[1] not in next(pool.run(files, ["x"]))[1]
        assert dict(pool.run(die, [0, 1])) == {0: os.getpid(), 1: None}
        print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_forked_workers_keep_no_file_of_this_process_open_and_may_die(tmp_path: Path):
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    command = [sys.executable, str(script), str(tmp_path / "lock")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_workers_are_not_forked_while_a_database_is_open(tmp_path: Path):
    with closing(sqlite3.connect(tmp_path / "cache.db")) as connection:
        connection.execute("CREATE TABLE t(x)")
        with WorkerPool(2, fork=True) as pool:
            assert not pool.started


def test_a_pool_of_size_0_runs_tasks_in_this_process():
    with WorkerPool(0, fork=True) as pool:
        assert list(pool.run(_pid, ["x"])) == [("x", os.getpid())]


def _pid(_: str) -> int:
    return os.getpid()
