"""The durable file of knowledge, its copy in the graph, and that the copy makes no other graph of it."""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from golore.graph.database.engine import engine_name
from golore.graph.database.projection import Projection, is_projected, project
from golore.graph.database.store import Store
from golore.graph.errors import StoreBusy, StoreDamaged, StoreMismatch
from golore.graph.files.identity import graph_identity
from golore.graph.files.knowledge_db import APPLICATION, KNOWLEDGE_NAME, Knowledge
from golore.graph.knowledge.note_nodes import project_notes
from golore.graph.knowledge.notes import Anchor, NewNote, all_notes, forget, mark_for_projection, write_notes
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, Node, Note
from golore.learner.checkout.freshness import changes_since
from golore.learner.derived.note_step import update_notes
from golore.learner.pipeline.graph_step import learn_graph
from golore.learner.pipeline.incremental import IncrementalLearner
from support.learned_tree import copy_repository
from support.note_repository import kept, make_bank, pin

POST = "example.com/bank/ledger.Post"
NOWHERE = Anchor("", "", "", "", "", "", "", "")
DESCRIBES = EdgeKind("DESCRIBES", "Note", "Symbol")
WRITER = """
import sys
from pathlib import Path
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import Anchor, NewNote, write_notes
anchor = Anchor("repository", ".", ".", "", "repository", ".", ".", "")
with Knowledge.open(Path(sys.argv[1])) as knowledge:
    number = 0
    while True:
        texts = [f"{sys.argv[2]} {number} {part}" for part in range(3)]
        ids = write_notes(knowledge, [NewNote("note", text, "", anchor) for text in texts])
        print(*ids, flush=True)
        number += 1
"""


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_bank(tmp_path_factory.mktemp("knowledge") / "bank")
    learn_graph(root, workers=0)
    return root


@pytest.fixture
def root(learned: Path, tmp_path: Path) -> Path:
    return copy_repository(learned, tmp_path / "bank")


def note_node(id: str, text: str = "t") -> Note:
    return Note(id, "note", text, "s", "", "person", "2026-11-16T00:00:00Z", ("a",), "active", "")


def in_graph(directory: Path) -> tuple[list[Node], list[tuple[str, str]]]:
    with Store.open(directory, write=False) as store:
        nodes = list(store.nodes("Note"))
        rows = store.rows("MATCH (n:Note)-[:DESCRIBES]->(s:Symbol) RETURN n.id, s.id ORDER BY n.id, s.id")
        return nodes, [(row[0], row[1]) for row in rows]


def test_what_was_written_before_a_kill_is_there_and_nothing_is_there_by_half(tmp_path: Path) -> None:
    check_kills(tmp_path, turns=3, writers=2)


@pytest.mark.slow
def test_forty_kills_of_four_writers_lose_nothing(tmp_path: Path) -> None:
    check_kills(tmp_path, turns=40, writers=4)


def check_kills(room: Path, turns: int, writers: int) -> None:
    """Writers are killed at any moment, several at once on one file; each told the ids of what it had written."""
    script = room / "writer.py"
    script.write_text(WRITER)
    chance = random.Random(1)
    told: set[str] = set()
    for turn in range(turns):
        names = [f"{turn}.{number}" for number in range(writers)]
        outs = [room / f"{name}.out" for name in names]
        running: list[subprocess.Popen[bytes]] = []
        for name, out in zip(names, outs, strict=True):
            with out.open("wb") as to:
                running.append(subprocess.Popen([sys.executable, script, room / "store", name], stdout=to))
        until = time.monotonic() + 60
        wanted = chance.randrange(1, 400)
        while sum(out.stat().st_size for out in outs) < wanted and time.monotonic() < until:
            time.sleep(0.001)
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.wait()
        told |= {
            id
            for out in outs
            for line in out.read_text().splitlines(keepends=True)
            if line.endswith("\n")
            for id in line.split()
        }
        texts = {note.id: note.text for note in kept(room / "store")}
        assert told <= texts.keys()
        groups = {text.rpartition(" ")[0] for text in texts.values()}
        assert len(texts) == 3 * len(groups), "a transaction was kept by half"
    assert told


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    with Knowledge.open(tmp_path) as knowledge:
        assert list(knowledge.rows("PRAGMA synchronous")) == [(2,)]  # FULL: a commit is synced before it returns


