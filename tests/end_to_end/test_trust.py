"""Stores that this user's golore did not make: clones, archives, copies and stores of other users."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest
from golore.graph.files.claim import newest_aside
from golore.graph.safety.trust import distrust_reason, is_trusted, register_store, store_id
from golore.learner.pipeline.graph_step import _other_caches  # pyright: ignore[reportPrivateUsage]
from golore.mcp_server.cli.main import main
from support.git_repository import commit, git
from support.hook_process import GOLORE, event, hook, logged, read, seen
from support.mcp_client import Client, over_stdio, refused
from support.shop import make_shop
from support.watching import Watch

SECRET = "ssh-ed25519 AAAA ann@example.com\n"


def golore(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([GOLORE, *arguments], cwd=root, capture_output=True, text=True, check=False)


def learned_shop(root: Path) -> Path:
    make_shop(root)
    assert main(["learn", str(root)]) == 0
    assert main(["note", "Memory.Save", "Keys are counted, not stored.", "--repo", str(root), "--author", "ann"]) == 0
    return root


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return learned_shop(tmp_path.resolve() / "shop")


def forget_store(root: Path) -> None:
    """Make the store what it is in a clone or an archive: one that this user's golore does not know."""
    (root / ".golore" / "id").write_text("0" * 32)


def reading(root: Path) -> str:
    return hook("claude", read(root / "store" / "store.go"))


def test_a_store_that_learn_made_is_trusted(shop: Path) -> None:
    assert is_trusted(str(shop), str(shop / ".golore"))
    assert "Used from 2 other files" in seen(reading(shop))


@pytest.mark.parametrize("own_id", ["", "0" * 32, "not an id", "é" * 16])
def test_a_strangers_store_says_nothing_to_the_agent_and_learns_nothing(shop: Path, own_id: str) -> None:
    (shop / ".golore" / "id").write_text(own_id)
    before = sorted((path.name, path.stat().st_mtime_ns) for path in (shop / ".golore").iterdir())
    assert reading(shop) == ""
    assert hook("claude", event("SessionStart", shop, source="startup")) == ""
    edit = read(shop / "main.go", tool_name="Write", tool_input={"file_path": str(shop / "main.go"), "content": "x"})
    assert hook("claude", edit) == ""
    assert sorted((path.name, path.stat().st_mtime_ns) for path in (shop / ".golore").iterdir()) == before


def test_commands_and_tools_refuse_a_strangers_store_and_say_what_to_do(shop: Path) -> None:
    forget_store(shop)
    asked = golore(shop, "callers", "Memory.Save")
    assert asked.returncode == 1
    assert "was not made by golore for you" in asked.stderr
    assert "golore adopt" in asked.stderr

    async def ask(client: Client) -> str:
        return await refused(client, "memory_context", target="store/store.go")

    assert "was not made by golore for you" in over_stdio(ask, shop)


def test_learn_sets_a_strangers_store_aside_and_adopt_takes_its_notes(shop: Path) -> None:
    forget_store(shop)
    (shop / ".golore" / "settings.toml").write_text("[hooks]\nenabled = false\n")
    done = golore(shop, "learn")
    assert done.returncode == 0, done.stderr
    assert "renamed to .golore.aside-1" in done.stdout
    assert "Keys are counted" not in golore(shop, "note", "--list").stdout
    assert not (shop / ".golore" / "settings.toml").exists()
    asked = golore(shop, "adopt")
    assert asked.returncode == 1
    assert "“Keys are counted, not stored.”" in asked.stdout
    assert "Nothing was changed" in asked.stdout
    assert "Keys are counted" not in golore(shop, "note", "--list").stdout
    assert golore(shop, "adopt", "--yes").returncode == 0
    assert "Keys are counted" in golore(shop, "note", "--list").stdout
    assert (shop / ".golore.aside-1" / "knowledge.db").exists()


def test_adopt_takes_the_notes_of_a_strangers_store_and_keeps_its_id(shop: Path) -> None:
    forget_store(shop)
    done = golore(shop, "adopt", "--yes", "--json")
    assert json.loads(done.stdout)["notes"] == 1, done.stderr
    assert store_id(str(shop / ".golore")) == "0" * 32
    assert not (shop / ".golore" / "store.json").exists(), "the graph of a stranger must not be used"
    assert golore(shop, "learn").returncode == 0
    assert "Keys are counted" in golore(shop, "note", "--list").stdout
    assert "Used from 2 other files" in seen(reading(shop))


