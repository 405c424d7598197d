"""`import golore`: the public names, the repository object, and its agreement with the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import golore
import pytest
from golore.graph.queries.answers import Answer, Link, Meaning, Ref, UnresolvedUses
from golore.mcp_server.cli.main import main
from golore.mcp_server.text.output import to_json_value
from msgspec.structs import replace
from support.git_repository import commit, git
from support.shop import make_shop

STORE = "example.com/shop/store"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    report = golore.learn(root)
    assert report.files == 5
    return root


@pytest.fixture
def shop(root: Path) -> Iterator[golore.Repository]:
    with golore.open(root / "store") as repository:
        yield repository


def test_importing_golore_loads_nothing_but_the_package_itself() -> None:
    script = "import sys; before = set(sys.modules); import golore; print(sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['golore']"


def test_every_public_name_exists_and_no_other_does() -> None:
    for name in golore.__all__:
        assert getattr(golore, name).__name__ == name
        documentation = getattr(golore, name).__doc__
        assert documentation
        assert not documentation.startswith(f"{name}("), f"{name} has no docstring of its own"
    assert dir(golore) == sorted(golore.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Stores'"):
        _ = golore.Stores  # pyright: ignore[reportAttributeAccessIssue]  the name must not exist


def test_what_a_change_affects_is_answered_as_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_shop(tmp_path / "shop")
    git(root, "init", "-q")
    commit(root, {"note.txt": "first\n"})
    golore.learn(root)
    source = root / "store" / "store.go"
    source.write_text(source.read_text("utf-8").replace("m.items[key]++", "m.items[key] += 2"), "utf-8")
    with golore.open(root) as repository:
        found = repository.affected()
    assert isinstance(found, golore.Affected)
    assert [one.symbols[0].name for one in found.changed] == ["Save"]
    assert main(["affected", "--json", "--repo", str(root)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [one.symbol.qualified_name for one in found.resolved] == [one["name"] for one in printed["resolved"]]
    assert list(found.commands) == printed["commands"]
    assert main(["affected", "--format", "mermaid", "--repo", str(root)]) == 0
    assert "store.Memory.Save" in capsys.readouterr().out


def test_a_repository_that_was_not_learned_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(golore.StoreMissing, match=r"is not in a learned repository\. Run `golore learn`"):
        golore.open(tmp_path)
    with pytest.raises(golore.UsageError, match="There is no directory"):
        golore.learn(tmp_path / "missing")


@pytest.mark.parametrize("question", ["callers", "callees", "users", "tests", "implementers"])
def test_answers_are_those_of_the_command_line(
    shop: golore.Repository, root: Path, question: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = {"implementers": "store.Saver", "callees": "run", "tests": "store.New"}.get(question, "store.Memory.Save")
    answer = getattr(shop, question)(name)
    capsys.readouterr()
    assert main([question, name, "--repo", str(root), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert to_json_value(answer.resolved) == printed["resolved"]
    assert to_json_value(answer.candidates) == printed["candidates"]
    assert answer.resolved or answer.candidates


def test_names_may_be_results(shop: golore.Repository) -> None:
    (symbol,) = (one for one in shop.symbols(kind="method") if one.qualified_name == f"{STORE}.Memory.Save")
    by_row = shop.users(symbol)
    assert by_row == shop.users("Memory.Save")
    assert shop.users(by_row.subject.first) == by_row
    with pytest.raises(golore.UnclearName, match="Nothing is named 'Sav'"):
        shop.callers("Sav")


def test_writes_of_a_field_are_told_from_other_uses(shop: golore.Repository) -> None:
    assert [link.symbol.name for link in shop.users("Memory.items").resolved] == ["Save", "New"]
    assert [link.symbol.name for link in shop.users("Memory.items", access="write").resolved] == []
    with pytest.raises(golore.UsageError, match="There is no access 'reads'"):
        shop.users("Memory.items", access="reads")


def test_path_impact_search_explore_context_and_cypher_answer(shop: golore.Repository) -> None:
    assert [step.symbol.name for step in shop.path("TestPut", "store.New").steps] == ["TestPut", "New"]
    assert {one.symbol.name for one in shop.impact("store.New").tests} == {"TestPut"}
    assert shop.search("Memory").hits[0].name == f"{STORE}.Memory"
    assert "func Put(s Saver" in shop.explore("Put").text
    assert shop.context("store.go").kind == "file"
    assert shop.notes() == ()
    assert shop.cypher("MATCH (f:File) RETURN count(*) AS files") == [{"files": 5}]
    with pytest.raises(golore.UsageError):
        shop.cypher("MATCH (f:File) DELETE f")


def test_rows_are_chosen_by_patterns_of_packages(shop: golore.Repository) -> None:
    assert [one.path for one in shop.packages()] == ["example.com/shop", STORE]
    assert [one.path for one in shop.packages("./store/...")] == [STORE]
    assert {one.package for one in shop.symbols(STORE)} == {STORE}
    assert len(list(shop.files("./..."))) == 5
    assert [one.path for one in shop.files(".")] == ["main.go"]
    assert {edge.target for edge in shop.edges("IMPLEMENTS")} >= {f"{STORE}.Saver"}
    with pytest.raises(golore.UsageError, match=r"No package matches './stores'"):
        list(shop.symbols("./stores"))
    with pytest.raises(golore.UsageError, match="There is no label 'CALL'"):
        shop.edges("CALL")


def test_a_learn_is_not_blocked_by_an_open_repository_and_is_seen_by_it(tmp_path: Path) -> None:
    root = make_shop(tmp_path / "shop")
    golore.learn(root)
    with golore.open(root) as shop:
        assert len(shop.callers("store.New").resolved) == 2
        (root / "store" / "more.go").write_text("package store\n\nfunc more() { New() }\n")
        assert shop.stale_files() == ("store/more.go",)
        golore.learn(root)
        assert len(shop.callers("store.New").resolved) == 3
        assert shop.stale_files() == ()
    with pytest.raises(golore.UsageError, match="was closed"):
        shop.callers("store.New")


def test_questions_may_be_asked_inside_a_loop(shop: golore.Repository) -> None:
    called = {symbol.name: len(shop.callers(symbol).resolved) for symbol in shop.symbols(kind="func")}
    assert called["Put"] == 2
    assert threading.active_count() < 20


def test_networkx_has_the_edges_of_the_graph(shop: golore.Repository) -> None:
    graph = shop.to_networkx(edges=["CALLS"])
    stored = {(edge.source, edge.target): len(edge.sites) for edge in shop.edges("CALLS")}
    inside = {ends: places for ends, places in stored.items() if ends[1] in graph}
    assert {(source, target): places for source, target, places in graph.edges(data="weight")} == inside
    assert set(graph) == {symbol.id for symbol in shop.symbols()}
    assert graph.nodes[f"{STORE}.New"]["kind"] == "func"


def test_networkx_edges_end_at_what_contains_a_node_that_is_left_out(shop: golore.Repository) -> None:
    packages = shop.to_networkx(kinds=["package"], edges=["CALLS", "IMPORTS"])
    assert list(packages.edges) == [("example.com/shop", STORE)]
    assert packages.edges["example.com/shop", STORE]["labels"] == ("CALLS", "IMPORTS")
    types = shop.to_networkx(kinds=["struct", "func"], edges=["REFERENCES"], packages=["./store"])
    # New sets the field items, which is left out: the edge ends at its type.
    assert types.has_edge(f"{STORE}.New", f"{STORE}.Memory")
    assert not [node for node in types if not node.startswith(STORE)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kinds": ["functions"]}, "There is no kind 'functions'"),
        ({"edges": ["calls"]}, "There is no label 'calls'"),
        ({"packages": ["./x"]}, "No package matches './x'"),
    ],
)
def test_networkx_refuses_what_does_not_exist(
    shop: golore.Repository, arguments: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(golore.UsageError, match=re.escape(message)):
        shop.to_networkx(**arguments)


def test_arrow_tables_have_every_row(shop: golore.Repository) -> None:
    symbols = shop.to_arrow("Symbol")
    assert symbols.column("id").to_pylist() == [symbol.id for symbol in shop.symbols()]
    calls = shop.to_arrow("CALLS").to_pylist()
    assert [(row["source"], row["target"], tuple(row["sites"])) for row in calls] == [
        (edge.source, edge.target, edge.sites) for edge in shop.edges("CALLS")
    ]
    assert shop.to_arrow("Note").num_rows == 0
    with pytest.raises(golore.UsageError, match="There is no label 'calls'"):
        shop.to_arrow("calls")


def test_results_show_themselves_as_escaped_html(shop: golore.Repository) -> None:
    results: list[Any] = [
        shop,
        shop.callers("store.New"),
        shop.impact("store.New"),
        shop.path("TestPut", "store.New"),
        shop.symbol("Memory"),
        shop.search("Memory"),
        shop.explore("Put"),
        shop.context("store.go"),
    ]
    for result in results:
        assert result._repr_html_().startswith("<div><p><strong>")
    assert shop.callers("store.New")._repr_html_().count("<svg") == 1  # pyright: ignore[reportPrivateUsage]
    bad = Ref("a", "func", "<b>&\x1b", "<script>", "p", "x\ny.go", 1)
    answer = Answer(
        "callers", Meaning("<i>", (bad,)), (Link(replace(bad, id="b"), "calls"),), (), UnresolvedUses("", 0)
    )
    html = answer._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "<script>" not in html
    assert "<i>" not in html
    assert "\x1b" not in html
    assert "&lt;script&gt;" in html
