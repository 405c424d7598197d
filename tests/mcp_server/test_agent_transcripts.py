"""Corrections are found in the transcripts of every supported agent, and only in those of this repository.

The transcripts in `fixtures/sessions/transcripts` were written by the real programs, talking to a scripted model, and
shortened: Codex 0.169.0, Gemini CLI of November 2026, Copilot CLI 1.0.102 and OpenCode 1.18.33.
"""

from __future__ import annotations

import json
import sqlite3
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from golore.mcp_server.cli.main import main
from golore.mcp_server.sessions import codex, copilot_cli, gemini_cli, user_message
from golore.mcp_server.sessions.proposals import AUDIT_NAME
from golore.mcp_server.sessions.transcripts import AGENTS, Transcript, read_transcript, transcripts_at, transcripts_of
from golore.mcp_server.sessions.user_message import UserMessage, files_below, lines_of
from support.fake_ollama import MODEL, fake_ollama
from support.learned_tree import copy_repository
from support.shop import make_shop

FIXTURES = Path(__file__).parents[2] / "fixtures" / "sessions" / "transcripts"
RECORDED = "/home/ann/shop"
CORRECTION = "No, that's wrong: Memory isn't safe for concurrent use. Callers lock it themselves."
SAID = "Memory.Save may be called from several goroutines."
DOUBTFUL = "there is one per caller, so no lock"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def put(home: Path, agent: str, root: str) -> Path:
    """The recorded transcript of an agent where the agent keeps it, as of a session in another directory."""
    if agent == "opencode":
        path = home / ".local/share/opencode/opencode.db"
        path.parent.mkdir(parents=True)
        connection = sqlite3.connect(path)
        connection.executescript((FIXTURES / "opencode.sql").read_text(encoding="utf-8").replace(RECORDED, root))
        connection.close()
        return path
    text = (FIXTURES / f"{agent}.jsonl").read_text(encoding="utf-8").replace(RECORDED, root)
    if agent == "gemini":
        write(home / ".gemini/tmp/shop/.project_root", root)
    places = {
        "codex": ".codex/sessions/2026/11/18/rollout-2026-11-18T01-56-15-x.jsonl",
        "gemini": ".gemini/tmp/shop/chats/session-2026-11-18T01-56-5e3cb66c.jsonl",
        "copilot": ".copilot/session-state/8ecff0da/events.jsonl",
    }
    return write(home / places[agent], text)


RECORDINGS = ("codex", "gemini", "copilot", "opencode")


@pytest.mark.parametrize("agent", RECORDINGS)
def test_what_the_user_typed_is_read_with_what_the_agent_said_and_did(agent: str, tmp_path: Path) -> None:
    root = Path("/home/ann/shop")
    path = put(tmp_path, agent, str(root))
    (transcript,) = transcripts_at(path) if agent != "opencode" else [Transcript(agent, path)]
    assert transcript.agent == agent
    reading = read_transcript(transcript, root)
    assert reading.unknown == 0
    first, second = reading.words
    assert (first.text, first.said, first.files) == ("Explain Memory.Save", "", ())
    assert (second.text, second.said) == (CORRECTION, SAID)
    assert files_below(root, second) == ("store/store.go",)
    assert (first.cwd, second.cwd, first.session) == (str(root), str(root), second.session)
    assert first.at < second.at
    assert second.at.startswith("2026-11-18T01:5")


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("learned") / "shop")
    assert main(["learn", str(root)]) == 0
    return root


