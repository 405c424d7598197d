"""Smoke test of an installed golore, run with the Python that it is installed for:

    python smoke.py [compiled | pure]

Learns a small Go repository, asks for the card of a file as an agent's hook does, and asks a question over MCP, all in
a new home directory and with nothing on the PATH. With an argument, also checks whether golore is compiled. Needs only
golore and its dependencies. cibuildwheel runs it on each wheel, and `tests/packaging/wheels.py` on this machine's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import anyio
from golore.learner import compiled
from mcp import Client, StdioServerParameters

GOLORE = Path(sys.executable).with_name("golore.exe" if os.name == "nt" else "golore")
FILES = {
    "go.mod": b"module example.com/shop\n\ngo 1.22\n",
    "store/store.go": b"package store\n\n// Save keeps an order.\nfunc Save(id int) {}\n",
    "main.go": b'package main\n\nimport "example.com/shop/store"\n\nfunc main() {\n\tstore.Save(1)\n}\n',
    # As an editor on Windows writes it.
    "report.go": b'package main\r\n\r\nimport "example.com/shop/store"\r\n\r\nfunc report() {\r\n\tstore.Save(2) }\r\n',
}
CALLERS = ("main.go:6", "report.go:6")


def main(expected: str = "") -> None:
    found = "compiled" if compiled() else "pure"
    if expected and found != expected:
        raise SystemExit(f"golore is {found}, not {expected}.")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        root = Path(directory, "shop")
        for name, content in FILES.items():
            file = root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        environment = _environment(Path(directory, "home"))
        _require(_run(environment, "--version"), f"golore {version('golore')}")
        _run(environment, "learn", str(root))
        for path in (root / "store" / "store.go", root / "store" / ".." / "store" / "store.go"):
            _require(_hook(environment, root, path, session=str(path)), *CALLERS)
        _require(anyio.run(_ask, environment, root), *CALLERS)
        _run(environment, "query", "MATCH (s:Symbol) RETURN count(*)", "--repo", str(root))
        _run(environment, "snapshot", "first", "--repo", str(root))
        _run(environment, "learn", "--full", str(root))
        _run(environment, "doctor", cwd=root)
    print(f"golore {version('golore')} ({found}) works with Python {sys.version.split()[0]} on {sys.platform}.")


def _environment(home: Path) -> dict[str, str]:
    """A new home. Windows needs many of its variables; elsewhere nothing is kept."""
    home.mkdir()
    if os.name == "nt":
        return os.environ | {"USERPROFILE": str(home), "APPDATA": str(home), "LOCALAPPDATA": str(home)}
    return {"HOME": str(home), "PATH": str(home)}


def _run(environment: dict[str, str], *arguments: str, given: str = "", cwd: Path | None = None) -> str:
    done = subprocess.run(
        [GOLORE, *arguments],
        input=given.encode(),
        env=environment,
        cwd=cwd,
        capture_output=True,
        timeout=300,
        check=False,
    )
    output = done.stdout.decode(errors="replace")
    if done.returncode:
        raise SystemExit(f"golore {arguments[0]} failed:\n{output}\n{done.stderr.decode(errors='replace')}")
    return output


def _hook(environment: dict[str, str], root: Path, path: Path, session: str) -> str:
    event = {
        "session_id": session,
        "cwd": str(root),
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_input": {"file_path": str(path)},
        "tool_response": {},
    }
    answer = _run(environment, "hook", "claude", given=json.dumps(event))
    return json.loads(answer)["hookSpecificOutput"]["additionalContext"] if answer else ""


async def _ask(environment: dict[str, str], root: Path) -> str:
    server = StdioServerParameters(command=str(GOLORE), args=["mcp", str(root)], env=environment)
    async with Client(server) as client:
        answer = await client.call_tool("memory_graph", {"question": "callers", "symbol": "store.Save"})
    return str(answer.content)


def _require(text: str, *parts: str) -> None:
    for part in parts:
        if part not in text:
            raise SystemExit(f"{part!r} is not in this answer:\n{text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
