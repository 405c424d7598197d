"""Stores that share their knowledge: what one writes, the others have; nothing is lost when one of them is."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from golore.graph.files import knowledge_db, shared_knowledge
from golore.graph.files.claim import create_store_directory
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, Knowledge
from golore.graph.files.knowledge_rows import copy_rows_from
from golore.graph.files.shared_knowledge import link_store, shared_file, take_received
from golore.graph.knowledge.notes import (
    Anchor,
    NewNote,
    all_notes,
    confirm,
    digests_it_holds_for,
    forget,
    move_anchors,
    set_done,
    write_notes,
)
from golore.graph.knowledge.ratings import rate, rated_items, remove_ratings
from golore.graph.knowledge.summaries import NewSummary, current, history, store_summary
from golore.graph.knowledge.summary_inputs import InputPart, Inputs, InputText

NAME = "0123456789abcdef" * 2
WRITER = """
import sys
from pathlib import Path
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import Anchor, NewNote, write_notes
anchor = Anchor("repository", ".", ".", "", "repository", ".", ".", "")
for number in range(int(sys.argv[3])):
    with Knowledge.open(Path(sys.argv[1])) as knowledge:
        write_notes(knowledge, [NewNote("note", f"{sys.argv[2]} {number}", "", anchor)])
    print(number, flush=True)
"""


def anchor(name: str = "Save", written: str = "d0", **more: str) -> Anchor:
    return Anchor("symbol", name, name, "store.go", "symbol", name, name, "store.go", written, written, "b0")._replace(
        **more
    )


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def make_store(path: Path, *, name: str = NAME) -> Path:
    create_store_directory(path)
    link_store(path, name, "/somewhere/.git")
    return path


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return make_store(tmp_path / "first")


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return make_store(tmp_path / "second")


def write(store: Path, text: str, where: Anchor | None = None, *, supersedes: str = "") -> str:
    with Knowledge.open(store) as knowledge:
        new = NewNote("decision", text, "Anna", where or anchor(), supersedes=supersedes)
        return write_notes(knowledge, [new])[0]


def texts(store: Path) -> list[str]:
    with Knowledge.open(store) as knowledge:
        return sorted(note.text for note in all_notes(knowledge))


def test_nothing_is_created_until_there_is_something_to_share(first: Path, state: Path) -> None:
    assert not Knowledge.exists(first)
    with Knowledge.open(first):
        pass
    assert not (state / "golore/knowledge").exists()


def test_what_one_store_writes_the_others_have(first: Path, second: Path) -> None:
    old = write(first, "old")
    assert Knowledge.exists(second)
    assert texts(second) == ["old"]
    write(second, "new", supersedes=old)
    with Knowledge.open(second) as knowledge:
        rate(knowledge, "store.go", useful=True, by="Anna")
    with Knowledge.open(first) as knowledge:
        assert [(note.text, note.status) for note in sorted(all_notes(knowledge), key=lambda one: one.text)] == [
            ("new", "active"),
            ("old", "superseded"),
        ]
        assert [one.item for one in rated_items(knowledge)] == ["store.go"]
        assert take_received(knowledge, ("card",)) == [("card", "store.go")]
        assert take_received(knowledge, ("card",)) == []
        set_done(knowledge, old)
        remove_ratings(knowledge)
    with Knowledge.open(second) as knowledge:
        assert [note.done != "" for note in all_notes(knowledge) if note.id == old] == [True]
        assert rated_items(knowledge) == []
        forget(knowledge, old)
    assert texts(first) == ["new"]


def test_a_lost_store_loses_nothing(first: Path, second: Path, tmp_path: Path) -> None:
    write(first, "kept")
    shutil.rmtree(first)
    assert texts(make_store(tmp_path / "third")) == ["kept"]
    assert texts(second) == ["kept"]


def test_knowledge_from_before_the_link_is_merged_once(first: Path, tmp_path: Path) -> None:
    write(first, "of the first")
    lone = tmp_path / "lone"
    create_store_directory(lone)
    write(lone, "of the lone")
    link_store(lone, NAME, "/somewhere/.git")
    for _ in range(2):
        assert texts(lone) == texts(first) == ["of the first", "of the lone"]


def test_a_store_of_an_older_golore_is_merged(first: Path, second: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables have neither triggers nor the digests for which a note holds."""
    with monkeypatch.context() as patched:
        patched.setattr(knowledge_db, "_MIGRATIONS", vars(knowledge_db)["_MIGRATIONS"][:5])
        with Knowledge.open_file(first / KNOWLEDGE_NAME) as knowledge, knowledge.transaction() as run:
            run.run("INSERT INTO notes VALUES ('ab', 'note', 'old', 'Save', '', 'person', '', '', '[]', '', 1)")
            values = ("ab", *anchor())
            run.run(f"INSERT INTO note_anchors VALUES ({','.join('?' * len(values))})", values)
    assert texts(first) == ["old"]
    with Knowledge.open(second) as knowledge:
        assert [note.text for note in all_notes(knowledge)] == ["old"]
        assert digests_it_holds_for(knowledge) == {"ab": {"d0"}}


