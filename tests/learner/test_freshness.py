"""Answers say which files have changed since they were learned, and say it only when it is so."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from golore.graph.database.store import Store
from golore.learner.checkout import discovery, freshness
from golore.learner.checkout.discovery import Discovery
from golore.learner.checkout.freshness import SNAPSHOT_NAME, Changes, SeenFiles, changes_since
from golore.learner.learn import learn
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from support.learned_tree import copy_repository
from support.shop import make_shop

LONG_AGO = time.time_ns() - 3_600_000_000_000


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    (root / "docs").mkdir()
    (root / ".gitignore").write_text("*.gen.go\n")
    (root / "store/x.gen.go").write_text("package store\n")
    age(root)
    learn_graph(root, workers=0)
    return root


@pytest.fixture
def root(learned: Path, tmp_path: Path) -> Path:
    """The learned repository with its store, to be changed."""
    return copy_repository(learned, tmp_path / "shop")


def age(root: Path, mtime_ns: int = LONG_AGO) -> None:
    """Make everything look as if nobody had touched it for an hour, so that its times are believed."""
    for path in (*root.rglob("*"), root):
        if ".golore" not in path.parts:
            os.utime(path, ns=(mtime_ns, mtime_ns))


def changes(root: Path) -> Changes:
    with Store.open(root / ".golore", write=False) as store:
        found = changes_since(root, store)
    assert found is not None
    return found


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def edit_in_place_within_the_clock(path: Path) -> None:
    """Change a file so that neither its size nor its time shows it."""
    status = path.stat()
    edit(path, "Limit = 3", "Limit = 4")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: dict[str, tuple[Callable[[Path], object], Changes]] = {
    "nothing": (Path.exists, Changes()),
    "an edit": (lambda root: edit(root / "main.go", "lonely", "lovely"), Changes(edited=("main.go",))),
    "a touch": (lambda root: (root / "main.go").touch(), Changes()),
    "a new file": (lambda root: (root / "docs/d.go").write_text("package docs\n"), Changes(added=("docs/d.go",))),
    "a new directory": (
        lambda root: ((root / "a/b").mkdir(parents=True), (root / "a/b/b.go").write_text("package b\n")),
        Changes(added=("a/b/b.go",)),
    ),
    "a deleted file": (
        lambda root: (root / "store/sync_windows.go").unlink(),
        Changes(deleted=("store/sync_windows.go",)),
    ),
    "a renamed file": (
        lambda root: (root / "main.go").rename(root / "first.go"),
        Changes(added=("first.go",), deleted=("main.go",)),
    ),
    "an atomic rename over a file": (
        lambda root: ((root / "t").write_text("package main\n"), (root / "t").replace(root / "main.go")),
        Changes(edited=("main.go",)),
    ),
    "a file that is not Go": (lambda root: (root / "docs/readme.md").write_text("text"), Changes()),
    "an edited go.mod": (lambda root: edit(root / "go.mod", "1.24", "1.25"), Changes(edited=("go.mod",))),
    "a new module": (
        lambda root: (root / "docs/go.mod").write_text("module example.com/docs\n"),
        Changes(added=("docs/go.mod",)),
    ),
    "a deleted go.mod": (lambda root: (root / "go.mod").unlink(), Changes(deleted=("go.mod",))),
    "an ignored file": (lambda root: (root / "store/y.gen.go").write_text("package store\n"), Changes()),
    "an edited .gitignore": (lambda root: (root / ".gitignore").write_text(""), Changes(added=("store/x.gen.go",))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_named_after(change: str, root: Path) -> None:
    do, expected = CHANGES[change]
    do(root)
    assert changes(root) == expected
    age(root, LONG_AGO + 1)
    assert changes(root) == expected, "when all times have settled"
    assert changes(root) == expected, "asked again"
    (root / ".golore" / SNAPSHOT_NAME).unlink()
    known = [name for name in expected.paths if not name.endswith("go.mod")]
    assert list(changes(root).paths) == known, "without the snapshot"
    learn_graph(root, workers=0)
    assert changes(root) == Changes(), "after a learn"


def test_all_files_deleted_is_said_so(root: Path) -> None:
    for path in root.rglob("*.go"):
        path.unlink()
    assert len(changes(root).deleted) == 6


def test_an_edit_right_after_the_learn_is_seen_though_size_and_time_are_the_same(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    learn_graph(root, workers=0)
    edit_in_place_within_the_clock(root / "store/store.go")
    assert changes(root) == Changes(edited=("store/store.go",))


def test_a_file_added_right_after_the_learn_is_seen_though_the_directory_has_the_same_time(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    learn_graph(root, workers=0)
    before = (root / "store").stat()
    (root / "store/new.go").write_text("package store\n")
    os.utime(root / "store", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changes(root) == Changes(added=("store/new.go",))


def test_a_graph_that_was_written_without_its_snapshot_is_not_judged_by_the_old_one(root: Path) -> None:
    snapshot = root / ".golore" / SNAPSHOT_NAME
    old = snapshot.read_bytes()
    edit(root / "main.go", "lonely", "lovely")
    learn_graph(root, workers=0)
    snapshot.write_bytes(old)
    assert changes(root) == Changes()
    edit(root / "main.go", "lovely", "lonely")
    assert changes(root) == Changes(edited=("main.go",))


def test_a_damaged_snapshot_counts_as_none(root: Path) -> None:
    learn_graph(root, workers=0)
    snapshot = root / ".golore" / SNAPSHOT_NAME
    snapshot.write_bytes(snapshot.read_bytes().replace(b"main.go", b"main\xff\xfeo", 1))
    assert changes(root) == Changes()


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of the repository that a check reads, and the roots that it walks, while the test runs."""
    done: list[str] = []
    read, walk = freshness.read_regular, discovery.discover

    def counted_read(path: str, limit: int, *, follow: bool = False) -> bytes:
        if not str(path).endswith(SNAPSHOT_NAME):
            done.append(path)
        return read(path, limit, follow=follow)

    def counted_walk(root: Path, **options: Any) -> Discovery:
        done.append(str(root))
        return walk(root, **options)

    monkeypatch.setattr(freshness, "read_regular", counted_read)
    monkeypatch.setattr(discovery, "discover", counted_walk)
    return done


