"""What an agent hears at the end of its turn: what its edits touch and which tests reach them, briefly and once."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from golore.graph.changes.affected import Affected
from golore.graph.changes.change_set import DeclarationChange, Declared, FileChange
from golore.graph.changes.changed_symbols import ChangedDeclaration
from golore.graph.changes.test_selection import TestSelection
from golore.mcp_server.cli.main import main
from golore.mcp_server.text.turn_text import LENGTH, turn_text
from support.git_repository import commit, git
from support.hook_process import event, hook, logged, read, seen, settings
from support.shop import make_shop

PAYLOADS = Path(__file__).resolve().parents[2] / "fixtures" / "hooks"
PATIENT = """
from golore.mcp_server.hooks import turn_report
turn_report.DEADLINE = turn_report.SECONDS = 600
from golore.mcp_server.hooks.hook import run_hook
run_hook("claude")
"""
OLD, NEW = "m.items[key]++", "m.items[key] += 2"


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("turns").resolve() / "shop")
    git(root, "init", "-q")
    commit(root, {})
    assert main(["learn", str(root)]) == 0
    settings(root, "[hooks]\nrelearn = false\n")
    return root


@pytest.fixture
def shop(learned: Path) -> Path:
    """The learned repository, with no edits in it and none recorded."""
    make_shop(learned)
    with sqlite3.connect(learned / ".golore" / "cache.db") as connection:
        connection.execute("DELETE FROM deck_edits")
        connection.execute("DELETE FROM deck_shown")
    connection.close()
    return learned


def edit(root: Path, path: str, old: str, new: str, *, session: str = "s", **more: object) -> None:
    """Change a file as an agent does, and send what Claude Code sends."""
    file = root / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    tool_input = {"file_path": str(file), "old_string": old, "new_string": new}
    hook("claude", read(file, session=session, tool_name="Edit", tool_input=tool_input, **more))


def stop(root: Path, *, session: str = "s", **environ: str) -> str:
    return seen(patient_hook(event("Stop", root, session=session, stop_hook_active=False), **environ))


def patient_hook(payload: object, **environ: str) -> str:
    """What the hook prints at the end of a turn if it may take as long as it needs: machines with tests are busy."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", PATIENT],
        input=json.dumps(payload).encode(),
        env=os.environ | environ,
        capture_output=True,
        check=False,
        cwd="/",
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_the_end_of_a_turn_says_what_its_edits_touch(shop: Path) -> None:
    edit(shop, "store/store.go", OLD, NEW, session="claude-stop")
    payload = json.loads((PAYLOADS / "claude-stop.json").read_text().replace("ROOT", str(shop)))
    text = seen(patient_hook(payload))
    golden = PAYLOADS / "claude-stop.txt"
    if "GOLORE_UPDATE_GOLDEN" in os.environ:
        golden.write_text(text)
    assert text == golden.read_text()
    assert len(text) <= 600


def test_the_same_edits_are_reported_once(shop: Path) -> None:
    edit(shop, "store/store.go", OLD, NEW)
    assert "Memory.Save" in stop(shop)
    assert stop(shop) == ""
    edit(shop, "store/store.go", NEW, OLD)
    edit(shop, "store/store.go", OLD, NEW)
    assert stop(shop) == ""
    edit(shop, "main.go", "func lonely() {}", "func lonely() { run() }")
    text = stop(shop)
    assert "lonely" in text
    assert "Memory.Save" not in text


def test_a_session_without_edits_of_go_code_hears_nothing(shop: Path) -> None:
    (shop / "store" / "store.go").write_text((shop / "store" / "store.go").read_text().replace(OLD, NEW))
    hook("claude", read(shop / "store" / "store.go"))
    assert stop(shop) == ""
    edit(shop, "main.go", "func lonely() {}", "func lonely() { run() }", session="another")
    assert stop(shop) == ""
    edit(shop, "store/store.go", "// Save counts a key.", "// Save counts keys.", session="comments")
    (shop / "store" / "store.go").write_text((shop / "store" / "store.go").read_text().replace(NEW, OLD))
    assert stop(shop, session="comments") == ""


def test_a_turn_that_a_hook_has_continued_is_left_alone_and_its_edits_count_later(shop: Path) -> None:
    edit(shop, "store/store.go", OLD, NEW)
    assert hook("claude", event("Stop", shop, stop_hook_active=True)) == ""
    assert "Memory.Save" in stop(shop)


def test_edits_of_subagents_and_committed_edits_count(shop: Path) -> None:
    edit(shop, "store/store.go", OLD, NEW, agent_id="sub", agent_type="general")
    commit(shop, {}, at=int(time.time()) + 5)
    try:
        assert "Memory.Save" in stop(shop)
    finally:
        git(shop, "reset", "-q", "--hard", "HEAD~1")


def test_agents_that_take_no_facts_there_get_none(shop: Path) -> None:
    edit(shop, "store/store.go", OLD, NEW)
    for agent in ("codex", "copilot", "cursor", "gemini", "opencode", "vscode", ""):
        assert hook(agent, event("Stop", shop, stop_hook_active=False)) == ""
    # VS Code runs the hooks of Claude Code as well.
    assert hook("claude", {"sessionId": "s", "cwd": str(shop), "hookEventName": "Stop"}) == ""


def test_it_can_be_switched_off(shop: Path) -> None:
    edit(shop, "store/store.go", OLD, NEW)
    settings(shop, "[hooks]\nrelearn = false\nturn_end = false\n")
    try:
        assert stop(shop) == ""
    finally:
        settings(shop, "[hooks]\nrelearn = false\n")


def test_what_cannot_be_compared_is_not_reported(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    assert main(["learn", str(root)]) == 0
    settings(root, "[hooks]\nrelearn = false\n")
    edit(root, "store/store.go", OLD, NEW)
    assert stop(root) == ""
    assert logged(root / ".golore") == ""


def test_a_repository_without_a_store_is_not_learned_at_the_end_of_a_turn(tmp_path: Path) -> None:
    root = make_shop(tmp_path.resolve() / "shop")
    git(root, "init", "-q")
    commit(root, {})
    assert stop(root) == ""
    assert not (root / ".golore").exists()


def test_a_failure_is_logged_and_the_edits_are_kept(shop: Path, tmp_path: Path) -> None:
    edit(shop, "store/store.go", OLD, NEW)
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import sys\nif 'golore.mcp_server.hooks.turn_report' in sys.orig_argv:\n    sys.exit('broken')\n"
    )
    assert stop(shop, PYTHONPATH=str(tmp_path)) == ""
    assert "the end of a turn: " in logged(shop / ".golore")
    assert "Memory.Save" in stop(shop)


def test_the_text_is_short_whatever_changed() -> None:
    names = [f"ALongNameOfSomeDeclaration{n}" for n in range(100)]
    changed = [
        ChangedDeclaration(DeclarationChange("body", None, Declared("func", name, "", "p", "a.go", 1, 2, "")), ())
        for name in names
    ]
    commands = tuple(f"go test ./dir/{name} -run '^Test{name}$'" for name in names)
    files = tuple(FileChange(f"dir/{name}.go", "edited") for name in names)
    found = Affected(
        "HEAD", "working tree", files, tuple(changed), (), (), (), (), TestSelection(()), 0, commands, (), (), True
    )
    text = turn_text(found)
    assert len(text) <= LENGTH
    assert names[0] in text
