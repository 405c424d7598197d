"""Searches of many steps: the same answers from the mapped file, from the graph, and from both after changes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from golore.graph.changes.program_builder import start_program_build
from golore.graph.database.change_log import NO_CHANGES, ChangedNodes, changed_nodes_since, record_changed_nodes
from golore.graph.database.store import Store
from golore.graph.model.delta import GraphDelta
from golore.graph.model.edge_kinds import EdgeKind
from golore.graph.model.entities import Edge, External, Node, Symbol
from golore.graph.queries import impact
from golore.graph.queries.adjacency_builder import make_adjacency
from golore.graph.queries.adjacency_file import FILE_NAME, open_adjacency
from golore.graph.queries.answers import Meaning, Ref
from golore.graph.queries.edges import symbols
from golore.graph.queries.symbol_steps import is_adjacency_due, open_steps
from golore.mcp_server.server.adjacency_job import AdjacencyJob
from support import plain_impact as plain_reach

KINDS = [
    *(EdgeKind("CALLS", "Symbol", "Symbol") for _ in range(5)),
    *(EdgeKind(label, "Symbol", "Symbol") for label in ("REFERENCES", "EMBEDS", "IMPLEMENTS", "IMPLEMENTS", "TESTS")),
    *(EdgeKind(label, "Symbol", "External") for label in ("CALLS", "REFERENCES", "EMBEDS", "IMPLEMENTS")),
    *(EdgeKind("CONVERTS", "Symbol", "Symbol") for _ in range(3)),
    EdgeKind("INVOKES", "Symbol", "External"),
]
"""Some more often than others."""
CALLED = ("func", "method", "imethod")
TYPES = ("struct", "interface")
ENDS = {
    "CALLS": (("func", "method"), CALLED),
    "REFERENCES": (("func", "method", "struct"), (*CALLED, *TYPES)),
    "EMBEDS": (TYPES, TYPES),
    "IMPLEMENTS": (TYPES, ("interface",)),
    "TESTS": (("func",), CALLED),
    "CONVERTS": (("func", "method"), TYPES),
    "INVOKES": (("func", "method"), ("imethod",)),
}
"""Which kinds may be at the beginning and at the end."""
NAMES = ("Save", "Load", "close")


class Graph:
    """A made-up graph: functions, structs and interfaces with methods of few names, and edges as chance has it."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self.symbols: dict[str, Symbol] = {}
        self.externals: dict[str, External] = {}
        self.edges: dict[tuple[EdgeKind, str, str], Edge] = {}
        for number in range(12):
            self.add_symbol(f"m.F{number}", "func", "")
        for number in range(6):
            self.add_type(f"m.S{number}", "struct", "method")
        for number in range(4):
            self.add_type(f"m.I{number}", "interface", "imethod")
        for id, kind in (("io.Saver", "interface"), ("io.Saver.Save", "imethod"), ("fmt.Println", "func")):
            self.externals[id] = External(id, kind, id.rpartition(".")[2], id.partition(".")[0], "std")
        for id in ("interface{Load()}.Load", "interface{Load(); Save() error}.Load"):
            self.externals[id] = External(id, "imethod", "Load", "", "builtin")
        for _ in range(90):
            self.add_edge()

    def add_type(self, id: str, kind: str, member: str) -> None:
        self.add_symbol(id, kind, "")
        for name in NAMES:
            if self.chance.random() < 0.6:
                # Twins have one name, and a file in the id.
                twins = ("@a.go", "@b.go") if self.chance.random() < 0.2 else ("",)
                for twin in twins:
                    self.add_symbol(f"{id}.{name}{twin}", member, id)

    def add_symbol(self, id: str, kind: str, owner: str) -> None:
        name = id.partition("@")[0]
        file = self.chance.choice(("a.go", "b.go", "b_test.go"))
        line = self.chance.randrange(1, 40)
        last = name.rpartition(".")[2]
        values = (id, kind, last, name, "m", file, line, line, 0, 1, owner, "", "", "", True, False, False)
        self.symbols[id] = Symbol(*values)
        if owner:
            self.edges[EdgeKind("CONTAINS", "Symbol", "Symbol"), owner, id] = Edge(owner, id)

    def add_edge(self) -> None:
        kind = self.chance.choice(KINDS)
        sources, targets = ENDS[kind.label]
        source = self.chance.choice([id for id, row in sorted(self.symbols.items()) if row.kind in sources])
        rows = self.symbols if kind.target == "Symbol" else self.externals
        target = self.chance.choice([id for id, row in sorted(rows.items()) if row.kind in targets])
        has_lines = kind.label != "IMPLEMENTS"
        sites = (self.chance.randrange(40),) if has_lines else ()
        evidence = "e" if has_lines else "signature Save"
        if kind.label == "CONVERTS":
            interfaces = ["any", *(id for id, row in sorted(self.symbols.items()) if row.kind == "interface")]
            evidence = " ".join(self.chance.sample(interfaces, 2))
        self.edges[kind, source, target] = Edge(source, target, sites, evidence)

    def change(self) -> GraphDelta:
        """Add, move and remove some of everything; returns the change."""
        symbols, edges = dict(self.symbols), dict(self.edges)
        for id in self.chance.sample(sorted(self.symbols), 3):
            line = self.chance.randrange(1, 40)
            self.symbols[id] = self.symbols[id]._replace(line=line, end_line=line)
        gone = set(self.chance.sample(sorted(self.symbols), 2))
        self.symbols = {id: row for id, row in self.symbols.items() if id not in gone}
        self.edges = {key: edge for key, edge in self.edges.items() if not gone & {edge.source, edge.target}}
        for key in self.chance.sample(sorted(self.edges), 6):
            if key[0].label != "CONTAINS":
                del self.edges[key]
        # What is gone may come back.
        self.add_symbol(f"m.F{self.chance.randrange(14)}", "func", "")
        for _ in range(8):
            self.add_edge()
        return self._difference(symbols, edges)

    def _difference(self, symbols: dict[str, Symbol], edges: dict[tuple[EdgeKind, str, str], Edge]) -> GraphDelta:
        removed: dict[EdgeKind, list[tuple[str, str]]] = {}
        added: dict[EdgeKind, list[Edge]] = {}
        changed: dict[EdgeKind, list[Edge]] = {}
        removed_ids = symbols.keys() - self.symbols.keys()
        for key, edge in edges.items():
            if key not in self.edges and not removed_ids & {edge.source, edge.target}:
                removed.setdefault(key[0], []).append((edge.source, edge.target))
        for key, edge in self.edges.items():
            if key not in edges:
                added.setdefault(key[0], []).append(edge)
            elif edges[key] != edge:
                changed.setdefault(key[0], []).append(edge)
        new: list[Node] = [row for id, row in self.symbols.items() if id not in symbols]
        moved: list[Node] = [row for id, row in self.symbols.items() if id in symbols and symbols[id] != row]
        return GraphDelta({"Symbol": sorted(removed_ids)}, {"Symbol": new}, {"Symbol": moved}, removed, added, changed)

    def load(self, directory: Path) -> None:
        by_kind: dict[EdgeKind, list[Edge]] = {}
        for (kind, *_), edge in self.edges.items():
            by_kind.setdefault(kind, []).append(edge)
        with Store.open(directory, write=True) as store, store.bulk_load() as load:
            load.nodes("Symbol", list(self.symbols.values()))
            load.nodes("External", list(self.externals.values()))
            for kind, edges in by_kind.items():
                load.edges(kind, edges)


