"""A lake in a bucket of a real S3 server: nothing is lost, and each failure is one sentence."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from golore.graph.errors import LakeError
from golore.graph.lake.bucket import Lake, open_lake
from golore.graph.lake.fleet import Fleet
from golore.graph.lake.heads import head_keys
from golore.graph.lake.lake_index import compact
from golore.graph.lake.segments import ACROSS, OWN, STD
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.cli.main import main
from support.environments import make_environment
from support.fleet import make_repositories
from support.publishers import PUBLISHER, REPOSITORIES, TURNS
from support.shop import make_shop
from support.swift_server import SwiftServer, swift_server
from support.team import ANNA, BOB, inside, repositories_of

OPEN = "example.com/lib/store.Open"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="Swift runs on Linux")]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_environment(tmp_path_factory.mktemp("swift") / "environment", "swift", "PyECLib")


@pytest.fixture
def server(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[SwiftServer]:
    (tmp_path / "swift").mkdir()
    with swift_server(programs, tmp_path / "swift") as running:
        for name, value in running.credentials().items():
            monkeypatch.setenv(name, value)
        file_systems = importlib.import_module("pyarrow.fs")
        endpoint = f"http://127.0.0.1:{running.port}"
        system = file_systems.S3FileSystem(endpoint_override=endpoint, region="us-east-1", allow_bucket_creation=True)
        system.create_dir("golore")
        yield running


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    learn_graph(root)
    return root / ".golore"


def publish_at_once(store: Path, address: str, run: int) -> None:
    """Four processes that publish to the same lake at the same time."""
    command = [sys.executable, "-c", PUBLISHER, str(store), address]
    publishers = [subprocess.Popen([*command, str(number), str(run)]) for number in range(4)]
    assert [publisher.wait() for publisher in publishers] == [0] * 4


def brute_force(lake: Lake, name: str) -> list[tuple[str, ...]]:
    """All uses of a name, from every file of the newest publications."""
    parquet = importlib.import_module("pyarrow.parquet")
    rows: list[tuple[str, ...]] = []
    for repository, key in {key.repository: key for key in head_keys(lake)}.items():
        for scope in (OWN, ACROSS, STD):
            with lake.open_file(f"{key.folder}/{scope}.parquet") as file:
                table: Any = parquet.read_table(file)
            rows += [(repository, *row.values()) for row in table.to_pylist() if row["target"] == name]
    return sorted(rows)


def test_four_publishers_at_once_lose_nothing_in_three_runs(server: SwiftServer, store: Path) -> None:
    address = server.address("golore/lake")
    for run in range(3):
        publish_at_once(store, address, run)
        lake = open_lake(address)
        keys = head_keys(lake)
        assert len(keys) == (run + 1) * 4 * TURNS * REPOSITORIES
        assert len({key.publication for key in keys}) == len(keys)
        if run:
            compact(lake)
        with Fleet(lake) as fleet:
            assert not fleet.unreadable
            assert len(fleet.members) == 5
            for name in ("example.com/shop/store.New", "example.com/shop/store.Memory.Save", "fmt.Println"):
                found = fleet.uses([name])
                rows = sorted((row.member.name, *row[1:]) for row in found)
                assert rows == brute_force(lake, name)
                assert rows


def test_failures_of_a_server_are_one_sentence_and_lose_nothing(
    server: SwiftServer, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = server.address("golore/lake")
    publish_at_once(store, address, 0)
    published = head_keys(open_lake(address))
    for credentials in (server.credentials(secret="wrong"), server.credentials(user="team:stranger")):
        for name, value in credentials.items():
            monkeypatch.setenv(name, value)
        with pytest.raises(LakeError, match="refused access"):
            head_keys(open_lake(address))
        with pytest.raises(LakeError, match="refused access"):
            open_lake(address).write("heads/example.org/x/1", b"")
    for name, value in server.credentials().items():
        monkeypatch.setenv(name, value)
    with pytest.raises(LakeError, match="The bucket of the lake s3://nothing/lake does not exist"):
        head_keys(open_lake(server.address("nothing/lake")))
    with pytest.raises(LakeError, match="cannot be reached"):
        head_keys(open_lake(SwiftServer(1).address("golore/lake")))
    assert head_keys(open_lake(address)) == published


def test_a_team_is_served_from_a_bucket(server: SwiftServer, tmp_path: Path) -> None:
    address = server.address("golore/team")
    for root in make_repositories(tmp_path / "repositories").values():
        assert main(["publish", address, "--repo", str(root), "--must"]) == 0
    ask = {"repository": "lib", "target": "store.Open"}
    with repositories_of(address, tmp_path / "cache") as repositories:
        assert "app.run" in inside(repositories, ANNA, "memory_graph", question="callers", symbol=OPEN, scope="fleet")
        assert "team/app" not in inside(repositories, BOB, "memory_search", query="main", scope="fleet")
        assert "Noted" in inside(repositories, ANNA, "memory_note", text="Callers close it.", **ask)
        assert "Callers close it." in inside(repositories, ANNA, "memory_context", **ask)
    assert len(open_lake(address).keys("notes/example.org/team/lib")) == 1
    with repositories_of(address, tmp_path / "other") as repositories:  # another machine
        assert "Callers close it." in inside(repositories, ANNA, "memory_context", **ask)
