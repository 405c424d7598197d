"""What is made beside a load, from spooled rows, equals what is made from the stored graph."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from golore.graph.cards.card_store import create_card_store
from golore.graph.database.bulk_load import BulkLoad, MoreRows
from golore.graph.database.graph_tables import GraphTables, SpooledGraph
from golore.graph.database.store import Store
from golore.graph.errors import StoreError
from golore.graph.model.edge_kinds import EDGE_KINDS, EdgeKind
from golore.graph.model.tables import EDGE_COLUMNS, NODE_COLUMNS
from golore.graph.queries import store_counts
from golore.learner.derived import load_companion
from golore.learner.derived.card_step import collect_loaded_facts, load_cards, update_cards, withdraw_cards
from golore.learner.derived.load_companion import LoadCompanion
from golore.learner.learn import learn
from golore.learner.pipeline.graph_step import learn_graph
from golore.learner.worker_pool import WorkerPool
from support.git_repository import commit, git
from support.shop import FILES, make_shop

LEARNED = ("Repository", "Package", "File", "Symbol", "External", "Unresolved")


class Reader(LoadCompanion):
    """A companion that also keeps the tables of the rows."""

    def more_rows(self) -> MoreRows:
        assert self._rows is not None
        self.tables = tables_of(SpooledGraph(self._rows))
        return super().more_rows()

    def resolved(self, rows: Path, state: str, parts: Any) -> None:
        self._rows = rows
        super().resolved(rows, state, parts)


def tables_of(graph: GraphTables) -> dict[str | EdgeKind, list[tuple[Any, ...]]]:
    """The rows of all learned tables, with ids instead of numbers."""
    found: dict[str | EdgeKind, list[tuple[Any, ...]]] = {}
    ids: dict[str, dict[int, str]] = {}
    for label in LEARNED:
        numbers, *columns = graph.node_columns(label, [column.name for column in NODE_COLUMNS[label]])
        ids[label] = dict(zip(numbers, columns[0], strict=True))
        found[label] = sorted(zip(*columns, strict=True), key=repr)
    for kind in EDGE_KINDS:
        if kind.source in ids and kind.target in ids and kind.label != "CHANGES_WITH":
            names = [column.name for column in EDGE_COLUMNS[kind.label]]
            rows = zip(*graph.edge_columns(kind, names), strict=True)
            found[kind] = sorted((ids[kind.source][a], ids[kind.target][b], *rest) for a, b, *rest in rows)
    return found


def cards(store: Path) -> dict[str, list[str]]:
    """The tables of the cards, without the note on which graph they are of."""
    with closing(sqlite3.connect(store / "cache.db")) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'deck%'")]
        rows = {
            name: map(repr, connection.execute(f"SELECT * FROM {name}")) for name in sorted(names) if name[-1] == "s"
        }
        return {name: sorted(row for row in found if "'edition'" not in row) for name, found in rows.items()}


def test_the_counts_of_the_rows_are_those_of_the_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree, directory = make_shop(tmp_path / "tree"), tmp_path / "store"
    (tree / "broken.go").write_text("package main\n\nfunc broken() { x := ] }\n")
    (tree / "README.md").write_text("# Shop\n\nIt begins in `main.go`.\n")
    git(tree, "init", "-q")
    commit(tree, {"a.go": "package shop\n", "b.go": "package shop\n"})
    learn(tree, directory)
    with Store.open(directory, write=False) as store:
        counted = store_counts.count_all(store)
        monkeypatch.setattr(store_counts, "count_all", Mock(side_effect=AssertionError))
        assert store_counts.count_store(store) == counted
    assert 0 not in (counted.unresolved_sites, counted.files_with_problems, counted.edges["DESCRIBES"])


@pytest.mark.parametrize("workers", [0, 2])
def test_spooled_rows_are_those_of_the_loaded_graph(tmp_path: Path, workers: int) -> None:
    tree, directory = make_shop(tmp_path / "tree"), tmp_path / "store"
    with Reader(tree, directory) as companion:
        learn_graph(tree, store_directory=directory, workers=workers, companion=companion)
        with Store.open(directory, write=False) as store:
            stored = tables_of(store)
        assert companion.tables == stored
    assert len(stored["Symbol"]) > 10
    assert stored[EdgeKind("CALLS", "Symbol", "Symbol")]


@pytest.mark.parametrize("workers", [0, 1, 3])  # in this process, in another one, in two
def test_cards_made_beside_a_load_equal_those_of_the_stored_graph(tmp_path: Path, workers: int) -> None:
    tree, store = make_shop(tmp_path / "tree"), tmp_path / "store"
    git(tree, "init", "--quiet")
    commit(tree, dict(FILES))
    learn(tree, store, workers=workers)
    beside = cards(store)
    assert update_cards(tree, store, whole=True).is_full
    assert cards(store) == beside
    assert any("Used from" in row for row in beside["deck_cards"])


def test_cards_of_a_graph_that_is_loaded_again_are_made_in_another_process_if_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree, store = make_shop(tmp_path / "tree"), tmp_path / "store"
    learn(tree, store)
    expected = cards(store)
    monkeypatch.setattr(load_companion, "_MANY", 1)
    pools: list[int] = []

    def counted(size: int) -> WorkerPool:
        pools.append(size)
        return WorkerPool(size)

    monkeypatch.setattr(load_companion, "WorkerPool", counted)
    (store / "graph-1.db").unlink()
    learn(tree, store)
    assert pools[-1] == 1
    assert cards(store) == expected


@pytest.mark.parametrize(
    ("step", "workers"), [("collect_facts_of", 1), ("build_cards_of", 1), ("share_cards_of", 3), ("build_share", 3)]
)
def test_if_the_process_that_makes_the_cards_dies_they_are_made_from_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, workers: int
) -> None:
    tree, store = make_shop(tmp_path / "tree"), tmp_path / "store"
    learn(tree, store)
    expected = cards(store)
    monkeypatch.setattr(load_companion, step, die)
    learn(tree, tmp_path / "second", workers=workers)
    assert cards(tmp_path / "second") == expected


def die(_: object) -> None:
    os._exit(1)


def wait(_: object) -> None:
    time.sleep(600)


def test_a_learn_that_fails_does_not_wait_for_the_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_companion, "build_cards_of", wait)
    monkeypatch.setattr(BulkLoad, "build", Mock(side_effect=OSError(errno.ENOSPC, "no space")))
    with pytest.raises(StoreError, match="no space"):
        learn(make_shop(tmp_path / "tree"), tmp_path / "store", workers=1)


def test_cards_of_a_graph_that_never_became_current_are_made_again(tmp_path: Path) -> None:
    tree, directory = make_shop(tmp_path / "tree"), tmp_path / "store"
    learn(tree, directory)
    complete = cards(directory)
    (tmp_path / "rows").mkdir()
    # As a learn that is killed before its graph is current.
    withdraw_cards(directory)
    load_cards(directory, collect_loaded_facts(tree, SpooledGraph(tmp_path / "rows"), None), "")
    assert cards(directory) != complete
    learn(tree, directory)
    assert cards(directory) == complete
    with closing(create_card_store(directory)) as card_store:
        assert card_store.meta("edition")


def test_a_learn_without_workers_does_not_import_numpy_with_pyarrow(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    code = (
        "import sys; from pathlib import Path; from golore.learner.learn import learn; "
        "learn(Path(sys.argv[1]), Path(sys.argv[2]), workers=0); "
        "print([name in sys.modules for name in ('pyarrow', 'numpy')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(root), str(tmp_path / "store")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[True, False]"
