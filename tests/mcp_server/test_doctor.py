"""`golore doctor` tells what works, what is missing, and what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golore.mcp_server.cli.main import main
from golore.mcp_server.commands.doctor import examine


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
