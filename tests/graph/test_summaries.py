"""Summaries are kept once, never below a better source, and are stale exactly when their inputs have changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from golore.graph.cards.card_builder import rebuild_cards_of
from golore.graph.cards.card_store import open_card_store
from golore.graph.database.store import Store
from golore.graph.errors import UsageError
from golore.graph.files.knowledge_db import Knowledge
from golore.graph.knowledge.composed_summaries import structural_summary
from golore.graph.knowledge.summaries import (
    NewSummary,
    SummaryRecord,
    all_current,
    current,
    history,
    store_summary,
    write_summary,
)
from golore.graph.knowledge.summary_inputs import inputs_of
from golore.graph.knowledge.summary_staleness import update_summaries
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from support.learned_tree import copy_repository
from support.shop import make_shop

STORE = "example.com/shop/store"
PUT = f"{STORE}.Put"
SAVE = f"{STORE}.Memory.Save"
RUN = "example.com/shop.run"
SUBJECTS = {
    "symbol": (PUT, SAVE, RUN),
    "file": ("store/store.go", "main.go", "store/sync_linux.go"),
    "package": (STORE, "example.com/shop"),
    "repository": (".",),
}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    learn_graph(root, store_directory=root / ".golore", workers=0)
    finish(root, root / ".golore")
    return root


@pytest.fixture
def shop(learned: Path, tmp_path: Path) -> Path:
    return copy_repository(learned, tmp_path / "shop")


def write(root: Path, level: str, subject: str, text: str = "It is a part.", **how: str) -> SummaryRecord:
    with Store.open(root / ".golore", write=False) as store, Knowledge.open(root / ".golore") as knowledge:
        return write_summary(knowledge, store, root, level, subject, text, **{"source": "agent", **how})


def write_all(root: Path) -> None:
    """From the bottom up, so that each is written from those below it."""
    for level, subjects in SUBJECTS.items():
        for subject in subjects:
            write(root, level, subject, f"It is a part called {subject}.")


def edit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text()
    assert old in text
    (root / path).write_text(text.replace(old, new))
    learn_graph(root, store_directory=root / ".golore", workers=0)
    update_summaries(root, root / ".golore", changed=[path])


def doubts(root: Path) -> dict[str, str]:
    with Knowledge.open(root / ".golore") as knowledge:
        return {
            f"{one.level} {one.subject}": f"{one.doubt}: {one.reason}" for one in all_current(knowledge) if one.doubt
        }


def test_an_edited_body_makes_its_symbol_stale_and_no_caller(shop: Path) -> None:
    write(shop, "symbol", PUT)
    write(shop, "symbol", RUN)
    edit(shop, "store/store.go", "{ return s.Save(key) }", "{ return s.Save(key + key) }")
    assert doubts(shop) == {f"symbol {PUT}": "stale: its code has changed since"}


def test_an_edited_body_makes_the_file_stale_that_was_written_from_it(shop: Path) -> None:
    write(shop, "file", "store/store.go")
    write(shop, "file", "main.go")
    edit(shop, "store/store.go", "m.items[key]++", "m.items[key] += 2")
    assert doubts(shop) == {"file store/store.go": "stale: the code of store.Memory.Save has changed since"}


def test_a_file_written_from_a_summary_is_stale_only_when_that_is_written_anew(shop: Path) -> None:
    write(shop, "symbol", SAVE)
    write(shop, "file", "store/store.go")
    edit(shop, "store/store.go", "m.items[key]++", "m.items[key] += 2")
    assert doubts(shop) == {f"symbol {SAVE}": "stale: its code has changed since"}
    assert "in doubt" in card(shop, "store/store.go")
    write(shop, "symbol", SAVE, "It counts by two.")
    assert doubts(shop) == {"file store/store.go": "stale: the summary of store.Memory.Save was written anew since"}


def test_a_package_is_stale_when_a_file_is_told_anew_or_its_files_are_others(shop: Path) -> None:
    for path in ("store/store.go", "store/sync_linux.go", "store/sync_windows.go"):
        write(shop, "file", path)
    write(shop, "package", STORE)
    write(shop, "package", "example.com/shop")
    edit(shop, "store/store.go", "m.items[key]++", "m.items[key] += 2")
    assert f"package {STORE}" not in doubts(shop)
    write(shop, "file", "store/store.go", "It counts by two.")
    assert doubts(shop) == {f"package {STORE}": "stale: the summary of store.go was written anew since"}
    write(shop, "package", STORE, "It counts by two.")
    (shop / "store" / "more.go").write_text("package store\n\nfunc More() {}\n")
    learn_graph(shop, store_directory=shop / ".golore", workers=0)
    update_summaries(shop, shop / ".golore", changed=["store/more.go"])
    assert doubts(shop) == {f"package {STORE}": "stale: files were added or removed since"}


def test_the_repository_is_stale_when_a_package_is_told_anew_or_documented_otherwise(shop: Path) -> None:
    write(shop, "package", STORE)
    write(shop, "repository", ".")
    edit(shop, "store/store.go", "m.items[key]++", "m.items[key] += 2")
    assert "repository ." not in doubts(shop)
    write(shop, "package", STORE, "It counts by two.")
    assert doubts(shop) == {"repository .": "stale: the summary of store was written anew since"}
    write(shop, "repository", ".", "It is a shop that counts.")
    edit(shop, "main.go", "package main\n", "// Shop sells.\npackage main\n")
    assert doubts(shop) == {"repository .": "stale: the documentation of shop has changed since"}


def test_exactly_those_are_stale_whose_inputs_a_body_has_changed(shop: Path) -> None:
    write_all(shop)
    edit(shop, "store/store.go", "{ return s.Save(key) }", "{ return s.Save(key + key) }")
    assert doubts(shop) == {f"symbol {PUT}": "stale: its code has changed since"}


def test_a_changed_signature_makes_callers_suspect_with_the_reason(shop: Path) -> None:
    write(shop, "symbol", RUN)
    write(shop, "symbol", SAVE)
    edit(
        shop,
        "store/store.go",
        "func Put(s Saver, key string) error",
        "func Put(s Saver, key string, more ...int) error",
    )
    assert doubts(shop) == {f"symbol {RUN}": "suspect: the signature of store.Put has changed since"}


def test_what_is_again_as_it_was_is_stale_no_more(shop: Path) -> None:
    write_all(shop)
    edit(shop, "store/store.go", "m.items[key]++", "m.items[key] += 2")
    assert doubts(shop)
    edit(shop, "store/store.go", "m.items[key] += 2", "m.items[key]++")
    assert doubts(shop) == {}


def test_what_a_watch_has_marked_is_unmarked_by_a_learn(shop: Path) -> None:
    write(shop, "symbol", SAVE)
    update_summaries(shop, shop / ".golore")
    edit(shop, "store/store.go", "m.items[key]++", "m.items[key] += 2")
    assert doubts(shop)
    path = shop / "store/store.go"
    path.write_text(path.read_text().replace("m.items[key] += 2", "m.items[key]++"))
    learn_graph(shop, store_directory=shop / ".golore", workers=0)
    update_summaries(shop, shop / ".golore")
    assert doubts(shop) == {}


def test_moving_code_makes_nothing_stale(shop: Path) -> None:
    write(shop, "symbol", PUT)
    edit(shop, "store/store.go", "// Limit is how much fits.", "\n\n\n// Limit is how much fits.")
    assert doubts(shop) == {}


def test_what_is_deleted_is_gone_and_comes_back(shop: Path) -> None:
    write(shop, "symbol", "example.com/shop.lonely")
    edit(shop, "main.go", "func lonely() {}", "")
    assert doubts(shop) == {"symbol example.com/shop.lonely": "gone: what it is about is no more"}
    assert projected(shop) == []
    edit(shop, "main.go", "func New() {}\n", "func New() {}\n\nfunc lonely() {}\n")
    assert doubts(shop) == {}
    assert projected(shop) == ["example.com/shop.lonely"]


def test_a_learn_that_does_not_know_what_changed_finds_the_same(shop: Path) -> None:
    write_all(shop)
    update_summaries(shop, shop / ".golore")
    text = (shop / "store/store.go").read_text()
    (shop / "store/store.go").write_text(text.replace("{ return s.Save(key) }", "{ return s.Save(key + key) }"))
    learn_graph(shop, store_directory=shop / ".golore", workers=0)
    finish(shop, shop / ".golore")
    assert doubts(shop) == {f"symbol {PUT}": "stale: its code has changed since"}


def test_only_inputs_of_changed_files_are_looked_at(shop: Path) -> None:
    write_all(shop)
    assert update_summaries(shop, shop / ".golore", changed=["store/store_test.go"]).inputs <= 2  # its directory's
    assert update_summaries(shop, shop / ".golore", changed=["elsewhere/a.go"]).inputs == 0
    assert update_summaries(shop, shop / ".golore").inputs > 10
    assert update_summaries(shop, shop / ".golore").inputs == 0


def test_a_better_source_is_never_overwritten(shop: Path) -> None:
    write(shop, "file", "main.go", "By a model.", source="model", quality="draft")
    write(shop, "file", "main.go", "By an agent.", source="agent")
    with pytest.raises(UsageError, match="was not replaced"):
        write(shop, "file", "main.go", "By a model again.", source="model", quality="draft")
    write(shop, "file", "main.go", "By a person.", source="person")
    with pytest.raises(UsageError, match="A person has written"):
        write(shop, "file", "main.go", "By an agent again.", source="agent")
    with Knowledge.open(shop / ".golore") as knowledge:
        assert [one.text for one in history(knowledge, "file", "main.go")] == [
            "By a person.",
            "By an agent.",
            "By a model.",
        ]


def test_a_reviewed_text_stays_when_it_is_stale(shop: Path) -> None:
    write(shop, "symbol", PUT, "By an agent.")
    edit(shop, "store/store.go", "{ return s.Save(key) }", "{ return s.Save(key + key) }")
    with pytest.raises(UsageError):
        write(shop, "symbol", PUT, "By a model.", source="model", quality="draft")
    with Knowledge.open(shop / ".golore") as knowledge:
        found = current(knowledge, "symbol", PUT)
        assert found is not None
        assert (found.text, found.standing) == ("By an agent.", "reviewed, stale: its code has changed since")


def test_a_text_about_other_code_is_refused(shop: Path) -> None:
    with pytest.raises(UsageError, match="has changed since this text was written"):
        write(shop, "symbol", PUT, expected="0" * 32)


def test_the_same_work_is_not_kept_twice(shop: Path) -> None:
    with Store.open(shop / ".golore", write=False) as store, Knowledge.open(shop / ".golore") as knowledge:
        inputs = inputs_of(store, shop, knowledge, "symbol", PUT)
        assert inputs is not None
        assert store_summary(knowledge, inputs, NewSummary("First.", "draft", "model", "tiny", "1")) is not None
        assert store_summary(knowledge, inputs, NewSummary("Second.", "draft", "model", "tiny", "1")) is None
        assert [one.text for one in history(knowledge, "symbol", PUT)] == ["First."]


def projected(root: Path, of: str = "SUMMARIZES") -> list[str]:
    with Store.open(root / ".golore", write=False) as store:
        return sorted(row[0] for row in store.rows(f"MATCH (s:Summary)-[:{of}]->(n) RETURN n.id"))


def card(root: Path, path: str) -> str:
    rebuild_cards_of(root / ".golore", [path])
    card_store = open_card_store(root / ".golore", write=False)
    assert card_store is not None
    with card_store:
        found = card_store.card(path, include_empty=True)
        assert found is not None
        return found.text


def test_the_graph_has_a_copy_with_the_chain(shop: Path) -> None:
    first = write(shop, "file", "main.go", "One.")
    second = write(shop, "file", "main.go", "Two.")
    update_summaries(shop, shop / ".golore", changed=[])
    assert projected(shop) == ["main.go"]
    assert projected(shop, "SUPERSEDES") == [first.id]
    with Store.open(shop / ".golore", write=False) as store:
        rows = list(store.rows("MATCH (s:Summary) RETURN s.id, s.status, s.text ORDER BY s.text"))
    assert rows == [[first.id, "superseded", "One."], [second.id, "current", "Two."]]
    learn_graph(shop, store_directory=shop / ".golore", workers=0, full=True)
    update_summaries(shop, shop / ".golore")
    assert projected(shop) == ["main.go"]


def test_cards_of_files_packages_and_the_repository_tell_the_role(shop: Path) -> None:
    write(
        shop, "file", "store/store.go", "It keeps keys. It counts them. It does more.", source="model", quality="draft"
    )
    write(shop, "package", STORE, "It keeps keys.")
    write(shop, "repository", ".", "It is a shop.", source="person")
    assert card(shop, "store/store.go").startswith("Role (draft): It keeps keys. It counts them.\n")
    assert card(shop, "store/").startswith("Role (reviewed): It keeps keys.\n")
    assert card(shop, "").startswith("Role (reviewed): It is a shop.\n")


@pytest.mark.parametrize(
    ("level", "subject", "text"),
    [
        (
            "symbol",
            PUT,
            "store.Put is a function in store/store.go: “Put saves a key in whatever saves.” "
            "1 declaration uses it, main.run; tests reach it.",
        ),
        (
            "symbol",
            f"{STORE}.Saver",
            "store.Saver is an interface in store/store.go: “Saver saves things.” "
            "1 declaration uses it, store.Put; 2 types satisfy it.",
        ),
        ("file", "store/store_test.go", "store/store_test.go tests store/store.go."),
        (
            "file",
            "store/store.go",
            "store/store.go has Memory: “Memory keeps things in memory.” and New: “New makes an empty Memory.” "
            "1 file in the package at the root uses it.",
        ),
        ("file", "main.go", "main.go belongs to package main. It is an entry point, the program in ./."),
        (
            "package",
            "example.com/shop",
            "Package main (example.com/shop) has no doc comment. It is an entry point, a program.",
        ),
        (
            "package",
            STORE,
            "Package store (example.com/shop/store) has Memory: “Memory keeps things in memory.” and "
            "New: “New makes an empty Memory.” 1 package imports it, example.com/shop; "
            "it is a leaf: it imports no other package of the repository.",
        ),
        ("repository", ".", "The repository of example.com/shop. Its entry point is the program in ./."),
        ("symbol", "example.com/shop.absent", ""),
    ],
)
def test_everything_has_a_summary_without_a_model(learned: Path, level: str, subject: str, text: str) -> None:
    with Store.open(learned / ".golore", write=False) as store:
        assert structural_summary(store, level, subject) == text


def test_all_that_is_declared_can_be_told_of(learned: Path) -> None:
    tell: Callable[[Store, str, str], str] = structural_summary
    with Store.open(learned / ".golore", write=False) as store:
        for level, label in (("symbol", "Symbol"), ("file", "File"), ("package", "Package")):
            for node in store.nodes(label):
                assert tell(store, level, node[0]).endswith((".", "”"))
