"""Files, lines and promoted methods as targets of every command, and what is said about texts that name nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from golore.mcp_server.cli.main import main
from support.shop import make_shop

Ask = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    (root / "README.md").write_text("# Shop\n")
    assert main(["learn", str(root)]) == 0
    return root


@pytest.fixture
def ask(learned: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ask:
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


@pytest.mark.parametrize(
    "text", ["store/store.go:19", "store.go:19", "store.go:18-21", "/elsewhere/shop/store/store.go:19 +0x1d"]
)
def test_a_line_means_the_declaration_around_it(ask: Ask, text: str) -> None:
    assert told_json(ask, "callers", text)["subject"]["name"] == "example.com/shop/store.Memory.Save"


def test_a_file_is_answered_for_all_its_declarations_without_uses_among_them(ask: Ask) -> None:
    answer = told_json(ask, "callers", "store.go")
    assert answer["subject"]["kind"] == "file"
    assert {(one["symbol"]["name"], one["subject"].rpartition(".")[2]) for one in answer["resolved"]} >= {
        ("run", "New"),
        ("run", "Put"),
    }
    assert "Put" not in {one["symbol"]["name"] for one in answer["resolved"]}  # calls Saver.Save in the same file
    assert [one["symbol"]["name"] for one in told_json(ask, "tests", "store.go")["resolved"]] == ["TestPut"]
    assert {one["symbol"]["name"] for one in told_json(ask, "impact", "store/store.go")["resolved"]} == {"run", "main"}
    _, out, _ = ask("users", "store.go")
    assert "Uses among these declarations are left out." in out
    _, out, _ = ask("show", "store.go:13-20")
    assert [line.split()[1:] for line in out.splitlines()[1:]] == [
        ["struct", "store.Memory"],
        ["field", "store.Memory.items"],
        ["method", "store.Memory.Save"],
    ]


def test_a_promoted_method_says_where_it_is_from(ask: Ask) -> None:
    code, out, _ = ask("callers", "Logged.Save")
    assert code == 0
    assert out.splitlines()[1] == "Logged.Save is promoted from example.com/shop/store.Memory."
    subject = told_json(ask, "show", "store.Logged.Save")["subject"]
    assert (subject["name"], "promoted" in subject["explanation"]) == ("example.com/shop/store.Memory.Save", True)


def test_context_and_notes_take_lines_with_one_declaration_only(ask: Ask) -> None:
    code, out, _ = ask("context", "store.go:19")
    assert (code, out.splitlines()[0]) == (0, "store/store.go")
    code, _, err = ask("note", "store.go:13-20", "text")
    assert code == 1
    assert "'store/store.go:13-20' is ambiguous: it may mean 3 symbols." in err


@pytest.mark.parametrize("text", [":", "::", "...", "_", ""])
def test_what_has_no_letter_is_no_name(ask: Ask, text: str) -> None:
    code, _, err = ask("show", text)
    assert (code, err.strip().splitlines()) == (
        2,
        [f"golore: {text!r} is no name. Name a symbol such as Store.Save, a file, or a line such as store.go:18."],
    )


def test_a_file_may_be_followed_by_a_colon_as_in_messages(ask: Ask) -> None:
    assert ask("context", "store.go:") == ask("context", "store.go")


def test_what_is_no_code_is_refused_with_advice(ask: Ask) -> None:
    for command in ("callers", "context"):
        code, _, err = ask(command, "stroe.go")
        assert (code, "Did you mean store/store.go?" in err) == (2, True)
        assert "README.md is not Go code." in ask(command, "README.md")[2]
    assert "store is a package." in ask("callers", "../store")[2].replace("../", "")
    assert "declares nothing" in ask("callers", "store.go:2")[2]
    assert "store.go:200 declares nothing" in ask("callers", "store.go:200")[2]
