"""`CHANGES_WITH`: what the history says of pairs of files, as edges that questions and exports see."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from golore.graph.cards.card_store import create_card_store
from golore.graph.database.store import Store
from golore.graph.files.identity import graph_identity
from golore.graph.history.co_change import MAX_FILES_PER_COMMIT, Commit, History
from golore.graph.history.co_change_edges import Pair, pairs_in
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.learner.checkout.git_log import head_commit, read_history
from golore.learner.derived.co_change_step import added_files, update_co_change
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from support.git_repository import DAY, NOW, commit, git
from support.learned_tree import copy_repository


def history(*commits: tuple[str, ...]) -> History:
    return History("h", tuple(Commit(NOW - at * DAY, paths) for at, paths in enumerate(commits)))


def test_a_pair_counts_whole_commits_whatever_their_age() -> None:
    found = pairs_in(history(("b.go", "a.go"), *[("a.go",)] * 5, ("a.go", "b.go"), ("b.go",)))
    assert found == [Pair("a.go", "b.go", 2, 7, 3)]
    assert found[0].evidence == "2 of 7, 3"


def test_one_common_commit_is_no_pair_and_neither_is_a_small_share_of_both() -> None:
    assert pairs_in(history(("a.go", "b.go"))) == []
    rare = [("a.go", "b.go")] * 2
    assert len(pairs_in(history(*rare, *[("a.go",)] * 40))) == 1
    assert pairs_in(history(*rare, *[("a.go",)] * 40, *[("b.go",)] * 40)) == []


def test_housekeeping_makes_no_pairs() -> None:
    pairs = history(*[("a.go", "b.go")] * 2)
    assert pairs_in(pairs._replace(subjects=("Bump the linter", "Fix the linter"))) == []
    assert len(pairs_in(pairs._replace(subjects=("Move keys", "Order keys")))) == 1


def test_commits_of_very_many_files_count_for_nothing() -> None:
    many = tuple(f"f{number}.go" for number in range(MAX_FILES_PER_COMMIT + 1))
    assert pairs_in(history(many, many, many)) == []
    assert len(pairs_in(history(many[:-1], many[:-1]))) == MAX_FILES_PER_COMMIT * (MAX_FILES_PER_COMMIT - 1) // 2


def edges(root: Path) -> dict[tuple[str, str], str]:
    out = io.StringIO()
    with Store.open(root / ".golore", write=False) as store:
        export_jsonl(store, out)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    return {(row["source"], row["target"]): row["evidence"] for row in rows if row.get("label") == "CHANGES_WITH"}


def learned(root: Path) -> None:
    learn_graph(root, workers=0)
    finish(root, root / ".golore")


FILES = {name: f"package m\n\nfunc F{name[0]}() {{}}\n" for name in ("a.go", "b.go", "c.go", "d.go")}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that was learned; not to be changed."""
    root = tmp_path_factory.mktemp("pristine")
    git(root, "init", "-q")
    commit(root, {"go.mod": "module m\n", ".gitignore": ".golore\n", **FILES})
    for number in range(2):
        commit(root, {name: f"{FILES[name]}// {number}\n" for name in ("a.go", "b.go", "c.go")}, NOW + number)
    learned(root)
    return root


@pytest.fixture
def root(pristine: Path, tmp_path: Path) -> Path:
    """The same, to be changed."""
    return copy_repository(pristine, tmp_path / "copy")


def test_a_learned_repository_has_them_and_says_so_to_queries(pristine: Path) -> None:
    root = pristine
    assert edges(root) == {("a.go", "b.go"): "3 of 3, 3", ("a.go", "c.go"): "3 of 3, 3", ("b.go", "c.go"): "3 of 3, 3"}
    with Store.open(root / ".golore", write=False) as store:
        asked = "MATCH (a:File)-[e:CHANGES_WITH]-(b:File) WHERE a.id = 'b.go' RETURN b.id, e.evidence ORDER BY b.id"
        assert [list(row.values()) for row in store.query(asked)] == [["a.go", "3 of 3, 3"], ["c.go", "3 of 3, 3"]]


def test_a_commit_changes_only_the_pairs_that_it_touches_and_the_graph_stays_the_one_that_was_learned(
    root: Path,
) -> None:
    commit(root, {"d.go": f"{FILES['d.go']}// 8\n"}, NOW + DAY)
    commit(root, {name: f"{FILES[name]}// 9\n" for name in ("a.go", "d.go")}, NOW + 2 * DAY)
    learn_graph(root, workers=0)
    before = graph_identity(root / ".golore")
    # a with b, c and now d: two counts and one new pair; b with c is as it was.
    assert update_co_change(root, root / ".golore") == 3
    assert edges(root)["a.go", "d.go"] == "2 of 4, 3"
    assert edges(root)["b.go", "c.go"] == "3 of 3, 3"
    assert graph_identity(root / ".golore") == before


def test_without_a_new_commit_nothing_is_written(root: Path) -> None:
    store = root / ".golore"
    files = {path.name: path.stat().st_mtime_ns for path in store.glob("graph-*.db*")}
    assert update_co_change(root, store) == 0
    assert update_co_change(root, store, changed=("a.go",)) == 0
    assert {path.name: path.stat().st_mtime_ns for path in store.glob("graph-*.db*")} == files


@pytest.mark.parametrize("is_told", [False, True])
def test_a_file_that_comes_back_has_its_companions_again(root: Path, is_told: bool) -> None:
    store, before = root / ".golore", edges(root)
    text = (root / "a.go").read_text()
    (root / "a.go").unlink()
    learned(root)
    assert edges(root) == {("b.go", "c.go"): "3 of 3, 3"}
    (root / "a.go").write_text(text)
    learn_graph(root, workers=0)
    if is_told:
        arrived = added_files(store, ("a.go", "b.go"))
        assert arrived == {"a.go"}
        assert update_co_change(root, store, changed=("a.go",), arrived=arrived) == 2
    else:
        assert update_co_change(root, store) == 2
    assert edges(root) == before


def test_a_graph_that_was_made_anew_has_them(root: Path) -> None:
    before = edges(root)
    learn_graph(root, workers=0, full=True)
    assert edges(root) == {}
    finish(root, root / ".golore")
    assert edges(root) == before


def test_renamed_files_keep_their_companions(root: Path) -> None:
    git(root, "mv", "b.go", "z.go")
    git(root, "commit", "-q", "-m", "move", at=NOW + DAY)
    learned(root)
    assert edges(root)["a.go", "z.go"] == "3 of 3, 4"
    assert not any("b.go" in pair for pair in edges(root))


def test_what_a_card_says_changes_along_is_an_edge(pristine: Path) -> None:
    root = pristine
    found = edges(root)
    for name in FILES:
        with create_card_store(root / ".golore") as card_store:
            card = card_store.card(name)
        line = next((line for line in card.text.splitlines() if "Changes along" in line), "") if card else ""
        for other in FILES:
            if f" {other} (" in line:
                assert (min(name, other), max(name, other)) in found
    read = read_history(root, head_commit(root))
    assert {(pair.first, pair.second) for pair in pairs_in(read)} == found.keys()


def test_without_git_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "a.go").write_text("package m\n")
    learned(tmp_path)
    assert edges(tmp_path) == {}
