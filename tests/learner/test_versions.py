"""A graph made by another version of golore: an older one is made again once, a newer one is left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from golore.graph.database.store import Store
from golore.graph.errors import StoreMismatch
from golore.graph.files import locks
from golore.graph.files.manifest import read_manifest, write_manifest
from golore.graph.model.delta import GraphDelta
from golore.graph.model.entities import Symbol
from golore.learner.extraction import facts
from golore.learner.pipeline.graph_step import learn_graph
from golore.learner.pipeline.version import is_outdated
from golore.mcp_server.cli.main import main
from support.shop import make_shop
from support.watching import exported

AGAIN = "An older golore learned this repository; learning it again."
ANEW = "The graph was made by another version of golore and has been rebuilt."


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository learned by an extractor before ours, which saw other documentation."""
    root = make_shop(tmp_path / "shop")
    with monkeypatch.context() as patch:
        patch.setattr(facts, "EXTRACTOR", "1")
        learn_graph(root, workers=0)
    with Store.open(root / ".golore", write=True) as store:
        rows = [row for row in store.nodes("Symbol") if isinstance(row, Symbol) and row.kind == "func"]
        store.apply(GraphDelta(nodes_changed={"Symbol": [row._replace(doc="as it was") for row in rows]}))
    return root


def fresh(root: Path, room: Path) -> list[str]:
    learn_graph(root, store_directory=room / "fresh", workers=0)
    return exported(room / "fresh")


def asked(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    code = main([str(word) for word in words])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_a_question_has_old_rows_made_again_once_and_says_so(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = asked(capsys, "show", "lonely", "--json", "--repo", old)
    assert (code, AGAIN in err, "as it was" in out) == (0, True, False)
    assert exported(old / ".golore") == fresh(old, tmp_path)
    graph = read_manifest(old / ".golore")
    for words in (("show", "lonely"), ("search", "save"), ("export",)):
        code, _, err = asked(capsys, *words, "--repo", old)
        assert (code, err) == (0, "")
    assert read_manifest(old / ".golore") == graph


def test_a_learn_replaces_old_rows_once_and_says_so(
    old: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = asked(capsys, "learn", "--json", old)
    told = json.loads(out)
    assert (code, told["messages"], told["files_parsed"]) == (0, [ANEW], told["files"])
    assert exported(old / ".golore") == fresh(old, tmp_path)
    told = json.loads(asked(capsys, "learn", "--json", old)[1])
    assert (told["messages"], told["rows_written"]) == ([], 0)


def test_a_store_with_an_older_schema_is_brought_up_to_date_by_a_question(
    old: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = old / ".golore"
    manifest = read_manifest(store)
    assert manifest is not None
    write_manifest(store, manifest._replace(schema=0))
    code, out, err = asked(capsys, "show", "lonely", "--repo", old)
    assert (code, AGAIN in err, "as it was" in out) == (0, True, False)
    assert asked(capsys, "show", "lonely", "--repo", old)[::2] == (0, "")


def test_an_older_golore_does_not_undo_what_a_newer_one_has_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_shop(tmp_path / "shop")
    learn_graph(root, workers=0)
    before = exported(root / ".golore")
    (root / "main.go").write_text("package main\n\nfunc main() {}\n")
    with monkeypatch.context() as patch:
        patch.setattr(facts, "EXTRACTOR", "1")
        with Store.open(root / ".golore", write=False) as store:
            assert not is_outdated(store)
        with pytest.raises(StoreMismatch, match="made by a newer golore"):
            learn_graph(root, workers=0)
        assert exported(root / ".golore") == before
        assert learn_graph(root, full=True, workers=0).messages == ()
    assert learn_graph(root, workers=0).messages == (ANEW,)


def test_old_rows_that_cannot_be_made_again_now_still_answer(old: Path, capsys: pytest.CaptureFixture[str]) -> None:
    held = locks.acquire(old / ".golore/writer.lock", exclusive=True, timeout=5, purpose="held")
    code, out, err = asked(capsys, "show", "lonely", "--repo", old)
    held.release()
    assert (code, "as it was" in out) == (0, True)
    assert "is using it" in err
    assert "The answer is from the old graph." in err
