"""The real agents, where they are installed, with the settings of the documentation: a team server offers its tools.

The model is a script (see `test_real_agents`), so nothing is sent anywhere.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from support.fleet import make_repositories, publish
from support.scripted_model import Script, scripted_model
from support.team import Team, serving

pytestmark = pytest.mark.slow
_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "fleet.md"
_ADDRESS = "https://golore.acme.example/mcp"
_SECONDS = 300
Start = Callable[[Team, str, Path, dict[str, str]], list[str]]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Generator[Team]:
    folder = tmp_path_factory.mktemp("team").resolve()
    (folder / "lake").mkdir()
    for root in make_repositories(folder).values():
        publish(root, folder / "lake")
    with serving(folder) as team:
        yield team


def documented(team: Team, start: str) -> str:
    """A block of the documentation, with the address of the server that runs."""
    blocks = re.findall(r"```\w+\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (found,) = [block for block in blocks if block.startswith(start)]
    assert _ADDRESS in found
    return found.replace(_ADDRESS, team.url)


def claude(team: Team, model: str, home: Path, environ: dict[str, str]) -> list[str]:
    assert home.is_dir()
    subprocess.run(["bash", "-c", documented(team, "claude mcp add")], env=environ, check=True, timeout=_SECONDS)
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "IS_SANDBOX": "1"}
    servers = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "120000", "ENABLE_TOOL_SEARCH": "false"}
    environ |= {"ANTHROPIC_BASE_URL": model, "ANTHROPIC_API_KEY": "none", **quiet, **servers}
    return ["claude", "-p", "Hello"]


def codex(team: Team, model: str, home: Path, environ: dict[str, str]) -> list[str]:
    provider = f'[model_providers.s]\nname = "s"\nbase_url = "{model}/v1"\nwire_api = "responses"\n'
    text = f'model = "m"\nmodel_provider = "s"\n{provider}{documented(team, "[mcp_servers.golore-team]")}'
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(text)
    environ["OPENAI_API_KEY"] = "none"
    freely = ["--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check"]
    waits = ["-c", "mcp_servers.golore-team.required=true", "-c", "mcp_servers.golore-team.startup_timeout_sec=120"]
    return ["codex", "exec", *freely, *waits, "Hello"]


@pytest.mark.parametrize("start", [claude, codex])
def test_the_tools_of_the_server_are_offered_to_the_model(start: Start, team: Team, tmp_path: Path) -> None:
    program, node = shutil.which(start.__name__), shutil.which("node")
    if not program or not node:
        pytest.skip(f"{start.__name__} is not on the PATH; test_real_agents.py says how to install it")
    home = tmp_path.resolve() / "home"
    home.mkdir()
    (tmp_path / "main.go").write_text("package main\n")
    path = os.pathsep.join([str(Path(program).parent), str(Path(node).parent), "/usr/bin", "/bin"])
    environ = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    environ |= {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "PATH": path, "PWD": str(tmp_path)}
    environ["GOLORE_TEAM_TOKEN"] = team.anna
    with scripted_model(Script(str(tmp_path / "main.go"), "main", "main")) as model:
        command = start(team, model.url, home, environ)
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert any("memory_status" in body for body in model.bodies), done.stdout + done.stderr
    assert '"token": "anna"' in (team.folder / "log").read_text()
