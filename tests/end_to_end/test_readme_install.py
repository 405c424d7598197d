"""The README's way to install golore and to use it, in an empty home, with each Python that is on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from golore.mcp_server.cli.agent_arguments import AGENTS
from support.shop import make_shop

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
UV = shutil.which("uv") or ""


def installed_pythons() -> list[str]:
    """The paths of the Pythons that golore supports: this one, and those of pyenv."""
    versions = Path.home() / ".pyenv" / "versions"
    others = (str(path) for number in (11, 12, 13, 14) for path in versions.glob(f"3.{number}.*/bin/python3.{number}"))
    return sorted({str(Path(sys.executable).resolve()), *others})


@pytest.mark.skipif(not UV, reason="needs uv")
@pytest.mark.parametrize("python", installed_pythons())
def test_the_lines_of_the_readme_lead_to_a_card_and_an_answer(python: str, tmp_path: Path) -> None:
    home, shop = tmp_path.resolve() / "home", make_shop(tmp_path.resolve() / "shop")
    home.mkdir()
    clean = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    kept = {name: value for name, value in os.environ.items() if name.startswith(("UV_", "SSL_", "HTTP", "http"))}
    cache = subprocess.run([UV, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    # Without a compiler: the wheel is pure.
    build = {**clean, **kept, "UV_CACHE_DIR": cache, "GOLORE_PURE": "1"}
    subprocess.run([UV, "tool", "install", "-q", "--python", python, ROOT], env=build, check=True)
    golore = home / ".local" / "bin" / "golore"

    def run(*words: str) -> str:
        done = subprocess.run([golore, *words], cwd=shop, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("learn")
    for scope in ("project", "user"):
        for agent in AGENTS:
            said = run("install", agent, "--yes", "--scope", scope)
            assert f"golore is installed for {agent}." in said
            assert "golore's facts about " in said
            assert "MCP server: golore " in said
    report = run("doctor")
    assert report.count("the hook shows cards, the MCP server answers") == 2 * len(AGENTS)
    assert report.endswith("golore works here.\n")
