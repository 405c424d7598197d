"""Search looks closely at the best candidates: code first, exact texts, other forms of words, and typos."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from golore.graph.database.store import Store
from golore.graph.search.close_reading.declaration_fit import best_fit
from golore.graph.search.close_reading.exact_phrases import Phrase
from golore.graph.search.close_reading.intents import asked_actions, asks_for_documents, asks_for_tests
from golore.graph.search.index_entries import IndexedSymbol
from golore.graph.search.results.hits import Hit, SearchRequest
from golore.graph.search.search import search
from golore.graph.search.terms import stem
from golore.learner.learn import finish
from golore.learner.pipeline.graph_step import learn_graph
from golore.mcp_server.services.repository import LearnedRepository
from golore.mcp_server.services.search_sources import sources_of

QUOTA = """\
package storage

import (
	"errors"
	"flag"
)

// ErrNoSpace is returned when the quota is used up.
var ErrNoSpace = errors.New("storage: database space exceeded")

// AddFlags declares the flags of the storage.
func AddFlags(set *flag.FlagSet, bytes *int64) {
	set.Int64Var(bytes, "quota-backend-bytes", 0, "Maximum size of the backend.")
}

// Available tells whether a request of this size fits.
func Available(size int64) bool { return size < 10 }
"""
QUOTA_TEST = """\
package storage

import "testing"

// The database space exceeded error of the storage: database space exceeded when the quota backend bytes are used up.
func TestQuotaOfTheBackend(t *testing.T) {
	if Available(20) {
		t.Fatal("storage: database space exceeded")
	}
}
"""
CALLER = """\
package server

import "example.com/m/storage"

// Put refuses what does not fit into the database.
func Put(size int64) error {
	if !storage.Available(size) {
		return storage.ErrNoSpace
	}
	return nil
}
"""
COMPACTOR = """\
package v3compactor

// Compactor removes old revisions every hour.
type Compactor struct{}

// Run starts it.
func (c *Compactor) Run() {}
"""
CONTENTS = "package tableofcontents\n\n// Fragments are the headings of a page.\ntype Fragments struct{}\n"
README = """\
# Storage

The quota of the backend in bytes is set with the flag quota-backend-bytes: database space exceeded is what storage says
when the quota of the backend is used up. The table of contents of this document is short.
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("code")
    for path, text in {
        "go.mod": "module example.com/m\n\ngo 1.24\n",
        "storage/quota.go": QUOTA,
        "storage/quota_test.go": QUOTA_TEST,
        "server/put.go": CALLER,
        "server/v3compactor/compactor.go": COMPACTOR,
        "markup/tableofcontents/tableofcontents.go": CONTENTS,
        "README.md": README,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    learn_graph(root)
    finish(root, root / ".golore")
    return root


def asked(root: Path, text: str, **options: Any) -> tuple[Hit, ...]:
    repository = LearnedRepository(root, root / ".golore")
    with Store.open(repository.store, write=False) as store, sources_of(repository, store) as sources:
        return search(sources, SearchRequest(text, **options)).hits


@pytest.mark.parametrize("text", ["quota of the backend in bytes", "database space exceeded", "quota-backend-bytes"])
def test_code_comes_before_prose_and_before_its_tests(root: Path, text: str) -> None:
    files = [hit.file for hit in asked(root, text)]
    assert files[0] == "storage/quota.go"
    assert files.index("storage/quota.go") < files.index("storage/quota_test.go")
    assert "README.md" not in files[:2]


def test_prose_comes_first_if_documents_are_asked_for(root: Path) -> None:
    assert asked(root, "documentation of the quota-backend-bytes flag")[0].kind == "doc"
    assert asks_for_documents("what does the README say about quotas")
    assert not asks_for_documents("where is the quota checked")


def test_tests_come_first_if_they_are_asked_for(root: Path) -> None:
    assert asked(root, "tests of the quota of the backend")[0].file == "storage/quota_test.go"
    assert asks_for_tests("benchmark of Put")
    assert not asks_for_tests("quota")


def test_an_error_text_is_found_where_it_is_defined(root: Path) -> None:
    hit = asked(root, "storage: database space exceeded")[0]
    assert (hit.file, hit.line) == ("storage/quota.go", QUOTA.split("\n").index("var ErrNoSpace = " + DEFINED) + 1)
    assert "storage.ErrNoSpace" in hit.symbols[0].name
    assert DEFINED in hit.snippet


DEFINED = 'errors.New("storage: database space exceeded")'


def test_a_flag_is_found_where_it_is_declared(root: Path) -> None:
    for text in ("quota-backend-bytes", "--quota-backend-bytes"):
        hit = asked(root, text)[0]
        assert (hit.file, hit.symbols[0].name.rpartition("/")[2]) == ("storage/quota.go", "storage.AddFlags")


def test_words_are_found_joined_split_and_with_other_endings(root: Path) -> None:
    for text in ("table of contents", "tableofcontents", "table_of_contents"):
        assert asked(root, text)[0].file == "markup/tableofcontents/tableofcontents.go"
    assert asked(root, "auto compaction")[0].file == "server/v3compactor/compactor.go"


def test_typos_are_tolerated_in_words_and_in_names_of_files(root: Path) -> None:
    assert asked(root, "avalable request size")[0].file == "storage/quota.go"
    assert [hit.file for hit in asked(root, "compactr", kind="file")] == ["server/v3compactor/compactor.go"]


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ('var Err = errors.New("disk is full")', 1.1),
        ('log.Warn("disk is full", size)', 1.0),
        ('log.Warn("the disk is full now")', 0.85),
        ("// the disk is full", 0.4),
    ],
)
def test_a_definition_counts_more_than_a_use_and_a_comment(code: str, value: float) -> None:
    hit = Phrase("disk is full", {"disk": 2.0, "full": 1.0}).hit_in(f"package a\n\n{code}\n")
    assert hit is not None
    assert (hit.value, hit.line, hit.text) == (value, 3, code)


def test_a_message_is_recognized_without_the_values_in_it() -> None:
    weights = {"alias": 3.0, "traverse": 4.0, "outsid": 3.0, "root": 2.0}
    phrase = Phrase('alias "x/y" traverses outside the root', weights)
    hit = phrase.hit_in('return fmt.Errorf("alias %q traverses outside the root", name)')
    assert hit is not None
    assert hit.is_literal
    assert phrase.hit_in("func outside(root string) {}") is None


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("where are requests redirected to https", {"redirected"}),
        ("where is the file written", {"written"}),
        ("which code checks that a command may be executed", {"executed"}),
        ("how are requests redirected", set[str]()),
        ("which requests are redirected", set[str]()),
        ("where is the cache", set[str]()),
        ("", set[str]()),
    ],
)
def test_a_question_for_a_place_has_the_action_that_is_done_there(text: str, actions: set[str]) -> None:
    assert asked_actions(text) == {stem(word) for word in actions}


def test_a_function_called_like_the_action_fits_better_than_a_type_with_the_same_words() -> None:
    weights = {"request": 1.0, "redirect": 1.0, "http": 1.0}
    function = IndexedSymbol("func", "makeRedirect", "makeRedirectRequest", 1, "")
    kind = IndexedSymbol("struct", "RedirectRequest", "RedirectRequest", 1, "")
    asked = best_fit([function], weights, 3.0, {"redirect"}), best_fit([kind], weights, 3.0, {"redirect"})
    assert asked[0] > asked[1]
    assert best_fit([function], weights, 3.0) < best_fit([kind], weights, 3.0)
