"""Questions about the repository here that others answer: what breaks, what a change reaches, what is dead."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from golore.mcp_server.cli.main import main
from mcp import Client
from support.fleet import change, make_repositories, printed, publish, rows
from support.git_repository import commit, git
from support.mcp_client import inside, refused, told


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the three repositories and the lake that they are published to. Tests must not change it."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "lake").mkdir()
    for root in make_repositories(folder).values():
        publish(root, folder / "lake")
    return folder


@pytest.fixture
def fleet(published: Path, tmp_path: Path) -> Path:
    """A copy that the test may change."""
    shutil.copytree(published, tmp_path / "fleet", symlinks=True)
    assert main(["adopt", "--yes", "--repo", str(tmp_path / "fleet" / "lib")]) == 0
    return tmp_path / "fleet"


def store_text(fleet: Path) -> str:
    return (fleet / "lib" / "store" / "store.go").read_text()


@pytest.mark.parametrize("is_indexed", [False, True])
def test_breaking_changes_name_the_code_of_other_repositories_that_breaks(
    fleet: Path, capsys: pytest.CaptureFixture[str], is_indexed: bool
) -> None:
    if is_indexed:
        assert main(["fleet", "compact", str(fleet / "lake")]) == 0
    text = store_text(fleet).replace(
        "func Open() *Store { return &Store{} }", "func Open(path string) *Store { return nil }"
    )
    text = text.replace("Save() error }", "Save() error; Close() }").replace("Path string", "")
    change(fleet / "lib", {"store/store.go": text})
    arguments = ("breaking", "HEAD~1..HEAD", "--repo", fleet / "lib", "--fleet", fleet / "lake")
    found = printed(capsys, *arguments)
    assert {one["name"] for one in found["breaking"]} >= {"Open", "Store.Path"}
    answer = found["fleet"]
    broken = {
        (use["repository"].rpartition("/")[2], use["source"], use["target"].rpartition("/")[2])
        for use in answer["resolved"]
    }
    assert ("app", "example.com/app.run", "store.Open") in broken
    assert ("app", "example.com/app.run", "store.Store.Path") in broken
    assert ("app", "example.com/app.mine", "store.Saver") in broken
    assert all(use["repository"] != "example.org/team/lib" for use in answer["resolved"])
    # Without the source of lib, what `Open` returns is not known in tool.
    assert ("example.com/tool.main", "possible") in {(use["source"], use["how"]) for use in answer["candidates"]}
    assert answer["without_source"] == ["example.org/team/tool"]
    assert main([*map(str, arguments)]) == 0
    out = capsys.readouterr().out
    assert "What the changes break in 2 other repositories" in out
    assert "example.org/team/app at " in out


def test_a_removed_type_breaks_the_uses_of_its_members(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        store_text(fleet)
        .replace("Store struct", "Shelf struct")
        .replace("*Store", "*Shelf")
        .replace("&Store", "&Shelf")
    )
    change(fleet / "lib", {"store/store.go": text})
    found = printed(capsys, "breaking", "HEAD~1..HEAD", "--repo", fleet / "lib", "--fleet", fleet / "lake")
    targets = {use["target"].rpartition("/")[2] for use in found["fleet"]["resolved"]}
    assert {"store.Store.Save", "store.Store.Path"} <= targets


def test_a_change_reaches_other_repositories(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = store_text(fleet).replace("return s.flush()", "return nil")
    change(fleet / "lib", {"store/store.go": text})
    arguments = ("affected", "HEAD~1..HEAD", "--repo", fleet / "lib", "--fleet", fleet / "lake")
    found = printed(capsys, *arguments)["fleet"]
    assert [(use["source"], use["depth"]) for use in found["resolved"]] == [
        ("example.com/app.run", 1),
        ("example.com/app.main", 2),
    ]
    assert main([*map(str, arguments)]) == 0
    assert "What the change may reach in 2 other repositories" in capsys.readouterr().out
    assert main([*map(str, arguments), "--markdown"]) == 2


def test_what_other_repositories_use_is_not_dead(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = store_text(fleet)
    files = {"store/store.go": f"{text}\nfunc Unused() {{}}\n", "other/other.go": "package other\n\nfunc Unused() {}\n"}
    change(fleet / "lib", dict(files))
    arguments = ("dead", "--repo", fleet / "lib", "--fleet", fleet / "lake")
    names = {one["qualified_name"] for one in printed(capsys, *arguments)["dead"]}
    # tool was published without the source of store: whatever that package exports may be used there.
    assert names == set()
    shutil.rmtree(fleet / "lake" / "heads" / "example.org" / "team" / "tool")
    found = printed(capsys, *arguments)
    names = {one["qualified_name"].rpartition("/")[2] for one in found["dead"]}
    assert {"store.Unused"} <= names
    assert not names & {"store.Open", "store.Store.Save", "store.Store.flush", "store.Saver"}
    assert "example.com/lib/other" in found["unlinked"]
    assert main([*map(str, arguments)]) == 0
    out = capsys.readouterr().out
    assert "1 other repository asked" in out
    assert "example.org/team/app at " in out


@pytest.mark.parametrize("is_indexed", [False, True])
def test_names_are_found_in_all_repositories(fleet: Path, capsys: pytest.CaptureFixture[str], is_indexed: bool) -> None:
    if is_indexed:
        assert main(["fleet", "compact", str(fleet / "lake")]) == 0
    found = printed(capsys, "search", "save", "--fleet", fleet / "lake", "--repo", fleet / "lib")
    assert [(hit["repository"].rpartition("/")[2], hit["name"].rpartition("/")[2]) for hit in found["hits"]] == [
        ("app", "app.mine.Save"),
        ("lib", "store.Saver.Save"),
        ("lib", "store.Store.Save"),
        ("app", "other.Unaware.Save"),
        ("lib", "store.Saver"),
        ("lib", "store.SaveAll"),
    ]
    found = printed(capsys, "search", "save", "--kind", "func", "--fleet", fleet / "lake", "--repo", fleet / "lib")
    assert [hit["name"] for hit in found["hits"]] == ["example.com/lib/store.SaveAll"]
    assert main(["search", "save", "--tests", "--fleet", str(fleet / "lake")]) == 2


def test_reads_and_writes_of_a_field_are_told_apart_in_text(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["users", "Store.Path", "--repo", str(fleet / "lib"), "--fleet", str(fleet / "lake")]
    capsys.readouterr()
    assert main([*asked, "--writes"]) == 0
    assert "Writes of example.com/lib/store.Store.Path" in (out := capsys.readouterr().out)
    assert "example.com/app.run" in out
    assert main([*asked, "--reads"]) == 0
    assert "None are known." in capsys.readouterr().out


def test_types_of_a_dependency_that_have_the_methods_of_an_interface_are_candidates(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = tmp_path / "fleet"
    shutil.copytree(published, fleet, symlinks=True)
    for name in ("lib", "app"):
        assert main(["adopt", "--yes", "--repo", str(fleet / name)]) == 0
    far = "type Far struct{}\n\nfunc (Far) Save() error { return nil }\n"
    wrong = "type Wrong struct{}\n\nfunc (Wrong) Save() {}\n"
    change(fleet / "lib", {"far/far.go": f"package far\n\n{far}\n{wrong}"})
    change(fleet / "app", {"keeper.go": "package main\n\ntype Keeper interface{ Save() (err error) }\n"})
    for name in ("lib", "app"):
        publish(fleet / name, fleet / "lake")
    answer = printed(capsys, "implementers", "Keeper", "--fleet", fleet / "lake", "--repo", fleet / "app")
    assert rows(answer["resolved"]) == [("app", "implements", "app.mine")]
    assert rows(answer["candidates"]) == [("lib", "may implement", "store.Store")]
    assert rows(answer["accidental"]) == [("app", "implements", "other.Unaware"), ("lib", "may implement", "far.Far")]


def settings_of(folder: Path, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "config" / "golore").mkdir(parents=True)
    (folder / "config" / "golore" / "settings.toml").write_text(f'[fleet]\nlake = "{lake}"\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))


def test_an_agent_asks_the_fleet_with_a_scope(fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings_of(tmp_path, fleet / "lake", monkeypatch)
    commit(fleet / "lib", {"store/store.go": store_text(fleet).replace("return s.flush()", "return nil")})

    async def talk(client: Client) -> list[str]:
        graph: dict[str, Any] = {"scope": "fleet", "budget": 4_000}
        return [
            await told(client, "memory_graph", question="callers", symbol="Store.Save", **graph),
            await told(client, "memory_graph", question="writes", symbol="Store.Path", **graph),
            await told(client, "memory_graph", question="affected", symbol="HEAD~1..HEAD", **graph),
            await told(client, "memory_search", query="save", scope="fleet"),
            await refused(client, "memory_graph", question="callees", symbol="Store.Save", scope="fleet"),
        ]

    callers, writes, affected, search, callees = inside(talk, fleet / "lib")
    revision = git(fleet / "app", "rev-parse", "HEAD")[:12]
    assert f"example.org/team/app at {revision}, published just now" in callers
    assert "example.com/app.run" in callers
    assert "1 repository had no source of its package" in callers
    assert "example.com/app.run" in writes
    assert "What the change may reach in 2 other repositories" in affected
    assert "example.com/app.mine.Save" in search
    assert "With scope fleet, ask for callers, users" in callees


def test_an_agent_without_a_lake_is_told_where_to_name_one(
    fleet: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))

    async def talk(client: Client) -> str:
        return await refused(client, "memory_search", query="save", scope="fleet")

    assert "Name the lake" in inside(talk, fleet / "lib")


def test_rows_name_the_repository(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = printed(capsys, "callers", "store.Open", "--fleet", published / "lake", "--repo", published / "lib")
    assert rows(answer["resolved"]) == [("app", "calls", "app.run")]