def test_a_torn_write_is_as_if_it_had_not_begun(tmp_path: Path) -> None:
    with Knowledge.open(tmp_path) as knowledge:
        write_notes(knowledge, [NewNote("note", "kept", "", NOWHERE)])
        with suppress(KeyboardInterrupt), knowledge.transaction() as run:
            run.run("DELETE FROM notes")
            raise KeyboardInterrupt
        assert [note.text for note in all_notes(knowledge)] == ["kept"]


def test_a_file_of_a_newer_golore_and_a_foreign_one_are_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / KNOWLEDGE_NAME
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs(a)")
    connection.commit()
    with pytest.raises(StoreMismatch, match="was not made by golore"):
        Knowledge.open(tmp_path)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute("PRAGMA user_version = 99999")
    connection.commit()
    with pytest.raises(StoreMismatch, match="newer golore"):
        Knowledge.open(tmp_path)
    assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == ["theirs"]
    connection.close()


def test_a_damaged_file_is_told_and_kept(tmp_path: Path) -> None:
    path = tmp_path / KNOWLEDGE_NAME
    path.write_bytes(b"This was a database once, and somebody wrote over it. " * 100)
    with pytest.raises(StoreDamaged, match="was not changed"):
        Knowledge.open(tmp_path)
    assert path.read_bytes().startswith(b"This was a database once")


def test_a_writer_that_waits_too_long_says_so(tmp_path: Path) -> None:
    with Knowledge.open(tmp_path) as first, Knowledge.open(tmp_path, wait=0.05) as second:  # noqa: SIM117
        with first.transaction() as run:
            run.run("DELETE FROM notes")
            with pytest.raises(StoreBusy, match="Try again"):
                mark_for_projection(second, ["a"])


def test_a_projection_writes_what_differs_and_leaves_out_edges_to_nothing(root: Path) -> None:
    store = root / ".golore"
    edges = {DESCRIBES: [Edge("a", POST, evidence="named"), Edge("a", "no such")]}
    assert project(store, Projection("Note", [note_node("a"), note_node("b")], edges, "1")) == 3
    assert in_graph(store) == ([note_node("a"), note_node("b")], [("a", POST)])
    assert project(store, Projection("Note", [], {}, "1")) == 0, "the mark says that all is there"
    assert project(store, Projection("Note", [note_node("a", "u"), note_node("b")], edges, "2")) == 1
    with Store.open(store, write=False) as opened:
        assert is_projected(opened, "Note", "2")
    assert project(store, Projection("Note", [note_node("c")], {}, "3", ids=["b", "c"])) == 2
    assert in_graph(store) == ([note_node("a", "u"), note_node("c")], [("a", POST)])


def test_a_learn_that_has_the_store_lets_a_projection_wait(root: Path) -> None:
    pin(root, [("symbol", POST, NewNote("note", "kept", "", NOWHERE))])
    with Store.open(root / ".golore", write=True), pytest.raises(StoreBusy):
        project_notes(root / ".golore", wait=0.05)
    assert [note.text for note in kept(root / ".golore")] == ["kept"]
    assert in_graph(root / ".golore") == ([], [])
    update_notes(root, root / ".golore")
    assert [edge[1] for edge in in_graph(root / ".golore")[1]] == [POST]


