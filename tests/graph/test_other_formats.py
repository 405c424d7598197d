"""Exports and diagrams that other programs read: SCIP, GraphML, CSV, Mermaid and DOT."""

from __future__ import annotations

import csv
import importlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import golore
import pytest
from golore.graph.analysis.cycles import Cycles, DirectoryCut, DirectoryCycle, ImportCycle, ImportStep
from golore.graph.changes.affected import Affected
from golore.graph.changes.change_set import DeclarationChange
from golore.graph.changes.changed_symbols import ChangedDeclaration
from golore.graph.changes.test_selection import TestSelection
from golore.graph.diagrams.diagram import Arrow, Box, Diagram
from golore.graph.diagrams.dot import dot_lines
from golore.graph.diagrams.mermaid import mermaid_lines
from golore.graph.diagrams.svg import svg_text
from golore.graph.queries.answers import Reached, Ref
from golore.graph.transfer.name_positions import (
    BARE,
    KEY,
    MEMBER,
    QUALIFIED,
    UNKNOWN,
    definition_columns,
    use_columns,
)
from golore.mcp_server.cli.main import main
from golore.mcp_server.text.diagrams import affected_diagram, cycles_diagram
from support.shop import make_shop

TRICKY = """package store

import alias "strings"

type Pair struct{ A, B int }

func (Pair Pair) String() string { return alias.ToUpper("ToUpper") }

func both() Pair {
\tp := Pair{1, 2}
\tp.A = p.A + p.B // A
\treturn p
}
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = make_shop(tmp_path_factory.mktemp("shop"))
    (root / "store" / "tricky.go").write_text(TRICKY, encoding="utf-8")
    golore.learn(root)
    return root


@pytest.fixture
def shop(root: Path) -> Iterator[golore.Repository]:
    with golore.open(root) as repository:
        yield repository


def fields(data: bytes) -> dict[int, list[Any]]:
    """The fields of a message in the wire format: numbers, or bytes of what has a length."""
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = data[at]
            at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    while at < len(data):
        tag = varint()
        value: Any = varint()
        if tag & 7 == 2:
            value, at = data[at : at + value], at + value
        found.setdefault(tag >> 3, []).append(value)
    return found


def packed(data: bytes) -> list[int]:
    """Repeated numbers below 128, which those of small files are."""
    return list(data)


def exported(root: Path, path: Path) -> dict[int, list[Any]]:
    assert main(["export", "--format", "scip", "--output", str(path), "--repo", str(root)]) == 0
    return fields(path.read_bytes())


def occurrences(index: dict[int, list[Any]]) -> Iterator[tuple[str, list[int], str, int]]:
    for document in map(fields, index[2]):
        for one in map(fields, document.get(2, [])):
            yield document[1][0].decode(), packed(one[1][0]), one[2][0].decode(), one.get(3, [0])[0]


def test_scip_has_the_definitions_and_references_of_the_graph(
    root: Path, shop: golore.Repository, tmp_path: Path
) -> None:
    found = list(occurrences(exported(root, tmp_path / "index.scip")))
    defined = {(file, place[0] + 1) for file, place, symbol, roles in found if roles & 1 and symbol[-1] != "/"}
    assert defined == {(symbol.file, symbol.line) for symbol in shop.symbols()}
    assert len({symbol for _, _, symbol, roles in found if roles & 1 and symbol[-1] != "/"}) == len(
        list(shop.symbols())
    )
    files = {symbol.id: symbol.file for symbol in shop.symbols()}
    edges = [edge for label in ("CALLS", "REFERENCES", "EMBEDS") for edge in shop.edges(label)]
    sites = sorted((files[edge.source], line) for edge in edges for line in edge.sites)
    assert sorted((file, place[0] + 1) for file, place, _, roles in found if not roles & 3) == sites
    imports = sorted((edge.source, line) for edge in shop.edges("IMPORTS") for line in edge.sites)
    assert sorted((file, place[0] + 1) for file, place, _, roles in found if roles & 2) == imports


def test_scip_names_symbols_documents_them_and_relates_implementations(root: Path, tmp_path: Path) -> None:
    index = exported(root, tmp_path / "index.scip")
    prefix = "golore gomod example.com/shop . `example.com/shop/store`/"
    symbols = {
        one[1][0].decode(): one for document in map(fields, index[2]) for one in map(fields, document.get(3, []))
    }
    assert symbols[f"{prefix}Memory#Save()."][3] == [b"Save counts a key."]
    assert f"{prefix}`Sync@sync_linux.go`()." in symbols
    (interface,) = (fields(one) for one in symbols[f"{prefix}Memory#"][4])
    assert (interface[1][0].decode(), interface[3]) == (f"{prefix}Saver#", [1])
    (method,) = (fields(one) for one in symbols[f"{prefix}Memory#Save()."][4])
    assert method[1][0].decode() == f"{prefix}Saver#Save()."
    assert "golore gomod github.com/golang/go/src . strings/ToUpper()." in {
        fields(one)[1][0].decode() for one in index[3]
    }


def test_scip_columns_are_those_of_the_names(root: Path, tmp_path: Path) -> None:
    lines = TRICKY.splitlines()
    found: dict[tuple[int, str, int], str] = {}
    for file, (line, start, end, *_), symbol, roles in occurrences(exported(root, tmp_path / "index.scip")):
        if file == "store/tricky.go":
            found[line + 1, symbol.rpartition("/")[2], roles & 15] = lines[line][start:end]
    assert found[7, "Pair#String().", 1] == "String"
    assert found[7, "ToUpper().", 0] == "ToUpper"
    assert found[11, "Pair#A.", 4] == "A = p.A"  # one line has both uses, and the graph does not say which is which
    assert found[11, "Pair#B.", 8] == "B"
    assert found[10, "Pair#A.", 4] == "p := Pair{1, 2}"  # set by position: its name is not on the line


def test_scip_of_a_file_that_changed_has_no_positions_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_shop(tmp_path / "shop")
    golore.learn(root)
    (root / "main.go").write_text("package main\n\n\nfunc main() {}\n", encoding="utf-8")
    found = list(occurrences(exported(root, tmp_path / "index.scip")))
    assert "main.go" not in {file for file, *_ in found}
    assert found
    assert (
        "1 file changed since the last learn, and the index has no positions there: main.go." in capsys.readouterr().err
    )


def test_a_use_is_found_by_what_is_known_about_it() -> None:
    assert use_columns(b"x.Save(Save)", "Save", is_call=True, after=MEMBER) == (2, 6)
    assert use_columns(b"Save(x.Save)", "Save", is_call=False, after=MEMBER) == (7, 11)
    assert use_columns(b'Log("Save", Save) // Save', "Save", is_call=False, after=BARE) == (12, 16)
    assert use_columns(b"\tPair{1}  ", "A", is_call=False, after=MEMBER) == (1, 8)
    assert use_columns(b"x.Save = Save", "Save", is_call=False, after=BARE) == (9, 13)
    assert use_columns(b"Save + x.Save", "Save", is_call=False, after=QUALIFIED) == (9, 13)
    above = b"y. // a comment"
    assert use_columns(b"Save + x.Save", "Save", is_call=False, after=QUALIFIED, above=above) == (0, 13)
    assert use_columns(b"Save: x.Save,", "Save", is_call=False, after=KEY) == (0, 4)
    assert use_columns(b"Save: x.Save,", "Save", is_call=False, after=MEMBER) == (8, 12)
    assert use_columns(b"f(Save, x.Save)", "Save", is_call=False, after=QUALIFIED) == (10, 14)
    assert use_columns(b"f(Save, x.Save)", "Save", is_call=False, after=UNKNOWN) == (2, 14)
    assert use_columns(b"Name Name", "Name", is_call=False, after=BARE, defined=[(0, 4)]) == (5, 9)
    assert use_columns("größe(SaveÄ, Save)".encode(), "Save", is_call=False, after=BARE) == (16, 20)
    assert definition_columns(b"func (Save Save) Save() {}", "Save", "method") == (17, 21)


def test_graphml_is_read_by_networkx(root: Path, shop: golore.Repository, tmp_path: Path) -> None:
    path = tmp_path / "shop.graphml"
    assert main(["export", "--format", "graphml", "--output", str(path), "--repo", str(root)]) == 0
    graph: Any = importlib.import_module("networkx").read_graphml(path, force_multigraph=True)
    ids = {number: data["id"] for number, data in graph.nodes(data=True)}
    assert {data["id"] for _, data in graph.nodes(data=True) if data["label"] == "Symbol"} == {
        symbol.id for symbol in shop.symbols()
    }
    calls = {(ids[source], ids[target]) for source, target, data in graph.edges(data=True) if data["label"] == "CALLS"}
    assert calls == {(edge.source, edge.target) for edge in shop.edges("CALLS")}


def test_csv_has_a_file_for_each_label(root: Path, shop: golore.Repository, tmp_path: Path) -> None:
    output = tmp_path / "csv"
    command = ["export", "--format", "csv", "--output", str(output), "--repo", str(root)]
    assert main(command) == 0
    with (output / "CALLS.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["source"], row["target"], row["sites"]) for row in rows] == [
        (edge.source, edge.target, " ".join(map(str, edge.sites))) for edge in shop.edges("CALLS")
    ]
    with (output / "Symbol.csv").open(encoding="utf-8", newline="") as file:
        assert [row["doc"] for row in csv.DictReader(file)] == [symbol.doc for symbol in shop.symbols()]
    assert main(command) == 2  # the directory has files


def test_formats_that_are_not_text_need_a_file(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["export", "--format", "csv", "--repo", str(root)]) == 2
    assert "Csv is written to a directory. Name it with --output." in capsys.readouterr().err
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stdout", terminal)
    assert main(["export", "--format", "scip", "--repo", str(root)]) == 2
    assert "A SCIP index is not text." in capsys.readouterr().err


def test_questions_are_printed_as_diagrams(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["callers", "Memory.Save", "--format", "mermaid", "--repo", str(root)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "flowchart LR",
        "  %% 1 unresolved use with its name",
        '  n0(["store.Memory.Save<br/>method, store/store.go:18"])',
        '  n1["shop.run<br/>func, main.go:12"]',
        '  n2["store.Put<br/>func, store/store.go:32"]',
        '  n3["store.Saver.Save"]',
        '  n1 -->|"calls"| n0',
        '  n2 -->|"calls"| n3',
        '  n3 -.->|"may run"| n0',
    ]
    assert main(["path", "TestPut", "Saver.Save", "--format", "dot", "--repo", str(root)]) == 0
    assert 'n1 -> n2 [label="calls"];' in capsys.readouterr().out
    assert main(["impact", "store.New", "--format", "dot", "--repo", str(root)]) == 0
    assert capsys.readouterr().out.startswith("digraph golore {")
    assert main(["cycles", "--format", "mermaid", "--repo", str(root)]) == 0
    assert capsys.readouterr().out.startswith("flowchart LR")
    assert main(["callers", "store.New", "--format", "dot", "--json", "--repo", str(root)]) == 2
    assert "Give --json or --format, not both." in capsys.readouterr().err


def test_what_a_change_affects_and_cycles_are_drawn() -> None:
    changed = Ref("m/a.F", "func", "F", "m/a.F", "m/a", "a/a.go", 3, "")
    user = Ref("m/b.G", "func", "G", "m/b.G", "m/b", "b/b.go", 5, "")
    further = Ref("m/c.H", "func", "H", "m/c.H", "m/c", "c/c.go", 7, "")
    found = Affected(
        "HEAD", "", (), (ChangedDeclaration(cast("DeclarationChange", None), (changed,)),),
        (Reached(user, 1, True, "calls", changed.id),), (Reached(further, 2, False, "calls", user.id),),
        (), (), TestSelection(()), 0, (), (), (), is_complete=True,
    )  # fmt: skip
    drawn = affected_diagram(found)
    assert [(box.id, box.is_subject) for box in drawn.boxes] == [("m/a.F", True), ("m/b.G", False), ("m/c.H", False)]
    assert [(arrow.source, arrow.target, arrow.is_dashed) for arrow in drawn.arrows] == [
        ("m/b.G", "m/a.F", False),
        ("m/c.H", "m/b.G", True),
    ]
    assert affected_diagram(found, 1).remark == "1 more users are not drawn"
    steps = (ImportStep("m/a", "m/b", "a/a.go", 3, ""), ImportStep("m/b", "m/a", "b/b.go", 4, ""))
    cut = DirectoryCut("a", "b", 2, ())
    cycles = Cycles((ImportCycle(("m/a", "m/b"), steps, False),), (DirectoryCycle("", ("a", "b"), 5, (cut,), True),), 2)
    arrows = cycles_diagram(cycles).arrows
    assert [(arrow.source, arrow.target, arrow.label) for arrow in arrows] == [
        ("m/a", "m/b", "a/a.go:3"),
        ("m/b", "m/a", "b/b.go:4"),
        ("a", "b", "remove 2"),
    ]


def test_names_cannot_leave_their_place_in_a_diagram() -> None:
    bad = 'a"]; evil --> x\n<script>\\N`#`|;\u202e'
    diagram = Diagram((Box("1", bad, bad, is_subject=True), Box("2", "b")), (Arrow("2", "1", bad),), bad)
    mermaid = list(mermaid_lines(diagram))
    assert len(mermaid) == 5
    assert mermaid[2].count('"') == 2
    dot = list(dot_lines(diagram))
    assert len(dot) == 7
    for line in dot[3:6]:
        _, text = line.split("[label=")
        json.loads(text.rpartition('"')[0] + '"')  # DOT's quotes and backslashes are escaped as in JSON
    for text in (*mermaid, *dot, svg_text(diagram)):
        assert "\n" not in text
        assert "\u202e" not in text
        assert "<script>" not in text or text in dot
