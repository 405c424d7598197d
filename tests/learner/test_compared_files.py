"""Which files and contents are compared: commits, the index, the working tree and patches, and requests that fail."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from golore.graph.errors import GoloreError
from golore.graph.files.cache_db import Cache
from golore.learner.changes.compared_files import ComparedFiles, Request, compared_files
from golore.learner.changes.declaration_changes import compare, read_facts_pairs
from support.git_repository import commit, git

ONE, TWO = "package p\n\nfunc A() int { return 1 }\n", "package p\n\nfunc A() int { return 2 }\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, {"go.mod": "module example.com/p\n", "a.go": ONE, "b.go": "package p\n\nfunc B() {}\n"})
    return root


def changed(found: ComparedFiles) -> list[str]:
    return [
        f"{change.how} {change.current.local_name}"
        for change in compare(found, read_facts_pairs(found, None)).declarations
    ]


def failure(root: Path, request: Request) -> str:
    with pytest.raises(GoloreError) as raised:
        compared_files(root, request)
    return str(raised.value)


def test_by_default_the_working_tree_is_compared_with_head(root: Path) -> None:
    (root / "a.go").write_text(TWO)
    (root / "new.go").write_text("package p\n\nfunc New() {}\n")
    (root / "b.go").unlink()
    git(root, "add", "a.go")
    found = compared_files(root, Request())
    assert [pair.path for pair in found.files] == ["a.go", "b.go", "new.go"]
    assert changed(found) == ["body A", "removed B", "added New"]
    assert found.target == "working tree"


def test_staged_compares_only_the_index(root: Path) -> None:
    (root / "a.go").write_text(TWO)
    git(root, "add", "a.go")
    (root / "a.go").write_text(ONE)
    (root / "b.go").unlink()
    assert changed(compared_files(root, Request(staged=True))) == ["body A"]


def test_a_file_that_was_written_but_not_changed_does_not_count(root: Path) -> None:
    commit(root, {"data.txt": "data\n"})
    for name, text in (("a.go", ONE), ("data.txt", "data\n")):
        os.utime((root / name), (1, 1))
        (root / name).write_text(text)
    assert compared_files(root, Request()).files == ()
    (root / "data.txt").write_text("Data\n")
    assert [pair.path for pair in compared_files(root, Request()).files] == ["data.txt"]


def test_a_range_compares_two_commits_and_three_dots_start_at_the_common_one(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "side")
    commit(root, {"a.go": TWO})
    git(root, "checkout", "-q", "main")
    commit(root, {"b.go": "package p\n\nfunc B() { A() }\n"})
    assert changed(compared_files(root, Request(revisions="main..side"))) == ["body A", "body B"]
    assert changed(compared_files(root, Request(revisions="main...side"))) == ["body A"]
    git(root, "checkout", "-q", "side")
    assert changed(compared_files(root, Request(base="main"))) == ["body A"]


def test_a_patch_is_applied_to_the_base_without_touching_the_checkout(root: Path) -> None:
    (root / "a.go").write_text(TWO)
    patch = git(root, "diff").encode() + b"\n"
    git(root, "checkout", "-q", "a.go")
    objects = sorted((root / ".git" / "objects").rglob("*"))
    assert changed(compared_files(root, Request(patch=patch))) == ["body A"]
    assert (root / "a.go").read_text() == ONE
    assert git(root, "status", "--porcelain") == ""
    assert sorted((root / ".git" / "objects").rglob("*")) == objects


def test_a_directory_below_the_top_sees_only_its_own_files(root: Path) -> None:
    commit(root, {"sub/s.go": "package sub\n\nfunc S() {}\n"})
    (root / "sub" / "s.go").write_text("package sub\n\nfunc S() { panic(1) }\n")
    (root / "a.go").write_text(TWO)
    found = compared_files(root / "sub", Request())
    assert [pair.path for pair in found.files] == ["s.go"]
    assert changed(found) == ["body S"]


def test_facts_of_a_commit_are_cached_by_digest(root: Path, tmp_path: Path) -> None:
    commit(root, {"a.go": TWO})
    found = compared_files(root, Request(revisions="HEAD~1..HEAD"))
    with Cache.open(tmp_path / "cache.db") as cache:
        read_facts_pairs(found, cache)
        first = set(cache.keys())
        assert len(first) == 2
        pairs = read_facts_pairs(found, cache)
        assert set(cache.keys()) == first
    assert [change.how for change in compare(found, pairs).declarations] == ["body"]


def test_each_request_that_cannot_be_answered_gets_one_sentence(root: Path, tmp_path: Path) -> None:
    assert "no revision 'nowhere'" in failure(root, Request(base="nowhere"))
    assert "no revision '--help'" in failure(root, Request(base="--help"))
    assert "no revision 'nowhere'" in failure(root, Request(revisions="nowhere..HEAD"))
    assert "neither a range" in failure(root, Request(revisions="main"))
    assert "does not apply" in failure(root, Request(patch=b"no patch\n"))
    binary = (
        b"diff --git a/x.png b/x.png\nnew file mode 100644\nindex 0000000..1111111\n"
        b"Binary files /dev/null and b/x.png differ\n"
    )
    assert "git diff --binary" in failure(root, Request(patch=binary))
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "not in a git repository" in failure(empty, Request())
    git(empty, "init", "-q")
    assert "no commit yet" in failure(empty, Request())


def test_a_merge_with_conflicts_is_refused(root: Path) -> None:
    git(root, "checkout", "-q", "-b", "side")
    commit(root, {"a.go": TWO})
    git(root, "checkout", "-q", "main")
    commit(root, {"a.go": TWO.replace("2", "3")})
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "side")
    assert "A merge is in progress, with conflicts in a.go." in failure(root, Request())
    assert "A merge is in progress" in failure(root, Request(staged=True))
    assert changed(compared_files(root, Request(revisions="main..side"))) == ["body A"]


def test_a_shallow_clone_says_why_a_revision_is_missing(root: Path, tmp_path: Path) -> None:
    git(root, "checkout", "-q", "-b", "side")
    commit(root, {"a.go": TWO})
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--no-single-branch", "--depth", "1", f"file://{root}", str(shallow))
    assert "git fetch --unshallow" in failure(shallow, Request(base="origin/main"))
    assert "git fetch --unshallow" in failure(shallow, Request(revisions="HEAD~1..HEAD"))


def test_without_git_the_message_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    assert "git is not installed" in failure(root, Request())
