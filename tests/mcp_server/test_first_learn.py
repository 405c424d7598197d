"""A hook in a checkout that was never learned: it starts one learn, says so once, and leaves alone what it must."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.safety.state_directory import create_state_directory, state_directory
from golore.graph.safety.trust import blake2b_hex
from golore.mcp_server.hooks.first_learn import ANNOUNCEMENT, unlearned_checkout
from support.hook_process import event, hook, read, seen
from support.shop import make_shop
from support.watching import until


def git(directory: Path, *words: str) -> None:
    author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", *author, *words], cwd=directory, check=True, capture_output=True, env=environ)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home.is_dir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    root = make_shop(tmp_path.resolve() / "clone")
    git(root, "init", "-q")
    return root


def markers() -> list[Path]:
    folder = Path(state_directory(), "first-learns")
    return list(folder.iterdir()) if folder.exists() else []


def test_a_hook_in_a_new_clone_learns_it_and_the_next_ones_show_cards(clone: Path) -> None:
    file = next(path for path in sorted(clone.rglob("*.go")) if path.parent != clone)
    assert seen(hook("claude", event("SessionStart", clone, source="startup"))) == ANNOUNCEMENT
    until(lambda: (clone / ".golore" / MANIFEST_NAME).exists() and not markers())
    assert "facts about" in seen(hook("claude", read(file)))
    assert "this repository" in seen(hook("claude", event("SessionStart", clone, source="startup")))


def test_a_learn_that_runs_or_failed_is_not_started_again(clone: Path) -> None:
    marker = Path(create_state_directory("first-learns"), blake2b_hex(os.fsencode(clone), 16))
    marker.touch()
    assert hook("claude", read(clone / "main.go")) == ""
    assert not (clone / ".golore").exists()
    os.utime(marker, (0, 0))
    assert seen(hook("claude", read(clone / "main.go"))) == ANNOUNCEMENT
    until(lambda: not markers())
    assert (clone / ".golore" / MANIFEST_NAME).exists()


def test_a_worktree_of_the_repository_in_which_the_agent_works_is_learned(clone: Path, tmp_path: Path) -> None:
    git(clone, "add", ".")
    git(clone, "commit", "-qm", "first")
    worktree = tmp_path.resolve() / "linked"
    git(clone, "worktree", "add", "-q", str(worktree))
    assert unlearned_checkout(str(clone), [str(worktree / "main.go")]) == (str(worktree), str(worktree / ".golore"))
    assert unlearned_checkout(str(worktree / "store"), []) == (str(worktree), str(worktree / ".golore"))


def test_what_the_user_did_not_open_is_not_learned(
    clone: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def is_learned(cwd: Path, *files: Path) -> bool:
        return unlearned_checkout(str(cwd), [str(file) for file in files]) is not None

    assert is_learned(clone)
    assert is_learned(clone, clone / "main.go")
    other = make_shop(tmp_path.resolve() / "other")
    git(other, "init", "-q")
    assert not is_learned(clone, other / "main.go")
    assert not is_learned(tmp_path)
    assert not is_learned(tmp_path, clone / "main.go")
    assert not is_learned(clone, clone / "missing.go")
    plain = make_shop(tmp_path.resolve() / "plain")
    assert not is_learned(plain, plain / "main.go")
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "-q")
    assert not is_learned(empty)
    (empty / "tools").mkdir()
    (empty / "tools/x.go").write_text("package x\n")
    assert is_learned(empty, empty / "tools/x.go")

    make_shop(home)
    git(home, "init", "-q")
    assert not is_learned(home)
    (home / "notes").mkdir()
    assert not is_learned(home / "notes")
    monkeypatch.setenv("HOME", str(clone / "store"))
    assert not is_learned(clone)


def test_a_store_that_came_with_a_clone_is_left_alone(clone: Path) -> None:
    (clone / ".golore").mkdir()
    (clone / ".golore/store.json").write_text("{}")
    assert hook("claude", event("SessionStart", clone)) == ""
    assert markers() == []


@pytest.mark.parametrize("line", ["relearn = false", "enabled = false", "relearn = 3"])
def test_the_settings_of_the_user_switch_it_off(clone: Path, home: Path, line: str) -> None:
    (home / ".config/golore").mkdir(parents=True)
    (home / ".config/golore/settings.toml").write_text(f"[hooks]\n{line}\n")
    assert unlearned_checkout(str(clone), []) is None


def test_hooks_that_are_off_learn_nothing(clone: Path) -> None:
    assert hook("claude", event("SessionStart", clone), GOLORE_HOOKS="off") == ""
    assert markers() == []
