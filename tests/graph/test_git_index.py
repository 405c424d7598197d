"""Whether git tracks files in a directory, read from indexes that git wrote."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from golore.graph.safety.git_index import is_tracked


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", root, *arguments], check=True, capture_output=True)


def write(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)


@pytest.fixture(params=["2", "3", "4"])
def checkout(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A checkout with an index of this version, and files whose names are near the one that is searched for."""
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "index.version", request.param)
    write(tmp_path, ".github/a", ".golangci.yml", ".golore-x/a", ".golore.md", "a.go", "x.golore/a", "sub/b.go", "-/c")
    git(tmp_path, "add", ".")
    if request.param == "3":  # git writes version 3 only if an entry needs its additional bytes
        write(tmp_path, ".golnew")
        git(tmp_path, "add", "-N", ".golnew")
    assert (tmp_path / ".git" / "index").read_bytes()[7] == int(request.param)
    return tmp_path


def test_similar_names_are_not_taken_for_the_store(checkout: Path) -> None:
    assert not is_tracked(str(checkout), ".golore")
    assert not is_tracked(str(checkout / "sub"), ".golore")


def test_a_tracked_store_is_found_at_the_top(checkout: Path) -> None:
    write(checkout, ".golore/store.json")
    assert not is_tracked(str(checkout), ".golore")
    git(checkout, "add", "-f", ".golore")
    assert is_tracked(str(checkout), ".golore")
    assert not is_tracked(str(checkout / "sub"), ".golore")


def test_a_tracked_store_is_found_in_a_subdirectory(checkout: Path) -> None:
    write(checkout, "sub/.golore/store.json")
    git(checkout, "add", "-f", ".")
    assert is_tracked(str(checkout / "sub"), ".golore")
    assert not is_tracked(str(checkout), ".golore")


def test_a_split_index_is_read_with_its_base(checkout: Path) -> None:
    write(checkout, ".golore/store.json")
    git(checkout, "add", "-f", ".")
    git(checkout, "update-index", "--split-index")
    write(checkout, "later.go")
    git(checkout, "add", "later.go")
    assert list((checkout / ".git").glob("sharedindex.*"))
    assert is_tracked(str(checkout), ".golore")


@pytest.mark.parametrize("version", ["2", "4"])
def test_object_names_may_be_long(tmp_path: Path, version: str) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256")
    git(tmp_path, "config", "index.version", version)
    write(tmp_path, ".github/a", "a.go")
    git(tmp_path, "add", ".")
    assert not is_tracked(str(tmp_path), ".golore")
    write(tmp_path, ".golore/store.json")
    git(tmp_path, "add", "-f", ".golore")
    assert is_tracked(str(tmp_path), ".golore")


def test_a_linked_worktree_has_its_own_index(tmp_path: Path) -> None:
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    write(main, "a.go")
    git(main, "add", ".")
    git(main, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a")
    git(main, "worktree", "add", "-q", "../other")
    write(tmp_path / "other", ".golore/store.json")
    git(tmp_path / "other", "add", "-f", ".golore")
    assert is_tracked(str(tmp_path / "other"), ".golore")
    assert not is_tracked(str(main), ".golore")


def test_outside_a_checkout_nothing_is_tracked(tmp_path: Path) -> None:
    assert not is_tracked(str(tmp_path), ".golore")
