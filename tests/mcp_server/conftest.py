"""Fixtures that several files of tests in this folder use."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from golore.learner.pipeline.graph_step import learn_graph
from support.shop import make_shop
from support.untried_install import skip_trial


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory without configuration files."""
    home = tmp_path.resolve() / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "GOLORE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.fixture
def repository(tmp_path: Path, home: Path) -> Path:
    """A repository beside the home directory, which has no store."""
    assert home.is_dir()
    root = tmp_path.resolve() / "repository"
    (root / ".git").mkdir(parents=True)
    return root


@pytest.fixture
def own_shop(tmp_path: Path) -> Path:
    """A learned shop that the test may change."""
    root = make_shop(tmp_path / "shop")
    learn_graph(root)
    return root


@pytest.fixture(scope="module")
def without_trial() -> Generator[None]:
    """`golore install` in this process does not run the commands that it wrote, which takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        skip_trial(patch)
        yield
