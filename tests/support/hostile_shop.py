"""The shop with markup wherever a repository can contain text: names of files and directories, comments, strings,
commits, documents, a note with a tag, a proposed note, and a summary. Whoever shows it must show it as text."""

from __future__ import annotations

import json
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.summaries import DRAFT, NewSummary, store_summary
from golore.graph.knowledge.summary_inputs import inputs_of
from golore.mcp_server.cli.main import main
from golore.mcp_server.sessions.proposals import LEDGER_NAME, PROPOSED, Proposal
from support.git_repository import git
from support.shop import make_shop

MARKUP = "<script>hacked=1</script><img src=x onerror=hacked=2>\"'><svg onload=hacked=3>"
HOSTILE_FILE = "store/a<img src=x onerror=hacked=4>.go"
HOSTILE_DIRECTORY = "<b onclick=hacked=6>"
_SOURCE = f"""package store

// Hostile says {MARKUP}
func Hostile() string {{ return Twice(`{MARKUP}`) }}

/* Twice {MARKUP} */
func Twice(text string) string {{
	m := New()
	_ = m.Save(text)
	_ = Put(m, text)
	return text + "{MARKUP.replace('"', "'")}"
}}
"""


def make_hostile_shop(root: Path) -> Path:
    """A learned repository. Its tests, callers and unresolved uses are those of the shop."""
    make_shop(root)
    (root / HOSTILE_FILE).write_text(_SOURCE, encoding="utf-8")
    directory = root / HOSTILE_DIRECTORY
    directory.mkdir()
    (directory / "page.go").write_text(f"// Package page is {MARKUP}\npackage page\n", encoding="utf-8")
    document = f"# Hostile {MARKUP}\n\n`store.Hostile` is {MARKUP}.\n\n[x](javascript:hacked=5)\n"
    (root / "README.md").write_text(document, encoding="utf-8")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", f"begin {MARKUP}")
    for command in (
        ["learn", str(root), "--workers=0"],
        ["note", "--repo", str(root), "--kind=decision", "store.Hostile", f"Decided {MARKUP}"],
        ["note", "--repo", str(root), "--kind=task", "--tag=<i>tag</i>", "store/", f"To do {MARKUP}"],
    ):
        assert main(command) == 0
    draft_summary(root, "store/store.go", f"Keeps things in memory {MARKUP}")
    proposed = Proposal("p1", f"Proposed {MARKUP}", f"Before {MARKUP}", (HOSTILE_FILE,), "s1", "2026-11-01T00:00:00")
    line = json.dumps({"event": PROPOSED, **proposed._asdict()})
    (root / ".golore" / LEDGER_NAME).write_text(f"{line}\n", encoding="utf-8")
    return root


def draft_summary(root: Path, file: str, text: str) -> None:
    """Store a text as the draft of a model about a file."""
    with Store.open(root / ".golore", write=False) as store, Knowledge.open(root / ".golore") as knowledge:
        inputs = inputs_of(store, root, knowledge, "file", file)
        assert inputs is not None
        assert store_summary(knowledge, inputs, NewSummary(text, DRAFT, "model", "tiny", "1")) is not None
