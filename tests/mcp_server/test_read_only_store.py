"""A store that cannot be written answers questions: on a read-only file system, or without permission."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from golore.graph.safety.trust import register_store
from golore.learner.learn import learn
from golore.learner.pipeline.graph_step import learn_graph
from support.git_repository import commit, git
from support.shop import make_shop
from support.stores import put_note

QUESTIONS = (
    ("status",),
    ("search", "save"),
    ("context", "store/store.go"),
    ("callers", "Memory.Save"),
    ("show", "Memory.Save"),
    ("note", "--list"),
    ("recent",),
    ("recent", "main.go"),
    ("recent", "Memory.Save"),
)
_MOUNT = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_shop(tmp_path / "shop")
    git(root, "init", "-q")
    commit(root, {})
    learn(root, root / ".golore", workers=0)
    commit(root, {"main.go": (root / "main.go").read_text() + "\n// After the learn.\n"})
    learn_graph(root, workers=0)
    put_note(root / ".golore", "n1")
    return root


def golore(before: list[str], root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = "import sys; from golore.mcp_server.entry import main; sys.exit(main())"
    command = [*before, sys.executable, "-c", program, *words, "--repo", str(root)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def can_run(command: list[str]) -> bool:
    return (
        shutil.which(command[0]) is not None
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


def check_questions(before: list[str], root: Path) -> None:
    for words in QUESTIONS:
        done = golore(before, root, *words)
        assert (done.returncode, done.stderr) == (0, ""), words
    written = golore(before, root, "note", "main.go", "More.")
    assert written.returncode == 1
    assert "knowledge.db cannot be used" in written.stderr


def test_questions_are_answered_without_permission_to_write(root: Path) -> None:
    before: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everything, and there is no setpriv to take that from it")
        before = ["setpriv", "--bounding-set=-all"]
    for path in (*(root / ".golore").iterdir(), root / ".golore"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        check_questions(before, root)
    finally:
        (root / ".golore").chmod(0o755)


def test_questions_are_answered_on_a_read_only_file_system(root: Path) -> None:
    before = ["unshare", "-m", "sh", "-c", _MOUNT, "sh", str(root)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*before, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("a read-only mount needs the right to mount")
    check_questions(before, root)


def test_a_full_disk_is_named_when_a_note_is_written(root: Path) -> None:
    """The file system has room for the store and nothing else."""
    size = sum(path.stat().st_blocks * 512 for path in root.rglob("*"))
    script = f'mount -t tmpfs -o size={size + (96 << 10)} tmpfs "$1" && cp -r "$2/." "$1" && shift 2 && '
    script += '(cat /dev/zero > "$0/filler" 2>/dev/null; exec "$@")'
    target = root.with_name("full")
    (target / ".golore").mkdir(parents=True)
    shutil.copy(root / ".golore" / "id", target / ".golore")
    register_store(str(target.resolve() / ".golore"))
    before = ["unshare", "-m", "sh", "-c", script, str(target), str(target), str(root)]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*before, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("a small file system needs the right to mount")
    done = golore(before, target, "note", "main.go", "More.")
    assert done.returncode == 1
    assert "No space left" in done.stderr or "is full" in done.stderr
