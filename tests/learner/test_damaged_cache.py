"""Whatever bytes are in `cache.db`, the next learn makes it again. `knowledge.db` is never made again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from golore.graph.errors import StoreError
from golore.graph.files.knowledge_db import KNOWLEDGE_NAME, Knowledge
from golore.graph.files.store_path import CACHE_NAME
from golore.learner.learn import learn
from golore.mcp_server.cli.main import main
from support.learned_tree import copy_repository
from support.shop import make_shop
from support.stores import exported, put_note

FEW = 25
MANY = 200


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    learn(root, root / ".golore", workers=0)
    return root


def mutated(content: bytes, seed: int) -> bytes:
    choose, data = random.Random(seed), bytearray(content)
    for _ in range(choose.choice((1, 4, 30))):
        data[choose.randrange(choose.choice((100, 4096, len(data))))] = choose.randrange(256)
    return bytes(data)


def check_mutations(learned: Path, tmp_path: Path, seeds: range) -> None:
    root = copy_repository(learned, tmp_path / "shop")
    cache, before = root / ".golore" / CACHE_NAME, exported(root / ".golore")
    good = cache.read_bytes()
    for seed in seeds:
        for path in cache.parent.glob(f"{CACHE_NAME}*"):
            path.unlink()
        cache.write_bytes(mutated(good, seed))
        learn(root, root / ".golore", workers=0)
        assert learn(root, root / ".golore", workers=0).files_parsed == 0, seed
    assert exported(root / ".golore") == before


def test_mutated_caches_are_made_again(learned: Path, tmp_path: Path) -> None:
    check_mutations(learned, tmp_path, range(FEW))


@pytest.mark.slow
def test_many_mutated_caches_are_made_again(learned: Path, tmp_path: Path) -> None:
    check_mutations(learned, tmp_path, range(FEW, MANY))


def test_a_schema_that_is_not_text_is_made_again(learned: Path, tmp_path: Path) -> None:
    """Its error message cannot be decoded, so that Python raises UnicodeDecodeError instead of SQLite's error."""
    root = copy_repository(learned, tmp_path / "shop")
    cache = root / ".golore" / CACHE_NAME
    content = cache.read_bytes()
    cache.write_bytes(content.replace(b"CREATE TABLE facts(", b"CREATE \xff\xfeBLE facts(", 1))
    assert cache.read_bytes() != content
    learn(root, root / ".golore", workers=0)
    assert main(["context", "store/store.go", "--repo", str(root)]) == 0


def test_questions_about_a_damaged_cache_say_what_to_do(
    learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = copy_repository(learned, tmp_path / "shop")
    (root / ".golore" / CACHE_NAME).write_bytes(b"nonsense" * 1000)
    assert main(["context", "store/store.go", "--repo", str(root)]) == 1
    assert "Run `golore learn` to make it again" in capsys.readouterr().err


def test_mutated_knowledge_is_kept_with_a_clear_error(tmp_path: Path) -> None:
    put_note(tmp_path, "n1")
    path = tmp_path / KNOWLEDGE_NAME
    good = path.read_bytes()
    failures: list[str] = []
    for seed in range(FEW):
        bad = mutated(good, seed)
        for other in tmp_path.glob(f"{KNOWLEDGE_NAME}*"):
            other.unlink()
        path.write_bytes(bad)
        try:
            with Knowledge.open(tmp_path) as knowledge:
                list(knowledge.rows("SELECT * FROM notes"))
        except StoreError as failure:
            failures.append(str(failure))
        assert path.stat().st_size == len(bad)
    assert failures
    assert all(str(path) in failure for failure in failures)
