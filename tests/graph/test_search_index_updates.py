"""After any number of edits, search answers as it would in a store made from the same tree at once."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from golore.graph.database.bulk_load import MoreRows
from golore.graph.database.graph_tables import SpooledGraph
from golore.graph.database.store import Store
from golore.graph.search.index import open_index
from golore.graph.search.index_entries import ShortText
from golore.graph.search.results.hits import Hit, SearchRequest
from golore.graph.search.search import search
from golore.learner.derived.search_step import load_parts, update_search_index
from golore.learner.learn import learn
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import sources_of
from support.shop import make_shop

WORDS = "token cache store lock parse queue retry index header window merge signal bucket lease quota".split()
QUESTIONS = (
    *(
        "token cache",
        "retry the queue",
        "merge: window of leases",
        "ParseToken",
        "lockquota",
        "Save",
        "header",
        "Memroy",
    ),
    *("store.Put", "parse index bucket", "where is the signal retried", "RetryQueue", "example.com/shop/store"),
)


def source(chance: random.Random, package: str) -> str:
    """A file with a few functions of made-up names, comments and words."""
    lines = [f"// Package {package} is about {chance.choice(WORDS)}.", f"package {package}", ""]
    for _ in range(chance.randrange(1, 5)):
        verb, noun = chance.sample(WORDS, 2)
        name = f"{verb.title()}{noun.title()}{chance.randrange(1000)}"
        does, what, said = (chance.choice(WORDS) for _ in range(3))
        lines += [f"// {name} will {does} every {what}.", f'func {name}() string {{ return "{said} {what}" }}', ""]
    return "\n".join(lines)


def changed_once(root: Path, chance: random.Random) -> set[str]:
    """Add, edit, rename or delete a file; returns the paths that this concerns."""
    made = sorted(path for path in root.rglob("made_*.go"))
    deed = chance.choice(("add", "edit", "edit", "rename", "delete", "delete")) if len(made) > 1 else "add"
    package = chance.choice(("alpha", "beta", "gamma", "delta"))
    new = root / package / f"made_{chance.randrange(10_000)}{chance.choice(('', '_test'))}.go"
    new.parent.mkdir(exist_ok=True)
    if deed == "add":
        new.write_text(source(chance, package), encoding="utf-8")
        return {new.relative_to(root).as_posix()}
    old = chance.choice(made)
    if deed == "edit":
        old.write_text(source(chance, old.parent.name), encoding="utf-8")
    elif deed == "delete":
        old.unlink()
    else:
        target = old.with_name(new.name)
        old.rename(target)
        return {old.relative_to(root).as_posix(), target.relative_to(root).as_posix()}
    return {old.relative_to(root).as_posix()}


def answers(root: Path, store: Path) -> list[tuple[Hit, ...]]:
    with Store.open(store, write=False) as graph, sources_of(LearnedRepository(root, store), graph) as sources:
        wishes = [SearchRequest(text, explain=True) for text in QUESTIONS]
        wishes += [SearchRequest(text, kind="symbol", limit=50) for text in QUESTIONS[:4]]
        return [search(sources, request).hits for request in wishes]


def texts(store: Path) -> set[ShortText]:
    index = open_index(store)
    assert index is not None
    with index:
        return {text for _, text, _ in index.texts()}


def follow(root: Path, updates: int, seed: int) -> None:
    chance = random.Random(seed)
    kept, fresh = root / "kept", root / "fresh"
    tree = make_shop(root / "tree")
    learn_graph(tree, store_directory=kept)
    update_search_index(tree, kept)
    for number in range(1, updates + 1):
        changed = changed_once(tree, chance)
        learn_graph(tree, store_directory=kept)
        # What has changed is known in a watch and not known elsewhere.
        update_search_index(tree, kept, changed=changed if chance.random() < 0.7 else None)
        if number in {updates, updates // 2}:
            shutil.rmtree(fresh, ignore_errors=True)
            learn_graph(tree, store_directory=fresh)
            update_search_index(tree, fresh)
            assert answers(tree, kept) == answers(tree, fresh), number
            assert texts(kept) == texts(fresh), number
            assert any(answers(tree, kept))


def test_after_some_updates_search_answers_as_in_a_fresh_store(tmp_path: Path) -> None:
    follow(tmp_path, 12, seed=1)


def rows(store: Path) -> dict[str, list[tuple[object, ...]]]:
    """The tables of the index, without what depends on the moment."""
    with closing(sqlite3.connect(store / "cache.db")) as connection:
        names = ("files", "contents", "terms", "names", "texts", "meanings")
        return {name: sorted(connection.execute(f"SELECT * FROM search_{name}")) for name in names}


@pytest.mark.parametrize("workers", [0, 2])
def test_the_index_that_workers_count_equals_one_made_from_the_stored_graph(tmp_path: Path, workers: int) -> None:
    tree, store, chance = make_shop(tmp_path / "tree"), tmp_path / "store", random.Random(3)
    (tree / "odd_test.go").write_bytes(b"package shop // na\xefve \xc3\xa9t\xc3\xa9_HTTPServer \xe2\x80\x94dash\xff\n")
    for _ in range(9):
        changed_once(tree, chance)
    learn(tree, store, full=True, workers=workers)
    counted = rows(store)
    assert update_search_index(tree, store, whole=True).whole
    assert rows(store) == counted
    assert {"été", "httpserver", "dash"} <= {str(row[0]) for row in counted["terms"]}


def test_an_index_that_was_not_completed_is_made_again(tmp_path: Path) -> None:
    tree, store = make_shop(tmp_path / "tree"), tmp_path / "store"
    learn(tree, store, full=True)
    complete = rows(store)
    (tmp_path / "rows").mkdir()
    # As a learn that is killed while the graph is stored.
    load_parts(tree, store, [], SpooledGraph(tmp_path / "rows"), MoreRows())
    assert not rows(store)["files"]
    learn(tree, store)
    assert rows(store) == complete


@pytest.mark.slow
def test_after_500_updates_search_answers_as_in_a_fresh_store(tmp_path: Path) -> None:
    follow(tmp_path, 500, seed=2)
