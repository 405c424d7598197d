"""Vectors as properties of nodes: kept up to date, equal to fresh ones, of one model, and left out where asked."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from golore.graph.database.cosines import with_least_similarity
from golore.graph.database.engine import engine_name
from golore.graph.database.store import Store
from golore.graph.database.vector_changes import VECTOR_LABELS, read_pending, read_state
from golore.graph.errors import ModelUnavailable, UsageError
from golore.graph.search.vectors import VectorFile
from golore.graph.transfer.snapshots import restore_snapshot, take_snapshot
from golore.learner.learn import learn
from golore.mcp_server.cli.main import main
from golore.mcp_server.services.graph_query import query_graph
from golore.mcp_server.services.knowledge import embedders
from golore.mcp_server.services.knowledge.embedders import Selection, write_selection
from golore.mcp_server.services.knowledge.graph_vectors import (
    drop_foreign_vectors,
    near_vector,
    remove_graph_vectors,
    update_graph_vectors,
)
from golore.mcp_server.services.knowledge.vectors import embed, update_vectors
from golore.mcp_server.services.query_process import QueryProcess
from golore.mcp_server.services.repository import LearnedRepository
from support.shop import make_shop


class Letters:
    """An embedder whose vectors are counts of letters."""

    def __init__(self, name: str = "letters", dimensions: int = 26) -> None:
        self.name = name
        self.dimensions = dimensions
        self.given = 0

    def passages(self, texts: Sequence[str]) -> list[list[float]]:
        self.given += len(texts)
        return [self.question(text) for text in texts]

    def question(self, text: str) -> list[float]:
        return [float(text.lower().count(chr(ord("a") + at % 26))) for at in range(self.dimensions)]


@pytest.fixture
def letters(monkeypatch: pytest.MonkeyPatch) -> Letters:
    model = Letters()
    monkeypatch.setattr(embedders, "open_models", {"letters": model})
    return model


@pytest.fixture
def shop(tmp_path: Path, letters: Letters) -> LearnedRepository:
    root = make_shop(tmp_path)
    (root / "README.md").write_text("# Shop\n\nKeeps things in memory.\n\n## Storing\n\nPut stores a key.\n", "utf-8")
    learn(root, root / ".golore")
    repository = LearnedRepository(root, root / ".golore")
    embedded(repository, letters)
    return repository


def embedded(repository: LearnedRepository, model: Letters, limit: int | None = None) -> None:
    """What `golore embed` does."""
    embed(repository, model, limit=limit)
    write_selection(repository.store, Selection("letters"))
    update_graph_vectors(repository.store, VectorFile(repository.store, model.name, model.dimensions), check_all=True)


def learned(repository: LearnedRepository) -> None:
    """What `golore learn` does."""
    learn(repository.root, repository.store)
    update_vectors(repository)


def stored(directory: Path) -> dict[str, dict[str, tuple[str, tuple[float, ...] | None]]]:
    found: dict[str, dict[str, tuple[str, tuple[float, ...] | None]]] = {}
    with Store.open(directory, write=False) as store:
        for label in VECTOR_LABELS:
            rows = store.rows(f"MATCH (n:{label}) RETURN n.id, n.vector_key, n.vector")
            found[label] = {id: (key, None if vector is None else tuple(vector)) for id, key, vector in rows}
    return found


def fresh(repository: LearnedRepository) -> dict[str, dict[str, tuple[str, tuple[float, ...] | None]]]:
    root = repository.root.with_name(f"{repository.root.name}-fresh")
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(repository.root, root, ignore=shutil.ignore_patterns(".golore"))
    learn(root, root / ".golore")
    other = LearnedRepository(root, root / ".golore")
    embedded(other, Letters())
    return stored(other.store)


def edit(repository: LearnedRepository, path: str, before: str, after: str) -> None:
    file = repository.root / path
    text = file.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after), "utf-8")


def test_nodes_that_have_texts_have_vectors_of_length_one(shop: LearnedRepository) -> None:
    found = stored(shop.store)
    for label in ("Package", "File", "Symbol", "Doc"):
        assert any(key for key, _ in found[label].values()), label
    for rows in found.values():
        for key, vector in rows.values():
            assert bool(key) == (vector is not None)
            if vector is not None and any(vector):
                assert sum(number * number for number in vector) == pytest.approx(1, abs=1e-4)
    assert found["Symbol"]["example.com/shop/store.Memory.items"] == ("", None)


def test_one_statement_joins_nearness_and_structure(shop: LearnedRepository) -> None:
    near = "array_cosine_similarity(s.vector, $near) AS near ORDER BY near DESC"
    with QueryProcess() as queries:
        called = f"MATCH (s:Symbol)<-[:CALLS]-(t:Symbol) RETURN DISTINCT s.name, {near} LIMIT 3"
        rows = query_graph(queries, shop.store, called, near="store memory save", seconds=30)
        everything = query_graph(queries, shop.store, f"MATCH (s:Symbol) RETURN {near}", near="save", seconds=30)
    nearness = [row["near"] for row in rows]
    assert nearness == sorted(nearness, reverse=True)
    assert nearness[0] > 0.5
    assert everything[0]["near"] > 0
    assert everything[-1]["near"] == -1, "a symbol without a vector comes last"


def test_vectors_follow_edits_and_equal_fresh_ones(shop: LearnedRepository) -> None:
    edit(shop, "store/store.go", "counts a key", "adds up keys")
    learned(shop)
    assert stored(shop.store) == fresh(shop)
    (shop.root / "store/more.go").write_text("package store\n\n// Rotate turns.\nfunc Rotate() {}\n", "utf-8")
    (shop.root / "store/sync_linux.go").unlink()
    learned(shop)
    assert stored(shop.store) == fresh(shop)
    # The declarations of a file change their order, or it becomes a test.
    (shop.root / "store/more.go").write_text(
        "package store\n\nfunc Turn() {}\n\n// Rotate turns.\nfunc Rotate() {}\n", "utf-8"
    )
    learned(shop)
    (shop.root / "store/more.go").write_text(
        "package store\n\n// Rotate turns.\nfunc Rotate() {}\n\nfunc Turn() {}\n", "utf-8"
    )
    (shop.root / "README.md").write_text("# Shop\n\nKeeps everything.\n\n## Taking\n\nGet.\n", "utf-8")
    learned(shop)
    assert stored(shop.store) == fresh(shop)
    (shop.root / "store/more.go").rename(shop.root / "store/more_test.go")
    learned(shop)
    assert stored(shop.store) == fresh(shop)


def test_nodes_that_were_away_while_no_vectors_were_written_get_theirs_again(shop: LearnedRepository) -> None:
    before = stored(shop.store)
    source = shop.root / "store/sync_linux.go"
    text = source.read_bytes()
    source.unlink()
    learn(shop.root, shop.store)
    source.write_bytes(text)
    learned(shop)
    assert stored(shop.store) == before


def test_a_body_edit_opens_neither_the_graph_nor_the_model(
    shop: LearnedRepository, letters: Letters, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = letters.given
    edit(shop, "store/store.go", "{\n", "{\n\n\n")
    learn(shop.root, shop.store)
    assert read_pending(shop.store)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("The graph was opened.")

    monkeypatch.setattr(Store, "_open_session", refuse)
    update_vectors(shop)
    assert letters.given == given


def test_a_graph_that_was_loaded_again_gets_its_vectors_again(shop: LearnedRepository, letters: Letters) -> None:
    before = stored(shop.store)
    given = letters.given
    learn(shop.root, shop.store, full=True)
    with pytest.raises(UsageError, match=r"not in its graph\. Run `golore embed`"):
        near_vector(shop.store, "words")
    update_vectors(shop)
    assert stored(shop.store) == before
    assert letters.given == given


def test_a_graph_that_was_loaded_again_without_the_model_gets_its_vectors_again(shop: LearnedRepository) -> None:
    before = stored(shop.store)
    del embedders.open_models["letters"]
    learn(shop.root, shop.store, full=True)
    update_vectors(shop)
    assert stored(shop.store) == before


def test_without_the_model_a_changed_text_loses_its_vector_and_gets_it_later(
    shop: LearnedRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = embedders.open_models.pop("letters")
    edit(shop, "store/store.go", "counts a key", "adds up keys")
    learned(shop)
    with Store.open(shop.store, write=False) as store:
        changed = [row[0] for row in store.rows("MATCH (s:Symbol) WHERE s.doc CONTAINS 'adds up keys' RETURN s.vector")]
    assert changed == [None]
    monkeypatch.setitem(embedders.open_models, "letters", model)
    learned(shop)
    assert stored(shop.store) == fresh(shop)


def test_a_run_with_a_limit_adds_what_there_is_and_the_next_one_the_rest(tmp_path: Path, letters: Letters) -> None:
    root = make_shop(tmp_path)
    learn(root, root / ".golore")
    repository = LearnedRepository(root, root / ".golore")
    embedded(repository, letters, limit=5)
    state = read_state(repository.store)
    assert state is not None
    assert not state.complete
    learned(repository)
    assert stored(repository.store) == fresh(repository)


def test_another_model_of_other_dimensions_replaces_all_vectors(shop: LearnedRepository) -> None:
    other = Letters("more letters", 30)
    embedders.open_models["letters"] = other
    with pytest.raises(ModelUnavailable, match=r"made by letters, and the model is more letters now"):
        near_vector(shop.store, "words")
    embedded(shop, other)
    lengths = {len(vector) for rows in stored(shop.store).values() for _, vector in rows.values() if vector}
    assert lengths == {30}
    other.dimensions = 7
    with pytest.raises(ModelUnavailable, match="have 30 numbers, and more letters returned 7"):
        near_vector(shop.store, "words")


def test_vectors_can_be_left_out_of_the_graph(shop: LearnedRepository) -> None:
    write_selection(shop.store, Selection("letters", in_graph=False))
    remove_graph_vectors(shop.store)
    edit(shop, "store/store.go", "counts a key", "adds up keys")
    learned(shop)
    with (
        QueryProcess() as queries,
        pytest.raises(UsageError, match=r"Cannot find property vector for s\. Run `golore embed`"),
    ):
        queries.query(shop.store, "MATCH (s:Symbol) RETURN s.vector", seconds=30)


def test_a_restored_snapshot_has_the_vectors_of_its_nodes(shop: LearnedRepository) -> None:
    before = stored(shop.store)
    take_snapshot(shop.store, "one")
    edit(shop, "store/store.go", "counts a key", "adds up keys")
    learned(shop)
    restore_snapshot(shop.store, "one")
    assert stored(shop.store) == before
    edit(shop, "store/store.go", "adds up keys", "counts a key")
    learned(shop)
    assert stored(shop.store) == before
    assert read_state(shop.store) is not None


def test_vectors_that_came_from_elsewhere_are_removed(shop: LearnedRepository) -> None:
    drop_foreign_vectors(shop.store)
    assert any(key for key, _ in stored(shop.store)["Symbol"].values()), "this store keeps its vectors up to date"
    (shop.store / "vectors.model").unlink()
    drop_foreign_vectors(shop.store)
    with Store.open(shop.store, write=False) as store, pytest.raises(UsageError, match="Cannot find property vector"):
        store.query("MATCH (s:Symbol) RETURN s.vector")


def test_an_export_leaves_vectors_out(shop: LearnedRepository, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--format", "jsonl", "--repo", str(shop.root)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert not any("vector" in json.loads(line) or "projected vectors" in line for line in lines)


def test_whole_nodes_come_without_their_vectors(shop: LearnedRepository) -> None:
    with QueryProcess() as queries:
        (row,) = queries.query(shop.store, "MATCH (f:File {id: 'store/store.go'}) RETURN f, f.vector AS v", seconds=30)
    assert "vector" not in row["f"]
    assert "vector_key" not in row["f"]
    assert len(row["v"]) == 26


def test_a_text_and_a_query_belong_together(shop: LearnedRepository) -> None:
    with QueryProcess() as queries:
        with pytest.raises(UsageError, match=r"does not use \$near"):
            query_graph(queries, shop.store, "MATCH (s:Symbol) RETURN s.name", near="words", seconds=5)
        with pytest.raises(UsageError, match=r"uses \$near\. Give the text"):
            query_graph(queries, shop.store, "RETURN $near", seconds=5)
    (shop.store / "vectors.model").unlink()
    with pytest.raises(UsageError, match="has no vectors"):
        near_vector(shop.store, "words")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("RETURN 1", "RETURN 1"),
        ("RETURN 'array_cosine_similarity(a, b)'", "RETURN 'array_cosine_similarity(a, b)'"),
        (
            "RETURN array_cosine_similarity(f((a)), $near) AS x",
            "RETURN coalesce(array_cosine_similarity(f((a)), $near), -1.0) AS x",
        ),
        ("RETURN ARRAY_COSINE_SIMILARITY (a, ')') + 1", "RETURN coalesce(ARRAY_COSINE_SIMILARITY (a, ')'), -1.0) + 1"),
        ("RETURN array_cosine_similarity(a", "RETURN array_cosine_similarity(a"),
    ],
)
def test_a_missing_similarity_counts_as_the_least(written: str, meant: str) -> None:
    assert with_least_similarity(written) == meant


@pytest.mark.skipif(importlib.util.find_spec("kuzu") is None, reason="kuzu is an extra and is not installed")
@pytest.mark.skipif(engine_name() == "kuzu", reason="this is that run")
def test_kuzu_has_vectors_too() -> None:
    chosen = "length_one or one_statement or away_while or another_model or left_out_of"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n0", "-q", "-x", "-p", "no:cacheprovider", __file__, "-k", chosen],
        env={**os.environ, "GOLORE_ENGINE": "kuzu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout
