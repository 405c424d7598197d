"""A disk without room, and a limit of file size: commands fail with a reason, the old state stays, and they work again
when there is room."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.safety.trust import register_store
from golore.learner.learn import learn
from golore.mcp_server.cli.main import main
from support.shop import make_shop
from support.torture_tree import learned_part
from support.watching import GOLORE, exported

WRITERS = (["learn"], ["learn", "--full"], ["note", "main.go", "More."])
_SMALL_DISK = 'mount -t tmpfs -o size="$2" tmpfs "$1" && cp -a "$3/." "$1" && exec sh "$0" "$1" "$4"'
_FILL_AND_RUN = """
root=$1 golore=$2 symbol="Memory.Save"
cat /dev/zero > "$root/filler" 2>/dev/null
for words in "learn" "learn --full" "note main.go More."; do
    (cd "$root" && "$golore" $words) > "$root.out" 2>&1 && echo "succeeded: $words" && exit 1
    grep -Eq "full|No space left" "$root.out" || { echo "$words:"; cat "$root.out"; exit 2; }
    (cd "$root" && "$golore" callers "$symbol") > "$root.out" 2>&1 || { echo "callers:"; cat "$root.out"; exit 3; }
done
rm "$root/filler"
for words in "learn" "note main.go More." "learn --full" "callers $symbol"; do
    (cd "$root" && "$golore" $words) > "$root.out" 2>&1 || { echo "$words:"; cat "$root.out"; exit 4; }
done
(cd "$root" && "$golore" note --list)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_shop(tmp_path.resolve() / "shop")
    learn(root, root / ".golore", workers=0)
    assert main(["note", "main.go", "First.", "--repo", str(root)]) == 0
    (root / "more.go").write_text("package main\n\nfunc more() { run() }\n")
    return root


@pytest.mark.parametrize("blocks", [40, *(pytest.param(number, marks=pytest.mark.slow) for number in (1, 200))])
def test_a_limit_of_file_size_leaves_the_old_state_or_the_new(blocks: int, root: Path) -> None:
    before = learned_part(exported(root / ".golore"))
    for words in WRITERS:
        limited = ["bash", "-c", f'ulimit -f {blocks}; exec "$0" "$@"', GOLORE, *words]
        done = subprocess.run(limited, cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), (words, done.stderr)
        assert "Traceback" not in done.stderr
        assert "Internal error" not in done.stderr
        after = learned_part(exported(root / ".golore"))
        assert after == before or "example.com/shop.more" in "".join(after)
    done = subprocess.run([GOLORE, "learn", root], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "example.com/shop.more" in "".join(exported(root / ".golore"))
    with Knowledge.open(root / ".golore") as knowledge:
        assert ("First.",) in list(knowledge.rows("SELECT text FROM notes"))


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_state(root: Path, tmp_path: Path) -> None:
    target, script = tmp_path.resolve() / "full", tmp_path / "script"
    (target / ".golore").mkdir(parents=True)
    shutil.copy(root / ".golore" / "id", target / ".golore")
    register_store(str(target / ".golore"))
    script.write_text(_FILL_AND_RUN)
    mounted = ["unshare", "-m", "sh", "-c", _SMALL_DISK, script, target, str(24 << 20), root]
    if shutil.which("unshare") is None or subprocess.run(["unshare", "-m", "true"], check=False).returncode:
        pytest.skip("a small file system needs the right to mount")
    done = subprocess.run([*mounted, GOLORE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "First." in done.stdout
    assert "More." in done.stdout
