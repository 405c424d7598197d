"""git is run so that nothing that a repository contains or configures is executed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from golore.graph.history.recent_commits import create_recent_commits
from golore.learner.checkout.git_activity import blame_of, git_head_of, uncommitted, update_recent_commits
from golore.learner.checkout.git_command import is_commit_id, run_git, run_git_on_files, start_git
from golore.learner.checkout.git_log import head_commit, read_history
from golore.mcp_server.cli.main import main
from support.git_repository import git
from support.hostile_git import (
    ATTACKS,
    FILES,
    PLAIN_GIT_RUNS,
    Trap,
    configure,
    embed_bare_repository,
    make_repository,
    make_trap,
)


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return make_trap(tmp_path)


def ask_everything(root: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Run every command that runs git, in the repository, and return what `golore recent` prints."""
    assert main(["learn", "--workers=0", str(root)]) == 0
    capsys.readouterr()
    assert main(["recent", "--repo", str(root)]) == 0
    printed = capsys.readouterr().out
    for words in (["recent", "main.go"], ["recent", "store.Open"], ["note", "main.go", "text"]):
        main([*words, "--repo", str(root)])
    return printed


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_program_of_a_hostile_configuration_is_run(
    attack: str, tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repository(tmp_path / "repository")
    ATTACKS[attack](root, trap)
    if attack in PLAIN_GIT_RUNS:
        subprocess.run(["git", *PLAIN_GIT_RUNS[attack]], cwd=root, capture_output=True, check=False)
        assert trap.was_run, "the attack does not work against plain git"
        trap.clear()
    monkeypatch.chdir(root)
    printed = ask_everything(root, capsys)
    assert trap.calls == ""
    if "=" not in attack:
        assert " M main.go" in printed


def test_a_bare_repository_in_a_subdirectory_is_not_used(
    tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repository(tmp_path / "repository")
    lib = embed_bare_repository(root, trap)
    subprocess.run(["git", "status"], cwd=lib, capture_output=True, check=False)
    assert trap.was_run, "the attack does not work against plain git"
    trap.clear()
    monkeypatch.chdir(lib)
    ask_everything(root, capsys)
    assert uncommitted(lib) == ()
    assert head_commit(lib) == git(root, "rev-parse", "HEAD")
    assert main(["learn", "--workers=0", str(lib)]) == 0
    assert trap.calls == ""


def test_the_text_of_a_reference_does_not_become_an_option(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repository")
    victim = tmp_path / "victim.txt"
    victim.write_text("precious")
    for text in (f"--output={victim}", f"-O{victim}", "HEAD", "main", "a" * 39, "A" * 40, "a" * 40 + "\n--all"):
        assert not is_commit_id(text)
        for reference in ("ref: refs/heads/evil\n", text):
            (root / ".git" / "HEAD").write_text(reference)
            (root / ".git" / "refs" / "heads" / "evil").write_text(text)
            (root / ".git" / "packed-refs").write_text(f"{text} refs/heads/evil\n")
            (root / ".git" / "commondir").write_text(".")
            assert head_commit(root) in ("", "a" * 40)
            assert main(["learn", "--workers=0", str(root)]) == 0
        assert read_history(root, text) is None or text == "HEAD"
    assert victim.read_text() == "precious"


def test_files_of_git_that_are_devices_or_pipes_are_not_read(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repository")
    for reference in ("../../../../../../../../../../dev/zero", "a\0b"):
        (root / ".git" / "HEAD").write_text(f"ref: {reference}\n")
        assert head_commit(root) == ""
    (root / ".git" / "HEAD").unlink()
    os.mkfifo(root / ".git" / "HEAD")
    os.mkfifo(root / ".git" / "shallow")
    assert git_head_of(root).head == ""


def test_variables_that_git_sets_for_hooks_are_not_passed_on(
    tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, other = make_repository(tmp_path / "repository"), make_repository(tmp_path / "other")
    git(other, "commit", "-q", "-a", "-m", "more")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "missing"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap.program))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", str(trap.program))
    history = read_history(root)
    assert history is not None
    assert len(history.commits) == 1
    assert {one.path for one in uncommitted(root)} == {"main.go", "README.md"}
    assert trap.calls == ""


def test_the_configuration_of_the_user_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "gitconfig"
    own.write_text("[user]\n\tname = Ann Own\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    root = make_repository(tmp_path / "repository")
    assert run_git(root, "config", "--get", "user.name") == b"Ann Own\n"
    assert run_git(tmp_path, "config", "--get", "user.name") == b"Ann Own\n"
    configure(root, user__name="Ann Here")
    assert run_git(root, "config", "--get", "user.name") == b"Ann Here\n"


def test_a_relative_path_does_not_make_a_file_of_the_repository_the_users_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "repository")
    (root / "git").mkdir()
    (root / "git" / "config").write_text("[user]\n\tname = Evil\n")
    monkeypatch.chdir(root)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "git/config")
    assert b"Evil" not in run_git(root, "config", "--get", "user.name")
    monkeypatch.delenv("GIT_CONFIG_GLOBAL")
    monkeypatch.setenv("XDG_CONFIG_HOME", ".")
    assert b"Evil" not in run_git(root, "config", "--get", "user.name")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a repository to another user")
def test_the_repository_of_another_user_is_read_only_if_the_user_declares_it_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "repository")
    own = tmp_path / "gitconfig"
    own.write_text("")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    monkeypatch.delenv("SUDO_UID", raising=False)
    for path in (root, root / ".git"):
        os.chown(path, 12345, 12345)
    assert read_history(root) is None
    assert uncommitted(root) == ()
    own.write_text(f"[safe]\n\tdirectory = {root}\n")
    assert read_history(root) is not None
    assert {one.path for one in uncommitted(root)} == {"main.go", "README.md"}


def test_a_git_program_in_the_working_directory_is_not_run(
    tmp_path: Path, trap: Trap, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_repository(tmp_path / "repository")
    for name in ("git", "go", "ollama", "bin/git", "bin/go"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).symlink_to(trap.program)
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "bin", "./bin", os.environ["PATH"])))
    ask_everything(root, capsys)
    main(["doctor", "--repo", str(root)])
    main(["audit", str(root)])
    assert trap.calls == ""