def test_stores_of_other_repositories_and_copies_share_nothing(first: Path, tmp_path: Path) -> None:
    write(first, "private")
    assert texts(make_store(tmp_path / "other", name="f" * 32)) == []
    copy = tmp_path / "copy"
    shutil.copytree(first, copy)
    assert shared_file(copy) is None
    write(copy, "of the copy")
    assert texts(first) == ["private"]


@pytest.mark.parametrize("name", ["../../elsewhere", "", "0" * 31, "G" * 32])
def test_a_link_names_only_a_directory_of_its_own(first: Path, name: str) -> None:
    (first / "shared").write_text(f"{name}\n{first}\n")
    assert shared_file(first) is None


def test_where_a_note_belongs_is_a_matter_of_each_store(first: Path, second: Path, tmp_path: Path) -> None:
    id = write(first, "text")
    assert texts(second) == ["text"]
    with Knowledge.open(first) as knowledge:
        lost = anchor(level="file", target="store.go", fate="was about Save, which is gone", evidence="what is left")
        move_anchors(knowledge, {id: lost}, {})
    with Knowledge.open(second) as knowledge:
        assert all_notes(knowledge)[0].anchor.fate == ""
        move_anchors(knowledge, {id: anchor("Keep")}, {})
    with Knowledge.open(first) as knowledge:
        assert all_notes(knowledge)[0].anchor.fate == lost.fate
    with Knowledge.open(make_store(tmp_path / "third")) as knowledge:
        found = all_notes(knowledge)[0].anchor
        assert (found.home, found.fate, found.seen) == ("Keep", "", "")
        assert list(knowledge.rows("SELECT home FROM note_trail")) == [("Save",)]


def test_a_confirmation_counts_for_the_code_that_was_seen(first: Path, second: Path) -> None:
    id = write(first, "text")
    assert texts(second) == ["text"]
    with Knowledge.open(first) as knowledge:
        confirm(knowledge, id, anchor(written="d1"), now="2030-01-01T00:00:00Z")
    with Knowledge.open(second) as knowledge:
        note = all_notes(knowledge)[0]
        assert (note.confirmed, note.anchor.written, note.anchor.drifted) == ("2030-01-01T00:00:00Z", "d0", "")
        assert digests_it_holds_for(knowledge) == {id: {"d0", "d1"}}


def test_what_is_written_in_both_before_they_meet_is_kept(first: Path, second: Path) -> None:
    """The state directory is not available for a while."""
    id = write(first, "common")
    assert texts(second) == ["common"]
    shared = shared_file(first)
    assert shared is not None
    away = shared.parent.rename(shared.parent.with_name("away"))
    shared.parent.write_text("in the way")
    write(first, "of the first")
    write(second, "of the second")
    with Knowledge.open(second) as knowledge:
        forget(knowledge, id)
    shared.parent.unlink()
    away.rename(shared.parent)
    with Knowledge.open(first) as knowledge:
        confirm(knowledge, id, anchor())
    assert texts(second) == texts(first) == ["of the first", "of the second"]


def test_a_damaged_shared_file_is_made_again_from_the_stores(first: Path, second: Path) -> None:
    write(first, "of the first")
    write(second, "of the second")
    shared = shared_file(first)
    assert shared is not None
    shared.write_bytes(b"no database" * 1000)
    write(first, "later")
    assert texts(second) == texts(first) == ["later", "of the first", "of the second"]
    assert [path.name for path in shared.parent.glob("*damaged*")] == ["knowledge.db.damaged-1"]


