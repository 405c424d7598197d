"""What git knows of the code: commits of files and symbols, from the cache, and the states a checkout can be in."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from golore.graph.cards.card_store import create_card_store
from golore.graph.history.recent_commits import create_recent_commits, last_commit_line
from golore.graph.safety.regular_file import SOURCE_LIMIT
from golore.learner.checkout.git_activity import blame_of, update_recent_commits
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main

DAY = 86_400
NOW = 1_700_000_000
STORE = "package store\n\nfunc Open() {\n\tprintln(1)\n}\n\nfunc Close() {\n\tprintln(2)\n}\n"
FILES = {
    "go.mod": "module example.com/t\n\ngo 1.24\n",
    "store/store.go": STORE,
    "main.go": 'package main\n\nimport "example.com/t/store"\n\nfunc main() { store.Open(); store.Close() }\n',
    "alone/alone.go": "package alone\n",
}


def git(root: Path, *arguments: str, at: int = NOW, author: str = "Ann") -> str:
    moment = f"{at} +0000"
    fixed = {
        **os.environ,
        "GIT_AUTHOR_DATE": moment,
        "GIT_COMMITTER_DATE": moment,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    who = ("-c", f"user.name={author}", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *arguments], cwd=root, env=fixed, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root: Path, files: dict[str, str], said: str, at: int = NOW, author: str = "Ann") -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", said, at=at, author=author)


def learned(root: Path) -> Path:
    learn_graph(root, workers=0)
    finish(root, root / ".golore")
    return root


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("recent")
    git(root, "init", "-q")
    commit(root, FILES, "begin")
    changed = STORE.replace("println(2)", "println(3)")
    commit(root, {"store/store.go": changed}, "fix “token” refresh", NOW + DAY, "Bob")
    commit(root, {"README.md": "hello"}, "only words", NOW + 2 * DAY)
    return learned(root)


def asked(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert main(["recent", *words, "--json", "--repo", str(root)]) == 0
    return json.loads(capsys.readouterr().out)


def subjects(answer: dict[str, Any], part: str = "commits") -> list[str]:
    return [one["subject"] for one in answer[part]]


def test_the_repository_tells_its_branch_commits_and_what_is_not_committed(
    repository: Path, capsys: pytest.CaptureFixture[str]
):
    (repository / "new.txt").write_text("x")
    try:
        answer = asked(repository, capsys)
    finally:
        (repository / "new.txt").unlink()
    assert (answer["branch"], answer["head"]) == ("main", git(repository, "rev-parse", "HEAD"))
    assert subjects(answer) == ["fix “token” refresh", "begin"]
    assert answer["uncommitted"] == [{"status": "??", "path": "new.txt"}]


def test_a_file_tells_who_changed_it_and_when(repository: Path, capsys: pytest.CaptureFixture[str]):
    answer = asked(repository, capsys, "store/store.go")
    assert [(one["author"], one["time"]) for one in answer["commits"]] == [
        ("Bob", "2023-11-15T22:13:20Z"),
        ("Ann", "2023-11-14T22:13:20Z"),
    ]
    assert [(one["author"], one["lines"]) for one in answer["lines"]] == [("Bob", 1), ("Ann", 8)]


def test_a_symbol_tells_of_the_commits_of_its_own_lines(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert subjects(asked(repository, capsys, "Close")) == ["fix “token” refresh", "begin"]
    assert subjects(asked(repository, capsys, "store.Open")) == ["begin"]


def test_text_for_people_has_ages_and_dates(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["recent", "store/store.go", "--repo", str(repository)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "store/store.go"
    assert lines[3].split()[0] == "2023-11-15"
    assert "ago" in lines[3]
    assert lines[-1] == "Current lines by author: Ann 8, Bob 1"


def test_who_wrote_the_lines_is_asked_of_git_once_for_a_commit(repository: Path, monkeypatch: pytest.MonkeyPatch):
    with create_recent_commits(repository / ".golore") as recent:
        first = blame_of(repository, recent, "main.go")
        assert first is not None
        monkeypatch.setenv("PATH", "/nonexistent")
        assert blame_of(repository, recent, "main.go") == first
        assert blame_of(repository, recent, "alone/alone.go") is None


def test_the_card_tells_the_last_commit_by_its_date_and_only_beside_something_else(repository: Path):
    with create_card_store(repository / ".golore") as card_store:
        card = card_store.card("store/store.go")
        assert card is not None
        assert 'Last commit: 2023-11-15 by Bob: “fix "token" refresh”' in card.text.splitlines()
        assert card_store.card("alone/alone.go") is None


def test_a_new_commit_is_told_although_no_file_has_changed_since_the_learn(tmp_path: Path):
    git(tmp_path, "init", "-q")
    commit(tmp_path, FILES, "begin")
    (tmp_path / "store/store.go").write_text(STORE + "\nfunc More() {}\n")
    learned(tmp_path)
    assert "begin" in last_commit_line(tmp_path / ".golore", "store/store.go")
    git(tmp_path, "commit", "-q", "-a", "-m", "more", at=NOW + DAY)
    learned(tmp_path)
    with create_card_store(tmp_path / ".golore") as card_store:
        card = card_store.card("store/store.go")
        assert card is not None
        assert "Last commit: 2023-11-15 by Ann: “more”" in card.text


def told(root: Path, capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["recent", *words, "--repo", str(root)]) == 0
    return capsys.readouterr().out.splitlines()


def test_states_without_history_are_said_plainly(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    learned(tmp_path)
    assert told(tmp_path, capsys) == ["This is not a git repository, so there is no history."]
    git(tmp_path, "init", "-q")
    assert told(tmp_path, capsys, "main.go") == ["On branch main: there are no commits yet."]
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "begin")
    git(tmp_path, "checkout", "-q", "--detach")
    assert told(tmp_path, capsys)[0].startswith("HEAD is detached, at ")
    assert main(["recent", "gone.go", "--repo", str(tmp_path)]) == 2
    assert "gone.go is not in the graph." in capsys.readouterr().err


def test_behind_the_end_of_a_shallow_clone_nothing_is_claimed(repository: Path, tmp_path: Path):
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository}", "shallow")
    root = tmp_path / "shallow"
    store = tmp_path / "store"
    store.mkdir()
    update_recent_commits(root, store)
    with create_recent_commits(store) as recent:
        assert [one.id for one in recent.commits(5)] == list(recent.roots)
    assert last_commit_line(store, "store/store.go") == ""


def test_a_worktree_and_a_directory_of_a_repository_have_their_own_history(repository: Path, tmp_path: Path):
    git(repository, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"), "HEAD~2")
    try:
        for name, (root, path) in {
            "a": (tmp_path / "side", "store/store.go"),
            "b": (repository / "store", "store.go"),
        }.items():
            store = tmp_path / name
            store.mkdir()
            assert path in update_recent_commits(root, store)
            expected = "begin" if name == "a" else "token"
            assert expected in last_commit_line(store, path)
    finally:
        git(repository, "worktree", "remove", "--force", str(tmp_path / "side"))


def test_a_file_that_is_too_large_to_learn_has_commits_and_no_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(tmp_path, "init", "-q")
    commit(tmp_path, {**FILES, "big.go": "package main\n" + " " * SOURCE_LIMIT}, "begin")
    answer = asked(learned(tmp_path), capsys, "big.go")
    assert (subjects(answer), subjects(answer, "lines")) == (["begin"], [])
