"""A learn that goes on from where the last one left off, and the cards that follow an edit without being made anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from unittest.mock import Mock

import pytest
from golore.graph.cards.card_store import create_card_store
from golore.graph.cards.edit_effects import shift_lines
from golore.graph.database.engine import Session
from golore.graph.database.store import Store
from golore.graph.files.identity import graph_identity
from golore.graph.files.store_path import SURVEY_NAME
from golore.graph.queries import store_counts
from golore.graph.queries.store_counts import count_store
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.learner.checkout.freshness import Changes, changes_since
from golore.learner.derived.card_step import refresh_card, update_cards
from golore.learner.learn import finish, learn
from golore.learner.pipeline.graph_step import learn_graph
from golore.learner.pipeline.incremental import BodyEdit, IncrementalLearner, Update
from support.learned_tree import copy_repository
from support.shop import make_shop


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("going-on"))
    vendored = root / "vendor" / "example.com" / "other"
    vendored.mkdir(parents=True)
    (vendored / "other.go").write_text("package other\n\nfunc Do() {}\n")
    (root / "vendor" / "modules.txt").write_text("# example.com/other v1.0.0\n## explicit\nexample.com/other\n")
    (root / "more.go").write_text('package main\n\nimport "example.com/other"\n\nfunc more() { other.Do() }\n')
    _age(root)
    update = IncrementalLearner(root, workers=0).resume()
    finish(root, root / ".golore", changed=update.changed)
    return root


@pytest.fixture
def root(learned: Path, tmp_path: Path) -> Path:
    """A copy that counts as learned: it lies elsewhere, so that is done once more."""
    copy = copy_repository(learned, tmp_path / "shop")
    finish(copy, copy / ".golore", changed=IncrementalLearner(copy, workers=0).resume().changed)
    return copy


def test_a_learn_that_finds_nothing_to_do_does_not_open_the_graph(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = root / ".golore"
    learn(root, store)
    with Store.open(store, write=False) as opened:
        counts = count_store(opened)
    sessions: list[Session] = []

    def open_session(path: Path, *, write: bool, pool: int | None, threads: int | None) -> Session:
        sessions.append(Session(path, write=write, pool=pool, threads=threads))
        return sessions[-1]

    monkeypatch.setattr("golore.graph.database.store.Session", open_session)
    assert learn(root, store).rows_written == 0
    with Store.open(store, write=False) as opened:
        assert count_store(opened) == counts
    assert sessions == []
    with (root / "more.go").open("a") as file:
        file.write("\nfunc most() {}\n")
    assert learn(root, store).rows_written > 0
    with Store.open(store, write=False) as opened:
        assert count_store(opened).symbols["func"] == counts.symbols["func"] + 1
    assert any(session.is_writable for session in sessions)


@pytest.mark.parametrize(
    ("text", "is_counted_again"),
    [
        ('package main\n\nimport "example.com/other"\n\nfunc more() { other.Do(); other.Do(); print(1) }\n', False),
        ('package main\n\nimport "example.com/other"\n\nfunc more() { other.Do(); absent.Do() }\n', False),
        ('package main\n\nimport "fmt"\n\ntype T struct{ n int }\n\nfunc more() { fmt.Println(T{}) }\n', True),
        ("package main\n\nfunc more() {\n", True),
    ],
    ids=["a body", "an unresolved use", "another import", "a syntax error"],
)
def test_counts_follow_an_edit(root: Path, monkeypatch: pytest.MonkeyPatch, text: str, is_counted_again: bool) -> None:
    store = root / ".golore"
    learn(root, store)
    with Store.open(store, write=False) as opened:
        count_store(opened)
    (root / "more.go").write_text(text)
    learn(root, store)
    with Store.open(store, write=False) as opened:
        expected = store_counts.count_all(opened)
        counting = Mock(side_effect=store_counts.count_all)
        monkeypatch.setattr(store_counts, "count_all", counting)
        assert count_store(opened) == expected
    assert counting.called == is_counted_again


def _age(root: Path) -> None:
    """Make the files so old that their times are believed."""
    for path in root.rglob("*"):
        if ".golore" not in path.parts:
            os.utime(path, ns=(10**18, 10**18))


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def _resume(root: Path) -> Update:
    update = IncrementalLearner(root, workers=0).resume()
    finish(root, root / ".golore", changed=update.changed)
    return update


def _cards(root: Path) -> dict[str, str]:
    with create_card_store(root / ".golore") as card_store:
        cards = (card_store.card(path, include_empty=True) for path in card_store.paths() if path.endswith(".go"))
        return {card.path: f"{card.digest} {card.text}" for card in cards if card is not None}


def test_an_edited_body_takes_no_ordinary_learn_in_another_process(root: Path) -> None:
    assert _resume(root).is_incremental
    _edit(root / "main.go", 'm.Save("a")', 'm.Save("a")\n\tstore.Flush()')
    update = _resume(root)
    assert (update.is_incremental, update.paths, update.report.files_parsed) == (True, ("main.go",), 1)
    again = _resume(root)
    assert (again.is_incremental, again.paths, again.report.rows_written) == (True, (), 0)


def _new_file(root: Path) -> None:
    (root / "store" / "new.go").write_text("package store\n")


def _deleted_file(root: Path) -> None:
    (root / "more.go").unlink()


def _edited_module(root: Path) -> None:
    _edit(root / "go.mod", "module example.com/shop", "module example.com/store")


def _edited_vendor(root: Path) -> None:
    _edit(root / "vendor" / "example.com" / "other" / "other.go", "Do()", "Do(int)")


def _lost_vendor(root: Path) -> None:
    (root / "vendor" / "example.com" / "other" / "other.go").unlink()


def _lost_cache(root: Path) -> None:
    for path in (root / ".golore").glob("cache.db*"):
        path.unlink()


def _lost_survey(root: Path) -> None:
    (root / ".golore" / SURVEY_NAME).unlink()


def _damaged_survey(root: Path) -> None:
    (root / ".golore" / SURVEY_NAME).write_bytes(b"\x93nothing")


@pytest.mark.parametrize(
    "change",
    [
        _new_file,
        _deleted_file,
        _edited_module,
        _edited_vendor,
        _lost_vendor,
        _lost_cache,
        _lost_survey,
        _damaged_survey,
    ],
)
def test_whatever_else_has_changed_is_learned_the_ordinary_way(root: Path, change: Callable[[Path], None]) -> None:
    change(root)
    assert not _resume(root).is_incremental


def test_cards_that_name_lines_get_their_new_numbers(root: Path) -> None:
    assert "(main.go:13)" in _cards(root)["store/store.go"]
    _edit(root / "main.go", "func run(", "// One\n// and two lines more.\nfunc run(")
    update = _resume(root)
    assert update.is_incremental
    assert update.changed is not None
    assert update.changed.effects is not None
    assert update.changed.effects.files == frozenset()
    after = _cards(root)
    assert "(main.go:13)" not in after["store/store.go"]
    assert "(main.go:17)" in after["store/store.go"]
    update_cards(root, root / ".golore", whole=True)
    assert after == _cards(root)


def test_cards_follow_the_lines_of_several_files_that_are_edited_at_once(root: Path) -> None:
    for name in ("one", "two"):
        (root / f"{name}.go").write_text(f"package main\n\nfunc {name}() {{\n\tmore()\n\tlonely()\n}}\n")
    _resume(root)
    before = _cards(root)
    assert "more: 2 callers in 2 files: main.one (one.go:4), main.two (two.go:4)" in before["more.go"]
    assert "lonely: 2 callers in 2 files: main.one (one.go:5), main.two (two.go:5)" in before["main.go"]
    for name in ("one", "two"):
        _edit(root / f"{name}.go", "func", "// One line more.\nfunc")
    _edit(root / "more.go", "other.Do()", "other.Do(); other.Do()")
    assert _resume(root).is_incremental
    after = _cards(root)
    assert "more: 2 callers in 2 files: main.one (one.go:5), main.two (two.go:5)" in after["more.go"]
    assert "lonely: 2 callers in 2 files: main.one (one.go:6), main.two (two.go:6)" in after["main.go"]
    update_cards(root, root / ".golore", whole=True)
    assert after == _cards(root)


def test_cards_of_what_is_used_otherwise_are_made_anew(root: Path) -> None:
    _edit(root / "main.go", 'm.Save("a")', 'm.Save("a")\n\tstore.Flush()')
    update = _resume(root)
    assert update.changed is not None
    assert update.changed.effects is not None
    assert update.changed.effects.files == {"store/store.go"}
    after = _cards(root)
    assert "Flush" in after["store/store.go"]
    update_cards(root, root / ".golore", whole=True)
    assert after == _cards(root)


def test_cards_of_what_a_helper_uses_count_the_tests_that_begin_to_use_the_helper(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    (root / "store" / "help_test.go").write_text("package store\n\nfunc fixture() []Memory { return nil }\n")
    extra = 'package store\n\nimport "testing"\n\nfunc TestExtra(t *testing.T) {}\n'
    (root / "store" / "extra_test.go").write_text(extra)
    _age(root)
    finish(root, root / ".golore", changed=IncrementalLearner(root, workers=0).resume().changed)
    assert "1 test in 1 file uses it" in _cards(root)["store/store.go"]
    _edit(root / "store" / "extra_test.go", "{}", "{ fixture() }")
    assert _resume(root).is_incremental
    after = _cards(root)
    assert "2 tests in 2 files use it" in after["store/store.go"]
    update_cards(root, root / ".golore", whole=True)
    assert after == _cards(root)
    _edit(root / "store" / "extra_test.go", "{ fixture() }", "{}")
    assert _resume(root).is_incremental
    assert "1 test in 1 file uses it" in _cards(root)["store/store.go"]


def test_the_card_of_an_edited_file_is_fresh_before_the_graph_is(root: Path) -> None:
    learner = IncrementalLearner(root, workers=0)
    learner.resume()
    _edit(root / "store" / "store.go", "func Flush() {", "func Flush() {\n\tmissing()")
    told: list[tuple[BodyEdit, str, str]] = []

    def early(edit: BodyEdit) -> None:
        before = _cards(root)[edit.path]
        refresh_card(root / ".golore", edit)
        told.append((edit, before, _cards(root)[edit.path]))

    update = learner.update(["store/store.go"], early=early)
    ((edit, before, renewed),) = told
    assert before.startswith(edit.before)
    assert renewed.startswith(edit.digest)
    finish(root, root / ".golore", changed=update.changed)
    assert _cards(root)["store/store.go"] == renewed


def test_the_card_of_an_edited_test_is_fresh_before_the_graph_is(root: Path) -> None:
    learner = IncrementalLearner(root, workers=0)
    learner.resume()
    _edit(root / "store" / "store_test.go", 'if Put(New(), "a")', 'Flush()\n\tif Put(New(), "a")')
    before = graph_identity(root / ".golore")
    told: list[str] = []

    def early(edit: BodyEdit) -> None:
        assert graph_identity(root / ".golore") == before
        refresh_card(root / ".golore", edit)
        told.append(_cards(root)[edit.path])

    update = learner.update(["store/store_test.go"], early=early)
    assert graph_identity(root / ".golore") != before
    (renewed,) = told
    assert "What its tests call is declared in:\n- store/store.go: Flush, New, Put" in renewed
    finish(root, root / ".golore", changed=update.changed)
    assert _cards(root)["store/store_test.go"] == renewed


def test_the_cards_of_tests_follow_an_edit_of_what_helps_them(root: Path) -> None:
    helper = root / "store" / "help_test.go"
    helper.write_text("package store\n\nfunc help() {\n\tFlush()\n}\n")
    (root / "store" / "calm_test.go").write_text(
        'package store\n\nimport "testing"\n\nfunc TestCalm(t *testing.T) { help() }\n'
    )
    _resume(root)
    assert "store/store.go: Flush" in _cards(root)["store/calm_test.go"]
    _edit(helper, "Flush()", "New()")
    assert _resume(root).is_incremental
    after = _cards(root)
    assert "store/store.go: New" in after["store/calm_test.go"]
    update_cards(root, root / ".golore", whole=True)
    assert after == _cards(root)


def test_what_a_killed_learn_left_undone_is_made_up_for(root: Path) -> None:
    _edit(root / "main.go", 'm.Save("a")', 'm.Save("a")\n\tstore.Flush()')
    IncrementalLearner(root, workers=0).resume()  # and nothing after it
    _edit(root / "store" / "store.go", "func Flush() {", "func Flush() {\n\t// Nothing.")
    _resume(root)
    after = _cards(root)
    update_cards(root, root / ".golore", whole=True)
    assert after == _cards(root)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Put: 2 callers: main.run (main.go:15), x (main.go:9)",
            "Put: 2 callers: main.run (main.go:17), x (main.go:10)",
        ),
        ("main.go:15 (xmain.go:15) (main.go)", "main.go:15 (xmain.go:15) (main.go)"),
        ("note: “see (main.go:15)”; run (main.go:15)", "note: “see (main.go:15)”; run (main.go:17)"),
        ("(main.go:15) and (main.go:16)", None),
    ],
)
def test_lines_in_a_text_are_shifted_or_it_is_said_that_they_cannot_be(text: str, expected: str | None) -> None:
    assert shift_lines(text, "main.go", {15: 17, 9: 10}) == expected


def _exported(store_directory: Path) -> str:
    out = StringIO()
    with Store.open(store_directory, write=False) as store:
        export_jsonl(store, out)
    return out.getvalue()


def test_an_imported_package_of_testdata_comes_and_goes_with_its_import(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    (root / "testdata" / "kept").mkdir(parents=True)
    (root / "testdata" / "kept" / "kept.go").write_text("package kept\n\nfunc Path() {}\n")
    more = root / "more.go"
    plain = "package main\n\nfunc more() {}\n"
    states = [
        plain,
        'package main\n\nimport "example.com/shop/testdata/kept"\n\nfunc more() { kept.Path() }\n',
        'package main\n\nimport "example.com/shop/testdata/kept"\n\nfunc more() { kept.Path(); kept.Path() }\n',
        plain,
    ]
    learner = IncrementalLearner(root, workers=0)
    learned: list[tuple[int, bool]] = []
    for number, text in enumerate(states):
        more.write_text(text)
        update = learner.update(["more.go"])
        learned.append((update.report.files, update.is_incremental))
        learn_graph(root, store_directory=tmp_path / f"fresh{number}", workers=0)
        assert _exported(root / ".golore") == _exported(tmp_path / f"fresh{number}")
    assert learned == [(6, False), (7, False), (7, True), (6, False)]


def test_an_edit_in_imported_testdata_is_noticed(tmp_path: Path) -> None:
    root = make_shop(tmp_path)
    (root / "testdata").mkdir()
    (root / "testdata" / "kept.go").write_text("package kept\n\nfunc Path() {}\n")
    (root / "more.go").write_text('package main\n\nimport "example.com/shop/testdata"\n\nfunc more() { kept.Path() }\n')
    learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=False) as store:
        assert changes_since(root, store) == Changes()
        _edit(root / "testdata" / "kept.go", "func Path() {}", "func Path() { println() }")
        assert changes_since(root, store) == Changes(edited=("testdata/kept.go",))
    assert _resume(root).is_incremental
