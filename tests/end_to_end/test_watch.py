"""`golore watch` keeps the store equal to a fresh learn, whatever happens to the files, the store and itself."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.graph.files import locks
from golore.learner.pipeline.graph_step import learn_graph
from golore.learner.pipeline.incremental import IncrementalLearner
from golore.learner.pipeline.saved_survey import read_saved_survey
from golore.mcp_server.cli.main import main
from support.shop import make_shop
from support.watching import GOLORE, Watch, exported, until


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[Path, Watch]]:
    """A repository under watch, which one test after the other changes."""
    root = make_shop(tmp_path_factory.mktemp("watched") / "shop")
    with Watch(root) as watch:
        watch.event("updated")
        yield root, watch


def fresh(root: Path, directory: Path) -> list[str]:
    learn_graph(root, store_directory=directory, workers=0)
    return exported(directory)


def write(path: Path, text: str) -> None:
    """Put a file with this content in its place by a rename, because a watch might see one that is half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name("part")
    part.write_text(text)
    part.rename(path)


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    write(path, text.replace(old, new))


def atomic_rename(root: Path) -> None:
    """Save as editors do: the old file aside, the new one in its place."""
    temporary = root / ".main.go.swp"
    temporary.write_text((root / "main.go").read_text() + "\nfunc saved() { run() }\n")
    (root / "main.go").rename(root / "main.go~")
    temporary.rename(root / "main.go")
    (root / "main.go~").unlink()


