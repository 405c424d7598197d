"""Documents: how they are read, what of the code they name, and that what is kept of them follows every change."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from golore.graph.cards.card_store import create_card_store
from golore.graph.database.store import Store
from golore.graph.knowledge.documents import lines_about
from golore.graph.transfer.jsonl_export import export_jsonl
from golore.learner.checkout.discovery import discover
from golore.learner.documents.document_step import LearnedDocuments, update_documents
from golore.learner.documents.markdown import read_markdown
from golore.learner.documents.sections import MAX_SECTION_CHARACTERS, read_document
from golore.learner.learn import finish, learn
from golore.learner.pipeline.graph_step import learn_graph
from golore.learner.pipeline.incremental import IncrementalLearner
from golore.mcp_server.cli.main import main
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support.shop import FILES

DOCUMENTS = {
    "README.md": """\
# Shop

Start in `store/store.go` or read [the store](store). See https://pkg.go.dev/example.com/shop/store#Memory.Save.

## Usage

```go
import "example.com/shop/store"

m := store.New()
m.Save("a")
other.New()
```

Words like Limit, Memory and store.New in prose are no names, and `Limit` alone is a word.
`TotallyUnknown`, `New()`, `config.yaml`, `fmt.Println` and `Sync` mean nothing here; `lonely()` is at home.
""",
    "docs/adr/0001-memory.md": """\
---
status: Accepted
---
# Keep things in memory

## Context

`store.Memory` and `Memory.Save` are enough; `store.Put` as well.
""",
    "docs/notes.md": "# Decision\n\n`shop/store.Put`\n\n## Status\n\nSuperseded by [0002](x.md)\n\n## Context\n",
    "store/README.md": "`Put` and `Memory` are here, and `sync_linux.go` is; so is `Sync`.\n",
    "CHANGELOG.md": "# 1.0\n\n- `store.Put` was added\n\n## Fixed\n\n### Deeper\n\ntext\n",
    "docs/page.html": "<html><head><title>Page</title></head><body><h1>Saving</h1><p>See <code>Memory.Save</code></p>"
    "<script>var x = `store.Put`</script></body></html>",
    "docs/plain.txt": "The package example.com/shop/store is in store/store.go, nothing else is.\n",
    "assets/ui.html": "<h1>No document</h1><code>store.Put</code>",
    "ignored/secret.md": "`store.Put`\n",
    ".gitignore": "ignored/\n",
    "store/example_test.go": "package store_test\n\nfunc ExamplePut() {}\n\nfunc ExampleMemory_Save() {}\n\n"
    "func Example() {}\n",
}


def make_repository(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    (root / ".git").mkdir(exist_ok=True)
    return root


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_repository(tmp_path_factory.mktemp("documented"), {**FILES, **DOCUMENTS})
    learn_graph(root, workers=0)
    finish(root, root / ".golore")
    return root


def described(root: Path, store: Path | None = None) -> list[dict[str, object]]:
    """The documents' part of an export."""
    out = io.StringIO()
    with Store.open(store or root / ".golore", write=False) as opened:
        export_jsonl(opened, out)
    rows = map(json.loads, out.getvalue().splitlines())
    return [row for row in rows if row["label"] == "Doc" or row.get("source_label") == "Doc"]


def links(root: Path) -> set[tuple[str, str, str]]:
    return {
        (str(row["source"]), str(row["target"]).removeprefix("example.com/shop/"), str(row["evidence"]))
        for row in described(root)
        if row["type"] == "edge"
    }


def test_what_a_document_names_is_linked_and_nothing_that_could_be_something_else(repository: Path):
    assert links(repository) == {
        ("README.md#shop", "store/store.go", "path"),
        ("README.md#shop", "store", "path"),
        ("README.md#shop", "store.Memory.Save", "qualified name"),
        ("README.md#usage", "store", "import path"),
        ("README.md#usage", "store.New", "code block"),
        ("README.md#usage", "example.com/shop.New", "code span"),
        ("README.md#usage", "example.com/shop.lonely", "code span"),
        ("docs/adr/0001-memory.md#context", "store.Memory", "qualified name"),
        ("docs/adr/0001-memory.md#context", "store.Memory.Save", "qualified name"),
        ("docs/adr/0001-memory.md#context", "store.Put", "qualified name"),
        ("docs/notes.md#decision", "store.Put", "qualified name"),
        ("store/README.md", "store.Put", "code span"),
        ("store/README.md", "store.Memory", "code span"),
        ("store/README.md", "store/sync_linux.go", "path"),
        ("store/README.md", "store.Sync@sync_linux.go", "code span"),
        ("store/README.md", "store.Sync@sync_windows.go", "code span"),
        ("docs/page.html#saving", "store.Memory.Save", "qualified name"),
        ("docs/plain.txt", "store", "import path"),
        ("docs/plain.txt", "store/store.go", "path"),
    }


