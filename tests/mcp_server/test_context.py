"""`golore context`: its JSON, its text, what it finds, and what it says when it finds nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golore.mcp_server.cli.main import main
from support.learned_tree import copy_repository
from support.shop import make_shop


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    assert main(["learn", str(root), "--workers", "0"]) == 0
    return root


@pytest.fixture
def shop(learned: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(learned)
    return learned


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["context", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.usefixtures("shop")
def test_the_json_has_path_text_related_and_stale(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, "store/store.go")
    assert (found["path"], found["kind"], found["stale"]) == ("store/store.go", "file", False)
    assert found["text"].startswith("Used from 2 other files")
    assert all(set(one) == {"file", "why"} for one in found["related"])
    assert "store/store_test.go" in [one["file"] for one in found["related"]]


def test_a_file_is_found_by_any_way_to_write_its_path(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expected = asked(capsys, "store/store.go")
    assert asked(capsys, "./store/store.go") == expected
    assert asked(capsys, str(shop / "store" / "store.go")) == expected
    monkeypatch.chdir(shop / "store")
    assert asked(capsys, "store.go") == expected
    assert asked(capsys, "store/store.go") == expected
    monkeypatch.chdir(tmp_path)
    assert asked(capsys, "store/store.go", "--repo", str(shop)) == expected
    assert asked(capsys, str(shop / "store" / "store.go")) == expected


@pytest.mark.usefixtures("shop")
def test_packages_the_repository_and_symbols_have_contexts(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "store")["path"] == "store/"
    assert asked(capsys, "example.com/shop/store")["text"] == asked(capsys, "store/")["text"]
    whole = asked(capsys, ".")
    assert (whole["path"], whole["kind"]) == ("", "repository")
    symbol = asked(capsys, "store.Put")
    assert (symbol["kind"], symbol["path"]) == ("symbol", "store/store.go")
    assert symbol["text"].startswith("func store.Put (store/store.go:32); 2 callers")


@pytest.mark.usefixtures("shop")
def test_a_file_without_a_card_says_that_there_is_nothing_to_tell(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "main.go")["text"] == ""
    assert main(["context", "main.go"]) == 0
    assert "There is nothing to add to its own text." in capsys.readouterr().out


@pytest.mark.usefixtures("shop")
def test_a_budget_shortens_the_text_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    text = asked(capsys, "store/store.go", "--budget", "250")["text"]
    assert len(text) <= 250
    assert "left out" in text


def test_a_changed_file_is_stale_and_its_neighbours_are_not(
    learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy_repository(learned, tmp_path / "shop")
    monkeypatch.chdir(root)
    with (root / "main.go").open("a") as file:
        file.write("\nfunc later() {}\n")
    assert asked(capsys, "main.go")["stale"] is True
    assert asked(capsys, "store/store.go")["stale"] is False
    assert asked(capsys, "store/")["stale"] is False
    assert asked(capsys, ".")["stale"] is True
    assert main(["context", "main.go"]) == 0
    assert "Changed since the last learn" in capsys.readouterr().out


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("target", "code", "said"),
    [
        ("other/store.go", 2, "Did you mean store/store.go?"),
        ("nowhere.go", 2, "learn the repository if it is new"),
        ("Sav", 1, "Similar names"),
        ("New", 1, "ambiguous"),
        ("fmt.Println", 2, "`golore users fmt.Println` lists its users"),
    ],
)
def test_errors_say_what_to_do(target: str, code: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["context", target]) == code
    assert said in capsys.readouterr().err


def test_a_store_without_cards_says_how_to_get_them(
    learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy_repository(learned, tmp_path / "shop")
    for path in (root / ".golore").glob("cache.db*"):
        path.unlink()
    monkeypatch.chdir(root)
    assert main(["context", "main.go"]) == 1
    assert "Run `golore learn` to make them." in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_a_budget_bounds_the_text_of_a_symbol(capsys: pytest.CaptureFixture[str]) -> None:
    whole = asked(capsys, "Memory.Save")["text"]
    cut = asked(capsys, "Memory.Save", "--budget", "20")["text"]
    assert len(whole) > 60
    assert cut != whole
    assert cut.endswith("left out")
    assert len(cut.partition("…")[0]) <= 21
