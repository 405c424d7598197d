"""Cards that are built in shares, each of which any process can build, equal those that are built at once."""

from __future__ import annotations

import pickle
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from golore.graph.cards.card_builder import build_share
from golore.graph.database.arrow_spool import Spools
from golore.graph.database.store import Store
from golore.graph.model.edge_kinds import EDGE_KINDS
from golore.graph.model.tables import NODE_COLUMNS
from golore.learner.checkout.git_log import head_commit, read_history
from golore.learner.derived.card_step import share_loaded_cards, store_loaded_cards, withdraw_cards
from golore.learner.learn import learn
from support.git_repository import commit, git
from support.shop import FILES, make_shop

MORE = {
    "keep/keep.go": """package keep

type Keeper interface{ Keep(name string) (Item, error) }

type Item struct{ N int }
""",
    "keep/disk/disk.go": """package disk

import "example.com/shop/keep"

type Disk struct{}

func (Disk) Keep(name string) (keep.Item, error) { return keep.Item{}, nil }
func (Disk) String() string { return "" }
""",
    "keep/use/use.go": """package use

import (
	"example.com/shop/keep"
	"example.com/shop/keep/disk"
)

func All(k keep.Keeper) { k.Keep("a") }
func Start() { All(disk.Disk{}); unknown.Keep() }
""",
    "keep/use/use_test.go": """package use

import (
	"testing"

	"example.com/shop/keep/disk"
)

func help() { All(disk.Disk{}) }
func TestAll(t *testing.T) { help() }
""",
    "keep/testdata/in.go": "package in\n",
    "docs/keep.md": "# Keeping\n\nSee `keep.Keeper` in keep/keep.go.\n",
}
TABLES = ("deck_cards", "deck_symbols", "deck_files", "deck_notes")


def card_rows(store: Path) -> dict[str, list[str]]:
    with closing(sqlite3.connect(store / "cache.db")) as connection:
        found = {name: map(repr, connection.execute(f"SELECT * FROM {name}")) for name in TABLES}
        return {name: sorted(row for row in rows if "'edition'" not in row) for name, rows in found.items()}


def spool_graph(store_directory: Path, rows: Path) -> None:
    """Write the rows of a stored graph as the workers of a learn do: two of them."""
    with Store.open(store_directory, write=False) as store:
        spools = [Spools(rows, name) for name in ("a", "b")]
        for label in NODE_COLUMNS:
            for number, node in enumerate(store.nodes(label)):
                spools[number % 2].nodes(label, [node])
        for kind in EDGE_KINDS:
            for number, edge in enumerate(store.edges(kind)):
                spools[number % 3 // 2].edges(kind, [edge])
        for spool in spools:
            spool.close()


@pytest.mark.parametrize("number", [1, 2, 5, 100])
def test_cards_built_in_shares_equal_those_built_at_once(tmp_path: Path, number: int) -> None:
    tree, store, rows = make_shop(tmp_path / "tree"), tmp_path / "store", tmp_path / "rows"
    git(tree, "init", "--quiet")
    commit(tree, {**FILES, **MORE})
    commit(tree, {"keep/keep.go": f"{MORE['keep/keep.go']}// more\n", "main.go": f"{FILES['main.go']}// more\n"})
    learn(tree, store)
    expected = card_rows(store)
    rows.mkdir()
    spool_graph(store, rows)
    head = head_commit(tree)
    withdraw_cards(store)
    shares = share_loaded_cards(tree, store, rows, read_history(tree, head), number)
    assert len(shares) == min(number, 5)  # directories
    built = [pickle.loads(pickle.dumps(build_share(pickle.loads(pickle.dumps(share))))) for share in shares]
    assert card_rows(store) == expected  # only the last step writes
    with closing(sqlite3.connect(store / "cache.db")) as connection, connection:
        for table in ("deck_cards", "deck_symbols", "deck_files"):
            connection.execute(f"DELETE FROM {table}")
    store_loaded_cards(store, shares, built, head)
    assert card_rows(store) == expected
    assert any("May be called through interfaces" in row for row in expected["deck_cards"])


def test_a_graph_without_files_has_a_share(tmp_path: Path) -> None:
    for name in ("rows", "store"):
        (tmp_path / name).mkdir()
    shares = share_loaded_cards(tmp_path, tmp_path / "store", tmp_path / "rows", None, 4)
    store_loaded_cards(tmp_path / "store", shares, [build_share(share) for share in shares], "")
    assert len(card_rows(tmp_path / "store")["deck_cards"]) == 1