def test_an_edge_says_on_which_lines_of_the_document_it_is(repository: Path):
    found = [row for row in described(repository) if row.get("source") == "README.md#usage"]
    assert {str(row["target"]): row["sites"] for row in found}["example.com/shop/store.New"] == [10]


def test_sections_have_their_own_text_and_lines(repository: Path):
    docs = {row["id"]: row for row in described(repository) if row["type"] == "node"}
    usage = docs["README.md#usage"]
    assert (usage["title"], usage["level"], usage["line"], usage["end_line"]) == ("Usage", 2, 5, 16)
    assert str(usage["text"]).startswith('import "example.com/shop/store"')
    assert "assets/ui.html" not in {row["path"] for row in docs.values()}
    assert "ignored/secret.md" not in {row["path"] for row in docs.values()}


def test_decision_records_are_known_by_their_place_or_their_headings(repository: Path):
    records = {row["path"]: row["status"] for row in described(repository) if row.get("record")}
    assert records == {"docs/adr/0001-memory.md": "Accepted", "docs/notes.md": "Superseded by 0002"}


def test_a_changelog_is_kept_by_release_and_describes_nothing(repository: Path):
    rows = [row for row in described(repository) if "CHANGELOG.md" in str(row.get("path", row.get("source")))]
    assert [row["id"] for row in rows] == ["CHANGELOG.md#10", "CHANGELOG.md#fixed"]


def test_the_card_of_a_file_names_its_documents_decisions_first_and_its_examples(repository: Path):
    lines = lines_about(repository / ".golore", "store/store.go")
    assert lines[0] == "docs/adr/0001-memory.md:6 “Context” (decision, Accepted): Memory, Memory.Save, Put"
    assert lines[-1] == "examples: ExampleMemory_Save (store/example_test.go:5), ExamplePut (store/example_test.go:3)"
    assert lines_about(repository / ".golore", "store/")[-1] == "examples: Example (store/example_test.go:7)"


def test_context_of_a_symbol_names_its_documents_and_examples(repository: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["context", "store.Put", "--repo", str(repository)]) == 0
    told = capsys.readouterr().out
    assert "Documents:\n- docs/adr/0001-memory.md:6 “Context” (decision, Accepted): Put" in told
    assert "ExamplePut (store/example_test.go:3)" in told
    assert "ExampleMemory_Save" not in told


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# One\n\n## Two ##\n", [(1, 1, "One"), (3, 2, "Two")]),
        ("One\n===\n\nTwo\nlines\n---\n", [(1, 1, "One"), (4, 2, "Two\nlines")]),
        ("```sh\n# no\n```\n# yes\n", [(4, 1, "yes")]),
        ("~~~\n# no\n```\n# no\n~~~\n", []),
        ("    # no\n\n# yes\n", [(3, 1, "yes")]),
        ("---\ntitle: x\n---\n# yes\n", [(4, 1, "yes")]),
        ("<!--\n# no\n-->\n# yes\n", [(4, 1, "yes")]),
        ("<div>\n# no\n\n# yes\n</div>\n", [(4, 1, "yes")]),
        ("- item\n\n  # no\n\n# yes\n", [(5, 1, "yes")]),
        ("> # no\n\n#no\n\n####### no\n", []),
        ("- a\n- b\n---\n\ntext\n", []),
        ("\ufeff# yes\r\n\r\ntext\r\n", [(1, 1, "yes")]),
    ],
)
def test_headings_are_found_where_commonmark_has_them(text: str, headings: list[tuple[int, int, str]]):
    blocks = read_markdown(text).blocks
    assert [(block.line, block.level, block.text) for block in blocks if block.kind == "heading"] == headings


@given(
    st.lists(st.sampled_from(["# a", "text", "", "===", "---", "```", "    x", "- i", "  # b", "> q", "<div>", "1. z"]))
)
def test_headings_are_those_of_a_commonmark_parser(lines: list[str]):
    text = "\n".join(["first", *lines])
    tokens = MarkdownIt("commonmark").parse(text)
    wanted = [
        (token.map[0] + 1, int(token.tag[1]))
        for token in tokens
        if token.type == "heading_open" and token.level == 0 and token.map
    ]
    found = [(block.line, block.level) for block in read_markdown(text).blocks if block.kind == "heading"]
    assert found == wanted


