"""`golore doctor` tells what works, what is missing, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golore.mcp_server.cli.main import main
from golore.mcp_server.commands.doctor import Finding, examine
from support.hook_process import GOLORE, settings


def test_doctor_finds_everything_that_golore_needs(tmp_path: Path) -> None:
    findings = {finding.name: finding for finding in examine(tmp_path)}
    assert findings.keys() >= {
        "golore",
        "python",
        "tree-sitter",
        "tree-sitter-go",
        "parser",
        "graph store",
        "compiled",
        "standard library",
        "go",
        "git",
        "store",
    }
    assert [finding for finding in findings.values() if finding.state == "wrong"] == []


def test_without_git_doctor_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (git,) = [finding for finding in examine(tmp_path) if finding.name == "git"]
    assert git.state == "optional"
    assert "`golore recent`" in git.found
    assert git.advice


def test_whatever_is_not_fine_comes_with_advice(tmp_path: Path) -> None:
    assert all(finding.advice for finding in examine(tmp_path) if finding.state != "fine")


def test_doctor_says_in_a_sentence_whether_golore_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--repo", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("golore works here.\n")


def test_a_store_that_cannot_be_written_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("GOLORE_HOME", str(tmp_path / "file" / "home"))
    assert main(["doctor", "--json", "--repo", str(tmp_path)]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["works"] is False
    assert [finding["name"] for finding in told["findings"] if finding["state"] == "wrong"] == ["store"]


def test_the_path_is_judged_without_the_virtual_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{GOLORE.parent}:/usr/bin:/bin")
    found = finding("PATH", tmp_path)
    assert (found.state, found.found.split(";")[0]) == ("optional", "has no golore")
    assert found.advice.startswith("Run `uv tool install ")
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "golore").symlink_to(GOLORE)
    monkeypatch.setenv("PATH", f"{GOLORE.parent}:{tools}:/usr/bin:/bin")
    assert finding("PATH", tmp_path).found == f"has golore: {tools}/golore"


def test_stale_stores_and_hooks_that_are_off_come_with_the_command_that_helps(own_shop: Path) -> None:
    assert finding("learned", own_shop).state == "fine"
    (own_shop / "store" / "new.go").write_text("package store\n")
    stale = finding("learned", own_shop)
    assert (stale.state, stale.found) == ("optional", "1 file changed since the last learn")
    assert "`golore learn`" in stale.advice
    settings(own_shop, "[hooks]\nenabled = false\n")
    assert finding("hooks", own_shop).state == "optional"
    settings(own_shop, "[hooks\n")
    assert finding("hooks", own_shop).state == "wrong"


def finding(name: str, start: Path) -> Finding:
    return next(one for one in examine(start) if one.name == name)
