"""git's history as it is read, and what follows from it: which files belong together."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from golore.graph.cards.card_store import open_card_store
from golore.graph.history.co_change import MAX_FILES_PER_COMMIT, Commit, History, file_histories
from golore.learner.checkout.git_command import run_git
from golore.learner.checkout.git_log import MAX_COMMITS, Touch, head_commit, history_read_ahead, read_history, renames
from golore.learner.derived.card_step import update_cards
from golore.learner.pipeline.graph_step import learn_graph
from support.git_repository import DAY, NOW, commit, git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path


def paths(history: History | None) -> list[tuple[str, ...]]:
    assert history is not None
    return [found.paths for found in history.commits]


def test_commits_come_newest_first_with_their_go_files(repository: Path) -> None:
    commit(repository, {"a.go": "1", "b/b.go": "1", "README.md": "1", "vendor/x/x.go": "1"}, at=NOW)
    commit(repository, {"README.md": "2"}, at=NOW + DAY)
    commit(repository, {"a.go": "2"}, at=NOW + 2 * DAY)
    history = read_history(repository)
    assert paths(history) == [("a.go",), ("a.go", "b/b.go")]
    assert history is not None
    assert [found.time for found in history.commits] == [NOW + 2 * DAY, NOW]


def test_no_more_commits_are_read_than_asked_for(repository: Path) -> None:
    for number in range(4):
        commit(repository, {"a.go": str(number)}, at=NOW + number)
    assert len(paths(read_history(repository, most=3))) == 3


def test_a_history_that_is_read_ahead_is_the_same(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repository, {"a.go": "1", "b.go": "1"}, at=NOW)
    commit(repository, {"a.go": "2"}, at=NOW + DAY)
    head = head_commit(repository)
    commands: list[str] = []

    def recorded(root: Path, *arguments: str) -> bytes:
        commands.append(arguments[0])
        return run_git(root, *arguments)

    monkeypatch.setattr("golore.learner.checkout.git_log.run_git", recorded)
    with history_read_ahead(repository):
        ahead = read_history(repository, head)
    assert "log" not in commands or sys.platform != "linux"
    assert ahead == read_history(repository, head, MAX_COMMITS - 1)
    with history_read_ahead(repository):
        commit(repository, {"b.go": "2"}, at=NOW + 2 * DAY)
        assert paths(read_history(repository, head_commit(repository))) == [("b.go",), ("a.go",), ("a.go", "b.go")]


def test_older_commits_speak_of_a_file_by_its_present_name(repository: Path) -> None:
    commit(repository, {"old/a.go": "one\ntwo\n", "old/b.go": "1"})
    commit(repository, {"old/a.go": None, "new/a.go": "one\ntwo\n"}, at=NOW + 1)
    commit(repository, {"new/a.go": None, "new/c.go": "one\ntwo\n"}, at=NOW + 2)
    assert paths(read_history(repository)) == [("new/c.go",), ("new/c.go",), ("new/c.go", "old/b.go")]


def test_a_name_that_is_used_again_is_not_taken_for_the_file_that_left_it(repository: Path) -> None:
    commit(repository, {"a.go": "first", "b.go": "1"})
    commit(repository, {"a.go": None, "moved/a.go": "first"}, at=NOW + 1)
    commit(repository, {"a.go": "second"}, at=NOW + 2)
    assert paths(read_history(repository)) == [("a.go",), ("moved/a.go",), ("b.go", "moved/a.go")]


def test_a_move_with_an_edit_is_known_by_the_name() -> None:
    moved = [Touch("D", "x", "", "old/a.go"), Touch("D", "y", "", "old/b.go"), Touch("A", "", "z", "new/a.go")]
    assert renames(moved) == [("old/a.go", "new/a.go")]


def test_a_name_that_several_have_makes_no_rename() -> None:
    moved = [Touch("D", "x", "", "p/doc.go"), Touch("D", "y", "", "q/doc.go"), Touch("A", "", "z", "r/doc.go")]
    assert renames(moved) == []


def test_the_history_of_a_directory_names_files_from_there(repository: Path) -> None:
    commit(repository, {"module/a.go": "1", "module/x/b.go": "1", "other.go": "1"})
    assert paths(read_history(repository / "module")) == [("a.go", "x/b.go")]


def test_names_that_git_would_quote_are_read_as_they_are(repository: Path) -> None:
    commit(repository, {"ünï cödé.go": "1", 'quo"te.go': "1"})
    assert paths(read_history(repository)) == [('quo"te.go', "ünï cödé.go")]


def test_head_is_read_from_files_as_git_tells_it(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert head_commit(repository) == ""
    commit(repository, {"a.go": "1"})
    expected = git(repository, "rev-parse", "HEAD")
    assert head_commit(repository) == expected
    git(repository, "pack-refs", "--all")
    assert head_commit(repository) == expected
    (repository / "deep").mkdir()
    assert head_commit(repository / "deep") == expected
    worktree = tmp_path_factory.mktemp("trees") / "second"
    git(repository, "worktree", "add", "-q", "-b", "second", str(worktree))
    assert head_commit(worktree) == expected
    git(repository, "checkout", "-q", "--detach")
    assert head_commit(repository) == expected


def test_without_git_or_commits_there_is_no_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert head_commit(tmp_path) == ""
    assert read_history(tmp_path) is None
    git(tmp_path, "init", "-q")
    assert read_history(tmp_path) is None
    commit(tmp_path, {"a.go": "1"})
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_history(tmp_path) is None


def test_files_that_no_build_takes_are_related_as_long_as_they_exist(repository: Path) -> None:
    code = {"go.mod": "module m\n", "a.go": "package m\n", "b.go": "package m\n"}
    commit(repository, {**code, "testdata/in.go": "package t\n", "testdata/gone.go": "package t\n"})
    (repository / "testdata" / "gone.go").unlink()
    learn_graph(repository, workers=0)
    update_cards(repository, repository / ".golore")
    card_store = open_card_store(repository / ".golore", write=False)
    assert card_store is not None
    with card_store:
        opened, beyond = (
            card_store.card("a.go", include_empty=True),
            card_store.card("testdata/in.go", include_empty=True),
        )
        assert card_store.card("testdata/gone.go", include_empty=True) is None
    assert opened is not None
    assert beyond is not None
    assert {file for file, _ in opened.related} == {"b.go", "testdata/in.go"}
    assert {file for file, _ in beyond.related} == {"a.go", "b.go"}


def test_commits_of_many_files_say_less_and_huge_ones_nothing() -> None:
    many = tuple(f"m{number}.go" for number in range(9))
    huge = tuple(f"h{number}.go" for number in range(MAX_FILES_PER_COMMIT))
    history = History("x", (Commit(NOW, ("a.go", "b.go")), Commit(NOW, ("a.go", *many)), Commit(NOW, ("a.go", *huge))))
    found = file_histories(history, {"a.go", "b.go", *many, *huge})
    partners = {partner.path: partner for partner in found["a.go"].partners}
    assert partners["b.go"].weight == pytest.approx(9 * partners["m0.go"].weight, rel=0.01)
    assert "h0.go" not in partners
    assert found["a.go"].commits == 2


@pytest.mark.parametrize(
    "subject",
    [
        "Bump go 1.19",
        "server: Update go.mod",
        "chore: fix lint issues",
        "Fix copyright headers",
        "*: gofmt",
        "fix typos",
    ],
)
def test_housekeeping_is_no_evidence_that_files_belong_together(subject: str) -> None:
    commits = (Commit(NOW, ("a.go", "tools.go")), Commit(NOW, ("a.go", "b.go")))
    history = History("x", commits, subjects=(subject, "Keep keys in order"))
    found = file_histories(history, {"a.go", "b.go", "tools.go"})
    assert [partner.path for partner in found["a.go"].partners] == ["b.go"]
    assert found["a.go"].commits == 1


def test_age_is_measured_from_the_newest_commit_and_not_from_the_clock() -> None:
    def weights(now: int) -> dict[str, float]:
        history = History("x", (Commit(now, ("a.go", "b.go")), Commit(now - 1000 * DAY, ("a.go", "c.go"))))
        return {
            partner.path: partner.weight
            for partner in file_histories(history, {"a.go", "b.go", "c.go"})["a.go"].partners
        }

    assert weights(NOW) == weights(NOW // 2)
    assert weights(NOW)["c.go"] == pytest.approx(weights(NOW)["b.go"] / 2, rel=0.01)


def test_files_that_no_longer_exist_are_left_out() -> None:
    history = History("x", (Commit(NOW, ("a.go", "gone.go")),))
    assert file_histories(history, {"a.go"})["a.go"].partners == ()


def test_a_directory_is_coupled_like_a_file() -> None:
    history = History("x", (Commit(NOW, ("p/a.go", "q/c.go")), Commit(NOW, ("p/b.go", "q/c.go"))))
    found = file_histories(history, {"p/a.go", "p/b.go", "q/c.go"})
    strongest = found["p/"].partners[0]
    assert (strongest.path, strongest.commits) == ("q/c.go", 2)
