"""The export is complete, sorted, and the same bytes for the same graph however it came to be."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path

from golore.graph.database.store import Store
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, External, File, Node, Symbol, Unresolved
from golore.graph.transfer.jsonl_export import export_jsonl

CALLS = EdgeKind("CALLS", "Symbol", "Symbol")
CALLS_OUT = EdgeKind("CALLS", "Symbol", "External")
HOLDS = EdgeKind("CONTAINS", "File", "Symbol")
IMPLEMENTS = EdgeKind("IMPLEMENTS", "Symbol", "Symbol")


def symbol(name: str, line: int = 4) -> Symbol:
    signature, doc = f"func {name}(s \"string\")", "Says 世界.\n\tIndented\\."  # fmt: skip
    return Symbol(
        f"m.{name}", "func", name, f"m.{name}", "m", "a.go", line, 9, 10, 50, "", signature, doc, "", True, False, False
    )


def file() -> File:
    return File("a.go", "a.go", "m", "d1", "s1", 9, 99, "", False, False, False, ("line 3: unexpected }",))


NODES: dict[str, list[Node]] = {
    "File": [file()],
    "Symbol": [symbol("A"), symbol("B"), symbol("Ä")],
    "External": [External("fmt.Println", "func", "Println", "fmt", "std")],
    "Unresolved": [Unresolved("u1", "m.A", "Do", "a.go", "unknown type", (3, 4), ("m.B",))],
}
EDGES: dict[EdgeKind, list[Edge]] = {
    HOLDS: [Edge("a.go", "m.A"), Edge("a.go", "m.B")],
    CALLS: [Edge("m.A", "m.B", (2, 3), "static"), Edge("m.A", "m.Ä", (), "method"), Edge("m.B", "m.A", (1,), "static")],
    CALLS_OUT: [Edge("m.A", "fmt.Println", (2,), "import")],
    IMPLEMENTS: [Edge("m.A", "m.B", (), "method set", True)],
}


def load(directory: Path, nodes: dict[str, list[Node]], edges: dict[EdgeKind, list[Edge]]) -> None:
    with Store.open(directory, write=True) as store, store.bulk_load() as bulk:
        for label, rows in nodes.items():
            bulk.nodes(label, rows)
        for kind, links in edges.items():
            bulk.edges(kind, links)


def exported(directory: Path) -> str:
    out = io.StringIO()
    with Store.open(directory, write=False) as store:
        export_jsonl(store, out)
    return out.getvalue()


def test_every_line_is_a_node_or_an_edge_of_the_graph(tmp_path: Path) -> None:
    load(tmp_path, NODES, EDGES)
    lines = [json.loads(line) for line in exported(tmp_path).splitlines()]
    assert [(line["type"], line["label"]) for line in lines] == [
        ("node", "External"),
        ("node", "File"),
        *[("node", "Symbol")] * 3,
        ("node", "Unresolved"),
        *[("edge", "CALLS")] * 4,
        *[("edge", "CONTAINS")] * 2,
        ("edge", "IMPLEMENTS"),
    ]
    assert lines[2] == {"type": "node", "label": "Symbol", **symbol("A")._asdict()}
    assert lines[5]["candidates"] == ["m.B"]
    assert lines[5]["sites"] == [3, 4]


def test_keys_stand_in_a_fixed_order(tmp_path: Path) -> None:
    load(tmp_path, NODES, EDGES)
    lines = exported(tmp_path).splitlines()
    assert lines[2].startswith(
        '{"type":"node","label":"Symbol","id":"m.A","kind":"func","name":"A","qualified_name":"m.A"'
    )
    assert lines[6] == (
        '{"type":"edge","label":"CALLS","source":"m.A","target":"fmt.Println",'
        '"source_label":"Symbol","target_label":"External","sites":[2],"evidence":"import"}'
    )
    assert lines[-1] == (
        '{"type":"edge","label":"IMPLEMENTS","source":"m.A","target":"m.B",'
        '"source_label":"Symbol","target_label":"Symbol","evidence":"method set","pointer":true}'
    )


def test_order_of_loading_does_not_change_one_byte(tmp_path: Path) -> None:
    load(tmp_path / "one", NODES, EDGES)
    shuffled = random.Random(7)
    load(
        tmp_path / "two",
        {label: shuffled.sample(rows, len(rows)) for label, rows in reversed(NODES.items())},
        {kind: shuffled.sample(rows, len(rows)) for kind, rows in reversed(EDGES.items())},
    )
    assert exported(tmp_path / "one") == exported(tmp_path / "two")


def test_graph_reached_by_deltas_exports_as_the_loaded_one(tmp_path: Path) -> None:
    load(tmp_path / "one", NODES, EDGES)
    load(
        tmp_path / "two",
        {"File": [file()], "Symbol": [symbol("Old"), symbol("A", 77)]},
        {CALLS: [Edge("m.Old", "m.A")]},
    )
    with Store.open(tmp_path / "two", write=True) as store:
        store.apply(
            GraphDelta(
                nodes_removed={"Symbol": ["m.Old"]},
                nodes_changed={"Symbol": [symbol("A")]},
                nodes_added={
                    "Symbol": [symbol("Ä"), symbol("B")],
                    "External": NODES["External"],
                    "Unresolved": NODES["Unresolved"],
                },
                edges_added=EDGES,
            )
        )
    assert exported(tmp_path / "one") == exported(tmp_path / "two")


def test_pages_meet_without_gap_or_overlap(tmp_path: Path) -> None:
    count = 90_000
    rows: list[Node] = [External(f"x{number}", "func", "", "", "") for number in range(count)]
    load(tmp_path, {"External": rows}, {})
    ids = [json.loads(line)["id"] for line in exported(tmp_path).splitlines()]
    assert ids == sorted(f"x{number}" for number in range(count))


def test_empty_graph_exports_as_nothing(tmp_path: Path) -> None:
    load(tmp_path, {}, {})
    assert exported(tmp_path) == ""