def vendor(root: Path) -> None:
    edit(root / "go.mod", "go 1.24", "go 1.24\n\nrequire github.com/absent/dep v1.0.0")
    write(root / "vendor/modules.txt", "# github.com/absent/dep v1.0.0\n## explicit; go 1.22\ngithub.com/absent/dep\n")
    write(root / "vendor/github.com/absent/dep/dep.go", "package dep\n\nfunc Client() C { return C{} }\n\ntype C int\n")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a body is edited": lambda root: edit(root / "main.go", "func New() {}", "func New() { lonely() }"),
    "an editor saves by renaming": atomic_rename,
    "a file is added": lambda root: write(root / "store/more.go", "package store\n\nfunc More() { Flush() }\n"),
    "a file is deleted": lambda root: (root / "store/store_test.go").unlink(),
    "a directory is moved": lambda root: (root / "store").rename(root / "depot"),
    "it is moved back": lambda root: (root / "depot").rename(root / "store"),
    "a deep directory comes from elsewhere": lambda root: (
        write(root.parent / "else/a/b/b.go", "package b\n\nfunc B() {}\n"),
        (root.parent / "else/a").rename(root / "a"),
    ),
    "a file in it is edited": lambda root: edit(root / "a/b/b.go", "func B() {}", "func B() { B() }"),
    "a directory goes elsewhere": lambda root: (root / "a").rename(root.parent / "gone"),
    "a module is added": lambda root: (
        write(root / "tool/go.mod", "module example.com/tool\n"),
        write(root / "tool/t.go", 'package tool\n\nimport "example.com/far"\n\nfunc T() { far.Far() }\n'),
    ),
    "a module is renamed": lambda root: edit(root / "tool/go.mod", "example.com/tool", "example.com/saw"),
    "a workspace is made": lambda root: (
        write(root.parent / "far/go.mod", "module example.com/far\n"),
        write(root.parent / "far/far.go", "package far\n\nfunc Far() {}\n"),
        write(root / "go.work", "go 1.24\n\nuse .\nuse ./tool\nuse ../far\n"),
    ),
    "files come to be ignored": lambda root: write(root / ".gitignore", "tool/\n"),
    "a dependency is vendored": vendor,
    "a vendored file is edited": lambda root: edit(
        root / "vendor/github.com/absent/dep/dep.go", "type C int", "type C int\n\nfunc (C) Save(key string) {}"
    ),
    "syntax breaks": lambda root: edit(root / "main.go", "func run() {", "func run( {"),
    "syntax is whole again": lambda root: edit(root / "main.go", "func run( {", "func run() {"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_store_becomes_equal_to_a_fresh_learn_when(
    change: str, watched: tuple[Path, Watch], tmp_path: Path
) -> None:
    root, watch = watched
    before = exported(root / ".golore")
    CHANGES[change](root)
    expected = fresh(root, tmp_path / "fresh")
    assert before != expected
    watch.event("updated")
    assert until(lambda: exported(root / ".golore") == expected)


def test_hundreds_of_changed_files_are_one_update_and_other_files_are_none(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    with Watch(root) as watch:
        assert watch.event("updated")["files_parsed"] == 5
        many = tmp_path / "many"
        for number in range(300):
            write(many / f"p{number % 30}/f{number}.go", f"package p{number % 30}\n\nfunc F{number}() {{}}\n")
        many.rename(root / "many")
        assert watch.event("updated", "failed")["files_parsed"] == 300
        write(root / "README.md", "text")
        write(root / ".git/objects/aa/bb.go", "no Go")
        (root / "main.go").touch()
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        update = watch.event("updated", "failed")
        while not update["files_parsed"]:  # on a busy machine, the other files may have an update of their own
            update = watch.event("updated", "failed")
        assert (update["files_parsed"], update["packages_resolved"]) == (1, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well_and_nothing_stays_behind(number: signal.Signals, tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    with Watch(root) as watch:
        watch.event("updated")
        os.kill(watch.pid, number)
        assert watch.ended() == (0, "")
        with pytest.raises(ProcessLookupError):
            os.killpg(watch.pid, 0)
    assert not locks.is_held(root / ".golore/watch.lock")
    assert not locks.is_held(root / ".golore/writer.lock")


def test_what_a_watch_knew_when_it_ended_serves_the_next_command(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    with Watch(root) as watch:
        watch.event("updated")
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        watch.event("updated")
        os.kill(watch.pid, signal.SIGTERM)
        assert watch.ended() == (0, "")
    edit(root / "main.go", "func lonely() { main() }", "func lonely() { run() }")
    assert IncrementalLearner(root, workers=0).resume().is_incremental


def test_what_edits_left_for_later_is_done_when_nothing_happens(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    eager = (
        "import sys; from golore.graph.database import projection; from golore.mcp_server.cli import main;"
        "from golore.mcp_server.watching import watch;"
        "watch._SETTLE_AFTER = projection._FOLD_BYTES = 0; sys.exit(main.main())"
    )
    with Watch(root, [sys.executable, "-c", eager]) as watch:
        watch.event("updated")
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        watch.event("updated")
        kept = read_saved_survey(root / ".golore")

        def is_settled() -> bool:
            with Store.open(root / ".golore", write=False) as store:
                return store.log_bytes == 0 and read_saved_survey(root / ".golore") != kept

        assert until(is_settled)
        edit(root / "main.go", "func lonely() { main() }", "func lonely() { run() }")
        assert watch.event("updated", "failed")["files_parsed"] == 1
    assert exported(root / ".golore") == fresh(root, tmp_path / "fresh")


def test_a_signal_during_the_first_learn_ends_it_as_well(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    with Watch(root) as watch:
        watch.event("watching")
        os.kill(watch.pid, signal.SIGTERM)
        assert watch.ended() == (0, "")
    learn_graph(root, workers=0)
    assert exported(root / ".golore") == fresh(root, tmp_path / "fresh")


def test_a_signal_ends_it_while_an_engine_is_busy(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT 1 FROM n) SELECT max(x) FROM n"
    busy = (
        "import sqlite3, sys; from golore.mcp_server.cli import main; from golore.mcp_server.watching import watch;"
        f"watch.Learner.learn = lambda *_, **__: sqlite3.connect(':memory:').execute('{endless}').fetchone();"
        "sys.exit(main.main())"
    )
    with Watch(root, [sys.executable, "-c", busy]) as watch:
        watch.event("watching")
        os.kill(watch.pid, signal.SIGTERM)
        assert watch.ended() == (0, "")


def test_with_json_it_ends_when_nobody_reads_any_more(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    with subprocess.Popen([GOLORE, "watch", "--json", root], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"watching" in process.stdout.readline()
        process.stdout.close()
        process.wait()
        assert process.stderr is not None
        assert (process.returncode, process.stderr.read()) == (1, b"")


def test_without_json_every_update_is_one_line_on_standard_error(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    with subprocess.Popen(
        [GOLORE, "watch", root], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = [process.stderr.readline(), process.stderr.readline()]
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        said.append(process.stderr.readline())
        process.terminate()
        out, last = process.communicate()
    assert (process.returncode, out, last) == (0, "", "Stopped watching.\n")
    assert said[0] == f"Watching {root}. Press Ctrl-C to stop.\n"
    assert said[1].startswith("5 files parsed, 2 packages resolved, ")
    assert re.fullmatch(r"1 file parsed, 1 package resolved, \d+ rows? written in \d+\.\d\d s\n", said[2])


def test_a_second_watcher_says_who_watches_and_a_killed_one_is_no_obstacle(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    with Watch(root) as first:
        first.event("updated")
        with Watch(root) as second:
            code, said = second.ended()
        assert (code, said.count("\n")) == (1, 1)
        assert said.startswith(f"golore: The store cannot be watched: process {first.pid} (")
        os.kill(first.pid, signal.SIGKILL)
        first.ended()
        with Watch(root) as third:
            third.event("watching")
            edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
            third.event("updated")


@pytest.mark.parametrize("folder", ["nowhere", "empty"])
def test_what_is_no_repository_is_refused_and_left_as_it_is(folder: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with Watch(tmp_path / folder) as watch:
        code, said = watch.ended()
    assert (code, said.count("\n")) == (1, 1)
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def test_a_root_that_is_replaced_or_returns_is_learned_again(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    with Watch(root) as watch:
        watch.event("updated")
        other = make_shop(tmp_path / "other")
        edit(other / "main.go", "func lonely() {}", "func replaced() {}")
        root.rename(tmp_path / "old")
        other.rename(root)
        watch.event("returned")
        watch.event("updated")
        assert exported(root / ".golore") == fresh(root, tmp_path / "fresh")
        root.rename(tmp_path / "away")
        watch.event("gone")
        make_shop(root)
        watch.event("returned")
        watch.event("updated")
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        watch.event("updated")
        expected = fresh(root, tmp_path / "fresh")
        assert until(lambda: exported(root / ".golore") == expected)
    assert "func replaced" not in (root / "main.go").read_text()


def test_a_root_that_does_not_return_ends_it_with_one_sentence(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    impatient = (
        "import functools, sys; from golore.mcp_server.cli import main; from golore.mcp_server.watching import watch;"
        "watch.run_watch = functools.partial(watch.run_watch, patience=0.2); sys.exit(main.main())"
    )
    with Watch(root, [sys.executable, "-c", impatient]) as watch:
        watch.event("updated")
        root.rename(tmp_path / "away")
        watch.event("gone")
        code, said = watch.ended()
    assert (code, said) == (
        1,
        f"golore: {root} did not come back within 0 s. Run `golore watch` again when it exists.\n",
    )


def test_changes_that_the_system_did_not_report_are_found_all_the_same(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    deaf = (
        "import sys; from golore.mcp_server.cli import main; from golore.mcp_server.watching import file_events, watch;"
        "watch._COMPARE_EVERY = 0.1; file_events.BurstCollector.on_any_event = lambda *_: None; sys.exit(main.main())"
    )
    with Watch(root, [sys.executable, "-c", deaf]) as watch:
        watch.event("updated")
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        assert watch.event("updated", "failed")["files_parsed"] == 1


def test_an_observer_that_ends_and_cannot_start_again_is_replaced_by_polling(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    failing = (
        "import errno, sys; from golore.mcp_server.cli import main; from golore.mcp_server.watching import file_events;"
        "first = file_events.Observer; made = []\n"
        "def make():\n"
        "    if made: raise OSError(errno.EMFILE, 'too many')\n"
        "    made.append(first()); return made[0]\n"
        "file_events.Observer = make; alive = file_events.DirectoryObserver.is_alive.fget\n"
        "file_events.DirectoryObserver.is_alive = property(lambda o: alive(o) and o._observer is not made[0])\n"
        "file_events.DirectoryObserver.shortage = lambda o: ''\n"
        "sys.exit(main.main())"
    )
    with Watch(root, [sys.executable, "-c", failing]) as watch:
        assert "max_user_instances" in watch.event("polling")["message"]
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        expected = fresh(root, tmp_path.parent / f"{tmp_path.name}-fresh")
        assert until(lambda: exported(root / ".golore") == expected)


LIMITS = {
    "max_inotify_watches": ("2", "fs.inotify.max_user_watches"),
    "max_inotify_instances": ("0", "fs.inotify.max_user_instances"),
}


def limited(name: str, value: str) -> list[str]:
    """A command that runs golore in a user namespace with so many watches; skips the test where there are none."""
    own = ["unshare", "--user", "--map-root-user", "sh", "-c"]
    able = f"echo {value} > /proc/sys/user/{name}"
    if not shutil.which("unshare") or subprocess.run([*own, able], capture_output=True, check=False).returncode:
        pytest.skip("user namespaces with limits of their own are not to be had here")
    return [*own, f'{able}; exec "$@"', "sh", str(GOLORE)]


@pytest.mark.parametrize("name", LIMITS)
def test_where_the_system_refuses_to_watch_the_files_are_polled_and_it_says_so(name: str, tmp_path: Path) -> None:
    value, setting = LIMITS[name]
    root = make_shop(tmp_path / "shop")
    with Watch(root, limited(name, value)) as watch:
        assert setting in watch.event("polling")["message"]
        watch.event("updated")
        edit(root / "store/store.go", "func Flush() { Sync() }", "func Flush() { Sync(); New() }")
        assert watch.event("updated", "failed")["files_parsed"] == 1
        os.kill(watch.pid, signal.SIGTERM)
        assert watch.ended() == (0, "")


def test_watches_that_run_out_later_make_it_poll_as_well(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    with Watch(root, limited("max_inotify_watches", "6")) as watch:
        assert watch.event("updated", "polling")["event"] == "updated"
        for name in "abcdef":
            write(root / name / "x.go", f"package {name}\n")
        watch.event("polling")
        write(root / "f/y.go", "package f\n\nfunc Y() {}\n")
        expected = fresh(root, tmp_path / "fresh")
        assert until(lambda: exported(root / ".golore") == expected)


def test_a_reader_from_before_a_new_graph_knows_that_it_is_stale(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    count = "MATCH (s:Symbol) WHERE s.name = 'added' RETURN count(*) AS n"
    with Watch(root) as watch:
        watch.event("updated")
        with Store.open(root / ".golore", write=False) as before:
            assert before.query(count) == [{"n": 0}]
            assert until(lambda: not before.is_stale)
            learn_graph(root, full=True, workers=0)
            assert before.is_stale
        edit(root / "main.go", "func lonely() {}", "func added() {}")
        watch.event("updated")
        with Store.open(root / ".golore", write=False) as after:
            assert after.query(count) == [{"n": 1}]


def test_a_removed_store_is_made_anew_and_not_written_to(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    with Watch(root) as watch:
        watch.event("updated")
        (root / ".golore").rename(tmp_path / "removed")
        watch.event("returned")
        watch.event("updated")
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        watch.event("updated")
        assert exported(root / ".golore") == fresh(root, tmp_path / "fresh")


def test_a_lock_failure_is_not_up_to_date(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    with Watch(root) as watch:
        watch.event("updated")
        held = locks.acquire(root / ".golore/writer.lock", exclusive=True, timeout=5, purpose="held")
        edit(root / "main.go", "func lonely() {}", "func lonely() { main() }")
        command = subprocess.run([GOLORE, "learn", root], capture_output=True, text=True, check=False)
        assert command.returncode == 1
        assert f"process {os.getpid()} (" in command.stderr
        assert "nothing has changed" not in command.stdout + command.stderr
        assert f"process {os.getpid()} (" in watch.event("failed", "updated")["message"]
        held.release()
        assert watch.event("updated", "failed")["rows_written"] > 0


def test_edit_then_revert_leaves_the_same_graph(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    with Watch(root) as watch:
        watch.event("updated")
        before = exported(root / ".golore")
        edit(root / "store/store.go", "func Flush() { Sync() }", "func Flush(now bool) {}")
        watch.event("updated")
        assert exported(root / ".golore") != before
        edit(root / "store/store.go", "func Flush(now bool) {}", "func Flush() { Sync() }")
        watch.event("updated")
        assert exported(root / ".golore") == before


def test_no_ghost_symbols_after_deletes_and_renames(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_shop(tmp_path / "shop")
    with Watch(root) as watch:
        watch.event("updated")
        (root / "store/store_test.go").unlink()
        edit(root / "main.go", "lonely", "renamed")
        watch.event("updated")
        for ghost in ("TestPut", "lonely"):
            assert until(lambda name=ghost: main(["show", name, "--repo", str(root)]) == 1)
        assert main(["show", "renamed", "--repo", str(root)]) == 0
        lines = exported(root / ".golore")
        assert not [line for line in lines if "TestPut" in line or "lonely" in line or "store_test.go" in line]
    capsys.readouterr()


def test_leftovers_of_a_crash_are_removed_and_named_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_shop(tmp_path / "shop")
    learn_graph(root, workers=0)
    store = root / ".golore"
    before = exported(store)
    (store / "bulk-99999.tmp").mkdir()
    (store / "bulk-99999.tmp/rows").write_text("half")
    (store / "graph-2.db").write_text("half")
    (store / "graph-2.db.wal").write_text("half")
    assert main(["learn", str(root)]) == 0
    told = capsys.readouterr().out
    left = "bulk-99999.tmp, graph-2.db, graph-2.db.wal"
    assert f"Removed files left by an interrupted learn: {left}." in told
    assert not list(store.glob("*.tmp")) + list(store.glob("graph-2*"))
    assert exported(store) == before
    assert main(["learn", str(root)]) == 0
    assert "interrupted" not in capsys.readouterr().out
