"""Finding the Go files of a tree, with `go list` as the judge of what Go would take."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from golore.graph.errors import RepositoryError
from golore.graph.files.file_state import state_from
from golore.learner.checkout.configs_above import ConfigFile
from golore.learner.checkout.content_digest import digest
from golore.learner.checkout.discovery import Limits, discover, discover_more

GO = Path(sys.executable).with_name("go")
NOBODY = 65534


def _write(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)


def _git(directory: Path, *arguments: str) -> None:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    identity = ("-c", "user.name=n", "-c", "user.email=e", "-c", "protocol.file.allow=always")
    subprocess.run(["git", *identity, *arguments], cwd=directory, check=True, capture_output=True, env=environ)


def _repository(directory: Path, files: dict[str, str]) -> None:
    _write(directory, files)
    _git(directory, "init", "-q")
    _git(directory, "add", "-A")
    _git(directory, "commit", "-qm", "x")


def _paths(root: Path) -> list[str]:
    return [file.path for file in discover(root).files]


TREE = {
    "go.mod": "module example.com/m\n\ngo 1.25\n\nignore (\n\t./web\n\tgenerated/js\n)\n",
    "a.go": "package m\n",
    "a_test.go": "package m\n",
    "_a.go": "package m\n",
    ".a.go": "package m\n",
    "a.GO": "package m\n",
    "go": "not Go",
    "sub/b.go": "package sub\n",
    "sub/testdata/c.go": "package c\n",
    "sub/_skip/c.go": "package c\n",
    "sub/.skip/c.go": "package c\n",
    "vendor/modules.txt": "# x.org/d v1.0.0\n",
    "vendor/x.org/d/d.go": "package d\n",
    "vendor/top.go": "package vendor\n",
    "internal/vendor/e.go": "package vendor\n",
    "internal/vendor/deep/e.go": "package deep\n",
    "web/x.go": "package web\n",
    "sub/web/x.go": "package web\n",
    "sub/generated/js/x.go": "package js\n",
    "sub/generated/go/x.go": "package x\n",
    "dir.go/f.go": "package f\n",
}


def test_go_lists_the_same_files(tmp_path: Path) -> None:
    _write(tmp_path, TREE)
    environ = {**os.environ, "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    command = [GO, "list", "-json=Dir,GoFiles,TestGoFiles", "./..."]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, env=environ)
    theirs: set[str] = set()
    for text in done.stdout.replace("}\n{", "}\0{").split("\0"):
        package = json.loads(text)
        base = Path(package["Dir"]).relative_to(tmp_path)
        theirs.update((base / name).as_posix() for kind in ("GoFiles", "TestGoFiles") for name in package.get(kind, ()))
    assert set(_paths(tmp_path)) == theirs
    assert "internal/vendor/e.go" in theirs


def test_files_come_in_the_order_of_their_paths_with_size_and_time(tmp_path: Path) -> None:
    _write(tmp_path, {"b/x.go": "package b", "a.go": "package a\n", "b.go": "", "b-c/x.go": ""})
    found = discover(tmp_path)
    assert [file.path for file in found.files] == ["a.go", "b-c/x.go", "b.go", "b/x.go"]
    assert found.files[0].state == state_from((tmp_path / "a.go").stat())
    assert found.files[0].state.size == 10
    assert discover(tmp_path) == found


def test_what_says_how_to_build_is_collected_even_when_git_ignores_it(tmp_path: Path) -> None:
    _write(tmp_path, {**TREE, ".gitignore": "go.work\nvendor/\n", "go.work": "use .\n", "sub/n/go.mod": "module n\n"})
    found = discover(tmp_path)
    assert [config.path for config in found.configs] == ["go.mod", "go.work", "sub/n/go.mod", "vendor/modules.txt"]
    assert found.configs[1] == ConfigFile("go.work", b"use .\n")
    assert found.vendors == ("internal/vendor", "vendor")


def test_a_module_above_the_root_is_collected_too(tmp_path: Path) -> None:
    _write(tmp_path, {"go.mod": "module m\n", "go.work": "use .\n", "a/b/c.go": ""})
    assert [config.path for config in discover(tmp_path / "a" / "b").configs] == ["../../go.mod", "../../go.work"]


def test_a_submodule_is_part_of_the_tree_with_its_own_ignore_rules(tmp_path: Path) -> None:
    library, main = tmp_path / "library", tmp_path / "main"
    _repository(library, {"lib.go": "package lib\n", ".gitignore": "drop.go\n"})
    _repository(main, {"a.go": "package a\n", ".gitignore": "lib.go\n"})
    _git(main, "submodule", "add", "-q", "../library", "third/library")
    _write(main, {"third/library/drop.go": ""})
    found = discover(main)
    assert [file.path for file in found.files] == ["a.go", "third/library/lib.go"]
    assert found.problems == ()


def test_an_ignored_submodule_is_still_part_of_the_tree(tmp_path: Path) -> None:
    library, main = tmp_path / "library", tmp_path / "main"
    _repository(library, {"lib.go": "package lib\n"})
    _repository(main, {"a.go": "package a\n"})
    _git(main, "submodule", "add", "-q", "../library", "third/library")
    _write(main, {".gitignore": "third/\n"})
    assert _paths(main) == ["a.go", "third/library/lib.go"]


def test_a_submodule_with_a_git_directory_of_its_own_is_part_of_the_tree(tmp_path: Path) -> None:
    main = tmp_path / "main"
    _repository(main, {"a.go": "package a\n"})
    _repository(main / "old", {"lib.go": "package lib\n"})
    _git(main, "submodule", "add", "-q", "./old", "old")
    assert (main / "old" / ".git").is_dir()
    assert _paths(main) == ["a.go", "old/lib.go"]


def test_another_repository_inside_is_left_out_and_said_so(tmp_path: Path) -> None:
    _repository(tmp_path, {"a.go": "package a\n"})
    _repository(tmp_path / "clone", {"b.go": "package b\n"})
    found = discover(tmp_path)
    assert [file.path for file in found.files] == ["a.go"]
    assert [(problem.file, "git repository" in problem.message) for problem in found.problems] == [("clone", True)]


def test_a_worktree_inside_is_left_out_and_said_so_but_can_be_learned_itself(tmp_path: Path) -> None:
    _repository(tmp_path, {"a.go": "package a\n"})
    _git(tmp_path, "worktree", "add", "-q", "trees/one")
    found = discover(tmp_path)
    assert [file.path for file in found.files] == ["a.go"]
    assert [(problem.file, "worktree" in problem.message) for problem in found.problems] == [("trees/one", True)]
    assert _paths(tmp_path / "trees" / "one") == ["a.go"]


def test_a_linked_file_belongs_to_the_package_it_is_linked_into_and_only_from_inside(tmp_path: Path) -> None:
    root = tmp_path / "root"
    _write(tmp_path, {"outside.go": ""})
    _write(root, {"a.go": "package a\n", "testdata/shared.go": "package s\n", "sub/x.txt": ""})
    for link, target in {
        "sub/a.go": "../a.go",
        "sub/m.go": "../testdata/shared.go",
        "sub/n.go": "../testdata/shared.go",
        "out.go": "../outside.go",
        "broken.go": "nowhere.go",
        "loop.go": "loop.go",
    }.items():
        (root / link).symlink_to(target)
    found = discover(root)
    assert [file.path for file in found.files] == ["a.go", "sub/a.go", "sub/m.go", "sub/n.go"]
    assert {file.state.size for file in found.files} == {10}
    assert [problem.file for problem in found.problems] == ["broken.go", "loop.go", "out.go"]


def test_linked_directories_are_not_followed_so_loops_end(tmp_path: Path) -> None:
    _write(tmp_path, {"a/x.go": ""})
    (tmp_path / "a" / "loop").symlink_to("..")
    (tmp_path / "again").symlink_to("a")
    assert _paths(tmp_path) == ["a/x.go"]


def test_a_linked_root_is_learned_where_it_leads(tmp_path: Path) -> None:
    _write(tmp_path, {"real/x.go": ""})
    (tmp_path / "link").symlink_to("real")
    found = discover(tmp_path / "link")
    assert found.root == (tmp_path / "real").resolve()
    assert [file.path for file in found.files] == ["x.go"]


def test_a_file_over_the_limit_is_reported(tmp_path: Path) -> None:
    _write(tmp_path, {"a.go": "x" * 11, "b.go": "x" * 10})
    found = discover(tmp_path, Limits(max_file_bytes=10))
    assert [file.path for file in found.files] == ["b.go"]
    assert found.problems[0].file == "a.go"
    assert "11 bytes" in found.problems[0].message


def test_names_that_are_not_text_are_reported(tmp_path: Path) -> None:
    _write(tmp_path, {"a.go": "", "größe.go": ""})
    for name in (b"\xff.go", b"\xfe"):
        path = os.fsencode(tmp_path) + b"/" + name
        if name.endswith(b".go"):
            Path(os.fsdecode(path)).touch()
        else:
            Path(os.fsdecode(path)).mkdir()
    found = discover(tmp_path)
    assert [file.path for file in found.files] == ["a.go", "größe.go"]
    assert sorted(problem.file for problem in found.problems) == ["�", "�.go"]
    assert all(problem.file.encode() for problem in found.problems)


@pytest.fixture
def plain_user_tree() -> Iterator[Path]:
    """A tree read with the rights of an ordinary user, since nothing is unreadable to root."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        is_root = os.geteuid() == 0
        try:
            yield Path(name)
        finally:
            if is_root:
                os.seteuid(0)
            for path in Path(name).rglob("*"):
                path.chmod(0o755)


