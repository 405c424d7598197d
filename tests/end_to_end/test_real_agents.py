"""The real agents, where they are installed: golore is installed for them, and what reaches the model is looked at: the
cards of the hooks and the tools of the MCP server. golore is not on the PATH of the agents.

The model is a script, so nothing is sent anywhere. Agents are not installed by the tests; what was found to work:
`npm install @anthropic-ai/claude-code @google/gemini-cli @openai/codex @github/copilot opencode-ai`, with their
`node_modules/.bin` on the PATH.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from golore.graph.cards.card_store import SymbolLine
from golore.mcp_server.cli.main import main
from support.hook_process import settings, with_cards
from support.scripted_model import Model, Script, scripted_model
from support.shop import make_shop

pytestmark = pytest.mark.slow
PROMPT = "Explain Memory.Save"
Start = Callable[[str, Path, Path], tuple[list[str], dict[str, str]]]


def claude(url: str, root: Path, home: Path) -> tuple[list[str], dict[str, str]]:
    assert root.is_dir()
    assert home.is_dir()
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "IS_SANDBOX": "1"}
    trust = json.dumps({"enableAllProjectMcpServers": True})  # as the user agrees to once
    command = ["claude", "-p", PROMPT, "--settings", trust, "--permission-mode", "acceptEdits"]
    command += ["--allowedTools", "Read", "Edit"]
    # Wait for servers, also on a slow machine, and show all tools.
    servers = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "120000", "ENABLE_TOOL_SEARCH": "false"}
    return command, {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", **quiet, **servers}


def gemini(url: str, root: Path, home: Path) -> tuple[list[str], dict[str, str]]:
    assert root.is_dir()
    trust = {"security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}
    write(home / ".gemini" / "settings.json", json.dumps(trust))
    command = ["gemini", "-m", "gemini-2.5-pro", "--approval-mode", "yolo", "-p", PROMPT]
    return command, {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": url}


def codex(url: str, root: Path, home: Path) -> tuple[list[str], dict[str, str]]:
    provider = f'[model_providers.s]\nname = "s"\nbase_url = "{url}/v1"\nwire_api = "responses"\n'
    trust = f'[projects."{root}"]\ntrust_level = "trusted"\n'
    write(home / ".codex" / "config.toml", f'model = "m"\nmodel_provider = "s"\n{provider}{trust}')
    freely = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
    waits = ["-c", "mcp_servers.golore.required=true", "-c", "mcp_servers.golore.startup_timeout_sec=120"]
    return ["codex", "exec", *freely, *waits, PROMPT], {"OPENAI_API_KEY": "none"}


def copilot(url: str, root: Path, home: Path) -> tuple[list[str], dict[str, str]]:
    write(home / ".copilot" / "config.json", json.dumps({"trustedFolders": [str(root)]}))
    provider = {"BASE_URL": f"{url}/v1", "TYPE": "openai", "API_KEY": "none"}
    names = {f"COPILOT_PROVIDER_{name}": value for name, value in provider.items()}
    return ["copilot", "-p", PROMPT, "--allow-all"], {**names, "COPILOT_MODEL": "m", "COPILOT_OFFLINE": "true"}


def opencode(url: str, root: Path, home: Path) -> tuple[list[str], dict[str, str]]:
    assert root.is_dir()
    options = {"baseURL": f"{url}/v1", "apiKey": "none"}
    provider = {"npm": "@ai-sdk/openai-compatible", "name": "s", "options": options, "models": {"m": {"name": "m"}}}
    config = {"provider": {"s": provider}, "model": "s/m", "small_model": "s/m", "permission": "allow"}
    write(home / ".config" / "opencode" / "opencode.json", json.dumps({**config, "autoupdate": False}))
    return ["opencode", "run", PROMPT], {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(text)


STARTED, NAMED, OPENED, EDITED = (
    "this repository",
    "example.com/shop/store.Memory.Save",
    "store/store.go",
    "Memory.Save in store/store.go",
)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (claude, [STARTED, NAMED, OPENED, EDITED]),
        (gemini, [STARTED, NAMED, OPENED, EDITED]),
        (codex, [STARTED, NAMED, OPENED]),  # without the model's metadata it is given no tool to edit with
        (copilot, [STARTED, NAMED, OPENED, EDITED]),
        (opencode, [OPENED, EDITED]),
    ],
)
def test_what_golore_says_reaches_the_model(
    start: Start, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, root = places(tmp_path, monkeypatch)
    subprocess.run(["git", "init", "-q", root], check=True)
    saved = SymbolLine("Save", "example.com/shop/store.Memory.Save", "method", "store/store.go", 18, "Called by run.")
    with_cards(root, {"": "A shop.", "store/store.go": "Used by main.go."}, [saved])
    settings(root, "[hooks]\nrelearn = false\n")
    model, output = edited_by(start, root, home)
    assert facts_in(model) == expected, output
    assert any("memory_context" in body for body in model.bodies), "the MCP server's tools are not offered"


def test_the_end_of_a_turn_says_what_the_edits_touch_and_which_tests_reach_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, root = places(tmp_path, monkeypatch)
    git = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@example.com"]
    for arguments in (["init", "-q"], ["add", "--all"], ["commit", "-q", "-m", "A shop"]):
        subprocess.run([*git, *arguments], check=True)
    assert main(["learn", str(root)]) == 0
    model, output = edited_by(claude, root, home)
    assert facts_in(model)[-1] == "what the edits of this session touch", output
    assert r"Changed: Memory.Save.\n1 test can reach it:\ngo test ./store\n" in max(model.requests, key=len)


def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The home of the agent, and a repository."""
    home, root = tmp_path.resolve() / "home", make_shop(tmp_path.resolve() / "shop")
    home.mkdir()
    # The default for this home, because Codex does not pass the variable on.
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    return home, root


def edited_by(start: Start, root: Path, home: Path) -> tuple[Model, str]:
    """Let an agent open a file and edit it. Returns what the model was sent, and what the agent printed."""
    agent = start.__name__
    program, node = shutil.which(agent), shutil.which("node")
    if not program or not node:
        pytest.skip(f"{agent} is not on the PATH; the docstring of this file says how to install it")
    assert main(["install", agent, "--yes", "--repo", str(root)]) == 0
    script = Script(str(root / "store" / "store.go"), "m.items[key]++", "m.items[key] += 1")
    with scripted_model(script) as model:
        command, environ = start(model.url, root, home)
        path = os.pathsep.join([str(Path(program).parent), str(Path(node).parent), "/usr/bin", "/bin"])
        alone = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
        del alone["XDG_STATE_HOME"]
        # OpenCode believes PWD more than the directory it is started in.
        here = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "PATH": path, "PWD": str(root)}
        done = subprocess.run(
            command,
            cwd=root,
            env=alone | environ | here,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "done" in done.stdout
    return model, done.stdout + done.stderr


def facts_in(model: Model) -> list[str]:
    """What golore has told the model facts about, in the order in which it did."""
    # Some ask for a title of the conversation besides; the one with all its steps is the longest.
    return re.findall(r"golore's facts about (.*?), learned", max(model.requests, key=len))