def test_files_that_were_read_and_directories_that_were_listed_to_be_sure_are_left_alone_then(
    tmp_path: Path, work: list[str]
) -> None:
    root = make_shop(tmp_path)
    learn_graph(root, workers=0)
    age(root)
    assert changes(root) == Changes()
    assert work
    work.clear()
    assert changes(root) == Changes()
    assert not work


def test_an_edit_of_the_same_size_whose_time_was_set_back_is_seen_and_learned(root: Path) -> None:
    assert changes(root) == Changes()
    edit_in_place_within_the_clock(root / "store/store.go")
    assert changes(root) == Changes(edited=("store/store.go",))
    assert learn(root, root / ".golore", workers=0).files_parsed == 1
    assert changes(root) == Changes()


def test_a_file_in_place_of_one_with_the_same_size_and_time_is_seen(root: Path) -> None:
    assert changes(root) == Changes()
    path = root / "store/store.go"
    shutil.copy2(path, root / "other")
    edit_in_place_within_the_clock(root / "other")
    (root / "other").replace(path)
    assert changes(root) == Changes(edited=("store/store.go",))


def test_a_file_added_to_a_directory_whose_time_was_set_back_is_seen(root: Path) -> None:
    assert changes(root) == Changes()
    (root / "store/new.go").write_text("package store\n")
    age(root)
    assert changes(root) == Changes(added=("store/new.go",))


def test_a_copied_checkout_is_read_once_and_nothing_is_resolved_again(root: Path, tmp_path: Path) -> None:
    copy = copy_repository(root, tmp_path / "copy")
    first, second = (learn(copy, copy / ".golore", workers=0) for _ in range(2))
    assert (first.files_read, first.files_parsed, first.packages_resolved) == (5, 0, 0)
    assert (second.files_read, second.files_parsed, second.packages_resolved) == (0, 0, 0)


def test_inodes_that_change_every_time_cost_one_reading(root: Path, work: list[str]) -> None:
    path = root / "store/store.go"
    snapshot = root / ".golore" / SNAPSHOT_NAME
    assert changes(root) == Changes()
    seen = msgspec.msgpack.decode(snapshot.read_bytes(), type=SeenFiles)
    file = seen.files["store/store.go"]
    other = msgspec.structs.replace(file, state=file.state._replace(inode=file.state.inode + 1))
    seen.files["store/store.go"] = other
    snapshot.write_bytes(msgspec.msgpack.encode(seen))
    work.clear()
    for _ in range(3):
        assert changes(root) == Changes()
    assert work == [str(path)]


def test_a_full_learn_reads_every_file(root: Path) -> None:
    report = learn_graph(root, workers=0, full=True)
    assert (report.files_read, report.files_parsed) == (5, 0)


