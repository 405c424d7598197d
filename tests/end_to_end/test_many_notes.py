"""Ten thousand notes on two thousand symbols: the right ones are on a card, a design question finds its decision."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from golore.graph.cards.card_text import MAX_CARD_CHARACTERS
from golore.graph.knowledge.notes import KINDS, Anchor, NewNote
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from support.note_repository import card, pin

QUESTIONS: list[dict[str, str]] = json.loads(
    (Path(__file__).parents[2] / "fixtures/questions/decisions.json").read_text()
)
VERBS = (
    "Add Check Close Count Delete Expire Fetch Find Keep List Load Lock Make Match Open Read Reserve Retry Send Store"
).split()
NOUNS = "Address Entry Key Order Part".split()
NOWHERE = Anchor("", "", "", "", "", "", "", "")
PACKAGES = sorted({question["package"] for question in QUESTIONS})
CROWDED = "upload/crowded.go"


def source(package: str, verb: str) -> str:
    """Five functions whose names and comments are made of the words that the questions use, too."""
    functions = "".join(
        f"// {verb}{noun} does what it takes to {verb.lower()} the {noun.lower()} of {package}s, and why it failed.\n"
        f"func {verb}{noun}(name string) error {{ return nil }}\n\n"
        for noun in NOUNS
    )
    return f"package {package}\n\n{functions}"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 symbols, 10,000 notes: 40 decisions, 30 notes on the declarations of one file, and many plain ones."""
    root = tmp_path_factory.mktemp("crowd") / "shop"
    root.mkdir()
    (root / "go.mod").write_text("module example.com/shop\n\ngo 1.24\n")
    for package, verb in product(PACKAGES, VERBS):
        path = root / package / f"{verb.lower()}.go"
        path.parent.mkdir(exist_ok=True)
        path.write_text(source(package, verb))
    functions = "".join(f"func Crowded{number}() int {{ return {number} }}\n\n" for number in range(30))
    (root / CROWDED).write_text(f"package upload\n\n{functions}")
    learn_graph(root, workers=0)
    notes = [
        ("package", f"example.com/shop/{one['package']}", NewNote("decision", one["decision"], "Anna", NOWHERE))
        for one in QUESTIONS
    ]
    for number in range(30):
        draft = NewNote(KINDS[number % 7], f"About {number}: {'a long word ' * 12}", "Anna", NOWHERE)
        day = f"2026-11-{1 + number % 15:02}T10:00:00Z"
        notes.append(("symbol", f"example.com/shop/upload.Crowded{number}", draft._replace(created=day)))
    files = [f"{package}/{verb.lower()}.go" for package, verb in product(PACKAGES, VERBS)]
    for number in range(10_000 - len(notes)):
        path = files[number % len(files)]
        text = f"Looked at {path} again, number {number}: nothing to do about the {NOUNS[number % 5].lower()}."
        notes.append(("file", path, NewNote("note", text, "Ben", NOWHERE)))
    pin(root, notes)
    finish(root, root / ".golore", whole=True)
    return root


def results(root: Path, capsys: pytest.CaptureFixture[str], question: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["search", "--repo", str(root), "--json", question]) == 0
    return json.loads(capsys.readouterr().out)["results"]


def test_there_are_two_thousand_symbols_and_ten_thousand_notes(crowd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    statement = "MATCH (s:Symbol) RETURN count(*) AS n UNION ALL MATCH (n:Note)-[:DESCRIBES]->() RETURN count(*) AS n"
    capsys.readouterr()
    assert main(["query", "--repo", str(crowd), "--json", statement]) == 0
    assert {row["n"] for row in json.loads(capsys.readouterr().out)["rows"]} == {2_030, 10_000}


def test_a_card_with_thirty_notes_keeps_to_its_length_and_shows_what_binds_most(crowd: Path) -> None:
    text = card(crowd / ".golore", CROWDED)
    assert len(text) <= MAX_CARD_CHARACTERS
    lines = text.splitlines()
    shown = [line.split()[1] for line in lines[1:] if " on upload.Crowded" in line]
    assert lines[0] == "Notes:"
    assert shown[:4] == ["invariant"] * 4
    assert len(shown) >= 4
    # Of one kind, the newest first: 14, 7 and 0 are a week apart, 28 and 21 too.
    days = [line.partition("(Anna, ")[2][:10] for line in lines[1:] if " on upload.Crowded" in line]
    assert days[:4] == sorted(days[:4], reverse=True)
    assert f"- {30 - len(shown)} more left out" in lines


def test_a_design_question_finds_its_decision_above_any_symbol(crowd: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missed: list[str] = []
    for one in QUESTIONS:
        found = results(crowd, capsys, one["question"])
        code = [at for at, hit in enumerate(found) if hit["kind"] not in ("note", "doc", "summary")]
        right = [at for at, hit in enumerate(found) if one["decision"][:40] in hit["snippet"]]
        if not right or (code and code[0] < right[0]):
            missed.append(f"{one['question']} -> {[(hit['kind'], hit['snippet'][:80]) for hit in found[:3]]}")
    assert not missed, f"{len(missed)} of {len(QUESTIONS)}:\n" + "\n".join(missed)
    assert len(QUESTIONS) == 40
