"""Repositories that are published to a lake can be pulled, and asked together."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.notes import all_notes
from golore.graph.safety.trust import distrust_reason
from golore.learner.checkout.git_remote import name_of_url
from golore.mcp_server.cli.main import main
from support.fleet import change, copy_without_store, make_repositories, printed, publish, rows
from support.git_repository import git
from support.stores import exported

Run = Callable[..., object]


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
    for name in ("lib", "app", "tool"):
        assert main(["adopt", "--yes", "--repo", str(tmp_path / "fleet" / name)]) == 0
    return tmp_path / "fleet"


@pytest.fixture(params=["segments", "index"])
def asked(request: pytest.FixtureRequest, published: Path, tmp_path: Path) -> Path:
    """The lake without an index and with one: the answers are the same."""
    if request.param == "segments":
        return published / "lake"
    shutil.copytree(published / "lake", tmp_path / "lake")
    assert main(["fleet", "compact", str(tmp_path / "lake")]) == 0
    return tmp_path / "lake"


def test_callers_are_found_in_all_repositories(asked: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    answer = printed(capsys, "callers", "example.com/lib/store.Store.Save", "--fleet", asked, "--repo", tmp_path)
    assert rows(answer["resolved"]) == [("app", "calls", "app.run")]
    assert rows(answer["candidates"]) == [("app", "calls", "app.run"), ("lib", "calls", "store.SaveAll")]
    assert {use["target"] for use in answer["candidates"]} == {"example.com/lib/store.Saver.Save"}
    assert [one["repository"] for one in answer["covered"]] == [f"example.org/team/{n}" for n in ("app", "lib", "tool")]
    assert answer["declared_in"] == "example.org/team/lib"
    assert answer["unresolved"] == {"example.org/team/tool": 1}
    assert answer["without_source"] == ["example.org/team/tool"]


def test_an_unresolved_use_with_a_known_target_is_a_candidate(
    asked: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = printed(capsys, "callers", "example.com/lib/store.Open", "--fleet", asked, "--repo", tmp_path)
    assert rows(answer["resolved"]) == [("app", "calls", "app.run")]
    assert rows(answer["candidates"]) == [("tool", "possible", "tool.main")]


def test_uses_of_a_field_have_their_access(asked: Path, published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = printed(capsys, "users", "Store.Path", "--fleet", asked, "--repo", published / "lib")
    assert [(use["source"], use["access"]) for use in answer["resolved"]] == [("example.com/app.run", "write")]
    answer = printed(capsys, "users", "Store.Path", "--reads", "--fleet", asked, "--repo", published / "lib")
    assert answer["resolved"] == []


def test_types_that_do_not_import_an_interface_are_listed_apart(
    asked: Path, published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = printed(capsys, "implementers", "Saver", "--fleet", asked, "--repo", published / "lib")
    assert rows(answer["resolved"]) == [("app", "implements", "app.mine"), ("lib", "implements", "store.Store")]
    assert rows(answer["accidental"]) == [("app", "implements", "other.Unaware")]


def test_impact_goes_on_over_the_border_of_a_repository(
    asked: Path, published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = printed(capsys, "impact", "Store.flush", "--depth", "3", "--fleet", asked, "--repo", published / "lib")
    found = {(use["source"], use["depth"]) for use in answer["resolved"]}
    assert found == {("example.com/lib/store.Store.Save", 1), ("example.com/app.run", 2), ("example.com/app.main", 3)}


def test_a_name_that_only_the_fleet_knows_may_be_short(
    asked: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    answer = printed(capsys, "callers", "store.Open", "--fleet", asked, "--repo", tmp_path)
    assert answer["name"] == "example.com/lib/store.Open"
    assert main(["callers", "store.Nothing", "--fleet", str(asked), "--repo", str(tmp_path)]) == 2
    assert "Nothing in the fleet is named 'store.Nothing'" in capsys.readouterr().err


def test_an_answer_in_text_names_revisions_and_what_is_not_covered(
    fleet: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    head = next((fleet / "lake" / "heads" / "example.org" / "team" / "tool").iterdir())
    head.write_bytes(head.read_bytes()[:40])
    capsys.readouterr()
    command = ["callers", "example.com/lib/store.Open", "--repo", str(tmp_path), "--fleet", str(fleet / "lake")]
    assert main(command) == 0
    out = capsys.readouterr().out
    commit = git(fleet / "app", "rev-parse", "HEAD")
    assert f"example.org/team/app at {commit[:12]}, published just now" in out
    assert "Callers of example.com/lib/store.Open in 2 repositories" in out
    assert "Not covered: example.org/team/tool." in out
    assert "is damaged or half written, so it is not used." in out


def test_a_repository_that_publishes_after_the_index_replaces_its_rows(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = fleet / "lake"
    assert main(["fleet", "compact", str(lake)]) == 0
    text = 'package main\n\nimport "example.com/lib/store"\n\nfunc main() { store.Open() }\n'
    change(fleet / "app", {"main.go": None, "new.go": text})
    publish(fleet / "app", lake)
    answer = printed(capsys, "callers", "store.Open", "--fleet", lake, "--repo", fleet / "lib")
    assert rows(answer["resolved"]) == [("app", "calls", "app.main")]
    assert main(["fleet", "compact", str(lake)]) == 0
    assert printed(capsys, "callers", "store.Open", "--fleet", lake, "--repo", fleet / "lib") == answer
    assert printed(capsys, "fleet", "compact", lake)["new"] is False


def test_names_that_a_version_does_not_declare_are_reported(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (fleet / "lib" / "store" / "store.go").read_text()
    change(fleet / "lib", {"store/store.go": text.replace("Path string", "File string")})
    git(fleet / "lib", "tag", "v1.1.0")
    publish(fleet / "lib", fleet / "lake")
    answer = printed(capsys, "callers", "store.Open", "--fleet", fleet / "lake", "--repo", fleet / "lib")
    (gap,) = answer["gaps"]
    assert (gap["repository"], gap["requires"], gap["version"]) == ("example.org/team/app", "v1.0.0", "v1.1.0")
    assert gap["gone"] == ["example.com/lib/store.Store.Path"]
    capsys.readouterr()
    assert main(["callers", "store.Open", "--repo", str(fleet / "lib"), "--fleet", str(fleet / "lake")]) == 0
    assert (
        "requires example.com/lib v1.0.0; example.org/team/lib is published at v1.1.0, where 1 of"
        in capsys.readouterr().out
    )


def test_a_pull_gives_the_store_of_a_learn_and_parses_nothing(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(published / "lib", tmp_path / "lib", ignore=shutil.ignore_patterns(".golore"))
    root = copy_without_store(published / "app", tmp_path / "app")
    pulled = printed(capsys, "pull", published / "lake", "--repo", root)
    assert pulled["pulled"]["distance"] == 0
    assert pulled["parsed"] == 0
    assert distrust_reason(str(root), str(root / ".golore")) == ""
    assert exported(root / ".golore") == exported(published / "app" / ".golore")


def test_a_pull_takes_the_nearest_ancestor_and_learns_the_rest(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(fleet / "lib", {"new.go": "package lib\n\nfunc New() {}\n"})
    change(fleet / "lib", {"newer.go": "package lib\n\nfunc Newer() {}\n"})
    root = copy_without_store(fleet / "lib", tmp_path / "lib")
    pulled = printed(capsys, "pull", fleet / "lake", "--repo", root)
    assert (pulled["pulled"]["distance"], pulled["parsed"]) == (2, 2)
    assert exported(root / ".golore") == exported(fleet / "lib" / ".golore")


def test_a_pull_never_replaces_notes(published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = copy_without_store(published / "lib", tmp_path / "lib")
    assert main(["learn", str(root)]) == 0
    assert main(["note", "--repo", str(root), "store/store.go", "Mine"]) == 0
    assert printed(capsys, "pull", published / "lake", "--repo", root)["pulled"] is None
    assert printed(capsys, "pull", published / "lake", "--replace", "--repo", root)["pulled"] is not None
    with Knowledge.open(root / ".golore") as knowledge:
        assert [note.text for note in all_notes(knowledge)] == ["Mine"]
    assert printed(capsys, "query", "MATCH (n:Note) RETURN n.text", "--repo", root)["rows"] == [{"n.text": "Mine"}]


def test_a_store_with_notes_is_not_published_but_its_uses_are(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["note", "--repo", str(fleet / "lib"), "store/store.go", "a-private-thought"]) == 0
    change(fleet / "lib", {"new.go": "package lib\n"})
    told = printed(capsys, "publish", fleet / "lake", "--repo", fleet / "lib")
    assert told["store_bytes"] == 0
    assert told["why_no_store"].startswith("it has notes")
    folder = fleet / "lake" / "repos" / "example.org" / "team" / "lib" / told["commit"]
    names = {path.name for path in folder.rglob("*") if path.is_file()}
    assert names == {f"{name}.parquet" for name in ("own", "across", "std", "symbols", "unresolved")}
    assert all(b"a-private-thought" not in path.read_bytes() for path in folder.rglob("*.parquet"))


def test_only_a_learned_commit_is_published(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["publish", str(fleet / "lake"), "--repo", str(fleet / "lib")]
    (fleet / "lib" / "store" / "more.go").write_text("package store\n")
    assert main(command) == 1
    assert "Only commits are published" in capsys.readouterr().err
    git(fleet / "lib", "add", "-A")
    git(fleet / "lib", "commit", "-q", "-m", "more")
    assert main(command) == 1
    assert "Run `golore learn` first." in capsys.readouterr().err
    assert main(["learn", str(fleet / "lib")]) == 0
    assert printed(capsys, *command)["published"] is True
    assert printed(capsys, *command)["published"] is False


def test_a_failed_upload_warns_unless_it_must_succeed(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(fleet / "lib", {"new.go": "package lib\n"})
    command = ["publish", str(fleet / "nowhere"), "--repo", str(fleet / "lib")]
    assert main(command) == 0
    assert "Nothing was published. There is no directory" in capsys.readouterr().err
    assert main([*command, "--must"]) == 1


def test_a_pull_of_a_damaged_store_changes_nothing(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (fleet / "lake" / "repos").rglob("store-cache.db.zst"):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    root = copy_without_store(fleet / "lib", tmp_path / "lib")
    capsys.readouterr()
    assert main(["pull", str(fleet / "lake"), "--repo", str(root)]) == 1
    assert "is damaged: it is not what its publisher wrote" in capsys.readouterr().err
    assert not (root / ".golore" / "store.json").exists()
    assert not (root / ".golore" / "cache.db").exists()
    assert main(["learn", str(root)]) == 0


def test_pull_only_learns_if_no_published_commit_fits(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head = next((fleet / "lake" / "heads" / "example.org" / "team" / "lib").iterdir())
    head.write_text(head.read_text().replace('"format": 1', '"format": 2'))
    root = copy_without_store(fleet / "lib", tmp_path / "lib")
    told = printed(capsys, "pull", fleet / "lake", "--repo", root)
    assert told["pulled"] is None
    assert "was written by a newer golore. Upgrade golore to read it." in told["messages"][0]
    root = copy_without_store(fleet / "lib", tmp_path / "unknown")
    told = printed(capsys, "pull", fleet / "lake", "--repo", root, "--name", "example.org/nobody")
    assert told["messages"] == [
        f"The lake {fleet / 'lake'} has no commit of example.org/nobody, so everything was learned here."
    ]


def test_neither_the_repository_nor_the_environment_names_the_lake(
    fleet: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = f'[fleet]\nlake = "{fleet / "lake"}"\n'
    (fleet / "lib" / ".golore" / "settings.toml").write_text(table)
    (fleet / "lib" / "settings.toml").write_text(table)
    monkeypatch.setenv("GOLORE_LAKE", str(fleet / "lake"))
    monkeypatch.chdir(fleet / "lib")
    command = ["callers", "store.Open", "--fleet"]
    assert main(command) == 2
    assert "Name the lake" in capsys.readouterr().err
    (home / ".config" / "golore").mkdir(parents=True)
    (home / ".config" / "golore" / "settings.toml").write_text(table)
    assert main(command) == 0


def test_status_says_what_is_not_current(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = fleet / "lake"
    told = printed(capsys, "fleet", "status", lake)
    assert (told["repositories"], told["publications"], told["index"]) == (3, 3, None)
    assert told["without_sources"] == ["example.org/team/tool"]
    assert main(["fleet", "compact", str(lake)]) == 0
    told = printed(capsys, "fleet", "status", lake)
    assert (told["index"]["covered"], told["published_since"]) == (3, [])
    heads = lake / "heads" / "example.org" / "team" / "lib"
    head = next(heads.iterdir())
    head.rename(heads / head.name.replace(head.name[:4], "2999", 1))
    told = printed(capsys, "fleet", "status", lake)
    assert told["ahead_of_clock"] == ["example.org/team/lib"]


def test_a_publisher_with_a_slow_clock_still_replaces_what_it_saw(
    fleet: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heads = fleet / "lake" / "heads" / "example.org" / "team" / "lib"
    head = next(heads.iterdir())
    head.rename(heads / head.name.replace(head.name[:4], "2999", 1))
    change(fleet / "lib", {"new.go": "package lib\n"})
    publish(fleet / "lib", fleet / "lake")
    repositories = printed(capsys, "fleet", "list", fleet / "lake")["repositories"]
    (listed,) = [one for one in repositories if one["repository"].endswith("lib")]
    assert listed["commit"] == git(fleet / "lib", "rev-parse", "HEAD")


def test_prune_keeps_what_is_newest_and_what_is_young(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = fleet / "lake"
    change(fleet / "lib", {"new.go": "package lib\n"})
    publish(fleet / "lib", lake)
    abandoned = lake / "repos" / "example.org" / "team" / "lib" / ("a" * 40) / ("b" * 16)
    abandoned.mkdir(parents=True)
    (abandoned / ".own.parquet.tmp").write_bytes(b"half")
    for _ in range(2):
        assert main(["fleet", "compact", str(lake)]) == 0
        change(fleet / "app", {f"{len(list((lake / 'index').iterdir()))}.go": "package main\n"})
        publish(fleet / "app", lake)
    told = printed(capsys, "fleet", "prune", lake, "--keep", "1")
    assert (told["publications"], told["indexes"], told["abandoned"]) == (0, 0, 0)
    told = printed(capsys, "fleet", "prune", lake, "--keep", "1", "--hours", "0")
    assert (told["publications"], told["indexes"], told["abandoned"]) == (3, 1, 1)
    assert not abandoned.exists()
    answer = printed(capsys, "callers", "store.Open", "--fleet", lake, "--repo", fleet / "lib")
    assert rows(answer["resolved"]) == [("app", "calls", "app.run")]
    assert len(list((lake / "heads").rglob("2*"))) == 3


def test_an_index_that_is_damaged_is_not_used(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lake = fleet / "lake"
    expected = printed(capsys, "callers", "store.Open", "--fleet", lake, "--repo", fleet / "lib")
    assert main(["fleet", "compact", str(lake)]) == 0
    (table,) = (lake / "index").rglob("across.parquet")
    table.write_bytes(table.read_bytes()[:-10])
    answer = printed(capsys, "callers", "store.Open", "--fleet", lake, "--repo", fleet / "lib")
    assert "is damaged" in answer.pop("index_failure")
    assert answer == {name: value for name, value in expected.items() if name != "index_failure"}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@github.com:gin-gonic/gin.git", "github.com/gin-gonic/gin"),
        ("https://user:secret@GitHub.com/gohugoio/hugo.git/", "github.com/gohugoio/hugo"),
        ("ssh://git@example.org:2222/team/app", "example.org/team/app"),
        ("example.org:app", "example.org/app"),
        ("/srv/git/app.git", ""),
        ("../app", ""),
        ("file:///srv/git/app", ""),
        ("C:/work/app", ""),
    ],
)
def test_a_repository_is_named_by_host_and_path_of_its_remote(url: str, name: str) -> None:
    assert name_of_url(url) == name


def test_a_lake_that_may_not_be_written_gives_one_sentence(fleet: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (fleet / "lake" / "repos" / "example.org" / "team" / "lib").chmod(0o500)
    change(fleet / "lib", {"new.go": "package lib\n"})
    assert main(["publish", str(fleet / "lake"), "--repo", str(fleet / "lib"), "--must"]) == 1
    assert "refused access" in capsys.readouterr().err
