"""Text of a repository stays data: whatever names, paths, comments, commits, notes and documents contain, no outlet
shows a hidden character, and none lets such a text begin a line of its own or leave its frame."""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import pytest
from golore.graph.cards.card_store import SymbolLine
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME
from golore.learner.checkout.discovery import discover
from golore.learner.checkout.git_log import read_history
from golore.mcp_server.cli.main import main
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextResourceContents
from support.git_repository import git
from support.hook_process import event, hook, read, seen, settings, with_cards
from support.hostile import BIDI, CLIPBOARD, HOSTILE, ORDER, assert_harmless, hidden_in, outside_fences
from support.mcp_client import GOLORE, inside, text_of

NEWLINE_PATH = f"store/zebra\n\n{ORDER}\n\n.go"
BREAKOUT = f"“{HOSTILE}”\n```\n{ORDER}\n````\n{ORDER}"
"""Closes quotation marks and fences."""
COMMENT = "\n".join(f"// {line}" for line in f"Clip is a part. {HOSTILE} ” ```".splitlines())
FORGED = f"\x011700000000\x02{'ab' * 20}\x02"
"""Looks like the beginning of a commit in the output of `git log` that golore reads."""
STORE = f"""\
//go:build !evil{BIDI}

// Package store keeps things ” “. {CLIPBOARD}
package store

{COMMENT}
// Deprecated: {HOSTILE.splitlines()[0]}
type Clip struct {{
	Name string `json:"{CLIPBOARD}
{ORDER}"`
}}

// Save is a part. {CLIPBOARD}{BIDI}
func (c *Clip) Save(key string) error {{ c.missing(key); return nil }}

func Use() error {{ c := &Clip{{}}; return c.Save("{CLIPBOARD}") }}

const Text = `{CLIPBOARD}
{ORDER}`
"""
OTHER = """\
package other

import "example.com/evil/store"

type Saver interface{ Save(key string) error }

// Zebra feeds giraffes and okapis.
func Zebra() error { return store.Use() }
"""
TEST = 'package store\n\nimport "testing"\n\nfunc TestSave(t *testing.T) { (&Clip{}).Save("") }\n'
README = f"""\
# Title {CLIPBOARD}{BIDI} ” `Clip` ```

The giraffes of `store.Clip` and `Clip.Save`. {HOSTILE}

```
{ORDER}
```
"""


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A learned repository that is hostile in everything that golore reads."""
    root = tmp_path_factory.mktemp("hostile").resolve() / "evil"
    files = {
        "go.mod": "module example.com/evil\n\ngo 1.25\n",
        "sub/go.mod": f'module "example.com/sub{CLIPBOARD}{BIDI}"\n\nrequire "x.org/{CLIPBOARD}y" v1.0.0\n',
        "sub/sub.go": f'package sub\n\nimport _ "x.org/{CLIPBOARD}{BIDI}y"\n\nfunc Sub() {{}}\n',
        "store/store.go": STORE,
        "store/store_test.go": TEST,
        "other/other.go": OTHER,
        "README.md": README,
        NEWLINE_PATH: "package store\n\nfunc Zebra() {}\n",
        f"store/{CLIPBOARD.replace('/', '')}.go": "package store\n",
        f"store/{BIDI}.go": "package store\n",
        f"bad{BIDI}/x.go": "package x\n",
        f"docs/{CLIPBOARD.replace('/', '')}.md": "# Clip\n\n`Clip`\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    git(root, "init", "-q")
    author = f"Eve {CLIPBOARD}{BIDI} ” ) {ORDER} <eve@example.com>"
    for number in range(4):
        for name in ("store/store.go", "other/other.go"):
            with (root / name).open("a") as file:
                file.write(f"\n// {number}\n")
        git(root, "add", "-A")
        subject = f"giraffe {FORGED}{HOSTILE.replace(chr(0x85), '')} ” ```"
        git(root, "-c", "i18n.commitEncoding=utf-8", "commit", "-q", f"--author={author}", "-m", subject)
    git(root, "checkout", "-q", "-b", f"branch{BIDI}")
    assert main(["learn", str(root)]) == 0
    settings(root, "[hooks]\nrelearn = false\n")
    for target in ("store/store.go", "Clip", "store/", "."):
        for kind in ("invariant", "task"):
            text = f"{kind} {target} giraffes and okapis must be fed"
            assert main(["note", "--repo", str(root), target, text, "--kind", kind, "--author", "eve"]) == 0
    assert main(["note", "--repo", str(root), "--summary", "store/store.go", "It keeps the giraffes of the shop."]) == 0
    # As an import of a foreign export would write them: `golore note` itself cleans a text.
    with sqlite3.connect(root / ".golore" / KNOWLEDGE_NAME) as database:
        database.execute("UPDATE notes SET text = text || ?, author = ?, source = ?", (BREAKOUT, author, CLIPBOARD))
        database.execute("UPDATE summaries SET text = text || ?", (HOSTILE,))
    assert main(["learn", str(root), "--full"]) == 0
    (root / "store" / f"new{CLIPBOARD.replace('/', '')}.txt").write_text("uncommitted")
    return root


COMMANDS = (
    ("status",),
    ("show", "Clip"),
    ("show", "Clip.Save"),
    ("show", "Clip.Name"),
    ("show", "Text"),
    ("show", "Clip", "--history"),
    ("show", "store/store.go", "--history"),
    ("callers", "Clip.Save"),
    ("callees", "Clip.Save"),
    ("users", "Clip"),
    ("implementers", "Saver"),
    ("impact", "Clip.Save"),
    ("path", "other.Zebra", "Clip.Save"),
    ("query", "MATCH (s:Symbol) RETURN s"),
    ("query", "MATCH (n:Note) RETURN n"),
    ("query", "MATCH (r:Repository) RETURN r"),
    ("search", "giraffe"),
    ("search", "Clip"),
    ("search", "clip part", "--explain"),
    ("context", ""),
    ("context", "store/"),
    ("context", "store/store.go"),
    ("context", "store/store.go", "--budget", "300"),
    ("context", "Clip"),
    ("recent",),
    ("recent", "store/store.go"),
    ("recent", "Clip"),
    ("note", "--list"),
    ("note", "--list", "Clip"),
    ("drafts",),
    ("learn", "--full"),
    ("show", f"Nothing{CLIPBOARD}{BIDI}"),
    ("show", "Zebr"),
    ("context", f"nowhere/{CLIPBOARD}.go"),
    ("query", f"MATCH (n:{CLIPBOARD}) RETURN n"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: repr(" ".join(command)))
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_command_prints_no_hidden_character(
    evil: Path, command: tuple[str, ...], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = command
    where = [str(evil)] if name == "learn" else ["--repo", str(evil)]
    main([name, *where, *(["--json"] if form == "json" else []), *rest])
    printed = capsys.readouterr()
    assert_harmless(printed.out)
    assert_harmless(printed.err)
    assert printed.out or printed.err
    if form == "json" and printed.out:
        json.loads(printed.out)


@pytest.mark.parametrize("target", ["store/", "store/store.go", "Clip"])
def test_quoted_text_cannot_close_its_quotation_marks(
    evil: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Documentation, notes, titles and commit subjects, each in quotation marks on a line of a card."""
    assert main(["context", "--repo", str(evil), target]) == 0
    quoted = [line for line in capsys.readouterr().out.splitlines() if "“" in line or "”" in line]
    assert len(quoted) > 1
    for line in quoted:
        # An author may have a mark in the name, but stands before the quotation.
        quotation = line.partition("“")[2]
        assert quotation.count("“") == 0, line
        assert quotation.count("”") == 1, line


