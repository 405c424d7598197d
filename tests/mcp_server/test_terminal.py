"""The command line for people: lines that fit, short names, suggestions for commands, completion in shells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli import history_arguments, learn_arguments, note_arguments, question_arguments
from golore.mcp_server.cli.completion import names_from
from golore.mcp_server.cli.main import build_parser, main
from support.hook_process import GOLORE
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
    assert any(line.startswith("doc       README.md") for line in lines)
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


def in_terminal(arguments: list[str], lines: int, columns: int = 100, **environ: str) -> str:
    """What `golore` prints to a terminal of this size."""
    pty = pytest.importorskip("pty")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "PAGER", "LESS")}
    command = [str(Path(sys.executable).with_name("golore")), *arguments]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**kept, "TERM": "xterm", **environ}
    )
    os.close(theirs)
    printed = b""
    try:
        while block := os.read(ours, 1 << 16):
            printed += block
    except OSError:  # Linux reports the end of a terminal as an error
        pass
    os.close(ours)
    assert process.wait() == 0
    return printed.decode().replace("\r\n", "\n")


def test_a_terminal_shows_rows_below_their_package_and_a_pipe_shows_paths(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["callers", "Memory.Save", "--repo", str(shop)]
    shown = in_terminal(asked, lines=100, NO_COLOR="1").splitlines()
    assert main(asked) == 0
    piped = capsys.readouterr().out.splitlines()
    paths = [line.split()[0] for line in piped if line.startswith("  ") and "/" in line.split()[0]]
    assert paths
    for path in paths:
        directory, _, file = path.rpartition("/")
        assert f"  {directory}/" in shown
        assert any(line.startswith(f"    {file} ") for line in shown)
    assert not any(path in line for path in paths for line in shown[1:])


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_lines_on_a_terminal_are_as_wide_as_it_is(shop: Path, columns: int) -> None:
    for command in ("callers", "impact", "users"):
        shown = in_terminal([command, "Memory.Save", "--repo", str(shop)], 100, columns, NO_COLOR="1")
        assert max(map(len, shown.splitlines())) <= columns


@pytest.mark.parametrize(
    ("lines", "options", "pager", "is_paged"),
    [
        (4, [], "tee {}", True),
        (100, [], "tee {}", False),
        (4, ["--no-pager"], "tee {}", False),
        (4, [], "", False),
        (4, [], "no-such-program", False),
    ],
)
def test_a_long_answer_is_shown_in_the_pager_that_the_user_chose(
    shop: Path, tmp_path: Path, lines: int, options: list[str], pager: str, is_paged: bool
) -> None:
    paged = tmp_path / "paged"
    asked = ["impact", "Memory.Save", "--repo", str(shop), *options]
    shown = in_terminal(asked, lines, PAGER=pager.format(paged), NO_COLOR="1")
    assert "What a change of" in shown
    assert "\x1b" not in shown
    assert paged.exists() == is_paged
    assert not is_paged or paged.read_text(encoding="utf-8") == shown


def test_an_answer_in_a_pipe_is_never_paged(shop: Path, tmp_path: Path) -> None:
    paged = tmp_path / "paged"
    done = subprocess.run(
        [str(Path(sys.executable).with_name("golore")), "impact", "Memory.Save", "--repo", str(shop)],
        env={**os.environ, "PAGER": f"tee {paged}", "LINES": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "What a change of" in done.stdout
    assert not paged.exists()


def test_packages_are_called_as_in_their_clause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "client").mkdir()
    (tmp_path / "go.mod").write_text("module example.com/db/v3\n", encoding="utf-8")
    code = "package dbclient\n\nfunc Open() {}\n\nfunc Use() { Open() }\n"
    (tmp_path / "client" / "client.go").write_text(code, encoding="utf-8")
    learn_graph(tmp_path, workers=0)
    assert main(["callers", "Open", "--repo", str(tmp_path)]) == 0
    assert "dbclient.Use" in capsys.readouterr().out
    finish(tmp_path, tmp_path / ".golore")
    assert main(["search", "Open", "--repo", str(tmp_path)]) == 0
    assert "func      client/client.go:3  dbclient.Open" in capsys.readouterr().out


def test_titles_of_columns_are_not_wider_than_what_is_below_them_needs(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["query", "MATCH (:Symbol)-[e]->() RETURN label(e), count(*)", "--repo", str(shop)]) == 0
    assert len(capsys.readouterr().out.splitlines()[0]) <= 60


@pytest.mark.parametrize("command", [*question_arguments.COMMANDS, "status", "recent", "note"])
def test_a_command_that_reads_is_declared_without_all_others(command: str) -> None:
    every = build_parser().get_default("commands")
    alone = build_parser(command).get_default("commands")
    assert alone[command].format_help() == every[command].format_help()
    groups = (question_arguments, learn_arguments, history_arguments, note_arguments)
    assert len(alone) < len(every) - len(groups)


@pytest.mark.parametrize("arguments", [("context", "store.Put"), ("show", "store.Put"), ("search", "what is put")])
def test_a_command_that_reads_loads_nothing_for_tables_or_for_learning(shop: Path, arguments: tuple[str, ...]) -> None:
    command = [sys.executable, "-X", "importtime", GOLORE, *arguments]
    done = subprocess.run(command, cwd=shop, capture_output=True, check=True)
    loaded = {line.rpartition(b"|")[2].strip().decode() for line in done.stderr.splitlines()}
    assert "golore.graph.database.store" in loaded
    assert not loaded & {"asyncio", "multiprocessing", "numpy", "pyarrow", "golore.graph.cards.card_builder"}
