"""For tests of the hook: a repository with cards, hook processes, and the text that an agent sees."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from golore.graph.cards.card_store import Card, SymbolLine, create_card_store
from golore.graph.files.claim import create_store_directory
from golore.graph.files.manifest import MANIFEST_NAME
from golore.graph.safety.trust import blake2b_hex
from golore.mcp_server.hooks.log import LOG_NAME

GOLORE: Final = Path(sys.executable).with_name("golore")


def digest(path: Path) -> str:
    return blake2b_hex(path.read_bytes(), 16)


def logged(store: Path) -> str:
    """The lines of the hook log about a store."""
    log = Path(os.environ["XDG_STATE_HOME"]) / "golore" / LOG_NAME
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return "\n".join(line for line in lines if f" {store}: " in line)


def with_cards(root: Path, texts: dict[str, str], symbols: Iterable[SymbolLine] = ()) -> Path:
    """Create a repository with these cards. Paths that end in `.go` are also created as files."""
    store = root / ".golore"
    create_store_directory(store)
    (store / MANIFEST_NAME).write_text("{}")
    cards: list[Card] = []
    for path, text in texts.items():
        file = root / path
        if path.endswith(".go"):
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists():
                file.write_text("package p\n")
        cards.append(Card(path, digest(file) if file.is_file() else "", text))
    with create_card_store(store) as card_store:
        card_store.replace_all(cards, symbols)
    return root


def settings(root: Path, text: str) -> None:
    (root / ".golore" / "settings.toml").write_text(text)


def hook(agent: str, payload: object, **environ: str) -> str:
    """What a hook process prints. Asserts that it exits with 0 and prints nothing on standard error."""
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    done = subprocess.run(
        [GOLORE, "hook", agent], input=data, env=os.environ | environ, capture_output=True, check=False, cwd="/"
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def seen(printed: str) -> str:
    """The text that an agent takes from the output of a hook."""
    if not printed:
        return ""
    answer: Any = json.loads(printed)
    (key,) = answer
    if key == "hookSpecificOutput":
        assert set(answer[key]) == {"hookEventName", "additionalContext"}
        return answer[key]["additionalContext"]
    assert key in ("additional_context", "additionalContext")
    return answer[key]


def read(path: Path, *, session: str = "s", **more: object) -> dict[str, object]:
    """The payload that Claude Code sends after reading a file."""
    return {
        "session_id": session,
        "cwd": str(path.parent),
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": str(path)},
        "tool_response": {"type": "text"},
        **more,
    }


def event(name: str, root: Path, *, session: str = "s", **more: object) -> dict[str, object]:
    return {"session_id": session, "cwd": str(root), "hook_event_name": name, **more}