def test_a_note_makes_no_other_graph_a_watch_stays_warm_and_nothing_counts_as_changed(root: Path) -> None:
    learner = IncrementalLearner(root, workers=0)
    learner.learn()
    before = graph_identity(root / ".golore")
    pin(root, [("symbol", POST, NewNote("note", "kept", "", NOWHERE))])
    assert project_notes(root / ".golore") == 2
    assert graph_identity(root / ".golore") == before
    with Store.open(root / ".golore", write=False) as store:
        changes = changes_since(root, store)
    assert changes is not None
    assert len(changes) == 0
    path = root / "ledger/ledger.go"
    path.write_text(path.read_text().replace("sum: 0", "sum: 7"))
    update = learner.update(["ledger/ledger.go"])
    assert (update.is_incremental, update.paths) == (True, ("ledger/ledger.go",))
    assert update_notes(root, root / ".golore", changed=update.paths) == frozenset()
    assert learner.update(["ledger/ledger.go"]).is_incremental
    assert in_graph(root / ".golore")[1] != []


def test_a_note_whose_symbol_went_and_came_back_keeps_its_edge(root: Path) -> None:
    store, path = root / ".golore", root / "ledger/ledger.go"
    (id,) = pin(root, [("symbol", POST, NewNote("note", "kept", "", NOWHERE))])
    project_notes(store)
    text = path.read_text()
    path.write_text(text[: text.index("// Post")])
    learn_graph(root, workers=0)
    assert in_graph(store)[1] == [], "the edge goes with its code"
    path.write_text(text)
    learn_graph(root, workers=0)
    update_notes(root, store)
    assert in_graph(store)[1] == [(id, POST)]


def test_the_work_for_notes_follows_the_change(root: Path) -> None:
    """Only notes of changed files are looked at: one of another file, made wrong on purpose, stays so."""
    (_, other) = pin(
        root,
        [
            ("symbol", POST, NewNote("note", "a", "", NOWHERE)),
            ("symbol", "example.com/bank/ledger.Report", NewNote("note", "b", "", NOWHERE)),
        ],
    )
    project_notes(root / ".golore")
    with Knowledge.open(root / ".golore") as knowledge, knowledge.transaction() as run:
        run.run("UPDATE note_anchors SET now = 'wrong' WHERE note = ?", (other,))
    path = root / "ledger/ledger.go"
    path.write_text(path.read_text().replace("l.sum += amount", "l.sum += 2 * amount"))
    learn_graph(root, workers=0)
    assert update_notes(root, root / ".golore", changed=["ledger/ledger.go"]) == {"ledger/ledger.go"}
    drifted = {note.text: bool(note.anchor.drifted) for note in kept(root / ".golore")}
    assert drifted == {"a": True, "b": True}
    assert update_notes(root, root / ".golore", changed=["main.go"]) == frozenset()


def test_a_graph_made_anew_and_knowledge_put_back_get_all_notes(root: Path) -> None:
    store = root / ".golore"
    ids = pin(root, [("symbol", POST, NewNote("note", text, "", NOWHERE)) for text in ("a", "b")])
    update_notes(root, store)
    learn_graph(root, full=True, workers=0)
    assert in_graph(store) == ([], [])
    update_notes(root, store)
    assert sorted(in_graph(store)[1]) == sorted((id, POST) for id in ids)
    aside = shutil.copy(store / KNOWLEDGE_NAME, root.parent / "aside.db")
    with Knowledge.open(store) as knowledge:
        forget(knowledge, ids[0])
        write_notes(knowledge, [])
    project_notes(store)
    assert [edge[0] for edge in in_graph(store)[1]] == [ids[1]]
    for left in store.glob(f"{KNOWLEDGE_NAME}*"):
        left.unlink()
    shutil.copy(aside, store / KNOWLEDGE_NAME)
    project_notes(store)
    assert sorted(in_graph(store)[1]) == sorted((id, POST) for id in ids)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("kuzu") is None, reason="kuzu is an extra and is not installed")
@pytest.mark.skipif(engine_name() == "kuzu", reason="this is that run")
def test_all_of_this_holds_on_kuzu() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", "-m", "not slow", __file__],
        env={**os.environ, "GOLORE_ENGINE": "kuzu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