def test_what_cannot_be_read_is_reported(plain_user_tree: Path) -> None:
    _write(plain_user_tree, {"a.go": "", "secret.go": "", "closed/b.go": ""})
    (plain_user_tree / "secret.go").chmod(0)
    (plain_user_tree / "closed").chmod(0)
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
    found = discover(plain_user_tree)
    assert [file.path for file in found.files] == ["a.go"]
    assert [problem.file for problem in found.problems] == ["closed", "secret.go"]


def test_special_files_are_passed_over(tmp_path: Path) -> None:
    _write(tmp_path, {"a.go": ""})
    os.mkfifo(tmp_path / "pipe.go")
    assert _paths(tmp_path) == ["a.go"]


def test_a_root_that_cannot_be_learned_says_why(tmp_path: Path) -> None:
    _write(tmp_path, {"file": "", "empty/readme.md": ""})
    with pytest.raises(RepositoryError, match="no directory"):
        discover(tmp_path / "missing")
    with pytest.raises(RepositoryError, match="not a directory"):
        discover(tmp_path / "file")
    with pytest.raises(RepositoryError, match="no Go files"):
        discover(tmp_path / "empty")


def test_digests_are_short_stable_and_differ() -> None:
    assert digest(b"") == "cae66941d9efbd404e4d88758ea67670"
    assert digest(b"a") != digest(b"b")