@given(st.binary(), st.sampled_from(["a.md", "docs/a.html", "docs/a.txt", "adr/1.md", "CHANGELOG.md"]))
def test_any_bytes_are_read_and_no_section_is_too_long(data: bytes, path: str):
    page = read_document(path, data)
    assert len({section.anchor for section in page.sections}) == len(page.sections)
    assert all(len(section.text) < MAX_SECTION_CHARACTERS + 100 for section in page.sections)
    assert all(1 <= section.line <= section.end_line for section in page.sections)


def test_a_long_section_is_cut_and_says_so():
    page = read_document("a.md", b"# Long\n\n" + b"some words here\n" * 1_000)
    assert page.sections[0].text.endswith("more characters")
    assert len(page.sections[0].text) < MAX_SECTION_CHARACTERS + 100


def test_documents_follow_gits_rules_and_are_no_go_files(tmp_path: Path):
    root = make_repository(
        tmp_path,
        {
            "a.go": "package a\n",
            "a.md": "",
            "_index.md": "",
            ".hidden.md": "",
            "vendor/x/r.md": "",
            "testdata/t.md": "",
        },
    )
    found = discover(root)
    assert [file.path for file in found.documents] == ["_index.md", "a.md"]
    assert [file.path for file in found.files] == ["a.go"]


CODE = {
    "go.mod": "module example.com/d\n\ngo 1.24\n",
    "a/a.go": "package a\n\ntype BigThing struct{}\n\nfunc (BigThing) Run() {}\n\nfunc OpenIt() {}\n",
    "b/b.go": "package b\n\nfunc Other() {}\n",
    "docs/x.md": "# X\n\n`BigThing.Run`, `OpenIt`, `b/b.go`, `example.com/d/b`, `SecondThing`, `b.Other`\n",
    "b/README.md": "`Other` and `Later`\n",
}
Step = tuple[str, dict[str, str | None]]
STEPS: tuple[Step, ...] = (
    ("a body changes", {"a/a.go": CODE["a/a.go"].replace("OpenIt() {}", "OpenIt() { println(1) }")}),
    ("a name vanishes", {"a/a.go": CODE["a/a.go"].replace("OpenIt", "OpenThat")}),
    ("it returns", {"a/a.go": CODE["a/a.go"]}),
    ("a namesake makes it ambiguous", {"b/b.go": CODE["b/b.go"] + "\nfunc OpenIt() {}\n"}),
    (
        "a twin appears",
        {"b/b_linux.go": "package b\n\nfunc Later() {}\n", "b/b_windows.go": "package b\n\nfunc Later() {}\n"},
    ),
    ("the document changes", {"docs/x.md": "# Y\n\n`SecondThing`\n\n# X\n\n`BigThing`\n"}),
    (
        "a document comes",
        {"docs/z.md": "`SecondThing` and `a/a.go`\n", "c/c.go": "package c\n\ntype SecondThing int\n"},
    ),
    ("a package goes", {"b/b.go": None, "b/b_linux.go": None, "b/b_windows.go": None}),
    ("a document goes", {"docs/x.md": None}),
    ("a document is ignored", {".gitignore": "docs/\n"}),
)


def change(root: Path, files: dict[str, str | None]) -> None:
    for path, text in files.items():
        if text is None:
            (root / path).unlink()
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)


def fresh(root: Path, place: Path) -> list[dict[str, object]]:
    learn_graph(root, store_directory=place, workers=0)
    update_documents(root, place)
    return described(root, place)


def test_after_every_change_documents_are_those_of_a_fresh_learn(tmp_path: Path):
    root = make_repository(tmp_path / "r", CODE)
    store = root / ".golore"
    warm = IncrementalLearner(root, store)
    warm.learn()
    update_documents(root, store)
    for number, (_, files) in enumerate(STEPS):
        change(root, files)
        go = [path for path in files if path.endswith(".go")]
        update = warm.update(go) if len(go) == len(files) else warm.learn()
        update_documents(root, store, changed=update.paths, is_only_code=len(go) == len(files))
        assert described(root) == fresh(root, tmp_path / f"fresh{number}"), STEPS[number][0]


