"""For tests of notes: a small repository, commands run in this process, and the texts of cards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from golore.graph.cards.card_store import open_card_store
from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.note_nodes import project_notes
from golore.graph.knowledge.notes import Anchor, NewNote, PinnedNote, all_notes, write_notes
from golore.learner.derived.note_code_finder import CodeFinder
from golore.learner.derived.note_step import anchor_at
from golore.mcp_server.cli.main import main

NOWHERE = Anchor("", "", "", "", "", "", "", "")
FILES = {
    "go.mod": "module example.com/bank\n\ngo 1.24\n",
    "main.go": 'package main\n\nimport "example.com/bank/ledger"\n\nfunc main() { ledger.Post(ledger.Open(), 1) }\n',
    "ledger/ledger.go": """\
package ledger

// Ledger keeps sums.
type Ledger struct {
	sum int
}

// Open begins a ledger.
func Open() *Ledger {
	return &Ledger{sum: 0}
}

// Post adds an amount.
func Post(l *Ledger, amount int) int {
	if amount < 0 {
		panic("negative")
	}
	l.sum += amount
	return l.sum
}
""",
    "ledger/report.go": "package ledger\n\n// Report tells the sum.\nfunc Report(l *Ledger) int { return l.sum }\n",
}


def make_bank(root: Path) -> Path:
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


class Bank:
    """A repository that a test may change, and golore's commands in it."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.store = root / ".golore"
        self.said = ""
        self._capsys = capsys

    def run(self, *words: str) -> Any:
        """Run a command and return its JSON output; its standard error is kept in `said`."""
        self._capsys.readouterr()
        path = [str(self.root)] if words[0] == "learn" else ["--repo", str(self.root)]
        code = main([words[0], *path, "--json", *words[1:]])
        out, self.said = self._capsys.readouterr()
        assert code == 0, self.said
        return json.loads(out)

    def refused(self, *words: str) -> str:
        self._capsys.readouterr()
        assert main([words[0], "--repo", str(self.root), *words[1:]]) != 0
        return self._capsys.readouterr().err

    def note(self, target: str, text: str, *options: str) -> dict[str, Any]:
        author = () if "--author" in options else ("--author", "Anna")
        return self.run("note", target, text, *author, *options)["note"]

    def pin(self, level: str, id: str, kind: str, text: str) -> None:
        """Like `note`, without running a command."""
        pin(self.root, [(level, id, NewNote(kind, text, "Anna", NOWHERE))])
        project_notes(self.store)

    def notes(self) -> list[dict[str, Any]]:
        return self.run("note", "--list", "--all")["notes"]

    def only(self) -> dict[str, Any]:
        (note,) = self.notes()
        return note

    def edit(self, path: str, old: str, new: str) -> None:
        file = self.root / path
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def learn(self) -> None:
        self.run("learn", "--workers", "0")

    def card(self, path: str) -> str:
        return card(self.store, path)

    def described(self) -> list[tuple[str, str, str]]:
        """What the notes of the graph describe: text of the note, id of what it describes, and how that has drifted."""
        with Store.open(self.store, write=False) as store:
            rows = store.rows("MATCH (n:Note)-[:DESCRIBES]->(b) RETURN n.text, b.id, n.drifted ORDER BY n.text, b.id")
            return [(row[0], row[1], row[2]) for row in rows]


def card(store: Path, path: str) -> str:
    card_store = open_card_store(store, write=False)
    assert card_store is not None
    with card_store:
        found = card_store.card(path)
    return found.text if found is not None else ""


def pin(root: Path, notes: Sequence[tuple[str, str, NewNote]]) -> list[str]:
    """Write many notes at once. Each is the level and id of its target, and a note whose anchor is filled in here."""
    directory = root / ".golore"
    with Store.open(directory, write=False) as store, Knowledge.open(directory) as knowledge:
        finder = CodeFinder(root.resolve(), store)
        anchors = {(level, id): anchor_at(finder, level, id).anchor for level, id in {one[:2] for one in notes}}
        return write_notes(knowledge, [draft._replace(anchor=anchors[level, id]) for level, id, draft in notes])


def kept(directory: Path) -> list[PinnedNote]:
    with Knowledge.open(directory) as knowledge:
        return all_notes(knowledge)
