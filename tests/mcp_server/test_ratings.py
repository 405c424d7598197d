"""What was found useful stands higher in searches, what was not lower: bounded, fading, visible, taken back."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.ratings import LARGEST, rate, rated_items, ratings, remove_ratings, score_changes
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from mcp import Client
from support.mcp_client import inside, told
from support.shop import make_shop

NOW = datetime(2026, 11, 16, tzinfo=UTC)


@pytest.fixture
def knowledge(tmp_path: Path) -> Knowledge:
    return Knowledge.open(tmp_path)


def test_ratings_add_up_within_bounds_and_fade(knowledge: Knowledge) -> None:
    with knowledge:
        once = rate(knowledge, "a.go", useful=True, now=NOW)
        often = [rate(knowledge, "a.go", useful=True, now=NOW) for _ in range(50)][-1]
        low = [rate(knowledge, "b.go", useful=False, now=NOW) for _ in range(50)][-1]
        assert 0 < once.worth < often.worth < LARGEST
        assert -LARGEST < low.worth < 0
        later = score_changes(knowledge, now=NOW + timedelta(days=600))
        assert abs(later["a.go"]) < once.worth / 2
        assert [one.item for one in rated_items(knowledge, now=NOW)] == ["a.go", "b.go"]


def test_ratings_are_visible_and_taken_back_one_by_one_or_all(knowledge: Knowledge) -> None:
    with knowledge:
        rate(knowledge, "a.go", useful=True, by="Ann", now=NOW)
        rate(knowledge, "b.go", useful=False, now=NOW)
        assert [(one.item, one.useful, one.by) for one in ratings(knowledge)] == [
            ("b.go", False, ""),
            ("a.go", True, "Ann"),
        ]
        assert remove_ratings(knowledge, "a.go") == 1
        assert list(score_changes(knowledge, now=NOW)) == ["b.go"]
        assert remove_ratings(knowledge) == 1
        assert score_changes(knowledge) == {}


def test_a_rating_moves_a_file_in_searches_until_it_is_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_shop(tmp_path)
    learn_graph(root)
    finish(root, root / ".golore")

    def said(*arguments: str) -> str:
        assert main([*arguments, "--repo", str(root)]) == 0
        return capsys.readouterr().out

    def results() -> list[dict[str, Any]]:
        return json.loads(said("search", "saves a key", "--json", "--explain"))["results"]

    before = results()
    assert before[0]["file"] == "store/store.go"
    assert "store/store.go: useful 0, useless 1; search score -15%." in said(
        "note", "store/store.go", "--rate", "useless"
    )
    after = results()[0]
    assert after["signals"]["rated"] == pytest.approx(-0.15, abs=0.001)
    assert after["score"] < before[0]["score"]
    assert "store/store.go: useful 0, useless 1" in said("note", "--ratings")
    assert "Removed 1 rating of store/store.go." in said("note", "store/store.go", "--rate", "reset")
    assert results() == before

    async def talk(client: Client) -> tuple[str, str]:
        await told(client, "memory_context", target="store/store.go")
        return (
            await told(client, "memory_note", target="Memory.Save", rate="useful"),
            await told(client, "memory_note", target="Memory.Save", rate="reset"),
        )

    rated, reset = inside(talk, root)
    assert rated.startswith("example.com/shop/store.Memory.Save: useful 1, useless 0; search score +15%")
    assert reset.startswith("Removed 1 rating")


def test_ratings_are_printed_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_shop(tmp_path)
    learn_graph(root)
    shown: list[Any] = []
    for words in (("main.go", "--rate", "useful"), ("--ratings",), ("--rate", "reset"), ("--ratings",)):
        capsys.readouterr()
        assert main(["note", *words, "--json", "--repo", str(root)]) == 0
        shown.append(json.loads(capsys.readouterr().out))
    (rated,) = shown[0]["ratings"]
    assert (shown[0]["outcome"], rated["item"], rated["useful"], rated["useless"]) == ("useful", "main.go", 1, 0)
    assert shown[1] == {"ratings": [rated]}
    assert shown[2:] == [{"outcome": "reset", "item": "", "ratings": []}, {"ratings": []}]


def test_a_symbol_with_a_name_like_an_id_is_not_taken_for_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "go.mod").write_text("module example.com/m\n\ngo 1.22\n")
    (tmp_path / "m.go").write_text("package m\n\nfunc face() {}\n")
    learn_graph(tmp_path)
    assert main(["note", "face", "It smiles.", "--repo", str(tmp_path), "--json"]) == 0
    id = json.loads(capsys.readouterr().out)["note"]["id"]
    for target, item in (("face", "example.com/m.face"), (id, id), (id[:6], id)):
        assert main(["note", target, "--rate", "useful", "--repo", str(tmp_path), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["item"] == item
        assert main(["note", "--history", target, "--repo", str(tmp_path), "--json"]) == 0
        assert [note["id"] for note in json.loads(capsys.readouterr().out)["notes"]] == [id]
