"""The code keeps its own rules: lint, format, types and import directions, each with the tool that knows them."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "check", "--no-cache"], id="lint"),
        pytest.param(["ruff", "format", "--check", "--no-cache"], id="format"),
        pytest.param(["pyright", "--warnings", "--pythonpath", sys.executable], id="types"),
        pytest.param(["lint-imports", "--no-cache", "--no-logo"], id="import-directions"),
    ],
)
def test_tool_finds_nothing(command: list[str]) -> None:
    # Without the setting pyright asks npm's registry for a newer version of itself.
    settings = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "NO_COLOR": "1"}
    tool = subprocess.run(
        [SCRIPTS / command[0], *command[1:]], cwd=ROOT, env=settings, capture_output=True, text=True, check=False
    )
    assert tool.returncode == 0, tool.stdout + tool.stderr


def test_ci_runs_the_test_command_of_the_readme() -> None:
    last_line = (ROOT / ".ci" / "run").read_text().splitlines()[-1]
    assert f"\n{last_line}\n" in (ROOT / "README.md").read_text()