def test_too_much_output_and_too_much_time_give_an_empty_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repository(tmp_path / "repository")
    assert run_git(root, "rev-parse", "HEAD", limit=41) != b""
    assert run_git(root, "rev-parse", "HEAD", limit=40) == b""
    endless = tmp_path / "bin" / "git"
    endless.parent.mkdir()
    endless.write_text(f"#!{sys.executable}\nimport sys, time\nprint('x', flush=True)\ntime.sleep(600)\n")
    endless.chmod(0o755)
    monkeypatch.setenv("PATH", f"{endless.parent}{os.pathsep}{os.environ['PATH']}")
    assert run_git(root, "rev-parse", "HEAD", timeout=0.2) == b""


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is started ahead")
def test_a_git_that_was_started_ahead_answers_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repository(tmp_path / "repository")
    started = start_git(root, "rev-parse", "HEAD")
    assert started is not None
    assert started.output() == run_git(root, "rev-parse", "HEAD") != b""
    too_much = tmp_path / "bin" / "git"
    too_much.parent.mkdir()
    too_much.write_text(f"#!{sys.executable}\nimport time\ntime.sleep(0.5)\nprint('x' * 100, flush=True)\n")
    too_much.chmod(0o755)
    monkeypatch.setenv("PATH", f"{too_much.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("golore.learner.checkout.git_command._MAX_OUTPUT", 40)
    started = start_git(root, "rev-parse", "HEAD")
    assert started is not None
    assert started.output() == b""
    monkeypatch.setattr("golore.learner.checkout.git_command._TIMEOUT_SECONDS", 0)
    started = start_git(root, "rev-parse", "HEAD")
    assert started is not None
    assert started.output() == b""


def test_a_command_leaves_no_thread_behind(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    before = threading.active_count()
    for _ in range(20):
        assert run_git(tmp_path, "rev-parse", "--git-dir")
        assert threading.active_count() == before


def test_a_filter_in_use_leaves_unchanged_files_unchanged(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repository")
    configure(root, filter__evil__clean="cat", filter__evil__smudge="cat", filter__evil__required="true")
    git(root, "checkout", "-q", "--", ".")
    assert uncommitted(root) == ()


def test_a_file_name_is_not_a_pattern(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repository")
    (root / "*.go").write_text("package main\n")
    assert [one.path for one in uncommitted(root, "*.go")] == ["*.go"]
    assert b"main.go" in run_git_on_files(root, "status", "--porcelain", "-z", "--", "*.go")


def test_history_and_blame_are_as_before_in_worktrees_and_subdirectories(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repository")
    git(root, "worktree", "add", "-q", str(tmp_path / "side"))
    for place, path in ((root, "store/store.go"), (root / "store", "store.go"), (tmp_path / "side", "main.go")):
        store = tmp_path / f"of-{place.name}"
        store.mkdir()
        update_recent_commits(place, store)
        with create_recent_commits(store) as recent:
            assert [one.subject for one in recent.commits_of(path, 5)] == ["begin"]
            blame = blame_of(place, recent, path)
            assert blame is not None
            assert [(change.subject, lines) for change, lines in blame.changes()] == [
                ("begin", len(FILES["store/store.go" if path == "store.go" else path].splitlines()))
            ]