def test_documents_are_found_whatever_the_case_of_their_names(tmp_path: Path) -> None:
    _write(
        tmp_path, {"go.mod": "module m\n", "README.MD": "# M\n", "docs/Guide.Html": "<h1>G</h1>", "m.go": "package m\n"}
    )
    assert [document.path for document in discover(tmp_path).documents] == ["README.MD", "docs/Guide.Html"]


def test_more_directories_give_what_one_walk_with_them_gives(tmp_path: Path) -> None:
    files = {
        "go.mod": "module example.com/m\n",
        "main.go": "package main\n",
        "README.md": "# M\n",
        "a/testdata/p/p.go": "package p\n",
        "a/testdata/p/q/q.go": "package q\n",
        "a/testdata/p/q.md": "# Q\n",
        "a/testdata/other/o.go": "package o\n",
        "a/testdata/.gitignore": "ignored.go\n",
        "a/testdata/p/ignored.go": "package p\n",
        "a/testdata/p/go.mod": "module example.com/p\n",
        "_tools/x/x.go": "package x\n",
        "b/vendor/modules.txt": "",
        "b/b.go": "package b\n",
    }
    _repository(tmp_path, files)
    (tmp_path / "a" / "testdata" / "p" / "linked.go").symlink_to("../../../main.go")
    also = ["a/testdata/p", "_tools/x", "a/testdata/p/q"]
    whole = discover(tmp_path, also=also)
    first = discover(tmp_path)
    assert discover_more(first, also) == whole
    assert discover_more(discover_more(first, also[:1]), also) == whole
    assert {"a/testdata/p/p.go", "a/testdata/p/linked.go", "_tools/x/x.go"} <= {file.path for file in whole.files}
    assert len(first.files) == len(whole.files) - 4


def test_what_is_known_about_a_file_stays_when_more_directories_are_visited(tmp_path: Path) -> None:
    _write(tmp_path, {"go.mod": "module m\n", "main.go": "package main\n", "testdata/p/p.go": "package p\n"})
    first = discover(tmp_path)
    (tmp_path / "main.go").write_text("package main // edited meanwhile\n")
    assert discover_more(first, ["testdata/p"]).files[0] == first.files[0]
