"""`golore affected`: what it prints for the changes of a repository, and what it refuses to compare."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golore.learner.changes.other_files import is_embedded
from golore.learner.learn import learn
from golore.mcp_server.cli.main import main
from mcp import Client
from support.git_repository import commit, git
from support.mcp_client import inside, refused, told

STORE = """package store

import _ "embed"

//go:embed schema/*.sql
var schema string

// Save is described in the decision.
func Save(n int) int { return n + len(schema) }

func Load() int { return 1 }
"""
FILES = {
    "go.mod": "module example.com/shop\n\ngo 1.22\n\nrequire example.com/dep v1.0.0\n",
    "store/store.go": STORE,
    "store/other.go": "package store\n\nfunc Other() {}\n",
    "store/schema/a.sql": "select 1\n",
    "store/testdata/in.txt": "1\n",
    "store/store_test.go": """package store

import "testing"

func TestSave(t *testing.T) { Save(1) }

func TestLoad(t *testing.T) { Load() }
""",
    "cart/cart.go": """package cart

import "example.com/shop/store"

type Saver interface{ Keep() }

type Cart struct{}

func (Cart) Keep() { store.Save(1) }

func KeepAll(s Saver) { s.Keep() }

func All() { KeepAll(Cart{}) }
""",
    "net/net.go": 'package net\n\nimport "example.com/dep/sub"\n\nfunc N() { sub.F() }\n',
    "net/net_test.go": 'package net\n\nimport "testing"\n\nfunc TestN(t *testing.T) { N() }\n',
    "docs/adr/0001-save.md": "# Save returns a number\n\nStatus: accepted\n\n`store.Save` returns what it saved.\n",
}


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_shop(tmp_path_factory.mktemp("learned"))


@pytest.fixture
def shop(learned: Path) -> Iterator[Path]:
    """The same repository for all tests, as it was committed. Tests do not learn it again."""
    first = git(learned, "rev-parse", "HEAD")
    yield learned
    git(learned, "checkout", "-q", "-f", "-B", "main", first)
    git(learned, "clean", "-fdq")


def make_shop(root: Path) -> Path:
    git(root, "init", "-q", "-b", "main")
    commit(root, {**FILES})
    for number in range(3):
        commit(
            root,
            {
                "store/store.go": f"{STORE}\n// {number}\n",
                "store/other.go": f"package store\n\nfunc Other() {{}}\n\n// {number}\n",
            },
        )
    learn(root, root / ".golore", workers=0)
    return root


def ask(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["affected", "--json", "--repo", str(root), *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def edit(root: Path, name: str, old: str, new: str) -> None:
    text = (root / name).read_text()
    assert old in text
    (root / name).write_text(text.replace(old, new))


def test_an_edit_lists_its_users_tests_commands_documents_and_companions(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(shop, "store/store.go", "return n + len", "return 2*n + len")
    found = ask(shop, capsys)
    assert [(one["name"], one["how"], one["line"]) for one in found["changed"]] == [
        ("example.com/shop/store.Save", "body", 9)
    ]
    assert [(one["name"], one["depth"]) for one in found["resolved"]] == [("example.com/shop/cart.Cart.Keep", 1)]
    assert [one["name"] for one in found["candidates"]] == [
        "example.com/shop/cart.KeepAll",
        "example.com/shop/cart.All",
    ]
    assert found["tests"] == [
        {"file": "store/store_test.go", "line": 5, "name": "TestSave", "package": "example.com/shop/store"}
    ]
    assert found["commands"] == ["go test ./store -run '^TestSave$'"]
    assert [(one["kind"], one["place"]) for one in found["descriptions"]] == [
        ("decision record", "docs/adr/0001-save.md:1")
    ]
    assert found["together"] == [{"file": "store/other.go", "changed": "store/store.go", "shared": 4, "commits": 4}]
    assert found["breaking"] == []
    assert found["stale"] == ["store/store.go"]


def test_what_uses_a_removed_name_is_a_candidate_and_its_tests_are_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = make_shop(tmp_path)
    edit(shop, "store/store.go", "func Load() int { return 1 }", "")
    learn(shop, shop / ".golore", workers=0)
    found = ask(shop, capsys)
    assert [(one["name"], one["how"]) for one in found["changed"]] == [("Load", "removed")]
    assert [one["name"] for one in found["tests"]] == ["TestLoad"]


def test_a_changed_signature_is_breaking(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(shop, "store/store.go", "func Save(n int)", "func Save(n int64)")
    assert [(one["name"], one["what"]) for one in ask(shop, capsys)["breaking"]] == [("Save", "its signature changed")]


@pytest.mark.parametrize(
    ("file", "text", "commands"),
    [
        ("store/schema/a.sql", "select 2\n", ["go test ./store -run '^TestSave$'"]),
        ("store/testdata/in.txt", "2\n", ["go test ./store"]),
        ("store/more.s", "TEXT\n", ["go test ./store"]),
        ("go.mod", FILES["go.mod"].replace("v1.0.0", "v1.1.0"), ["go test ./net"]),
        ("go.mod", FILES["go.mod"].replace("1.22", "1.23"), ["go test ./net", "go test ./store"]),
        ("README.md", "# Shop\n", []),
    ],
)
def test_files_that_are_no_go_code_lead_to_the_tests_that_depend_on_them(
    shop: Path, capsys: pytest.CaptureFixture[str], file: str, text: str, commands: list[str]
) -> None:
    (shop / file).write_text(text)
    assert ask(shop, capsys)["commands"] == commands


def test_a_range_a_base_the_index_and_a_patch_are_compared(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(shop, "store/store.go", "return 1", "return 2")
    patch = tmp_path / "change.patch"
    patch.write_text(git(shop, "diff") + "\n")
    git(shop, "add", "-A")
    expected = ["example.com/shop/store.Load"]
    assert [one["name"] for one in ask(shop, capsys, "--staged")["changed"]] == expected
    git(shop, "stash", "-q")
    assert [one["name"] for one in ask(shop, capsys, str(patch))["changed"]] == expected
    git(shop, "stash", "pop", "-q")
    git(shop, "commit", "-q", "-a", "-m", "load")
    assert ask(shop, capsys)["changed"] == []
    assert [one["name"] for one in ask(shop, capsys, "HEAD~1..HEAD")["changed"]] == expected
    assert [one["name"] for one in ask(shop, capsys, "--base", "HEAD~1")["changed"]] == expected


def test_text_and_markdown_name_the_commands_and_what_was_left_out(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(shop, "store/store.go", "return n + len", "return 2*n + len")
    edit(shop, "store/store.go", "return 1", "return 2")
    assert main(["affected", "--top", "1", "--repo", str(shop)]) == 0
    text = capsys.readouterr().out
    assert "1 changed file, 2 declarations, used by 1 declaration and 2 tests to run." in text
    assert "  go test ./store -run '^TestSave$'\n" in text
    assert "1 test more may reach the change." in text
    assert main(["affected", "--markdown", "--repo", str(shop)]) == 0
    comment = capsys.readouterr().out
    assert "```sh\ngo test ./store\n```" in comment
    assert "- `store/other.go`: 4 of 4 commits of `store/store.go`" in comment


def test_files_to_look_at_come_with_their_reasons_the_nearest_first(
    shop: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (shop / "store" / "store.go").write_text(STORE.replace("return n + len(schema)", "return n + 2*len(schema)"))
    nearby = ask(shop, capsys)["nearby"]
    paths = [one["path"] for one in nearby]
    assert "store/store.go" not in paths
    assert paths[:3] == ["store/store_test.go", "store/other.go", "cart/cart.go"]
    reasons = {one["path"]: one["why"] for one in nearby}
    assert reasons["store/store_test.go"] == ["same name", "1 test to run", "same directory"]
    assert reasons["cart/cart.go"] == ["uses it in 1 declaration", "may use it over 2 steps"]
    assert "net/net.go" not in paths
    assert [one["score"] for one in nearby] == sorted((one["score"] for one in nearby), reverse=True)


def test_nothing_to_compare_is_said_in_one_line(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["affected", "--repo", str(shop)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("No file differs between HEAD (")
    assert len(out.splitlines()) == 1


def refusal(root: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["affected", "--repo", str(root), *arguments]) in (1, 2)
    (line,) = capsys.readouterr().err.splitlines()
    return line


def test_bad_input_gets_one_sentence(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "nowhere" in refusal(shop, capsys, "--base", "nowhere")
    assert "neither a range of revisions" in refusal(shop, capsys, "HEAD")
    binary = tmp_path / "binary.patch"
    file = "store/schema/a.sql"
    binary.write_text(f"diff --git a/{file} b/{file}\nindex 1..2 100644\nBinary files a/{file} and b/{file} differ\n")
    assert "make it with `git diff --binary`" in refusal(shop, capsys, str(binary))
    assert "Give either" in refusal(shop, capsys, "HEAD~1..HEAD", "--staged")


def test_a_directory_without_git_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "go.mod").write_text("module m\n")
    (tmp_path / "a.go").write_text("package m\n")
    learn(tmp_path, tmp_path / ".golore", workers=0)
    assert "git" in refusal(tmp_path, capsys)


def test_a_base_that_a_shallow_clone_does_not_have_is_refused(
    shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone = tmp_path / "shallow"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{shop}", str(clone)], check=True)
    learn(clone, clone / ".golore", workers=0)
    assert "shallow" in refusal(clone, capsys, "HEAD~1..HEAD")


def test_a_merge_with_conflicts_is_refused_in_one_sentence(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(shop, "checkout", "-q", "-b", "other")
    commit(shop, {"store/other.go": "package store\n\nfunc Other() { Load() }\n"})
    git(shop, "checkout", "-q", "main")
    commit(shop, {"store/other.go": "package store\n\nfunc Other() { Save(1) }\n"})
    with pytest.raises(subprocess.CalledProcessError):
        git(shop, "merge", "other")
    assert "merge" in refusal(shop, capsys, "--staged")


@pytest.mark.parametrize(
    ("path", "pattern", "is_included"),
    [
        ("a.sql", "a.sql", True),
        ("a.sql", "*.sql", True),
        ("schema/a.sql", "*.sql", False),
        ("schema/a.sql", "schema", True),
        ("schema/deep/a.sql", "schema", True),
        ("schema/.hidden", "schema", False),
        ("schema/.hidden", "all:schema", True),
        ("schema/.hidden", "schema/.hidden", True),
        ("schema/a.sql", "schema/*.txt", False),
    ],
)
def test_patterns_of_embed_directives_match_as_in_go(path: str, pattern: str, *, is_included: bool) -> None:
    assert is_embedded(path, pattern) == is_included


def test_a_note_on_what_changed_is_listed_and_cannot_leave_its_place_in_markdown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = make_shop(tmp_path)
    assert main(["note", "store.Save", "Never zero: ![x](http://e.example) @all <b>", "--repo", str(shop)]) == 0
    edit(shop, "store/store.go", "return n + len", "return 2*n + len")
    capsys.readouterr()
    texts = [one["text"] for one in ask(shop, capsys)["descriptions"]]
    assert "Never zero: ![x](http://e.example) @all <b>" in texts
    assert main(["affected", "--markdown", "--repo", str(shop)]) == 0
    assert "Never zero: !\\[x\\](http://e.example) \\@all \\<b\\>" in capsys.readouterr().out


def test_agents_ask_for_what_uncommitted_changes_affect(shop: Path) -> None:
    edit(shop, "store/store.go", "return n + len", "return 2*n + len")

    async def talk(client: Client) -> tuple[str, str, str]:
        return (
            await told(client, "memory_graph", question="affected"),
            await told(client, "memory_graph", question="affected", symbol="HEAD~1..HEAD"),
            await refused(client, "memory_graph", question="callers"),
        )

    uncommitted, committed, refusal = inside(talk, shop)
    assert "store/store.go:9  store.Save  body changed" in uncommitted
    assert "go test ./store -run '^TestSave$'" in uncommitted
    assert "0 tests to run" in committed
    assert refusal.endswith("Give the symbol whose callers you ask for.")
