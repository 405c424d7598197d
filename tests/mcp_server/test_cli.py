"""The `golore` command as people meet it: what it prints, its exit codes, and one clear sentence for each failure."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golore.graph.files import locks
from golore.mcp_server import entry
from golore.mcp_server.cli import question_arguments
from golore.mcp_server.cli.main import main
from golore.mcp_server.services.repository import find_repository, store_of
from support.shop import make_shop

GOLORE = Path(sys.executable).with_name("golore")
Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    assert main(["learn", str(root)]) == 0
    return root


@pytest.fixture
def ask(learned: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
    """Run a command inside the learned module: its exit code, standard output and standard error."""
    monkeypatch.chdir(learned / "store")

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(arguments)
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


def told_json(ask: Ask, *arguments: str) -> Any:
    code, out, _ = ask(*arguments, "--json")
    assert code == 0
    return json.loads(out)


def golore(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [GOLORE, *arguments], cwd=cwd, env=os.environ | environ, capture_output=True, text=True, check=False
    )


def test_the_command_learns_and_answers_as_a_process_of_its_own(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    learned = golore("learn", cwd=root)
    assert learned.returncode == 0, learned.stderr
    assert learned.stdout.startswith("Learned 2 packages, 5 files, ")
    assert "Reading 5\n" in learned.stderr
    asked = golore("callers", "Memory.Save", cwd=root / "store")
    assert asked.returncode == 0, asked.stderr
    assert "main.go:14  main.run" in asked.stdout
    assert "\x1b[" not in asked.stdout


def test_a_second_learn_parses_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(make_shop(tmp_path))
    assert main(["learn", root, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert (first["files_read"], first["files_parsed"], first["packages"], first["files"]) == (5, 5, 2, 5)
    assert first["rows_written"] > first["symbols"] > 10
    assert first["missing_imports"] == ["github.com/absent/dep"]
    assert first["problems"] == []
    assert main(["learn", root, "--json", "--no-summaries", "--workers", "0"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert (second["files_parsed"], second["packages_resolved"], second["rows_written"]) == (0, 0, 0)
    assert main(["learn", root]) == 0
    assert "nothing has changed since the last learn" in capsys.readouterr().out


def test_on_a_terminal_there_is_a_bar_with_rates(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 120))
    environ = os.environ | {"TERM": "xterm", "NO_COLOR": ""}
    with subprocess.Popen([GOLORE, "learn"], cwd=root, env=environ, stderr=theirs, stdout=subprocess.PIPE) as learning:
        os.close(theirs)
        shown = b""
        # Linux reports the closed other end of a terminal as an error.
        with contextlib.suppress(OSError):
            while read := os.read(ours, 65536):
                shown += read
    os.close(ours)
    assert learning.returncode == 0
    assert re.search(rb"Reading.*5/5.*/s", shown), shown


def test_problems_are_listed_with_their_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (make_shop(tmp_path) / "broken.go").write_text("package main\n\nfunc broken( {\n")
    assert main(["learn", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["status", "--json", "--repo", str(tmp_path)]) == 0
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert {problem["file"] for problem in problems} == {"broken.go"}


def test_status_counts_and_is_up_to_date(ask: Ask, learned: Path) -> None:
    status = told_json(ask, "status")
    assert (status["root"], status["counts"]["packages"], status["counts"]["files"]) == (str(learned), 2, 5)
    assert status["counts"]["symbols"]["interface"] == 1
    assert status["up_to_date"] is True
    assert "Up to date with the files." in ask("status")[1]


@pytest.mark.parametrize("command", ["status", "doctor", "drafts"])
def test_a_path_may_be_given_without_an_option(command: str, learned: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers: list[str] = []
    for words in ([str(learned)], ["--repo", str(learned)]):
        assert main([command, "--json", *words]) == 0
        answers.append(capsys.readouterr().out)
    assert answers[0] == answers[1]
    assert main([command, str(learned / "missing")]) == 2 or command == "doctor"


def test_every_command_that_only_answers_from_the_graph_bounds_its_memory() -> None:
    names: list[str] = []

    def make(name: str, **_: object) -> argparse.ArgumentParser:
        names.append(name)
        return argparse.ArgumentParser()

    question_arguments.add_commands(make)
    # Searches, and explore by words, may write the index first; a query runs in a process of its own.
    assert set(names) - {"explore", "search", "query"} == entry.QUESTIONS


def test_status_names_the_files_that_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_shop(tmp_path)
    assert main(["learn", str(root)]) == 0
    (root / "new.go").write_text("package main\n")
    (root / "main.go").write_text("package main\n\nfunc main() {}\n")
    (root / "store" / "store_test.go").unlink()
    (root / "store" / "store.go").touch()
    capsys.readouterr()
    assert main(["status", "--json", "--repo", str(root)]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert changes == {"added": ["new.go"], "edited": ["main.go"], "deleted": ["store/store_test.go"]}
    assert main(["status", "--repo", str(root)]) == 0
    assert "Behind the files: 3 files changed. Run `golore learn`." in capsys.readouterr().out


def test_show_prints_signature_documentation_and_place(ask: Ask) -> None:
    code, out, _ = ask("show", "Memory.Save")
    assert code == 0
    assert out.startswith("example.com/shop/store.Memory.Save  (method, store/store.go:18)\n")
    assert "func (m *Memory) Save(key string) error" in out
    assert "Save counts a key." in out
    assert told_json(ask, "show", "Memory.Save")["declarations"][0]["callers"] == 1


def test_callers_have_three_values(ask: Ask) -> None:
    _, out, _ = ask("callers", "(*Memory).Save")
    assert "resolved (1)\n  main.go:14  main.run\n" in out
    assert "candidates, through interfaces (1)\n  store/store.go:32  store.Put" in out
    assert "1 unresolved use has the name Save:\n  main.go:17" in out
    told = told_json(ask, "callers", "(*Memory).Save")
    assert [link["symbol"]["name"] for link in told["resolved"]] == ["run"]
    assert [link["via"] for link in told["candidates"]] == ["example.com/shop/store.Saver.Save"]
    assert told["unresolved"]["sites"] == 1


def test_no_callers_says_how_many_unresolved_uses_have_the_name(
    ask: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask("callers", "lonely")[1].endswith("No callers are known, and no unresolved use has the name lonely.\n")
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "m.go").write_text('package m\n\nimport "absent.example/x"\n\nfunc Go() {}\n\nvar _ = x.Y().Go()\n')
    assert main(["learn", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["callers", "m.Go", "--repo", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "No callers are known for certain.\n1 unresolved use has the name Go:" in out


def test_callees_implementers_users_impact_and_path_answer_in_json(ask: Ask) -> None:
    assert [link["symbol"]["name"] for link in told_json(ask, "callees", "Put")["candidates"]] == ["Save"]
    assert [link["symbol"]["name"] for link in told_json(ask, "implementers", "Saver")["resolved"]] == [
        "Memory",
        "Logged",
    ]
    assert {link["how"] for link in told_json(ask, "users", "store.Memory")["resolved"]} == {"references", "embeds"}
    impact = told_json(ask, "impact", "Memory.Save", "--depth", "1")
    assert [one["symbol"]["name"] for one in impact["resolved"]] == ["run"]
    path = told_json(ask, "path", "main", "Memory.Save")
    assert [step["symbol"]["name"] for step in path["steps"]] == ["main", "run", "Save"]


def test_answers_are_readable_text_too(ask: Ask) -> None:
    assert "store.Memory  by pointer" in ask("implementers", "Saver")[1]
    assert "What example.com/shop/store.Put calls" in ask("callees", "Put")[1]
    assert "tests (1)" in ask("impact", "Memory.Save")[1]
    assert "From main.main to store.Memory.Save: 2 steps" in ask("path", "main", "Memory.Save")[1]
    assert "possible through interfaces or function values" in ask("path", "TestPut", "Memory.Save")[1]
    assert "No path from main.lonely to" in ask("path", "lonely", "Memory.Save")[1]


def test_a_limit_leaves_out_and_says_so(ask: Ask) -> None:
    assert "  and 1 more: use --limit to see them" in ask("implementers", "Saver", "--limit", "1")[1]
    assert told_json(ask, "implementers", "Saver", "--limit", "1")["left_out"] == 1


def test_an_ambiguous_name_gets_the_list_of_what_it_may_mean(ask: Ask) -> None:
    code, out, err = ask("callers", "New")
    assert (code, out) == (1, "")
    assert err.splitlines() == [
        "golore: 'New' is ambiguous: it may mean 2 symbols. Give one of these names:",
        "  func  example.com/shop.New        main.go:20",
        "  func  example.com/shop/store.New  store/store.go:29",
    ]
    code, out, _ = ask("callers", "New", "--json")
    assert code == 1
    assert [(one["name"], one["file"], one["line"]) for one in json.loads(out)["ambiguous"]] == [
        ("example.com/shop.New", "main.go", 20),
        ("example.com/shop/store.New", "store/store.go", 29),
    ]


def test_twins_are_one_meaning(ask: Ask) -> None:
    code, out, _ = ask("callers", "Sync")
    assert code == 0
    assert "(func, store/sync_linux.go:3, and 1 twin for other builds)" in out
    assert out.count("store.Flush") == 1
    assert len(told_json(ask, "show", "Sync")["declarations"]) == 2


def test_an_unknown_name_gets_similar_ones(ask: Ask) -> None:
    code, _, err = ask("show", "Memry.Save")
    assert code == 1
    assert err.startswith("golore: Nothing is named 'Memry.Save'. Similar names:\n")
    code, out, _ = ask("show", "lonley", "--json")
    assert code == 1
    assert json.loads(out)["suggestions"][0]["name"] == "lonely"


def test_query_reads_and_refuses_to_write(ask: Ask) -> None:
    count = "MATCH (p:Package) RETURN count(*) AS n"
    assert told_json(ask, "query", count) == {"rows": [{"n": 2}]}
    assert ask("query", count)[1] == "n\n2\n"
    code, _, err = ask("query", "MATCH (p:Package) DELETE p")
    assert code == 2
    assert err.startswith("golore: The query contains DELETE.")


def test_export_prints_sorted_lines_or_writes_a_file(ask: Ask, tmp_path: Path) -> None:
    code, out, _ = ask("export", "--format", "jsonl")
    assert code == 0
    records = [json.loads(line) for line in out.splitlines()]
    assert {"type": "node", "label": "Package"}.items() <= next(r for r in records if r["label"] == "Package").items()
    assert ask("export", "--output", str(tmp_path / "graph.jsonl"))[0] == 0
    assert (tmp_path / "graph.jsonl").read_text(encoding="utf-8") == out


def test_audit_compares_with_the_type_checker(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_shop(tmp_path)
    (root / "main.go").write_text('package main\n\nimport "example.com/shop/store"\n\nfunc main() { store.Flush() }\n')
    assert main(["audit", str(root), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["toolchain"].startswith("go version ")
    assert (told["calls"]["precision"], told["calls"]["recall"]) == (1.0, 1.0)
    assert told["implements"]["right"] >= 2
    assert main(["audit", str(root)]) == 0
    assert "precision    recall" in capsys.readouterr().out


def test_a_store_under_golore_home_leaves_the_repository_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_shop(tmp_path / "shop")
    monkeypatch.setenv("GOLORE_HOME", str(tmp_path / "home"))
    assert main(["learn", str(root)]) == 0
    assert not (root / ".golore").exists()
    assert store_of(root).parent == tmp_path / "home"
    assert find_repository(root / "store").root == root
    capsys.readouterr()
    assert main(["callers", "Sync", "--repo", str(root / "store")]) == 0
    assert "store.Flush" in capsys.readouterr().out


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(arguments)
    return code, capsys.readouterr().err


def test_a_wrong_path_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = tmp_path / "missing"
    assert failure(capsys, "learn", str(missing)) == (1, f"golore: There is no directory {missing}. Check the path.\n")
    assert failure(capsys, "status", "--repo", str(missing))[0] == 2


def test_a_tree_without_go_files_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failure(capsys, "learn", str(tmp_path)) == (
        1,
        f"golore: There are no Go files in {tmp_path}. Name the directory of a Go repository.\n",
    )
    assert not (tmp_path / ".golore").exists()


def test_a_question_before_the_first_learn_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert failure(capsys, "callers", "X", "--repo", str(tmp_path)) == (
        1,
        f"golore: {tmp_path} is not in a learned repository. Run `golore learn` at the root of the repository.\n",
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_without_permission_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_shop(tmp_path / "shop")
    root.chmod(0o500)
    try:
        code, err = failure(capsys, "learn", str(root))
    finally:
        root.chmod(0o700)
    assert code == 1
    assert err.startswith(f"golore: The store in {root / '.golore'} cannot be used: Permission denied.")


def test_a_place_that_cannot_hold_a_store_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_shop(tmp_path / "shop")
    monkeypatch.setenv("GOLORE_HOME", str(root / "main.go"))
    code, err = failure(capsys, "learn", str(root))
    assert code == 1
    assert err.startswith("golore: The store in ")
    assert err.count("\n") == 1


def test_a_store_in_use_is_told_with_who_uses_it(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    assert main(["learn", str(root)]) == 0
    held = locks.acquire(root / ".golore" / "writer.lock", exclusive=True, timeout=0, purpose="written")
    try:
        busy = golore("learn", cwd=root)
        assert main(["callers", "Sync", "--repo", str(root)]) == 0
    finally:
        held.release()
    assert busy.returncode == 1
    assert f"golore: The store cannot be written: process {os.getpid()} (" in busy.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_told(learned: Path) -> None:
    with Path("/dev/full").open("w") as full:
        told = subprocess.run(
            [GOLORE, "export"], cwd=learned, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert told.returncode == 1
    assert told.stderr.startswith("golore: The disk is full.")


def test_an_end_of_the_pipe_is_no_noise(learned: Path) -> None:
    command = f"{GOLORE} export | head -n 1"
    told = subprocess.run(command, cwd=learned, shell=True, capture_output=True, text=True, check=True)
    assert json.loads(told.stdout)["type"] == "node"
    assert told.stderr == ""


@pytest.mark.parametrize("arguments", [["callers"], ["impact", "X", "--depth", "0"], ["export", "--format", "xml"]])
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
    assert "usage: golore" in capsys.readouterr().err


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        main(["--help"])
    assert exit.value.code == 0
    assert "golore callers Store.Save" in capsys.readouterr().out


@pytest.mark.parametrize("workers", ["0", "2"])
def test_an_interrupt_leaves_the_store_as_it_was(tmp_path: Path, workers: str) -> None:
    root = make_shop(tmp_path / "shop")
    assert golore("learn", cwd=root).returncode == 0
    before = golore("export", cwd=root).stdout
    many = root / "many"
    for number in range(1500):
        package = many / f"p{number}"
        package.mkdir(parents=True)
        body = "".join(f"func F{at}(a, b int) int {{ return a*b + F{at - 1}(b, a) }}\n" for at in range(1, 30))
        (package / "p.go").write_text(f"package p{number}\n\nfunc F0(a, b int) int {{ return a }}\n{body}")
    with subprocess.Popen(
        [GOLORE, "learn", "--workers", workers],
        cwd=root,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Tests that run in the background of a shell inherit that Ctrl-C is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as learning:
        assert learning.stderr is not None
        assert learning.stderr.readline() == "Reading 1,505\n"
        learning.send_signal(signal.SIGINT)
        _, err = learning.communicate()
    assert learning.returncode == 130
    assert err == "golore: Interrupted; the store is intact.\n"
    shutil.rmtree(many)
    assert golore("export", cwd=root).stdout == before
    assert golore("status", "--json", cwd=root).returncode == 0
