"""Secrets do not get into notes, proposals and summaries, nor into what is sent to a model on another machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golore.mcp_server.cli.main import main
from mcp import Client
from support.drafted_shop import chat_server, learned_shop, received, run
from support.fake_ollama import fake_ollama
from support.learned_tree import copy_repository
from support.mcp_client import inside, refused, told

KEY = "sk-ant-" + "api03-Zk3mT9qLr8VwYx2Bn5Cd7Fg1Hj4Kp6Ms0Qt"
ACCESS = "AKIA" + "Q3EGSIXXFE7DT4NB"
MARKER = "[secret removed: Anthropic API key]"


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = learned_shop(tmp_path_factory.mktemp("shop"))
    store = root / "store" / "store.go"
    store.write_text(f'{store.read_text()}\n// Access is for tests.\nconst Access = "{ACCESS}"\n')
    assert main(["learn", str(root), "--workers", "0"]) == 0
    return root


@pytest.fixture
def shop(learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copy_repository(learned, tmp_path / "shop")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in ("OLLAMA_HOST", "GOLORE_MODEL_HOST", "GOLORE_MODEL", "GOLORE_MODEL_SERVER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(root)
    return root


def stored(root: Path) -> bytes:
    """Everything in the store's own files for knowledge, with what SQLite has not yet moved into them."""
    files = (path for path in (root / ".golore").iterdir() if path.name.startswith(("knowledge", "sessions", "cache")))
    return b"".join(path.read_bytes() for path in files if path.is_file())


def test_a_note_is_stored_without_the_secret_and_the_writer_is_told(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["note", "store/store.go", f"Tests use {KEY}.", "--author", "Anna"]) == 0
    assert "golore: Removed 1 secret: Anthropic API key (1)." in capsys.readouterr().err
    assert main(["context", "store/store.go"]) == 0
    assert f"Tests use {MARKER}." in capsys.readouterr().out
    assert KEY.encode() not in stored(shop)


def test_an_agents_note_is_stored_without_the_secret_and_the_reply_says_so(shop: Path) -> None:
    async def talk(client: Client) -> str:
        return await told(client, "memory_note", target="store/store.go", text=f"Tests use {KEY}.")

    assert "Removed 1 secret: Anthropic API key (1)." in inside(talk, shop)
    assert KEY.encode() not in stored(shop)


def test_a_summary_of_a_person_is_stored_without_the_secret(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["note", "--summary", "store/store.go", f"It needs {KEY} to run."]) == 0
    assert "Removed 1 secret: Anthropic API key (1)." in capsys.readouterr().err
    assert KEY.encode() not in stored(shop)


def test_a_summary_of_an_agent_with_a_secret_is_refused(shop: Path) -> None:
    with fake_ollama() as server:
        run(shop, server)

    async def talk(client: Client) -> str:
        listed = await told(client, "memory_drafts", limit=1, level="file")
        fields = dict(line.split(": ", 1) for line in listed.splitlines()[:5])
        given = {"level": "file", "subject": fields["subject"], "digest": fields["digest"]}
        return await refused(client, "memory_upgrade", text=f"It keeps {KEY} for tests.", **given)

    assert "it contains Anthropic API key" in inside(talk, shop)


def test_a_correction_is_proposed_and_noted_without_its_secrets(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = f"I will log in with the password hunter2hunter, as {KEY} has expired."
    typed = f"No, that's wrong: the key {KEY} isn't expired. The password is hunter2hunter and nothing else."
    lines = [
        {"type": "assistant", "message": {"role": "assistant", "content": said}, "sessionId": "s"},
        {"type": "user", "message": {"role": "user", "content": typed}, "sessionId": "s", "cwd": str(shop.resolve())},
    ]
    transcript = tmp_path / "one.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["learn-sessions", str(transcript), "--json"]) == 0
    out, err = capsys.readouterr()
    (proposal,) = json.loads(out)["proposals"]
    assert MARKER in proposal["text"]
    assert MARKER in proposal["premise"]
    assert "golore: Removed" in err
    assert "password" in err
    assert main(["learn-sessions", "--accept", proposal["id"]]) == 0
    assert main(["export", "--output", str(tmp_path / "export.jsonl")]) == 0
    assert main(["context", "."]) == 0
    printed = out + err + capsys.readouterr().out + (tmp_path / "export.jsonl").read_text()
    assert MARKER in printed
    for secret in (KEY, "hunter2hunter"):
        assert secret not in printed
        assert secret.encode() not in stored(shop)


def test_a_prompt_for_a_paid_model_has_no_secrets(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_ollama() as server:
        run(shop, server)
        assert any(ACCESS in prompt for prompt in server.prompts)  # the local model sees the code as it is
    received.clear()
    with chat_server() as host:
        command = ["upgrade", "--provider", "openai", "--host", host, "--model", "smol", "--yes", "--limit", "20"]
        assert main(command) == 0
    sent = json.dumps(received)
    assert "[secret removed: AWS access key]" in sent
    assert ACCESS not in sent
    assert "AWS access key (" in capsys.readouterr().err


def test_a_prompt_for_a_model_on_another_machine_has_no_secrets(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with fake_ollama() as server:
        # This address reaches the server, but golore does not take it for one of this machine.
        host = server.host.replace("127.0.0.1", "0.0.0.0")
        assert main(["summarize", "--repo", str(shop), "--model", "tiny", "--host", host]) == 0
        assert "golore: Removed" in capsys.readouterr().err
        assert any("[secret removed: AWS access key]" in prompt for prompt in server.prompts)
        assert not any(ACCESS in prompt for prompt in server.prompts)