def meaning(symbol: Ref) -> Meaning:
    return Meaning(symbol.qualified_name, (symbol,))


def agree(store: Store, graph: Graph, seed: int) -> None:
    """Ask about everything, with small limits and large ones."""
    chance = Random(seed)
    known = symbols(store, sorted(graph.symbols))
    for symbol in chance.sample(known, 12):
        depth, most = chance.choice(((3, 2_000), (10, 5), (2, 12)))
        subject = meaning(symbol)
        assert impact.impact(store, subject, depth, most) == plain_reach.impact(store, subject, depth, most)
    callable_ones = [one for one in known if one.kind in CALLED]
    for _ in range(15):
        source, target = (meaning(chance.choice(callable_ones)) for _ in range(2))
        most = chance.choice((3, 8, 5_000))
        assert impact.path(store, source, target, most) == plain_reach.path(store, source, target, most)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_answers_are_those_of_the_plain_search_with_and_without_the_file_and_after_changes(
    seed: int, tmp_path: Path
) -> None:
    graph = Graph(seed)
    graph.load(tmp_path)
    with Store.open(tmp_path, write=False) as store:
        assert is_adjacency_due(store)
        agree(store, graph, seed)
    assert make_adjacency(tmp_path)
    for round in range(3):
        with Store.open(tmp_path, write=False) as store:
            assert not is_adjacency_due(store)
            agree(store, graph, seed + round)
        change = graph.change()
        with Store.open(tmp_path, write=True) as store:
            store.apply(change)
    with Store.open(tmp_path, write=False) as store:
        agree(store, graph, seed)


def small(directory: Path) -> Graph:
    graph = Graph(1)
    graph.load(directory)
    assert make_adjacency(directory)
    return graph


