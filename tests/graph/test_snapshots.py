"""What a snapshot holds comes back whole, whatever has happened to the store since, and a kill leaves no half of it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golore.graph.database.store import Store
from golore.graph.errors import StoreDamaged, UsageError
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, PENDING_NAME
from golore.graph.files.manifest import read_manifest
from golore.graph.transfer.snapshots import require_intact, restore_snapshot, snapshots, take_snapshot
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from support.learned_tree import copy_repository
from support.shop import make_shop
from support.stores import exported, put_note, truncate_graph

KILLED = """
import os, signal, sys
from pathlib import Path
from golore.graph.files.handover import finish_handover
from golore.graph.transfer.snapshots import restore_snapshot
from golore.graph.files.graph_digests import file_digest
from golore.graph.files.manifest import read_manifest
from golore.graph.files.knowledge_rows import rows_of
from golore.graph.files.knowledge_db import Knowledge

store, clean = Path(sys.argv[1]), Path(sys.argv[2])

def state():
    with Knowledge.open(store) as knowledge:
        notes = list(rows_of(knowledge, "notes", ("id", "text")))
    return file_digest(store / read_manifest(store).graph), notes

def restore_until(last):
    seen = 0
    def count(event, arguments):
        nonlocal seen
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect"):
            seen += 1
            if seen == last:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    restore_snapshot(store, "kept")
    os._exit(0)

import shutil
def reset():
    shutil.rmtree(store)
    shutil.copytree(clean, store)

old = state()
told = []
for last in range(1, 1000):
    reset()
    child = os.fork()
    if not child:
        restore_until(last)
    status = os.waitpid(child, 0)[1]
    new = state()
    told.append("old" if new == old else new)
    if not os.WIFSIGNALED(status):
        break
