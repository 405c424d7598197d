"""The command line for people: lines that fit, short names, suggestions for commands, completion in shells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.completion import names_from
from golore.mcp_server.cli.main import main
from support.shop import make_shop


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    heading = "Saving things in the memory of the store, " * 6
    (root / "README.md").write_text(f"# {heading}\n\nThings in memory.\n", encoding="utf-8")
    learn_graph(root)
    finish(root, root / ".golore")
    return root


def test_lines_of_a_search_are_as_wide_as_the_terminal(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["search", "saving things in memory", "--repo", str(shop)]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert any(line.startswith("doc     README.md") for line in lines)
    assert max(map(len, lines)) <= 100


def test_names_are_short_unless_full_ones_are_asked_for(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows: dict[str, str] = {}
    for option in ("", "--full"):
        assert main([*filter(None, ["callers", "Memory.Save", option]), "--repo", str(shop)]) == 0
        rows[option] = "\n".join(capsys.readouterr().out.split("\n")[1:])
    assert "example.com/shop" not in rows[""]
    assert "example.com/shop" in rows["--full"]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("calers", "There is no command 'calers'. Did you mean callers"),
        ("serch", "Did you mean search"),
        ("frobnicate", "`golore --help` lists all commands."),
    ],
)
def test_an_unknown_command_gets_a_suggestion(command: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "x"])
    assert stopped.value.code == 2
    assert answer in capsys.readouterr().err


def test_the_script_for_bash_completes_commands_options_and_symbols(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")

    def completed(*words: str) -> list[str]:
        asked = " ".join(f"'{word}'" for word in words)
        command = (
            f'source {script}; COMP_WORDS=({asked}); COMP_CWORD={len(words) - 1}; _golore; echo "${{COMPREPLY[@]}}"'
        )
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=shop,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert completed("golore", "call") == ["callees", "callers"]
    assert "--full" in completed("golore", "callers", "--f")
    assert "Memory.Save" in completed("golore", "callers", "Memory.S")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_scripts_for_other_shells_have_all_commands_and_ask_for_names(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "golore completion names" in text
    assert all(name in text for name in ("callers", "search", "--limit" if shell == "zsh" else "-l limit"))


def test_names_are_completed_as_they_are_written(shop: Path, tmp_path: Path) -> None:
    assert names_from(str(shop / "store"), "Memory.S") == ["Memory.Save"]
    assert "Memory" in names_from(str(shop), "mem")
    assert names_from(str(tmp_path), "Memory") == []
