"""A lake loses nothing that several publishers write at once, and its failures are one sentence each."""

from __future__ import annotations

import importlib
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from golore.graph.errors import GoloreError, LakeError, UsageError
from golore.graph.lake.bucket import KeyDigest, open_lake
from golore.graph.lake.fleet import Fleet
from golore.graph.lake.heads import head_keys, newest_keys, read_head
from golore.graph.lake.keys import HeadKey, head_key, is_repository_name
from golore.graph.lake.lake_index import compact
from golore.graph.lake.packed_store import install_store
from golore.graph.lake.segments import ACROSS, OWN, STD
from golore.learner.pipeline.graph_step import learn_graph
from support.publishers import PUBLISHER
from support.shop import make_shop


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    learn_graph(root)
    return root / ".golore"


@pytest.fixture(scope="module")
def crowded(store: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake to which four processes published at the same time, while another one made indexes."""
    lake = tmp_path_factory.mktemp("lake")
    publishers = [
        subprocess.Popen([sys.executable, "-c", PUBLISHER, str(store), str(lake), str(number), "0"])
        for number in range(4)
    ]
    try:
        while running := [publisher for publisher in publishers if publisher.poll() is None]:
            compact(open_lake(str(lake)))
            with suppress(subprocess.TimeoutExpired):
                running[0].wait(0.5)
    finally:
        for publisher in publishers:
            publisher.wait()
    assert [publisher.returncode for publisher in publishers] == [0] * 4
    return lake


def brute_force(lake: Path, name: str) -> list[tuple[str, ...]]:
    """All uses of a name, from every file of the newest publications."""
    opened, parquet = open_lake(str(lake)), importlib.import_module("pyarrow.parquet")
    rows: list[tuple[str, ...]] = []
    for repository, key in {key.repository: key for key in head_keys(opened)}.items():
        for scope in (OWN, ACROSS, STD):
            table: Any = parquet.read_table(lake / key.folder / f"{scope}.parquet")
            rows += [(repository, *row.values()) for row in table.to_pylist() if row["target"] == name]
    return sorted(rows)


def test_four_publishers_at_once_lose_nothing(crowded: Path) -> None:
    lake = open_lake(str(crowded))
    keys = head_keys(lake)
    assert len(keys) == 24
    assert len({key.publication for key in keys}) == 24
    for key in keys:
        head = read_head(lake, key)
        for name, expected in head.tables.items():
            assert (crowded / key.folder / f"{name}.parquet").stat().st_size == expected.size
    assert newest_keys(lake, {}) == dict(sorted((key.repository, key) for key in keys))
    assert len({key.repository for key in keys}) == 5
    assert not list(crowded.rglob("*.tmp"))


@pytest.mark.parametrize("name", ["example.com/shop/store.New", "fmt.Println", "example.com/shop/store.Memory.Save"])
@pytest.mark.parametrize("is_compacted", [False, True])
def test_answers_after_concurrent_publishing_equal_brute_force(crowded: Path, name: str, is_compacted: bool) -> None:
    lake = open_lake(str(crowded))
    if is_compacted:
        compact(lake)
    with Fleet(lake) as fleet:
        found = sorted((row.member.name, *row[1:]) for row in fleet.uses([name]))
        assert fleet.unreadable == {}
    assert found == brute_force(crowded, name)
    assert found


def test_a_publication_without_a_head_is_not_read(store: Path, tmp_path: Path) -> None:
    publish_once(store, tmp_path)
    next((tmp_path / "heads").rglob("2*")).unlink()
    with Fleet(open_lake(str(tmp_path))) as fleet:
        assert (fleet.members, fleet.unreadable) == ((), {})


def test_a_table_that_was_cut_or_changed_is_reported(store: Path, tmp_path: Path) -> None:
    publish_once(store, tmp_path)
    (table,) = (tmp_path / "repos").rglob("std.parquet")
    data = bytearray(table.read_bytes())
    data[100] ^= 1
    table.write_bytes(data)
    with Fleet(open_lake(str(tmp_path))) as fleet:
        assert fleet.uses(["fmt.Println"]) == []
        assert "is damaged or not readable" in fleet.unreadable["example.org/own-0"]
    index, _ = compact(open_lake(str(tmp_path)))
    assert "is damaged: it is not what its publisher wrote" in index.made.unreadable["example.org/own-0"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../../outside", "lists files that are not of a store"),
        ("knowledge.db", "lists files that are not of a store"),
        ("settings.toml", "lists files that are not of a store"),
        ("id", "lists files that are not of a store"),
    ],
)
def test_a_pulled_store_has_only_files_of_known_names(store: Path, tmp_path: Path, name: str, message: str) -> None:
    key = publish_once(store, tmp_path)
    head = tmp_path / key.key
    head.write_text(head.read_text().replace('"cache.db"', f'"{name}"'))
    lake = open_lake(str(tmp_path))
    with pytest.raises(LakeError, match=message):
        install_store(lake, key, read_head(lake, key), tmp_path / "store", ())
    assert not (tmp_path / "store").exists()


def test_a_file_that_unpacks_to_more_than_its_size_is_refused(store: Path, tmp_path: Path) -> None:
    key = publish_once(store, tmp_path)
    lake = open_lake(str(tmp_path))
    size = (store / "graph-1.db").stat().st_size
    head = tmp_path / key.key
    head.write_text(head.read_text().replace(f'"size": {size}', f'"size": {size - 1}'))
    with pytest.raises(LakeError, match="has a store of another size"):
        install_store(lake, key, read_head(lake, key), tmp_path / "store", ())
    assert not list((tmp_path / "store").glob("graph-*"))


def test_a_link_in_place_of_a_key_does_not_lead_out_of_the_digest(store: Path, tmp_path: Path) -> None:
    key = publish_once(store, tmp_path)
    packed = tmp_path / key.folder / "store-cache.db.zst"
    packed.unlink()
    packed.symlink_to("/etc/passwd")
    lake = open_lake(str(tmp_path))
    with pytest.raises(LakeError, match="is damaged: it is not what its publisher wrote"):
        install_store(lake, key, read_head(lake, key), tmp_path / "store", ())


def publish_once(store: Path, lake: Path) -> HeadKey:
    from golore.graph.lake.publishing import Revision, publish

    revision = Revision("example.org/own-0", "a" * 40, "", ("example.com/shop",), {}, "1.1")
    return publish(open_lake(str(lake)), revision, store, ())[0]


class Refusing(BaseHTTPRequestHandler):
    """Answers every request as S3 does to a wrong key."""

    def do_GET(self) -> None:
        body = b"<Error><Code>SignatureDoesNotMatch</Code><Message>wrong</Message></Error>"
        self.send_response(403)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_PUT = do_GET  # noqa: N815  names that the server looks for

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serving() -> Generator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def s3(monkeypatch: pytest.MonkeyPatch, port: int) -> str:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-mine")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return f"s3://bucket/lake?scheme=http&region=eu-1&endpoint_override=127.0.0.1:{port}"


def test_wrong_credentials_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as port, pytest.raises(LakeError) as caught:
        head_keys(open_lake(s3(monkeypatch, port)))
    assert str(caught.value).startswith("The lake s3://bucket/lake refused access to heads. Check the credentials")
    assert "a-secret-of-mine" not in str(caught.value)


def test_a_server_that_cannot_be_reached_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LakeError) as caught:
        head_keys(open_lake(s3(monkeypatch, 9)))
    expected = "The lake s3://bucket/lake cannot be reached. Check the network and the address, then try again."
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ftp://host/lake", "A lake is a directory, file:, s3:// or gs://, but not ftp:"),
        ("s3://key:secret@bucket/lake", "must not contain credentials"),
        ("s3:///lake", "names no bucket"),
        ("s3://bucket/lake?anonymous=true", "Unknown option in the address of the lake: anonymous"),
    ],
)
def test_an_address_that_is_not_a_lake_is_refused(address: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        open_lake(address)


def test_a_directory_that_does_not_exist_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(GoloreError, match="create it first"):
        open_lake(str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()


def test_a_file_address_is_a_directory(tmp_path: Path) -> None:
    written = open_lake(tmp_path.as_uri()).write("heads/x", b"abc")
    assert written == KeyDigest(3, "cf4ab791c62b8d2b2109c90275287816")
    assert (tmp_path / "heads" / "x").read_bytes() == b"abc"


@pytest.mark.parametrize(
    ("name", "is_name"),
    [
        ("github.com/gohugoio/hugo", True),
        ("a", True),
        ("../a", False),
        ("a/../b", False),
        ("a//b", False),
        ("/a", False),
        ("a/", False),
        ("a b", False),
        ("a/.b", False),
        ("x" * 301, False),
    ],
)
def test_a_name_of_a_repository_stays_inside_the_lake(name: str, is_name: bool) -> None:
    assert is_repository_name(name) is is_name
    key = HeadKey(name, "20261117T223012123456Z", "a" * 40, "b" * 16)
    assert (head_key(key.key) == key) is is_name
