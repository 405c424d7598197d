"""The commands that analyse the whole graph: what they print and accept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from support.git_repository import commit, git

LOOP = {
    "go.mod": "module m\n",
    "in/a/x/x.go": 'package x\n\nimport "m/in/b/y"\n\nfunc X() { y.Y() }\n',
    "in/a/z/z.go": "package z\n\nfunc Z() {}\n",
    "in/b/y/y.go": 'package y\n\nimport "m/in/a/z"\n\nfunc Y() { z.Z() }\n',
    "c/c.go": "package c\n",
}


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("loop")
    for name, text in LOOP.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    learn_graph(root, workers=0)
    return root


def test_cycles_prints_text_and_json(loop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cycles", "--repo", str(loop)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No import cycle and 1 directory cycle in 4 packages.\n")
    assert "a/ → b/  in/a/x/x.go:3  m/in/b/y  for y.Y (1)" in out
    assert main(["cycles", "m/in/a/x", "--json", "--repo", str(loop)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["imports"], document["directories"], document["packages"]) == ([], [], 1)
    assert main(["cycles", "in", "--json", "--repo", str(loop)]) == 0
    assert json.loads(capsys.readouterr().out)["directories"][0]["parent"] == "in"


def test_a_directory_without_packages_is_refused_in_one_sentence(
    loop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cycles", "nowhere", "--repo", str(loop)]) == 2
    err = capsys.readouterr().err
    assert err == "golore: nowhere is no directory with Go packages here, and no import path of one.\n"


PROGRAMS = {
    "go.mod": "module m\n",
    "lib/lib.go": """package lib

type Saver interface{ Save() }
type Disk struct{}

func (Disk) Save() {}

type Memory struct{}

func (Memory) Save() {}
func Run(s Saver) { s.Save() }
func Idle()       {}
""",
    "cmd/a/main.go": 'package main\n\nimport "m/lib"\n\nfunc main() { lib.Run(lib.Disk{}) }\n',
    "cmd/b/main.go": 'package main\n\nimport "m/lib"\n\nfunc main() { lib.Run(lib.Memory{}) }\n',
}


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two programs that put different types into one interface."""
    root = tmp_path_factory.mktemp("programs")
    for name, text in PROGRAMS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    learn_graph(root, workers=0)
    return root


def candidates(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main([*words, "--json"]) == 0
    return [link["symbol"]["qualified_name"] for link in json.loads(capsys.readouterr().out)["candidates"]]


def test_candidates_can_be_restricted_to_one_program(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = ("--repo", str(programs))
    assert candidates(capsys, "callees", "lib.Run", *repo) == ["m/lib.Disk.Save", "m/lib.Memory.Save"]
    assert candidates(capsys, "callees", "lib.Run", "--program", "cmd/a", *repo) == ["m/lib.Disk.Save"]
    assert candidates(capsys, "callers", "Memory.Save", "--program", "cmd/b", *repo) == ["m/lib.Run"]
    assert candidates(capsys, "callers", "Memory.Save", "--program", "cmd/a", *repo) == []
    assert main(["callees", "lib.Run", "--program", "lib", *repo]) == 2
    assert capsys.readouterr().err == "golore: lib has no program: no package main with a function main.\n"


def test_dead_prints_text_and_json(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dead", "--repo", str(programs)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 of 7 declarations is dead: nothing reaches it from main and init of 2 programs.\n")
    assert "lib/lib.go:12  func  m/lib.Idle" in out
    assert main(["dead", "cmd", "--exported", "--json", "--repo", str(programs)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["dead"], document["roots"]["exported"]) == ([], True)


USE = 'package use\n\nimport "example.com/m/api"\n\nfunc Use() {\n\tapi.Open("x")\n\tapi.Gone()\n}\n'


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a release, after which its API changed, and a user of that API."""
    root = tmp_path_factory.mktemp("released")
    git(root, "init", "-q")
    commit(
        root,
        {
            "go.mod": "module example.com/m\n",
            "api/api.go": "package api\n\nfunc Open(name string) {}\n\nfunc Gone() {}\n",
            "use/use.go": USE,
        },
    )
    git(root, "tag", "v1.2.0")
    commit(root, {"api/api.go": "package api\n\nfunc Open(name string, mode int) {}\n\nfunc New() {}\n"})
    learn_graph(root, workers=0)
    return root


def test_breaking_lists_what_breaks_with_its_users_and_the_version_to_release(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["breaking", "v1.2.0..HEAD", "--repo", str(released)]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert "2 breaking changes and 1 compatible change of the exported API." in lines[0]
    assert "- func Open(name string)" in lines
    assert "used by example.com/m/use.Use (use/use.go:6)" in lines
    assert "used by unresolved in use/use.go:7" in lines
    assert lines[-1] == "example.com/m: semantic versioning asks for a new major version, v2.0.0."
    assert main(["breaking", "--base", "v1.2.0", "--json", "--repo", str(released)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [(one["name"], one["what"]) for one in document["breaking"]] == [
        ("Gone", "removed"),
        ("Open", "its signature changed"),
    ]
    assert document["breaking"][1]["users"] == [
        {"symbol": "example.com/m/use.Use", "how": "calls", "file": "use/use.go", "sites": [6]}
    ]
    assert [one["name"] for one in document["compatible"]] == ["New"]
    assert document["releases"] == [{"module": "example.com/m", "bump": "major", "version": "v2.0.0"}]


def test_breaking_says_that_nothing_changed(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["breaking", "--repo", str(released)]) == 0
    assert "0 breaking changes and 0 compatible changes" in capsys.readouterr().out


@pytest.mark.parametrize("revisions", ["v9..HEAD", "main"])
def test_breaking_refuses_an_unknown_revision_in_one_sentence(
    revisions: str, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["breaking", revisions, "--repo", str(released)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