def test_a_shared_file_of_a_newer_golore_is_left_alone(first: Path, second: Path) -> None:
    write(first, "text")
    shared = shared_file(first)
    assert shared is not None
    with closing(sqlite3.connect(shared)) as connection:
        connection.execute("PRAGMA user_version = 999")
    before = shared.read_bytes()
    write(first, "later")
    assert texts(second) == []
    assert (texts(first), shared.read_bytes() == before) == (["later", "text"], True)


def test_knowledge_that_is_replaced_is_replaced_for_all(first: Path, second: Path, tmp_path: Path) -> None:
    """As by `golore restore`."""
    earlier = tmp_path / "earlier.db"
    write(first, "earlier")
    with Knowledge.open(first) as knowledge:
        list(knowledge.rows("VACUUM INTO ?", (str(earlier),)))
    write(second, "later")
    assert texts(first) == ["earlier", "later"]
    with Knowledge.open(first) as knowledge:
        copy_rows_from(knowledge, earlier, merge=False)
    assert texts(second) == texts(first) == ["earlier"]


@pytest.mark.parametrize("step", ["while sending", "after sending", "while receiving"])
def test_a_kill_between_the_steps_loses_nothing(
    first: Path, second: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(first, "before")
    write(second, "of the second")
    name = {"while sending": "_send", "after sending": "_one", "while receiving": "_receive"}[step]
    whole = getattr(shared_knowledge, name)

    def killed(connection: sqlite3.Connection, *statement: str) -> object:
        result = whole(connection, *statement)
        if not statement or (statement == ("SELECT count FROM shared.changes",) and armed):
            raise KeyboardInterrupt
        return result

    armed: list[bool] = []

    def write_while_armed() -> None:
        with Knowledge.open(first) as knowledge:
            armed.append(True)
            write_notes(knowledge, [NewNote("decision", "during", "", anchor())])

    with monkeypatch.context() as patched:
        patched.setattr(shared_knowledge, name, killed)
        with pytest.raises(KeyboardInterrupt):
            write_while_armed()
    expected = ["before", *([] if step == "while receiving" else ["during"]), "of the second"]
    if step != "while sending":
        assert texts(second) == expected
    assert texts(first) == texts(second) == expected


def summary(store: Path, text: str, inputs: str, source: str) -> None:
    with Knowledge.open(store) as knowledge:
        piece = InputText(InputPart("source", "store.go", "store.go", inputs), "", "")
        store_summary(knowledge, Inputs("file", "store.go", (piece,)), NewSummary(text, "reviewed", source))


def shown(store: Path) -> str:
    with Knowledge.open(store) as knowledge:
        found = current(knowledge, "file", "store.go")
        return found.text if found is not None else ""


def test_a_summary_is_shared_and_one_that_is_true_here_stays(first: Path, second: Path, tmp_path: Path) -> None:
    summary(first, "a draft", "i0", "model")
    assert shown(second) == "a draft"
    summary(second, "about the code of both", "i0", "agent")
    assert shown(first) == "about the code of both"
    summary(second, "about other code", "i1", "agent")
    assert (shown(first), shown(second)) == ("about the code of both", "about other code")
    with Knowledge.open(first) as knowledge:
        assert len(history(knowledge, "file", "store.go")) == 3
    summary(second, "by a person", "i1", "person")
    assert shown(first) == shown(make_store(tmp_path / "third")) == "by a person"


def test_processes_that_write_at_once_lose_nothing(first: Path, second: Path) -> None:
    count = 10
    names = [(store, f"{store.name}{part}") for store in (first, second) for part in "ab"]
    commands = [[sys.executable, "-P", "-c", WRITER, str(store), name, str(count)] for store, name in names]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    assert [process.communicate()[0].count(b"\n") for process in running] == [count] * len(names)
    expected = sorted(f"{name} {number}" for _, name in names for number in range(count))
    assert texts(first) == texts(second) == expected


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_it_acknowledged(first: Path, second: Path) -> None:
    for attempt in range(20):
        command = [sys.executable, "-P", "-c", WRITER, str(first), f"run{attempt}", "1000"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            acknowledged = [process.stdout.readline() for _ in range(attempt + 1)]
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        wanted = {f"run{attempt} {line.decode().strip()}" for line in acknowledged}
        assert wanted <= set(texts(second))
    assert (first / KNOWLEDGE_NAME).exists()