@pytest.mark.parametrize("is_copy", [True, False])
def test_a_moved_or_copied_checkout_is_adopted_as_it_is(shop: Path, is_copy: bool) -> None:
    other = shop.with_name("other")
    if is_copy:
        shutil.copytree(shop, other)
    else:
        shop.rename(other)
    assert reading(other) == ""
    asked = golore(other, "callers", "Memory.Save")
    assert f"was made for {shop / '.golore'}" in asked.stderr
    shown = golore(other, "adopt", "--yes")
    assert shown.returncode == 0
    assert "It is used as it is." in shown.stdout
    assert golore(other, "callers", "Memory.Save").returncode == 0
    assert "Keys are counted" in golore(other, "note", "--list").stdout
    assert "Used from 2 other files" in seen(reading(other))
    assert reading(shop) != "" if is_copy else not shop.exists()


def test_without_anything_to_adopt_adopt_says_so(shop: Path) -> None:
    done = golore(shop, "adopt", "--yes")
    assert done.returncode == 2
    assert "nothing to adopt" in done.stderr


def test_a_store_that_git_tracks_is_refused_everywhere(shop: Path) -> None:
    (shop / ".golore" / ".gitignore").unlink()
    git(shop, "init", "-q")
    git(shop, "add", "-f", ".golore/cache.db")
    assert reading(shop) == ""
    for command in (["learn"], ["status"], ["adopt", "--yes"], ["note", "--list"]):
        done = golore(shop, *command)
        assert done.returncode == 1
        assert "git rm -r --cached .golore" in done.stderr
    git(shop, "rm", "-rq", "--cached", ".golore")
    assert golore(shop, "status").returncode == 0
    assert "Used from" in seen(reading(shop))


def test_a_pull_cannot_put_a_file_into_the_store(shop: Path) -> None:
    git(shop, "init", "-q", "-b", "main")
    commit(shop, {"a.go": "package main\n"})
    evil = shop.with_name("evil")
    git(shop.parent, "clone", "-q", str(shop), str(evil))
    (evil / ".golore").mkdir()
    (evil / ".golore" / "settings.toml").write_text("[hooks]\nbudget = 9\n")
    git(evil, "add", "-f", ".golore")
    git(evil, "commit", "-qm", "settings")
    git(shop, "pull", "-q", str(evil), "main")
    assert (shop / ".golore" / "settings.toml").exists()
    assert distrust_reason(str(shop), str(shop / ".golore")) == "tracked"
    assert reading(shop) == ""


