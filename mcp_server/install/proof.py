"""Runs the commands that an agent will run, as the agent runs them, and returns what it will see.

The environment is a clean one: the home directory, the directories that every user has on the PATH, and no network.
The hook gets the event of an opened Go file, one of the repository or, if that has not been learned, one of a sample
that is learned for this and removed again. The MCP server gets the handshake and is asked for its tools.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Final, NamedTuple

from golore.graph.cards.card_store import open_card_store
from golore.graph.errors import GoloreError
from golore.graph.safety.regular_file import SOURCE_LIMIT, read_regular
from golore.graph.safety.state_directory import state_directory
from golore.graph.safety.trust import blake2b_hex, forget_store
from golore.mcp_server.hooks.hook import BUDGET, SETTINGS_NAME
from golore.mcp_server.hooks.hook_settings import read_hook_settings
from golore.mcp_server.hooks.log import LOG_NAME
from golore.mcp_server.install.installed_commands import Command
from golore.mcp_server.install.launch_commands import is_notice
from golore.mcp_server.install.program_link import path_without_environment
from golore.mcp_server.services.repository import find_repository, store_of

_PATH: Final = "/usr/local/bin:/usr/bin:/bin"
_KEPT: Final = ("HOME", "XDG_STATE_HOME", "GOLORE_HOME")
"""Variables that say where the user's files are."""
_WINDOWS_KEPT: Final = (*_KEPT, "APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE")
_SECONDS: Final = 60.0
_PROTOCOL: Final = "2025-06-18"
_SAMPLE: Final = {
    "go.mod": "module example.com/sample\n\ngo 1.21\n",
    "main.go": 'package main\n\nimport "example.com/sample/greet"\n\nfunc main() { println(greet.Hello()) }\n',
    "greet/greet.go": 'package greet\n\nfunc Hello() string { return "hello" }\n',
}
_SAMPLE_FILE: Final = "greet/greet.go"


class ProofError(GoloreError):
    """A command that was installed does not work."""


class OpenedFile(NamedTuple):
    """A Go file that has a card."""

    root: Path
    store: Path
    path: str
    is_sample: bool = False


class ServerAnswer(NamedTuple):
    version: str
    tools: int


@contextmanager
def opened_file(start: Path) -> Generator[OpenedFile]:
    """A file of the repository that `start` is in, if that has been learned and its hooks are on; else one of the
    sample."""
    found = _file_of(start)
    if found is not None:
        yield found
        return
    with tempfile.TemporaryDirectory(prefix="golore-sample-") as folder:
        root = Path(folder).resolve() / "sample"
        store = store_of(root)
        try:
            yield _learned_sample(root, store)
        finally:
            forget_store(str(store))
            shutil.rmtree(store, ignore_errors=True)


