"""Worktrees of one repository have a store each, and none parses what another has parsed."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from golore.learner.checkout.git_directory import other_checkouts
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from support.watching import exported

FILES = {
    "go.mod": "module example.com/shop\n\ngo 1.24\n",
    "main.go": 'package main\n\nimport "example.com/shop/store"\n\nfunc run() { store.Save() }\n\nfunc lonely() {}\n',
    "store/store.go": "package store\n\nfunc Save() {}\n",
}
GO_FILES = 2


def git(directory: Path, *words: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *author, *words], cwd=directory, check=True, capture_output=True, env=environ)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The main worktree, committed."""
    root = tmp_path / "main"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


def add_worktree(checkout: Path, where: Path) -> Path:
    git(checkout, "worktree", "add", "-q", "-b", where.name, str(where))
    return where


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    told = capsys.readouterr()
    return code, told.out, told.err


@pytest.mark.parametrize("where", ["beside", "main/.worktrees/inside"])
def test_worktrees_are_not_mixed_up(checkout: Path, where: str, capsys: pytest.CaptureFixture[str]) -> None:
    worktree = add_worktree(checkout, checkout.parent / where)
    learn_graph(checkout, workers=0)
    before = exported(checkout / ".golore")
    code, _, told = asked(capsys, "show", "lonely", "--repo", worktree / "store")
    assert (code, "not in a learned repository" in told) == (1, True)

    main_go = worktree / "main.go"
    main_go.write_text(main_go.read_text().replace("func lonely() {}", "func crowded() { run() }"))
    learn_graph(worktree, workers=0)
    for root, there, absent in ((checkout, "lonely", "crowded"), (worktree, "crowded", "lonely")):
        code, out, _ = asked(capsys, "show", there, "--json", "--repo", root)
        assert (code, json.loads(out)["stale"]) == (0, [])
        assert asked(capsys, "show", absent, "--repo", root)[0] == 1
    learn_graph(checkout, workers=0)
    assert exported(checkout / ".golore") == before
    assert not [line for line in before if "inside" in line]


def test_what_another_worktree_has_parsed_is_not_parsed_again(checkout: Path) -> None:
    learn_graph(checkout, workers=0)
    worktree = add_worktree(checkout, checkout.parent / "linked")
    main_go = worktree / "main.go"
    main_go.write_text(main_go.read_text() + "\nfunc added() {}\n")
    report = learn_graph(worktree, workers=0)
    assert (report.files_read, report.files_parsed) == (GO_FILES, 1)
    learn_graph(worktree, store_directory=checkout.parent / "alone", workers=0)
    assert exported(worktree / ".golore") == exported(checkout.parent / "alone")

    shutil.copy(main_go, checkout / "main.go")
    assert learn_graph(checkout, workers=0).files_parsed == 0
    second = add_worktree(checkout, checkout.parent / "second")
    assert learn_graph(second, workers=2).files_parsed == 1  # the committed main.go: nobody has that any more


def test_a_worktree_needs_no_other_to_have_a_store(checkout: Path) -> None:
    worktree = add_worktree(checkout, checkout.parent / "linked")
    assert learn_graph(worktree, workers=0).files_parsed == GO_FILES
    assert not (checkout / ".golore").exists()
    shutil.rmtree(checkout)
    assert learn_graph(worktree, workers=0).files_parsed == 0


@pytest.mark.parametrize("harm", ["damaged", "of another version", "locked", "gone"])
def test_a_cache_that_cannot_be_borrowed_from_costs_time_only(checkout: Path, harm: str) -> None:
    learn_graph(checkout, workers=0)
    cache = checkout / ".golore/cache.db"
    with closing(sqlite3.connect(cache, isolation_level=None)) as held:
        if harm == "gone":
            cache.unlink()
        elif harm == "damaged":
            cache.write_bytes(b"no database" * 1000)
        elif harm == "of another version":
            held.execute("PRAGMA user_version = 999")
        else:
            held.execute("PRAGMA locking_mode = EXCLUSIVE")
            held.execute("PRAGMA journal_mode = DELETE")
            held.execute("BEGIN EXCLUSIVE")
        worktree = add_worktree(checkout, checkout.parent / "linked")
        report = learn_graph(worktree, workers=0)
    assert (report.files_parsed, report.messages) == (GO_FILES, ())
    learn_graph(worktree, store_directory=checkout.parent / "alone", workers=0)
    assert exported(worktree / ".golore") == exported(checkout.parent / "alone")


def test_a_lost_cache_of_the_lender_leaves_the_borrower_whole(checkout: Path) -> None:
    learn_graph(checkout, workers=0)
    worktree = add_worktree(checkout, checkout.parent / "linked")
    learn_graph(worktree, workers=0)
    shutil.rmtree(checkout / ".golore")
    assert learn_graph(worktree, full=True, workers=0).files_parsed == 0


def test_stores_below_a_home_of_their_own_lend_as_well(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GOLORE_HOME", str(tmp_path / "home"))
    assert asked(capsys, "learn", checkout)[0] == 0
    worktree = add_worktree(checkout, tmp_path / "linked")
    code, out, _ = asked(capsys, "learn", "--json", worktree)
    assert (code, json.loads(out)["files_parsed"]) == (0, 0)
    assert not list(tmp_path.glob("*/.golore"))


def test_the_checkouts_of_a_repository_know_each_other(checkout: Path, tmp_path: Path) -> None:
    linked, bare = add_worktree(checkout, tmp_path / "linked"), tmp_path / "bare.git"
    assert other_checkouts(checkout) == (linked,)
    assert other_checkouts(linked) == (checkout,)
    assert other_checkouts(linked / "store") == (checkout / "store",)
    assert other_checkouts(tmp_path) == ()
    git(tmp_path, "clone", "-q", "--bare", str(checkout), str(bare))
    first, second = add_worktree(bare, tmp_path / "first"), add_worktree(bare, tmp_path / "second")
    assert other_checkouts(first) == (second,)
    shutil.rmtree(second)
    assert other_checkouts(first) == ()
