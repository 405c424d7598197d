"""After any number of edits, search answers as it would in a store made from the same tree at once."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.graph.search.index import open_index
from golore.graph.search.index_entries import ShortText
from golore.graph.search.search import Hit, SearchRequest, search
from golore.learner.derived.search_step import update_search_index
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


@pytest.mark.slow
def test_after_500_updates_search_answers_as_in_a_fresh_store(tmp_path: Path) -> None:
    follow(tmp_path, 500, seed=2)