def card_seen(command: Command, agent: str, opened: OpenedFile) -> str:
    """The text that the agent gets from its hook. Raises `ProofError` if that is not the card of the file."""
    session = f"golore-check-{os.getpid()}-{os.urandom(4).hex()}"
    payload = json.dumps(_payload(agent, opened, session)).encode()
    log = Path(state_directory()) / LOG_NAME
    logged = log.stat().st_size if log.exists() else 0
    try:
        done = subprocess.run(
            command if isinstance(command, str) else list(command),
            shell=isinstance(command, str),  # an agent starts it with a shell, too
            input=payload,
            env=clean_environment(),
            cwd=opened.root,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise ProofError(f"The hook cannot be run: {failure}.") from failure
    finally:
        _forget_session(opened.store, session)
    text = _context(done.stdout)
    if done.returncode == 0 and f"golore's facts about {opened.path}" in text:
        return text
    raise ProofError(_hook_failure(done, opened, log, logged))


def server_seen(words: tuple[str, ...], root: Path) -> ServerAnswer:
    """What the MCP server answers. Raises `ProofError` if it does not."""
    try:
        process = subprocess.Popen(
            words,
            env=clean_environment(),
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except OSError as failure:
        raise ProofError(f"The MCP server cannot be started: {failure.strerror} ({words[0]}).") from failure
    watchdog = threading.Timer(_SECONDS, process.kill)
    watchdog.start()
    said: list[bytes] = []
    with process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        errors: IO[bytes] = process.stderr
        reader = threading.Thread(target=lambda: said.append(errors.read()))
        reader.start()
        try:
            answer = _handshake(process.stdin, process.stdout)
        except (OSError, ValueError, KeyError, TypeError):
            process.kill()
            answer = None
        finally:
            with suppress(OSError):
                process.stdin.close()
            process.wait()
            watchdog.cancel()
            reader.join()
    if answer is None:
        reason = b"".join(said).decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise ProofError(f"The MCP server does not answer: {reason or f'it ended with {process.returncode}'}.")
    return answer


def clean_environment() -> dict[str, str]:
    """The environment of an agent that was started from a desktop. Nothing in it uses the network."""
    kept = _WINDOWS_KEPT if os.name == "nt" else _KEPT
    values = {name: os.environ[name] for name in kept if name in os.environ}
    path = path_without_environment() if os.name == "nt" else _PATH
    return {**values, "PATH": path, "UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}


def _file_of(start: Path) -> OpenedFile | None:
    try:
        root, store = find_repository(start)
        settings = read_hook_settings(str(store / SETTINGS_NAME)) if (store / SETTINGS_NAME).exists() else {}
        if not settings.get("enabled", True) or settings.get("budget", BUDGET) < BUDGET:
            return None
    except (GoloreError, OSError, ValueError, AttributeError):
        return None
    card_store = open_card_store(store, write=False)
    if card_store is None:
        return None
    with card_store:
        for path, digest in sorted(card_store.digests().items()):
            is_plain = path.isascii() and path.isprintable() and not set(path) & set(" \"'`;&|<>")
            if is_plain and card_store.card(path) is not None and _digest(root / path) == digest:
                return OpenedFile(root, store, path)
    return None


def _digest(file: Path) -> str:
    try:
        return blake2b_hex(read_regular(file, SOURCE_LIMIT), 16)
    except OSError:
        return ""


def _learned_sample(root: Path, store: Path) -> OpenedFile:
    from golore.learner.learn import learn

    for name, text in _SAMPLE.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    try:
        learn(root, store, workers=0)
    except GoloreError as failure:
        raise ProofError(f"A sample repository cannot be learned. {failure}") from failure
    return OpenedFile(root, store, _SAMPLE_FILE, is_sample=True)


def _forget_session(store: Path, session: str) -> None:
    card_store = open_card_store(store, write=False)
    if card_store is not None:
        with card_store, suppress(Exception):  # a store that cannot be written has no record of it either
            card_store.forget_session(session)


def _payload(agent: str, opened: OpenedFile, session: str) -> dict[str, Any]:
    """The event that the agent sends after it has read the file."""
    file, folder = str(opened.root / opened.path), str(opened.root)
    read = {"session_id": session, "cwd": folder, "hook_event_name": "PostToolUse", "tool_response": "package p"}
    if agent == "codex":
        return {**read, "tool_name": "Bash", "tool_input": {"command": f"cat {opened.path}"}}
    if agent == "copilot":
        arguments = json.dumps({"path": file})
        result = {"resultType": "success", "textResultForLlm": "1. package p"}
        return {"sessionId": session, "cwd": folder, "toolName": "view", "toolArgs": arguments, "toolResult": result}
    if agent == "cursor":
        event = {"conversation_id": session, "cursor_version": "2.4", "workspace_roots": [folder]}
        return {**event, "hook_event_name": "postToolUse", "tool_name": "Read", "tool_input": {"file_path": file}}
    if agent == "gemini":
        after = {**read, "hook_event_name": "AfterTool"}
        return {**after, "tool_name": "read_file", "tool_input": {"file_path": opened.path}}
    if agent == "vscode":
        event = {"sessionId": session, "cwd": folder, "hookEventName": "PostToolUse", "tool_response": "package p"}
        return {**event, "tool_name": "read_file", "tool_input": {"filePath": file}}
    if agent == "opencode":
        return {**read, "tool_name": "read", "tool_input": {"filePath": file}}
    return {**read, "tool_name": "Read", "tool_input": {"file_path": file}}


def _context(printed: bytes) -> str:
    try:
        answer = json.loads(printed)
        inner = answer.get("hookSpecificOutput", answer)
        return str(inner.get("additionalContext") or inner.get("additional_context") or "")
    except (ValueError, AttributeError):
        return ""


def _hook_failure(done: subprocess.CompletedProcess[bytes], opened: OpenedFile, log: Path, logged: int) -> str:
    printed = done.stdout.decode("utf-8", "replace").strip()
    if is_notice(printed):
        return "The hook does not find golore: it is neither on the PATH nor in ~/.local/bin."
    errors = done.stderr.decode("utf-8", "replace").strip()
    if log.exists() and log.stat().st_size > logged:
        errors = log.read_bytes()[logged:].decode("utf-8", "replace").strip()
    reason = errors.rpartition("\n")[2] or (f"it printed {printed[:200]}" if printed else "it printed nothing")
    return f"The hook does not show the card of {opened.path}: {reason} (exit code {done.returncode})."


def _handshake(requests: IO[bytes], replies: IO[bytes]) -> ServerAnswer:
    def send(message: dict[str, Any]) -> None:
        requests.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        requests.flush()

    def result_of(number: int) -> dict[str, Any]:
        for line in iter(replies.readline, b""):
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == number:
                return message["result"]
        raise ValueError("The server ended.")

    client = {"name": "golore install", "version": version("golore")}
    parameters = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
    send({"id": 1, "method": "initialize", "params": parameters})
    server: dict[str, Any] = result_of(1)["serverInfo"]
    send({"method": "notifications/initialized"})
    send({"id": 2, "method": "tools/list", "params": {}})
    tools: list[object] = result_of(2)["tools"]
    return ServerAnswer(str(server.get("version", "")), len(tools))