def test_files_that_came_and_went_are_remembered_until_the_next_learn(root: Path) -> None:
    (root / "docs/new.go").write_text("package docs\n")
    (root / ".gitignore").write_text("sync_*\n*.gen.go\n")
    age(root)
    twins = ("store/sync_linux.go", "store/sync_windows.go")
    expected = Changes(added=("docs/new.go",), deleted=twins)
    assert changes(root) == expected
    assert changes(root) == expected
    (root / "store/more.go").write_text("package store\n")
    (root / "docs/new.go").unlink()
    assert changes(root) == Changes(added=("store/more.go",), deleted=twins)
    learn_graph(root, workers=0)
    assert changes(root) == Changes()


QUESTIONS = {
    "show": ["show", "Memory.Save"],
    "callers": ["callers", "Memory.Save"],
    "callees": ["callees", "main.run"],
    "implementers": ["implementers", "Saver"],
    "users": ["users", "Limit"],
    "impact": ["impact", "Memory.Save"],
    "path": ["path", "shop.main", "Memory.Save"],
    "an unknown name": ["show", "Nothing"],
}


def told(capsys: pytest.CaptureFixture[str], root: Path, *arguments: str) -> tuple[Any, str]:
    capsys.readouterr()
    main([*arguments, "--json", "--repo", str(root)])
    said = capsys.readouterr()
    return json.loads(said.out), said.err


@pytest.mark.parametrize("question", QUESTIONS)
def test_stale_files_are_named_in(question: str, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer, said = told(capsys, root, *QUESTIONS[question])
    assert answer["stale"] == []
    assert "changed since" not in said
    names = [f"n{number}.go" for number in range(5)]
    for name in names:
        (root / name).write_text("package main\n")
    answer, said = told(capsys, root, *QUESTIONS[question])
    assert answer["stale"] == names
    assert "golore: 5 files changed since the last learn: n0.go, n1.go, n2.go and 2 more.\n" in said


def test_without_the_cache_it_is_said_that_it_cannot_be_told(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (root / ".golore").glob("cache.db*"):
        path.unlink()
    answer, said = told(capsys, root, "show", "Memory.Save")
    assert answer["stale"] is None
    assert said.count("\n") == 1
    assert "Cannot tell whether files changed since the last learn" in said
    assert not (root / ".golore/cache.db").exists()


def test_status_without_the_cache_reads_the_files(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (root / ".golore").glob("cache.db*"):
        path.unlink()
    edit(root / "main.go", "lonely", "lovely")
    status, _ = told(capsys, root, "status")
    assert status["changes"] == {"added": [], "edited": ["main.go"], "deleted": []}


def test_a_store_that_cannot_be_written_to_still_answers(root: Path) -> None:
    (root / "main.go").touch()
    (root / ".golore" / SNAPSHOT_NAME).chmod(0o444)
    (root / ".golore").chmod(0o555)
    try:
        assert changes(root) == Changes()
    finally:
        (root / ".golore").chmod(0o755)


def test_edits_of_vendored_code_and_of_a_replacement_beside_the_repository_are_seen(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    module = "module example.com/shop\n\ngo 1.24\n\nrequire (\n\texample.com/v v1.0.0\n\texample.com/beside v1.0.0\n)\n"
    files = {
        root / "go.mod": f"{module}\nreplace example.com/beside => ../beside\n",
        root / "vendor/modules.txt": "# example.com/v v1.0.0\n## explicit\nexample.com/v\n",
        root / "vendor/example.com/v/v.go": "package v\n\nfunc V() {}\n",
        tmp_path / "beside/go.mod": "module example.com/beside\n",
        tmp_path / "beside/b.go": "package beside\n\nfunc B() {}\n",
        root / "more.go": 'package main\n\nimport (\n\t"example.com/beside"\n\t"example.com/v"\n)\n\n'
        "func more() { v.V(); beside.B() }\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as store:
        assert changes_since(root, store) == Changes()
        (tmp_path / "beside/b.go").write_text("package beside\n\nfunc B(int) {}\n")
        (root / "vendor/example.com/v/v.go").write_text("package v\n\nfunc V(int) {}\n")
        edited = Changes(edited=("../beside/b.go", "vendor/example.com/v/v.go"))
        assert changes_since(root, store) == edited
        (root / "vendor/example.com/v/v.go").unlink()
        assert changes_since(root, store) == Changes((), ("../beside/b.go",), ("vendor/example.com/v/v.go",))


def test_a_workspace_file_that_comes_to_be_above_the_repository_is_seen(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as store:
        assert changes_since(root, store) == Changes()
        (tmp_path / "go.work").write_text("go 1.24\n\nuse ./shop\n")
        assert changes_since(root, store) == Changes(added=("../go.work",))