final = told[-1]
assert final != "old", "the restore was finished"
assert all(one in ("old", final) for one in told), [one for one in told if one not in ("old", final)]
assert told == sorted(told, key=lambda one: one != "old"), "once it is the new one it stays that"
print(len(told), told.count("old"))
"""


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("learned") / "shop")
    learn_graph(root, workers=0)
    put_note(root / ".golore", "n1")
    return root


@pytest.fixture
def shop(learned: Path, tmp_path: Path) -> Path:
    """A learned repository with one note."""
    return copy_repository(learned, tmp_path / "shop")


def edit(root: Path) -> None:
    main_file = root / "main.go"
    main_file.write_text(main_file.read_text() + "\nfunc Later() { run() }\n")
    learn_graph(root, workers=0)


def empty_graph(store: Path) -> None:
    for path in store.glob("graph-*"):
        os.truncate(path, 0)


def lose_graph(store: Path) -> None:
    for path in store.glob("graph-*"):
        path.unlink()


def lose_cache(store: Path) -> None:
    (store / "cache.db").unlink()


def scribble(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at : at + 3_000] = os.urandom(3_000)
    path.write_bytes(data)


def corrupt_knowledge(store: Path) -> None:
    scribble(store / KNOWLEDGE_NAME, 0)


def corrupt_inside_knowledge(store: Path) -> None:
    """Past its head, which still looks right."""
    for at in range(4_096, (store / KNOWLEDGE_NAME).stat().st_size - 4_096, 4_096):
        scribble(store / KNOWLEDGE_NAME, at)


def lose_knowledge(store: Path) -> None:
    (store / KNOWLEDGE_NAME).unlink()


def spoil_manifest(store: Path) -> None:
    (store / "store.json").write_text("{")


def lose_all_but_snapshots(store: Path) -> None:
    for path in store.iterdir():
        if path.is_file():
            path.unlink()


@pytest.mark.parametrize(
    "damage",
    [
        truncate_graph,
        lose_cache,
        corrupt_knowledge,
        corrupt_inside_knowledge,
        lose_all_but_snapshots,
        pytest.param(empty_graph, marks=pytest.mark.slow),
        pytest.param(lose_graph, marks=pytest.mark.slow),
        pytest.param(lose_knowledge, marks=pytest.mark.slow),
        pytest.param(spoil_manifest, marks=pytest.mark.slow),
    ],
)
def test_a_restore_after_damage_loses_nothing_that_was_in_the_snapshot(
    damage: Callable[[Path], None], shop: Path
) -> None:
    store = shop / ".golore"
    before = exported(store)
    take_snapshot(store, "kept")
    edit(shop)
    put_note(store, "n2")
    damage(store)
    restore_snapshot(store, "kept")
    assert exported(store) == before
    report = learn_graph(shop, workers=0)
    assert report.rows_written > 0
    assert '"name":"Later"' in exported(store)


def test_a_damaged_file_of_knowledge_is_kept_aside(shop: Path) -> None:
    store = shop / ".golore"
    take_snapshot(store, "kept")
    corrupt_knowledge(store)
    damaged = (store / KNOWLEDGE_NAME).read_bytes()
    restore_snapshot(store, "kept")
    assert (store / f"{KNOWLEDGE_NAME}.damaged-1").read_bytes() == damaged


def test_a_kill_at_any_step_of_a_restore_leaves_the_old_or_the_new(shop: Path, tmp_path: Path) -> None:
    store = shop / ".golore"
    take_snapshot(store, "kept")
    edit(shop)
    put_note(store, "n2")
    with Store.open(store, write=True) as opened:
        opened.checkpoint()
    shutil.copytree(store, tmp_path / "clean")
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    told = subprocess.run(
        [sys.executable, script, store, tmp_path / "clean"], capture_output=True, text=True, check=False
    )
    assert told.returncode == 0, told.stderr
    steps, old = map(int, told.stdout.split())
    assert 10 < old < steps - 3, "both ends were seen"


def test_a_restore_that_was_killed_in_between_is_finished_by_whoever_opens_the_store(shop: Path) -> None:
    store = shop / ".golore"
    before = exported(store)
    take_snapshot(store, "kept")
    edit(shop)
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from golore.graph.transfer.snapshots import restore_snapshot\n"
        "def stop(event, arguments):\n"
        "    if event == 'os.rename' and str(arguments[1]).endswith('store.json'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(stop)\n"
        "restore_snapshot(Path(sys.argv[1]), 'kept')\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, store], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (store / PENDING_NAME).exists()
    assert exported(store) == before
    assert not (store / PENDING_NAME).exists()


@pytest.mark.parametrize("turns", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_snapshots_taken_while_a_writer_and_readers_work_are_whole(turns: int, shop: Path) -> None:
    store = shop / ".golore"
    take_snapshot(store, "first")
    writer = (
        "import sys; from pathlib import Path\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from support.stores import put_note\n"
        "from golore.learner.pipeline.graph_step import learn_graph\n"
        "root = Path(sys.argv[1])\n"
        "text = (root / 'main.go').read_text()\n"
        "for turn in range(1, int(sys.argv[3]) + 1):\n"
        "    (root / 'main.go').write_text(text + ''.join(f'func Turn{n}() {{ run() }}\\n' for n in range(turn)))\n"
        "    learn_graph(root, workers=0)\n"
        "    put_note(root / '.golore', f't{turn}')\n"
    )
    working = subprocess.Popen(
        [sys.executable, "-c", writer, shop, Path(__file__).parents[1], str(turns)], stderr=subprocess.PIPE, text=True
    )
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            with Store.open(store, write=False, wait=30) as opened:
                next(opened.rows("MATCH (s:Symbol) RETURN count(s)"))

    reading = threading.Thread(target=read)
    reading.start()
    taken = 0
    while working.poll() is None:
        take_snapshot(store, f"s{taken}")
        taken += 1
    _, said = working.communicate()
    ended.set()
    reading.join()
    assert working.returncode == 0, said
    take_snapshot(store, "last")
    seen: set[int] = set()
    for snapshot in snapshots(store):
        lines = [json.loads(line) for line in exported(snapshot.path).splitlines()]
        names = {line["name"] for line in lines if line["type"] == "node" and line.get("name", "").startswith("Turn")}
        calls = {line["source"] for line in lines if line["label"] == "CALLS" and ".Turn" in line["source"]}
        assert names == {f"Turn{number}" for number in range(len(names))}
        assert len(calls) == len(names)
        seen.add(len(names))
    assert seen >= {0, turns}


def test_two_snapshots_of_one_graph_are_one_file(shop: Path) -> None:
    one, two = (take_snapshot(shop / ".golore", name) for name in ("one", "two"))
    graph = read_manifest(one.path)
    assert graph is not None
    assert (one.path / graph.graph).samefile(two.path / graph.graph)
    live = read_manifest(shop / ".golore")
    assert live is not None
    assert not (shop / ".golore" / live.graph).samefile(one.path / graph.graph)


def test_a_learn_after_a_snapshot_does_not_reach_into_it(shop: Path) -> None:
    store = shop / ".golore"
    before = exported(store)
    snapshot = take_snapshot(store, "kept")
    edit(shop)
    with Store.open(store, write=True) as opened:
        opened.checkpoint()
    restore_snapshot(store, snapshot.name)
    edit(shop)
    assert exported(snapshot.path) == before


def test_a_damaged_snapshot_is_not_restored(shop: Path) -> None:
    store = shop / ".golore"
    snapshot = take_snapshot(store, "kept")
    before = exported(store)
    graph = next(snapshot.path.glob("graph-*.db"))
    scribble(graph, 8_192)
    with pytest.raises(StoreDamaged, match="missing or damaged"):
        restore_snapshot(store, "kept")
    assert exported(store) == before


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "now", "x.tmp", "a b"])
def test_a_name_that_could_lead_elsewhere_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot name a snapshot"):
        take_snapshot(tmp_path, name)


def told(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    assert main([str(word) for word in words]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_commands_keep_compare_and_restore(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "snapshot", "one", "--repo", shop, "--json")
    edit(shop)
    put_note(shop / ".golore", "n2", "Later is for later.")
    found = told(capsys, "diff", "one", "--repo", shop, "--json")
    assert found["summary"]["node Symbol func"] == {"added": 1, "removed": 0, "changed": 0, "moved": 0}
    assert found["summary"]["knowledge notes"] == {"added": 1, "removed": 0, "changed": 0, "moved": 0}
    calls = [one for one in found["differences"] if one["label"] == "CALLS"]
    assert [(one["how"], one["id"], one["target"]) for one in calls] == [
        ("added", "example.com/shop.Later", "example.com/shop.run")
    ]
    back = told(capsys, "restore", "one", "--repo", shop, "--json")
    assert back["differing"]["edited"] == ["main.go"]
    assert told(capsys, "diff", "one", "now", "--repo", shop, "--json")["differences"] == []
    names = [one["name"] for one in told(capsys, "snapshot", "--list", "--repo", shop, "--json")["snapshots"]]
    assert names == ["one", "before-restore"]
    told(capsys, "restore", "before-restore", "--repo", shop, "--json")
    undone = told(capsys, "diff", "one", "--repo", shop, "--json")
    assert undone["differences"] == found["differences"]


def test_code_that_only_moved_is_told_apart(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(capsys, "snapshot", "one", "--repo", shop, "--json")
    path = shop / "store" / "sync_linux.go"
    path.write_text(path.read_text().replace("func Sync", "\n\nfunc Sync"))
    learn_graph(shop, workers=0)
    found = told(capsys, "diff", "one", "--repo", shop, "--json")["summary"]
    assert found["node Symbol func"] == {"added": 0, "removed": 0, "changed": 0, "moved": 1}


def test_a_snapshot_that_is_not_there_is_told_with_those_that_are(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told(capsys, "snapshot", "one", "--repo", shop, "--json")
    assert main(["restore", "two", "--repo", str(shop)]) == 2
    assert "There is no snapshot two. Choose one of: one." in capsys.readouterr().err


def test_a_snapshot_does_not_remove_the_files_of_another_that_is_being_taken(shop: Path) -> None:
    store = shop / ".golore"
    killed, running = (store / "snapshots" / f"{name}.1.tmp" for name in ("killed", "running"))
    for path in (killed, running):
        path.mkdir(parents=True)
        (path / "graph-1.db").write_text("")
    holder = (
        "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX); "
        "print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(running.with_suffix(".lock"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"1\n"
        take_snapshot(store, "whole")
        assert running.is_dir()
        assert not killed.exists()
        process.communicate(b"\n")
    take_snapshot(store, "whole", replace=True)
    assert [path.name for path in (store / "snapshots").iterdir()] == ["whole"]


def test_snapshots_taken_at_the_same_time_are_both_whole(shop: Path) -> None:
    store = shop / ".golore"
    program = "import sys; from golore.mcp_server.entry import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "snapshot", "--repo", str(shop)]
    running = [subprocess.Popen([*command, f"s{number}"], stdout=subprocess.DEVNULL) for number in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert {one.name for one in snapshots(store)} == {"s0", "s1", "s2"}
    for one in snapshots(store):
        require_intact(one)


def test_removing_a_snapshot_and_exporting_to_a_file_answer_in_json(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take_snapshot(shop / ".golore", "whole")
    output = tmp_path / "out.jsonl"
    for words, answer in (
        (("snapshot", "--remove", "whole"), {"removed": "whole"}),
        (("export", "--output", str(output)), {"output": str(output), "format": "jsonl"}),
    ):
        capsys.readouterr()
        assert main([*words, "--json", "--repo", str(shop)]) == 0
        assert json.loads(capsys.readouterr().out) == answer