POOL: dict[str, tuple[str | None, ...]] = {
    "a/a.go": (
        CODE["a/a.go"],
        "package a\n\nfunc OpenIt() {}\n",
        "package a\n\ntype BigThing struct{ Run int }\n",
        "package a\n",
        None,
    ),
    "a/a_linux.go": (None, "package a\n\nfunc OpenIt() {}\n", "package a\n\nfunc (BigThing) Run() {}\n"),
    "a/x_test.go": (None, "package a\n\nfunc ExampleOpenIt() {}\n", "package a\n\n\nfunc ExampleBigThing_Run() {}\n"),
    "b/b.go": (CODE["b/b.go"], "package b\n\nfunc OpenIt() {}\n", 'package b\n\nimport _ "example.org/a"\n', None),
    "docs/x.md": (CODE["docs/x.md"], "# X\n\n`a.OpenIt` and `a/a_linux.go`\n\n# X\n\n`OpenIt`\n", "", None),
    "a/README.md": (None, "`OpenIt`, `Run`, `BigThing`\n", "`example.com/d/b` and `b/`\n"),
    ".gitignore": (None, "*.md\n", "a/\n"),
}


@pytest.mark.parametrize("full", [True, False])
def test_documents_that_are_loaded_with_the_graph_equal_those_added_to_it(tmp_path: Path, full: bool):
    root = make_repository(tmp_path / "r", {**FILES, **DOCUMENTS})
    store = tmp_path / "store"
    learn(root, store, full=full)
    loaded = described(root, store)
    assert loaded == fresh(root, tmp_path / "fresh")
    assert update_documents(root, store) == LearnedDocuments()
    assert described(root, store) == loaded


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(st.tuples(st.sampled_from(sorted(POOL)), st.integers(0, 4), st.booleans()), min_size=4, max_size=9))
def test_after_any_changes_documents_are_those_of_a_fresh_learn(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int, bool]]
):
    place = tmp_path_factory.mktemp("any")
    root = make_repository(place / "r", {**CODE, "keep/keep.go": "package keep\n"})
    store = root / ".golore"
    warm = IncrementalLearner(root, store)
    warm.learn()
    finish(root, store)
    for number, (path, choice, is_cold) in enumerate(steps):
        texts = POOL[path]
        text = texts[choice % len(texts)]
        if text is None:
            (root / path).unlink(missing_ok=True)
        else:
            change(root, {path: text})
        is_edit = path.endswith(".go") and not is_cold
        update = warm.update([path]) if is_edit else warm.learn()
        finish(root, store, changed=update.changed, is_only_code=is_edit)
        assert described(root) == fresh(root, place / f"fresh{number}")
        assert lines_about(store, "a/a.go") == lines_about(place / f"fresh{number}", "a/a.go")


def test_an_edit_of_a_body_reads_and_links_no_document(tmp_path: Path):
    root = make_repository(tmp_path, CODE)
    store = root / ".golore"
    warm = IncrementalLearner(root, store)
    warm.learn()
    assert update_documents(root, store).read == 2
    assert update_documents(root, store) == LearnedDocuments()
    change(root, STEPS[0][1])
    update = warm.update(["a/a.go"])
    assert update.paths == ("a/a.go",)
    assert update_documents(root, store, changed=update.paths) == LearnedDocuments()
    change(root, {"docs/x.md": "# X\n\n`OpenIt`\n"})
    assert update_documents(root, store, changed=()) == LearnedDocuments(1, 1, frozenset({"a/a.go", "b/b.go", "b/"}))


def test_edges_that_went_with_a_declaration_return_with_it_although_no_step_ran_between(tmp_path: Path):
    root = make_repository(tmp_path, CODE)
    store = root / ".golore"
    learn_graph(root, workers=0)
    update_documents(root, store)
    before = described(root)
    change(root, STEPS[1][1])
    learn_graph(root, workers=0)
    change(root, STEPS[2][1])
    learn_graph(root, workers=0)
    assert described(root) != before
    update_documents(root, store)
    assert described(root) == before


def test_a_changed_document_changes_the_card_of_what_it_names(tmp_path: Path):
    root = make_repository(tmp_path, CODE)
    store = root / ".golore"
    learn_graph(root, workers=0)
    finish(root, store)
    with create_card_store(store) as card_store:
        card = card_store.card("a/a.go")
        assert card is not None
        assert "docs/x.md:1 “X”: BigThing.Run, OpenIt" in card.text
    change(root, {"docs/x.md": "# Nothing\n"})
    learn_graph(root, workers=0)
    finish(root, store)
    with create_card_store(store) as card_store:
        card = card_store.card("a/a.go")
        assert card is None or "docs/x.md" not in card.text