@pytest.fixture
def shop(learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "COPILOT_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root = copy_repository(learned, tmp_path / "shop").resolve()
    monkeypatch.chdir(root)
    return root


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Any:
    capsys.readouterr()
    assert main(["learn-sessions", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_same_correction_to_four_agents_is_proposed_once(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for agent in RECORDINGS:
        put(Path.home(), agent, str(shop))
    told = asked(capsys)
    assert [(read["agent"], read["corrections"], read["problem"]) for read in told["read"]] == [
        (agent, 1, "") for agent in RECORDINGS
    ]
    (proposal,) = told["proposals"]
    assert (proposal["text"], proposal["premise"], proposal["files"]) == (CORRECTION, SAID, ["store/store.go"])
    assert [read["agent"] for read in asked(capsys, "--agent", "copilot")["read"]] == ["copilot"]
    lines = (shop / ".golore" / AUDIT_NAME).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["agent"] for line in lines] == [*RECORDINGS, "copilot"]


def test_sessions_of_other_repositories_and_links_are_left_out(shop: Path, tmp_path: Path) -> None:
    for agent in RECORDINGS:
        path = put(Path.home(), agent, f"{shop}-other")
        if agent == "opencode":
            assert read_transcript(Transcript(agent, path), shop).words == ()
        else:
            mine = put(tmp_path / "elsewhere", agent, str(shop))
            path.with_name(f"{path.stem}-link{path.suffix}").symlink_to(mine)
    assert [one.agent for one in transcripts_of(shop)] == ["opencode"]
    with pytest.raises(OSError, match="not a regular file"):
        next(lines_of(next(Path.home().rglob("*-link.jsonl"))))


def test_sessions_below_the_root_count_and_homes_can_be_set(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for agent in RECORDINGS:
        put(tmp_path / "set", agent, f"{shop}/store")
    assert transcripts_of(shop) == []
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "set/.codex"))
    monkeypatch.setenv("GEMINI_CLI_HOME", str(tmp_path / "set"))
    monkeypatch.setenv("COPILOT_HOME", str(tmp_path / "set/.copilot"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "set/.local/share"))
    assert [one.agent for one in transcripts_of(shop)] == list(AGENTS[1:])


def test_gemini_chats_of_before_2026_are_read(shop: Path) -> None:
    messages = [
        {"id": "1", "timestamp": "2025-11-01T10:00:00Z", "type": "user", "content": "Explain Memory.Save"},
        {"id": "2", "timestamp": "2025-11-01T10:00:01Z", "type": "gemini", "content": SAID},
        {"id": "3", "timestamp": "2025-11-01T10:00:02Z", "type": "user", "content": CORRECTION},
    ]
    name = sha256(str(shop).encode()).hexdigest()
    path = Path.home() / ".gemini/tmp" / name / "chats/session-2025-11-01T10-00-5e3cb66c.json"
    write(path, json.dumps({"sessionId": "s", "projectHash": name, "messages": messages}))
    (found,) = transcripts_of(shop)
    assert [words.said for words in read_transcript(found, shop).words] == ["", SAID]
    assert gemini_cli.read_document(b"[").unknown == 1


def test_events_of_an_older_codex_and_what_its_program_inserts() -> None:
    def line(kind: str, **payload: object) -> bytes:
        return json.dumps({"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload}).encode()

    def message(role: str, text: str) -> bytes:
        return line("response_item", type="message", role=role, content=[{"type": "input_text", "text": text}])

    patch = '{"command": ["apply_patch", "*** Begin Patch\\n*** Update File: store/store.go\\n@@\\n-a\\n+b\\n"]}'
    items = [
        line("session_meta", id="s", cwd="/r"),
        message("user", "# AGENTS.md instructions for /r\n\nWe never use panics here."),
        message("user", "<environment_context><cwd>/r</cwd></environment_context>"),
        message("assistant", SAID),
        line("response_item", type="function_call", name="shell", arguments=patch),
        message("user", f"# Context from my IDE setup:\n\n## Open files\n\n## My request for Codex:\n{CORRECTION}"),
    ]
    (found,) = codex.read_lines(items).words
    assert (found.text, found.said, found.files, found.cwd) == (CORRECTION, SAID, ("store/store.go",), "/r")
    typed = [line("event_msg", type="user_message", message=CORRECTION)] * 2
    assert [one.text for one in codex.read_lines([*items, *typed]).words] == [CORRECTION]
    of_a_subagent = line("session_meta", id="s", cwd="/r", source={"subagent": "review"})
    assert codex.read_lines([of_a_subagent, *items[1:]]).words == ()


@pytest.mark.parametrize("read", [codex.read_lines, copilot_cli.read_lines, gemini_cli.read_lines])
def test_unknown_and_broken_lines_are_counted(read: Any) -> None:
    lines = [
        b"not json\n",
        b"[1]\n",
        b"\xff\n",
        b'{"type": "marble"}\n',
        b'{"type": "event_msg", "payload": {}, "data": {}}\n',
    ]
    reading = read(lines)
    assert reading.words == ()
    assert reading.lines == 5
    assert reading.unknown >= 4


def test_a_file_that_is_no_database_is_told_and_a_large_transcript_is_cut_off(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    write(Path.home() / ".local/share/opencode/opencode.db", "no database")
    (read,) = asked(capsys)["read"]
    assert "not a database of OpenCode" in read["problem"]
    monkeypatch.setattr(user_message, "MAX_TRANSCRIPT", 10)
    assert list(lines_of(write(tmp_path / "long.jsonl", "12345\n1234567\n"))) == [b"12345\n", b"1234"]
    assert shop.is_dir()


def doubtful(root: Path) -> Path:
    """A transcript with a message that is neither surely a correction nor surely none."""
    entries = [
        {"type": "assistant", "message": {"content": SAID}, "cwd": str(root)},
        {"type": "user", "message": {"content": DOUBTFUL}, "cwd": str(root)},
    ]
    return write(root.parent / "mine.jsonl", "".join(json.dumps(one) + "\n" for one in entries))


@pytest.mark.parametrize(
    ("answer", "proposed"),
    [("Yes.", True), ("no", False), ("<think>It is. yes</think>\nNo", False), ("Perhaps", False)],
)
def test_a_model_decides_about_doubtful_messages(
    answer: str, proposed: bool, shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = doubtful(shop)
    assert asked(capsys, path)["proposals"] == []
    with fake_ollama(lambda _: answer) as ollama:
        told = asked(capsys, path, "--model", MODEL, "--host", ollama.host)
    assert [one["text"] for one in told["proposals"]] == [DOUBTFUL] * proposed
    (prompt,) = ollama.prompts
    assert SAID in prompt
    assert DOUBTFUL in prompt


def test_without_a_model_nothing_is_asked_and_a_failure_of_the_model_is_told(
    shop: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = doubtful(shop)
    with fake_ollama() as ollama:
        monkeypatch.setenv("OLLAMA_HOST", ollama.host)
        asked(capsys, path)
        assert ollama.prompts == []
        assert main(["learn-sessions", str(path), "--model", "missing"]) != 0
        assert "does not have the model missing" in capsys.readouterr().err
        assert main(["learn-sessions", str(path), "--host", ollama.host]) == 2
        assert "Name the model with --model" in capsys.readouterr().err
    monkeypatch.setenv("OLLAMA_HOST", "http://models.example.com:11434")
    assert main(["learn-sessions", str(path), "--model", MODEL]) == 2
    assert "nothing was sent to it" in capsys.readouterr().err


def test_sure_messages_are_not_sent_to_the_model(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(Path.home(), "codex", str(shop))
    with fake_ollama(lambda _: "no") as ollama:
        told = asked(capsys, "--model", MODEL, "--host", ollama.host)
    assert ([one["text"] for one in told["proposals"]], ollama.prompts) == ([CORRECTION], [])


def test_messages_of_the_readers_have_the_same_form() -> None:
    assert UserMessage._fields == ("text", "said", "files", "session", "at", "cwd", "is_refusal")