def test_a_store_that_is_a_link_is_refused_and_nothing_is_removed(tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    root = make_shop(home / "src" / "shop")
    (home / "thesis.tmp").mkdir()
    (home / "thesis.tmp" / "chapter").write_text("text")
    (home / "graph-of-sales.xlsx").write_text("numbers")
    (root / ".golore").symlink_to("../../")
    done = golore(root, "learn")
    assert done.returncode == 1
    assert "is a link" in done.stderr
    assert (home / "thesis.tmp" / "chapter").exists()
    assert (home / "graph-of-sales.xlsx").exists()
    with Watch(root) as watch:
        assert watch.ended()[0] == 1
    assert not (home / "store.json").exists()


@pytest.mark.parametrize("name", ["writer.lock", "lock", "relearn.lock", "relearn.wanted", "cache.db", "hook.log"])
def test_a_link_in_a_store_is_not_followed(shop: Path, name: str) -> None:
    victim = shop.parent / "authorized_keys"
    victim.write_text(SECRET)
    (shop / ".golore" / name).unlink(missing_ok=True)
    (shop / ".golore" / name).symlink_to(victim)
    assert reading(shop) == ""
    edit = read(shop / "main.go", tool_name="Write", tool_input={"file_path": str(shop / "main.go"), "content": "x"})
    assert hook("claude", edit) == ""
    for command in (["learn"], ["learn", "--full"], ["status"], ["search", "Save"]):
        done = golore(shop, *command)
        assert done.returncode == 1
        assert "contains a link or a special file" in done.stderr
    assert victim.read_text() == SECRET


def test_the_attack_with_a_directory_name_and_a_linked_log_writes_nothing(tmp_path: Path) -> None:
    """A directory whose name is a shell command, and a log that is a link: one read of a file ran the command."""
    home = tmp_path.resolve()
    (home / ".bashrc").write_text("# mine\n")
    evil = home / "src" / "clone" / "x\ncd;id>PWNED #"
    (evil / ".golore").mkdir(parents=True)
    (evil / ".golore" / "store.json").write_text("{}")
    (evil / ".golore" / "settings.toml").write_text("[hooks]\nenabled = fal\n")
    (evil / ".golore" / "hook.log").symlink_to("../../../../.bashrc")
    (evil / "api.go").write_text("package api\n")
    (evil.parent / "api").symlink_to(evil.name)
    assert hook("claude", read(evil.parent / "api" / "api.go"), HOME=str(home)) == ""
    assert (home / ".bashrc").read_text() == "# mine\n"


def test_the_log_is_one_escaped_line_an_entry_in_the_state_directory(shop: Path) -> None:
    strange = shop.with_name("x\ncd;id>PWNED #\x1b]0;\u202e")
    shop.rename(strange)
    register_store(str(strange / ".golore"))
    (strange / ".golore" / "settings.toml").write_text("[hooks]\nenabled = fal\n")
    link = strange.with_name("link")
    link.symlink_to(strange)
    assert reading(link) == ""
    log = Path(os.environ["XDG_STATE_HOME"]) / "golore" / "hook.log"
    lines = [line for line in log.read_text().split("\n") if str(shop.parent) in line]
    assert len(lines) == 1
    assert "x\\ncd;id>PWNED #\\x1b]0;\\u202e" in lines[0]
    assert "hooks are off" in lines[0]
    assert not (strange / ".golore" / "hook.log").exists()
    assert log.stat().st_mode & 0o777 == 0o600
    assert not logged(strange / ".golore")


def test_only_what_golore_names_is_removed_from_a_store(shop: Path) -> None:
    store = shop / ".golore"
    for name in ("thesis.tmp", "graph-of-sales.xlsx", "graph-x.db", "a b.1.tmp"):
        (store / name).write_text("mine")
    (store / "folder.tmp").mkdir()
    (store / "bulk-12.tmp").mkdir()
    (store / "graph-99.db.wal").write_text("ours")
    assert golore(shop, "learn", "--full").returncode == 0
    left = {path.name for path in store.iterdir()}
    assert {"thesis.tmp", "graph-of-sales.xlsx", "graph-x.db", "a b.1.tmp", "folder.tmp"} <= left
    assert not {"bulk-12.tmp", "graph-99.db.wal"} & left


def test_lock_files_are_never_truncated(shop: Path) -> None:
    for name in ("writer.lock", "lock"):
        (shop / ".golore" / name).write_text(SECRET)
    assert golore(shop, "learn", "--full").returncode == 0
    assert (shop / ".golore" / "writer.lock").read_text() == SECRET
    assert (shop / ".golore" / "lock").read_text() == SECRET


def test_a_strangers_store_inside_a_learned_repository_is_passed_over(shop: Path) -> None:
    inner = shop / "store" / ".golore"
    inner.mkdir()
    (inner / "store.json").write_text("{}")
    assert "Used from 2 other files" in seen(reading(shop))
    assert golore(shop / "store", "callers", "Memory.Save").returncode == 0


def test_the_cache_of_a_strangers_worktree_is_not_read(shop: Path) -> None:
    git(shop, "init", "-q", "-b", "main")
    commit(shop, {"a.go": "package main\n"})
    git(shop, "worktree", "add", "-q", "../tree")
    tree = shop.with_name("tree")
    assert [path.parent.parent for path in _other_caches(tree)] == [shop]
    forget_store(shop)
    assert _other_caches(tree) == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")
def test_a_store_of_another_user_is_refused_until_it_is_adopted(shop: Path) -> None:
    store = shop / ".golore"
    for path in (store, *store.rglob("*")):
        os.chown(path, 1234, 1234, follow_symlinks=False)
    assert reading(shop) == ""
    done = golore(shop, "status")
    assert done.returncode == 1
    assert "belongs to user 1234" in done.stderr
    assert golore(shop, "learn").returncode == 1
    assert golore(shop, "adopt", "--yes").returncode == 0
    assert golore(shop, "callers", "Memory.Save").returncode == 0


def test_a_state_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    (tmp_path / "state").write_text("")
    done = subprocess.run(
        [GOLORE, "learn"],
        cwd=root,
        env={**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "set XDG_STATE_HOME" in done.stderr


def test_a_learn_that_was_killed_before_it_registered_its_store_is_no_stranger(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    (root / ".golore").mkdir()
    (root / ".golore" / "id").write_text("0" * 32)
    done = golore(root, "learn")
    assert done.returncode == 0
    assert "renamed" not in done.stdout
    assert newest_aside(root / ".golore") is None
    assert store_id(str(root / ".golore")) != "0" * 32


def test_processes_that_learn_a_new_repository_at_once_share_one_trusted_store(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    learners = [
        subprocess.Popen([GOLORE, "learn"], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [learner.communicate()[0] for learner in learners]
    assert not any("renamed" in text for text in said)
    assert newest_aside(root / ".golore") is None
    assert is_trusted(str(root), str(root / ".golore"))


def test_a_planted_plan_for_workers_is_not_loaded(shop: Path) -> None:
    marker = shop.parent / "marker"
    (shop / ".golore" / "plan.tmp").write_bytes(f"cos\nsystem\n(S'touch {marker}'\ntR.".encode())
    pickle.loads((shop / ".golore" / "plan.tmp").read_bytes())
    assert marker.exists(), "the attack does not work"
    marker.unlink()
    assert golore(shop, "learn", "--full", "--workers", "2").returncode == 0
    assert not marker.exists()
