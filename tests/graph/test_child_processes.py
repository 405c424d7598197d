"""Other programs are started so that nothing in the working directory is executed."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from golore.graph.safety.child_processes import (
    absolute_entries,
    find_program,
    guard_children,
    guard_imports,
    python_command,
)

ROOT = Path(__file__).resolve().parents[2]
ONLY_AT = {
    r"\[\s*sys\.executable": {"graph/safety/child_processes.py"},
    r"shutil\.which|\bwhich\(": {"graph/safety/child_processes.py"},
    r"find_program\(\"git\"\)": {"learner/checkout/git_command.py", "mcp_server/commands/doctor.py"},
    r"get_context\(": {"learner/worker_pool.py"},
    r"subprocess\.(run|Popen|call|check_\w+)\(|open_process\(|os\.exec|posix_spawn|os\.system|os\.popen": {
        "graph/changes/program_builder.py",
        "graph/database/open_check.py",
        "graph/safety/child_processes.py",
        "learner/audit/go_judge.py",
        "learner/checkout/git_command.py",
        "mcp_server/hooks/background_learn.py",
        "mcp_server/hooks/turn_report.py",
        "mcp_server/install/proof.py",
        "mcp_server/server/tools/memory_learn.py",
        "mcp_server/services/fleet/fleet_jobs.py",
        "mcp_server/services/query_process.py",
        "mcp_server/team/processes.py",
        "mcp_server/text/pager.py",
        "mcp_server/watching/background_drafts.py",
    },
}
"""Patterns, and the only modules of golore where they may occur. A new module that starts a program must do so with
`python_command` or `find_program`, and be run by a test with a hostile working directory, before it is added here."""


@pytest.mark.parametrize("pattern", ONLY_AT)
def test_programs_are_started_at_known_places_only(pattern: str) -> None:
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("graph", "learner", "mcp_server", "summarizers")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(pattern, path.read_text(encoding="utf-8"))
    }
    assert found <= ONLY_AT[pattern]


def test_relative_and_empty_entries_of_a_search_path_are_removed() -> None:
    assert absolute_entries(":/a:.::b/c:./d:../e:/f:") == "/a:/f"
    assert absolute_entries("") == ""


def test_a_program_is_not_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for directory in (tmp_path, tmp_path / "bin"):
        directory.mkdir(exist_ok=True)
        (directory / "tool").write_text("#!/bin/sh\n")
        (directory / "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in ("", ".", ":", "bin", "./bin:."):
        monkeypatch.setenv("PATH", path)
        assert find_program("tool") is None
        assert find_program("tool", path) is None
    assert find_program("tool", f".:{tmp_path}/bin") == f"{tmp_path}/bin/tool"


def test_python_is_started_without_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    monkeypatch.setenv("PYTHONPATH", ".:/a:")
    assert python_command("-m", "x") == [sys.executable, "-P", "-m", "x"]
    assert (os.environ["PYTHONSAFEPATH"], os.environ["PYTHONPATH"]) == ("1", "/a")


def test_other_entries_of_the_module_search_path_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    monkeypatch.setenv("PYTHONPATH", f"/a:{tmp_path}/b")
    guard_children()
    assert os.environ["PYTHONPATH"] == f"/a:{tmp_path}/b"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "b:/a")
    monkeypatch.setattr(sys, "path", [str(tmp_path), "/a", f"{tmp_path}/b", "/c"])
    guard_imports()
    assert sys.path == ["/a", "/c"]
