"""The cache gives back what was put in, and is never worth more than the time it saves."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from golore.graph.errors import StoreBusy, StoreDamaged, StoreError
from golore.graph.files.cache_db import Cache, CachedFacts, CachedFile, CachedResolution, facts_key
from golore.graph.files.file_state import FileState


def facts(name: str, size: int = 10) -> CachedFacts:
    return CachedFacts(facts_key(name, "1"), b"h", b"o" * size, b"s" * size, name.encode() * size)


def test_facts_come_back_part_by_part(tmp_path: Path) -> None:
    with Cache.open(tmp_path / "cache.db") as cache:
        cache.put_many([facts("a"), facts("b")])
        assert cache.has(["a:1", "b:1", "c:1"]) == {"a:1", "b:1"}
        assert dict(cache.get_outlines(["a:1", "c:1"])) == {"a:1": b"o" * 10}
        assert dict(cache.get_heads(["a:1"])) == {"a:1": b"h"}
        assert set(cache.keys()) == {"a:1", "b:1"}
        assert cache.get_shape("a:1") == b"s" * 10
        assert list(cache.get_bodies(["b:1"])) == [("b:1", b"b" * 10)]
        assert not list(cache.get_bodies(["c:1"]))


def test_facts_outlive_the_process_that_put_them(tmp_path: Path) -> None:
    with Cache.open(tmp_path / "cache.db") as cache:
        cache.put_many([facts("a")])
    with Cache.open(tmp_path / "cache.db") as cache:
        assert list(cache.get_bodies(["a:1"])) == [("a:1", b"a" * 10)]
        assert cache.message is None


def test_more_keys_than_one_statement_takes(tmp_path: Path) -> None:
    with Cache.open(tmp_path / "cache.db") as cache:
        cache.put_many(facts(str(number)) for number in range(3_000))
        keys = [f"{number}:1" for number in range(6_000)]
        assert cache.has(keys) == set(keys[:3_000])
        assert len(dict(cache.get_bodies(keys))) == 3_000


def test_prune_keeps_only_what_is_named(tmp_path: Path) -> None:
    with Cache.open(tmp_path / "cache.db") as cache:
        cache.put_many([facts("a"), facts("b"), facts("c")])
        assert cache.prune({"b:1"}) == 2
        assert cache.has(["a:1", "b:1", "c:1"]) == {"b:1"}
        assert cache.prune({"b:1"}) == 0


def test_files_are_set_and_removed(tmp_path: Path) -> None:
    one = CachedFile("a.go", "d", FileState(3, 123456789012345678, 5, 6), "d:1")
    two = CachedFile("b.go", "e", FileState(4, 5, 6, 7), "e:1")
    with Cache.open(tmp_path / "cache.db") as cache:
        cache.set_files([one, two])
        assert cache.files() == {"a.go": one, "b.go": two}
        cache.set_files([two._replace(digest="f")], removed=["a.go"])
        assert cache.files() == {"b.go": two._replace(digest="f")}


def test_resolutions_are_set_and_removed(tmp_path: Path) -> None:
    one, two = CachedResolution("a.go", "k1", b"x"), CachedResolution("b.go", "k2", b"y")
    with Cache.open(tmp_path / "cache.db") as cache:
        cache.set_resolutions([one, two])
        assert cache.resolution_keys() == {"a.go": "k1", "b.go": "k2"}
        assert list(cache.get_resolutions(["b.go", "c.go"])) == [two]
        cache.set_resolutions([], removed=["b.go"])
        assert cache.counts() == {"facts": 0, "files": 0, "resolved": 1}


def test_put_that_fails_half_way_puts_nothing(tmp_path: Path) -> None:
    def rows() -> list[CachedFacts]:
        return [facts("a"), CachedFacts("b:1", b"", b"", b"", None)]  # pyright: ignore[reportArgumentType]  bad on purpose

    with Cache.open(tmp_path / "cache.db") as cache:
        with pytest.raises(StoreError):
            cache.put_many(rows())
        assert cache.has(["a:1"]) == set()


@pytest.mark.parametrize("content", [b"not a database at all" * 500, b"", b"SQLite format 3\0" + b"\xff" * 5_000])
def test_damaged_file_is_made_anew(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cache.db"
    path.write_bytes(content)
    with Cache.open(path) as cache:
        assert (cache.message is None) == (not content)
        cache.put_many([facts("a")])
    with Cache.open(path) as cache:
        assert cache.message is None
        assert cache.has(["a:1"]) == {"a:1"}


def test_file_of_another_program_or_version_is_made_anew(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE facts(something)")
    connection.close()
    with Cache.open(path) as cache:
        assert cache.message is not None
        assert "Nothing but time is lost" in cache.message
        cache.put_many([facts("a")])


def test_damage_found_in_use_is_reported_and_gone_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with Cache.open(path) as cache:
        cache.put_many(facts(str(number), 2_000) for number in range(100))
    content = path.read_bytes()
    page = int.from_bytes(content[16:18])  # the first page, with the header, stays as it is
    path.write_bytes(content[:page] + b"\xee" * (len(content) - page))
    with Cache.open(path) as cache, pytest.raises(StoreDamaged, match="Run the command again"):
        cache.has(["1:1"])
    with Cache.open(path) as cache:
        assert cache.counts()["facts"] == 0


def test_cache_in_a_place_that_cannot_be_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be used"):
        Cache.open(tmp_path / "none" / "cache.db")


def test_reader_sees_the_state_before_an_open_write(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with Cache.open(path) as writer, Cache.open(path) as reader:
        writer.put_many([facts("a")])
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM facts")
        assert reader.has(["a:1"]) == {"a:1"}
        other.execute("ROLLBACK")
        other.close()


def test_second_writer_waits_then_says_so(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    with Cache.open(path, wait=0.05) as cache:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="another process"):
            cache.put_many([facts("a")])
        other.execute("ROLLBACK")
        other.close()


def test_kill_while_putting_leaves_a_usable_cache(tmp_path: Path) -> None:
    path = tmp_path / "cache.db"
    code = (
        "import sys; from pathlib import Path; from golore.graph.files.cache_db import Cache, CachedFacts\n"
        "cache = Cache.open(Path(sys.argv[1]))\n"
        "for turn in range(100000):\n"
        "    cache.put_many(CachedFacts(f'{turn}.{i}', b'h', b'o' * 500, b's', b'b') for i in range(50))\n"
        "    print(turn, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        last = [int(process.stdout.readline()) for _ in range(20)][-1]
        process.kill()
    with Cache.open(path) as cache:
        assert cache.message is None
        assert cache.counts()["facts"] % 50 == 0
        assert cache.has([f"{last}.{number}" for number in range(50)]) == {f"{last}.{number}" for number in range(50)}