def test_a_terminal_gets_golores_colours_and_no_others(evil: Path) -> None:
    """On a terminal, styles are control characters of golore's own."""
    for command in (["show", "Clip"], ["note", "--list"], ["status"], ["show", f"Nothing{CLIPBOARD}"]):
        ours, theirs = pty.openpty()
        environ = {**os.environ, "TERM": "xterm"}
        environ.pop("NO_COLOR", None)
        done = subprocess.run(
            [GOLORE, *command, "--repo", evil], stdout=theirs, stderr=theirs, env=environ, check=False
        )
        os.close(theirs)
        data = b""
        try:
            while piece := os.read(ours, 1 << 16):
                data += piece
        except OSError:
            pass  # the end, on Linux
        os.close(ours)
        text = data.decode().replace("\r\n", "\n")
        assert ("\x1b[1m" in text) == (done.returncode == 0)
        for style in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m"):
            text = text.replace(style, "")
        assert_harmless(text)


def test_a_file_with_a_hostile_name_is_a_problem_and_the_others_are_learned(
    evil: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = discover(evil)
    assert [file.path for file in found.files] == [
        "other/other.go",
        "store/store.go",
        "store/store_test.go",
        "sub/sub.go",
    ]
    assert [file.path for file in found.documents] == ["README.md"]
    assert len(found.problems) == 5
    assert {problem.message for problem in found.problems} == {
        "file not learned: its name has control characters or invisible ones",
        "directory not learned: its name has control characters or invisible ones",
    }
    assert_harmless("".join(problem.file for problem in found.problems))
    assert main(["learn", str(evil)]) == 0
    assert "5 problems:" in capsys.readouterr().out


def test_a_commit_cannot_forge_another_or_bring_in_a_hostile_path(evil: Path) -> None:
    history = read_history(evil)
    assert history is not None
    assert len(history.commits) == len(history.origins) == 4
    paths = history.files | {path for commit in history.commits for path in commit.paths}
    assert paths == {"other/other.go", "store/store.go", "store/store_test.go", "sub/sub.go"}


HEADS = ("golore's facts about ", "Tasks in golore's notes", "A note in golore that has", "The file has changed since;")


def assert_framed(printed: str) -> str:
    """Assert that an agent sees only golore's own lines outside of fences. Returns the text."""
    text = seen(printed)
    assert hidden_in(text) <= {"\n", "\t"}, text
    assert text
    for line in outside_fences(text):
        assert line.startswith(HEADS), line
    return text


PROMPTS = (
    "What about Clip.Save?",
    "Look at @store/store.go and @store/",
    "why are giraffes and okapis fed in the store",
)


def test_every_hook_event_keeps_the_text_in_its_frame(evil: Path) -> None:
    file = evil / "store" / "store.go"
    edit = {"old_string": "a", "new_string": "func (c *Clip) Save(key string) error {"}
    start = assert_framed(hook("claude", event("SessionStart", evil, session="1", source="startup")))
    assert "Tasks in golore's notes" in start
    assert "Role (" in assert_framed(hook("claude", read(file, session="2")))
    edited = event("PostToolUse", evil, session="3", tool_name="Edit", tool_input={"file_path": str(file), **edit})
    assert "Clip.Save in store/store.go" in assert_framed(hook("claude", edited))
    for number, prompt in enumerate(PROMPTS):
        assert_framed(hook("claude", event("UserPromptSubmit", evil, session=f"4{number}", prompt=prompt)))
    assert_framed(hook("cursor", {"cursor_version": "2.4", **read(file, session="5", hook_event_name="postToolUse")}))
    copilot = {"sessionId": "6", "cwd": str(evil), "toolName": "view", "toolArgs": json.dumps({"path": str(file)})}
    assert_framed(hook("copilot", {**copilot, "toolResult": {}}))


def test_a_store_that_has_hostile_names_already_stays_in_the_frame(tmp_path: Path) -> None:
    """Stores of older versions have cards of such files, and cards with raw characters."""
    root = tmp_path.resolve() / "r"
    path, card = NEWLINE_PATH, f"{BREAKOUT}\n{CLIPBOARD}"
    name = f"example.com/evil/zebra\n\n{ORDER}\n.Stripe"
    symbols = [SymbolLine("Stripe", name, "func", path, 1, card)]
    with_cards(root, {path: card, "": card, "store/": card, "a.go": card}, symbols)
    assert_framed(hook("claude", read(root / "a.go")))
    assert hook("claude", read(root / path)) == ""
    assert_framed(hook("claude", event("SessionStart", root, session="2", source="startup")))
    for number, prompt in enumerate(("What is in @store/ here?", "What is `Stripe`?")):
        assert_framed(hook("claude", event("UserPromptSubmit", root, session=f"3{number}", prompt=prompt)))


def test_a_hostile_path_that_a_prompt_recalls_stays_on_its_line(tmp_path: Path) -> None:
    """As in a store that an older golore made: the path of a recalled file is in the head."""
    root = tmp_path.resolve() / "market"
    topics = ("invoice", "shipment", "catalog", "warehouse", "discount", "refund", "currency", "basket", "ledger")
    texts = {f"{topic}/{topic}.go": f"package {topic}\n\nfunc New{topic.title()}() {{}}\n" for topic in topics}
    pays = "package refund\n\n// PayVoucher pays an expired voucher.\nfunc PayVoucher() {}\n"
    uses = 'package basket\n\nimport "example.com/m/refund"\n\nfunc Pay() { refund.PayVoucher() }\n'
    texts |= {"go.mod": "module example.com/m\n", "refund/expired.go": pays, "basket/pay.go": uses}
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert main(["learn", str(root)]) == 0
    settings(root, "[hooks]\nrelearn = false\n")
    path = f"refund/zebra\n\n{ORDER}\n\n.go"
    (root / "refund/expired.go").rename(root / path)
    with sqlite3.connect(root / ".golore" / "cache.db") as database:
        for table in ("search_files", "deck_cards"):
            database.execute(f"UPDATE {table} SET path = ? WHERE path = 'refund/expired.go'", (path,))
    prompt = "Refunds are paid twice when the voucher of a customer has expired"
    text = assert_framed(hook("claude", event("UserPromptSubmit", root, prompt=prompt)))
    assert text.startswith("golore's facts about refund/zebra\\n\\nSYSTEM: ")


CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    *(("memory_context", {"target": target}) for target in ("", "store/", "store/store.go", "Clip", "Clip.Save")),
    ("memory_context", {"target": "store/store.go", "budget": 300}),
    ("memory_context", {"target": f"nowhere{CLIPBOARD}/x.go"}),
    *(("memory_graph", {"question": question, "symbol": "Clip.Save"}) for question in ("callers", "callees", "users")),
    *(("memory_graph", {"question": question, "symbol": "Clip.Save"}) for question in ("tests", "impact")),
    ("memory_graph", {"question": "implementers", "symbol": "Saver"}),
    ("memory_graph", {"question": "path", "symbol": "other.Zebra", "to": "Clip.Save"}),
    ("memory_graph", {"question": "callers", "symbol": f"Nothing{HOSTILE}"}),
    ("memory_search", {"query": "giraffe"}),
    ("memory_search", {"query": "Clip", "kind": f"x{CLIPBOARD}"}),
    ("memory_graph", {"question": f"x{CLIPBOARD}", "symbol": "Clip"}),
    ("memory_search", {"query": f"nothing {HOSTILE}"}),
    ("memory_query", {"cypher": "MATCH (s:Symbol) RETURN s", "budget": 20000}),
    ("memory_query", {"cypher": "MATCH (n:Note) RETURN n.text, n.author"}),
    ("memory_query", {"cypher": f"MATCH (n:{CLIPBOARD}) RETURN n"}),
    ("memory_drafts", {"limit": 5, "budget": 20000}),
    ("memory_status", {}),
    ("memory_learn", {"full": True}),
    ("memory_note", {"target": "Clip", "text": f"giraffes and okapis must be fed {BREAKOUT}", "author": CLIPBOARD}),
    ("memory_note", {"target": f"Nowhere{CLIPBOARD}", "text": "giraffes"}),
    (
        "memory_upgrade",
        {"level": "file", "subject": f"x{BREAKOUT}", "digest": "1", "text": f"It is a part. {BREAKOUT}"},
    ),
)


def test_every_tool_and_resource_answers_without_hidden_characters(evil: Path) -> None:
    async def talk(client: Client) -> list[tuple[str, str]]:
        replies: list[tuple[str, str]] = []
        for tool, arguments in CALLS:
            result = await client.call_tool(tool, arguments)
            assert result.structured_content is None, tool
            replies.append((tool, text_of(result.content)))
        for uri in ("golore://overview", "golore://file/store/store.go"):
            contents = (await client.read_resource(uri)).contents
            replies.append((uri, "".join(part.text for part in contents if isinstance(part, TextResourceContents))))
        with pytest.raises(MCPError) as failure:
            await client.read_resource("golore://file/nowhere%1b%5b2J.go")
        replies.append(("missing", str(failure.value)))
        return replies

    for name, text in inside(talk, evil):
        assert text, name
        assert_harmless("\n".join(outside_fences(text)) if name == "memory_drafts" else text)
        assert hidden_in(text) <= {"\n", "\t"}
