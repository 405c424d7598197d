"""`golore fleet learn --ray` on a real cluster: a head and two nodes on this machine, of which one is killed."""

from __future__ import annotations

import importlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from golore.graph.lake.bucket import open_lake
from golore.graph.lake.heads import newest_keys, read_head
from golore.mcp_server.cli.main import main
from support.environments import make_environment
from support.fleet import REPOSITORIES
from support.git_repository import commit, git

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]
_SECONDS = 600


class Cluster:
    """A head without processors, and two nodes with one each. Every node has a temporary directory of its own."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self.programs, self.folder = programs, folder
        self.token = secrets.token_hex(32)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"

    def start(self) -> None:
        head = ["--head", "--port", self.address.partition(":")[2], "--include-dashboard=false", "--num-cpus=0"]
        self._start("head", *head, f"--temp-dir={self.folder / 'ray'}")
        for name in ("first", "second"):
            self._start(name, "--address", self.address, "--num-cpus=1")

    def environment(self, name: str, token: str = "") -> dict[str, str]:
        (self.folder / name).mkdir(exist_ok=True)
        own = {"TMPDIR": str(self.folder / name), "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token or self.token}
        # By default, workers give way to every other process, which on a busy machine takes very long.
        quiet = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        return {**os.environ, **quiet, **own, "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}"}

    def learn(self, *arguments: str, token: str = "") -> subprocess.Popen[str]:
        code = "import sys; from golore.mcp_server.cli.main import main; sys.exit(main())"
        return subprocess.Popen(
            [str(self.programs / "python"), "-c", code, "fleet", "learn", *arguments, "--ray", self.address, "--json"],
            env=self.environment("driver", token),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def kill(self, name: str) -> int:
        """Kill all processes of a node at once; returns how many there were."""
        mark = f"TMPDIR={self.folder / name}".encode()
        killed = 0
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with suppress(OSError):
                    if mark in (entry / "environ").read_bytes().split(b"\0"):
                        os.kill(int(entry.name), signal.SIGKILL)
                        killed += 1
        return killed

    def _start(self, name: str, *options: str) -> None:
        limits = ["--object-store-memory=80000000", "--memory=3000000000", "--disable-usage-stats"]
        command = [str(self.programs / "ray"), "start", "--node-ip-address=127.0.0.1", *options, *limits]
        said = ""
        for _ in range(5):  # Ray gives a node 30 seconds to start, which a busy machine may not suffice for
            done = subprocess.run(command, env=self.environment(name), capture_output=True, text=True, check=False)
            if done.returncode == 0:
                return
            said = done.stdout + done.stderr
            self.kill(name)
        raise AssertionError(said)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cluster]:
    folder = tmp_path_factory.mktemp("ray")
    programs = make_environment(folder / "environment", "ray>=2.50", with_golore=True)
    # The paths of Ray's sockets must be short.
    place = Path("/tmp") / f"golore-ray-{os.getpid()}"
    place.mkdir()
    made = Cluster(programs, place)
    try:
        made.start()
        yield made
    finally:
        for name in ("driver", "first", "second", "head"):
            made.kill(name)
        subprocess.run(["rm", "-rf", str(place)], check=False)


def write_list(folder: Path) -> Path:
    """Six repositories, and one that does not exist."""
    lines = [f"{folder / 'nothing'}\n"]
    for number in range(6):
        root = folder / f"repository-{number}"
        root.mkdir()
        git(root, "init", "-q")
        git(root, "remote", "add", "origin", f"https://example.org/team/repository-{number}.git")
        files = {
            f"p{part}/{name}": text.replace("package store", f"package p{part}")
            for part in range(20)
            for name, text in REPOSITORIES["lib"].items()
            if name.endswith(".go")
        }
        commit(root, {"go.mod": f"module example.com/r{number}\n\ngo 1.24\n", **files})
        lines.append(f"{root} main\n")
    (folder / "list").write_text("".join(lines))
    return folder / "list"


def published_tables(lake: Path) -> dict[str, dict[str, bytes]]:
    opened = open_lake(str(lake))
    return {
        name: {table: (lake / key.folder / f"{table}.parquet").read_bytes() for table in read_head(opened, key).tables}
        for name, key in newest_keys(opened, {}).items()
    }


def test_a_node_that_is_killed_loses_nothing(cluster: Cluster, tmp_path: Path) -> None:
    path, lake, by_hand = write_list(tmp_path), tmp_path / "lake", tmp_path / "by hand"
    lake.mkdir()
    by_hand.mkdir()
    driver = cluster.learn(str(path), "--lake", str(lake))
    end = time.monotonic() + _SECONDS
    while not list((cluster.folder / "second").glob("golore-fleet-*/checkout/**/.golore/*")):
        assert driver.poll() is None, driver.communicate()
        assert time.monotonic() < end, "no job was started on the second node"
        time.sleep(0.005)
    assert cluster.kill("second") > 1
    out, errors = driver.communicate(timeout=_SECONDS)
    assert driver.returncode == 1, errors  # because of the repository that does not exist
    outcomes = json.loads(out)["repositories"]
    assert [one["status"] for one in outcomes] == ["failed", *["published"] * 6], errors
    assert "cannot be read" in outcomes[0]["reason"]
    assert json.loads(out)["indexed"] == 6
    assert main(["fleet", "learn", str(path), "--lake", str(by_hand)]) == 1
    assert published_tables(lake) == published_tables(by_hand)
    assert index_bytes(lake) == index_bytes(by_hand)

    again = cluster.learn(str(path), "--lake", str(lake))
    out, errors = again.communicate(timeout=_SECONDS)
    assert [one["status"] for one in json.loads(out)["repositories"]] == ["failed", *["known"] * 6], errors


def index_bytes(lake: Path) -> list[bytes]:
    (folder,) = (lake / "index").iterdir()
    importlib.import_module("pyarrow.parquet").read_table(folder / "across.parquet")
    return [file.read_bytes() for file in sorted(folder.glob("*.parquet"))]


def test_without_the_token_the_cluster_refuses(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    driver = cluster.learn(str(write_list(tmp_path)), "--lake", str(tmp_path / "lake"), token="0" * 64)
    _, errors = driver.communicate(timeout=_SECONDS)
    assert driver.returncode == 2, errors
    assert "RAY_AUTH_TOKEN" in errors.strip().splitlines()[-1]
    assert list((tmp_path / "lake").iterdir()) == []
