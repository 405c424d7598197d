"""Three small repositories that use each other, and a lake to publish them to.

`lib` declares a store. `app` uses it, with its source available through `replace`. `tool` uses it without its source.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from golore.mcp_server.cli.main import main
from support.git_repository import commit, git

LIB = {
    "go.mod": "module example.com/lib\n\ngo 1.24\n",
    "store/store.go": """package store

type Saver interface{ Save() error }

type Store struct{ Path string }

func Open() *Store { return &Store{} }

func (s *Store) Save() error { return s.flush() }

func (s *Store) flush() error { return nil }

func SaveAll(all ...Saver) {
	for _, one := range all {
		one.Save()
	}
}
""",
}
APP = {
    "go.mod": """module example.com/app

go 1.24

require example.com/lib v1.0.0

replace example.com/lib => ../lib
""",
    "main.go": """package main

import "example.com/lib/store"

type mine struct{}

func (mine) Save() error { return nil }

func main() { run() }

func run() {
	s := store.Open()
	s.Path = "x"
	s.Save()
	var any store.Saver = s
	any.Save()
}
""",
    "other/other.go": "package other\n\ntype Unaware struct{}\n\nfunc (Unaware) Save() error { return nil }\n",
}
TOOL = {
    "go.mod": "module example.com/tool\n\ngo 1.24\n\nrequire example.com/lib v0.9.0\n",
    "main.go": 'package main\n\nimport "example.com/lib/store"\n\nfunc main() { store.Open().Save() }\n',
}
REPOSITORIES = {"lib": LIB, "app": APP, "tool": TOOL}


def make_repositories(folder: Path) -> dict[str, Path]:
    """The repositories with one commit each, learned."""
    for name, files in REPOSITORIES.items():
        root = folder / name
        root.mkdir(parents=True)
        git(root, "init", "-q")
        git(root, "remote", "add", "origin", f"git@example.org:team/{name}.git")
        commit(root, dict(files))
    for name in REPOSITORIES:
        assert main(["learn", str(folder / name)]) == 0
    return {name: folder / name for name in REPOSITORIES}


def publish(root: Path, lake: Path) -> None:
    assert main(["publish", str(lake), "--repo", str(root), "--must"]) == 0


def change(root: Path, files: dict[str, str | None]) -> None:
    """Commit and learn a change."""
    commit(root, files)
    assert main(["learn", str(root)]) == 0


def printed(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    """The JSON document that a command prints."""
    capsys.readouterr()
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def copy_without_store(root: Path, target: Path) -> Path:
    shutil.copytree(root, target, ignore=shutil.ignore_patterns(".golore"))
    return target


def rows(uses: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [(use["repository"].rpartition("/")[2], use["how"], use["source"].rpartition("/")[2]) for use in uses]
