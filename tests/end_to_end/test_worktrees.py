"""Worktrees of one repository have a store each. None parses what another has parsed, and all have the same notes."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from golore.learner.checkout.git_directory import other_checkouts, sharing_name
from golore.learner.learn import learn
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from support.note_repository import Bank
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


@pytest.fixture
def bank(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], Bank]:
    return lambda root: Bank(root, capsys)


Banks = Callable[[Path], Bank]


def test_a_new_worktree_has_the_notes_of_the_others(checkout: Path, bank: Banks) -> None:
    main_store = bank(checkout)
    main_store.learn()
    main_store.note("store.Save", "Never retry here.", "--kind", "decision")
    worktree = bank(add_worktree(checkout, checkout.parent / "linked"))
    worktree.learn()
    assert "Never retry here." in worktree.card("store/store.go")
    assert worktree.described() == [("Never retry here.", "example.com/shop/store.Save", "")]
    assert "Never retry here." in json.dumps(worktree.run("search", "retry"))
    worktree.note("run", "Called once.", "--kind", "invariant")
    assert "Called once." not in main_store.card("main.go")
    main_store.learn()
    assert "Called once." in main_store.card("main.go")
    worktree.run("note", "--forget", main_store.notes()[0]["id"])
    main_store.learn()
    left = [note["text"] for note in main_store.notes()]
    assert len(left) == 1
    assert [row[0] for row in main_store.described()] == left


@pytest.mark.parametrize("origin", ["of a main worktree without a store", "of a bare repository"])
def test_a_removed_worktree_loses_no_note(checkout: Path, origin: str, bank: Banks) -> None:
    repository = checkout
    if "bare" in origin:
        repository = checkout.parent / "bare.git"
        git(checkout.parent, "clone", "-q", "--bare", str(checkout), str(repository))
    worktree = bank(add_worktree(repository, checkout.parent / "first"))
    worktree.learn()
    worktree.note("lonely", "Kept for the plugin.", "--kind", "decision")
    git(repository, "worktree", "remove", "--force", str(worktree.root))
    assert not worktree.root.exists()
    second = bank(add_worktree(repository, checkout.parent / "second"))
    second.learn()
    assert "Kept for the plugin." in second.card("main.go")


def test_a_cleaned_checkout_gets_its_notes_back(checkout: Path, bank: Banks) -> None:
    own = bank(checkout)
    own.learn()
    own.note("lonely", "Kept for the plugin.", "--kind", "decision")
    git(checkout, "clean", "-xfdq")
    assert not own.store.exists()
    own.learn()
    assert "Kept for the plugin." in own.card("main.go")


def test_a_note_is_about_code_that_only_one_worktree_has(checkout: Path, bank: Banks) -> None:
    main_store = bank(checkout)
    worktree = bank(add_worktree(checkout, checkout.parent / "linked"))
    worktree.edit("store/store.go", "func Save() {}", "func Save() {}\n\nfunc Load() { Save() }")
    main_store.learn()
    worktree.learn()
    worktree.note("store.Load", "Reads twice.", "--kind", "decision")
    main_store.learn()
    assert main_store.described() == [
        ("Reads twice.", "store/store.go", "was about example.com/shop/store.Load, which is gone")
    ]
    worktree.learn()
    assert worktree.described() == [("Reads twice.", "example.com/shop/store.Load", "")]
    shutil.copy(worktree.root / "store/store.go", checkout / "store/store.go")
    main_store.learn()
    assert main_store.described() == [("Reads twice.", "example.com/shop/store.Load", "")]


def test_a_note_that_was_confirmed_elsewhere_holds_once_the_code_is_the_same(checkout: Path, bank: Banks) -> None:
    main_store = bank(checkout)
    main_store.learn()
    id = main_store.note("run", "Called once.", "--kind", "decision")["id"]
    worktree = bank(add_worktree(checkout, checkout.parent / "linked"))
    worktree.edit("main.go", "{ store.Save() }", "{ store.Save(); store.Save() }")
    worktree.learn()
    run = "example.com/shop.run"
    assert worktree.described() == [("Called once.", run, "written before the last change")]
    worktree.run("note", "--confirm", id)
    assert worktree.described() == [("Called once.", run, "")]
    main_store.learn()
    assert main_store.described() == [("Called once.", run, "")]
    shutil.copy(worktree.root / "main.go", checkout / "main.go")
    main_store.learn()
    assert main_store.described() == [("Called once.", run, "")]
    main_store.edit("main.go", "{ store.Save(); store.Save() }", "{ }")
    main_store.learn()
    assert main_store.described() == [("Called once.", run, "written before the last change")]


def test_a_checkout_cannot_claim_the_notes_of_another_repository(checkout: Path, tmp_path: Path) -> None:
    linked = add_worktree(checkout, tmp_path / "linked")
    own = sharing_name(checkout)
    assert own is not None
    assert sharing_name(linked) == own
    assert sharing_name(linked / "store") == sharing_name(checkout / "store") != own
    assert sharing_name(tmp_path) is None

    hostile = tmp_path / "hostile"
    hostile.mkdir()
    dot_git = hostile / ".git"
    for target in (checkout / ".git", checkout / ".git/worktrees/linked"):
        dot_git.write_text(f"gitdir: {target}\n")
        assert sharing_name(hostile) is None
    dot_git.unlink()
    dot_git.symlink_to(checkout / ".git")
    assert sharing_name(hostile) is None
    dot_git.unlink()
    git(hostile, "init", "-q")
    assert sharing_name(hostile) not in (None, own)
    (dot_git / "commondir").write_text(str(checkout / ".git"))
    assert sharing_name(hostile) is None


def test_another_repository_at_the_same_path_starts_without_notes(checkout: Path, bank: Banks) -> None:
    own = bank(checkout)
    own.learn()
    own.note("lonely", "Private.", "--kind", "decision")
    before = sharing_name(checkout)
    shutil.rmtree(checkout / ".git")
    shutil.rmtree(own.store)
    git(checkout, "init", "-q")
    assert sharing_name(checkout) != before
    learn(checkout, own.store, workers=0)
    assert own.notes() == []
