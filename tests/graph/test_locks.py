"""Locks bind processes that ask, and vanish with the process that held them."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from golore.graph.errors import StoreBusy
from golore.graph.files import locks
from support.watching import until

_HOLD = """
import sys
from pathlib import Path
from golore.graph.files import locks
held = locks.acquire(Path(sys.argv[1]), exclusive=sys.argv[2] == "exclusive", timeout=0, purpose="held")
print("held", flush=True)
sys.stdin.read()
"""


def holder(path: Path, mode: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _HOLD, str(path), mode]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def acquire(path: Path, *, exclusive: bool, timeout: float = 0.02) -> locks.FileLock:
    return locks.acquire(path, exclusive=exclusive, timeout=timeout, purpose="tried")


def test_shared_locks_go_together_and_shut_out_the_exclusive_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path, "shared") as process:
        acquire(path, exclusive=False).release()
        with pytest.raises(StoreBusy, match=f"cannot be tried: process {process.pid} \\(.*python"):
            acquire(path, exclusive=True)
        assert not locks.is_held(path)
        process.kill()


def test_exclusive_lock_shuts_out_all_others_and_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path, "exclusive") as process:
        for exclusive in (True, False):
            with pytest.raises(StoreBusy, match=f"process {process.pid} "):
                acquire(path, exclusive=exclusive)
        assert locks.is_held(path)
        process.kill()


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path, "exclusive") as process:
        process.kill()
    acquire(path, exclusive=True, timeout=0).release()


def test_waiting_gets_the_lock_when_its_holder_ends(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path, "exclusive") as process:
        assert process.stdin is not None
        process.stdin.close()
        acquire(path, exclusive=True, timeout=600).release()


def test_released_lock_can_be_released_again_and_taken_anew(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = acquire(path, exclusive=True)
    held.release()
    held.release()
    acquire(path, exclusive=True).release()
    assert not locks.is_held(tmp_path / "none")


def test_forked_child_neither_keeps_nor_ends_its_parents_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    held = acquire(path, exclusive=True)
    ready, tell = os.pipe()
    wait, done = os.pipe()
    child = os.fork()
    if child == 0:
        held.release()
        os.write(tell, b"x")
        os.close(done)
        os.read(wait, 1)
        os._exit(0)
    assert os.read(ready, 1) == b"x"
    assert locks.is_held(path)
    # As if the parent had died: its descriptor is gone, no unlock was called, and the child still lives.
    os.close(held._descriptor)  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    assert not locks.is_held(path)
    os.close(done)
    os.waitpid(child, 0)
    for descriptor in (ready, tell, wait):
        os.close(descriptor)


_SHARE = """
import sys
from pathlib import Path
from golore.graph.files import locks
print("ready", flush=True)
while True:
    locks.acquire_in_turn(Path(sys.argv[1]), exclusive=False, timeout=600, purpose="shared").release()
    held = locks.acquire_in_turn(Path(sys.argv[1]), exclusive=False, timeout=600, purpose="shared")
    for _ in range(20_000):
        pass
    held.release()
"""


def test_one_that_wants_it_alone_gets_it_among_many_that_share_it_all_the_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    command = [sys.executable, "-c", _SHARE, str(path)]
    sharers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    try:
        for sharer in sharers:
            assert sharer.stdout is not None
            assert sharer.stdout.readline() == "ready\n"
        for _ in range(5):
            locks.acquire_in_turn(path, exclusive=True, timeout=600, purpose="tried").release()
    finally:
        for sharer in sharers:
            sharer.kill()
            sharer.communicate()


def test_one_that_waits_for_a_long_reader_does_not_keep_the_others_out_for_good(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path, "shared") as long, ThreadPoolExecutor() as waiting:
        alone = waiting.submit(locks.acquire_in_turn, path, exclusive=True, timeout=600, purpose="tried")
        assert until(path.with_name("lock.turn").exists)
        locks.acquire_in_turn(path, exclusive=False, timeout=600, purpose="shared").release()
        assert not alone.done()
        long.kill()
        alone.result().release()


def test_a_reader_that_may_not_write_shares_without_a_turn(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.touch()
    tmp_path.joinpath("lock.turn").mkdir()  # what cannot be opened as a file; rights do not bind root
    locks.acquire_in_turn(path, exclusive=False, timeout=0, purpose="shared").release()