def test_only_what_a_change_touched_is_asked_of_the_graph(tmp_path: Path) -> None:
    graph = small(tmp_path)
    calls = EdgeKind("CALLS", "Symbol", "Symbol")
    pair = next((s, t) for s in ("m.F0", "m.F1") for t in ("m.F2", "m.F3") if (calls, s, t) not in graph.edges)
    with Store.open(tmp_path, write=True) as store:
        store.apply(GraphDelta(edges_added={calls: [Edge(*pair, (7,), "e")]}))
    with Store.open(tmp_path, write=False) as store:
        mapped = open_adjacency(tmp_path)
        assert mapped is not None
        assert mapped.generation != store.generation
        steps = open_steps(store)
        source, target = (steps.symbol(id) for id in pair)
        assert source is not None
        assert target in steps.outbound(source, "CALLS")
        others = [one for id in graph.symbols if id not in pair and (one := steps.symbol(id)) is not None]
        for one in others:
            assert list(steps.inbound(one, "CALLS")) == mapped.neighbours(one, "CALLS<")
        assert {number for number, _ in steps.asked} == {source}


def test_a_change_that_nothing_was_noted_of_makes_the_file_due(tmp_path: Path) -> None:
    graph = small(tmp_path)
    with Store.open(tmp_path, write=True) as store:
        store.apply(graph.change())
    (tmp_path / "touched").unlink()
    with Store.open(tmp_path, write=False) as store:
        assert is_adjacency_due(store)
        agree(store, graph, 1)


def test_a_change_of_very_much_is_not_noted_and_makes_the_file_due(tmp_path: Path) -> None:
    before, after = "one", "two"
    record_changed_nodes(tmp_path, before, after, ChangedNodes(frozenset(("a",)), frozenset()))
    assert changed_nodes_since(tmp_path, before, after) == ChangedNodes(frozenset(("a",)), frozenset())
    record_changed_nodes(tmp_path, after, "three", ChangedNodes(frozenset(map(str, range(20_001))), frozenset()))
    assert changed_nodes_since(tmp_path, before, "three") is None
    assert changed_nodes_since(tmp_path, after, after) == NO_CHANGES


@pytest.mark.parametrize("content", [b"", b"golore", b"something else altogether, and long enough to be read as one"])
def test_a_damaged_file_is_as_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE_NAME).write_bytes(content)
    assert open_adjacency(tmp_path) is None


def test_a_truncated_file_is_as_none(tmp_path: Path) -> None:
    small(tmp_path)
    path = tmp_path / FILE_NAME
    path.write_bytes(path.read_bytes()[:-1])
    assert open_adjacency(tmp_path) is None


def test_the_file_is_made_by_a_process_of_its_own_and_not_while_somebody_writes(tmp_path: Path) -> None:
    graph = Graph(1)
    graph.load(tmp_path)
    with Store.open(tmp_path, write=True):
        assert start_program_build(tmp_path).wait(60) == 1
    assert not (tmp_path / FILE_NAME).exists()
    assert start_program_build(tmp_path).wait(60) == 0
    with Store.open(tmp_path, write=False) as store:
        assert not is_adjacency_due(store)


def test_what_was_folded_into_the_graph_leaves_the_file_good(tmp_path: Path) -> None:
    graph = small(tmp_path)
    with Store.open(tmp_path, write=True) as store:
        store.apply(graph.change())
        store.checkpoint()
    with Store.open(tmp_path, write=False) as store:
        assert not is_adjacency_due(store)
        agree(store, graph, 1)


def test_a_server_has_the_file_made_after_a_search_that_missed_it_and_only_once(tmp_path: Path) -> None:
    graph = Graph(1)
    for number in range(150):
        graph.add_symbol(f"m.User{number}", "func", "")
        graph.edges[EdgeKind("CALLS", "Symbol", "Symbol"), f"m.User{number}", "m.F1"] = Edge(
            f"m.User{number}", "m.F1", (1,), "e"
        )
    graph.load(tmp_path)
    mapper = AdjacencyJob()
    with Store.open(tmp_path, write=False) as store:
        few, many = (meaning(one) for one in symbols(store, ["m.User1", "m.F1"]))
        steps = open_steps(store)
        impact.impact(store, few, steps=steps)
        mapper.consider(tmp_path, steps)
        assert mapper.process is None
        before = impact.impact(store, many, steps=steps)
        mapper.consider(tmp_path, steps)
        assert mapper.process is not None
        assert mapper.process.wait(60) == 0
        steps = open_steps(store)
        assert impact.impact(store, many, steps=steps) == before
        assert not steps.asked
        assert not steps.is_adjacency_worth_building
    mapper.close()
